"""Device memory, energy and power from NVIDIA's management library (NVML): https://docs.nvidia.com/deploy/nvml-api/

`blastoff run` uses only the standard library, so the functions are called by ctypes.
"""

import ctypes
import os
import time
from collections.abc import Collection
from dataclasses import dataclass, field

LIBRARY = "libnvidia-ml.so.1"
SUCCESS, INSUFFICIENT_SIZE = 0, 7
UNKNOWN = 2**64 - 1
TRANSMITTED, RECEIVED = 0, 1
"""Directions of nvmlDeviceGetPcieThroughput, seen from the device."""
MAX_PROCESSES = 1024


class _Memory(ctypes.Structure):
    """nvmlMemory_t."""

    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


class _Process(ctypes.Structure):
    """nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3."""

    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


class _Place(ctypes.Structure):
    """nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3."""

    _fields_ = [
        ("legacy", ctypes.c_char * 16),
        *((name, ctypes.c_uint) for name in ("domain", "bus", "device", "vendor", "subsystem")),
        ("text", ctypes.c_char * 32),
    ]


class NvmlError(Exception):
    """NVML cannot be used; the message says why."""


@dataclass
class DeviceUse:
    """The state of all devices at one moment: bytes, and bytes per second."""

    of_run: int = 0
    """Device memory of the given processes."""
    whole: int = 0
    """Device memory of all programs and of the driver itself."""
    seen: bool = False
    """Whether NVML told the memory of at least one of the given processes."""
    to_device: float | None = None
    from_device: float | None = None
    moment: float = field(default_factory=lambda: time.clock_gettime(time.CLOCK_BOOTTIME))
    """When it was read, in seconds since boot."""


class Nvml:
    """All GPUs of this machine."""

    def __init__(self, library: str = LIBRARY) -> None:
        try:
            self._library = ctypes.CDLL(library, mode=os.RTLD_LOCAL | os.RTLD_NOW)
        except OSError as error:
            raise NvmlError(f"{library} cannot be loaded") from error
        self._call("nvmlInit_v2")
        count = ctypes.c_uint()
        self._call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        self._devices = [self._device(index) for index in range(count.value)]
        if not self._devices:
            raise NvmlError("NVML knows no GPU")
        self.names = [self._name(device) for device in self._devices]
        self._tells_link = True
        self._entries = (_Process * MAX_PROCESSES)()
        self._before = [self._whole(device) for device in self._devices]

    def _try(self, function: str, *arguments: object) -> int | None:
        """Calls a function and returns its status; None if this NVML has no such function."""
        try:
            return getattr(self._library, function)(*arguments)
        except AttributeError:
            return None

    def _call(self, function: str, *arguments: object) -> None:
        status = self._try(function, *arguments)
        if status != SUCCESS:
            raise NvmlError(f"{function} failed with status {status}" if status is not None else f"this NVML has no {function}")

    def _device(self, index: int) -> ctypes.c_void_p:
        device = ctypes.c_void_p()
        self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(device))
        return device

    def _name(self, device: ctypes.c_void_p) -> str:
        text = ctypes.create_string_buffer(96)
        return text.value.decode(errors="replace") if self._try("nvmlDeviceGetName", device, text, ctypes.c_uint(96)) == SUCCESS else "GPU"

    def close(self) -> None:
        """Shuts NVML down, so that it closes its files. If we closed them, NVML would go on using them."""
        self._try("nvmlShutdown")

    def identities(self) -> list[str]:
        """The unique name of each GPU: "GPU-8932f937-d72c-..."."""
        return [self._identity(device) for device in self._devices]

    def _identity(self, device: ctypes.c_void_p) -> str:
        text = ctypes.create_string_buffer(96)
        self._call("nvmlDeviceGetUUID", device, text, ctypes.c_uint(96))
        return text.value.decode(errors="replace")

    def buses(self) -> list[str]:
        """The PCI address of each GPU, as the kernel writes it: "0000:17:00.0"; "" if NVML does not tell."""
        return [self._bus(device) for device in self._devices]

    def _bus(self, device: ctypes.c_void_p) -> str:
        place = _Place()
        if self._try("nvmlDeviceGetPciInfo_v3", device, ctypes.byref(place)) != SUCCESS:
            return ""
        return f"{place.domain:04x}:{place.bus:02x}:{place.device:02x}.0"

    def energy(self, place: int) -> float | None:
        """Joules that a GPU has taken since its driver was loaded; None if it does not count them."""
        millijoules = ctypes.c_ulonglong()
        status = self._try("nvmlDeviceGetTotalEnergyConsumption", self._devices[place], ctypes.byref(millijoules))
        return 1e-3 * millijoules.value if status == SUCCESS else None

    def power(self, place: int) -> float | None:
        """Watts that a GPU draws now; None if it does not tell."""
        milliwatts = ctypes.c_uint()
        status = self._try("nvmlDeviceGetPowerUsage", self._devices[place], ctypes.byref(milliwatts))
        return 1e-3 * milliwatts.value if status == SUCCESS else None

    def _whole(self, device: ctypes.c_void_p) -> int:
        memory = _Memory()
        return memory.used if self._try("nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory)) == SUCCESS else 0

    def _of_processes(self, device: ctypes.c_void_p, pids: Collection[int]) -> int | None:
        """Device memory of these processes; None if NVML names none of them or does not tell their memory. In a container, NVML knows other ids."""
        count = ctypes.c_uint(MAX_PROCESSES)
        if self._try("nvmlDeviceGetComputeRunningProcesses_v3", device, ctypes.byref(count), self._entries) != SUCCESS:
            return None
        known = [entry.used for entry in self._entries[: count.value] if entry.pid in pids and entry.used != UNKNOWN]
        return sum(known) if known else None

    def _link(self, device: ctypes.c_void_p, direction: int) -> float | None:
        """Bytes per second over the link. The driver averages over 20 ms, and this function waits that long."""
        rate = ctypes.c_uint()
        status = self._try("nvmlDeviceGetPcieThroughput", device, ctypes.c_uint(direction), ctypes.byref(rate))
        return 1000.0 * rate.value if status == SUCCESS else None

    def look(self, pids: Collection[int], with_link: bool = True) -> DeviceUse:
        """The state of all devices. The rate of a link is read only if that device is used by the processes, or its memory has changed since the
        start."""
        use = DeviceUse()
        for device, before in zip(self._devices, self._before, strict=True):
            whole, own = self._whole(device), self._of_processes(device, pids)
            use.whole += whole
            if own is not None:
                use.of_run += own
                use.seen = True
            if with_link and self._tells_link and (own is not None or whole != before):
                to_device, from_device = self._link(device, RECEIVED), self._link(device, TRANSMITTED)
                if to_device is None or from_device is None:
                    self._tells_link = False
                    continue
                use.to_device = (use.to_device or 0.0) + to_device
                use.from_device = (use.from_device or 0.0) + from_device
        return use

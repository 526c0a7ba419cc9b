"""A CUDA device for the laboratory, in its primary context."""

import ctypes
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from blastoff.lab.cuda.compiler import Compiler
from blastoff.lab.cuda.driver import (
    ACCESSED_BY,
    ADDRESS,
    ATTACH_GLOBAL,
    ATTRIBUTES,
    CPU,
    FOR_DEVICES,
    HANDLE,
    ON_DEVICE,
    ON_HOST,
    PREFER,
    Driver,
    Location,
    pointer_to,
)
from blastoff.lab.device import Device
from blastoff.lab.failures import Cannot, DeviceFailed
from blastoff.lab.kernels.table import Kernel

STREAM = HANDLE()
"""The default stream, on which all work runs in order."""


class CudaDevice(Device):
    """One GPU. Kernels are compiled at their first use."""

    kind = "cuda"

    def __init__(self, number: int, driver: Driver, compiler: Compiler) -> None:
        super().__init__()
        self.driver, self.compiler = driver, compiler
        self.is_open = False
        try:
            self._open(number)
        except Cannot as error:
            raise DeviceFailed(f"{error}; --device simulated shows the laboratory without a GPU") from error

    def _open(self, number: int) -> None:
        self.driver.call("cuInit", 0)
        count = self.driver.number("cuDeviceGetCount")
        if number >= count:
            raise DeviceFailed(f"there is no cuda:{number}: the driver shows {count} devices")
        self.setting = f"cuda:{number}"
        self.ordinal = self.driver.number("cuDeviceGet", number)
        text = ctypes.create_string_buffer(256)
        self.driver.call("cuDeviceGetName", text, len(text), self.ordinal)
        version = self.driver.number("cuDriverGetVersion")
        self.name = text.value.decode(errors="replace")
        self.software = f"driver of CUDA {version // 1000}.{version % 1000 // 10}, {self.compiler.version}"
        self.properties = {name: self.driver.number("cuDeviceGetAttribute", value, self.ordinal) for name, value in ATTRIBUTES.items()}
        self.multiprocessors = self.properties["multiprocessors"]
        self.modules: dict[str, HANDLE] = {}
        self.functions: dict[str, HANDLE] = {}
        self.events: list[HANDLE] = []
        self.idle_events: list[HANDLE] = []
        began = time.perf_counter()
        context = self.driver.handle("cuDevicePrimaryCtxRetain", self.ordinal)
        self.is_open = True
        self.driver.call("cuCtxSetCurrent", context)
        self.context_seconds = time.perf_counter() - began

    def memory(self) -> tuple[int, int]:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def why_not(self, ability: str) -> str:
        """See Device."""
        kind = ability.split()[0]
        if kind == "managed" and not self.properties["managed_memory"]:
            return "this device has no managed memory"
        if kind == "system" and not self.properties["pageable_memory_access"]:
            return "this device cannot reach ordinary memory: neither ATS nor HMM (pageable memory access is 0)"
        if ability != kind and not self.properties["concurrent_managed_access"]:
            return "this device moves no pages on demand (concurrent managed access is 0)"
        return ""

    def cpu_reaches_its_memory(self) -> bool:
        return bool(self.properties["host_page_tables"])

    def attributes(self) -> dict[str, Any]:
        return {**self.properties, "nvrtc": self.compiler.path}

    def _allocate(self, size: int, managed: bool) -> int:
        if managed:
            return self.driver.number("cuMemAllocManaged", size, ATTACH_GLOBAL, kind=ADDRESS)
        return self.driver.number("cuMemAlloc_v2", size, kind=ADDRESS)

    def _release(self, address: int, managed: bool) -> None:
        self.driver.call("cuMemFree_v2", address)

    def _allocate_on_host(self, size: int) -> int:
        return self.driver.number("cuMemHostAlloc", size, FOR_DEVICES, kind=ctypes.c_void_p)

    def _release_on_host(self, address: int) -> None:
        self.driver.call("cuMemFreeHost", address)

    def upload(self, address: int, source: np.ndarray) -> None:
        self.driver.call("cuMemcpyHtoD_v2", address, pointer_to(source), source.nbytes)
        self.synchronize()  # a small copy from pageable memory may return before it has arrived

    def download(self, target: np.ndarray, address: int) -> None:
        self.driver.call("cuMemcpyDtoH_v2", pointer_to(target), address, target.nbytes)

    def copy(self, target: int, source: int, size: int) -> None:
        self.driver.call("cuMemcpyDtoDAsync_v2", target, source, size, STREAM)

    def _place(self, on_device: bool) -> Any:
        """The device or the host as an argument for the driver's entry points, which differ between newer and older drivers."""
        if self.driver.takes_locations:
            return Location(ON_DEVICE, self.ordinal) if on_device else Location(ON_HOST, 0)
        return self.ordinal if on_device else CPU

    def prefetch(self, address: int, size: int, to_device: bool) -> None:
        if self.driver.takes_locations:
            self.driver.call("cuMemPrefetchAsync_v2", address, size, self._place(to_device), 0, STREAM)
        else:
            self.driver.call("cuMemPrefetchAsync", address, size, self._place(to_device), STREAM)

    def keep_on_host(self, address: int, size: int) -> None:
        advise = "cuMemAdvise_v2" if self.driver.takes_locations else "cuMemAdvise"
        self.driver.call(advise, address, size, PREFER, self._place(on_device=False))
        self.driver.call(advise, address, size, ACCESSED_BY, self._place(on_device=True))

    def _function(self, kernel: Kernel) -> HANDLE:
        if kernel.name not in self.functions:
            if kernel.file not in self.modules:
                began = time.perf_counter()
                capability = 10 * self.properties["compute_major"] + self.properties["compute_minor"]
                image = self.compiler.compile(kernel.source, kernel.file, capability)
                self.modules[kernel.file] = self.driver.handle("cuModuleLoadData", image)
                self.compile_seconds += time.perf_counter() - began
            self.functions[kernel.name] = self.driver.handle("cuModuleGetFunction", self.modules[kernel.file], kernel.name.encode())
        return self.functions[kernel.name]

    def prepare(self, *kernels: Kernel) -> None:
        for kernel in kernels:
            self._function(kernel)

    def launch(self, kernel: Kernel, grid: tuple[int, int], block: tuple[int, int], *values: Any) -> None:
        function = self._function(kernel)
        objects = kernel.encode(values)
        pointers = (ctypes.c_void_p * len(objects))(*[ctypes.addressof(thing) for thing in objects])
        self.driver.call("cuLaunchKernel", function, *grid, 1, *block, 1, 0, STREAM, pointers, None)

    def synchronize(self) -> None:
        self.driver.call("cuCtxSynchronize")

    def mark(self) -> HANDLE:
        if not self.idle_events:
            self.events.append(self.driver.handle("cuEventCreate", 0))
            self.idle_events.append(self.events[-1])
        event = self.idle_events.pop()
        self.driver.call("cuEventRecord", event, STREAM)
        return event

    def seconds_between(self, first: HANDLE, second: HANDLE) -> float:
        self.driver.call("cuEventSynchronize", first)
        self.driver.call("cuEventSynchronize", second)
        return self.driver.number("cuEventElapsedTime", first, second, kind=ctypes.c_float) / 1000

    def forget(self, marks: Sequence[HANDLE]) -> None:
        self.idle_events += marks

    def close(self) -> None:
        """Releases everything. If the device has failed, some releases fail too, and the process's end releases the rest."""
        if not self.is_open:
            return
        self.is_open = False
        self.driver.status("cuCtxSynchronize")
        for address in self.held:
            self.driver.status("cuMemFree_v2", address)
        self.held.clear()
        for address in self.page_locked:
            self.driver.status("cuMemFreeHost", address)
        self.page_locked.clear()
        for event in self.events:
            self.driver.status("cuEventDestroy_v2", event)
        for module in self.modules.values():
            self.driver.status("cuModuleUnload", module)
        self.driver.status("cuDevicePrimaryCtxRelease_v2", self.ordinal)

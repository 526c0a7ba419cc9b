"""Energy counters of this machine: those of its processors from the kernel, those of its GPUs from NVML. Each counts the energy of the whole
processor or GPU, whoever uses it."""

import ctypes
import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from blastoff.sampling import nvml

CPU, MEMORY, GPU = "cpu", "memory", "gpu"

POWERCAP = Path("/sys/class/powercap")
POWER_EVENTS = Path("/sys/bus/event_source/devices/power")

MAX_WATTS = 1000.0
"""Largest power of one processor, which tells how soon its counter may wrap around."""


class UnreadableError(Exception):
    """Counters cannot be read; the message says why."""


@dataclass(frozen=True)
class Counter:
    """One energy counter. `wraps_at`: joules at which it starts again at 0; 0: never. `lasting`: the count is the same for all who read it;
    otherwise it starts when the counter is opened. `bus`: PCI address of a GPU."""

    kind: str
    name: str
    wraps_at: float = 0.0
    lasting: bool = True
    bus: str = ""


class Source(Protocol):
    """Counters that are read together. `pause`: most seconds between two readings; after more, energy may be lost."""

    counters: list[Counter]
    pause: float

    def read(self) -> list[float]:
        """Joules of each counter."""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UnreadableError(f"{path}: {error.strerror}") from error


class Powercap:
    """RAPL through /sys/class/powercap (Documentation/power/powercap). The count of a package includes its cores but not its memory."""

    def __init__(self, directory: Path) -> None:
        self.counters: list[Counter] = []
        self._files: list[int] = []
        if not directory.is_dir():
            raise UnreadableError(f"there is no {directory}{_why_none()}")
        for zone in sorted(directory.glob("intel-rapl:*")):
            inner = zone.name.count(":") > 1
            name = _text(zone / "name")
            if inner and name == "dram":
                package = _text(zone.with_name(zone.name.rpartition(":")[0]) / "name")
                self._open(zone, MEMORY, f"{name} of {package}")
            elif not inner and name.startswith("package"):
                self._open(zone, CPU, name)
        if not any(counter.kind == CPU for counter in self.counters):
            raise UnreadableError(f"{directory} tells of no processor{_why_none()}")
        self.pause = min(counter.wraps_at for counter in self.counters) / MAX_WATTS / 2

    def _open(self, zone: Path, kind: str, name: str) -> None:
        path = zone / "energy_uj"
        try:
            self._files.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        except OSError as error:
            raise UnreadableError(f"{path}: {error.strerror}") from error
        self.counters.append(Counter(kind, name, wraps_at=1e-6 * int(_text(zone / "max_energy_range_uj"))))

    def read(self) -> list[float]:
        return [1e-6 * int(os.pread(file, 32, 0)) for file in self._files]


def _why_none() -> str:
    """Why a machine may have no counters."""
    try:
        virtual = "hypervisor" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        virtual = False
    return " (this is a virtual machine)" if virtual else ""


class Perf:
    """RAPL through perf_event_open(2), for users who may count the events of a whole processor (kernel.perf_event_paranoid of 0 or less)."""

    EVENTS = (("energy-pkg", CPU, "package"), ("energy-ram", MEMORY, "dram"))
    SYSTEM_CALL = 298
    """Number of perf_event_open on x86-64, the only architecture with RAPL."""
    pause = 60.0

    def __init__(self, events: Path = POWER_EVENTS) -> None:
        self.counters: list[Counter] = []
        self._files: list[tuple[int, float]] = []
        kind = int(_text(events / "type"))
        for place, cpu in enumerate(int(first) for first in _text(events / "cpumask").replace("-", ",").split(",")):
            for event, of, name in self.EVENTS:
                described = events / "events" / event
                if described.exists():
                    config = int(_text(described).partition("=")[2], 16)
                    self._files.append((self._open(kind, config, cpu), float(_text(described.with_name(f"{event}.scale")))))
                    self.counters.append(Counter(of, f"{name}-{place}", lasting=False))
        if not self.counters:
            raise UnreadableError(f"{events} counts no energy")

    def _open(self, kind: int, config: int, cpu: int) -> int:
        attributes = struct.pack("=IIQ48x", kind, 64, config)  # the first form of struct perf_event_attr
        libc = ctypes.CDLL(None, use_errno=True)
        file = libc.syscall(self.SYSTEM_CALL, attributes, -1, cpu, -1, 8)  # PERF_FLAG_FD_CLOEXEC
        if file < 0:
            raise UnreadableError(f"perf_event_open: {os.strerror(ctypes.get_errno())} (kernel.perf_event_paranoid)")
        return file

    def read(self) -> list[float]:
        return [scale * int.from_bytes(os.read(file, 8), "little") for file, scale in self._files]


class Gpus:
    """GPUs, read by NVML: the energy counter where there is one (Volta and newer), otherwise the sum of the power over time."""

    OFTEN = 1.0
    """Seconds between two readings of the power."""

    def __init__(self) -> None:
        try:
            self._gpus = nvml.Nvml()
        except nvml.NvmlError as error:
            raise UnreadableError(str(error)) from error
        self.counters: list[Counter] = []
        self._readers: list[_Meter] = []
        for place, (name, bus) in enumerate(zip(self._gpus.names, self._gpus.buses(), strict=True)):
            lasting = self._gpus.energy(place) is not None
            if lasting or self._gpus.power(place) is not None:
                self.counters.append(Counter(GPU, name, lasting=lasting, bus=bus))
                self._readers.append(_Meter(self._gpus, place, lasting))
        if not self.counters:
            raise UnreadableError(f"NVML tells neither energy nor power of {', '.join(self._gpus.names)}")
        self.pause = 60.0 if all(counter.lasting for counter in self.counters) else self.OFTEN

    def read(self) -> list[float]:
        return [reader.read() for reader in self._readers]


@dataclass
class _Meter:
    """The energy of one GPU."""

    gpus: nvml.Nvml
    place: int
    counts: bool
    joules: float = 0.0
    before: tuple[float, float] | None = None
    """Time and value of the last reading of the power."""

    def read(self) -> float:
        if self.counts:
            self.joules = self.gpus.energy(self.place) or self.joules
            return self.joules
        now, power = time.monotonic(), self.gpus.power(self.place) or 0.0
        if self.before is not None:
            self.joules += (now - self.before[0]) * (power + self.before[1]) / 2
        self.before = (now, power)
        return self.joules


def processors(powercap: Path) -> Source:
    """The counters of the processors, from powercap or from perf, whichever can be read."""
    try:
        return Powercap(powercap)
    except UnreadableError as error:
        if not POWER_EVENTS.is_dir():
            raise
        try:
            return Perf()
        except UnreadableError as other:
            raise UnreadableError(f"{error}; {other}") from other

"""The memory that Blastoff itself holds in the processes of a run, from their counter files; and the program's marks."""

import ctypes
import os
from collections.abc import Container
from dataclasses import dataclass, field
from pathlib import Path

from blastoff import library
from blastoff.job import runs

MAX_MARK_BYTES = 1 << 20
"""Most bytes in the file of marks (src/report/marks.h)."""

NAMES = ("held", "mirrored", "pinned", "staged", "to_device", "from_device")


class _Memory(ctypes.Structure):
    """struct blastoff_memory of include/blastoff.h."""

    _fields_ = [(name, ctypes.c_ulonglong) for name in ("device", *NAMES[1:])]


Mark = tuple[float, int, str]
"""A mark: seconds since boot, process id, name."""


@dataclass
class OwnMemory:
    """The memory of Blastoff in all processes of a run that keep counters in the run's directory."""

    directory: Path
    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Open counter files by name, the oldest first: process id and file descriptor."""
    known: set[str] = field(default_factory=set)
    changed: list[int] = field(default_factory=list)
    past: list[int] = field(default_factory=lambda: [0, 0])
    """Bytes that ended processes have moved to the device and from the device."""

    def __post_init__(self) -> None:
        self._function = ctypes.PyDLL(str(library.find_library()), mode=os.RTLD_LOCAL | os.RTLD_NOW).blastoff_counters_memory
        self._memory = _Memory()
        self._address = ctypes.byref(self._memory)

    def update(self) -> None:
        """Opens new counter files."""
        try:
            changed = [place.stat().st_mtime_ns for place in (self.directory, runs.bulk(self.directory))]
            if changed == self.changed:
                return
            found = runs.counter_files(self.directory)
        except OSError:
            return
        self.changed = changed
        for counters in found:
            if counters.path.name in self.known:
                continue
            try:
                file = os.open(counters.path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
            self.files[counters.path.name] = (counters.pid, file)
            self.known.add(counters.path.name)

    def look(self, alive: Container[int], ended: Container[int]) -> dict[str, int]:
        """The sums by NAMES over the processes with these ids. Ended processes hold nothing, but the bytes that they have moved count."""
        held, mirrored, pinned, staged = 0, 0, 0, 0
        to_device, from_device = self.past
        memory = self._memory
        latest = dict(self.files.values())  # after exec, a process has a new file
        for name, (pid, file) in list(self.files.items()):
            present = pid in alive
            if not (present or pid in ended) or self._function(file, self._address) != 0:
                continue
            to_device += memory.to_device
            from_device += memory.from_device
            if present and latest[pid] == file:
                held += memory.device
                mirrored += memory.mirrored
                pinned += memory.pinned
                staged += memory.staged
            else:
                self.past[0] += memory.to_device
                self.past[1] += memory.from_device
                os.close(file)
                del self.files[name]
        return dict(zip(NAMES, (held, mirrored, pinned, staged, to_device, from_device), strict=True))

    def close(self) -> None:
        for _, file in self.files.values():
            os.close(file)
        self.files.clear()


def marks(directory: Path) -> tuple[list[Mark], bool]:
    """The marks until now in the order of time, and whether the file of marks is full."""
    try:
        text = (runs.bulk(directory) / runs.MARKS).read_bytes()
    except OSError:
        return [], False
    found = []
    for line in text.decode(errors="replace").splitlines():
        time, _, rest = line.partition(" ")
        pid, _, name = rest.partition(" ")
        if time.isdigit() and pid.isdigit():
            found.append((int(time) / 1e9, int(pid), name))
    return sorted(found), len(text) >= MAX_MARK_BYTES

"""Reads energy counters while the program runs: at its beginning, at its marks, at its end, and often enough that no counter
wraps around unnoticed. Counters belong to the machine, so only one launcher of a run reads at a time. It writes the readings into the run's
directory for the last launcher. An error here never stops the program."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from blastoff.job import runs

if TYPE_CHECKING:
    from blastoff.sampling.energy import Source

BEFORE_ALL, BEFORE_GPUS = 0.02, 0.1
"""Seconds that a program must run before anything is read, so that short programs do not wait for the imports here.
Seconds that a program must run before NVML is loaded, because loading it takes as long as everything else that the launcher does."""
BETWEEN_MARKS = 0.02
"""Least seconds between two readings. The counters themselves change at most a hundred times a second."""
CLOSE_ON_EXEC, NONBLOCKING, MODIFIED = 0o2000000, 0o4000, 2
"""Flags of inotify(7)."""


def wants_gpus(environment: Mapping[str, str]) -> bool:
    return (environment.get("BLASTOFF_DEVICE") or "cuda").startswith("cuda")


class Watch(threading.Thread):
    """Meters one program, which has just started. `directory`: the run's directory, where the processes keep their marks. `lock`: the locked file of
    the launcher that reads, if this is the one; else -1."""

    def __init__(self, directory: Path, environment: Mapping[str, str], lock: int = -1) -> None:
        super().__init__(name="blastoff-energy", daemon=True)
        self.directory = runs.bulk(directory).resolve()
        self.powercap = environment.get("BLASTOFF_POWERCAP")
        self.gpus = wants_gpus(environment)
        self._over = threading.Event()
        self._writing = threading.Lock()
        self._sources: list[Source] = []
        self._given, self._lock, self._file = lock, -1, -1
        self._woken, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def finish(self) -> None:
        """Ends metering after the program's end. Reads all counters a last time, unless another launcher is the one that reads."""
        self._over.set()
        os.write(self._wake, b"x")
        with suppress(Exception), self._writing:
            self._read()
            if self._lock >= 0:
                os.close(self._lock)
                self._lock = -1

    def run(self) -> None:
        with suppress(Exception):
            if self._over.wait(BEFORE_ALL):
                return None
            lock = self._given if self._given >= 0 else self._wait_for_lock()
            with self._writing:
                if self._over.is_set():
                    return os.close(lock)
                self._lock = lock
                self._file = os.open(self.directory / runs.ENERGY, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._open_sources()
            self._follow()
        return None

    def _wait_for_lock(self) -> int:
        """Waits until the launcher that reads has ended."""
        lock = os.open(self.directory / runs.ENERGY_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def _open_sources(self) -> None:
        from blastoff.sampling import energy

        self._add(energy.CPU, lambda: energy.processors(Path(self.powercap or energy.POWERCAP)))
        if not self.gpus:
            return
        if self._over.wait(BEFORE_GPUS):
            self._write({"unreadable": {energy.GPU: "the program ended before NVML was loaded"}})
        else:
            self._add(energy.GPU, energy.Gpus)

    def _add(self, kind: str, source: Callable[[], Source]) -> None:
        """Adds a source of counters, and reads them. If it cannot be read, writes down the reason."""
        from blastoff.sampling import energy

        try:
            found = source()
        except energy.UnreadableError as error:
            return self._write({"unreadable": {kind: str(error)}})
        with self._writing:
            if not self._over.is_set():
                self._write({"counters": [vars(counter) for counter in found.counters]})
                self._sources.append(found)
                self._read()
        return None

    def _follow(self) -> None:
        """Reads the counters whenever the program makes a mark, and before they would wrap around."""
        libc = ctypes.CDLL(None)
        marks = libc.inotify_init1(CLOSE_ON_EXEC | NONBLOCKING)
        libc.inotify_add_watch(marks, os.fsencode(self.directory / runs.MARKS), MODIFIED)
        poll = select.poll()
        for file in (self._woken, marks):
            poll.register(file, select.POLLIN)
        while not self._over.is_set() and self._sources:
            poll.poll(1000 * min(source.pause for source in self._sources))
            with suppress(OSError):
                os.read(marks, 1 << 16)
            with self._writing:
                if not self._over.is_set():
                    self._read()
            self._over.wait(BETWEEN_MARKS)

    def _read(self) -> None:
        """Reads all counters, and writes down their values."""
        if not self._sources:
            return
        joules = [value for source in self._sources for value in source.read()]
        self._write({"time": time.clock_gettime(time.CLOCK_BOOTTIME), "joules": joules})

    def _write(self, said: Mapping[str, object]) -> None:
        os.write(self._file, json.dumps({"by": os.getpid(), **said}).encode() + b"\n")

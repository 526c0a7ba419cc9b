"""What the launcher does about the counters of processes that have ended, while the program runs: there may be any number of them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from blastoff import library
from blastoff.job import runs

if TYPE_CHECKING:
    from pathlib import Path

    from blastoff.job.processes import Process

MANY = 32
"""Counter files that may lie there: a run with fewer processes costs nothing but looking at the names."""
PAUSE = 0.25
"""Seconds between two looks."""


def number_of_files(directory: Path) -> int:
    names: list[str] = []
    for place in (directory, directory / runs.DISK):
        with suppress(OSError):
            names += os.listdir(place)
    return sum(name.endswith(runs.COUNTERS) for name in names)


def writer(environment: Mapping[str, str], of_child: bool = False) -> Callable[[Process], object] | None:
    """Writes the report of a process that has not done so itself, if there are to be any. `of_child`: its name has the process id."""
    pattern = environment.get("BLASTOFF_REPORT")
    if not pattern:
        return None
    return lambda process: library.write_report(library.find_library(), pattern, process.report, of_child)


class Keeper:
    """Of one run. `child`: the program, of which the launcher itself learns how it ended."""

    def __init__(self, directory: Path, environment: Mapping[str, str], child: int) -> None:
        self.directory, self.environment, self.child = directory, environment, child

    def idle(self) -> float:
        """Looks, and returns the seconds until the next look. Whatever goes wrong, the counters stay as they are."""
        with suppress(Exception):
            if number_of_files(self.directory) > MANY:
                self._fold()
        return PAUSE

    def _fold(self) -> None:
        """Another launcher of the run may be at it."""
        from blastoff.job import reading

        file = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            counting = any(file.pid == self.child for file in runs.counter_files(self.directory))
            # The path itself is for the program, which still runs.
            reading.fold(self.directory, {self.child}, writer(self.environment, of_child=counting))
        finally:
            os.close(file)

"""Folds the counters of ended processes while the program runs, since a run may have any number of processes."""

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
"""Number of counter files above which processes are folded. For a run with fewer, the launcher only lists the directory."""
PAUSE = 0.25
"""Seconds between two checks."""


def number_of_files(directory: Path) -> int:
    names: list[str] = []
    for place in (directory, directory / runs.DISK):
        with suppress(OSError):
            names += os.listdir(place)
    return sum(name.endswith(runs.COUNTERS) for name in names)


def writer(environment: Mapping[str, str], of_child: bool = False) -> Callable[[Process], object] | None:
    """A function that writes the report of a process that has not written it itself; None if the run writes no reports. `of_child`: the file's
    name contains the process id."""
    pattern = environment.get("BLASTOFF_REPORT")
    if not pattern:
        return None
    return lambda process: library.write_report(library.find_library(), pattern, process.report, of_child)


class Keeper:
    """Folds the processes of one run. `child`: the program itself, which is not folded, because the launcher will learn how it ended."""

    def __init__(self, directory: Path, environment: Mapping[str, str], child: int) -> None:
        self.directory, self.environment, self.child = directory, environment, child

    def idle(self) -> float:
        """Folds if there are many files, and returns the seconds until the next call. After an error, the counters stay as they are."""
        with suppress(Exception):
            if number_of_files(self.directory) > MANY:
                self._fold()
        return PAUSE

    def _fold(self) -> None:
        """Folds the run's processes, unless another launcher of the run is doing so."""
        from blastoff.job import reading

        file = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            counting = any(file.pid == self.child for file in runs.counter_files(self.directory))
            # The report's path without a process id is kept for the program, which still runs.
            reading.fold(self.directory, {self.child}, writer(self.environment, of_child=counting))
        finally:
            os.close(file)

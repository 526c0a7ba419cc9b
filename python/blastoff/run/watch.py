"""Samples the program's memory while the launcher waits for the program. An error here changes neither the program nor the exit status."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blastoff import library
from blastoff.job import runs

if TYPE_CHECKING:
    from blastoff.sampling.sampler import Sampler

FOREVER = 3600.0


class Watch:
    """Samples one program, which is about to start. `interval`: seconds. `directory`: the run's directory, if there is one. `say`: prints for the
    user."""

    def __init__(self, interval: float, directory: Path | None, say: Callable[[str], None]) -> None:
        self.interval, self.directory, self.say = interval, directory, say
        self.child = 0
        self.started_at = time.clock_gettime(time.CLOCK_BOOTTIME)
        self.sampler: Sampler | None = None
        self._attempt(self._listen)

    def _listen(self) -> None:
        """Makes the file of marks, so that the processes of the run keep their marks."""
        if self.directory is None:
            raise OSError("there is no place for the directory of a run")
        (runs.bulk(self.directory) / runs.MARKS).touch(mode=0o600)

    def begin(self, child: int) -> None:
        """Starts sampling. Called after the program has started, because the imports would delay its start."""
        self.child = child
        if self.directory is not None:
            self._attempt(self._start)

    def _start(self) -> None:
        from blastoff.sampling.sampler import Sampler

        alone = library.global_rank(library.find_library()) < 0
        self.sampler = Sampler(self.child, self.interval, self.directory, alone, self.started_at)

    def _attempt(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except Exception as error:
            self.say(f"blastoff: the memory of this run is not sampled: {error}\n")
            self.sampler = None
            return None

    def idle(self) -> float:
        """Takes a sample if it is time for one, and returns the seconds until the next."""
        pause = self._attempt(self.sampler.idle) if self.sampler is not None else None
        return FOREVER if pause is None else pause

    def finish(self, command: Sequence[str], run: str) -> None:
        """Leaves the time line in the run's directory for the launcher that reports. `run`: the run's name in reports."""
        self._attempt(lambda: self._leave(command, run))

    def _leave(self, command: Sequence[str], run: str) -> None:
        from blastoff.sampling import results

        if self.sampler is not None and self.directory is not None:
            results.leave(self.sampler.finish(command, run), self.directory)

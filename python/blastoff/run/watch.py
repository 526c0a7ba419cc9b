"""Samples the program's memory while it runs. An error here changes neither the program nor the exit status."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blastoff import library

if TYPE_CHECKING:
    from blastoff.sampling.sampler import Sampler

FOREVER = 3600.0


class Watch:
    """Samples one program. `interval`: seconds. `directory`: the run's directory. `say`: prints for the user."""

    def __init__(self, interval: float, directory: Path, say: Callable[[str], None]) -> None:
        self.interval, self.directory, self.say = interval, directory, say
        self.sampler: Sampler | None = None

    def begin(self, child: int, started_at: float) -> None:
        """Starts to sample the program, which has started at this moment (CLOCK_BOOTTIME)."""
        self._attempt(lambda: self._start(child, started_at))

    def _start(self, child: int, started_at: float) -> None:
        from blastoff.sampling.sampler import Sampler

        alone = library.global_rank(library.find_library()) < 0
        self.sampler = Sampler(child, self.interval, self.directory, alone, started_at)

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

    def leave_out(self, seconds: float) -> None:
        """Other work of this thread took these seconds of processor time: they are no cost of the samples."""
        if self.sampler is not None:
            self.sampler.cpu_before += seconds
            self.sampler.thread_before += seconds

    def finish(self, command: Sequence[str], run: str) -> None:
        """Leaves the time line in the run's directory for the launcher that reports. `run`: the run's name in reports."""
        self._attempt(lambda: self._leave(command, run))

    def _leave(self, command: Sequence[str], run: str) -> None:
        from blastoff.sampling import results

        if self.sampler is not None:
            results.leave(self.sampler.finish(command, run), self.directory)

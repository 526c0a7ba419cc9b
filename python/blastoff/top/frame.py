"""A moment of a run: its counters, and rates since an earlier moment."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from blastoff.job import reading, runs
from blastoff.job.processes import Job, Process, Sums, in_order


@dataclass
class Frame:
    """All processes of a run as they were read at `time` (seconds); those without calls are `idle`."""

    directory: Path
    time: float
    processes: list[Process]
    before: "Frame | None" = None
    _by_path: dict[str, Process] = field(init=False)

    def __post_init__(self) -> None:
        self._by_path = {process.path: process for process in self.processes}

    @property
    def calling(self) -> list[Process]:
        return [process for process in self.processes if process.totals.calls]

    @property
    def job(self) -> Job:
        return in_order(self.calling)

    @property
    def running(self) -> int:
        return sum(process.ended == runs.RUNNING for process in self.processes)

    @property
    def device_memory(self) -> int:
        """Bytes of device memory that the running processes hold."""
        return sum(process.report["device"]["memory_in_use"] for process in self.processes if process.ended == runs.RUNNING)

    def rate(self, name: str, process: Process | None = None) -> float | None:
        """Growth of a counter per second, of one process or summed over all; None without an earlier moment."""
        if self.before is None:
            return None
        if process is None:
            earlier, now = (sum(getattr(one.totals, name) for one in frame.processes) for frame in (self.before, self))
        else:
            before, now = self.before._by_path.get(process.path), getattr(process.totals, name)
            earlier = getattr(before.totals, name) if before is not None else 0
        grown = now - earlier
        return max(0.0, grown) / max(1e-9, self.time - self.before.time)

    def routine_rate(self, routine: str) -> float | None:
        """Operations of one routine per second."""
        if self.before is None:
            return None
        now, earlier = self.job.routines[routine], self.before.job.routines.get(routine, Sums())
        return max(0.0, now.flops - earlier.flops) / max(1e-9, self.time - self.before.time)


def printable(frame: Frame) -> Frame:
    """The frame with all its texts made printable for a terminal."""
    return replace(frame, processes=in_order(frame.processes).printable().processes)


def read(directory: Path, before: Frame | None) -> Frame:
    """Reads the run now. The frame refers to the frame before it, but to no earlier ones."""
    if before is not None:
        before.before = None
    return Frame(directory, time.monotonic(), list(reading.read_run(directory)), before)


def share(sums: Sums) -> float:
    """The part of the arithmetic that ran on the device, from 0 to 1."""
    return sums.offloaded_flops / sums.flops if sums.flops else 0.0


def sums_json(sums: Sums, rate: float | None) -> dict[str, Any]:
    """The counters of a routine or a process, with the device's share and the rate."""
    counters: Mapping[str, float] = sums.counters
    return {**counters, "offloaded_share": share(sums), "flops_per_second": rate}


def as_json(frame: Frame) -> dict[str, Any]:
    """A moment as data for JSON."""
    job = frame.job
    moved = [frame.rate("bytes_to_device"), frame.rate("bytes_from_device")]
    return {
        "run": str(frame.directory),
        "running": frame.running,
        "device_memory": frame.device_memory,
        "totals": sums_json(job.totals, frame.rate("flops")),
        "results": {fate: job.of_results(fate) for fate in ("bytes_overwritten", "bytes_touched", "bytes_brought_home")},
        "bytes_per_second": None if None in moved else sum(moved),
        "routines": [{"name": name, **sums_json(sums, frame.routine_rate(name))} for name, sums in job.routines.items()],
        "processes": [
            {
                **{key: process.report["process"][key] for key in ("pid", "rank", "host", "program", "elapsed_seconds", "ended")},
                "processes": process.number,
                "device_memory": process.report["device"]["memory_in_use"],
                **sums_json(process.totals, frame.rate("flops", process)),
            }
            for process in frame.processes
        ],
        "refusals": [{"reason": reason, "calls": calls} for reason, calls in job.refusals().items()],
    }

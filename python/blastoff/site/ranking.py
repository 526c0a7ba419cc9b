"""Reports and traces of many jobs, summed up by user and program: what a GPU could take over, and what stands in the way.

Reports of runs on the CPU tell how long calls took and how large they were, but not what a GPU would take for them. So the gain is an upper
bound: all the time in calls that are large enough. For traces it is predicted (traces.py). A job of which there are both counts by its traces.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from blastoff.errors import CommandError
from blastoff.job import program, reading, runs
from blastoff.job.call_sites import seconds_by_reason
from blastoff.job.processes import Job, Process, in_order
from blastoff.replay.machines import Machine
from blastoff.site import traces
from blastoff.site.share import OUTSIDE, WORTH_A_GPU, Key, Share, owner

LARGE = 500.0
"""Least average size (cube root of the multiplications) of a call that a GPU is likely to make in less time than a CPU."""
NO_OBSTACLES = ("offloading is switched off (device none)", "no usable device", "the device was not ready yet")
"""Reasons that a GPU removes (src/report/refusals.def)."""

Members = list[tuple[Key, Process]]
"""The processes of a job that made calls, with their users and programs."""


class Reader:
    """Reads what is below a directory, one folder at a time, since there may be very many."""

    def __init__(self, directory: Path, machines: Sequence[Machine]) -> None:
        if not directory.is_dir():
            raise CommandError(f"site: {directory}: {'not a directory' if directory.exists() else 'no such directory'}")
        try:
            next(os.scandir(directory), None)
        except OSError as error:
            raise CommandError(f"site: {directory}: {error.strerror}") from error
        self.directory = directory
        self.machines = machines
        """Those on which traces are replayed."""
        self.traced = 0
        """Jobs of which there were traces."""
        self.unreadable = 0
        """Files that are no readable reports or traces."""
        self.closed = 0
        """Directories that cannot be read."""

    def jobs(self) -> Iterator[tuple[Key, Share]]:
        """The jobs, each with its user and program. Files of one folder and one run are one job; so are those of a folder below the directory that
        name no run. A job counts for the program that took longest in calls."""
        for folder, folders, names in os.walk(self.directory, onerror=self._count_closed):
            folders.sort()
            replayed = self._traced(Path(folder), sorted(name for name in names if name.endswith(traces.SUFFIX)))
            yield from replayed.values()
            reported: dict[str, Members] = {}
            for name in sorted(names):
                if not name.endswith(".json") or name.endswith(runs.MEMORY_SUFFIX):
                    continue
                path = Path(folder) / name
                member = self._read(path)
                if member is not None and member[1].worked:
                    reported.setdefault(member[1].report["process"]["run"] or self._alone(path), []).append(member)
            for run, members in reported.items():
                if run not in replayed:
                    key, _ = max(members, key=lambda member: member[1].totals.seconds)
                    yield key, share_of(in_order(process for _, process in members))

    def _count_closed(self, _: OSError) -> None:
        self.closed += 1

    def _alone(self, path: Path) -> str:
        """What stands for the run of a file that names none."""
        return path.name if path.parent == self.directory else ""

    def _read(self, path: Path) -> tuple[Key, Process] | None:
        try:
            process = reading.read_report(str(path))
            return (owner(path), program.name(process.report["process"])), process
        except (CommandError, OSError):
            self.unreadable += 1
            return None

    def _traced(self, folder: Path, names: Sequence[str]) -> dict[str, tuple[Key, Share]]:
        """The jobs of which there are traces, by run."""
        by_run: dict[str, list[Path]] = {}
        for path in (folder / name for name in names):
            try:
                by_run.setdefault(traces.run_of(path) or self._alone(path), []).append(path)
            except CommandError:
                self.unreadable += 1
        found = {}
        for run, paths in by_run.items():
            try:
                found[run] = traces.job(paths, self.machines)
            except (CommandError, OSError):
                self.unreadable += len(paths)
        self.traced += len(found)
        return found


def share_of_large(job: Job) -> float:
    """The part of the time in calls that large calls took on the CPU."""
    large = sum(sums.cpu_seconds for size, sums in job.sizes().items() if size >= LARGE)
    return min(1.0, large / job.totals.seconds) if job.totals.seconds else 0.0


def gpus_of(job: Job) -> int:
    """The number of GPUs that the job's calls ran on."""
    found = set()
    for process in job.processes:
        if process.totals.offloaded:
            host, report = process.report["process"]["host"], process.report
            found |= {(host, device["index"]) for device in report.get("devices") or [report["device"] | {"index": report["device"].get("index")}]}
    return len(found)


def share_of(job: Job) -> Share:
    """One job."""
    nodes = len({process.report["process"]["host"] for process in job.processes})
    wall, totals = job.wall, job.totals
    large = wall.in_calls * share_of_large(job)
    obstacles = {OUTSIDE: wall.outside}
    if totals.seconds:
        stayed = {reason: seconds for reason, seconds in seconds_by_reason(job).items() if reason not in NO_OBSTACLES}
        obstacles |= {reason: wall.in_calls * seconds / totals.seconds for reason, seconds in stayed.items()}
    gpus, gpu_seconds = gpus_of(job), 0.0
    if gpus:
        gpu_seconds = gpus * wall.seconds
    elif wall.seconds and large >= WORTH_A_GPU * wall.seconds:
        gpu_seconds = nodes * (wall.seconds - large)
    hours = nodes / 3600
    return Share(
        jobs=1,
        hours=wall.seconds * hours,
        in_calls=wall.in_calls * hours,
        gain=large * hours,
        gpu_hours=gpu_seconds / 3600,
        on_device=wall.seconds * hours if gpus else 0.0,
        obstacles=Counter({reason: seconds * hours for reason, seconds in obstacles.items()}),
    )


def ranking(jobs: Iterable[tuple[Key, Share]]) -> dict[Key, Share]:
    """The jobs by user and program, those with the largest possible gain first."""
    shares: dict[Key, Share] = {}
    for key, share in jobs:
        shares[key] = shares.get(key, Share()) + share
    return dict(sorted(shares.items(), key=lambda entry: (-entry[1].gain, -entry[1].hours)))

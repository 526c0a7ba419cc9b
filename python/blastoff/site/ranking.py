"""Reports of many jobs, summed up by user and program: what a GPU could take over, and what stands in the way.

Reports of runs on the CPU tell how long calls took and how large they were, but not what a GPU would take for them. So the gain is an upper
bound: all the time in calls that are large enough. Traces tell more (`blastoff predict`).
"""

import os
import pwd
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from blastoff.errors import CommandError
from blastoff.job import program, reading, runs
from blastoff.job.call_sites import seconds_by_reason
from blastoff.job.processes import Job, Process, in_order

LARGE = 500.0
"""Least average size (cube root of the multiplications) of a call that a GPU is likely to make in less time than a CPU."""
WORTH_A_GPU = 0.05
"""A job gains from a GPU if it spends at least this share of its time in large calls."""
OUTSIDE = "outside BLAS, LAPACK and FFTW"
NO_OBSTACLES = ("offloading is switched off (device none)", "no usable device", "the device was not ready yet")
"""Reasons that a GPU removes (src/report/refusals.def)."""

Key = tuple[str, str]
"""User and program."""


def owner(path: Path) -> str:
    """The user to whom a file belongs."""
    number = path.stat().st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


Members = list[tuple[Key, Process]]
"""The processes of a job that made calls, with their users and programs."""


class Reader:
    """Reads the reports below a directory, one folder at a time, since there may be very many."""

    def __init__(self, directory: Path) -> None:
        if not directory.is_dir():
            raise CommandError(f"site: {directory}: no such directory")
        self.directory = directory
        self.unreadable = 0
        """Files that are no readable reports."""

    def jobs(self) -> Iterator[Members]:
        """The jobs. Reports of one folder and one run are one job; so are those of a folder below the directory that name no run."""
        for folder, folders, names in os.walk(self.directory):
            folders.sort()
            jobs: dict[str, Members] = {}
            for name in sorted(names):
                if not name.endswith(".json") or name.endswith(runs.MEMORY_SUFFIX):
                    continue
                path = Path(folder) / name
                member = self._read(path)
                if member is not None and member[1].worked:
                    alone = name if path.parent == self.directory else ""
                    jobs.setdefault(member[1].report["process"]["run"] or alone, []).append(member)
            yield from jobs.values()

    def _read(self, path: Path) -> tuple[Key, Process] | None:
        try:
            process = reading.read_report(str(path))
            return (owner(path), program.name(process.report["process"])), process
        except (CommandError, OSError):
            self.unreadable += 1
            return None


@dataclass
class Share:
    """What some jobs have used, in hours of nodes."""

    jobs: int = 0
    hours: float = 0.0
    in_calls: float = 0.0
    gain: float = 0.0
    """At most: hours in large calls that ran on the CPU."""
    gpu_hours: float = 0.0
    """Hours for which the jobs that gain would hold the GPU of each node, at best; and hours of GPUs that jobs have held."""
    on_device: float = 0.0
    """Hours of jobs that have used a device already."""
    obstacles: Counter[str] = field(default_factory=Counter)
    """Hours that no GPU takes over, by reason."""

    def __add__(self, other: "Share") -> "Share":
        sums = {name: getattr(self, name) + getattr(other, name) for name in ("jobs", "hours", "in_calls", "gain", "gpu_hours", "on_device")}
        return Share(**sums, obstacles=self.obstacles + other.obstacles)

    @property
    def obstacle(self) -> tuple[str, float]:
        """The largest obstacle, and its share of the hours; "" without one."""
        if not self.obstacles or not self.hours:
            return "", 0.0
        reason, hours = self.obstacles.most_common(1)[0]
        return reason, hours / self.hours


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


def ranking(jobs: Iterable[Members]) -> dict[Key, Share]:
    """The jobs by user and program, those with the largest possible gain first. A job counts for the program that took longest in calls."""
    shares: dict[Key, Share] = {}
    for members in jobs:
        key, _ = max(members, key=lambda member: member[1].totals.seconds)
        shares[key] = shares.get(key, Share()) + share_of(in_order(process for _, process in members))
    return dict(sorted(shares.items(), key=lambda entry: (-entry[1].gain, -entry[1].hours)))

"""The places in a program that call routines, with their cost over all processes of a job."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from blastoff.job import places
from blastoff.job.places import Place
from blastoff.job.processes import Job, Process, Sums, reason_of

MAX_NAMED = 40
"""How many places get their functions and lines looked up: those with the most time."""


@dataclass
class CallSite:
    """Calls of one routine from one place."""

    routine: str
    place: Place
    python: str
    name: str = ""
    """The place in words."""
    threads: int = 0
    """Lower bound of the number of threads that called from here in one process."""
    volume: float = 0
    """Multiplications of all calls together."""
    sums: Sums = field(default_factory=Sums)
    wall: Sums = field(default_factory=Sums)
    """`sums` with seconds as wall time of the job: time in which several threads or processes call at once counts once."""
    refusals: Counter[str] = field(default_factory=Counter)

    @property
    def mean_size(self) -> float:
        """Average size of a call: the cube root of its multiplications."""
        return (self.volume / self.sums.calls) ** (1 / 3) if self.sums.calls else 0

    @property
    def reason(self) -> str:
        """The most frequent reason why its calls stayed on the CPU."""
        return self.refusals.most_common(1)[0][0] if self.refusals else ""


def cpu_share(site: CallSite, reason: str) -> float:
    """The part of the site's calls on the CPU that stayed there for this reason."""
    return site.refusals[reason] / max(1, site.sums.calls - site.sums.offloaded)


def seconds_by_reason(job: Job) -> dict[str, float]:
    """Seconds that calls took on the CPU, summed over threads, by the reason why they stayed there, as far as call sites tell. All calls of a site
    on the CPU are taken to last equally long."""
    seconds: Counter[str] = Counter()
    for site in merged(job):
        for reason in site.refusals:
            seconds[reason] += site.sums.cpu_seconds * cpu_share(site, reason)
    return dict(seconds)


def python_name(line: str) -> str:
    """`path:12 in function`, with the path cut to the file's name."""
    path, colon, rest = line.rpartition(":")
    return f"{Path(path).name}{colon}{rest}"


OF_THREADS = ("cpu_seconds", "device_seconds", "transfer_seconds")
"""Counters that are summed over threads."""


def in_wall_time(sums: Sums, threads: int, share: float, overlap: float | None = None) -> Sums:
    """The sums with seconds as wall time of the job. `threads`: lower bound of the threads that called in this process. `share`: what a second of
    the process is of the job's wall time. `overlap`: wall time of a second in the process's large calls, if it has made small ones, too. How many
    threads made small calls at once is not known, so all are taken to have done so."""
    at_once = 1 / max(1, threads)
    if not sums.wall_seconds or not sums.seconds:
        of_threads = at_once
    elif overlap is None:
        of_threads = sums.wall_seconds / sums.seconds
    else:
        small = max(0.0, sums.seconds - sums.wall_seconds / overlap)
        of_threads = (sums.wall_seconds + small * at_once) / sums.seconds
    return Sums({name: value * share * (of_threads if name in OF_THREADS else 1) for name, value in sums.counters.items()})


def overlap_of_large_calls(process: Process) -> float | None:
    """Wall time of the process's calls that were not small, divided by their sum over threads; None if no call was small."""
    small = (process.report.get("wall") or {}).get("small_seconds", 0.0)
    large = process.totals.seconds - small
    return process.totals.wall_seconds / large if small > 0 and large > 0 and process.totals.wall_seconds else None


def count_once(site: CallSite) -> None:
    """Lets calls that all ranks of a grid make together count once. Each reason why calls stayed on the CPU keeps its share of them."""
    refused = site.sums.calls - site.sums.offloaded
    share = 1 - site.sums.followed / refused if refused else 1
    site.refusals = Counter({reason: round(calls * share) for reason, calls in site.refusals.items()})
    site.sums = site.sums.once


def merged(job: Job) -> list[CallSite]:
    """The sites of all processes, those with the most time first."""
    sites: dict[tuple[str, Place, str], CallSite] = {}
    for process in job.processes:
        overlap = overlap_of_large_calls(process)
        for part in process.report.get("call_sites", []):
            key = (part["routine"], Place(part["object"], part["offset"]), part["python"])
            site = sites.setdefault(key, CallSite(*key))
            site.threads = max(site.threads, part["threads"])
            site.volume += part["mean_size"] ** 3 * part["calls"]
            site.sums += Sums(part)
            site.wall += in_wall_time(Sums(part), part["threads"], job.wall.share(process.report), overlap)
            for entry in part["refusals"]:
                site.refusals[reason_of(process.report, entry["reason"])] += entry["calls"]
    if job.number > 1:
        for site in sites.values():
            count_once(site)
    return sorted(sites.values(), key=lambda site: -site.sums.seconds)


def call_sites(job: Job) -> list[CallSite]:
    """The sites of all processes, named, those with the most time first."""
    sites = merged(job)
    names = places.names({site.place for site in sites[:MAX_NAMED] if not site.python})
    for site in sites:
        site.name = python_name(site.python) if site.python else names.get(site.place, places.default_name(site.place))
    return sites

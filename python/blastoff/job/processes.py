"""The reports of a job, and their sums."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

from blastoff import printable
from blastoff.job import schema, wall
from blastoff.job.reuse import operand_reuse
from blastoff.job.wall import Verdict, Wall


@cache
def counters() -> tuple[str, ...]:
    """Names of the report's sums that are added up here, without the values that Sums computes from them."""
    return tuple(name for name in schema.sums() if not hasattr(Sums, name))


class Sums:
    """Sums over calls, as under `totals` in a report: an attribute for each counter of the schema, in its unit."""

    def __init__(self, part: Mapping[str, float] | None = None) -> None:
        """The sums in this part of a report; zeros without a part, and for counters that a report of an earlier version lacks."""
        self._counters = {name: part.get(name, 0) if part else 0 for name in counters()}

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_counters"][name]
        except KeyError:
            raise AttributeError(f"reports have no counter {name}") from None

    def __add__(self, other: "Sums") -> "Sums":
        return Sums({name: getattr(self, name) + getattr(other, name) for name in counters()})

    @property
    def once(self) -> "Sums":
        """The sums over the processes of a job, in which a call that all ranks of a grid make together counts once. Waiting is no work of the CPU."""
        computed = max(0.0, self.cpu_seconds - self.waited_seconds)
        return Sums(self._counters | {"calls": self.calls - self.followed, "followed": 0, "cpu_seconds": computed, "waited_seconds": 0})

    @property
    def counters(self) -> dict[str, float]:
        """All counters by name."""
        return dict(self._counters)

    @property
    def seconds(self) -> float:
        """Total time in BLAS."""
        return self.cpu_seconds + self.device_seconds

    @property
    def verdict(self) -> Verdict:
        """How much of the time that their process has saved comes from these calls."""
        on_cpu = self.known_cpu_seconds
        return wall.verdict(self.known_seconds, on_cpu, on_cpu, self.known_flops, self.offloaded_flops)

    @property
    def offloaded_share(self) -> float:
        """The share of the operations seen that ran on a device."""
        return self.offloaded_flops / self.flops if self.flops else 0

    @property
    def gflops_offloaded(self) -> float | None:
        """Rate of the offloaded calls, transfers included."""
        return self.offloaded_flops / self.device_seconds / 1e9 if self.device_seconds else None

    @property
    def operand_reuse(self) -> float:
        """How many times each byte that came to the devices was used there."""
        return operand_reuse(self._counters)


@dataclass
class Process:
    """One report."""

    path: str
    report: dict[str, Any]
    read_timeline: Callable[[], list[dict[str, Any]]] | None = None
    """Reads the time line, which is left out of `report` because it is by far the largest part."""

    @property
    def number(self) -> int:
        """Number of processes that the report stands for: more than one if ended processes were added up (job/folding.py)."""
        return self.report["process"].get("count", 1)

    @property
    def label(self) -> str:
        process = self.report["process"]
        if self.number > 1:
            return f"{self.number} of {process['program']}"
        rank = "" if process["rank"] is None else f" rank {process['rank']}"
        return f"{process['host'].split('.')[0]}:{process['pid']}{rank}"

    @property
    def totals(self) -> Sums:
        return Sums(self.report["totals"])

    @property
    def blocks(self) -> dict[str, Any] | None:
        """What its blocks have done; None if it has used none."""
        return self.report.get("blocks")

    @property
    def counted(self) -> list[dict[str, Any]]:
        """The routines that were only counted (--count)."""
        return self.report["interception"].get("counted", [])

    @property
    def worked(self) -> bool:
        """Whether there is anything to report."""
        return bool(self.totals.calls or self.blocks or self.counted)

    @property
    def started(self) -> float:
        """Time of the start in seconds since 1970; 0 for reports of earlier versions."""
        return self.report["process"].get("started", 0)

    @property
    def timeline(self) -> list[dict[str, Any]]:
        """Its longest calls, in the order in which they began."""
        return self.read_timeline() if self.read_timeline is not None else self.report.get("timeline", [])

    @property
    def ended(self) -> str:
        """How it ended; reports of earlier versions were written by exit(3) only."""
        return self.report["process"].get("ended", "exit")


IMBALANCED = 1.25
"""The other ranks may wait for a rank that spends this many times the mean in calls..."""

NOTICEABLE = 0.1
"""...and at least this many seconds more than the mean."""


class AwaitedRank(NamedTuple):
    """A rank for which the others may wait."""

    rank: int
    ratio: float
    """Its wall time in calls, in units of the mean over all ranks."""
    excess: float
    """Seconds that it spends there beyond the mean."""


NOT_READY = "the device was not ready yet"
NO_DEVICE = "no usable device"
"""Reasons of src/report/refusals.def."""
WITHOUT_FAULT = ("", "working", "not started")
"""States of a device."""


def reason_of(report: dict[str, Any], reason: str) -> str:
    """Why calls of a process stayed on the CPU. A device that could not be opened was not merely late."""
    device = report["device"]
    failed = device["state"] not in WITHOUT_FAULT and not device["used"] and not device["name"]
    return NO_DEVICE if failed and reason == NOT_READY else reason


@dataclass
class Job:
    """The processes of one run, and their sums."""

    processes: list[Process]
    routines: dict[str, Sums] = field(init=False)
    totals: Sums = field(init=False)

    def __post_init__(self) -> None:
        routines: dict[str, Sums] = {}
        for process in self.processes:
            for routine in process.report["routines"]:
                routines[routine["name"]] = routines.get(routine["name"], Sums()) + Sums(routine)
        once = self.number > 1
        self.routines = {name: sums.once if once else sums for name, sums in sorted(routines.items(), key=lambda item: -item[1].seconds)}
        totals = sum((process.totals for process in self.processes), Sums())
        self.totals = totals.once if once else totals

    @cached_property
    def wall(self) -> Wall:
        """The job's wall time."""
        return wall.wall_of(process.report for process in self.processes)

    @property
    def verdict(self) -> Verdict:
        return self.wall.verdict(self.totals.known_flops, self.totals.offloaded_flops)

    @property
    def has_own_clock(self) -> bool:
        """Whether seconds in calls come from a simulated device's clock instead of wall time."""
        return any(process.report["settings"].get("simulated-rates") for process in self.processes)

    @property
    def share_in_calls(self) -> float | None:
        """The part of its processes' wall time that is spent in calls, at most; None if that is not known."""
        return None if self.has_own_clock else wall.share_in_calls(process.report for process in self.processes if process.number == 1)

    def printable(self) -> "Job":
        """The job for a terminal: names of programs, files and devices may contain control characters."""
        return Job([Process(process.path, printable.values(process.report), process.read_timeline) for process in self.processes])

    @property
    def number(self) -> int:
        """The number of processes."""
        return sum(process.number for process in self.processes)

    def _parts(self, *keys: str) -> Iterable[Any]:
        for process in self.processes:
            part: Any = process.report
            for key in keys:
                part = part[key]
            yield part

    def sizes(self) -> dict[float, Sums]:
        """Sums of each class of sizes, by the smallest average size in the class; only the counters of the report's `sizes` are set."""
        sizes: dict[float, Sums] = {}
        for process in self.processes:
            for part in process.report.get("sizes", []):
                sizes[part["min_size"]] = sizes.get(part["min_size"], Sums()) + Sums(part)
        return dict(sorted(sizes.items()))

    def refusals(self) -> dict[str, int]:
        """Number of calls that stayed on the CPU, by reason, the most frequent first."""
        counts: Counter[str] = Counter()
        for process in self.processes:
            for entry in process.report["refusals"]:
                followed = entry.get("followed", 0) if self.number > 1 else 0
                counts[reason_of(process.report, entry["reason"])] += entry["calls"] - followed
        return dict(counts.most_common())

    def of_results(self, fate: str) -> int:
        """Bytes of results that had stayed on a device: "bytes_overwritten", "bytes_touched" or "bytes_brought_home" (share/report.schema.json)."""
        return sum(process.report["policy"].get(fate, 0) for process in self.processes)

    def copied(self) -> dict[str, int]:
        """Number of calls that were copied under first-use, by reason, the most frequent first."""
        return self._reasons("policy", "copied_operands")

    def _reasons(self, *keys: str) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for entries in self._parts(*keys):
            for entry in entries:
                counts[entry["reason"]] += entry["calls"] - (entry.get("followed", 0) if self.number > 1 else 0)
        return dict(counts.most_common())

    def placed(self) -> tuple[int, dict[str, int]]:
        """Bytes that were placed in the device's memory, and bytes that were not, by reason."""
        placements = [part for part in self._parts("placement") if part is not None]
        left: Counter[str] = Counter()
        for placement in placements:
            for entry in placement["left"]:
                left[entry["reason"]] += entry["bytes"]
        return sum(placement["bytes_placed"] for placement in placements), dict(left.most_common())

    def patched(self) -> tuple[int, int]:
        """Functions that were patched, and functions that could not be, in the process with the most of them."""
        counts = [
            (sum(len(one["patched"]) for one in objects), sum(len(one["refused"]) for one in objects))
            for objects in self._parts("interception", "objects")
        ]
        return max(counts, default=(0, 0))

    def unseen(self) -> dict[str, tuple[str, str]]:
        """Families of routines that are not taken and that processes call or may call: one function of each, and the file that imports it."""
        families: dict[str, tuple[str, str]] = {}
        for part in self._parts("interception"):
            for one in part.get("unseen", []):
                families.setdefault(one["family"], (one["function"], one["object"].rpartition("/")[2] or "the program"))
        return families

    def counted(self) -> dict[str, tuple[int, float, float]]:
        """Routines that are only counted (--count): calls, seconds, and of these the seconds of their own; the most of these first."""
        sums: dict[str, tuple[int, float, float]] = {}
        for process in self.processes:
            for one in process.counted:
                calls, seconds, own = sums.get(one["routine"], (0, 0.0, 0.0))
                sums[one["routine"]] = (calls + one["calls"], seconds + one["seconds"], own + one["own_seconds"])
        return dict(sorted(sums.items(), key=lambda entry: -entry[1][2]))

    def allocated(self) -> tuple[int, int, int]:
        """Number of large blocks that the allocator library placed, their bytes, and how many of these bytes are bound to the device's node."""
        allocations = [part for part in self._parts("allocation") if part is not None]
        names = ("placed_blocks", "placed_bytes", "bound_bytes")
        blocks, size, bound = (sum(allocation[name] for allocation in allocations) for name in names)
        return blocks, size, bound

    def blocks(self) -> dict[str, float]:
        """Sums over the blocks of all processes, by the keys of a report's `blocks` ("host_pool.hits" for a key of a pool); empty without blocks."""
        sums: Counter[str] = Counter()
        for process in self.processes:
            for name, value in (process.blocks or {}).items():
                parts = {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
                for key, part in parts.items():
                    sums[key] += part
        return dict(sums)

    def ranks(self) -> dict[int, Sums]:
        """The sums of each MPI rank, with those of its child processes."""
        ranks: dict[int, Sums] = {}
        for process in self.processes:
            rank = process.report["process"]["rank"]
            if rank is not None:
                ranks[rank] = ranks.get(rank, Sums()) + process.totals
        return ranks

    def taking_turns(self) -> dict[tuple[str, int], int]:
        """GPUs (host, index) that several processes have used without NVIDIA MPS, and how many did."""
        users: Counter[tuple[str, int]] = Counter()
        for process in self.processes:
            device = process.report["device"]
            if device["kind"] == "cuda" and device.get("index") is not None and process.totals.offloaded and not device.get("by_server", True):
                users[process.report["process"]["host"], device["index"]] += process.number
        return {gpu: number for gpu, number in users.items() if number > 1}

    def awaited_rank(self) -> AwaitedRank | None:
        """The rank that spends most wall time in calls, if that is noticeably more than the others spend."""
        seconds = {rank: self.wall.of_rank(rank) for rank in self.wall.ranks}
        mean = sum(seconds.values()) / max(1, len(seconds))
        if len(seconds) < 2 or not mean:
            return None
        longest = max(seconds, key=lambda rank: seconds[rank])
        excess = seconds[longest] - mean
        return AwaitedRank(longest, seconds[longest] / mean, excess) if seconds[longest] >= IMBALANCED * mean and excess >= NOTICEABLE else None

    def endings(self) -> dict[str, int]:
        """Number of processes that did not end by exit(3), by how they ended."""
        return dict(self._counted(lambda process: process.ended, [process for process in self.processes if process.ended != "exit"]))

    def verification(self) -> dict[str, float]:
        parts = list(self._parts("verification"))
        return {
            "checked": sum(part["checked"] for part in parts),
            "violations": sum(part["violations"] for part in parts),
            "worst_relative_error": max(part["worst_relative_error"] for part in parts),
            "stale_pages": sum(part["stale_pages"] for part in parts),
        }

    def distinct(self, describe: Any) -> list[tuple[str, int]]:
        """The different values of `describe` over the processes' reports, and the number of processes with each."""
        return self._counted(lambda process: describe(process.report), self.processes)

    def _counted(self, name: Callable[[Process], Any], processes: Iterable[Process]) -> list[tuple[Any, int]]:
        counts: Counter[Any] = Counter()
        for process in processes:
            counts[name(process)] += process.number
        return counts.most_common()


def in_order(processes: Iterable[Process]) -> Job:
    """A job of these processes, in the order of their ranks."""
    return Job(sorted(processes, key=lambda process: (process.report["process"]["rank"] or 0, process.report["process"]["pid"])))

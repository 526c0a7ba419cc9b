"""Wall time of a job: how much of it was spent in calls, and how much of it the device has saved.

The sums of a process are wall time already: threads that are in calls at once share each moment (src/report/wall_time.h). Processes that
call at the same time share it too, by the spans in which they call. Ranks of an MPI job do not share it, because they wait for each other:
the job takes as long as its busiest rank, and on the CPU it would take as long as the rank that is busiest there. On the CPU, a process
would be in calls at least as long as its busiest thread.

If earlier runs of the same command have computed the same on the CPU, their time tells the saving instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Report = dict[str, Any]

MIN_KNOWN_SHARE = 0.8
TOLERANCE, MIN_TOLERANCE = 0.2, 0.01
SAME_WORK, WAITS_OF_RANKS = 0.01, 0.2
"""The constants of src/report/summary.h and summary.cpp."""


@dataclass(frozen=True)
class Verdict:
    """How much wall time the device has saved."""

    saved: float | None
    """Seconds saved against a run on the CPU; negative if the run took longer; None if not known."""
    known_share: float
    """The share of the operations on the device for which the CPU's time has been measured on this machine."""
    alike: bool = True
    """Whether threads would overlap on the CPU as they do now: otherwise `saved` is a lower bound."""
    cpu_run: float = 0.0
    """Seconds that earlier runs on the CPU took, to which this one was compared; 0: none is known."""
    at_once: bool = False
    """Whether processes that are not ranks call at the same time. What their calls took on the CPU was measured while the others' devices were
    opened and used, and no process has the job's time: `saved` is None."""


def verdict(now: float, busiest: float, as_now: float, known_flops: float, offloaded_flops: float) -> Verdict:
    """Concerns the calls for which the CPU's time is known. `now`: seconds that they take now. `busiest`: seconds that the busiest thread would
    take on the CPU. `as_now`: seconds on the CPU if all threads overlapped there as they do now. `known_flops` and `offloaded_flops` are
    counters of a report."""
    share = known_flops / offloaded_flops if offloaded_flops else 0.0
    saved = busiest - now
    alike = abs(busiest - as_now) <= max(TOLERANCE * abs(saved), MIN_TOLERANCE * busiest)
    return Verdict(saved if share >= MIN_KNOWN_SHARE and (alike or saved > 0) else None, share, alike)


@dataclass(frozen=True)
class Part:
    """A process, or several that were added up, and its share of the wall time that it has in common with other processes."""

    report: Report
    share: float

    def _of(self, name: str) -> float:
        """A counter of the report; 0, or the nearest substitute, if an earlier version wrote the report without it."""
        totals = self.report["totals"]
        counted = {"busiest_cpu_seconds": totals.get("known_cpu_seconds", 0.0)} | (self.report.get("wall") or {}) | totals
        return counted.get(name, 0.0)

    @property
    def cpu_run(self) -> dict[str, float] | None:
        """Earlier runs on the CPU that did the same work."""
        earlier, totals = (self.report.get("wall") or {}).get("cpu_run"), self.report["totals"]
        flops = totals["flops"] - totals.get("inner_flops", 0.0)
        return earlier if earlier and abs(flops - earlier["flops"]) <= SAME_WORK * earlier["flops"] else None

    def saved_against(self, earlier: dict[str, float]) -> float:
        """Seconds saved against these runs. Blastoff can slow what the program does outside calls, but by no more than the calls take, during which
        other ranks wait, and opening the device. It does not make that faster, except where a rank waits for other ranks' calls."""
        elapsed, rank = self.report["process"]["elapsed_seconds"], self.report["process"]["rank"]
        now = min(elapsed, self.in_calls)
        in_calls = earlier["in_calls"] - now
        outside = earlier["seconds"] - earlier["in_calls"] - (elapsed + self.closing - now)
        most = 0.0 if rank is None else WAITS_OF_RANKS * abs(in_calls)
        return in_calls + min(max(outside, -(now + self.cost + self._of_opening("seconds") + self.closing)), most)

    @property
    def cost(self) -> float:
        """Seconds that Blastoff has taken outside calls."""
        return self.share * self._of("cost_seconds")

    @property
    def closing(self) -> float:
        """Seconds that closing the device is expected to have taken after the report."""
        return self._of_opening("closing_seconds")

    def _of_opening(self, name: str) -> float:
        return self.share * (self.report["device"].get("opening") or {}).get(name, 0.0)

    @property
    def in_calls(self) -> float:
        """Upper bound of the seconds in calls: small calls count as if no two of them ran at once."""
        return self.share * (self._of("wall_seconds") + self._of("small_seconds"))

    @property
    def known(self) -> float:
        """Seconds in calls for which the CPU's time is known, plus those that Blastoff has taken outside calls."""
        return self.share * self._of("known_seconds") + self.cost + self.closing

    @property
    def known_on_cpu(self) -> float:
        """Seconds that these calls would take on the CPU if the threads overlapped there as they do now."""
        return self.share * self._of("known_cpu_seconds")

    @property
    def busiest_on_cpu(self) -> float:
        """Seconds that the busiest thread would need on the CPU for its part of these calls."""
        return self.share * self._of("busiest_cpu_seconds")


@dataclass(frozen=True)
class Span:
    """The time from a process's first call to its last. `density`: of processes that were added up, how many were calling at once on average."""

    began: float
    ended: float
    density: float

    @classmethod
    def of(cls, report: Report) -> Span | None:
        wall = report.get("wall")
        if not wall or wall["ended"] <= wall["began"]:
            return None
        return cls(wall["began"], wall["ended"], wall["span_seconds"] / (wall["ended"] - wall["began"]))


def _shares(spans: Sequence[Span | None]) -> list[float]:
    """For each span, the mean over its time of 1 / (number of processes that call at that moment)."""
    events = sorted(event for span in spans if span for event in ((span.began, span.density), (span.ended, -span.density)))
    clock: dict[float, float] = {}
    now, passed, density = 0.0, 0.0, 0.0
    for moment, change in events:
        passed += (moment - now) / max(1.0, density) if clock else 0.0
        now, density = moment, density + change
        clock[moment] = passed
    return [(clock[span.ended] - clock[span.began]) / (span.ended - span.began) if span else 1.0 for span in spans]


@dataclass(frozen=True)
class Wall:
    """The parts of a job by rank; parts that belong to no rank are under None."""

    parts: dict[int | None, list[Part]]
    seconds: float
    """From the first start of a process to the last end."""

    def _sum(self, rank: int | None, name: str) -> float:
        return sum(getattr(part, name) for part in self.parts.get(rank, []))

    @property
    def ranks(self) -> list[int]:
        return [rank for rank in self.parts if rank is not None]

    def of_rank(self, rank: int) -> float:
        """The rank's wall time in calls."""
        return self._sum(rank, "in_calls")

    def _of_job(self, name: str) -> float:
        """The sum over the parts of the rank with the largest sum, plus the sum over parts that belong to no rank."""
        return self._sum(None, name) + max((self._sum(rank, name) for rank in self.ranks), default=0.0)

    @property
    def in_calls(self) -> float:
        return min(self.seconds, self._of_job("in_calls"))

    @property
    def outside(self) -> float:
        """Lower bound of the seconds outside calls."""
        return max(0.0, self.seconds - self.in_calls - self._of_job("cost"))

    @property
    def _leader(self) -> Part | None:
        """The only process that calls, or that of the first rank, if each rank has one such process. Its time is the job's."""
        calling = {rank: [part for part in parts if part.report.get("wall")] for rank, parts in self.parts.items()}
        calling = {rank: parts for rank, parts in calling.items() if parts}
        alone = all(len(parts) == 1 and parts[0].report["process"].get("count", 1) == 1 for parts in calling.values())
        if not calling or not alone or (None in calling and len(calling) > 1):
            return None
        return calling[min(calling, key=lambda rank: rank or 0)][0]

    @property
    def _call_at_once(self) -> bool:
        """Whether processes of a rank, or of none, share more than a fifth of the CPU's time for their calls."""
        seconds = [(part.known_on_cpu, part.share) for parts in self.parts.values() for part in parts]
        return sum(shared for shared, _ in seconds) < (1 - TOLERANCE) * sum(shared / share for shared, share in seconds)

    def verdict(self, known_flops: float, offloaded_flops: float) -> Verdict:
        """The verdict on the job, whose counters the arguments are."""
        leader = self._leader
        share = known_flops / offloaded_flops if offloaded_flops else 0.0
        if leader and (earlier := leader.cpu_run):
            return Verdict(leader.saved_against(earlier), share, cpu_run=earlier["seconds"])
        if self._call_at_once:
            return Verdict(None, share, at_once=True)
        times = (self._of_job(name) for name in ("known", "busiest_on_cpu", "known_on_cpu"))
        return verdict(*times, known_flops, offloaded_flops)

    def share(self, report: Report) -> float:
        """How many seconds of the job's wall time a second of the process counts for, averaged over ranks."""
        rank = report["process"]["rank"]
        share = next(part.share for part in self.parts[rank] if part.report is report)
        return share if rank is None else share / len(self.ranks)


def _seconds(reports: Sequence[Report]) -> float:
    """Seconds from the first start to the last end; the longest process if reports of earlier versions do not tell when their process started."""
    about = [report["process"] for report in reports]
    longest = max((process["elapsed_seconds"] for process in about), default=0.0)
    if not about or not all(process.get("started") for process in about):
        return longest
    end = max(process["started"] + process["elapsed_seconds"] for process in about)
    return max(longest, end - min(process["started"] for process in about))


def share_in_calls(reports: Iterable[Report]) -> float | None:
    """The part of the processes' wall time that is spent in calls, at most; None if no report tells it."""
    told = [(report["process"]["elapsed_seconds"], Part(report, 1.0).in_calls) for report in reports if report.get("wall")]
    seconds = sum(elapsed for elapsed, _ in told)
    return sum(min(elapsed, in_calls) for elapsed, in_calls in told) / seconds if seconds else None


def wall_of(reports: Iterable[Report]) -> Wall:
    found = list(reports)
    ranks: dict[int | None, list[Report]] = {}
    for report in found:
        ranks.setdefault(report["process"]["rank"], []).append(report)
    parts = {
        rank: [Part(one, share) for one, share in zip(those, _shares([Span.of(one) for one in those]), strict=True)] for rank, those in ranks.items()
    }
    return Wall(parts, _seconds(found))

"""Wall time of a job: how much of it was in calls, and how much of it the device has saved.

The sums of a process are wall time already: threads that are in calls at once share each moment (src/report/wall_time.h). Processes that
call at the same time share it too, by the spans in which they call. Ranks of an MPI job do not: they wait for each other. What the
job would take on the CPU is what its busiest rank would take there, and what it takes is what its busiest rank does. The same holds for
threads: on the CPU, a process is in calls for as long as its busiest thread would be, at least.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Report = dict[str, Any]

LEAST_KNOWN_SHARE = 0.8
TOLERANCE, LEAST_TOLERANCE = 0.2, 0.01
"""As in src/report/summary.h and summary.cpp."""


@dataclass(frozen=True)
class Verdict:
    """What came of it all, in seconds of wall time."""

    saved: float | None
    """Against a run on the CPU; negative: it took longer; None: not known."""
    known_share: float
    """The share of the operations on the device for which the CPU's time has been measured on this machine."""
    alike: bool = True
    """Whether threads would overlap on the CPU as they do now: otherwise `saved` is a lower bound."""


def verdict(now: float, busiest: float, as_now: float, known_flops: float, offloaded_flops: float) -> Verdict:
    """Of the calls for which the CPU's time is known: the seconds that they take now, that they take on the CPU by the busiest thread, and
    there if all threads overlap as they do now. The others are counters of a report."""
    share = known_flops / offloaded_flops if offloaded_flops else 0.0
    saved = busiest - now
    alike = abs(busiest - as_now) <= max(TOLERANCE * abs(saved), LEAST_TOLERANCE * busiest)
    return Verdict(saved if share >= LEAST_KNOWN_SHARE and (alike or saved > 0) else None, share, alike)


@dataclass(frozen=True)
class Part:
    """A process, or several that were added up, with its part of the wall time that it shares with others."""

    report: Report
    share: float

    def _of(self, name: str) -> float:
        """Earlier versions counted less."""
        totals = self.report["totals"]
        counted = {"busiest_cpu_seconds": totals.get("known_cpu_seconds", 0.0)} | (self.report.get("wall") or {}) | totals
        return counted.get(name, 0.0)

    @property
    def cost(self) -> float:
        """Outside calls."""
        return self.share * self._of("cost_seconds")

    @property
    def in_calls(self) -> float:
        """Small calls as if no two of them were made at once: at most."""
        return self.share * (self._of("wall_seconds") + self._of("small_seconds"))

    @property
    def known(self) -> float:
        """In calls for which the CPU's time is known, and what Blastoff has taken outside calls."""
        return self.share * self._of("known_seconds") + self.cost

    @property
    def known_on_cpu(self) -> float:
        """The same calls on the CPU, if its threads overlap there as they do now."""
        return self.share * self._of("known_cpu_seconds")

    @property
    def busiest_on_cpu(self) -> float:
        """And if only one of its threads matters: the one with most to do."""
        return self.share * self._of("busiest_cpu_seconds")


@dataclass(frozen=True)
class Span:
    """When a process called; of several, how many of them did so at a time, on average."""

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
    """The mean, over each span, of one over the number of processes that call."""
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
    """The parts of a job: those of each rank, and under None those outside ranks."""

    parts: dict[int | None, list[Part]]
    seconds: float
    """From the first start of a process to the last end."""

    def _sum(self, rank: int | None, name: str) -> float:
        return sum(getattr(part, name) for part in self.parts.get(rank, []))

    @property
    def ranks(self) -> list[int]:
        return [rank for rank in self.parts if rank is not None]

    def of_rank(self, rank: int) -> float:
        """Its wall time in calls."""
        return self._sum(rank, "in_calls")

    def _of_job(self, name: str) -> float:
        """The rank with the most, and what is outside ranks."""
        return self._sum(None, name) + max((self._sum(rank, name) for rank in self.ranks), default=0.0)

    @property
    def in_calls(self) -> float:
        return min(self.seconds, self._of_job("in_calls"))

    @property
    def outside(self) -> float:
        """At least."""
        return max(0.0, self.seconds - self.in_calls - self._of_job("cost"))

    def verdict(self, known_flops: float, offloaded_flops: float) -> Verdict:
        """The counters are those of the job."""
        times = (self._of_job(name) for name in ("known", "busiest_on_cpu", "known_on_cpu"))
        return verdict(*times, known_flops, offloaded_flops)

    def share(self, report: Report) -> float:
        """What a second of a process's wall time is of the job's, on average over ranks."""
        rank = report["process"]["rank"]
        share = next(part.share for part in self.parts[rank] if part.report is report)
        return share if rank is None else share / len(self.ranks)


def _seconds(reports: Sequence[Report]) -> float:
    """Reports of earlier versions do not tell when their process started."""
    about = [report["process"] for report in reports]
    longest = max((process["elapsed_seconds"] for process in about), default=0.0)
    if not about or not all(process.get("started") for process in about):
        return longest
    end = max(process["started"] + process["elapsed_seconds"] for process in about)
    return max(longest, end - min(process["started"] for process in about))


def wall_of(reports: Iterable[Report]) -> Wall:
    found = list(reports)
    ranks: dict[int | None, list[Report]] = {}
    for report in found:
        ranks.setdefault(report["process"]["rank"], []).append(report)
    parts = {
        rank: [Part(one, share) for one, share in zip(those, _shares([Span.of(one) for one in those]), strict=True)] for rank, those in ranks.items()
    }
    return Wall(parts, _seconds(found))

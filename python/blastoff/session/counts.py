"""The calls of this process up to now, or in a part of its time."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from blastoff import drivers
from blastoff.job import processes
from blastoff.job.call_sites import python_name
from blastoff.job.processes import Sums
from blastoff.session import attached


@dataclass(frozen=True)
class Counts:
    """Calls of all threads of this process: by routine, by line of Python, and how many stayed on the CPU for which reason.

    `seconds` is wall time. The line of a short call is looked up only in a sample of the calls, so the counts by line are estimates.
    """

    routines: dict[str, Sums] = field(default_factory=dict)
    lines: dict[str, Sums] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    seconds: float = 0
    reasons_by_line: dict[str, dict[str, int]] = field(default_factory=dict)
    """For each line, the number of calls by reason, the most frequent reason first."""

    @classmethod
    def from_report(cls, report: Mapping[str, Any], seconds: float) -> "Counts":
        """The counts in a report, or in the part of a report that counts calls."""
        routines = {routine["name"]: Sums(routine) for routine in report["routines"]}
        lines: dict[str, Sums] = {}
        reasons: dict[str, Counter[str]] = {}
        for site in report["call_sites"]:
            if site["python"]:
                name = line_name(site["python"])
                lines[name] = lines.get(name, Sums()) + Sums(site)
                reasons.setdefault(name, Counter()).update(calls_by_reason(site))
        return cls(routines, lines, calls_by_reason(report), seconds, {name: dict(counted.most_common()) for name, counted in reasons.items()})

    @property
    def totals(self) -> Sums:
        """The sums over all routines."""
        return sum(self.routines.values(), Sums())

    @property
    def offloaded_share(self) -> float:
        """The part of the arithmetic that ran on the device, from 0 to 1."""
        return share(self.totals)

    def since(self, before: "Counts") -> "Counts":
        """The calls that were added since `before`."""
        by_line = {line: more(reasons, before.reasons_by_line.get(line, {})) for line, reasons in self.reasons_by_line.items()}
        return Counts(
            grown(self.routines, before.routines),
            grown(self.lines, before.lines),
            more(self.reasons, before.reasons),
            self.seconds - before.seconds,
            {line: reasons for line, reasons in by_line.items() if reasons},
        )

    def __add__(self, other: "Counts") -> "Counts":
        names = dict.fromkeys([*self.reasons_by_line, *other.reasons_by_line])
        return Counts(
            added(self.routines, other.routines),
            added(self.lines, other.lines),
            both(self.reasons, other.reasons),
            self.seconds + other.seconds,
            {line: both(self.reasons_by_line.get(line, {}), other.reasons_by_line.get(line, {})) for line in names},
        )


def calls_by_reason(part: Mapping[str, Any]) -> dict[str, int]:
    """Why calls stayed on the CPU: number of calls by reason, in a report or in one of its call sites. A device that will never be there is not
    merely late."""
    counted = {entry["reason"]: entry["calls"] for entry in part["refusals"]}
    if processes.NOT_READY in counted and not drivers.is_present():
        counted[drivers.NO_DRIVER] = counted.pop(processes.NOT_READY)
    return counted


def more(now: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    """The numbers that were added since `before`, the largest first."""
    difference = Counter(now)
    difference.subtract(before)
    return {reason: calls for reason, calls in difference.most_common() if calls > 0}


def both(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return dict((Counter(one) + Counter(other)).most_common())


def line_name(python: str) -> str:
    """A line in words: its number, its function, and the name of its file. A line of a notebook's cell has no file name."""
    path, _, rest = python.rpartition(":")
    if "ipykernel_" in path or path.startswith("<"):
        number, _, function = rest.partition(" in ")
        return f"line {number}" if function.startswith("<") else f"line {number} in {function}"
    return python_name(python)


def grown(now: Mapping[str, Sums], before: Mapping[str, Sums]) -> dict[str, Sums]:
    """The sums that were added since `before`, without routines or lines that had no new calls."""
    differences = {name: difference(sums, before.get(name, Sums())) for name, sums in now.items()}
    return {name: sums for name, sums in differences.items() if sums.calls}


def added(one: Mapping[str, Sums], other: Mapping[str, Sums]) -> dict[str, Sums]:
    return {name: one.get(name, Sums()) + other.get(name, Sums()) for name in dict.fromkeys([*one, *other])}


def difference(now: Sums, before: Sums) -> Sums:
    return Sums({name: getattr(now, name) - getattr(before, name) for name in processes.counters()})


def share(sums: Sums) -> float:
    """The part of the arithmetic that ran on the device, from 0 to 1."""
    return sums.offloaded_flops / sums.flops if sums.flops else 0.0


def now(seconds: float) -> Counts:
    """The counts of this process; empty if the library is not loaded."""
    active = attached.in_process()
    return Counts(seconds=seconds) if active is None else Counts.from_report(active.counts(), seconds)

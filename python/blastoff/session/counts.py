"""What happened in this process up to now, or in a part of its time."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from blastoff.job import processes
from blastoff.job.processes import Sums
from blastoff.session import attached


@dataclass(frozen=True)
class Counts:
    """Calls of all threads of this process: by routine, and how many stayed on the CPU for which reason. `seconds` is wall time."""

    routines: dict[str, Sums] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    seconds: float = 0

    @classmethod
    def from_report(cls, report: Mapping[str, Any], seconds: float) -> "Counts":
        """Of a report, or of the part of it that counts calls."""
        routines = {routine["name"]: Sums(routine) for routine in report["routines"]}
        return cls(routines, {entry["reason"]: entry["calls"] for entry in report["refusals"]}, seconds)

    @property
    def totals(self) -> Sums:
        """Over all routines."""
        return sum(self.routines.values(), Sums())

    @property
    def offloaded_share(self) -> float:
        """The part of the arithmetic that ran on the device, from 0 to 1."""
        return share(self.totals)

    def since(self, before: "Counts") -> "Counts":
        """What was added to `before`."""
        grown = {name: difference(sums, before.routines.get(name, Sums())) for name, sums in self.routines.items()}
        reasons = Counter(self.reasons)
        reasons.subtract(before.reasons)
        return Counts(
            {name: sums for name, sums in grown.items() if sums.calls},
            {reason: calls for reason, calls in reasons.most_common() if calls > 0},
            self.seconds - before.seconds,
        )

    def __add__(self, other: "Counts") -> "Counts":
        names = [*self.routines, *(name for name in other.routines if name not in self.routines)]
        routines = {name: self.routines.get(name, Sums()) + other.routines.get(name, Sums()) for name in names}
        return Counts(routines, dict(Counter(self.reasons) + Counter(other.reasons)), self.seconds + other.seconds)


def difference(now: Sums, before: Sums) -> Sums:
    return Sums({name: getattr(now, name) - getattr(before, name) for name in processes.counters()})


def share(sums: Sums) -> float:
    """The part of the arithmetic that ran on the device, from 0 to 1."""
    return sums.offloaded_flops / sums.flops if sums.flops else 0.0


def now(seconds: float) -> Counts:
    """Those of this process; none where the library has not been loaded."""
    active = attached.in_process()
    return Counts(seconds=seconds) if active is None else Counts.from_report(active.counts(), seconds)

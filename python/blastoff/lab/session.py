"""One run of the laboratory: the device, the time that is left, and what was found."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from blastoff import quantities
from blastoff.lab.device import Device
from blastoff.lab.failures import Cannot
from blastoff.lab.host import available
from blastoff.lab.modes import Mode

LARGEST_SHARE = 0.25
"""Largest share of the free memory of the device, and of the host, that the data of one experiment takes."""


def seconds_of(action: Callable[[], Any]) -> float:
    """Wall time of an action."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


@dataclass
class Results:
    """What an experiment set measured. Rows are JSON objects."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)


@dataclass
class Session:
    """The state of one run. `until`: when the present set's share of the time ends, on the clock of time.perf_counter. `inners`, `outer`: the
    launches per touch and the rounds of DAXPY that were asked for. `only`,
    `memory`: the applications and the kinds of memory that were asked for; all if empty. `natural`: oversubscribed applications exceed the whole
    memory of the device, without a ballast."""

    device: Device
    quick: bool = False
    inners: tuple[int, ...] = ()
    outer: int = 0
    only: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    natural: bool = False
    until: float = float("inf")
    largest: int = 0
    sets: dict[str, Results] = field(default_factory=dict)
    cannot: list[dict[str, str]] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    say: Callable[[str], None] = lambda line: None
    present: str = ""
    last: dict[Any, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.largest:
            self.largest = int(LARGEST_SHARE * min(self.device.room(), available()))

    def wants(self, mode: Mode) -> bool:
        return not self.memory or mode.name in self.memory

    def results(self) -> Results:
        """The results of the present set."""
        return self.sets.setdefault(self.present, Results())

    def note_cannot(self, what: str, why: str) -> None:
        entry = {"set": self.present, "what": what, "why": why}
        if entry not in self.cannot:
            self.cannot.append(entry)

    def has_time(self, key: Any, amount: float, what: str) -> bool:
        """Whether a case of `amount` work will probably end in time, judged by the last case with this key. If not, notes that it was skipped."""
        expected = 0.0
        if key in self.last:
            before, seconds = self.last[key]
            expected = seconds * max(1.0, amount / before)
        left = self.until - time.perf_counter()
        if expected < left:
            return True
        why = f"about {quantities.duration(expected)}; {quantities.duration(max(left, 0))} left"
        self.skipped.append({"set": self.present, "what": what, "why": why})
        return False

    def attempt(self, key: Any, amount: float, what: str, action: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
        """Runs a case if there is time for it, and keeps its row. Returns None if there is no time or the machine cannot do it."""
        if not self.has_time(key, amount, what):
            return None
        began = time.perf_counter()
        try:
            row = action()
        except Cannot as reason:
            self.note_cannot(what, str(reason))
            return None
        self.last[key] = (amount, time.perf_counter() - began)
        self.results().rows.append(row)
        return row

"""What a time line shows: when memory was first touched and by whom, when it moved, and what is still in use at the end."""

import bisect
import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from blastoff.sampling import timeline

LEAST = 0.02
"""Growth below this share of the largest value is not reported."""

PAUSE = 0.02
"""Two periods of growth are one if less than this share of the run lies between them..."""

SHORTEST_PAUSE = 0.25
"""...or less than this many seconds."""

HUGE_PAGE = 2 << 20
"""Most bytes that one page fault maps if pages have 4 KiB."""

CPU, DEVICE = "CPU", "device"

Document = dict[str, Any]


@dataclass(frozen=True)
class Period:
    """The indices of two samples, and the growth between them."""

    first: int
    last: int
    amount: float


def growth(times: Sequence[float], known: Sequence[float]) -> list[Period]:
    """The periods in which a value grows by a noticeable amount, in the order of time."""
    least = LEAST * max(known, default=0)
    pause = max(SHORTEST_PAUSE, PAUSE * times[-1]) if times else 0
    periods: list[Period] = []
    for place in range(1, len(known)):
        step = known[place] - known[place - 1]
        if step <= 0:
            continue
        if periods and times[place - 1] - times[periods[-1].last] <= pause and known[place - 1] >= known[periods[-1].last]:
            begin = periods.pop().first
            periods.append(Period(begin, place, known[place] - known[begin]))
        else:
            periods.append(Period(place - 1, place, step))
    return [period for period in periods if period.amount > least]


def between(values: Sequence[float], period: Period) -> float:
    """The growth in the period."""
    return values[period.last] - values[period.first]


@dataclass(frozen=True)
class Lines:
    """The values from which findings are made. They begin with an added sample at time 0, when nothing was used."""

    times: list[float]
    resident: list[float]
    device: list[float]
    """Device memory of the run's processes; if not known, of the whole devices; if not known either, the memory that Blastoff holds."""
    device_read: list[float]
    """When the device memory of a sample was read."""
    faults: list[float]
    to_device: list[float]
    from_device: list[float]
    migrated: list[float]

    @classmethod
    def of(cls, document: Document) -> "Lines":
        lists = document["timeline"]

        def line(*names: str) -> list[float]:
            sums = [float(sum(value or 0 for value in values)) for values in zip(*(lists[name] for name in names), strict=True)]
            start = sums[0] if sums and names == ("device_whole",) else 0.0  # other programs may have used the device before
            return [start, *sums]

        scope = document["device"]["scope"]
        device = {"processes": "device", "whole": "device_whole", "none": "held"}[scope]
        ages = [0.0] * len(lists["time"]) if scope == "none" else lists.get("device_age", [0.0] * len(lists["time"]))
        return cls(
            [0.0, *lists["time"]],
            line("resident"),
            line(device),
            [0.0, *(time - (math.inf if age is None else age) for time, age in zip(lists["time"], ages, strict=True))],
            line("minor_faults", "major_faults"),
            line("to_device"),
            line("from_device"),
            line("migrated_pages"),
        )


def largest_fault(document: Document) -> int:
    """Most bytes that one page fault of the CPU maps: a huge page, which has 2 MiB with pages of 4 KiB, and 512 MiB with pages of 64 KiB."""
    return HUGE_PAGE * (document["page_bytes"] // 4096) ** 2


@dataclass(frozen=True)
class Touch:
    """Memory that was touched for the first time between two moments, in seconds since the start."""

    since: float
    until: float
    bytes: float
    on_device: bool
    """Whether it is device memory."""
    by: str
    """CPU or device. The device touched host memory that became resident with too few page faults of the CPU."""
    faults: int
    moved: float
    """Bytes that Blastoff brought to the device in this time."""


def touches(document: Document) -> list[Touch]:
    """When memory was first touched and by whom, in the order of time."""
    lines = Lines.of(document)
    found = []
    for values in (lines.resident, lines.device):
        for period in growth(lines.times, values):
            number = between(lines.faults, period)
            on_device = values is lines.device
            by = DEVICE if on_device or number * largest_fault(document) < period.amount else CPU
            moved = between(lines.to_device, period)
            found.append(Touch(lines.times[period.first], lines.times[period.last], period.amount, on_device, by, round(number), moved))
    return sorted(found, key=lambda touch: touch.since)


@dataclass(frozen=True)
class Move:
    """Bytes that were moved in one period."""

    since: float
    until: float
    bytes: float
    what: str


def moves(document: Document) -> list[Move]:
    """When memory moved: to the device and from the device by Blastoff, and between nodes by the kernel (on the whole machine)."""
    lines = Lines.of(document)
    migrated = [pages * document["page_bytes"] for pages in lines.migrated]
    named = (
        ("to the device by Blastoff", lines.to_device),
        ("from the device by Blastoff", lines.from_device),
        ("between NUMA nodes by the kernel", migrated),
    )
    return [
        Move(lines.times[period.first], lines.times[period.last], period.amount, what)
        for what, values in named
        for period in growth(lines.times, values)
    ]


@dataclass(frozen=True)
class Phase:
    """The time from one mark to the next, and the growth of each value in it: in bytes, except for the number of faults. A value is None if
    there is no sample near one of the two marks."""

    name: str
    since: float
    until: float
    resident: float | None
    most: float | None
    """The largest resident set, in bytes: not a growth."""
    device: float | None
    faults: float | None
    to_device: float | None
    from_device: float | None
    migrated: float | None


BEFORE = "before the first mark"

LATE = 3
"""A sample is old after so many usual intervals. On a busy machine, none may be taken for longer."""


def cuts(times: Sequence[float], moments: Sequence[float], read: Sequence[float]) -> list[int | None]:
    """The samples that tell the values at these moments: the last one before each; None if it was read long ago, before the moment before."""
    usual = statistics.median(late - early for early, late in itertools.pairwise(times)) if len(times) > 1 else 0.0
    places: list[int | None] = []
    for before, moment in itertools.pairwise([0.0, *moments]):
        place = max(bisect.bisect_right(times, moment) - 1, 0)
        places.append(None if read[place] < before and moment - read[place] > LATE * usual else place)
    return places


def phases(document: Document) -> list[Phase]:
    """The time line cut at the marks."""
    if not document["marks"]:
        return []
    lines = Lines.of(document)
    moments = [(0.0, BEFORE), *((mark["time"], mark["name"]) for mark in document["marks"])]
    marked = [moment for moment, _ in moments[1:]]
    places = [0, *cuts(lines.times, marked, lines.times), len(lines.times) - 1]
    device_places = [0, *cuts(lines.times, [*marked, max(document["seconds"], marked[-1])], lines.device_read)]
    found = []
    for number, ((since, name), (until, _)) in enumerate(itertools.pairwise([*moments, (document["seconds"], "")])):
        first, last = places[number : number + 2]
        if first is None or last is None:
            found.append(Phase(name, since, until, *[None] * 7))
            continue
        period = Period(first, last, 0)
        found.append(
            Phase(
                name,
                since,
                until,
                between(lines.resident, period),
                max(lines.resident[first : last + 1]),
                None if None in device_places[number : number + 2] else between(lines.device, period),
                between(lines.faults, period),
                between(lines.to_device, period),
                between(lines.from_device, period),
                between(lines.migrated, period) * document["page_bytes"],
            )
        )
    return found


def stays(document: Document) -> dict[str, float]:
    """Bytes that were still in use at the last sample, by gauge."""
    lists = document["timeline"]
    return {name: lists[name][-1] or 0 for name in timeline.GAUGES if name != "processes" and lists[name]}

"""The plots of the report page, as inline SVG."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib

from blastoff import quantities
from blastoff.job.processes import Job, Process, Sums
from blastoff.view.bars import COMPUTING, CPU, INCHES_WIDE, LARGEST, MOVING, Series, legend, scale, stacked_bars, tick, where_series
from blastoff.view.figures import draw

UPLOADED, DOWNLOADED, REUSED = "#e09f3e", "#c8553d", "#0f7b6c"
AVERAGE = "#8d6a9f"


def largest_first(rows: dict[str, Sums], key: Any) -> dict[str, Sums]:
    """The rows with the largest keys, and the sum of the others as one row; rows with key zero are left out."""
    ordered = sorted(((name, sums) for name, sums in rows.items() if key(sums) > 0), key=lambda row: -key(row[1]))
    shown = dict(ordered[:LARGEST])
    rest = ordered[LARGEST:]
    if rest:
        shown[f"{len(rest)} others"] = sum((sums for _, sums in rest), Sums())
    return shown


def time_series(rows: Sequence[Sums]) -> list[Series]:
    """Seconds on the CPU, seconds of computing on the device, and seconds of waiting there for data."""
    waiting = [min(sums.device_seconds, sums.transfer_seconds) for sums in rows]
    return where_series([(sums.cpu_seconds, sums.device_seconds - wait, wait) for sums, wait in zip(rows, waiting, strict=True)])


def times(rows: dict[str, Sums]) -> str:
    """Seconds by routine or by process."""
    shown = largest_first(rows, lambda sums: sums.seconds)
    return stacked_bars(list(shown), time_series(list(shown.values())), quantities.duration, "wall time, summed over threads")


def times_of_processes(rows: dict[str, Sums]) -> str:
    """Seconds by process: a bar with its name for each of a few, a column for each of many."""
    if len(rows) <= LARGEST:
        return times(rows)

    def fill(axes: Any) -> None:
        starts = [0.0] * len(rows)
        for name, colour, values in time_series(list(rows.values())):
            axes.bar(range(len(rows)), values, bottom=starts, color=colour, label=name, width=0.8)
            starts = [start + value for start, value in zip(starts, values, strict=True)]
        mean = sum(starts) / len(starts)
        axes.axhline(mean, color=AVERAGE, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.annotate(
            f"mean {quantities.duration(mean)}", (len(rows) - 0.4, mean), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9
        )
        longest = max(range(len(rows)), key=lambda place: starts[place])
        side = "left" if longest < len(rows) / 3 else "right" if longest > len(rows) * 2 / 3 else "center"
        axes.annotate(list(rows)[longest], (longest, starts[longest]), xytext=(0, 4), textcoords="offset points", ha=side, fontsize=9)
        axes.set_xlim(-0.6, len(rows) - 0.4)
        axes.set_ylim(0, max(starts) * 1.15 or 1)
        axes.set_xlabel(f"{len(rows)} processes, by rank")
        axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(8, integer=True))
        scale(axes.yaxis, quantities.duration)
        legend(axes)

    return draw(INCHES_WIDE, 3.2, fill, sides=("bottom",))


def traffic(rows: dict[str, Sums]) -> str:
    """Bytes that were moved, and bytes that were not moved because they were resident."""
    shown = largest_first(rows, lambda sums: sums.bytes_to_device + sums.bytes_from_device + sums.bytes_reused)
    values = shown.values()
    series = [
        ("to the device", UPLOADED, [sums.bytes_to_device for sums in values]),
        ("from the device", DOWNLOADED, [sums.bytes_from_device for sums in values]),
        ("already there", REUSED, [sums.bytes_reused for sums in values]),
    ]
    return stacked_bars(list(shown), series, quantities.size, "bytes of matrices")


def classes(sizes: Iterable[float]) -> list[float]:
    """The classes from the smallest to the largest of these average sizes, with the ones between. Two steps double the size."""
    known = {round(2 * math.log2(size)): size for size in sizes}
    return [known.get(number, 2 ** (number / 2)) for number in range(min(known), max(known) + 1)]


def sizes(rows: dict[float, Sums]) -> str:
    """Seconds by average size: a column for each class from the smallest to the largest."""
    rows = {size: rows.get(size, Sums()) for size in classes(rows)}
    names = [f"{size:.0f}" for size in rows]

    def fill(axes: Any) -> None:
        on_cpu = [sums.cpu_seconds for sums in rows.values()]
        on_device = [sums.device_seconds for sums in rows.values()]
        axes.bar(names, on_cpu, color=CPU, label="on the CPU", width=0.8)
        axes.bar(names, on_device, bottom=on_cpu, color=COMPUTING, label="on the device", width=0.8)
        tallest = max(map(sum, zip(on_cpu, on_device, strict=True)))
        for place, sums in enumerate(rows.values()):
            calls = quantities.short_count(sums.calls) if sums.calls else ""
            axes.annotate(calls, (place, sums.seconds), xytext=(0, 3), textcoords="offset points", ha="center", fontsize=8)
        axes.set_ylim(0, tallest * 1.15 or 1)
        axes.set_xlabel("average size, from; above each column the number of calls")
        scale(axes.yaxis, quantities.duration)
        legend(axes)

    return draw(INCHES_WIDE, 3.2, fill, sides=("bottom",))


MOMENTS = 240
"""Columns of the time line."""


def busy(calls: Sequence[tuple[float, float]], begin: float, width: float) -> list[float]:
    """For each of MOMENTS intervals, the average number of calls that ran at the same time. `calls`: start and seconds of each."""
    amounts = [0.0] * MOMENTS
    for start, seconds in calls:
        first = (start - begin) / width
        last = first + seconds / width
        for moment in range(max(0, int(first)), min(MOMENTS, int(last) + 1)):
            amounts[moment] += max(0.0, min(last, moment + 1) - max(first, moment))
    return amounts


MAX_TIMELINES = 32
"""Most processes that are drawn in the time line, since each may have thousands of calls."""


def drawn_in_timeline(job: Job) -> list[Process]:
    """The job's processes; if there are too many, some that are spread evenly over its ranks."""
    step = max(1, -(-len(job.processes) // MAX_TIMELINES))
    return job.processes[::step]


def timeline(job: Job) -> str:
    """Number of threads in BLAS over time, summed over the drawn processes."""
    begin = min(process.started for process in job.processes)
    end = max(process.started + process.report["process"]["elapsed_seconds"] for process in job.processes)
    width = max(end - begin, 1e-9) / MOMENTS
    kinds: dict[str, list[tuple[float, float]]] = {"cpu": [], "computing": [], "moving": []}
    for process in drawn_in_timeline(job):
        for call in process.timeline:
            start, moving = process.started + call["start"], min(call["transfer_seconds"], call["seconds"])
            if call["on_device"]:
                kinds["moving"].append((start, moving))
                kinds["computing"].append((start + moving, call["seconds"] - moving))
            else:
                kinds["cpu"].append((start, call["seconds"]))
    times = [(moment + 0.5) * width for moment in range(MOMENTS)]

    def fill(axes: Any) -> None:
        amounts = [busy(kinds[kind], begin, width) for kind in ("cpu", "computing", "moving")]
        axes.stackplot(
            times, *amounts, colors=(CPU, COMPUTING, MOVING), labels=("on the CPU", "device, computing", "device, waiting for data"), step="mid"
        )
        axes.set_xlim(0, MOMENTS * width)
        axes.set_ylim(0, max(map(sum, zip(*amounts, strict=True))) * 1.1 or 1)
        axes.set_xlabel("since the start")
        axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: tick(quantities.duration(value))))
        scale(axes.yaxis, quantities.number)
        legend(axes)

    return draw(INCHES_WIDE, 2.8, fill, sides=("bottom",))


def refusals(reasons: Mapping[str, tuple[int, float | None]]) -> str:
    """What stayed on the CPU, by reason: seconds if they are known, else calls. `reasons`: number of calls, and seconds."""
    seconds = [seconds or 0.0 for _, seconds in reasons.values()]
    if any(seconds):
        return stacked_bars(list(reasons), [("seconds", CPU, seconds)], quantities.duration, "seconds on the CPU, summed over threads")
    calls = [calls for calls, _ in reasons.values()]
    return stacked_bars(list(reasons), [("calls", CPU, calls)], lambda value: quantities.count(round(value)), "calls")

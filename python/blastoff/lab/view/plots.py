"""The figures of the page, as inline SVG."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import matplotlib

from blastoff import quantities
from blastoff.lab.view.words import MODES
from blastoff.view.bars import legend, scale, tick
from blastoff.view.figures import FAINT, draw

LINES = {
    "explicit": ("#7d879c", "-"),
    "managed": ("#c8553d", "-"),
    "managed prefetch": ("#c9812a", "-"),
    "managed prefetch back": ("#c9812a", "--"),
    "managed remote": ("#b155a9", "-"),
    "system": ("#0f8f7c", "-"),
    "system prefetch": ("#3f7fc4", "-"),
    "system prefetch back": ("#3f7fc4", "--"),
    "system base pages": ("#0f8f7c", ":"),
    "system huge pages": ("#0f8f7c", "--"),
    "page-locked": ("#8b8b2e", "-"),
    "blocks": ("#a9714f", "-"),
    "blocks over malloc": ("#a9714f", "--"),
    "chunks": ("#c06c9e", "-"),
    "Qiskit Aer, CPU": ("#8463b8", "-"),
    "Qiskit Aer, GPU": ("#8463b8", "--"),
}
"""Colour and style of each mode's curve. Every colour can be seen on white and on the dark ground of the page."""
PHASES = {
    "allocation": "#8d99ae",
    "initialisation": "#4f7cac",
    "moving": "#e09f3e",
    "computation": "#0f7b6c",
    "reading": "#c8553d",
    "release": "#8a7196",
}
WIDE, HALF = 10.6, 5.2
FONT_SIZE = 9
LEGEND_CHARACTERS, LINE_CHARACTERS = 64, 7
"""Characters that fit above a figure of half the width, and those that the line of a name takes."""
INCHES_A_NAME = 0.19
LEAST_LABELS = 2
"""The fewest labels of an axis."""

Rows = list[dict[str, Any]]


class Plot(NamedTuple):
    """A figure of the page."""

    heading: str
    figure: str
    is_wide: bool = False
    """Whether it takes the width of the page."""


def curves(rows: Rows, across: str, value: Callable[[dict[str, Any]], float | None], label: str, logarithmic: bool = True) -> str:
    """Times of each mode over a quantity."""

    def fill(axes: Any) -> None:
        for mode in MODES:
            points = sorted((row[across], seconds) for row in rows if row["mode"] == mode and (seconds := value(row)))
            if points:
                colour, style = LINES[mode]
                axes.plot(*zip(*points, strict=True), color=colour, linestyle=style, marker="o", markersize=3, linewidth=1.4, label=mode)
        if logarithmic:
            axes.set_xscale("log")
            label_decades(axes.xaxis, quantities.size)
        elif all(isinstance(row[across], int) for row in rows):
            axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(8, integer=True))
        axes.set_yscale("log")
        label_decades(axes.yaxis, quantities.duration)
        axes.set_xlabel(label)
        axes.grid(color=FAINT, linewidth=0.7)
        if axes.lines:
            legend(axes, columns)

    names = {row["mode"] for row in rows}
    columns = max(1, LEGEND_CHARACTERS // (max(map(len, names), default=0) + LINE_CHARACTERS))
    return draw(HALF, 2.5 + INCHES_A_NAME * math.ceil(len(names) / columns), fill, font_size=FONT_SIZE)


def label_decades(axis: Any, text: Callable[[float], str]) -> None:
    """Labels the powers of ten of a logarithmic axis, or other values where there are fewer than two powers."""
    low, high = sorted(axis.get_view_interval())
    powers = math.floor(math.log10(high)) - math.ceil(math.log10(low)) + 1
    if powers < LEAST_LABELS:
        axis.set_major_locator(matplotlib.ticker.MaxNLocator(4))
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda number, _: tick(text(number))))
    axis.set_minor_formatter(matplotlib.ticker.NullFormatter())


DAXPY_TIMES: tuple[tuple[str, Callable[[dict[str, Any]], float | None]], ...] = (
    ("kernels of a round", lambda row: row["kernel"]),
    ("CPU touch", lambda row: row["touch_later"]),
    ("copies or prefetch", lambda row: row["moving"]),
    ("whole round", lambda row: row["total_later"]),
)


def daxpy(rows: Rows) -> list[Plot]:
    """Kernels, touch, moving and total by size, for few and for many launches per touch, and the sweeps of one size."""
    found = []
    for inner in few_and_many(rows):
        chosen = [row for row in rows if row["inner"] == inner]
        launches = f"{inner} launch{'' if inner == 1 else 'es'} per touch"
        found += [Plot(f"{name[0].upper()}{name[1:]}, {launches}", curves(chosen, "bytes", value, "size")) for name, value in DAXPY_TIMES]
    return found + sweeps(rows)


def few_and_many(rows: Rows) -> list[int]:
    counts = {row["inner"] for row in rows}
    return sorted({min(counts), max(counts)})


def sweeps(rows: Rows) -> list[Plot]:
    """By launches per touch and by rounds, for the size with most numbers of launches (the largest of these); and what a program would notice:
    all rounds with allocation and initialisation."""
    size = max((len({row["inner"] for row in rows if row["bytes"] == size}), size) for size in {row["bytes"] for row in rows})[1]
    chosen, where = [row for row in rows if row["bytes"] == size], quantities.size(size)
    label = "launches per touch"
    found = [
        Plot(f"Kernels of a round, {where}", curves(chosen, "inner", lambda row: row["kernel"], label, logarithmic=False)),
        Plot(f"Whole round, {where}", curves(chosen, "inner", lambda row: row["total_later"], label, logarithmic=False)),
    ]
    for inner in few_and_many(chosen):
        of_this = [row for row in chosen if row["inner"] == inner]
        grown = [{"mode": row["mode"], "rounds": k, "total": total} for row in of_this for k, total in enumerate(row["totals"], start=1)]
        launches = f"{inner} launch{'' if inner == 1 else 'es'} per touch"
        found.append(Plot(f"All rounds, {where}, {launches}", curves(grown, "rounds", lambda row: row["total"], "rounds", logarithmic=False)))
    for inner in few_and_many(rows):
        of_this = [row for row in rows if row["inner"] == inner and "whole" in row]
        if of_this:
            launches = f"{inner} launch{'' if inner == 1 else 'es'} per touch"
            title = f"All rounds with allocation and initialisation, {launches}"
            found.append(Plot(title, curves(of_this, "block_bytes", lambda row: row["whole"], "size per thread block")))
    return found


def bars(names: list[str], series: dict[str, tuple[str, list[float]]]) -> str:
    """Horizontal stacked bars of seconds."""

    def fill(axes: Any) -> None:
        places = range(len(names))
        starts = [0.0] * len(names)
        for label, (colour, values) in series.items():
            axes.barh(places, values, left=starts, color=colour, label=label, height=0.66)
            starts = [start + value for start, value in zip(starts, values, strict=True)]
        axes.set_yticks(places, names)
        for place, total in enumerate(starts):
            axes.annotate(quantities.duration(total), (total, place), xytext=(5, 0), textcoords="offset points", va="center", fontsize=8)
        axes.invert_yaxis()
        axes.set_xlim(0, max(starts) * 1.12 or 1)
        scale(axes.xaxis, quantities.duration)
        if len(series) > 1:
            legend(axes, len(series))

    return draw(WIDE, 0.8 + 0.3 * len(names), fill, font_size=FONT_SIZE)


def pages(rows: Rows) -> list[Plot]:
    """First and second touch."""
    touched = [row for row in rows if row["experiment"] == "first touch"]
    if not touched:
        return []
    names = [f"{row['mode']} by {row['by']}" for row in touched]
    series = {"first touch": ("#c8553d", [row["first"] for row in touched]), "second touch": ("#0f7b6c", [row["second"] for row in touched])}
    return [Plot("First and second touch", bars(names, series), is_wide=True)]


def oversubscription(rows: Rows) -> list[Plot]:
    label = "data / free memory"
    return [
        Plot("A later pass", curves(rows, "ratio", lambda row: row["pass_later"], label, logarithmic=False)),
        Plot("All passes and the way back", curves(rows, "ratio", lambda row: row["total"], label, logarithmic=False)),
    ]


def applications(rows: Rows) -> list[Plot]:
    """The phases of the largest problem of each application."""
    found = []
    for name in dict.fromkeys(row["application"] for row in rows):
        size = max(row["bytes"] for row in rows if row["application"] == name)
        chosen = [row for row in rows if (row["application"], row["bytes"]) == (name, size)]
        series = {phase: (colour, [row[phase] for row in chosen]) for phase, colour in PHASES.items()}
        found.append(Plot(f"{name}: {chosen[0]['problem']}", bars([row["mode"] for row in chosen], series), is_wide=True))
    return found + iterations(rows)


ITERATING = ("srad", "hotspot")


def iterations(rows: Rows) -> list[Plot]:
    """The seconds of each iteration, for the largest problem of each way of initialising it."""
    found = []
    for name, problem in dict.fromkeys((row["application"], row["problem"]) for row in rows if row["application"] in ITERATING and row.get("laps")):
        chosen = [row for row in rows if (row["application"], row["problem"]) == (name, problem)]
        by = chosen[0]["initialised_by"]
        if chosen[0]["bytes"] < max(row["bytes"] for row in rows if row["application"] == name and row.get("initialised_by") == by):
            continue
        laps = [{"mode": row["mode"], "lap": place, "seconds": taken} for row in chosen for place, taken in enumerate(row["laps"], start=1)]
        found.append(Plot(f"Iterations of {name}: {problem}", curves(laps, "lap", lambda row: row["seconds"], "iteration", logarithmic=False)))
    return found


def oversubscribed(rows: Rows) -> list[Plot]:
    """By application, the whole time over the ratio of its arrays to the free memory."""
    label = "data / free memory"
    found = []
    for name, problem in dict.fromkeys((row["application"], row["problem"]) for row in rows):
        chosen = [row for row in rows if (row["application"], row["problem"]) == (name, problem)]
        found.append(Plot(f"{name}, oversubscribed: {problem}", curves(chosen, "ratio", lambda row: row["total"], label, logarithmic=False)))
    return found


def stream(_: Rows) -> list[Plot]:
    """None: the table of rates is small."""
    return []


FIGURES = {"daxpy": daxpy, "pages": pages, "stream": stream, "oversubscription": oversubscription, "applications": applications}
FIGURES |= {"oversubscribed": oversubscribed}

"""The figures of the page, as inline SVG."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib

from blastoff import quantities
from blastoff.sampling.findings import Document
from blastoff.view.bars import legend, tick
from blastoff.view.figures import FAINT, draw

NODES = ("#0f7b6c", "#6aa84f", "#3d85c6", "#8d6a9f", "#c8553d", "#e09f3e", "#8d99ae", "#45818e")
HUGE = "#e09f3e"
DEVICE, MIRRORED, OTHERS = "#3d85c6", "#0f7b6c", "#8d99ae"
PINNED, STAGED = "#c8553d", "#8d6a9f"
FAULTS, MAJOR, MIGRATED = "#3d85c6", "#c8553d", "#8d6a9f"
TO_DEVICE, FROM_DEVICE = "#e09f3e", "#c8553d"
MARK = "#8d99ae"
INCHES_WIDE, INCHES_HIGH = 10.6, 2.7
PLACE = (0.085, 0.19, 0.905, 0.68)
"""Position of the axes in each figure; it is the same in all, so that equal times lie below each other."""

MAX_DRAWN = 700
"""Most points of a line in a figure."""

DIGIT = 0.008
"""Width of a digit of a mark's number, as a share of the time that a figure shows."""

Figure = tuple[str, str, str]
"""Heading, explanation, SVG."""


def chosen(document: Document) -> list[int]:
    """Indices of the samples that are drawn: in each group of neighbours, the sample with the most memory."""
    lists = document["timeline"]
    count = len(lists["time"])
    step = -(-count // MAX_DRAWN) if count else 1
    return [max(range(start, min(start + step, count)), key=lambda place: lists["resident"][place] or 0) for start in range(0, count, step)]


def pick(values: Sequence[Any], places: Sequence[int]) -> list[float]:
    return [values[place] or 0 for place in places]


def rates(times: Sequence[float], counts: Sequence[float]) -> list[float]:
    """Growth per second between each sample and the one before."""
    steps = zip(itertools.pairwise(times), itertools.pairwise(counts), strict=True)
    return [0.0, *((later - count) / (until - since) if until > since else 0.0 for (since, until), (count, later) in steps)]


def marks(axes: Any, document: Document, numbered: bool) -> None:
    """A line for each mark, with its number at the top where there is room: the table of phases has the numbers, too."""
    shown = document["marks"]
    for mark in shown:
        axes.axvline(mark["time"], color=MARK, linewidth=0.8, linestyle=(0, (4, 3)))
    free, digit = 0.0, DIGIT * axes.get_xlim()[1]
    for number, mark in enumerate(shown if numbered else [], start=1):
        if mark["time"] < free:
            continue
        free = mark["time"] + digit * (len(str(number)) + 1)
        place = {"xy": (mark["time"], 1), "xycoords": ("data", "axes fraction"), "xytext": (3, -2), "textcoords": "offset points"}
        axes.annotate(str(number), va="top", fontsize=8, **place)


def time_figure(document: Document, fill: Callable[[Any], None], text: Callable[[float], str], numbered: bool = False) -> str:
    """A figure over the time of the run; `text` formats values."""

    def whole(axes: Any) -> None:
        fill(axes)
        axes.figure.set_layout_engine("none")
        axes.set_position(PLACE)
        axes.set_xlim(0, max(document["seconds"], *document["timeline"]["time"], 1e-3))
        axes.set_ylim(0, max(1, axes.get_ylim()[1]))  # all values are counts: ticks between them would have the same label
        marks(axes, document, numbered)
        axes.set_xlabel("seconds since the start")
        axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(4, integer=True))
        axes.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: tick(text(value))))
        axes.grid(visible=True, axis="y", color=FAINT, linewidth=0.8)
        handles, _ = axes.get_legend_handles_labels()
        if handles:
            legend(axes, columns=6)

    return draw(INCHES_WIDE, INCHES_HIGH, whole, sides=("bottom",))


def host(document: Document) -> Figure:
    """The resident set, stacked by node; the part of it in huge pages, and the part that Blastoff has page-locked."""
    lists = document["timeline"]
    places = chosen(document)
    times = pick(lists["time"], places)
    parts = (("in huge pages", HUGE, "huge"), ("page-locked by Blastoff", PINNED, "pinned"), ("its staging buffers", STAGED, "staged"))

    def fill(axes: Any) -> None:
        nodes = lists["resident_by_node"]
        names = [f"on node {node}" for node in nodes] if len(nodes) > 1 else ["resident"]
        colours = [NODES[place % len(NODES)] for place in range(len(nodes))]
        axes.stackplot(times, *(pick(values, places) for values in nodes.values()), labels=names, colors=colours, alpha=0.75, linewidth=0)
        for label, colour, name in parts:
            if any(pick(lists[name], places)):
                axes.plot(times, pick(lists[name], places), color=colour, linewidth=1.6, label=label)

    explanation = "What the processes have touched and not given back. Memory that processes share counts for each. The lines are parts of it."
    return "Host memory", explanation, time_figure(document, fill, quantities.size, numbered=True)


def device(document: Document) -> Figure | None:
    """Device memory that Blastoff holds, stacked, and device memory in use according to NVML."""
    lists = document["timeline"]
    nvml = {"processes": ("device", "the run, by NVML"), "whole": ("device_whole", "all programs, by NVML")}.get(document["device"]["scope"])
    places = chosen(document)
    times = pick(lists["time"], places)
    held, mirrored = pick(lists["held"], places), pick(lists["mirrored"], places)
    used = pick(lists[nvml[0]], places) if nvml else []
    if not any(held) and not any(used):
        return None

    def fill(axes: Any) -> None:
        if any(held):
            others = [max(0, whole - mirror) for whole, mirror in zip(held, mirrored, strict=True)]
            labels = ["mirrors of Blastoff", "its other device memory"]
            axes.stackplot(times, mirrored, others, labels=labels, colors=[MIRRORED, OTHERS], alpha=0.75, linewidth=0)
        if nvml:
            axes.plot(times, used, color=DEVICE, linewidth=1.6, label=nvml[1])

    explanation = "Areas: what Blastoff holds."
    if nvml:
        explanation += " The line has everything: other users of the device, and what the driver and its libraries take for themselves."
    return "Device memory", explanation, time_figure(document, fill, quantities.size)


def moved(document: Document) -> Figure | None:
    """Bytes moved to the device and from the device per second."""
    lists = document["timeline"]
    places = chosen(document)
    times = pick(lists["time"], places)
    to_device, from_device = (rates(times, pick(lists[name], places)) for name in ("to_device", "from_device"))
    links = [pick(lists[name], places) for name in ("link_to_device", "link_from_device")]
    if not any(to_device) and not any(from_device) and not any(map(any, links)):
        return None

    def fill(axes: Any) -> None:
        axes.plot(times, to_device, color=TO_DEVICE, linewidth=1.4, drawstyle="steps-pre", label="to the device by Blastoff")
        axes.plot(times, from_device, color=FROM_DEVICE, linewidth=1.4, drawstyle="steps-pre", label="from the device by Blastoff")
        for values, colour, label in zip(links, (TO_DEVICE, FROM_DEVICE), ("to the devices (link)", "from the devices (link)"), strict=True):
            if any(values):
                axes.plot(times, values, color=colour, linewidth=1, linestyle=(0, (2, 2)), label=label)

    explanation = "What a call has moved counts when the call is over."
    if any(map(any, links)):
        explanation += " The link's traffic is that of all programs, averaged by the driver over 20 ms."
    return "Moved per second", explanation, time_figure(document, fill, lambda value: f"{quantities.size(value)}/s")


def faults(document: Document) -> Figure:
    """Page faults and migrated pages per second."""
    lists = document["timeline"]
    places = chosen(document)
    times = pick(lists["time"], places)

    def fill(axes: Any) -> None:
        major = pick(lists["major_faults"], places)
        everything = [sum(pair) for pair in zip(pick(lists["minor_faults"], places), major, strict=True)]
        for counts, colour, label in (
            (everything, FAULTS, "page faults"),
            (major, MAJOR, "of these from a file or swap"),
            (pick(lists["migrated_pages"], places), MIGRATED, "pages migrated between nodes (whole machine)"),
        ):
            values = rates(times, counts)
            if any(values) or counts is everything:
                axes.plot(times, values, color=colour, linewidth=1.4, drawstyle="steps-pre", label=label)

    return (
        "Page faults and migrations per second",
        "A page fault is the CPU's first touch of a page.",
        time_figure(document, fill, lambda value: quantities.count(round(value))),
    )


def figures(document: Document) -> list[Figure]:
    """All figures that have data."""
    return [figure for figure in (host(document), device(document), moved(document), faults(document)) if figure is not None]

"""The plots of the report page, as inline SVG."""

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from blastoff import quantities
from blastoff.report.job import Job, Sums

CPU, COMPUTING, MOVING = "#8d99ae", "#0f7b6c", "#e09f3e"
UPLOADED, DOWNLOADED, REUSED = "#e09f3e", "#c8553d", "#0f7b6c"
INK, FAINT = "#2b2d42", "#d9dce3"
INCHES_WIDE = 10.6
INCHES_A_BAR = 0.36
LARGEST = 12
"""The most bars in a plot; further rows are summed up in one more bar."""

matplotlib.rcParams.update(
    {
        "svg.fonttype": "none",  # text stays text: searchable, and in the page's own font
        "svg.hashsalt": "blastoff",
        "font.family": "sans-serif",
        "font.size": 10,
        "text.color": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
    }
)

Series = tuple[str, str, Sequence[float]]
"""Name, colour, and one value for each bar."""


def largest_first(rows: dict[str, Sums], key: Any) -> dict[str, Sums]:
    """The rows with the largest keys, and the sum of the others as one row; rows with key zero are left out."""
    ordered = sorted(((name, sums) for name, sums in rows.items() if key(sums) > 0), key=lambda row: -key(row[1]))
    shown = dict(ordered[:LARGEST])
    rest = ordered[LARGEST:]
    if rest:
        shown[f"{len(rest)} others"] = sum((sums for _, sums in rest), Sums())
    return shown


def stacked_bars(names: Sequence[str], series: Sequence[Series], text: Any, label: str) -> str:
    """Horizontal stacked bars with the total after each; `text` formats a value."""
    figure = Figure(figsize=(INCHES_WIDE, 0.9 + INCHES_A_BAR * len(names)), layout="constrained")
    axes = figure.add_subplot()
    starts = [0.0] * len(names)
    for name, colour, values in series:
        axes.barh(names, values, left=starts, color=colour, label=name, height=0.66)
        starts = [start + value for start, value in zip(starts, values, strict=True)]
    for position, total in enumerate(starts):
        axes.annotate(text(total), (total, position), xytext=(5, 0), textcoords="offset points", va="center", fontsize=9)
    decorate(axes, label, text, max(starts, default=0))
    if len(series) > 1:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(series), frameon=False, borderaxespad=0.1, handlelength=1)
    return svg(figure)


def decorate(axes: Any, label: str, text: Any, largest: float) -> None:
    """Draws axes, ticks and grid faintly."""
    axes.invert_yaxis()
    axes.set_xlim(0, largest * 1.12 or 1)
    axes.set_xlabel(label)
    axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5))
    axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: tick(text(value))))
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set_color(FAINT)


def tick(text: str) -> str:
    """Without trailing zeros: "15 s" for "15.0 s"."""
    return re.sub(r"\.0+(?!\d)", "", text)


def svg(figure: Figure) -> str:
    """The figure as an element for a page, sized by the page."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return buffer.getvalue()[buffer.getvalue().index("<svg") :]


def time_series(rows: Sequence[Sums]) -> list[Series]:
    """Seconds on the CPU and on the device, the latter computing or waiting for data."""
    return [
        ("on the CPU", CPU, [sums.cpu_seconds for sums in rows]),
        ("device, computing", COMPUTING, [max(0.0, sums.device_seconds - sums.transfer_seconds) for sums in rows]),
        ("device, waiting for data", MOVING, [min(sums.device_seconds, sums.transfer_seconds) for sums in rows]),
    ]


def times(rows: dict[str, Sums]) -> str:
    """Seconds by routine or by process."""
    shown = largest_first(rows, lambda sums: sums.seconds)
    return stacked_bars(list(shown), time_series(list(shown.values())), quantities.duration, "wall time, summed over threads")


def traffic(rows: dict[str, Sums]) -> str:
    """Bytes moved, and bytes that residency saved from being moved."""
    shown = largest_first(rows, lambda sums: sums.bytes_to_device + sums.bytes_from_device + sums.bytes_reused)
    values = shown.values()
    series = [
        ("to the device", UPLOADED, [sums.bytes_to_device for sums in values]),
        ("from the device", DOWNLOADED, [sums.bytes_from_device for sums in values]),
        ("already there", REUSED, [sums.bytes_reused for sums in values]),
    ]
    return stacked_bars(list(shown), series, quantities.size, "bytes of matrices")


def refusals(job: Job) -> str:
    """Calls that stayed on the CPU, by reason."""
    reasons = job.refusals()
    return stacked_bars(list(reasons), [("calls", CPU, list(reasons.values()))], lambda value: quantities.count(round(value)), "calls")

"""Bars of times and amounts, alike in all pages."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib

from blastoff.view.figures import FAINT, draw

CPU, COMPUTING, MOVING = "#8d99ae", "#0f7b6c", "#e09f3e"
WHERE = ("on the CPU", "device, computing", "device, waiting for data")
"""The meaning of the three colours."""

INCHES_WIDE = 10.6
INCHES_A_BAR = 0.36
LARGEST = 12
"""Most bars in a plot."""

TEXT_SHARE = 0.09
"""Width of a bar's text, as a share of the longest bar."""

POINT = {"color": "#222222", "markerfacecolor": "white", "markersize": 5, "linestyle": "none"}

Series = tuple[str, str, Sequence[float]]
"""Name, colour, and one value for each bar."""


def where_series(rows: Sequence[tuple[float, float, float]]) -> list[Series]:
    """The series of rows of three durations: on the CPU, computing on the device, and waiting there for data."""
    return [(name, colour, [row[place] for row in rows]) for place, (name, colour) in enumerate(zip(WHERE, (CPU, COMPUTING, MOVING), strict=True))]


Points = Mapping[str, Sequence[tuple[str, float]]]
"""By label: points on bars, each with the bar's name and a value."""


def stacked_bars(names: Sequence[str], series: Sequence[Series], text: Any, label: str, points: Points | None = None) -> str:
    """Horizontal stacked bars with the total after each; `text` formats a value."""
    marked = points or {}
    largest = max((value for placed in marked.values() for _, value in placed), default=0.0)

    def fill(axes: Any) -> None:
        starts = [0.0] * len(names)
        for name, colour, values in series:
            axes.barh(names, values, left=starts, color=colour, label=name, height=0.66)
            starts = [start + value for start, value in zip(starts, values, strict=True)]
        for position, (name, total) in enumerate(zip(names, starts, strict=True)):
            on_bar = sorted(value for placed in marked.values() for bar, value in placed if bar == name)
            end = beside(total, on_bar, TEXT_SHARE * max(*starts, largest))
            axes.annotate(text(total), (end, position), xytext=(5, 0), textcoords="offset points", va="center", fontsize=9)
        for marker, (name, placed) in zip("oD^", marked.items(), strict=False):
            axes.plot([value for _, value in placed], [names.index(bar) for bar, _ in placed], marker, label=name, **POINT)
        axes.invert_yaxis()
        axes.set_xlim(0, max([*starts, largest], default=0) * 1.12 or 1)
        axes.set_xlabel(label)
        scale(axes.xaxis, text)
        if len(series) > 1:
            legend(axes, len(series) + len(marked))

    return draw(INCHES_WIDE, 0.9 + INCHES_A_BAR * len(names), fill, sides=("left",))


def beside(end: float, points: Sequence[float], width: float) -> float:
    """Where a text of this width begins that follows a bar's end and covers no point; the points are in order."""
    for point in points:
        if end <= point < end + width:
            end = point
    return end


def scale(axis: Any, text: Any) -> None:
    """Gives an axis a few ticks with faint lines; `text` formats their values."""
    axis.set_major_locator(matplotlib.ticker.MaxNLocator(5))
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: tick(text(value))))
    axis.grid(visible=True, color=FAINT, linewidth=0.8)


def legend(axes: Any, columns: int = 3) -> None:
    """Puts the legend above the plot, with `columns` names in a line."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, frameon=False, borderaxespad=0.1, handlelength=1)


def tick(text: str) -> str:
    """The text without trailing zeros: "15 s" for "15.0 s"."""
    return re.sub(r"\.0+(?!\d)", "", text)

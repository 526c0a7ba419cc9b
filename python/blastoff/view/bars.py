"""Bars of times and amounts, alike in all pages."""

import re
from collections.abc import Sequence
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

Series = tuple[str, str, Sequence[float]]
"""Name, colour, and one value for each bar."""


def where_series(rows: Sequence[tuple[float, float, float]]) -> list[Series]:
    """The series of rows of three durations: on the CPU, computing on the device, and waiting there for data."""
    return [(name, colour, [row[place] for row in rows]) for place, (name, colour) in enumerate(zip(WHERE, (CPU, COMPUTING, MOVING), strict=True))]


def stacked_bars(names: Sequence[str], series: Sequence[Series], text: Any, label: str) -> str:
    """Horizontal stacked bars with the total after each; `text` formats a value."""

    def fill(axes: Any) -> None:
        starts = [0.0] * len(names)
        for name, colour, values in series:
            axes.barh(names, values, left=starts, color=colour, label=name, height=0.66)
            starts = [start + value for start, value in zip(starts, values, strict=True)]
        for position, total in enumerate(starts):
            axes.annotate(text(total), (total, position), xytext=(5, 0), textcoords="offset points", va="center", fontsize=9)
        axes.invert_yaxis()
        axes.set_xlim(0, max(starts, default=0) * 1.12 or 1)
        axes.set_xlabel(label)
        scale(axes.xaxis, text)
        if len(series) > 1:
            legend(axes)

    return draw(INCHES_WIDE, 0.9 + INCHES_A_BAR * len(names), fill, sides=("left",))


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

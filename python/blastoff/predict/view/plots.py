"""The plots of the page of a prediction, as inline SVG."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib

from blastoff import quantities
from blastoff.view.figures import FAINT, draw

CPU, COMPUTING, MOVING = "#8d99ae", "#0f7b6c", "#e09f3e"
INCHES_WIDE, INCHES_A_BAR = 10.6, 0.36
LARGEST = 12
"""The most bars of a plot."""
SECONDS = "seconds in calls, all threads"


def bars(names: Sequence[str], series: Sequence[tuple[str, str, Sequence[float]]], label: str) -> str:
    """Horizontal stacked bars of seconds: name, colour and a value for each bar."""

    def fill(axes: Any) -> None:
        starts = [0.0] * len(names)
        for name, colour, values in series:
            axes.barh(names, values, left=starts, color=colour, label=name, height=0.66)
            starts = [start + value for start, value in zip(starts, values, strict=True)]
        for position, total in enumerate(starts):
            axes.annotate(quantities.duration(total), (total, position), xytext=(5, 0), textcoords="offset points", va="center", fontsize=9)
        axes.invert_yaxis()
        axes.set_xlim(0, max(starts, default=0) * 1.12 or 1)
        axes.set_xlabel(label)
        axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5))
        axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: quantities.duration(value)))
        axes.grid(visible=True, axis="x", color=FAINT, linewidth=0.8)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=4, frameon=False, borderaxespad=0.1, handlelength=1)

    return draw(INCHES_WIDE, 0.9 + INCHES_A_BAR * len(names), fill, sides=("left",))


def parts(totals: Mapping[str, float]) -> tuple[float, float, float]:
    """Seconds on the CPU, computing on the device, and moving."""
    return totals["cpu_seconds"], totals["device_seconds"] - totals["moving_seconds"], totals["moving_seconds"]


def series(rows: Sequence[tuple[float, float, float]]) -> list[tuple[str, str, Sequence[float]]]:
    named = (("on the CPU", CPU), ("device, computing", COMPUTING), ("device, waiting for data", MOVING))
    return [(name, colour, [row[place] for row in rows]) for place, (name, colour) in enumerate(named)]


def machines(prediction: Mapping[str, Any]) -> str:
    """Seconds in calls as traced, and on each machine."""
    shown = prediction["machines"][:LARGEST]
    traced = (shown[0]["totals"]["traced_seconds"], 0.0, 0.0)
    rows = [traced, *(parts(each["totals"]) for each in shown)]
    return bars(["as traced", *(each["label"] for each in shown)], series(rows), SECONDS)


def routines(machine: Mapping[str, Any]) -> str:
    """Seconds by routine on one machine, those that took longest first."""
    shown = sorted(machine["routines"], key=lambda routine: -routine["traced_seconds"])[:LARGEST]
    return bars([each["name"] for each in shown], series([parts(each) for each in shown]), SECONDS) if shown else ""

"""Figures as inline SVG, in the style of the pages."""

import io
from collections.abc import Callable
from typing import Any

import matplotlib
from matplotlib.figure import Figure

INK, FAINT = "#2b2d42", "#8d99ae59"
FONT_PADS = 0.8
"""Space above the labels of an x axis, in units of the font size, so that those at the origin do not touch."""
PARAMETERS = {
    "svg.fonttype": "none",  # text stays text, so that it can be searched and has the page's font and colour
    "svg.hashsalt": "blastoff",
    "font.family": "sans-serif",
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def draw(width: float, height: float, fill: Callable[[Any], None], sides: tuple[str, ...] = ("left", "bottom"), font_size: float = 10) -> str:
    """A figure that `fill` draws into, with axis lines only at `sides`. `width` and `height` are inches; the page scales the figure."""
    with matplotlib.rc_context(PARAMETERS | {"font.size": font_size}):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
        fill(axes)
        axes.set_axisbelow(True)
        axes.tick_params(length=0, which="both")
        axes.tick_params(axis="x", pad=FONT_PADS * font_size, which="both")
        for side, spine in axes.spines.items():
            spine.set_visible(side in sides)
            spine.set_color(FAINT)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return buffer.getvalue()[buffer.getvalue().index("<svg") :]

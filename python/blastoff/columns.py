"""Tables of plain text that fit the width of a terminal. Columns are dropped, those first that matter least; names are shortened in the
middle; numbers are never cut. Needs the standard library only, since the launcher prints tables."""

import os
import textwrap
from collections.abc import Sequence

SHORT_NAME = 24
"""Characters that names keep, if they are that long, before the last column that may be dropped is dropped."""
LEAST_NAME = 12
"""Characters that names keep in any case."""
GAP = "  "
LEAST_TEXT = 24
"""Least width of wrapped text beside its label."""


def terminal_width(stream: int = 1) -> int | None:
    """Characters in a line of the terminal behind a file descriptor; None for files and pipes, which take lines of any length. COLUMNS overrides
    it, as in other programs."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(stream).columns or None
    except (OSError, ValueError):
        return None


def shortened(name: str, width: int) -> str:
    """The name with dots for its middle, if it is too long: its beginning and its end tell most."""
    if len(name) <= width:
        return name
    dots = "..." if width >= LEAST_NAME else "."[: max(0, width)]
    left = (width - len(dots)) // 2
    right = width - len(dots) - left
    return name[:left] + dots + name[len(name) - right :]


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _room(widths: Sequence[int], width: int) -> int:
    """What is left for the names."""
    return width - sum(widths[1:]) - len(GAP) * (len(widths) - 1)


Dropped = Sequence[str | tuple[str, ...]]
"""Headings of columns that may be left out, the first one first; columns of the same heading, and those of a tuple, go together."""


def fitting(rows: Sequence[Sequence[str]], dropped: Dropped, width: int) -> list[list[str]]:
    """The rows of a table, the first of which has the headings, without the columns that do not fit."""
    kept = [list(row) for row in rows]
    longest = _widths(kept)[0]
    for leaving in dropped:
        if _room(_widths(kept), width) >= min(longest, SHORT_NAME):
            break
        places = [place for place, name in enumerate(kept[0]) if place == 0 or name not in (leaving if isinstance(leaving, tuple) else (leaving,))]
        kept = [[row[place] for place in places] for row in kept]
    room = max(LEAST_NAME, _room(_widths(kept), width))
    return [[shortened(row[0], room), *row[1:]] for row in kept]


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], dropped: Dropped = (), width: int | None = None, total: bool = False) -> list[str]:
    """The lines of a table: names to the left, numbers to the right, a rule below the headings, and one above the last row if it is a total.
    `dropped`: see fitting(); `width`: characters in a line, if they are limited."""
    shown = [list(row) for row in (headings, *rows)]
    if width is not None:
        shown = fitting(shown, dropped, width)
    widths = _widths(shown)
    lines = []
    for row in shown:
        cells = [f"{cell:>{size}}" for cell, size in zip(row[1:], widths[1:], strict=True)]
        lines.append(GAP.join([f"{row[0]:<{widths[0]}}", *cells]).rstrip())
    rule = "-" * (sum(widths) + len(GAP) * (len(widths) - 1))
    lines.insert(1, rule)
    if total:
        lines.insert(len(lines) - 1, rule)
    return lines


def pairs(lines: Sequence[tuple[str, str]], width: int | None = None) -> list[str]:
    """Labels and texts in two columns. A label that repeats is written once; a text that is too long goes on below its beginning."""
    left = max((len(label) for label, _ in lines), default=0)
    shown = []
    previous = None
    for label, text in lines:
        room = None if width is None else max(LEAST_TEXT, width - left - len(GAP))
        parts = [text] if room is None or len(text) <= room else textwrap.wrap(text, room, break_on_hyphens=False)
        for place, part in enumerate(parts or [""]):
            shown.append(f"{'' if place or label == previous else label:<{left}}{GAP}{part}")
        previous = label
    return shown

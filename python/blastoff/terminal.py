"""Lines on a terminal. Needs the standard library only: doctor, inspect and predict work wherever Python does."""

import os
import sys
import textwrap
from collections.abc import Sequence

from blastoff import columns

UNLIMITED_WIDTH = 118
"""Characters in a line of prose where there is no terminal."""
STYLES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33}
"""Parameters of the escape sequence that selects a style (ECMA-48)."""


def width() -> int:
    return columns.terminal_width() or UNLIMITED_WIDTH


def styled(text: str, style: str) -> str:
    """The text in a style, where standard output is a terminal that shows styles."""
    shows = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
    return f"\033[{STYLES[style]}m{text}\033[0m" if shows and text else text


def wrapped(text: str, indent: str = "") -> list[str]:
    """Prose in lines that fit."""
    return textwrap.wrap(text, max(columns.LEAST_TEXT, width() - len(indent)), break_on_hyphens=False)


def pairs(lines: Sequence[tuple[str, str]], indent: str = "") -> list[str]:
    """Labels and texts in two columns that fit; a label that repeats is written once."""
    return [f"{indent}{line}" for line in columns.pairs(lines, width() - len(indent))]


def show(lines: Sequence[str]) -> None:
    """Prints lines to standard output."""
    print("\n".join(line.rstrip() for line in lines))

"""Tables and lines on a terminal."""

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from blastoff import columns

UNLIMITED_WIDTH = 118
"""Characters in a line where there is no terminal."""


def show(*parts: RenderableType) -> None:
    """Prints to standard output, in lines as wide as the terminal's."""
    console = Console(width=columns.terminal_width() or UNLIMITED_WIDTH, highlight=False)
    with console.capture() as captured:
        console.print(*parts, sep="\n")
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def pairs(lines: list[tuple[str, str]]) -> Table:
    """A table of labels and texts; a label that repeats is written once."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    previous = None
    for label, text in lines:
        table.add_row("" if label == previous else label, Text(text))
        previous = label
    return table

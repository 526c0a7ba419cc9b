"""The calls of a part of a session, as HTML for a notebook: bars and a table, in the colours of the notebook."""

from collections.abc import Sequence
from dataclasses import dataclass

from blastoff import quantities
from blastoff.job.processes import Sums
from blastoff.job.view.layout import Layout
from blastoff.session.counts import Counts
from blastoff.session.rows import longest_first
from blastoff.session.view import text
from blastoff.view.page import template

MAX_BARS = 12


@dataclass(frozen=True)
class Bar:
    """The bar of one routine. `parts`: widths for the CPU, for computing on the device and for moving, in percent of the longest bar. `label`: its
    time."""

    name: str
    parts: tuple[float, float, float]
    label: str


def bars(routines: dict[str, Sums]) -> list[Bar]:
    """The routines that took longest."""
    longest = max((sums.seconds for sums in routines.values()), default=0.0)
    if longest <= 0:
        return []
    result = []
    for name, sums in list(routines.items())[:MAX_BARS]:
        moving = min(sums.transfer_seconds, sums.device_seconds)
        parts = (sums.cpu_seconds, sums.device_seconds - moving, moving)
        result.append(Bar(name, tuple(round(100 * part / longest, 2) for part in parts), quantities.duration(sums.seconds)))
    return result


def cells(sums: dict[str, Sums], layout: Layout[Sums]) -> list[tuple[str, list[str]]]:
    return [(name, layout.cells(part)) for name, part in sums.items()]


def routine_table(counts: Counts, routines: dict[str, Sums]) -> tuple[str, Sequence[str], list[tuple[str, list[str]]]]:
    """The table by routine: title of the first column, titles of the other columns, and rows."""
    layout = text.layout_of(counts)
    return "routine", layout.headings, cells(routines, layout)


def line_table(counts: Counts) -> tuple[str, Sequence[str], list[tuple[str, list[str]]]]:
    """The table by line of Python, in the same form. Further columns tell how much each line saved and why its calls stayed on the CPU."""
    told = text.told_of_lines(counts)
    layout = text.layout_of(counts)
    rows = [(line, [*numbers, *said]) for (line, numbers), *said in zip(cells(text.longest_lines(counts), layout), *told.values(), strict=True)]
    return "line", (*layout.headings, *told), rows


def render(name: str, counts: Counts) -> str:
    """HTML that refers to nothing outside it."""
    routines = longest_first(counts.routines)
    return template("blastoff.session.view", "calls.html.j2").render(
        name=name or "blastoff",
        headline=text.headline(counts),
        bars=bars(routines),
        tables=[(title, columns, rows) for title, columns, rows in (routine_table(counts, routines), line_table(counts)) if rows],
        reasons=text.reasons(counts),
    )

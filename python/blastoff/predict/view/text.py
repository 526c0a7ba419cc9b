"""A prediction on a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from blastoff import terminal
from blastoff.predict.view import words


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    result = Table(box=None, pad_edge=False)
    for position, column in enumerate(columns):
        result.add_column(column, justify="right" if position else "left", no_wrap=True)
    for row in rows:
        result.add_row(*row)
    return result


def show(prediction: Mapping[str, Any]) -> None:
    """The answer, the machines, and the routines on the best one."""
    best = prediction["machines"][0]
    print(words.answer(prediction), end="\n\n")
    terminal.show(
        terminal.pairs(words.facts(prediction)),
        "",
        table(words.MACHINE_COLUMNS, [words.machine_cells(machine) for machine in prediction["machines"]]),
        "",
        f"on {best['label']} ({best['name']}):",
        table(words.ROUTINE_COLUMNS, [words.routine_cells(routine) for routine in best["routines"]]),
    )

"""A prediction on a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from blastoff import terminal
from blastoff.predict.view import nodes_words, words


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


def show_nodes(result: Mapping[str, Any]) -> None:
    """The measured job, the computed times, and published times beside computed ones."""
    print(nodes_words.answer(result), end="\n\n")
    parts = [Text("measured", style="bold"), terminal.pairs(nodes_words.measured(result))]
    for machine in result["machines"]:
        parts += ["", Text(f"computed: {nodes_words.title(result, machine)}", style="bold")]
        parts += [table(nodes_words.columns(result), nodes_words.cells(result, machine))]
    if result.get("comparison"):
        parts += ["", Text("computed beside published", style="bold")]
        parts += [table(nodes_words.COMPARISON_COLUMNS, nodes_words.comparison(result))]
    terminal.show(*parts, "", terminal.pairs(nodes_words.facts(result)))

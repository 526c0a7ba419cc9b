"""A prediction on a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from blastoff import columns, terminal
from blastoff.predict.view import nodes_words, words


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], dropped: Sequence[str] = ()) -> Text:
    """A table that fits the terminal; `dropped`: columns that may be left out, the first one first."""
    return Text("\n".join(columns.table(headings, rows, dropped, columns.terminal_width())), no_wrap=True, overflow="ignore")


def show(prediction: Mapping[str, Any]) -> None:
    """The answer, the machines, and the routines on the best one."""
    best = prediction["machines"][0]
    print(words.answer(prediction), end="\n\n")
    terminal.show(
        terminal.pairs(words.facts(prediction)),
        "",
        table(words.MACHINE_COLUMNS, [words.machine_cells(machine) for machine in prediction["machines"]], words.DROPPED_MACHINE_COLUMNS),
        "",
        f"on {best['label']} ({best['name']}):",
        table(words.ROUTINE_COLUMNS, [words.routine_cells(routine) for routine in best["routines"]], words.DROPPED_ROUTINE_COLUMNS),
    )


def show_nodes(result: Mapping[str, Any]) -> None:
    """The measured job, the computed times, and published times beside computed ones."""
    print(nodes_words.answer(result), end="\n\n")
    parts = [Text("measured", style="bold"), terminal.pairs(nodes_words.measured(result))]
    for machine in result["machines"]:
        parts += ["", Text(f"computed: {nodes_words.title(result, machine)}", style="bold")]
        parts += [table(nodes_words.columns(result), nodes_words.cells(result, machine), nodes_words.DROPPED_COLUMNS)]
    if result.get("comparison"):
        parts += ["", Text("computed beside published", style="bold")]
        parts += [table(nodes_words.COMPARISON_COLUMNS, nodes_words.comparison(result), ("source",))]
    terminal.show(*parts, "", terminal.pairs(nodes_words.facts(result)))

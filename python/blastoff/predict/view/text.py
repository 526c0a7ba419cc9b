"""A prediction on a terminal."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from blastoff import columns, terminal
from blastoff.predict.view import nodes_words, words


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], dropped: Sequence[str] = ()) -> list[str]:
    """A table that fits the terminal; `dropped`: columns that may be left out, the first one first."""
    return columns.table(headings, rows, dropped, columns.terminal_width())


def wrapped(sentence: str) -> list[str]:
    """A sentence in lines that fit the terminal."""
    width = columns.terminal_width()
    return textwrap.wrap(sentence, width) if width else [sentence]


def show(prediction: Mapping[str, Any]) -> None:
    """The answer, the machines, and the routines on the best one."""
    best = prediction["machines"][0]
    lines = [*wrapped(words.answer(prediction)), ""]
    lines += terminal.pairs(words.facts(prediction))
    lines += ["", *table(words.MACHINE_COLUMNS, [words.machine_cells(machine) for machine in prediction["machines"]], words.DROPPED_MACHINE_COLUMNS)]
    if best["routines"]:
        lines += ["", f"on {best['label']} ({best['name']}):"]
        lines += table(words.ROUTINE_COLUMNS, [words.routine_cells(routine) for routine in best["routines"]], words.DROPPED_ROUTINE_COLUMNS)
    if best["distributed"]:
        lines += ["", f"calls of all ranks, on {best['label']}, once a job:"]
        cells = [words.distributed_cells(call) for call in best["distributed"]]
        lines += table(words.DISTRIBUTED_COLUMNS, cells, words.DROPPED_DISTRIBUTED_COLUMNS)
    terminal.show(lines)


def show_nodes(result: Mapping[str, Any]) -> None:
    """The measured job, the computed times, and published times beside computed ones."""
    lines = [*wrapped(nodes_words.answer(result)), "", terminal.styled("measured", "bold"), *terminal.pairs(nodes_words.measured(result))]
    for machine in result["machines"]:
        lines += ["", *(terminal.styled(line, "bold") for line in wrapped(f"computed: {nodes_words.title(result, machine)}"))]
        lines += table(nodes_words.columns(result), nodes_words.cells(result, machine), nodes_words.DROPPED_COLUMNS)
        if rows := nodes_words.distributed(machine):
            lines += ["", *(terminal.styled(line, "bold") for line in wrapped(nodes_words.DISTRIBUTED))]
            lines += table(nodes_words.DISTRIBUTED_COLUMNS, rows, nodes_words.DROPPED_DISTRIBUTED_COLUMNS)
    if result.get("comparison"):
        lines += ["", terminal.styled("computed beside published", "bold")]
        lines += table(nodes_words.COMPARISON_COLUMNS, nodes_words.comparison(result), ("source",))
    terminal.show([*lines, "", *terminal.pairs(nodes_words.facts(result))])

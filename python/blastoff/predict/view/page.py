"""A prediction as one self-contained page."""

from collections.abc import Mapping
from typing import Any

from blastoff.job import program
from blastoff.predict.view import nodes_words, plots, words
from blastoff.view.page import template


def render(prediction: Mapping[str, Any]) -> str:
    """The page as HTML text, which refers to nothing outside it."""
    best = prediction["machines"][0]
    return template("blastoff.predict.view", "predict.html.j2").render(
        version=prediction["blastoff"],
        program=program.name({key: prediction["traces"][0][key] or "" for key in ("program", "command_line")}),
        answer=words.answer(prediction),
        facts=words.facts(prediction),
        best=best,
        machine_columns=words.MACHINE_COLUMNS,
        machine_rows=[words.machine_cells(machine) for machine in prediction["machines"]],
        routine_columns=words.ROUTINE_COLUMNS,
        routine_rows=[words.routine_cells(routine) for routine in best["routines"]],
        distributed_columns=words.DISTRIBUTED_COLUMNS,
        distributed_rows=[words.distributed_cells(call) for call in best["distributed"]],
        machine_plot=plots.machines(prediction),
        routine_plot=plots.routines(best),
    )


def render_nodes(result: Mapping[str, Any]) -> str:
    """The page of a job on many nodes."""
    return template("blastoff.predict.view", "nodes.html.j2").render(
        version=result["blastoff"],
        program=result["measured"]["name"],
        answer=nodes_words.answer(result),
        measured=nodes_words.measured(result),
        columns=nodes_words.columns(result),
        machines=[
            {
                "title": nodes_words.title(result, machine),
                "rows": nodes_words.cells(result, machine),
                "plot": plots.nodes(machine, result.get("comparison", [])),
                "distributed": nodes_words.distributed(machine),
            }
            for machine in result["machines"]
        ],
        distributed_title=nodes_words.DISTRIBUTED,
        distributed_columns=nodes_words.DISTRIBUTED_COLUMNS,
        comparison_columns=nodes_words.COMPARISON_COLUMNS,
        comparison=nodes_words.comparison(result),
        facts=nodes_words.facts(result),
    )

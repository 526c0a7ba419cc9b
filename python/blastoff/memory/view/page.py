"""The time line as one self-contained page."""

from blastoff import quantities
from blastoff.job import program
from blastoff.memory.view import plots
from blastoff.sampling import findings
from blastoff.sampling.findings import Document
from blastoff.sampling.view import words
from blastoff.view.page import template

MAX_PROCESSES = 40
PROCESS_COLUMNS = ("from", "to", "resident at most", "page faults")


def processes(document: Document) -> list[tuple[str, list[str]]]:
    """The processes with the most memory."""
    ordered = sorted(document["processes"], key=lambda process: -process["resident_peak"])[:MAX_PROCESSES]
    return [
        (
            f"{process['program']} ({process['pid']})",
            [
                f"{quantities.seconds(process['from'])} s",
                f"{quantities.seconds(process['to'])} s",
                quantities.size(process["resident_peak"]),
                quantities.count(process["minor_faults"] + process["major_faults"]),
            ],
        )
        for process in ordered
    ]


def phases(document: Document) -> list[tuple[str, list[str]]]:
    """The phases; those that begin with a mark have its number, as in the figure."""
    found = findings.phases(document)
    return [(f"{place}  {phase.name}" if place else phase.name, words.cells(phase)) for place, phase in enumerate(found)]


def render(document: Document) -> str:
    """The page as HTML text, which refers to nothing outside it."""
    sampled = bool(document["timeline"]["time"])
    return template("blastoff.memory.view", "memory.html.j2").render(
        version=document["blastoff"],
        program=program.name(document["process"]),
        process=document["process"],
        seconds=quantities.duration(document["seconds"]),
        facts=words.facts(document),
        figures=plots.figures(document) if sampled else [],
        phase_columns=words.PHASE_COLUMNS,
        phases=phases(document),
        process_columns=PROCESS_COLUMNS,
        processes=processes(document),
    )

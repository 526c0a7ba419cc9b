"""A job as plain text: facts, tables and conclusions. It is made when a program has ended, so it imports nothing large."""

from collections.abc import Sequence

from blastoff.job.processes import Job, Sums
from blastoff.job.view import words

MOST_PROCESSES = 8
"""With more processes, their distribution is shown instead of each."""


def pairs(lines: Sequence[tuple[str, str]]) -> list[str]:
    """Labels and texts in two columns; a label that repeats is written once."""
    width = max((len(label) for label, _ in lines), default=0)
    shown = []
    previous = None
    for label, text in lines:
        shown.append(f"{'' if label == previous else label:<{width}}  {text}")
        previous = label
    return shown


def sums_table(title: str, rows: dict[str, Sums], total: Sums | None) -> list[str]:
    """A table of sums with a line for the total."""
    table = [[title, *words.COLUMNS], *([name, *words.cells(sums)] for name, sums in rows.items())]
    if total is not None:
        table.append(["total", *words.cells(total)])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for row in table:
        cells = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([f"{row[0]:<{widths[0]}}", *cells]).rstrip())
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines.insert(1, rule)
    if total is not None:
        lines.insert(len(lines) - 1, rule)
    return lines


def text(job: Job) -> str:
    """The summary of one process or of a job."""
    lines = [*pairs(words.facts(job)), ""]
    if not job.totals.calls:
        return "\n".join([*lines, "no call of BLAS, LAPACK or FFTW was seen", ""])
    lines += [*sums_table("routine", job.routines, job.totals if len(job.routines) > 1 else None), ""]
    if len(job.processes) > 1:
        each = {process.label: process.totals for process in job.processes}
        lines += [*sums_table("process", each if len(each) <= MOST_PROCESSES else words.distribution(job), None), ""]
    return "\n".join([*lines, *pairs(words.conclusions(job)), ""])

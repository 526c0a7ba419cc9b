"""A job as plain text: facts, tables and conclusions. The launcher prints it when a program has ended, so this module imports nothing large."""

from collections.abc import Sequence

from blastoff.job.call_sites import CallSite
from blastoff.job.processes import Job, Sums
from blastoff.job.view import words
from blastoff.printable import printable

MAX_PROCESSES = 8
"""Most processes that get a line each. If there are more, their distribution is shown instead."""


def pairs(lines: Sequence[tuple[str, str]]) -> list[str]:
    """Labels and texts in two columns; a label that repeats is written once."""
    width = max((len(label) for label, _ in lines), default=0)
    shown = []
    previous = None
    for label, text in lines:
        shown.append(f"{'' if label == previous else label:<{width}}  {text}")
        previous = label
    return shown


def aligned(heading: Sequence[str], rows: Sequence[Sequence[str]], last_is_total: bool = False) -> list[str]:
    """A table: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    lines = []
    for row in (heading, *rows):
        cells = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([f"{row[0]:<{widths[0]}}", *cells]).rstrip())
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines.insert(1, rule)
    if last_is_total:
        lines.insert(len(lines) - 1, rule)
    return lines


def sums_table(title: str, rows: dict[str, Sums], total: Sums | None) -> list[str]:
    """A table of sums with a line for the total."""
    cells = [[name, *words.cells(sums)] for name, sums in rows.items()]
    if total is not None:
        cells.append(["total", *words.cells(total)])
    return aligned([title, *words.COLUMNS], cells, last_is_total=total is not None)


MAX_SITES = 12
"""Most call sites in a summary."""


def site_lines(sites: Sequence[CallSite]) -> list[str]:
    """The call sites with the most time; nothing where none is known."""
    shown = [site for site in sites if site.sums.seconds > 0][:MAX_SITES]
    if not shown:
        return []
    lines = aligned(["call site", *words.SITE_COLUMNS], [[printable(site.name), *map(printable, words.site_cells(site))] for site in shown])
    reasons = list(dict.fromkeys(printable(site.reason) for site in shown if site.reason))
    for number, site in enumerate(shown, 2):
        if site.reason:
            lines[number] += f"  {words.letter(reasons.index(printable(site.reason)))}"
    notes = pairs([(f"({words.letter(number)})", f"stayed on the CPU: {reason}") for number, reason in enumerate(reasons)])
    more = sum(site.sums.seconds > 0 for site in sites) - len(shown)
    rest = [f"{more} more call sites: --json names them"] if more > 0 else []
    return [*lines, "", *notes, *rest] if notes or rest else lines


def text(job: Job) -> str:
    """The summary of one process or of a job."""
    job = job.printable()
    lines = [*pairs(words.facts(job)), ""]
    if not job.totals.calls:
        return "\n".join([*lines, "no call of BLAS, LAPACK or FFTW was seen", *filter(None, [words.unseen(job)]), ""])
    lines += [*sums_table("routine", job.routines, job.totals if len(job.routines) > 1 else None), ""]
    if len(job.processes) > 1:
        each = {process.label: process.totals for process in job.processes}
        few = len(each) <= MAX_PROCESSES or job.number > len(job.processes)
        lines += [*sums_table("process", dict(list(each.items())[:MAX_PROCESSES]) if few else words.distribution(job), None), ""]
    return "\n".join([*lines, *pairs(words.conclusions(job)), ""])

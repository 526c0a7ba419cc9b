"""A job as plain text: facts, tables and conclusions. The launcher prints it when a program has ended, so this module imports nothing large."""

from collections.abc import Sequence

from blastoff import columns
from blastoff.job.call_sites import CallSite
from blastoff.job.processes import Job, Sums
from blastoff.job.view import words
from blastoff.job.view.layout import BY_DEVICE, Layout, layout_of, layout_of_processes, layout_of_sites
from blastoff.printable import printable

MAX_PROCESSES = 8
"""Most processes that get a line each. If there are more, their distribution is shown instead."""


def sums_table(title: str, rows: dict[str, Sums], total: Sums | None, layout: Layout[Sums] = BY_DEVICE, width: int | None = None) -> list[str]:
    """A table of sums with a line for the total."""
    cells = [[name, *layout.cells(sums)] for name, sums in rows.items()]
    if total is not None:
        cells.append(["total", *layout.cells(total)])
    return columns.table([title, *layout.headings], cells, layout.dropped, width, total=total is not None)


MAX_SITES = 12
"""Most call sites in a summary."""


def site_lines(sites: Sequence[CallSite], width: int | None = None) -> list[str]:
    """The call sites with the most time; nothing where none is known."""
    shown = [site for site in sites if site.sums.seconds > 0][:MAX_SITES]
    if not shown:
        return []
    reasons = list(dict.fromkeys(printable(site.reason) for site in shown if site.reason))
    letters = [f"  {words.letter(reasons.index(printable(site.reason)))}" if site.reason else "" for site in shown]
    layout = layout_of_sites(sites)
    cells = [[printable(site.name), *map(printable, layout.cells(site))] for site in shown]
    room = None if width is None else width - max(map(len, letters))
    heading, rule, *rows = columns.table(["call site", *layout.headings], cells, layout.dropped, room)
    lines = [heading, rule, *(row.ljust(len(rule)) + letter if letter else row for row, letter in zip(rows, letters, strict=True))]
    notes = columns.pairs([(f"({words.letter(number)})", f"stayed on the CPU: {reason}") for number, reason in enumerate(reasons)], width)
    more = sum(site.sums.seconds > 0 for site in sites) - len(shown)
    rest = [f"{more} more call sites: --json names them"] if more > 0 else []
    return [*lines, "", *notes, *rest] if notes or rest else lines


def text(job: Job, width: int | None = None) -> str:
    """The summary of one process or of a job, in lines of at most `width` characters where no number would be cut."""
    job = job.printable()
    lines = [*columns.pairs(words.facts(job), width), ""]
    if not job.totals.calls:
        counted = columns.pairs([("counted", line) for line in words.counted(job)], width)
        return "\n".join([*lines, "no call of BLAS, LAPACK or FFTW was seen", *counted, *filter(None, [words.unseen(job)]), ""])
    lines += [*sums_table("routine", job.routines, job.totals if len(job.routines) > 1 else None, layout_of(job), width), ""]
    if len(job.processes) > 1:
        each = {process.label: process.totals for process in job.processes}
        few = len(each) <= MAX_PROCESSES or job.number > len(job.processes)
        shown = dict(list(each.items())[:MAX_PROCESSES]) if few else words.distribution(job)
        lines += [*sums_table("process", shown, None, layout_of_processes(job), width), ""]
    return "\n".join([*lines, *columns.pairs(words.conclusions(job), width), ""])

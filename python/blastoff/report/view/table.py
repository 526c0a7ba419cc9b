"""A job as tables on a terminal."""

from rich import box
from rich.console import RenderableType
from rich.table import Table

from blastoff import terminal
from blastoff.report.job import Job, Sums
from blastoff.report.view import words


def sums_table(title: str, rows: dict[str, Sums], total: Sums | None) -> Table:
    """A table of sums with a line for the total."""
    table = Table(box=box.SIMPLE_HEAD, show_footer=total is not None, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), footer_style="bold")
    footers = words.cells(total) if total else [""] * len(words.COLUMNS)
    table.add_column(title, footer="total", no_wrap=True)
    for column, footer in zip(words.COLUMNS, footers, strict=True):
        table.add_column(column, footer=footer, justify="right", no_wrap=True)
    for name, sums in rows.items():
        table.add_row(name, *words.cells(sums))
    return table


def print_job(job: Job) -> None:
    """The summary of one process or of a job."""
    parts: list[RenderableType] = [terminal.pairs(words.facts(job)), ""]
    if not job.totals.calls:
        terminal.show(*parts, "no call of BLAS, LAPACK or FFTW was seen")
        return
    parts += [sums_table("routine", job.routines, job.totals if len(job.routines) > 1 else None), ""]
    if len(job.processes) > 1:
        parts += [sums_table("process", {process.label: process.totals for process in job.processes}, None), ""]
    terminal.show(*parts, terminal.pairs(words.conclusions(job)))

"""Two jobs side by side."""

from collections.abc import Sequence

from blastoff import columns, quantities
from blastoff.job.processes import Job, Sums
from blastoff.job.view import words

COLUMNS = ("calls 1", "calls 2", "offloaded 1", "offloaded 2", "seconds 1", "seconds 2", "ratio 2:1", "moved 1", "moved 2")
DROPPED = (("moved 1", "moved 2"), ("offloaded 1", "offloaded 2"))


def elapsed(job: Job) -> float:
    """Wall time of the job's longest process."""
    return max(process.report["process"]["elapsed_seconds"] for process in job.processes)


def ratio(before: float, after: float) -> str:
    return f"{after / before:.2f}" if before > 0 else "-"


def cells(before: Sums, after: Sums) -> list[str]:
    moved = [quantities.size(sums.bytes_to_device + sums.bytes_from_device) for sums in (before, after)]
    calls = [quantities.count(sums.calls) for sums in (before, after)]
    offloaded = [quantities.count(sums.offloaded) for sums in (before, after)]
    seconds = [quantities.seconds(sums.seconds) for sums in (before, after)]
    return [*calls, *offloaded, *seconds, ratio(before.seconds, after.seconds), *moved]


def rows(before: Job, after: Job) -> list[list[str]]:
    """A row for each routine, and the total. Routines with the most time in either job come first."""
    names = dict.fromkeys([*before.routines, *after.routines])
    most = {name: max(job.routines[name].seconds for job in (before, after) if name in job.routines) for name in names}
    ordered = sorted(names, key=lambda name: -most[name])
    table_rows = [[name, *cells(before.routines.get(name, Sums()), after.routines.get(name, Sums()))] for name in ordered]
    return [*table_rows, ["total", *cells(before.totals, after.totals)]]


def text(before: Job, after: Job, names: Sequence[str], width: int | None = None) -> str:
    """Columns in pairs, numbered as the jobs are."""
    facts = []
    for label, name, job in zip(("1", "2"), names, (before, after), strict=True):
        facts.append((label, f"{name}: {quantities.duration(elapsed(job))}; {words.in_blas(job)}"))
        if words.verdict(job):
            facts.append((label, words.verdict(job)))
    facts.append(
        ("ratio 2:1", f"{ratio(elapsed(before), elapsed(after))} in wall time, {ratio(before.totals.seconds, after.totals.seconds)} in BLAS")
    )
    compared = columns.table(["routine", *COLUMNS], rows(before, after), DROPPED, width, total=True)
    return "\n".join([*columns.pairs(facts, width), "", *compared, ""])

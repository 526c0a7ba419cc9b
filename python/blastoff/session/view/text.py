"""The calls of a part of a session, as plain text."""

from blastoff import quantities
from blastoff.job.view import table
from blastoff.session.counts import Counts


def headline(counts: Counts) -> str:
    """The most important numbers in a line."""
    totals = counts.totals
    if not totals.calls:
        return f"no call of BLAS, LAPACK or FFTW in {quantities.duration(counts.seconds)}"
    return (
        f"{quantities.count(totals.offloaded)} of {quantities.count(totals.calls)} calls offloaded, {100 * counts.offloaded_share:.0f} % of the "
        f"arithmetic; {quantities.duration(totals.seconds)} in calls, {quantities.duration(counts.seconds)} in all"
    )


def reasons(counts: Counts) -> list[tuple[str, str]]:
    """Why calls stayed on the CPU: label and text."""
    return [("on the CPU", f"{quantities.count(calls)} calls: {reason}") for reason, calls in counts.reasons.items()]


def describe(name: str, counts: Counts) -> str:
    """Headline, table by routine, reasons."""
    lines = [f"{name or 'blastoff'}: {headline(counts)}"]
    if counts.routines:
        routines = dict(sorted(counts.routines.items(), key=lambda entry: -entry[1].seconds))
        lines += ["", *table.sums_table("routine", routines, counts.totals if len(routines) > 1 else None)]
    if counts.reasons:
        lines += ["", *table.pairs(reasons(counts))]
    return "\n".join(lines)

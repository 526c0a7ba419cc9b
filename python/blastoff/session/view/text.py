"""The calls of a part of a session, as plain text."""

from blastoff import columns, drivers, quantities
from blastoff.job.processes import Sums
from blastoff.job.view import table
from blastoff.job.view.layout import BY_DEVICE, Layout, without_device
from blastoff.session.counts import Counts
from blastoff.session.rows import longest_first


def headline(counts: Counts) -> str:
    """The most important numbers in a line."""
    totals = counts.totals
    if not totals.calls:
        return f"no call of BLAS, LAPACK or FFTW in {quantities.duration(counts.seconds)}"
    gain = f"; saved about {saved(totals)} of wall time" if (totals.verdict.saved or 0) > 0 else ""
    return (
        f"{quantities.count(totals.offloaded)} of {quantities.counted(totals.calls, 'call')} offloaded, {100 * counts.offloaded_share:.0f} % of the "
        f"arithmetic seen; {quantities.duration(totals.seconds)} in calls, {quantities.duration(counts.seconds)} in all{gain}"
    )


def reasons(counts: Counts) -> list[tuple[str, str]]:
    """Why calls stayed on the CPU: label and text."""
    told = {drivers.NO_DRIVER: drivers.NO_GPU}
    return [("on the CPU", f"{quantities.counted(calls, 'call')}: {told.get(reason, reason)}") for reason, calls in counts.reasons.items()]


def layout_of(counts: Counts) -> Layout[Sums]:
    """The columns of the tables."""
    if counts.totals.offloaded:
        return BY_DEVICE
    return without_device(lambda sums: sums.seconds / counts.seconds if sums.seconds <= counts.seconds > 0 else None)


MAX_LINES = 12


def longest_lines(counts: Counts) -> dict[str, Sums]:
    """The lines of Python whose calls took longest."""
    return dict(list(longest_first(counts.lines).items())[:MAX_LINES])


def line_reasons(counts: Counts, line: str) -> str:
    """Why the calls of a line stayed on the CPU; "" if none did."""
    known = counts.reasons_by_line.get(line, {})
    return ", ".join(f"{quantities.counted(calls, 'call')}: {reason}" for reason, calls in known.items())


def saved(sums: Sums) -> str:
    """Wall time that the device saved, with a minus sign if it lost time; "" if the CPU's time is not known."""
    found = sums.verdict.saved
    return "" if found is None else f"{'-' if found < 0 else ''}{quantities.duration(abs(found))}"


def told_of_lines(counts: Counts) -> dict[str, list[str]]:
    """Further columns of the table of lines: heading, and a text for each line. Columns that would be empty are left out."""
    shown = longest_lines(counts)
    columns = {"saved": [saved(sums) for sums in shown.values()], "stayed on the CPU": [line_reasons(counts, line) for line in shown]}
    return {heading: texts for heading, texts in columns.items() if any(texts)}


def line_table(counts: Counts) -> list[str]:
    """The lines that took longest, each with its saving and its reasons."""
    heading, rule, *rows = table.sums_table("line", longest_lines(counts), None, layout_of(counts))
    for title, texts in told_of_lines(counts).items():
        width = max(map(len, (heading, *rows)))
        heading = f"{heading:<{width}}  {title}"
        rows = [f"{row:<{width}}  {said}".rstrip() for row, said in zip(rows, texts, strict=True)]
    return [heading, "-" * max(len(rule), len(heading)), *rows]


def describe(name: str, counts: Counts) -> str:
    """Headline, tables by routine and by line, reasons."""
    lines = [f"{name or 'blastoff'}: {headline(counts)}"]
    if counts.routines:
        routines = longest_first(counts.routines)
        lines += ["", *table.sums_table("routine", routines, counts.totals if len(routines) > 1 else None, layout_of(counts))]
    if counts.lines:
        lines += ["", *line_table(counts)]
    if counts.reasons:
        lines += ["", *columns.pairs(reasons(counts))]
    return "\n".join(lines)

"""The report as one self-contained page."""

from typing import Any

from blastoff import quantities
from blastoff.job.call_sites import call_sites
from blastoff.job.processes import Job, Sums
from blastoff.job.view import words
from blastoff.report.view import plots
from blastoff.view.page import template

SHOWN_PROGRAMS = 3
"""Most programs that the title of a job names."""


def figures(job: Job) -> list[tuple[str, str, str]]:
    """Heading, explanation and plot of every figure that has data."""
    shown = []
    by_process = {process.label: process.totals for process in job.processes}
    if job.totals.seconds > 0:
        shown.append(("Time by routine", "The time of an offloaded call is spent computing or waiting for data.", plots.times(job.routines)))
        if len(job.processes) > 1:
            shown.append(("Time by process", "Large differences mean load imbalance.", plots.times_of_processes(by_process)))
    if job.totals.offloaded:
        explanation = "Data that is on the device already and unchanged is not moved again."
        shown.append(("Bytes by routine", explanation, plots.traffic(job.routines)))
    if len(job.sizes()) > 1:
        explanation = "The average size is the cube root of the multiplications. Small calls are sampled."
        shown.append(("Time by average size", explanation, plots.sizes(job.sizes())))
    if any(process.timeline for process in job.processes):
        shown.append(("Time line", timeline_explanation(job), plots.timeline(job)))
    if job.refusals():
        shown.append(("Why calls stayed on the CPU", "", plots.refusals(job)))
    return shown


def timeline_explanation(job: Job) -> str:
    """What the time line shows, and what it leaves out."""
    shortest = max((process.report.get("shortest_timed_seconds", 0) for process in job.processes), default=0)
    left_out = f" Calls shorter than {quantities.duration(shortest)} are left out." if shortest else ""
    drawn = len(plots.drawn_in_timeline(job))
    some = f", of {drawn} of the {len(job.processes)} processes" if drawn < len(job.processes) else ""
    return f"The number of threads in BLAS at each moment, on average{some}. Small calls are not in it.{left_out}"


def headline(job: Job) -> list[tuple[str, str]]:
    """The most important numbers: value and meaning."""
    totals = job.totals
    share = totals.offloaded_flops / totals.flops if totals.flops else 0
    numbers = [
        (f"{100 * share:.0f} %", "of the arithmetic seen ran on the device"),
        (quantities.count(totals.offloaded), f"of {quantities.count(totals.calls)} calls offloaded"),
        (quantities.duration(totals.seconds), "in BLAS"),
    ]
    if totals.gflops_offloaded is not None:
        numbers.append((quantities.rate(1e9 * totals.gflops_offloaded), "on the device, transfers included"))
    if totals.operand_reuse:
        numbers.append((f"{quantities.number(totals.operand_reuse)} times", "each byte that came to the device was used there"))
    return numbers


def title(job: Job) -> str:
    """The program, or the programs of a job."""
    names = [text for text, _ in job.distinct(lambda report: report["process"]["program"])]
    more = f" and {len(names) - SHOWN_PROGRAMS} more" if len(names) > SHOWN_PROGRAMS else ""
    return ", ".join(names[:SHOWN_PROGRAMS]) + more


def rows(sums: dict[str, Sums]) -> list[tuple[str, list[str]]]:
    return [(name, words.cells(part)) for name, part in sums.items()]


MAX_SITES = 30


def site_rows(job: Job) -> list[tuple[str, list[str], str]]:
    """Name, cells and reason of the call sites with the most time."""
    shown = [site for site in call_sites(job) if site.sums.seconds > 0][:MAX_SITES]
    return [(site.name, words.site_cells(site), site.reason) for site in shown]


MAX_DECISIONS = 40

DECISION_COLUMNS = ("calls", "seconds", "of one call", "on the CPU", "on the device", "bringing", "missing")


def decision_rows(job: Job) -> list[tuple[str, list[str], str]]:
    """Arguments, numbers and verdict of the decisions about the calls that took longest, if the run had --explain."""
    found = sorted((one for process in job.processes for one in process.report.get("decisions", [])), key=lambda one: -one["seconds"])
    rows = []
    for one in found[:MAX_DECISIONS]:
        predicted = one["predicted"]
        expected = [predicted[name] for name in ("cpu_seconds", "device_seconds", "bringing_seconds")]
        cells = [quantities.count(one["calls"]), quantities.seconds(one["seconds"]), quantities.duration(one["seconds"] / one["calls"])]
        cells += ["-" if value is None else quantities.duration(value) for value in expected]
        cells.append("-" if predicted["missing_bytes"] is None else quantities.size(predicted["missing_bytes"]))
        rows.append((f"{one['routine']} {one['example']}", cells, one["verdict"]))
    return rows


def settings(job: Job) -> list[tuple[str, str]]:
    """Options and the values in force; if processes differ, all their values."""
    names = list(dict.fromkeys(name for process in job.processes for name in process.report["settings"]))
    values: dict[str, Any] = {name: job.distinct(lambda report, name=name: report["settings"].get(name, "")) for name in names}
    return [(name, ", ".join(text for text, _ in values[name])) for name in names]


def render(job: Job) -> str:
    """The page as HTML text, which refers to nothing outside it."""
    several = len(job.processes) > 1
    return template("blastoff.report.view", "report.html.j2").render(
        version=job.processes[0].report["blastoff"],
        program=title(job),
        processes=len(job.processes),
        headline=headline(job),
        facts=words.facts(job),
        conclusions=words.conclusions(job),
        figures=figures(job),
        columns=words.COLUMNS,
        routine_rows=rows(job.routines),
        total=words.cells(job.totals),
        site_columns=words.SITE_COLUMNS,
        site_rows=site_rows(job),
        decision_columns=DECISION_COLUMNS,
        decision_rows=decision_rows(job),
        process_rows=rows({process.label: process.totals for process in job.processes}) if several else [],
        settings=settings(job),
    )

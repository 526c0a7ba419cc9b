"""The report as one self-contained page."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from blastoff import library, options, quantities
from blastoff.errors import CommandError
from blastoff.job import program
from blastoff.job.call_sites import call_sites
from blastoff.job.processes import Job, Sums
from blastoff.job.view import words
from blastoff.job.view.layout import Layout, layout_of, layout_of_processes, layout_of_sites
from blastoff.report.view import plots
from blastoff.view.bars import COMPUTING, CPU, MOVING
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
        shown.append(("Why calls stayed on the CPU", "", plots.refusals(words.refusals(job))))
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
    if not totals.offloaded:
        return headline_without_device(job)
    saved = job.verdict.saved
    wall = f"of wall time {'saved' if saved is None or saved >= 0 else 'lost'}; the run took {quantities.duration(job.wall.seconds)}"
    numbers = [
        ("not known" if saved is None else f"{'' if job.verdict.alike else 'over '}{quantities.duration(abs(saved))}", wall),
        (f"{100 * totals.offloaded_share:.0f} %", "of the arithmetic seen ran on the device"),
        (quantities.count(totals.offloaded), f"of {quantities.counted(totals.calls, 'call')} offloaded"),
    ]
    if totals.gflops_offloaded is not None:
        numbers.append((quantities.rate(1e9 * totals.gflops_offloaded), "on the device, transfers included"))
    if totals.operand_reuse:
        numbers.append((f"{quantities.number(totals.operand_reuse)} times", "each byte that came to the device was used there"))
    return numbers


def headline_without_device(job: Job) -> list[tuple[str, str]]:
    """The numbers of a run that has used no device."""
    totals, share = job.totals, job.share_in_calls
    numbers = [(quantities.duration(job.wall.seconds), "of wall time, without a device")]
    if share is not None:
        numbers.append((f"{100 * share:.0f} %", "of it in the calls that Blastoff sees, at most"))
    if totals.flops and totals.cpu_seconds:
        numbers.append((quantities.rate(totals.flops / totals.cpu_seconds), "on the CPU, in calls"))
    return [*numbers, (quantities.count(totals.calls), "calls")]


class Part(NamedTuple):
    """A part of the run's wall time."""

    name: str
    style: str
    """Its class in the page's style: a colour."""
    percent: float
    duration: str


LEAST_PERCENT = 0.1
"""Parts of the wall time below this are left out."""


def parts_of_wall_time(job: Job) -> list[Part]:
    """Where the wall time went. Time in calls is divided as the seconds summed over threads are. Empty where it is not known."""
    wall, totals = job.wall, job.totals
    if job.has_own_clock or not wall.seconds or job.share_in_calls is None:
        return []
    moving = min(totals.device_seconds, totals.transfer_seconds)
    in_calls = wall.in_calls / totals.seconds if totals.seconds else 0.0
    seconds = {
        ("device, computing", "computing"): (totals.device_seconds - moving) * in_calls,
        ("device, waiting for data", "moving"): moving * in_calls,
        ("BLAS on the CPU", "cpu"): totals.cpu_seconds * in_calls,
        ("Blastoff's own start and end", "own"): max(0.0, wall.seconds - wall.in_calls - wall.outside),
        ("outside the calls that Blastoff sees", "outside"): wall.outside,
    }
    parts = [Part(name, style, 100 * value / wall.seconds, quantities.duration(value)) for (name, style), value in seconds.items()]
    return [part for part in parts if part.percent >= LEAST_PERCENT]


def title(job: Job) -> str:
    """The program, or the programs of a job."""
    names = [text for text, _ in job.distinct(lambda report: program.name(report["process"]))]
    more = f" and {len(names) - SHOWN_PROGRAMS} more" if len(names) > SHOWN_PROGRAMS else ""
    return ", ".join(names[:SHOWN_PROGRAMS]) + more


def rows(layout: Layout[Sums], sums: dict[str, Sums]) -> list[tuple[str, list[str]]]:
    return [(name, layout.cells(part)) for name, part in sums.items()]


MAX_SITES = 30


def site_table(job: Job) -> tuple[Sequence[str], list[tuple[str, list[str], str]]]:
    """The headings, and name, cells and reason of the call sites with the most time."""
    shown = [site for site in call_sites(job) if site.sums.seconds > 0][:MAX_SITES]
    layout = layout_of_sites(shown)
    return layout.headings, [(site.name, layout.cells(site), site.reason) for site in shown]


MAX_DECISIONS = 40

DECISION_COLUMNS = ("calls", "seconds", "of one call", "on the CPU", "on the device", "bringing", "missing", "stays")


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
        cells.append(quantities.size(one["bytes_left"]) if "bytes_left" in one else "-")
        rows.append((f"{one['routine']} {one['example']}", cells, one["verdict"]))
    return rows


def settings(job: Job) -> list[tuple[str, str]]:
    """Options whose values differ from the defaults, as far as those are known, and the values in force; if processes differ, all their values."""
    names = list(dict.fromkeys(name for process in job.processes for name in process.report["settings"]))
    values: dict[str, Any] = {name: [text for text, _ in job.distinct(lambda report, name=name: report["settings"].get(name, ""))] for name in names}
    known = defaults()
    return [(name, ", ".join(values[name])) for name in names if values[name] != [known.get(name)]]


def defaults() -> dict[str, str]:
    """The default of each option; empty where there is no library to ask, since a report may be read anywhere."""
    try:
        return {option.name: option.default for option in options.read_table(library.find_library())}
    except CommandError:
        return {}


def render(job: Job) -> str:
    """The page as HTML text, which refers to nothing outside it."""
    several = len(job.processes) > 1
    routines, processes = layout_of(job), layout_of_processes(job)
    site_columns, site_rows = site_table(job)
    return template("blastoff.report.view", "report.html.j2").render(
        version=job.processes[0].report["blastoff"],
        program=title(job),
        processes=len(job.processes),
        headline=headline(job),
        parts=parts_of_wall_time(job),
        colours={"computing": COMPUTING, "moving": MOVING, "cpu": CPU},
        facts=words.facts(job),
        conclusions=words.conclusions(job),
        figures=figures(job),
        routine_columns=routines.headings,
        routine_rows=rows(routines, job.routines),
        total=routines.cells(job.totals),
        site_columns=site_columns,
        site_rows=site_rows,
        decision_columns=DECISION_COLUMNS,
        decision_rows=decision_rows(job),
        process_columns=processes.headings,
        process_rows=rows(processes, {process.label: process.totals for process in job.processes}) if several else [],
        settings=settings(job),
    )

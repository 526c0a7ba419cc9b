"""Reports and findings as tables on a terminal."""

import shutil

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from blastoff import quantities
from blastoff.reports import Job, Sums

NEEDED_WIDTH = 118
COLUMNS = ("calls", "offloaded", "CPU s", "device s", "moving s", "GFLOP/s", "to device", "from device", "reused", "reuse")


def show(*parts: RenderableType) -> None:
    """Prints to standard output. Lines are never narrower than the tables need: better wrapped by the terminal than cut."""
    width = max(shutil.get_terminal_size().columns, NEEDED_WIDTH)
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(*parts, sep="\n")
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def cells(sums: Sums) -> list[str]:
    """One row of numbers, in the order of COLUMNS."""
    rate = sums.gflops_offloaded
    return [
        quantities.count(sums.calls),
        quantities.count(sums.offloaded),
        quantities.seconds(sums.cpu_seconds),
        quantities.seconds(sums.device_seconds),
        quantities.seconds(sums.transfer_seconds),
        "-" if rate is None else quantities.number(rate),
        quantities.size(sums.bytes_to_device),
        quantities.size(sums.bytes_from_device),
        quantities.size(sums.bytes_reused),
        f"{quantities.number(sums.operand_reuse)}x" if sums.bytes_to_device else "-",
    ]


def sums_table(title: str, rows: dict[str, Sums], total: Sums | None) -> Table:
    """A table of sums with a line for the total."""
    table = Table(box=box.SIMPLE_HEAD, show_footer=total is not None, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), footer_style="bold")
    footers = cells(total) if total else [""] * len(COLUMNS)
    table.add_column(title, footer="total", no_wrap=True)
    for column, footer in zip(COLUMNS, footers, strict=True):
        table.add_column(column, footer=footer, justify="right", no_wrap=True)
    for name, sums in rows.items():
        table.add_row(name, *cells(sums))
    return table


def describe_device(report: dict) -> str:
    """The device of one process in a line."""
    device = report["device"]
    name = device["name"] or device["kind"]
    software = f" ({device['software']})" if device["software"] else ""
    state = "" if device["state"] == "working" else f", {device['state']}"
    return f"{name}{software}{state}"


def describe_policy(report: dict) -> str:
    """The policy of one process in a line, and why it is not the one requested."""
    policy = report["policy"]
    if report["placement"] is not None:
        how = f" by moving pages to NUMA node {report['placement']['node']}"
    else:
        how = f", writes tracked by {policy['tracker']}" if policy["tracker"] not in ("", "none") else ""
    instead = f" instead of {policy['requested']}: {policy['reason']}" if policy["reason"] else ""
    return f"{policy['in_force']}{how}{instead}"


def describe_run(report: dict) -> str:
    """What ran, in a line."""
    return report["process"]["command_line"] or report["process"]["program"]


def facts(job: Job) -> list[tuple[str, str]]:
    """What is said about the run besides its sums: label and text."""
    lines = []
    descriptions = (("program", describe_run), ("device", describe_device), ("policy", describe_policy))
    for label, describe in descriptions:
        for text, processes in job.distinct(describe):
            shared = "" if processes == len(job.processes) else f"  ({processes} of {len(job.processes)} processes)"
            lines.append((label, f"{text}{shared}"))
    elapsed = quantities.duration(max(process.report["process"]["elapsed_seconds"] for process in job.processes))
    in_blas = quantities.duration(job.totals.seconds)
    if len(job.processes) > 1:
        lines.append(("processes", str(len(job.processes))))
        lines.append(("time", f"{elapsed} for the longest process; {in_blas} in BLAS, all processes and threads together"))
    else:
        lines.append(("time", f"{elapsed}; {in_blas} in BLAS, all threads together"))
    return lines


def conclusions(job: Job) -> list[tuple[str, str]]:
    """What follows the table: reuse, refusals, copied operands, verification."""
    lines = []
    if job.totals.bytes_to_device:
        lines.append(("reuse", f"every byte brought to the device was used {quantities.number(job.totals.operand_reuse)} times there"))
    placed, left = job.placed()
    if placed or left:
        lines.append(("placed", f"{quantities.size(placed)} on the device's NUMA node"))
    lines.extend(("placed", f"{quantities.size(count)} stay elsewhere: {reason}") for reason, count in left.items())
    for label, reasons in (("on the CPU", job.refusals()), ("copied", job.copied())):
        lines.extend((label, f"{quantities.count(calls)} calls: {reason}") for reason, calls in reasons.items())
    checked = job.verification()
    if checked["checked"] or checked["stale_pages"]:
        worst = f"worst relative error {checked['worst_relative_error']:.1e}"
        lines.append(("verified", f"{checked['checked']} calls, {worst}, {checked['stale_pages']} stale pages"))
    return lines


def pairs(lines: list[tuple[str, str]]) -> Table:
    """Labels and texts; a label that repeats is written once."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    previous = None
    for label, text in lines:
        table.add_row("" if label == previous else label, Text(text))
        previous = label
    return table


def print_job(job: Job) -> None:
    """The summary of one process or of a job."""
    parts: list[RenderableType] = [pairs(facts(job)), ""]
    if not job.totals.calls:
        show(*parts, "no level-3 BLAS call was seen")
        return
    parts += [sums_table("routine", job.routines, job.totals if len(job.routines) > 1 else None), ""]
    if len(job.processes) > 1:
        parts += [sums_table("process", {process.label: process.totals for process in job.processes}, None), ""]
    show(*parts, pairs(conclusions(job)))

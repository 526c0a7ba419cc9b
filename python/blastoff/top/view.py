"""A moment of a run as lines of text."""

from collections.abc import Iterable

from blastoff import quantities
from blastoff.job import runs
from blastoff.job.processes import Process, Sums
from blastoff.top.frame import Frame, share

COLUMNS = ("calls", "offloaded", "share", "now", "CPU s", "device s", "to device", "from device")
MAX_ROWS = 12
MAX_REASONS = 6


def rate(flops_per_second: float | None) -> str:
    return "-" if flops_per_second is None else quantities.rate(flops_per_second)


def percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def cells(sums: Sums, now: float | None) -> list[str]:
    """One row of numbers, in the order of COLUMNS."""
    return [
        quantities.count(sums.calls),
        quantities.count(sums.offloaded),
        percent(share(sums)),
        rate(now),
        quantities.seconds(sums.cpu_seconds),
        quantities.seconds(sums.device_seconds),
        quantities.size(sums.bytes_to_device),
        quantities.size(sums.bytes_from_device),
    ]


def table(title: str, rows: list[tuple[str, list[str]]]) -> list[str]:
    """Rows under their headings. If there are too many rows, only the first ones."""
    shown = [(title, list(COLUMNS)), *rows[:MAX_ROWS]]
    widths = [max(len(row[1][place]) for row in shown) for place in range(len(COLUMNS))]
    width = max(len(name) for name, _ in shown)
    lines = [f"{name:<{width}}  " + "  ".join(f"{cell:>{size}}" for cell, size in zip(row, widths, strict=True)) for name, row in shown]
    return [*lines, *([f"... and {len(rows) - MAX_ROWS} more"] if len(rows) > MAX_ROWS else [])]


def process_name(process: Process) -> str:
    about = process.report["process"]
    if process.number > 1:
        return f"{process.number} of {about['program'][:16]} ({process.ended})"
    rank = "" if about["rank"] is None else f" rank {about['rank']}"
    state = "" if process.ended == runs.RUNNING else f" ({process.ended})"
    return f"{about['pid']}{rank} {about['program'][:16]}{state}"


def numbers(processes: Iterable[Process]) -> int:
    return sum(process.number for process in processes)


def headline(frame: Frame) -> list[str]:
    """Where the arithmetic runs, and what moves."""
    totals = frame.job.totals
    calls = f"{quantities.count(totals.offloaded)} of {quantities.count(totals.calls)} calls"
    to_device, from_device = frame.rate("bytes_to_device"), frame.rate("bytes_from_device")
    moving = "" if to_device is None or from_device is None else f" ({quantities.size(to_device + from_device)}/s now)"
    moved = f"{quantities.size(totals.bytes_to_device)} to the device, {quantities.size(totals.bytes_from_device)} from it{moving}"
    return [
        f"on the device  {percent(share(totals))} of the arithmetic seen, {calls}; {rate(frame.rate('flops'))} now, CPU and device together",
        f"moved          {moved}; {quantities.size(frame.device_memory)} of device memory held",
    ]


def lines(frame: Frame) -> list[str]:
    """The whole moment."""
    job = frame.job
    elapsed = max((process.report["process"]["elapsed_seconds"] for process in frame.processes), default=0.0)
    title = (
        f"blastoff top: {numbers(frame.processes)} processes, {frame.running} running, {numbers(frame.calling)} with calls, "
        f"{quantities.duration(elapsed)}"
    )
    if not job.processes:
        return [title, "no call of BLAS, LAPACK or FFTW so far"]
    routines = [(name, cells(sums, frame.routine_rate(name))) for name, sums in job.routines.items()]
    busiest = sorted(job.processes, key=lambda process: (process.ended != runs.RUNNING, -process.totals.seconds))
    processes = [(process_name(process), cells(process.totals, frame.rate("flops", process))) for process in busiest]
    reasons = [f"{quantities.count(calls):>12}  {reason}" for reason, calls in list(job.refusals().items())[:MAX_REASONS]]
    refused = ["", "stayed on the CPU", *reasons] if reasons else []
    return [title, *headline(frame), "", *table("routine", routines), "", *table("process", processes), *refused]


def line(frame: Frame) -> str:
    """The moment in one line, for a file or a pipe."""
    totals = frame.job.totals
    moved = quantities.size(totals.bytes_to_device + totals.bytes_from_device)
    calls = f"{quantities.count(totals.offloaded)} of {quantities.count(totals.calls)} calls offloaded"
    return f"{frame.running} running, {calls}, {percent(share(totals))} of the arithmetic seen, {rate(frame.rate('flops'))} now, {moved} moved"

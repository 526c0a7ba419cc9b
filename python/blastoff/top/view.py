"""A moment of a run as lines of text."""

from collections.abc import Iterable, Sequence

from blastoff import columns, quantities
from blastoff.job import program, runs
from blastoff.job.processes import Process, Sums
from blastoff.job.view import words
from blastoff.top.frame import Frame, share

COLUMNS = ("calls", "offloaded", "share", "now", "CPU s", "device s", "to device", "from device")
DROPPED = ("from device", "to device", "CPU s", "device s", "offloaded", "calls")
"""Columns that are left out on a narrow terminal, the first one first."""
MAX_ROWS = 12
MAX_REASONS = 6

Row = tuple[str, list[str]]


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


def first(lines: Sequence[str], most: int) -> list[str]:
    """The first lines; if there are more than `most`, the last one says how many are left out."""
    if len(lines) <= most:
        return list(lines)
    shown = max(0, most - 1)
    return [*lines[:shown], f"... and {len(lines) - shown} more"]


def table(title: str, rows: Sequence[Row], most: int, width: int | None) -> list[str]:
    """The first rows under their headings."""
    heading, _, *lines = columns.table([title, *COLUMNS], [[name, *numbers] for name, numbers in rows], DROPPED, width)
    return [heading, *first(lines, most)]


def process_name(process: Process) -> str:
    about = process.report["process"]
    if process.number > 1:
        return f"{process.number} of {program.name(about)} ({process.ended})"
    rank = "" if about["rank"] is None else f" rank {about['rank']}"
    state = "" if process.ended == runs.RUNNING else f" ({process.ended})"
    return f"{about['pid']}{rank} {program.name(about)}{state}"


def numbers(processes: Iterable[Process]) -> int:
    return sum(process.number for process in processes)


def headline(frame: Frame) -> list[tuple[str, str]]:
    """Where the arithmetic runs, and what moves: label and text."""
    totals = frame.job.totals
    calls = f"{quantities.count(totals.offloaded)} of {quantities.counted(totals.calls, 'call')}"
    to_device, from_device = frame.rate("bytes_to_device"), frame.rate("bytes_from_device")
    moving = "" if to_device is None or from_device is None else f" ({quantities.size(to_device + from_device)}/s now)"
    moved = f"{quantities.size(totals.bytes_to_device)} to the device, {quantities.size(totals.bytes_from_device)} from it{moving}"
    shares = f"{percent(share(totals))} of the arithmetic seen, {calls}; {rate(frame.rate('flops'))} now, CPU and device together"
    told = [("on the device", shares), ("moved", f"{moved}; {quantities.size(frame.device_memory)} of device memory held")]
    return [*told, ("results", words.results(frame.job))] if totals.bytes_left else told


def shares_of(room: int, wanted: Sequence[int]) -> list[int]:
    """Divides lines among parts: none gets more than it wants, and parts that want more share equally what is left."""
    given = [0] * len(wanted)
    for _ in range(max(0, room)):
        lacking = [place for place, want in enumerate(wanted) if given[place] < want]
        if not lacking:
            break
        given[min(lacking, key=lambda place: given[place])] += 1
    return given


def lines(frame: Frame, width: int | None = None, height: int | None = None) -> list[str]:
    """The whole moment, in at most `height` lines of at most `width` characters."""
    job = frame.job
    elapsed = max((process.report["process"]["elapsed_seconds"] for process in frame.processes), default=0.0)
    count = numbers(frame.processes)
    title = (
        f"blastoff top: {count} process{'es' * (count != 1)}, {frame.running} running, {numbers(frame.calling)} with calls, "
        f"{quantities.duration(elapsed)}"
    )
    if not job.processes:
        return [title, "no call of BLAS, LAPACK or FFTW so far"]
    routines = [(name, cells(sums, frame.routine_rate(name))) for name, sums in job.routines.items()]
    busiest = sorted(job.processes, key=lambda process: (process.ended != runs.RUNNING, -process.totals.seconds))
    processes = [(process_name(process), cells(process.totals, frame.rate("flops", process))) for process in busiest]
    reasons = columns.pairs([("on the CPU", words.stayed(reason, *told)) for reason, told in words.refusals(job).items()], width)
    top = [title, *columns.pairs(headline(frame), width)]
    wanted = [min(len(routines), MAX_ROWS), min(len(processes), MAX_ROWS), min(len(reasons), MAX_REASONS)]
    if height is not None:
        between = 5 if reasons else 4  # blank lines and headings
        wanted = shares_of(height - len(top) - between, [len(routines), len(processes), len(reasons)])
    tables = [("routine", routines, wanted[0]), ("process", processes, wanted[1])]
    shown = [line for name, rows, most in tables for line in ("", *table(name, rows, most, width))]
    return [*top, *shown, *(["", *first(reasons, wanted[2])] if reasons else [])]


def line(frame: Frame) -> str:
    """The moment in one line, for a file or a pipe."""
    totals = frame.job.totals
    moved = quantities.size(totals.bytes_to_device + totals.bytes_from_device)
    calls = f"{quantities.count(totals.offloaded)} of {quantities.counted(totals.calls, 'call')} offloaded"
    return f"{frame.running} running, {calls}, {percent(share(totals))} of the arithmetic seen, {rate(frame.rate('flops'))} now, {moved} moved"

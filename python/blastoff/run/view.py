"""The text at the end of a run: its summary, or a line that says why there is nothing to sum up."""

import re
import shlex
from collections.abc import Sequence

from blastoff import drivers, library, quantities
from blastoff.errors import CommandError
from blastoff.job.processes import NOT_READY, Process, in_order
from blastoff.job.view import table
from blastoff.job.view.words import refusals, unseen
from blastoff.printable import printable

BELOW_THRESHOLD = "average size below the threshold"
ALWAYS_TIMED = 64
"""Average size below which only a sample of the calls is timed (src/report/recorder.h)."""
LEVEL_2 = re.compile(r"[sd](gemv|symv)|[cz](gemv|hemv)")
MAX_REASONS = 3
INDENT = "  "


def nothing_observed(command: Sequence[str]) -> str:
    """The line for a run without processes."""
    try:
        library.version()
    except CommandError as error:  # it does nothing with this C library
        return str(error)
    return f"no process of this run could be observed: try blastoff inspect {printable(shlex.join(command))}"


def nothing_called(processes: Sequence[Process], command: Sequence[str]) -> str:
    """The line for a run without calls."""
    seen = [process.report["interception"] for process in processes]
    objects = max((part["objects_seen"] for part in seen), default=0)
    functions = max((part["functions_found"] for part in seen), default=0)
    if not processes:
        return nothing_observed(command)
    if missed := unseen(in_order(processes).printable()):
        return f"no call was seen that Blastoff takes; {missed}"
    if functions:
        return f"{quantities.counted(functions, 'function')} of BLAS, LAPACK or FFTW found, but no call of one that can be offloaded"
    where = f"no BLAS found in {objects} objects" if objects else "no call of BLAS, LAPACK or FFTW was seen"
    return f"{where}: try blastoff inspect {printable(shlex.join(command))}"


def nothing_offloaded(processes: Sequence[Process]) -> str:
    """The line for a run whose calls all stayed on the CPU."""
    job = in_order(processes).printable()
    missed = f"; {unseen(job)}" if unseen(job) else ""
    calls = quantities.counted(job.totals.calls, "call")
    if all(LEVEL_2.fullmatch(name) for name in job.routines):
        return f"level-1 and level-2 calls only ({calls} of {', '.join(job.routines)}){missed}"
    reasons = refusals(job)
    if set(reasons) == {BELOW_THRESHOLD}:
        largest = round(max(process.report["largest_small_size"] for process in processes))
        size = f"largest average size {largest}" if largest >= ALWAYS_TIMED else f"all average sizes below {ALWAYS_TIMED}"
        return f"{calls}, all below the threshold; {size}{missed}"
    wants_gpu = any(process.report["device"]["kind"] == "cuda" for process in processes)
    if NOT_READY in reasons and wants_gpu and not drivers.is_present():
        return f"{calls}, none offloaded; {drivers.NO_GPU}{missed}"
    told = [f"{reason} ({quantities.count(count)})" for reason, (count, _) in list(reasons.items())[:MAX_REASONS]]
    return f"{calls}, none offloaded: {', '.join(told)}{missed}"


def concerns_a_device(process: Process) -> bool:
    """Whether the process used a device, wanted to, or was told to use none."""
    device = process.report["device"]
    return bool(process.totals.offloaded) or device["used"] or device["kind"] == "none" or device["state"] not in ("", "not started")


def words(processes: Sequence[Process], command: Sequence[str], summary: str, width: int | None = None) -> str:
    """What to print on stderr; "" for nothing. `summary` is the value of --summary, `width` that of the terminal, if there is one."""
    calling = [process for process in processes if process.worked]
    number = sum(process.number for process in processes)
    lacking = [process for process in processes if process.report["process"]["incomplete"]]
    if lacking and summary != "never":
        reasons = ", ".join(sorted({process.report["process"].get("incomplete_reason", "") for process in lacking} - {""}))
        incomplete = sum(process.number for process in lacking)
        why = f" ({reasons})" if reasons else ""
        return f"blastoff: no room for the counters of {incomplete} of {number} processes{why}: each reports for itself if it ends by exit\n"
    if summary == "never" or (summary == "each" and calling):
        return ""
    if not calling:
        return f"blastoff: {nothing_called(processes, command)}\n"
    if summary == "always" or any(concerns_a_device(process) or process.counted for process in calling):
        lines = table.text(in_order(calling), None if width is None else width - len(INDENT)).splitlines()
        return f"blastoff {library.version()}\n" + "".join(f"{INDENT}{line}".rstrip() + "\n" for line in lines)
    return f"blastoff: {nothing_offloaded(calling)}\n"

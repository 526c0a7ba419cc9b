"""The answer of `blastoff try` in words."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from blastoff import columns, quantities
from blastoff.predict.view import words
from blastoff.printable import printable
from blastoff.replay.prediction import helps

STDERR = 2
MOST_REASONS = 3
CLEAR = 1.1
"""A speedup below this is called small: predictions are not more accurate."""
NOTICEABLE = 0.05
"""Share of the time outside calls from which on it is said to stand in the way."""


def headline(machine: Mapping[str, Any]) -> str:
    before, first = quantities.duration(machine["traced_seconds"]), quantities.duration(machine["predicted_seconds"])
    if words.is_too_small(machine):
        return f"Too small for a GPU: {words.small_calls(machine)}."
    if not helps(machine):
        return f"A GPU would not help: {before} would be {first} ({words.times(machine['speedup'])}) on {machine['label']}."
    helped = "A GPU would help" if max(machine["speedup"], machine["later_speedup"]) >= CLEAR else "A GPU would hardly help"
    would = f"{before} would become {first} ({words.times(machine['speedup'])})"
    if not words.gains_later(machine):
        return f"{helped}: {would}, in the first run and in later ones."
    later = f"{quantities.duration(machine['later_seconds'])} ({words.times(machine['later_speedup'])}) in later ones"
    return f"{helped}: {would} in the first run, {later}."


def others(machines: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{each['label']} {words.times(each['later_speedup'])} ({each['model']})" for each in machines)


def obstacles(machine: Mapping[str, Any], processes: int) -> list[str]:
    """What keeps the program from ending sooner."""
    whole, totals = machine["traced_seconds"], machine["totals"]
    # Seconds in calls are those of all threads and processes, so this is the least.
    outside = whole - (totals["traced_seconds"] + machine["small_seconds"] + machine["distributed_seconds"]) / processes
    lines = []
    if outside >= NOTICEABLE * whole:
        share = f"{quantities.duration(outside)} ({100 * outside / whole:.0f} %)"
        lines.append(f"{share} are outside the calls of BLAS, LAPACK and FFTW: no GPU changes that")
    if machine["distributed_calls"]:
        lines.append(f"what GPUs gain by making {words.distributed(machine)} as wholes, which the traces only count, is not predicted")
    if moving := totals["moving_seconds"]:
        lines.append(f"calls on the GPU wait {quantities.duration(moving)} for data")
    refused = sorted(machine["refusals"], key=lambda row: -row["calls"])
    lines += [f"on the CPU: {words.refused(machine, row)}" for row in refused[:MOST_REASONS]]
    return lines + [f"copied at every call: {words.counted(row)}" for row in machine["copied"][:MOST_REASONS]]


def facts(prediction: Mapping[str, Any]) -> list[tuple[str, str]]:
    best, *rest = prediction["machines"]
    processes = len(prediction["traces"])
    totals = best["totals"]
    lines = [("best", f"{best['label']}: {best['name']} ({best['model']})")]
    if helps(best):
        calls = f"{quantities.count(round(totals['on_device']))} of {quantities.count(round(totals['calls']))} calls"
        lines.append(("on the GPU", calls))
    if rest:
        lines.append(("others", others(rest)))
    if processes > 1:
        lines.append(("processes", f"{processes}, taken to run at the same time and to share one GPU"))
    lines += [("in the way", text) for text in obstacles(best, processes)]
    lines.append(("basis", f"{words.cpu_words(best, prediction['traces'][0])}; computed from machine models, not measured"))
    return lines


def text(prediction: Mapping[str, Any] | None, program: Sequence[str], status: int) -> str:
    """The answer in a few lines. None stands for a program without calls, `status` is the program's."""
    if prediction is None and status:
        return f"blastoff: the program ended with status {status}, and no call of BLAS, LAPACK or FFTW was seen"
    if prediction is None:
        return f"blastoff: no call of BLAS, LAPACK or FFTW was seen, so a GPU would not help: try blastoff inspect {printable(shlex.join(program))}"
    best = prediction["machines"][0]
    lines = [] if words.is_too_small(best) else columns.pairs(facts(prediction), _width())
    return "\n".join([f"blastoff: {headline(best)}", *(f"  {line}" for line in lines)])


def _width() -> int | None:
    width = columns.terminal_width(STDERR)
    return None if width is None else width - len("  ")

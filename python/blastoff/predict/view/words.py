"""A prediction in words and in the cells of tables."""

from collections.abc import Mapping
from typing import Any

from blastoff import quantities
from blastoff.replay.prediction import WORTH_NAMING, helps

MACHINE_COLUMNS = ("machine", "model", "first run", "gain", "later", "gain", "CPU s", "device s", "moving s", "offloaded", "policy", "least size")
ROUTINE_COLUMNS = ("routine", "calls", "traced s", "CPU s", "device s", "moving s", "offloaded", "to device", "from device", "least size")
DISTRIBUTED_COLUMNS = ("call of all ranks", "grid", "calls", "made for all", "on GPUs", "traced s", "predicted s")
DROPPED_DISTRIBUTED_COLUMNS = ("on GPUs", "grid")
DROPPED_MACHINE_COLUMNS = ("least size", "moving s", "policy", "device s", "CPU s")
DROPPED_ROUTINE_COLUMNS = ("from device", "to device", "least size", "moving s", "traced s")
"""Columns that are left out on a narrow terminal, the first one first."""


def times(ratio: float) -> str:
    return f"{ratio:.1f}x" if ratio >= 1.05 or ratio < 0.95 else f"{ratio:.2f}x"


def answer(prediction: Mapping[str, Any]) -> str:
    """Whether a GPU node would help, which one, how much, and what is left out."""
    calls = prediction["machines"][0]["distributed_calls"]
    left_out = "; what GPUs gain by making the distributed calls as wholes that a trace only counts is not predicted" if calls else ""
    return node(prediction) + left_out


def node(prediction: Mapping[str, Any]) -> str:
    """One line that says whether a GPU node would help, which one, and how much."""
    machines = prediction["machines"]
    best = machines[0]
    if not best["totals"]["calls"] and not best["small_calls"]:
        return "nothing to predict: the trace holds no call"
    if is_too_small(best):
        return f"too small for a GPU: {small_calls(best)}"
    before, after = quantities.duration(best["traced_seconds"]), quantities.duration(best["predicted_seconds"])
    among = f"; best of {len(machines)} machines" if len(machines) > 1 else ""
    if not helps(best):
        several = len(machines) > 1
        none = f"none of {len(machines)} machines would help" if several else f"{best['label']} would not help"
        return f"{none}: {before} would be {after} ({times(best['speedup'])}){' on ' + best['label'] if several else ''}"
    moving = quantities.duration(best["totals"]["moving_seconds"])
    later = f", {quantities.duration(best['later_seconds'])} in later runs ({times(best['later_speedup'])})" if gains_later(best) else ""
    return f"{best['label']}: {before} would become {after} ({times(best['speedup'])}), of which {moving} moving{later}{among}"


def gains_later(machine: Mapping[str, Any]) -> bool:
    """Whether later runs are clearly shorter than the first."""
    return machine["later_seconds"] * WORTH_NAMING <= machine["predicted_seconds"]


def is_too_small(machine: Mapping[str, Any]) -> bool:
    """Whether the trace holds no call that was large enough to be recorded."""
    return not machine["totals"]["calls"]


def small_calls(machine: Mapping[str, Any]) -> str:
    took = f" ({quantities.duration(machine['small_seconds'])} of {quantities.duration(machine['traced_seconds'])})"
    return f"all {quantities.count(machine['small_calls'])} calls{took if machine['complete'] else ''} were below the threshold of the trace"


def size(least: float) -> str:
    return f"{least:.0f}" if least > 0 else "-"


def machine_cells(machine: Mapping[str, Any]) -> list[str]:
    totals = machine["totals"]
    share = f"{100 * totals['on_device'] / totals['calls']:.0f} %" if totals["calls"] else "-"
    return [
        machine["label"],
        machine["model"],
        quantities.duration(machine["predicted_seconds"]),
        times(machine["speedup"]),
        quantities.duration(machine["later_seconds"]),
        times(machine["later_speedup"]),
        quantities.seconds(totals["cpu_seconds"]),
        quantities.seconds(totals["device_seconds"]),
        quantities.seconds(totals["moving_seconds"]),
        share,
        machine["policy"],
        size(totals["min_size"]),
    ]


def routine_cells(routine: Mapping[str, Any]) -> list[str]:
    return [
        routine["name"],
        quantities.count(round(routine["calls"])),
        quantities.seconds(routine["traced_seconds"]),
        quantities.seconds(routine["cpu_seconds"]),
        quantities.seconds(routine["device_seconds"]),
        quantities.seconds(routine["moving_seconds"]),
        quantities.count(round(routine["on_device"])),
        quantities.size(routine["bytes_to_device"]),
        quantities.size(routine["bytes_from_device"]),
        size(routine["min_size"]),
    ]


def distributed_cells(call: Mapping[str, Any]) -> list[str]:
    return [
        f"{call['name']} {call['arguments']}",
        "x".join(map(str, call["grid"])),
        quantities.count(round(call["calls"])),
        quantities.count(round(call["gathered"])),
        str(call["gpus"] if call["gathered"] else 0),
        quantities.seconds(call["traced_seconds"]),
        quantities.seconds(call["predicted_seconds"]),
    ]


def cpu_words(machine: Mapping[str, Any], trace: Mapping[str, Any]) -> str:
    threads = f"{trace['threads']} thread{'s' * (trace['threads'] != 1)}"
    match machine["cpu"]:
        case "scaled":
            return f"the CPU's seconds are scaled from {trace['cpu']} to the machine's own CPU"
        case "simulated":
            return "the CPU's seconds are the simulated ones"
    return f"the CPU's seconds are those of the trace ({trace['cpu'] or 'an unnamed CPU'}, {threads})"


def facts(prediction: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The basis of the figures for the best machine."""
    best, trace = prediction["machines"][0], prediction["traces"][0]
    count = len(prediction["traces"])
    lines = [("traced", f"{trace['command_line'] or trace['program']} on {trace['host']}{f', {count} processes' if count > 1 else ''}")]
    lines.append(("layout", f"GPUs of each process: {prediction['gpus']}; processes that share one: {prediction['ranks_per_gpu']}"))
    lines.append(("CPU", cpu_words(best, trace)))
    found = {"samples": "a look at 64 elements of each matrix", "uffd": "the kernel's tracking"}.get(trace["writes"], trace["writes"])
    lines.append(("writes", f"by the program, found by {found}"))
    lines += remarks(best)
    least = "by the machine model" if best["min_size"] is None else f"--min-size {best['min_size']}"
    lines.append(("threshold", f"{least}; the trace holds calls from {trace['min_size']} on"))
    if best["opening_seconds"]:
        lines.append(("device", f"open after {quantities.duration(best['opening_seconds'])}; {peak(best)}"))
    lines += [("on the CPU", refused(best, each)) for each in best["refusals"]]
    lines += [("copied", counted(each)) for each in best["copied"]]
    return lines


def remarks(machine: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts that the trace does not tell."""
    lines = []
    if machine["unknown_writes"]:
        unknown = quantities.count(machine["unknown_writes"])
        assumed = "assumed to be those seen before other calls from the same place"
        lines.append(("writes", f"tracing did not look for them before {unknown} calls, to save time: {assumed}"))
    if machine["small_calls"]:
        small = f"{quantities.counted(machine['small_calls'], 'call')}, {quantities.duration(machine['small_seconds'])}"
        lines.append(("small", f"{small} below the threshold of the trace: counted as traced"))
    if machine["distributed_calls"]:
        own = f"{quantities.duration(machine['distributed_seconds'])} of their own counted as traced"
        inside = "replayed as the calls that each rank makes inside them"
        lines.append(("distributed", f"{distributed(machine)}, which the traces only count: {inside}; {own}"))
    if any(call["by_several"] for call in machine["distributed"]):
        lines.append(("distributed", "calls on several GPUs are computed by a formula from the rates of one GPU and its link: not measured"))
    if machine["unread_calls"]:
        lines.append(("trace", f"{quantities.counted(machine['unread_calls'], 'call')} of unknown routines left out"))
    if not machine["complete"]:
        lines.append(("trace", "a process was killed: what it did after its last recorded call is not known"))
    return lines


def distributed(machine: Mapping[str, Any]) -> str:
    return f"{quantities.counted(machine['distributed_calls'], 'call')} of ScaLAPACK or the PBLAS"


def counted(row: Mapping[str, Any]) -> str:
    """The number of calls, and the reason."""
    calls = round(row["calls"])
    return f"{quantities.count(calls)} call{'s' * (calls != 1)}: {row['reason']}"


NOT_READY = "the device was not ready yet"
"""A reason of src/report/refusals.def."""


def refused(machine: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """The number of calls that stay on the CPU, and why."""
    if row["reason"] != NOT_READY:
        return counted(row)
    opening = machine["opening_seconds"]
    why = f"made before the GPU was open, which takes {quantities.duration(opening)}" if opening else "too little work to open a GPU for"
    return counted({"calls": row["calls"], "reason": why})


def peak(machine: Mapping[str, Any]) -> str:
    return f"its memory holds at most {quantities.size(max(machine['peak_memory'], default=0))} of {quantities.size(machine['memory'])}"

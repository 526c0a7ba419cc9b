"""A job on many nodes, in words and in the cells of tables. What was measured and what is computed never share a table."""

from collections.abc import Mapping
from typing import Any

from blastoff import quantities
from blastoff.predict.nodes import headline
from blastoff.predict.view.words import times
from blastoff.replay.prediction import WORTH_NAMING

COMPARISON_COLUMNS = ("nodes", "with", "published", "computed", "off by", "source")
DISTRIBUTED_COLUMNS = ("nodes", "GPUs", "calls", "left out", "traced s", "computed s", "on GPUs s", "exchange s", "copies s")
DROPPED_DISTRIBUTED_COLUMNS = ("copies s", "exchange s", "on GPUs s")
DISTRIBUTED = "computed: calls of ScaLAPACK and the PBLAS, if NVIDIA's libraries made them on all GPUs (--gather-gpus=all); not tried on a network"
DROPPED_COLUMNS = ("moving s", "device s", "efficiency", "program s", "comm. s", "serial s", "ranks")
"""Columns that are left out on a narrow terminal, the first one first."""
FIXED = (("serial_seconds", "serial s"), ("communication_seconds", "comm. s"))
POLICIES = {"none": "CPUs", "native": "own GPU port"}


def answer(result: Mapping[str, Any]) -> str:
    """One line about the largest number of nodes on which GPUs gain, on the machine that is best there; or that they gain on none."""
    best, last = headline(result)
    most, machines = best["rows"][-1]["nodes"], len(result["machines"])
    on = "" if result["measured"]["from"] == "published" else best["label"]
    took, would = quantities.duration(last["cpu_seconds"]), quantities.duration(last["seconds"])
    nodes = f"{last['nodes']} node{'s' if last['nodes'] > 1 else ''}"
    if last["gain"] < WORTH_NAMING:
        none = f"none of {machines} machines would help" if machines > 1 else f"{on or 'a GPU'} would not help"
        return f"{none}: on {nodes}, {took} would be {would} ({times(last['gain'])}){f' on {on}' if machines > 1 else ''}. Computed"
    among = f"; best of {machines} machines" if machines > 1 else ""
    without = f"; no gain on {most} nodes" if last["nodes"] != most else ""
    return f"{nodes}{f' of {on}' if on else ''}: {took} on CPUs would be {would} with GPUs ({times(last['gain'])}){among}{without}. Computed"


def title(result: Mapping[str, Any], machine: Mapping[str, Any]) -> str:
    gpus = result["gpus_per_node"]
    return f"{machine['name']}, {gpus} GPU{'s' * (gpus != 1)} a node, {machine['policy']}, {result['scaling']} scaling"


def shown(result: Mapping[str, Any], key: str) -> bool:
    """Whether any machine has seconds under this key."""
    return any(each[key] for machine in result["machines"] for each in machine["rows"])


def columns(result: Mapping[str, Any]) -> tuple[str, ...]:
    units = f"{result['unit']} a rank" if result["unit"] else "share"
    fixed = tuple(heading for key, heading in FIXED if shown(result, key))
    return ("nodes", "ranks", "GPUs", units, "CPUs", "with GPUs", "gain", "program s", "device s", "moving s", *fixed, "efficiency")


def cells(result: Mapping[str, Any], machine: Mapping[str, Any]) -> list[list[str]]:
    """A line for each number of nodes."""
    return [
        [
            str(each["nodes"]),
            quantities.count(each["ranks"]),
            quantities.count(each["gpus"]),
            quantities.count(each["units"]) if result["unit"] else f"{each['share']:.3g}",
            quantities.duration(each["cpu_seconds"]),
            quantities.duration(each["seconds"]),
            times(each["gain"]),
            quantities.seconds(each["program_seconds"]),
            quantities.seconds(each["device_seconds"]),
            quantities.seconds(each["moving_seconds"]),
            *(quantities.seconds(each[key]) for key, _ in FIXED if shown(result, key)),
            f"{100 * each['efficiency']:.0f} %",
        ]
        for each in machine["rows"]
    ]


def distributed(machine: Mapping[str, Any]) -> list[list[str]]:
    """A line for each number of nodes: calls of all ranks on all GPUs."""
    seconds = ("traced_seconds", "seconds", "computing_seconds", "exchanging_seconds", "moving_seconds")
    return [
        [
            str(each["nodes"]),
            quantities.count(each["gpus"]),
            quantities.count(round(each["calls"])),
            quantities.count(round(each["left_out"])),
            *(quantities.seconds(each[key]) for key in seconds),
        ]
        for each in machine.get("distributed", [])
    ]


def comparison(result: Mapping[str, Any]) -> list[list[str]]:
    return [
        [
            str(each["nodes"]),
            POLICIES.get(each["policy"], each["policy"]),
            quantities.duration(each["published_seconds"]),
            "-" if each["computed_seconds"] is None else quantities.duration(each["computed_seconds"]),
            "given" if each["given"] else "-" if each["deviation"] is None else f"{100 * each['deviation']:+.1f} %",
            each["source"],
        ]
        for each in result.get("comparison", [])
    ]


def measured(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The measured job, from which the figures are computed."""
    base = result["measured"]
    where = f"{quantities.counted(base['nodes'], 'node')}, {quantities.counted(base['ranks'], 'rank')}"
    if base["from"] == "trace":
        cpu = f"{base['cpu'] or 'an unnamed CPU'}, {quantities.counted(base['cores'], 'core')} of each rank"
        return [
            ("job", str(base["name"])),
            ("traced", f"{where}; {quantities.counted(base['traces'], 'trace')}; {cpu}"),
            ("seconds", f"{quantities.duration(base['seconds'])} on CPUs"),
        ]
    lines = [("job", str(base["name"])), ("published", f"{where}, {quantities.counted(base['gpus_per_node'], 'GPU')} a node")]
    for run in base["runs"]:
        names = {"seconds": "in all", "calls_seconds": "in BLAS calls", "moving_seconds": "moving"}
        figures = [f"{run[key]:g} s {name}" for key, name in names.items() if run[key] is not None]
        lines.append((POLICIES.get(run["policy"], run["policy"]), f"{', '.join(figures)} ({run['source']})"))
    return lines


def facts(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The assumptions of the computation."""
    lines = [("given", f"{each['name']}: {each['value']} ({each['source']})") for each in result["parameters"]]
    given = {each["name"] for each in result["parameters"]}
    if "units" not in given and result["scaling"] == "strong":
        lines.append(("assumed", "work that can be shared out in any parts: --units says into how many"))
    if "serial" not in given:
        lines.append(("assumed", "no serial part"))
    if "communication" not in given:
        lines.append(("assumed", "communication that shrinks like the work: --job can tell what it takes"))
    if any(line["left_out"] for machine in result["machines"] for line in machine.get("distributed", [])):
        lines.append(("left out", "calls of all ranks that these libraries do not offer, that do not fit the GPUs, or whose rate is not known"))
    lines += [("derived", machine["derived"]) for machine in result["machines"] if "derived" in machine]
    if result["measured"]["from"] == "published" and result["gpus_per_node"] != result["measured"]["gpus_per_node"]:
        lines.append(("assumed", "the GPUs are what calls wait for: with more of them, seconds on the device are shared out"))
    lines += [("source", f"{key}: {text}") for key, text in result["references"].items()]
    return lines

"""The plots of the page of a prediction, as inline SVG."""

from collections.abc import Mapping, Sequence
from typing import Any

from blastoff import quantities
from blastoff.predict.scale import CPU_ONLY, NATIVE
from blastoff.view.bars import LARGEST, stacked_bars, where_series

SECONDS = "seconds in calls, all threads"


def parts(totals: Mapping[str, float]) -> tuple[float, float, float]:
    """Seconds on the CPU, computing on the device, and moving."""
    return totals["cpu_seconds"], totals["device_seconds"] - totals["moving_seconds"], totals["moving_seconds"]


def machines(prediction: Mapping[str, Any]) -> str:
    """Seconds in calls as traced, and on each machine."""
    shown = prediction["machines"][:LARGEST]
    traced = (shown[0]["totals"]["traced_seconds"], 0.0, 0.0)
    rows = [traced, *(parts(each["totals"]) for each in shown)]
    return stacked_bars(["as traced", *(each["label"] for each in shown)], where_series(rows), quantities.duration, SECONDS)


def routines(machine: Mapping[str, Any]) -> str:
    """Seconds by routine on one machine, those that took longest first."""
    shown = sorted(machine["routines"], key=lambda routine: -routine["traced_seconds"])[:LARGEST]
    names = [each["name"] for each in shown]
    return stacked_bars(names, where_series([parts(each) for each in shown]), quantities.duration, SECONDS) if names else ""


def nodes(machine: Mapping[str, Any], published: Sequence[Mapping[str, Any]] = ()) -> str:
    """Seconds of the job by number of nodes: CPUs alone, and with GPUs. Published times are points on the bars."""
    names, rows = [], []
    for each in machine["rows"][:LARGEST]:
        own = each["program_seconds"] + each["serial_seconds"] + each["communication_seconds"]
        names += [f"{each['nodes']}, CPUs", f"{each['nodes']}, GPUs"]
        rows += [(each["cpu_seconds"], 0.0, 0.0), (own, each["device_seconds"], each["moving_seconds"])]
    points: dict[str, list[tuple[str, float]]] = {}
    for each in published:
        where = f"{each['nodes']}, {'CPUs' if each['policy'] == CPU_ONLY else 'GPUs'}"
        if where in names:
            label = "published, own GPU port" if each["policy"] == NATIVE else "published"
            points.setdefault(label, []).append((where, each["published_seconds"]))
    return stacked_bars(names, where_series(rows), quantities.duration, "seconds of the job, computed; by nodes", points)

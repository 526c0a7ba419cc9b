"""Jobs of which there are traces: what they would take with a GPU is predicted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from blastoff.job import program
from blastoff.job.processes import NOT_READY
from blastoff.replay import prediction, traces
from blastoff.replay.machines import Machine
from blastoff.site.share import OUTSIDE, WORTH_A_GPU, Key, Share, owner

SUFFIX = ".trace"
STAYS = "calls that stay on the CPU, as predicted"


def run_of(path: Path) -> str:
    """The run of which a trace is a part; "" if it names none. CommandError if the file is no trace."""
    return str(traces.header(str(path)).get("run") or "")


def share_that_stays(machine: Mapping[str, Any]) -> float:
    """The part of the calls on the CPU that stay there in later runs, too, when the device is open at once."""
    refused = {row["reason"]: row["calls"] for row in machine["refusals"]}
    total = sum(refused.values())
    return 1.0 - refused.get(NOT_READY, 0.0) / total if total else 0.0


def job(paths: Sequence[Path], machines: Sequence[Machine]) -> tuple[Key, Share]:
    """A job with its user and program, on the machine on which its later runs would end first, with one GPU in each node."""
    matter = traces.that_matter(paths)
    headers = [traces.header(path) for path in matter]
    on_nodes = Counter(str(header.get("host")) for header in headers)
    best = prediction.predict(matter, machines, prediction.Layout(1, max(on_nodes.values())), {})["machines"][0]
    wall, later, totals = best["traced_seconds"], best["later_seconds"], best["totals"]
    # Seconds in calls are those of all processes and threads, so this is the least.
    in_calls = min(wall, (totals["traced_seconds"] + best["small_seconds"] + best["distributed_seconds"]) / len(matter))
    staying = min(in_calls, (totals["cpu_seconds"] * share_that_stays(best) + best["small_seconds"] + best["distributed_seconds"]) / len(matter))
    hours, gain = len(on_nodes) / 3600, max(0.0, wall - later)
    share = Share(
        jobs=1,
        hours=wall * hours,
        in_calls=in_calls * hours,
        gain=gain * hours,
        gpu_hours=later * hours if gain >= WORTH_A_GPU * wall > 0 else 0.0,
        obstacles=Counter({OUTSIDE: (wall - in_calls) * hours, STAYS: staying * hours}),
    )
    about = {name: str(headers[0].get(name) or "") for name in ("program", "command_line")}
    return (owner(Path(matter[0])), program.name(about)), share

"""Predicts traces on several machines, and which of the machines helps."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from blastoff import library
from blastoff.errors import CommandError
from blastoff.replay import child, machines, traces
from blastoff.replay.machines import Machine

WORTH_NAMING = 1.02
"""A smaller speedup is not mentioned, since predictions are not that accurate."""


@dataclass(frozen=True)
class Layout:
    """How the processes share the GPUs of a machine."""

    gpus: int = 1
    ranks_per_gpu: int = 1


def speedup(machine: Mapping[str, Any], seconds: str) -> float:
    return machine["traced_seconds"] / machine[seconds] if machine[seconds] > 0 else 1.0


def predict(
    paths: Sequence[str], asked: Sequence[Machine], layout: Layout, settings: Mapping[str, str], on_nodes: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A prediction in the form of share/prediction.schema.json. `settings`: BLASTOFF_ variables of a run. `on_nodes`: the nodes on which NVIDIA's
    distributed libraries are to make the calls of all ranks, and their network; each machine then has `on_nodes`.
    """
    headers = [traces.header(path) for path in paths]
    source = machines.source(headers[0].get("cpu", ""))

    def on(machine: Machine) -> dict[str, Any]:
        request = {"traces": readable, "gpus": layout.gpus, "ranks_per_gpu": layout.ranks_per_gpu} | machine.request()
        if source:
            request["source"] = source
        if on_nodes:
            request["on_nodes"] = on_nodes
        answer = child.ask(request, settings)
        if "error" in answer:
            raise CommandError(f"predict: {machine.label}: {answer['error']}", 1)
        gains = {"speedup": speedup(answer, "predicted_seconds"), "later_speedup": speedup(answer, "later_seconds")}
        return {"label": machine.label, "model": machine.basis} | gains | answer

    with traces.in_utf_8(paths) as readable, ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(on, asked))
    fields = ("program", "command_line", "host", "rank", "cpu", "cores", "threads", "min_size", "writes")
    return {
        "blastoff": library.version(),
        "traces": [{"file": path} | {key: first.get(key) for key in fields} for path, first in zip(paths, headers, strict=True)],
        "gpus": layout.gpus,
        "ranks_per_gpu": layout.ranks_per_gpu,
        "settings": {name.removeprefix("BLASTOFF_").lower().replace("_", "-"): value for name, value in settings.items()},
        "machines": sorted(results, key=rank),
    }


def rank(machine: Mapping[str, Any]) -> tuple[Any, ...]:
    """Measured models come first: data sheets do not tell what opening a GPU and starting its kernels takes."""
    return machine["model"] == machines.DATA_SHEET, machine["later_seconds"], machine["predicted_seconds"]


def helps(machine: Mapping[str, Any]) -> bool:
    """Whether the machine ends the program clearly sooner, in the first run or in later ones."""
    return max(machine["speedup"], machine["later_speedup"]) >= WORTH_NAMING

"""A job on many nodes: divides work that was measured on few nodes among more.

With more ranks, each rank makes fewer of the same calls, not smaller calls. The number of units on the fullest rank gives its share of the
work. Serial seconds stay, and communication follows its formula.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blastoff.errors import CommandError
from blastoff.predict.job import Communication, Job, Published

CPU_ONLY, NATIVE = "none", "native"
"""In the place of a policy: without a device, and the program's own GPU port."""


@dataclass(frozen=True)
class Nodes:
    """The numbers of nodes for which a prediction is made, and how they are used."""

    counts: Sequence[int]
    ranks: int | None = None
    """Ranks of each node. None: as many as measured."""
    gpus: int = 1
    """GPUs of each node."""
    weak: bool = False
    """Weak scaling: each rank keeps its number of units, whatever the number of ranks."""


@dataclass(frozen=True)
class Basis:
    """The measured job: its nodes, its ranks, and further facts."""

    nodes: int
    ranks: int
    job: Job

    def fixed(self, nodes: int) -> tuple[float, float]:
        """Serial seconds and seconds of communication of each rank on this number of nodes."""
        return self.job.serial, (self.job.communication or Communication()).seconds(nodes)

    def units_of(self, ranks: int, weak: bool) -> float:
        """Units of the fullest rank among this number of ranks. Without units, its part of the work relative to the measured ranks."""
        if weak:
            ranks = self.ranks
        if self.job.units is None:
            return self.ranks / ranks
        return math.ceil(self.job.units / ranks)

    def share(self, ranks: int, weak: bool) -> float:
        """Work of the fullest rank among this number of ranks, relative to the fullest measured rank."""
        return self.units_of(ranks, weak) / self.units_of(self.ranks, weak)

    def shared(self, seconds: float) -> float:
        """Seconds of the run that become fewer with more ranks: without serial seconds and communication."""
        serial, communication = self.fixed(self.nodes)
        if seconds < serial + communication:
            took = f"{serial + communication:.3g} s are serial or communication"
            raise CommandError(f"predict: {took}, but the job took {seconds:.3g} s; accepted: less than the whole run")
        return seconds - serial - communication


@dataclass(frozen=True)
class Parts:
    """Seconds of the fullest rank, with all its work."""

    program: float
    """Seconds outside calls, and in calls that stay on the CPU."""
    device: float = 0.0
    moving: float = 0.0

    @property
    def seconds(self) -> float:
        return self.program + self.device + self.moving

    def of(self, share: float) -> "Parts":
        return Parts(self.program * share, self.device * share, self.moving * share)


def row(basis: Basis, nodes: int, ranks: int, gpus: int, weak: bool, cpu: float, parts: Parts) -> dict[str, Any]:
    """A row of the table, for one number of nodes. `cpu`: seconds of the shared work on CPUs only; `parts`: its seconds with GPUs."""
    serial, communication = basis.fixed(nodes)
    fixed = serial + communication
    return {
        "nodes": nodes,
        "ranks": nodes * ranks,
        "gpus": nodes * gpus,
        "units": basis.units_of(nodes * ranks, weak) if basis.job.units is not None else None,
        "share": basis.share(nodes * ranks, weak),
        "cpu_seconds": cpu + fixed,
        "seconds": parts.seconds + fixed,
        "program_seconds": parts.program,
        "device_seconds": parts.device,
        "moving_seconds": parts.moving,
        "serial_seconds": serial,
        "communication_seconds": communication,
    }


def finish(rows: list[dict[str, Any]], weak: bool) -> list[dict[str, Any]]:
    """Adds to each row the gain over CPUs and the parallel efficiency relative to the fewest nodes."""
    first = min(rows, key=lambda each: each["nodes"])
    for each in rows:
        each["gain"] = each["cpu_seconds"] / each["seconds"] if each["seconds"] > 0 else 1.0
        ideal = 1.0 if weak else first["nodes"] / each["nodes"]
        each["efficiency"] = first["seconds"] * ideal / each["seconds"] if each["seconds"] > 0 else 1.0
    return rows


def opened(share: float, cpu: float, with_device: float, opening: float) -> tuple[float, float]:
    """Seconds of a share of the work, and how many of them pass on CPUs before the device is open. `cpu`: seconds of all work on CPUs.
    `with_device`: seconds of all work in the replay, of which the first `opening` seconds passed before the device was open.

    Opening always takes the same time. A share of the work that ends earlier never uses the device.
    """
    if not 0 < opening < min(cpu, with_device):
        return share * with_device, 0.0
    if share * cpu <= opening:
        return share * cpu, share * cpu
    steady = (with_device - opening) / (1 - opening / cpu)
    return opening + (share - opening / cpu) * steady, opening


def replayed(basis: Basis, machine: Mapping[str, Any], asked: Nodes, processes: int) -> list[dict[str, Any]]:
    """The rows of a machine. `machine`: the replay of the traces of `processes` processes, in the form of share/prediction.schema.json. The
    processes share GPUs as the ranks of a node do."""
    cpu, work = basis.shared(machine["traced_seconds"]), basis.shared(machine["predicted_seconds"])
    # On a faster CPU, calls take less time, so the time without the device comes from the replay without a device.
    alone = basis.shared(machine.get("without_device_seconds", machine["traced_seconds"]))
    device = machine["totals"]["device_seconds"] / processes
    moving = machine["totals"]["moving_seconds"] / processes
    ranks = asked.ranks or basis.ranks // basis.nodes
    rows = []
    for nodes in asked.counts:
        share = basis.share(nodes * ranks, asked.weak)
        seconds, before = opened(share, alone, work, machine["opening_seconds"])
        # The seconds in calls of several threads may overlap, so they are limited to the seconds that there are.
        in_calls = min(device * share, seconds - before)
        waiting = in_calls * moving / device if device else 0.0
        parts = Parts(seconds - in_calls, in_calls - waiting, waiting)
        rows.append(row(basis, nodes, ranks, asked.gpus, asked.weak, cpu * share, parts))
    return finish(rows, asked.weak)


def device_seconds(published: Published, rest: float) -> tuple[float, str]:
    """Seconds that calls take on the device without moving, and the source: a run whose moving is known, less its other parts."""
    for run in published.runs:
        if run.policy != CPU_ONLY and run.seconds is not None and run.moving is not None:
            seconds = run.seconds - run.moving - rest
            if seconds > 0:
                return seconds, f"{run.seconds:g} - {run.moving:g} - {rest:g} s ({run.source}; the rest as on CPUs)"
    raise CommandError("predict: published.runs; accepted: a run with a policy, seconds and moving_seconds, longer than moving and the rest")


def published_parts(published: Published, policy: str) -> tuple[float, Parts, str]:
    """Seconds on CPUs, the parts with this policy, and the source of the device's seconds."""
    cpu = next((run for run in published.runs if run.policy == CPU_ONLY), None)
    if cpu is None or cpu.seconds is None or cpu.calls is None or cpu.calls > cpu.seconds:
        raise CommandError('predict: published.runs; accepted: a run of policy "none" with seconds and, of these, calls_seconds')
    wanted = next((run for run in published.runs if run.policy == policy and run.moving is not None), None)
    if wanted is None or wanted.moving is None:
        known = ", ".join(run.policy for run in published.runs if run.policy != CPU_ONLY and run.moving is not None)
        raise CommandError(f"predict: the job has no published run with --policy={policy}; accepted: {known or 'none'}")
    rest = cpu.seconds - cpu.calls
    device, derived = device_seconds(published, rest)
    return cpu.seconds, Parts(rest, device, wanted.moving), derived


def from_published(basis: Basis, published: Published, policy: str, asked: Nodes) -> list[dict[str, Any]]:
    """The rows of a published job. Its ranks wait for the GPU, so more GPUs divide the seconds on the device among themselves."""
    cpu, parts, _ = published_parts(published, policy)
    shared = Parts(basis.shared(parts.program), parts.device * published.gpus_per_node / asked.gpus, parts.moving)
    ranks = published.ranks_per_node
    rows = []
    for nodes in asked.counts:
        share = basis.share(nodes * ranks, asked.weak)
        rows.append(row(basis, nodes, ranks, asked.gpus, asked.weak, basis.shared(cpu) * share, shared.of(share)))
    return finish(rows, asked.weak)


def compare(basis: Basis, published: Published, policy: str) -> list[dict[str, Any]]:
    """The published times of the whole program beside the times that are computed from its parts. Its own GPU port is not computed."""
    given = {(published.nodes, run.policy): run.seconds for run in published.runs}
    lines = []
    for figure in published.compare:
        if figure.policy not in (CPU_ONLY, NATIVE, policy):
            continue
        asked = Nodes([figure.nodes], gpus=published.gpus_per_node)
        line = from_published(basis, published, policy, asked)[0]
        computed = None if figure.policy == NATIVE else line["cpu_seconds" if figure.policy == CPU_ONLY else "seconds"]
        lines.append(
            {
                "nodes": figure.nodes,
                "policy": figure.policy,
                "published_seconds": figure.seconds,
                "computed_seconds": computed,
                "deviation": None if computed is None else computed / figure.seconds - 1,
                "given": given.get((figure.nodes, figure.policy)) == figure.seconds,
                "source": figure.source,
            }
        )
    return lines

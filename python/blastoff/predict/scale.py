"""A job on many nodes: what was measured on few of them, shared out among more.

The work of a rank is a share of what it was: fewer of the same calls, not smaller ones. Shares follow the units that the fullest rank has.
Serial seconds stay, and communication follows its formula.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blastoff.errors import CommandError
from blastoff.predict.job import Communication, Job, Published

CPU_ONLY = "none"


@dataclass(frozen=True)
class Nodes:
    """What is asked about."""

    counts: Sequence[int]
    ranks: int | None = None
    """Of each node. None: as measured."""
    gpus: int = 1
    """Of each node."""
    weak: bool = False
    """Each rank has as many units as it had, whatever the number of ranks."""


@dataclass(frozen=True)
class Basis:
    """What was measured: nodes, ranks of a node, GPUs of a node."""

    nodes: int
    ranks: int
    job: Job

    def fixed(self, nodes: int) -> tuple[float, float]:
        """Serial seconds, and those of communication, of each rank on so many nodes."""
        return self.job.serial, (self.job.communication or Communication()).seconds(nodes)

    def units_of(self, ranks: int, weak: bool) -> float:
        """Units of the fullest of so many ranks; parts of one, where nothing is said of units."""
        if weak:
            ranks = self.ranks
        if self.job.units is None:
            return self.ranks / ranks
        return math.ceil(self.job.units / ranks)

    def share(self, ranks: int, weak: bool) -> float:
        """The work of the fullest of so many ranks, of what the fullest had."""
        return self.units_of(ranks, weak) / self.units_of(self.ranks, weak)

    def shared(self, seconds: float) -> float:
        """Seconds of the run that further ranks shorten."""
        serial, communication = self.fixed(self.nodes)
        if seconds < serial + communication:
            took = f"{serial + communication:.3g} s are serial or communication"
            raise CommandError(f"predict: {took}, but the job took {seconds:.3g} s; accepted: less than the whole run")
        return seconds - serial - communication


@dataclass(frozen=True)
class Parts:
    """Seconds of the fullest rank, with all its work."""

    program: float
    """Its own, and calls that stay on the CPU."""
    device: float = 0.0
    moving: float = 0.0

    @property
    def seconds(self) -> float:
        return self.program + self.device + self.moving

    def of(self, share: float) -> "Parts":
        return Parts(self.program * share, self.device * share, self.moving * share)


def row(basis: Basis, nodes: int, ranks: int, gpus: int, weak: bool, cpu: float, parts: Parts) -> dict[str, Any]:
    """The nodes of a table. `cpu`: seconds of the shared work on CPUs alone; `parts`: with GPUs."""
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
    """With gain over CPUs, and parallel efficiency against the fewest nodes."""
    first = min(rows, key=lambda each: each["nodes"])
    for each in rows:
        each["gain"] = each["cpu_seconds"] / each["seconds"] if each["seconds"] > 0 else 1.0
        ideal = 1.0 if weak else first["nodes"] / each["nodes"]
        each["efficiency"] = first["seconds"] * ideal / each["seconds"] if each["seconds"] > 0 else 1.0
    return rows


def opened(share: float, cpu: float, with_device: float, opening: float) -> tuple[float, float]:
    """Seconds of a share of the work, and the part of it that CPUs do before the device is open. `cpu`: seconds of all work on CPUs,
    `with_device`: as replayed, of which the first `opening` seconds passed until the device was open.

    Opening takes as long however little work there is: what ends before never uses the device.
    """
    if not 0 < opening < min(cpu, with_device):
        return share * with_device, 0.0
    if share * cpu <= opening:
        return share * cpu, share * cpu
    steady = (with_device - opening) / (1 - opening / cpu)
    return opening + (share - opening / cpu) * steady, opening


def replayed(basis: Basis, machine: Mapping[str, Any], asked: Nodes, processes: int) -> list[dict[str, Any]]:
    """The rows of a machine. `machine`: the replay of the traces of so many processes, of share/prediction.schema.json; it shares GPUs
    as the ranks of a node do."""
    cpu, work = basis.shared(machine["traced_seconds"]), basis.shared(machine["predicted_seconds"])
    # A faster CPU does its calls in less time: what the program does without the device follows the replay without one.
    alone = basis.shared(machine.get("without_device_seconds", machine["traced_seconds"]))
    device = machine["totals"]["device_seconds"] / processes
    moving = machine["totals"]["moving_seconds"] / processes
    ranks = asked.ranks or basis.ranks // basis.nodes
    rows = []
    for nodes in asked.counts:
        share = basis.share(nodes * ranks, asked.weak)
        seconds, before = opened(share, alone, work, machine["opening_seconds"])
        # Threads may be in calls at the same time: no more than there is.
        in_calls = min(device * share, seconds - before)
        waiting = in_calls * moving / device if device else 0.0
        parts = Parts(seconds - in_calls, in_calls - waiting, waiting)
        rows.append(row(basis, nodes, ranks, asked.gpus, asked.weak, cpu * share, parts))
    return finish(rows, asked.weak)


def device_seconds(published: Published, rest: float) -> tuple[float, str]:
    """What calls take on the device without moving, and where that is from: a run whose moving is known, less its other parts."""
    for run in published.runs:
        if run.policy != CPU_ONLY and run.seconds is not None and run.moving is not None:
            seconds = run.seconds - run.moving - rest
            if seconds > 0:
                return seconds, f"{run.seconds:g} - {run.moving:g} - {rest:g} s ({run.source}; the rest as on CPUs)"
    raise CommandError("predict: published.runs; accepted: a run with a policy, seconds and moving_seconds, longer than moving and the rest")


def published_parts(published: Published, policy: str) -> tuple[float, Parts, str]:
    """Seconds on CPUs; parts with a policy; and where the seconds of the device are from."""
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
    """The rows of a published job. The GPU is what its ranks wait for: with more of them, the seconds on the device are shared out."""
    cpu, parts, _ = published_parts(published, policy)
    shared = Parts(basis.shared(parts.program), parts.device * published.gpus_per_node / asked.gpus, parts.moving)
    ranks = published.ranks_per_node
    rows = []
    for nodes in asked.counts:
        share = basis.share(nodes * ranks, asked.weak)
        rows.append(row(basis, nodes, ranks, asked.gpus, asked.weak, basis.shared(cpu) * share, shared.of(share)))
    return finish(rows, asked.weak)


def compare(basis: Basis, published: Published, policy: str) -> list[dict[str, Any]]:
    """The published times of the whole program beside what its parts give."""
    given = {(published.nodes, run.policy): run.seconds for run in published.runs}
    lines = []
    for figure in published.compare:
        if figure.policy not in (CPU_ONLY, policy):
            continue
        asked = Nodes([figure.nodes], gpus=published.gpus_per_node)
        computed = from_published(basis, published, policy, asked)[0]["cpu_seconds" if figure.policy == CPU_ONLY else "seconds"]
        lines.append(
            {
                "nodes": figure.nodes,
                "policy": figure.policy,
                "published_seconds": figure.seconds,
                "computed_seconds": computed,
                "deviation": computed / figure.seconds - 1,
                "given": given.get((figure.nodes, figure.policy)) == figure.seconds,
                "source": figure.source,
            }
        )
    return lines

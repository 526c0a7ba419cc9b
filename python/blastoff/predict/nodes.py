"""`blastoff predict --nodes`: predicts a job on many nodes from traces or published runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from blastoff import library
from blastoff.errors import CommandError
from blastoff.predict import scale
from blastoff.predict.job import Communication, Job
from blastoff.predict.scale import Basis, Nodes
from blastoff.replay import prediction, traces
from blastoff.replay.machines import Machine
from blastoff.replay.prediction import WORTH_NAMING, Layout

ALL_ON_CPU = {"BLASTOFF_MIN_SIZE": "1000000000"}


def parameters(job: Job) -> list[dict[str, str]]:
    """The values that were neither measured nor computed, each with its source."""
    said = []
    if job.published:
        said.append({"name": "ranks", "value": f"{job.published.ranks_per_node} a node", "source": job.published.ranks_source})
    if job.units is not None:
        said.append({"name": "units", "value": f"{job.units} {job.unit}" if job.unit != "units" else str(job.units), "source": job.units_source})
    if job.serial:
        said.append({"name": "serial", "value": f"{job.serial:g} s of each rank", "source": job.serial_source})
    if job.communication:
        each = job.communication
        amount = f"{each.collectives:g} collectives, {each.bytes:.3g} bytes; {each.latency:g} s and {each.bandwidth:.3g} bytes/s between nodes"
        said.append({"name": "communication", "value": amount, "source": each.source})
    return said


def result(basis: Basis, asked: Nodes, measured: Mapping[str, Any], machines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "blastoff": library.version(),
        "scaling": "weak" if asked.weak else "strong",
        "gpus_per_node": asked.gpus,
        "unit": basis.job.unit if basis.job.units is not None else None,
        "measured": dict(measured),
        "parameters": parameters(basis.job),
        "references": dict(basis.job.references or {}),
        "machines": sorted(machines, key=lambda machine: machine["rows"][-1]["seconds"]),
    }


def headline(result: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The machine and the row of the largest number of nodes on which GPUs gain; without such a number, those of the largest number."""
    machines = result["machines"]
    for place in reversed(range(len(machines[0]["rows"]))):
        best = min(machines, key=lambda machine: machine["rows"][place]["seconds"])
        if best["rows"][place]["gain"] >= WORTH_NAMING:
            return best, best["rows"][place]
    return machines[0], machines[0]["rows"][-1]


def basis_of(headers: Sequence[Mapping[str, Any]], job: Job) -> Basis:
    """The nodes and ranks of the traced job."""
    hosts = {header.get("host") for header in headers}
    ranks = job.ranks or len(headers)
    highest = max((header.get("rank") or 0) for header in headers)
    if highest >= ranks:
        given = f"rank {highest} was traced, and {ranks} trace(s) are given"
        raise CommandError(f"predict: {given}; accepted: all traces, or `ranks` in the file of --job")
    if ranks % len(hosts):
        raise CommandError(f"predict: {ranks} ranks on {len(hosts)} nodes; accepted: as many ranks on each")
    return Basis(len(hosts), ranks, job)


def layout_of(ranks: int, gpus: int) -> Layout:
    """GPUs of each rank, or, if there are more ranks than GPUs, ranks of the GPU that has the most."""
    most = 64
    layout = Layout(gpus // ranks, 1) if gpus >= ranks else Layout(1, -(-ranks // gpus))
    if layout.ranks_per_gpu > most:
        raise CommandError(f"predict: {layout.ranks_per_gpu} ranks would share a GPU; accepted: {most} at most")
    return layout


def network(job: Job, asked: Nodes) -> dict[str, Any] | None:
    """What calls of all ranks on the GPUs of several nodes need to know; None if the network is not known."""
    if job.communication is None and max(asked.counts) > 1:
        return None
    rates = job.communication or Communication(bandwidth=0)
    return {"nodes": list(asked.counts), "gpus_per_node": asked.gpus, "bandwidth": rates.bandwidth, "latency": rates.latency}


def of_traces(paths: Sequence[str], chosen: Sequence[Machine], job: Job, asked: Nodes, settings: Mapping[str, str]) -> dict[str, Any]:
    """A prediction in the form of share/scale.schema.json."""
    basis = basis_of([traces.header(path) for path in paths], job)
    ranks = asked.ranks or basis.ranks // basis.nodes
    layout = layout_of(ranks, asked.gpus)
    rates = network(job, asked)
    whole = prediction.predict(paths, chosen, layout, settings, rates)
    if rates is None and any(machine["distributed"] for machine in whole["machines"]):
        needed = "a --job with `communication`: latency and bandwidth between nodes"
        raise CommandError(f"predict: the traces hold calls of all ranks, whose time on several nodes depends on the network; accepted: {needed}")
    alone = {}
    if any(machine["cpu"] == "scaled" for machine in whole["machines"]):
        without = prediction.predict(paths, chosen, layout, {**settings, **ALL_ON_CPU})
        alone = {machine["label"]: {"without_device_seconds": machine["predicted_seconds"]} for machine in without["machines"]}
    first = whole["traces"][0]
    rows = [
        {key: machine[key] for key in ("label", "name", "policy", "cpu")}
        | {"replayed_seconds": machine["predicted_seconds"], "opening_seconds": machine["opening_seconds"]}
        | {"rows": scale.replayed(basis, machine | alone.get(machine["label"], {}), asked, len(paths))}
        | ({"distributed": machine["on_nodes"]} if machine["distributed"] else {})
        for machine in whole["machines"]
    ]
    measured = {
        "from": "trace",
        "name": job.name or first["command_line"] or first["program"],
        "nodes": basis.nodes,
        "ranks": basis.ranks,
        "traces": len(paths),
        "cores": first["cores"],
        "cpu": first["cpu"],
        "seconds": whole["machines"][0]["traced_seconds"],
    }
    return result(basis, asked, measured, rows)


def of_published(job: Job, asked: Nodes, policy: str) -> dict[str, Any]:
    """A prediction in the form of share/scale.schema.json."""
    published = job.published
    if published is None:
        raise CommandError("predict: no trace is given, and the file of --job has no `published` runs; accepted: either")
    if asked.ranks not in (None, published.ranks_per_node):
        raise CommandError(f"predict: invalid value --ranks-per-node={asked.ranks}; the published runs had {published.ranks_per_node}")
    basis = Basis(published.nodes, published.nodes * published.ranks_per_node, job)
    seconds, parts, derived = scale.published_parts(published, policy)
    measured = {
        "from": "published",
        "name": job.name,
        "nodes": basis.nodes,
        "ranks": basis.ranks,
        "gpus_per_node": published.gpus_per_node,
        "seconds": seconds,
        "runs": [
            {"policy": run.policy, "seconds": run.seconds, "calls_seconds": run.calls, "moving_seconds": run.moving, "source": run.source}
            for run in published.runs
        ],
    }
    machine = {
        "label": published.machine,
        "name": published.machine,
        "policy": policy,
        "cpu": "published",
        "derived": f"{parts.device:.4g} s of calls on the device: {derived}",
        "rows": scale.from_published(basis, published, policy, asked),
    }
    return result(basis, asked, measured, [machine]) | {"comparison": scale.compare(basis, published, policy)}


def with_units(job: Job, units: int | None) -> Job:
    return job if units is None else replace(job, units=units, units_source="the command line")

"""A time line in a few lines, for the summary of a run and for `blastoff memory`."""

from collections.abc import Sequence

from blastoff import columns, quantities
from blastoff.sampling import findings
from blastoff.sampling.findings import Document, Move, Phase, Touch

MAX_TOLD = 4
"""Most periods of one kind in a summary: the largest ones."""

SMALL = 0.01
"""Amounts below this share are not mentioned."""

PHASE_COLUMNS = ("from", "time", "host memory", "at most", "device memory", "faults", "to device", "from device", "migrated")
DROPPED_PHASE_COLUMNS = ("migrated", "faults", "from device", "to device", "from")
INDENT = "  "


def span(since: float, until: float) -> str:
    return f"{quantities.seconds(since)} to {quantities.seconds(until)} s"


def peak(document: Document, name: str) -> float:
    return document["peaks"].get(name, {"value": 0})["value"]


def node_name(document: Document, node: int) -> str:
    return f"node {node}" + (", without CPUs" if node in document["nodes_without_cpus"] else "")


def host(document: Document) -> list[str]:
    """The largest resident set, where it lay, and how much of it was still there at the end."""
    if not document["timeline"]["time"]:
        return ["the program had ended before the first sample"]
    lists, at = document["timeline"], document["peaks"]["resident"]["time"]
    place = max(range(len(lists["time"])), key=lambda place: lists["resident"][place] or 0)
    sizes = {int(node): values[place] for node, values in lists["resident_by_node"].items()}
    nodes = [f"{quantities.size(size)} on {node_name(document, node)}" for node, size in sizes.items() if len(sizes) > 1 and size]
    huge = lists["huge"][place] / lists["resident"][place] if lists["resident"][place] else 0
    if huge >= SMALL:
        nodes.append(f"{100 * huge:.0f} % in huge pages")
    most = f"{quantities.size(peak(document, 'resident'))} resident at most, at {quantities.seconds(at)} s"
    processes = f", in {peak(document, 'processes'):.0f} processes" if peak(document, "processes") > 1 else ""
    lines = [f"{most}{processes}" + (f" ({', '.join(nodes)})" if nodes else "")]
    stays = findings.stays(document)
    lines.append(f"{quantities.size(stays['resident'])} at the last sample")
    return lines


def device(document: Document) -> list[str]:
    """Device memory according to NVML, and according to Blastoff's own counters."""
    scope = document["device"]["scope"]
    stays = findings.stays(document)
    lines = []
    if scope == "processes":
        used = f"{quantities.size(peak(document, 'device'))} of device memory at most, of the run's processes by NVML"
        lines.append(f"{used}; {quantities.size(stays['device'])} at the last sample")
    elif scope == "whole" and peak(document, "device_whole"):
        whole = f"{quantities.size(peak(document, 'device_whole'))} at most on the whole device, by all programs"
        lines.append(f"{whole} (NVML named no process of this run); {quantities.size(stays['device_whole'])} at the last sample")
    parts = [
        (f"mirrors of {quantities.size(peak(document, 'mirrored'))}", peak(document, "mirrored")),
        (f"{quantities.size(peak(document, 'held'))} on the device in all", peak(document, "held")),
        (f"{quantities.size(peak(document, 'pinned'))} of the program's memory page-locked", peak(document, "pinned")),
        (f"{quantities.size(peak(document, 'staged'))} of staging buffers", peak(document, "staged")),
    ]
    told = [text for text, size in parts if size]
    if told:
        lines.append(f"Blastoff held at most: {', '.join(told)}")
        left = f"{quantities.size(stays['held'])} on the device, {quantities.size(stays['pinned'])} page-locked"
        lines.append(f"and at the last sample: {left}")
    return lines


def touch(one: Touch, document: Document) -> str:
    moved = f", {quantities.size(one.moved)} brought by Blastoff meanwhile" if one.on_device and one.moved else ""
    faults = "" if one.on_device else f" ({quantities.count(one.faults)} page faults)"
    whose = ", of all programs," if document["device"]["scope"] == "whole" else ""
    where = f" of device memory{whose}" if one.on_device else ""
    return f"{span(one.since, one.until)}: {quantities.size(one.bytes)}{where} by the {one.by}{faults}{moved}"


def move(one: Move) -> str:
    return f"{span(one.since, one.until)}: {quantities.size(one.bytes)} {one.what}"


def largest(found: Sequence[Touch] | Sequence[Move]) -> list:
    """The largest touches or moves, in the order of time."""
    chosen = sorted(found, key=lambda one: -one.bytes)[:MAX_TOLD]
    return sorted(chosen, key=lambda one: one.since)


def sampled(document: Document) -> str:
    """How often samples were taken, and at what cost."""
    sampling = document["sampling"]
    every = quantities.duration(sampling["interval_seconds"])
    cost = f"{quantities.duration(sampling['cpu_seconds'])} of processor time, {100 * sampling['cpu_share']:.2f} % of one core"
    if sampling["backed_off"]:
        return f"every {quantities.duration(sampling['mean_interval_seconds'])} instead of {every}, so that it costs no more; {cost}"
    return f"every {every}; {cost}"


def facts(document: Document) -> list[tuple[str, str]]:
    """Labels and texts; a label may repeat."""
    lines = [("host", text) for text in host(document)]
    lines += [("device", text) for text in device(document)]
    lines += [("first touch", touch(one, document)) for one in largest(findings.touches(document))]
    lines += [("moved", move(one)) for one in largest(findings.moves(document))]
    lists = document["timeline"]
    if lists["time"]:
        minor, major = lists["minor_faults"][-1], lists["major_faults"][-1]
        lines.append(("page faults", f"{quantities.count(minor + major)}, {quantities.count(major)} of them read from a file or from swap"))
    if document["marks_dropped"]:
        lines.append(("marks", "there was no room for all"))
    lines.append(("sampled", sampled(document)))
    return lines


def change(size: float) -> str:
    """A size with its sign."""
    return f"{'-' if size < 0 else '+'}{quantities.size(abs(size))}" if size else "0"


def cells(phase: Phase) -> list[str]:
    """One row of numbers, in the order of PHASE_COLUMNS."""
    values = (phase.resident, phase.most, phase.device, phase.faults, phase.to_device, phase.from_device, phase.migrated)
    shown = (change, quantities.size, change, lambda faults: quantities.count(round(faults)), quantities.size, quantities.size, quantities.size)
    told = ["-" if value is None else show(value) for value, show in zip(values, shown, strict=True)]
    return [quantities.seconds(phase.since), quantities.seconds(phase.until - phase.since), *told]


def lines(document: Document, width: int | None = None) -> list[str]:
    """The whole text about a run's memory."""
    told = columns.pairs(facts(document), width)
    phases = [[phase.name, *cells(phase)] for phase in findings.phases(document)]
    return [*told, "", *columns.table(["phase", *PHASE_COLUMNS], phases, DROPPED_PHASE_COLUMNS, width)] if phases else told


def summary(document: Document, width: int | None = None) -> str:
    """The text that is printed when the run has ended."""
    shown = lines(document, None if width is None else width - len(INDENT))
    return "blastoff: memory\n" + "".join(f"{INDENT}{line}".rstrip() + "\n" for line in shown)

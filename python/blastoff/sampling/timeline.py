"""The samples of a run, limited in number, and the document made from them (share/memory.schema.json)."""

from collections.abc import Sequence
from typing import Any

MAX_POINTS = 8192
"""Most points of a time line. When there are more, half of them are dropped: of two neighbours, the one with less memory."""

GAUGES = ("processes", "resident", "huge", "device", "device_whole", "held", "mirrored", "pinned", "staged")
"""Amounts in use at a moment: bytes, except for the number of processes."""

COUNTERS = ("minor_faults", "major_faults", "to_device", "from_device", "migrated_pages")
"""Counts since the start."""

RATES = ("link_to_device", "link_from_device")
"""Bytes per second; null if not known."""

VALUES = (*GAUGES, *COUNTERS, *RATES, "device_age")
"""The values of a sample. `device_age`: seconds since the devices were read; null if they were not read yet."""

OF_MACHINE = ("device_whole", "migrated_pages", *RATES, "device_age")
"""Values of the whole machine, of which the largest counts for all launchers on it."""

Point = dict[str, Any]
"""One sample: `time` in seconds since the start, the values above, and `nodes`: bytes of the resident set by NUMA node."""


def weight(point: Point) -> float:
    """The memory in use. The one of two neighbouring points that has the larger weight stays."""
    return point["resident"] + (point["device"] or 0)


def thinned(points: Sequence[Point]) -> list[Point]:
    """Half of the points: the first, the last, and the larger one of each two neighbours between them."""
    inner = points[1:-1]
    pairs = zip(inner[::2], inner[1::2], strict=False)
    return [points[0], *(max(pair, key=weight) for pair in pairs), *inner[len(inner) // 2 * 2 :], points[-1]]


class TimeLine:
    """Points in the order of time."""

    def __init__(self, most: int = MAX_POINTS) -> None:
        self.points: list[Point] = []
        self.most = most
        self.peaks: dict[str, Point] = {}
        """The sample with the largest value of each gauge, among all samples, including those that were dropped."""

    def add(self, point: Point) -> None:
        for name in GAUGES:
            if point[name] is not None and (name not in self.peaks or point[name] > self.peaks[name][name]):
                self.peaks[name] = point
        self.points.append(point)
        if len(self.points) > self.most:
            self.points = thinned(self.points)

    def end(self) -> None:
        """Ends the time line with the last sample in which a process had memory: what samples after the program's end have counted is kept there."""
        while len(self.points) > 1 and not self.points[-1]["resident"]:
            gone = self.points.pop()
            for name in COUNTERS:
                self.points[-1][name] = max(self.points[-1][name], gone[name])


def columns(points: Sequence[Point], nodes: Sequence[int]) -> dict[str, Any]:
    """The points as lists, one list for each value."""
    lists: dict[str, Any] = {name: [point[name] for point in points] for name in ("time", *VALUES)}
    lists["time"] = [round(time, 4) for time in lists["time"]]
    lists["resident_by_node"] = {str(node): [point["nodes"].get(node, 0) for point in points] for node in nodes}
    return lists


def peaks(line: TimeLine) -> dict[str, dict[str, float]]:
    """The largest value of each gauge, and its time."""
    return {name: {"value": point[name], "time": round(point["time"], 4)} for name, point in line.peaks.items()}


def points_of(document: dict[str, Any]) -> list[Point]:
    """The points of a document; the inverse of columns()."""
    lists = document["timeline"]
    names = ("time", *VALUES)
    nodes = {int(node): values for node, values in lists["resident_by_node"].items()}
    return [
        {name: lists[name][place] if name in lists else None for name in names} | {"nodes": {node: values[place] for node, values in nodes.items()}}
        for place in range(len(lists["time"]))
    ]


def _sum(name: str, values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    return max(known) if name in OF_MACHINE else sum(known)


def _together(time: float, latest: Sequence[Point | None], ended: Sequence[bool]) -> Point:
    """The samples of several launchers at one moment, added up. If a launcher's program has ended, it uses nothing."""
    points = [point for point in latest if point is not None]
    alive = [point for point, over in zip(latest, ended, strict=True) if point is not None and not over]
    whole: Point = {"time": time}
    for name in (*GAUGES, *RATES, "device_age"):
        whole[name] = _sum(name, [point[name] for point in alive]) if alive else 0
    for name in COUNTERS:
        whole[name] = _sum(name, [point[name] for point in points])
    whole["nodes"] = {node: sum(point["nodes"].get(node, 0) for point in alive) for point in alive for node in point["nodes"]}
    return whole


def merged(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The documents of an MPI job's launchers on one machine, merged into one. Times count from the first start."""
    whole = dict(min(documents, key=lambda document: document["started_at"]))
    if len(documents) == 1:
        return whole
    shifts = [document["started_at"] - whole["started_at"] for document in documents]
    lists = [points_of(document) for document in documents]
    events = sorted(
        ((shift + point["time"], number, point) for number, shift in enumerate(shifts) for point in lists[number]), key=lambda event: event[:2]
    )
    line = TimeLine()
    latest: list[Point | None] = [None] * len(documents)
    left = [len(points) for points in lists]
    for time, number, point in events:
        latest[number] = point
        left[number] -= 1
        line.add(_together(time, latest, [rest == 0 and other != number for other, rest in enumerate(left)]))
    whole["seconds"] = max(shift + document["seconds"] for shift, document in zip(shifts, documents, strict=True))
    whole["timeline"], whole["peaks"] = columns(line.points, whole["nodes"]), peaks(line)
    whole["processes"] = [
        process | {"from": process["from"] + shift, "to": process["to"] + shift}
        for shift, document in zip(shifts, documents, strict=True)
        for process in document["processes"]
    ]
    if any(document["device"]["scope"] == "processes" for document in documents):
        whole["device"] = next(document["device"] for document in documents if document["device"]["scope"] == "processes")
    sampling = [document["sampling"] for document in documents]
    whole["sampling"] = {
        **whole["sampling"],
        "samples": sum(part["samples"] for part in sampling),
        "backed_off": any(part["backed_off"] for part in sampling),
        "cpu_seconds": sum(part["cpu_seconds"] for part in sampling),
        "cpu_share": sum(part["cpu_share"] for part in sampling),
    }
    return whole

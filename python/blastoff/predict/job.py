"""Facts about a job of many ranks, from a user or a publication (share/job.schema.json)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from blastoff import files
from blastoff.errors import CommandError
from blastoff.replay import machines


@dataclass(frozen=True)
class Communication:
    """The allreduce operations over all nodes in a job's whole run."""

    collectives: float = 0.0
    bytes: float = 0.0
    """Bytes of all collectives together."""
    latency: float = 0.0
    """Latency of a message between two nodes in seconds."""
    bandwidth: float = math.inf
    """Bytes per second between two nodes."""
    source: str = ""

    def seconds(self, nodes: int) -> float:
        """Seconds by Rabenseifner's algorithm: a reduce-scatter, then an allgather. The ranks of a node combine their data first, which is taken
        to cost nothing.

        R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations in MPICH (2005), section 4.5.
        """
        return 2 * (self.collectives * math.ceil(math.log2(nodes)) * self.latency + (nodes - 1) / nodes * self.bytes / self.bandwidth)


@dataclass(frozen=True)
class Run:
    """A published run."""

    policy: str
    """"none": a run on CPUs only."""
    source: str
    seconds: float | None = None
    calls: float | None = None
    """Seconds in BLAS calls."""
    moving: float | None = None
    """Seconds in which matrices were moved."""


@dataclass(frozen=True)
class Figure:
    """A published time of the whole program."""

    nodes: int
    policy: str
    seconds: float
    source: str


@dataclass(frozen=True)
class Published:
    """Runs of one job on one machine."""

    machine: str
    nodes: int
    ranks_per_node: int
    ranks_source: str
    gpus_per_node: int
    runs: tuple[Run, ...]
    compare: tuple[Figure, ...]


@dataclass(frozen=True)
class Job:
    """Facts about a job that traces do not tell; without traces, its published runs."""

    name: str = ""
    units: int | None = None
    """Number of equal pieces of work that the ranks divide among themselves, such as atoms, k-points or blocks. None: any share is possible."""
    unit: str = "units"
    units_source: str = ""
    ranks: int | None = None
    """Ranks of the traced job. None: each rank has a trace."""
    serial: float = 0.0
    """Seconds of each rank that do not become fewer with more ranks."""
    serial_source: str = ""
    communication: Communication | None = None
    published: Published | None = None
    references: Mapping[str, str] | None = None


class Reader:
    """A part of the file. Each mistake in it is reported in one line that names the key."""

    def __init__(self, path: str, name: str, value: Any) -> None:
        self.path, self.name, self.value = path, name, value
        if not isinstance(value, dict):
            raise self.wrong("", "an object")

    def wrong(self, key: str, accepted: str) -> CommandError:
        place = ".".join(filter(None, (self.name, key))) or "the file"
        return CommandError(f"predict: {self.path}: {place}; accepted: {accepted} (share/job.schema.json)")

    def number(self, key: str, otherwise: float | None = None, least: float = 0.0) -> float:
        value = self.value.get(key, otherwise)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < least:
            raise self.wrong(key, f"a number from {least:g} on")
        return value

    def optional(self, key: str) -> float | None:
        return self.number(key) if key in self.value else None

    def whole(self, key: str) -> int:
        value = self.number(key, least=1)
        if value != int(value):
            raise self.wrong(key, "a whole number from 1 on")
        return int(value)

    def text(self, key: str, otherwise: str | None = None) -> str:
        value = self.value.get(key, otherwise)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, "text")
        return value

    def part(self, key: str) -> "Reader | None":
        return Reader(self.path, ".".join(filter(None, (self.name, key))), self.value[key]) if key in self.value else None

    def parts(self, key: str) -> list["Reader"]:
        value = self.value.get(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, "a list")
        return [Reader(self.path, f"{self.name}.{key}[{place}]", each) for place, each in enumerate(value)]


def read_communication(part: Reader) -> Communication:
    bandwidth = part.number("bandwidth")
    if not bandwidth:
        raise part.wrong("bandwidth", "bytes per second, more than 0")
    return Communication(part.number("collectives"), part.number("bytes"), part.number("latency"), bandwidth, part.text("source"))


def read_published(part: Reader) -> Published:
    runs = tuple(
        Run(run.text("policy"), run.text("source"), run.optional("seconds"), run.optional("calls_seconds"), run.optional("moving_seconds"))
        for run in part.parts("runs")
    )
    compare = tuple(
        Figure(each.whole("nodes"), each.text("policy"), each.number("seconds", least=1e-9), each.text("source")) for each in part.parts("compare")
    )
    nodes, ranks, gpus = (part.whole(key) for key in ("nodes", "ranks_per_node", "gpus_per_node"))
    return Published(part.text("machine"), nodes, ranks, part.text("ranks_source"), gpus, runs, compare)


def find(name: str) -> str:
    """The path of a job that came with Blastoff, found by its name. A path stays as it is."""
    if "/" in name or name.endswith(".json"):
        return name
    known = {path.stem: path for path in sorted((machines.shipped().parent / "jobs").glob("*.json"))}
    if name not in known:
        raise CommandError(f"predict: job {name} is not known; known: {', '.join(known) or 'none'}, or the path of a file")
    return str(known[name])


def read(name: str) -> Job:
    """Reads the job in a file. Mistakes in the file raise CommandError."""
    path = find(name)
    try:
        whole = files.parsed(files.read(path))
    except OSError as error:
        raise CommandError(f"predict: {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise CommandError(f"predict: {path} is not JSON: {error}") from error
    top = Reader(path, "", whole)
    if whole.get("blastoff_job") != 1:
        raise top.wrong("blastoff_job", "1")
    units, serial, communication, published = (top.part(key) for key in ("units", "serial", "communication", "published"))
    references = top.part("references")
    return Job(
        name=top.text("name"),
        units=units.whole("count") if units else None,
        unit=units.text("name", "units") if units else "units",
        units_source=units.text("source") if units else "",
        ranks=top.whole("ranks") if "ranks" in whole else None,
        serial=serial.number("seconds") if serial else 0.0,
        serial_source=serial.text("source") if serial else "",
        communication=read_communication(communication) if communication else None,
        published=read_published(published) if published else None,
        references={key: references.text(key) for key in references.value} if references else None,
    )

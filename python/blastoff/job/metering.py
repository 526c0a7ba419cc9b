"""The energy of a run on one machine. Puts what its launchers have read (run/energy.py) into the reports of its processes, and sums up the
energy of a job."""

from __future__ import annotations

import glob
import json
import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blastoff.job import runs

if TYPE_CHECKING:
    from blastoff.job.processes import Job, Process

Document = dict[str, Any]
"""The object `energy` of a report."""

KINDS = ("cpu", "memory", "gpu")
BEFORE_MARKS = "before the first mark"
END = "\n}\n"
"""The end of a report as the library writes it."""
MAX_PHASES = 256
"""Most phases in a report. If there are more, phases of the same name are added up there."""
MAX_FILES = 4096
"""Most files that the energy of a run is written to."""


@dataclass
class _Count:
    """The readings of one counter: their times, and the joules since the first reading."""

    about: dict[str, Any]
    times: list[float] = field(default_factory=list)
    joules: list[float] = field(default_factory=list)
    latest: tuple[int, float] = (0, 0.0)
    """The launcher that read last (process id), and the value that it read."""

    def add(self, reader: int, moment: float, value: float) -> None:
        before = self.joules[-1] if self.joules else 0.0
        known = bool(self.joules) and (self.about["lasting"] or self.latest[0] == reader)
        step = value - self.latest[1] if known else 0.0
        if step < 0:  # the counter has wrapped around or was reset
            step = step + self.about["wraps_at"] if self.about["wraps_at"] else 0.0
        self.times.append(moment)
        self.joules.append(before + step)
        self.latest = (reader, value)

    def at_marks(self, moments: Sequence[float]) -> list[float]:
        """The joules at each mark, from the first reading after it. If that reading also follows the next mark, the power between the two
        readings is taken to be constant."""
        followed = [min(bisect_left(self.times, moment), len(self.times) - 1) for moment in moments]
        values = []
        for moment, place, following in zip(moments, followed, [*followed[1:], -1], strict=True):
            value = self.joules[place]
            if place == following and place > 0:
                before, after = self.times[place - 1], self.times[place]
                share = (moment - before) / (after - before) if after > before else 1.0
                value = self.joules[place - 1] + max(0.0, share) * (value - self.joules[place - 1])
            values.append(value)
        return values


def _lines(directory: Path) -> Iterable[dict[str, Any]]:
    try:
        text = (runs.bulk(directory) / runs.ENERGY).read_text(encoding="utf-8")
    except OSError:
        return
    for line in text.splitlines():
        with suppress(ValueError):  # a launcher was killed while it wrote
            yield json.loads(line)


def _counts(directory: Path) -> tuple[list[_Count], dict[str, str]]:
    """All counters, and for each kind that could not be read the reason."""
    counts: dict[tuple[str, str, str], _Count] = {}
    of_reader: dict[int, list[_Count]] = {}
    unreadable: dict[str, str] = {}
    for said in _lines(directory):
        own = of_reader.setdefault(said["by"], [])
        unreadable.update(said.get("unreadable", {}))
        for about in said.get("counters", []):
            own.append(counts.setdefault((about["kind"], about["name"], about["bus"]), _Count(about)))
        for count, value in zip(own, said.get("joules", []), strict=False):
            count.add(said["by"], said["time"], value)
    read = [count for count in counts.values() if len(count.times) > 1]
    return read, {kind: why for kind, why in unreadable.items() if not any(count.about["kind"] == kind for count in read)}


def _phases(directory: Path, counts: Sequence[_Count]) -> list[dict[str, Any]]:
    """The phases between the marks of the program. Consecutive marks of the same name, such as those of several ranks, begin one phase."""
    from blastoff.sampling import own

    begin, end = min(count.times[0] for count in counts), max(count.times[-1] for count in counts)
    marks = [(begin, BEFORE_MARKS), *((moment, name) for moment, _, name in own.marks(directory)[0] if begin <= moment <= end)]
    marks = [mark for place, mark in enumerate(marks) if place == 0 or mark[1] != marks[place - 1][1]]
    if len(marks) == 1:
        return []
    moments = [moment for moment, _ in marks]
    joules = [[*count.at_marks(moments), count.joules[-1]] for count in counts]
    phases = [
        {"name": name, "from": moment - begin, "seconds": until - moment, "joules": [values[place + 1] - values[place] for values in joules]}
        for place, ((moment, name), until) in enumerate(zip(marks, [*moments[1:], end], strict=True))
    ]
    return phases if len(phases) <= MAX_PHASES else _by_name(phases)


def _by_name(phases: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds up phases of the same name; each begins where the first of them began."""
    found: dict[str, dict[str, Any]] = {}
    for phase in phases:
        known = found.setdefault(phase["name"], phase)
        if known is not phase:
            known["seconds"] += phase["seconds"]
            known["joules"] = [one + other for one, other in zip(known["joules"], phase["joules"], strict=True)]
    return list(found.values())


def collect(directory: Path) -> Document | None:
    """What the launchers of a run have read; None if they have read nothing."""
    counts, unreadable = _counts(directory)
    if not counts and not unreadable:
        return None
    first = min((count.times[0] for count in counts), default=0.0)
    return {
        "of": f"{os.uname().nodename}:{directory.name.partition('.ended-')[0]}:{first:.6f}",
        "counters": [
            {"kind": count.about["kind"], "name": count.about["name"], "bus": count.about["bus"]}
            | {"joules": count.joules[-1], "seconds": count.times[-1] - count.times[0]}
            for count in counts
        ],
        "unreadable": [{"kind": kind, "reason": why} for kind, why in unreadable.items()],
        "phases": _phases(directory, counts) if counts else [],
    }


def _files_of(pattern: str) -> Iterable[str]:
    """The files that may be reports of this pattern."""
    if pattern.endswith("/") or os.path.isdir(pattern):
        return glob.iglob(f"{glob.escape(pattern.rstrip('/'))}/*.json")
    for word in ("%p", "%r", "%h"):
        pattern = pattern.replace(word, "*")
    return glob.iglob(f"{pattern}*")


def attach(document: Document | None, processes: Sequence[Process], pattern: str) -> None:
    """Adds the energy to all reports of the run on this machine, in memory and in files, so that each report tells it. Sums over a job count it
    once."""
    if document is None:
        return
    for process in processes:
        process.report["energy"] = document
    names = {process.report["process"]["run"] for process in processes}  # launchers of ranks each have one
    if pattern.startswith("/dev/") or not pattern:
        return
    for place, path in enumerate(_files_of(pattern)):
        if place >= MAX_FILES:
            break
        with suppress(OSError, ValueError):
            _write_to(Path(path), names, document)


RUN = re.compile(r'"run": "([^"\\]*)"')


def _write_to(path: Path, runs_of_node: set[str], document: Document) -> None:
    """Adds the key `energy` to a report of one of these runs. Replaces the file in one step."""
    if not path.is_file() or path.is_symlink():
        return
    text = path.read_text(encoding="utf-8")
    run = RUN.search(text, 0, 4096)
    if run is None or run[1] not in runs_of_node or not text.endswith(END) or '\n  "energy": ' in text:
        return
    inner = json.dumps(document, indent=2).replace("\n", "\n  ")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_text(f'{text.removesuffix(END)},\n  "energy": {inner}\n}}\n', encoding="utf-8")
        unfinished.chmod(path.stat().st_mode & 0o777)
        unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)


@dataclass
class Energy:
    """A job's joules by kind, and for each kind that is missing on some machine the reason."""

    joules: dict[str, float] = field(default_factory=dict)
    gpus: list[str] = field(default_factory=list)
    seconds: float = 0.0
    unreadable: dict[str, str] = field(default_factory=dict)
    phases: dict[str, tuple[float, dict[str, float]]] = field(default_factory=dict)
    """The program's phases by name: seconds, and joules by kind."""


def _buses(processes: Iterable[Process]) -> set[str]:
    """The PCI addresses of the GPUs that the processes have used."""
    parts = [part for process in processes for part in (process.report["device"], *process.report.get("devices", []))]
    return {part["bus"] for part in parts if part.get("bus")}


def energy_of(job: Job) -> Energy | None:
    """Sums over all processors and over the GPUs that the job's processes have used, each counted once; None if no energy was read."""
    nodes: dict[str, list[Process]] = {}
    for process in job.processes:
        if process.report.get("energy"):
            nodes.setdefault(process.report["energy"]["of"], []).append(process)
    if not nodes:
        return None
    result = Energy()
    for processes in nodes.values():
        _add(result, processes[0].report["energy"], _buses(processes))
    return result


def _by_kind(document: Document, buses: set[str], values: Iterable[float]) -> dict[str, float]:
    """Sums by kind over the counters of processors and of the GPUs on these buses."""
    sums: dict[str, float] = {}
    for counter, value in zip(document["counters"], values, strict=True):
        if counter["kind"] != "gpu" or counter["bus"] in buses:
            sums[counter["kind"]] = sums.get(counter["kind"], 0.0) + value
    return sums


def _together(some: dict[str, float], others: dict[str, float]) -> dict[str, float]:
    return {kind: some.get(kind, 0.0) + others.get(kind, 0.0) for kind in KINDS if kind in some or kind in others}


def _add(sums: Energy, document: Document, buses: set[str]) -> None:
    """Adds one machine to the sums. Its phases of the same name are added up."""
    counters = document["counters"]
    sums.joules = _together(sums.joules, _by_kind(document, buses, [counter["joules"] for counter in counters]))
    sums.seconds = max([sums.seconds, *(counter["seconds"] for counter in counters)])
    sums.gpus += [counter["name"] for counter in counters if counter["kind"] == "gpu" and counter["bus"] in buses]
    sums.unreadable |= {entry["kind"]: entry["reason"] for entry in document["unreadable"] if entry["kind"] != "gpu" or buses}
    here: dict[str, tuple[float, dict[str, float]]] = {}
    for phase in document["phases"]:
        seconds, joules = here.get(phase["name"], (0.0, {}))
        here[phase["name"]] = (seconds + phase["seconds"], _together(joules, _by_kind(document, buses, phase["joules"])))
    for name, (seconds, joules) in here.items():
        longest, before = sums.phases.get(name, (0.0, {}))
        sums.phases[name] = (max(longest, seconds), _together(before, joules))

"""Runs the six applications in every memory mode and times each phase separately."""

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from math import isfinite
from typing import Any

import numpy as np

from blastoff import quantities
from blastoff.lab.applications.application import Application, Buffers
from blastoff.lab.applications.bfs import Bfs
from blastoff.lab.applications.hotspot import Hotspot
from blastoff.lab.applications.needle import Needle
from blastoff.lab.applications.pathfinder import Pathfinder
from blastoff.lab.applications.quantum_volume import QuantumVolume
from blastoff.lab.applications.srad import Srad
from blastoff.lab.host import available
from blastoff.lab.kernels.table import Intent
from blastoff.lab.modes import BLOCKS, CHUNKS, EXPLICIT, MANAGED, MANAGED_PREFETCH, MANAGED_REMOTE, SYSTEM, SYSTEM_PREFETCH, Mode
from blastoff.lab.session import Session, seconds_of

MODES = (EXPLICIT, MANAGED, MANAGED_PREFETCH, MANAGED_REMOTE, SYSTEM, SYSTEM_PREFETCH, BLOCKS)
NAMES = ("quantum volume", "needle", "pathfinder", "bfs", "hotspot", "srad")
HOST_SHARE = 4
HOST_SHARES = {"bfs": 8, "hotspot": 9, "srad": 9}
"""Host memory that a problem needs, as a multiple of the size of its arrays: for their contents, for copies, and for the CPU's computation,
which may be in double precision."""

Maker = tuple[str, int, Callable[[], Application]]
"""Name, bytes of the arrays, and a function that makes the problem."""


def problems(session: Session) -> list[Maker]:
    """The problems in the order of size, the smallest first."""
    if session.quick:
        return [
            ("quantum volume", 8 << 12, lambda: QuantumVolume(12)),
            ("quantum volume", 8 << 12, lambda: QuantumVolume(12, chunks=8)),
            ("needle", 8 << 14, lambda: Needle(128)),
            ("pathfinder", 4 * 41 << 12, lambda: Pathfinder(4096, 2)),
            ("bfs", 32 << 12, lambda: Bfs(1 << 12)),
            ("hotspot", 12 << 16, lambda: Hotspot(256, 8)),
            ("srad", 12 << 16, lambda: Srad(256, 4)),
        ]
    found: list[Maker] = []
    for scale in range(5):
        side, qubits = 1024 << scale, 20 + 3 * scale + (scale == 4)
        found += [
            ("quantum volume", 8 << qubits, lambda qubits=qubits: QuantumVolume(qubits)),
            ("needle", 8 * side**2, lambda side=side: Needle(side)),
            ("pathfinder", 324 * 256 * side << scale, lambda columns=256 * side << scale: Pathfinder(columns, 4)),
            ("bfs", 32 * 64 * side << scale, lambda nodes=64 * side << scale: Bfs(nodes)),
            ("hotspot", 12 * side**2, lambda side=side: Hotspot(side, 10)),
            ("srad", 12 * side**2, lambda side=side: Srad(side, 6)),
            ("quantum volume", 8 << qubits, lambda qubits=qubits: QuantumVolume(qubits, chunks=16)),
        ]
    return found


def on_host(application: Application, buffers: Buffers, name: str, intent: Intent) -> AbstractContextManager[np.ndarray]:
    array = application.arrays[name]
    return buffers[name].on_host(intent, array.kind, *array.shape)


def initialise(application: Application, buffers: Buffers, names: list[str]) -> None:
    for name in names:
        with on_host(application, buffers, name, Intent.WRITE) as array:
            application.initialise(name, array)


def read(application: Application, buffers: Buffers, names: list[str]) -> None:
    for name in names:
        with on_host(application, buffers, name, Intent.READ) as array:
            array.sum()


def error_of(application: Application, buffers: Buffers, names: list[str]) -> float:
    with ExitStack() as stack:
        return application.error({name: stack.enter_context(on_host(application, buffers, name, Intent.READ)) for name in names})


def measure(session: Session, application: Application, mode: Mode) -> dict[str, Any]:
    """Measures one application in one mode. The device's own clock times its part of the computation."""
    device, arrays = session.device, application.arrays
    with ExitStack() as stack:
        began = time.perf_counter()
        buffers = {name: mode.allocate(device, array.size, stack) for name, array in arrays.items()}
        allocation = time.perf_counter() - began
        initialised = [name for name, array in arrays.items() if array.initialised]
        read_back = [name for name, array in arrays.items() if array.read_back]
        initialisation = seconds_of(lambda: initialise(application, buffers, initialised))
        moving = seconds_of(lambda: [buffers[name].before_launch() for name in arrays if name in initialised])
        began = time.perf_counter()
        with device.span() as span:
            application.compute(device, buffers)
        computation = time.perf_counter() - began
        moving += seconds_of(lambda: [buffers[name].after_launch() for name in read_back])
        reading = seconds_of(lambda: read(application, buffers, read_back))
        if application.needs_undo:
            application.undo(device, buffers)
            for name in read_back:
                buffers[name].after_launch()
        error = error_of(application, buffers, read_back)
        began = time.perf_counter()
        stack.close()
        release = time.perf_counter() - began
    computed = moving + computation
    return {
        "application": application.name,
        "problem": application.size_text,
        "mode": mode.name,
        "bytes": application.size,
        "allocation": allocation,
        "initialisation": initialisation,
        "moving": moving,
        "computation": computation,
        "kernels": span.seconds,
        "reading": reading,
        "release": release,
        "total": allocation + initialisation + computed + reading + release,
        "error": error if isfinite(error) else None,
        "tolerance": application.tolerance,
        "right": bool(error <= application.tolerance),
    }


def modes_of(application: Application) -> Iterable[Mode]:
    return (CHUNKS, BLOCKS) if application.chunks else MODES


def make(session: Session, name: str, size: int, maker: Callable[[], Application]) -> Application | None:
    """The problem with the CPU's result; None if there is no time or no memory for it."""
    what = f"{name}, {quantities.size(size)}"
    if not session.has_time(("make", name), size, what):
        return None
    needed = HOST_SHARES.get(name, HOST_SHARE) * size
    if needed > available():
        session.note_cannot(what, f"the problem and its check need {quantities.size(needed)} of host memory")
        return None
    made: list[Application] = []
    session.last["make", name] = size, seconds_of(lambda: made.append(maker()))
    return made[0]


def run(session: Session) -> None:
    for name, size, maker in problems(session):
        if session.only and name not in session.only:
            continue
        if size > session.largest:
            limit = quantities.size(session.largest)
            why = f"one experiment takes at most {limit}: a quarter of what is free on the device or the host, whichever is less"
            session.note_cannot(f"{name}, {quantities.size(size)}", why)
            continue
        session.say(f"{name}, {quantities.size(size)}")
        application = make(session, name, size, maker)
        if application is None:
            continue
        session.device.prepare(*application.kernels)
        for mode in filter(session.wants, modes_of(application)):
            what = f"{name}, {application.size_text}, {mode.name}"
            key = ("applications", name, mode.name)
            session.attempt(key, size, what, lambda application=application, mode=mode: measure(session, application, mode))
    session.results().rules = rules(session.results().rows)


def rules(rows: list[dict[str, Any]]) -> list[str]:
    """For each application and problem, the mode that takes the least time in all."""
    lines = []
    for name, problem in dict.fromkeys((row["application"], row["problem"]) for row in rows):
        of_this = [row for row in rows if (row["application"], row["problem"]) == (name, problem)]
        if len(of_this) > 1:
            ranked = sorted(of_this, key=lambda row: row["total"])
            times = ", ".join(f"{row['mode']} {quantities.duration(row['total'])}" for row in ranked)
            lines.append(f"{name}, {problem}: {times}")
    return lines

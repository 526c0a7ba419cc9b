"""Runs the six applications in every memory mode and times each phase separately."""

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np

from blastoff import marks, quantities
from blastoff.lab.applications import aer
from blastoff.lab.applications.application import Application, Buffers
from blastoff.lab.applications.bfs import Bfs
from blastoff.lab.applications.hotspot import Hotspot
from blastoff.lab.applications.needle import Needle
from blastoff.lab.applications.pathfinder import Pathfinder
from blastoff.lab.applications.quantum_volume import QuantumVolume
from blastoff.lab.applications.srad import Srad
from blastoff.lab.buffers import DeviceBuffer
from blastoff.lab.device import Device
from blastoff.lab.failures import Cannot
from blastoff.lab.host import available
from blastoff.lab.kernels.table import Intent
from blastoff.lab.modes import (
    BLOCKS,
    CHUNKS,
    EXPLICIT,
    MANAGED,
    MANAGED_PREFETCH,
    MANAGED_REMOTE,
    SYSTEM,
    SYSTEM_BASE,
    SYSTEM_HUGE,
    SYSTEM_PREFETCH,
    Mode,
)
from blastoff.lab.session import Session, seconds_of

MODES = (EXPLICIT, MANAGED, MANAGED_PREFETCH, MANAGED_REMOTE, SYSTEM, SYSTEM_BASE, SYSTEM_HUGE, SYSTEM_PREFETCH, BLOCKS)
NAMES = ("quantum volume", "needle", "pathfinder", "bfs", "hotspot", "srad")
HOST_SHARE = 4
HOST_SHARES = {"bfs": 8, "hotspot": 9, "srad": 9}
"""Host memory that a problem needs, as a multiple of the size of its arrays: for their contents, for copies, and for the CPU's computation,
which may be in double precision."""


@dataclass(frozen=True)
class Maker:
    """A problem that can be made: `size` is the bytes of its arrays."""

    name: str
    size: int
    make: Callable[[], Application]
    initialised_by: str = "cpu"
    chunked: bool = False


def problems(session: Session) -> list[Maker]:
    """The problems in the order of size, the smallest first."""
    if session.quick:
        return [
            Maker("quantum volume", 8 << 12, lambda: QuantumVolume(12)),
            Maker("quantum volume", 8 << 12, lambda: QuantumVolume(12, by_device=True), "gpu"),
            Maker("quantum volume", 8 << 10, lambda: QuantumVolume(10, chunks=8), chunked=True),
            Maker("needle", 8 << 14, lambda: Needle(128)),
            Maker("pathfinder", 4 * 41 << 12, lambda: Pathfinder(4096, 2)),
            Maker("bfs", 32 << 12, lambda: Bfs(1 << 12)),
            Maker("hotspot", 12 << 16, lambda: Hotspot(256, 8)),
            Maker("srad", 12 << 16, lambda: Srad(256, 4)),
            Maker("srad", 16 << 16, lambda: Srad(256, 4, by_device=True), "gpu"),
        ]
    return [maker for scale in range(5) for maker in problems_of(scale)]


def problems_of(scale: int) -> list[Maker]:
    """The problems of one size; each is about four times as large as that of the scale before."""
    side, qubits = 1024 << scale, 20 + 3 * scale + (scale == 4)
    return [
        Maker("quantum volume", 8 << qubits, partial(QuantumVolume, qubits)),
        Maker("needle", 8 * side**2, partial(Needle, side)),
        Maker("pathfinder", 324 * 256 * side << scale, partial(Pathfinder, 256 * side << scale, 4)),
        Maker("bfs", 32 * 64 * side << scale, partial(Bfs, 64 * side << scale)),
        Maker("hotspot", 12 * side**2, partial(Hotspot, side, 10)),
        Maker("srad", 12 * side**2, partial(Srad, side, 8)),
        Maker("quantum volume", 8 << qubits, partial(QuantumVolume, qubits, by_device=True), "gpu"),
        Maker("srad", 16 * side**2, partial(Srad, side, 8, by_device=True), "gpu"),
        Maker("quantum volume", 8 << qubits, partial(QuantumVolume, qubits, chunks=16), chunked=True),
    ]


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


def allocate(application: Application, mode: Mode, device: Device, stack: ExitStack) -> Buffers:
    """The arrays in this kind of memory. What only kernels use stays in device memory, as a program would have it."""
    buffers: Buffers = {}
    for name, array in application.arrays.items():
        if array.device_only and mode.kind != "blocks":
            if reason := mode.why_not(device):
                raise Cannot(reason)
            buffers[name] = DeviceBuffer(device, array.size)
            stack.callback(buffers[name].release)
        else:
            buffers[name] = mode.allocate(device, array.size, stack)
    return buffers


def move(application: Application, buffers: Buffers, initialised: list[str], mode: Mode) -> None:
    """Brings what the CPU has initialised to the device. Arrays that a kernel writes first are not copied, but prefetched where that is the mode."""
    for name, array in application.arrays.items():
        buffer = buffers[name]
        if isinstance(buffer, DeviceBuffer) and array.contents is not None:
            buffer.upload(array.contents)
        elif name in initialised or (array.by_device and mode.prefetched):
            buffer.before_launch()


def on_device(application: Application, device: Device, buffers: Buffers) -> None:
    if application.initialised_by == "gpu":
        application.initialise_on_device(device, buffers)
        device.synchronize()


def computed(application: Application, device: Device, buffers: Buffers) -> tuple[float, float, list[float]]:
    """Seconds of the computation, seconds on the device's clock, and of these the seconds of each iteration."""
    times: list[Any] = []
    application.lap = lambda: times.append(device.mark())  # type: ignore[method-assign]
    began = time.perf_counter()
    with device.span() as span:
        application.lap()
        application.compute(device, buffers)
    wall = time.perf_counter() - began
    laps = [device.seconds_between(*pair) for pair in pairwise(times)]
    device.forget(times)
    return wall, span.seconds, laps


def measure(session: Session, application: Application, mode: Mode) -> dict[str, Any]:
    """Measures one application in one mode. The device's own clock times its part of the computation."""
    device, arrays = session.device, application.arrays

    def phase(name: str) -> None:
        """For a memory profile of the laboratory."""
        marks.mark(f"{application.name}, {application.size_text}, {mode.name}: {name}")

    with ExitStack() as stack:
        phase("allocation")
        began = time.perf_counter()
        buffers = allocate(application, mode, device, stack)
        allocation = time.perf_counter() - began
        as_block = mode.kind == "blocks"
        initialised = [name for name, array in arrays.items() if array.initialised or (as_block and array.contents is not None)]
        read_back = [name for name, array in arrays.items() if array.read_back]
        phase("initialisation")
        initialisation = seconds_of(lambda: initialise(application, buffers, initialised))
        moving = seconds_of(lambda: move(application, buffers, initialised, mode))
        initialisation += seconds_of(lambda: on_device(application, device, buffers))
        phase("computation")
        computation, kernels, laps = computed(application, device, buffers)
        phase("reading")
        moving += seconds_of(lambda: [buffers[name].after_launch() for name in read_back])
        reading = seconds_of(lambda: read(application, buffers, read_back))
        phase("check")
        if application.needs_undo:
            application.undo(device, buffers)
            for name in read_back:
                buffers[name].after_launch()
        error = error_of(application, buffers, read_back)
        phase("release")
        began = time.perf_counter()
        stack.close()
        release = time.perf_counter() - began
    marks.mark("between")
    return {
        "application": application.name,
        "problem": application.size_text,
        "mode": mode.name,
        "initialised_by": application.initialised_by,
        "bytes": application.size,
        "allocation": allocation,
        "initialisation": initialisation,
        "moving": moving,
        "computation": computation,
        "kernels": kernels,
        "laps": laps,
        "lap_bytes": application.lap_bytes,
        "reading": reading,
        "release": release,
        "total": allocation + initialisation + moving + computation + reading + release,
        "error": error if isfinite(error) else None,
        "tolerance": application.tolerance,
        "right": bool(error <= application.tolerance),
    }


def modes_of(application: Application) -> Iterable[Mode]:
    return (CHUNKS, BLOCKS) if application.chunks else MODES


def make(session: Session, maker: Maker) -> Application | None:
    """The problem with the CPU's result; None if there is no time or no memory for it."""
    what = f"{maker.name}, {quantities.size(maker.size)}"
    if not session.has_time(("make", maker.name), maker.size, what):
        return None
    needed = HOST_SHARES.get(maker.name, HOST_SHARE) * maker.size
    if needed > available():
        session.note_cannot(what, f"the problem and its check need {quantities.size(needed)} of host memory")
        return None
    made: list[Application] = []
    session.last["make", maker.name] = maker.size, seconds_of(lambda: made.append(maker.make()))
    return made[0]


def run(session: Session) -> None:
    for maker in problems(session):
        name, size = maker.name, maker.size
        if session.only and name not in session.only:
            continue
        if size > session.largest:
            limit = quantities.size(session.largest)
            why = f"one experiment takes at most {limit}: a quarter of what is free on the device or the host, whichever is less"
            session.note_cannot(f"{name}, {quantities.size(size)}", why)
            continue
        session.say(f"{name}, {quantities.size(size)}" + (", GPU-initialised" if maker.initialised_by == "gpu" else ""))
        application = make(session, maker)
        if application is None:
            continue
        session.device.prepare(*application.kernels)
        for mode in filter(session.wants, modes_of(application)):
            what = f"{name}, {application.size_text}, {mode.name}"
            key = ("applications", name, maker.initialised_by, mode.name)
            session.attempt(key, size, what, lambda application=application, mode=mode: measure(session, application, mode))
        if isinstance(application, QuantumVolume) and not maker.chunked and maker.initialised_by == "cpu" and not session.memory:
            key, what = ("applications", "Qiskit Aer"), f"{name}, {application.size_text}, Qiskit Aer"
            session.attempt(key, size, what, lambda application=application: aer.measure(session, application))
    session.results().rules = rules(session.results().rows)


def rules(rows: list[dict[str, Any]]) -> list[str]:
    """For each application and problem, the modes by the time that they take in all, and their speed-up over explicit copies."""
    lines = []
    for name, problem in dict.fromkeys((row["application"], row["problem"]) for row in rows):
        of_this = [row for row in rows if (row["application"], row["problem"]) == (name, problem)]
        if len(of_this) > 1:
            ranked = sorted(of_this, key=lambda row: row["total"])
            explicit = next((row["total"] for row in of_this if row["mode"] == EXPLICIT.name), None)
            gains = [f" ({explicit / row['total']:.3g}x)" if explicit and row["mode"] != EXPLICIT.name else "" for row in ranked]
            times = ", ".join(f"{row['mode']} {quantities.duration(row['total'])}{gain}" for row, gain in zip(ranked, gains, strict=True))
            lines.append(f"{name}, {problem}: {times}")
    return lines

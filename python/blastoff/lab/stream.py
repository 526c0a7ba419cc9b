"""STREAM: the rates of copy, mul, add and triad for the CPU and the GPU, on host memory and on device memory.

J. D. McCalpin, *Memory Bandwidth and Machine Balance in Current High Performance Computers* (1995), with the names of BabelStream: copy is
c = a, mul b = s c, add c = a + b, triad a = b + s c. A rate counts each array once, and is the best of REPEATS.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from blastoff import quantities
from blastoff.lab.buffers import Buffer, for_launch
from blastoff.lab.device import Device
from blastoff.lab.failures import Cannot
from blastoff.lab.kernels.table import STREAM_ADD, STREAM_COPY, STREAM_MUL, STREAM_TRIAD, Intent, Kernel
from blastoff.lab.modes import EXPLICIT, PAGE_LOCKED, SYSTEM, SYSTEM_PREFETCH, Mode
from blastoff.lab.session import Session, seconds_of

SCALE = 2.0
REPEATS = 10
ARRAYS = {"copy": 2, "mul": 2, "add": 3, "triad": 3}
"""Arrays that each loop reads or writes."""

PLACES = (
    ("cpu", "host", EXPLICIT),
    ("cpu", "device", SYSTEM_PREFETCH),
    ("gpu", "host", PAGE_LOCKED),
    ("gpu", "host", SYSTEM),
    ("gpu", "device", EXPLICIT),
    ("gpu", "device", SYSTEM_PREFETCH),
)
LARGEST = 256 << 20
"""Bytes of an array: far more than any cache holds."""

QUICK = 1 << 18
PIECE = 1 << 16
"""Numbers that a thread of the CPU computes at a time in triad. They stay in its cache between the two steps."""


def why_not(device: Device, by: str, memory: str, mode: Mode) -> str:
    """Why this machine has no such rate; "" if it has."""
    if by == "cpu" and memory == "device" and not device.cpu_reaches_its_memory():
        return "the CPU cannot reach the device's memory: the device does not use the CPU's page tables (Grace-Hopper does)"
    return mode.why_not(device)


def on_cpu(pool: ThreadPoolExecutor, threads: int, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> dict[str, Callable[[], None]]:
    """The four loops, each on all threads."""

    def triad(part: slice) -> None:
        for start in range(part.start, part.stop, PIECE):
            piece = slice(start, min(part.stop, start + PIECE))
            np.multiply(c[piece], SCALE, out=a[piece])
            np.add(a[piece], b[piece], out=a[piece])

    loops: dict[str, Callable[[slice], Any]] = {
        "copy": lambda part: np.copyto(c[part], a[part]),
        "mul": lambda part: np.multiply(c[part], SCALE, out=b[part]),
        "add": lambda part: np.add(a[part], b[part], out=c[part]),
        "triad": triad,
    }
    share = -(-len(a) // threads)

    parts = [slice(first, min(len(a), first + share)) for first in range(0, len(a), share)]

    def on_all(loop: Callable[[slice], Any]) -> None:
        list(pool.map(loop, parts))

    return {name: lambda loop=loop: on_all(loop) for name, loop in loops.items()}


def best_of_all(timed: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The least seconds of each loop. They run in turns, so that each needs what the one before computed."""
    rounds = [{name: loop() for name, loop in timed.items()} for _ in range(REPEATS)]
    return {name: min(seconds[name] for seconds in rounds) for name in timed}


def expected() -> tuple[float, float, float]:
    """Each element of a, b and c at the end. The comparison is exact: all values are whole numbers below 2^53."""
    a = 1.0
    for _ in range(REPEATS):
        b = SCALE * a
        c = a + b
        a = b + SCALE * c
    return a, b, c


def cpu_seconds(arrays: list[Buffer], n: int) -> dict[str, float]:
    threads = len(os.sched_getaffinity(0))
    with ExitStack() as stack:
        views = [stack.enter_context(buffer.on_host(Intent.UPDATE, np.float64, n)) for buffer in arrays]
        pool = stack.enter_context(ThreadPoolExecutor(threads))
        loops = on_cpu(pool, threads, *views)
        return best_of_all({name: partial(seconds_of, loop) for name, loop in loops.items()})


def gpu_seconds(device: Device, arrays: list[Buffer], n: int) -> dict[str, float]:
    a, b, c = arrays
    loops = {"copy": (STREAM_COPY, (n, a, c)), "mul": (STREAM_MUL, (n, SCALE, c, b)), "add": (STREAM_ADD, (n, a, b, c))}
    loops |= {"triad": (STREAM_TRIAD, (n, SCALE, b, c, a))}

    def timed(kernel: Kernel, values: tuple[Any, ...]) -> float:
        with for_launch(kernel, values) as arguments:
            return device.timed_launches(1, kernel, device.blocks_for(n), (256, 1), *arguments)[0]

    return best_of_all({name: partial(timed, *loop) for name, loop in loops.items()})


def measure(device: Device, by: str, memory: str, mode: Mode, size: int) -> list[dict[str, Any]]:
    """The four rates for arrays of `size` bytes."""
    n = size // 8
    with ExitStack() as stack:
        arrays = [mode.allocate(device, 8 * n, stack) for _ in range(3)]
        for buffer, value in zip(arrays, (1.0, 2.0, 0.0), strict=True):
            with buffer.on_host(Intent.WRITE, np.float64, n) as view:
                view.fill(value)
            buffer.before_launch()
        best = cpu_seconds(arrays, n) if by == "cpu" else gpu_seconds(device, arrays, n)
        right = True
        for buffer, value in zip(arrays, expected(), strict=True):
            if by == "gpu":
                buffer.after_launch()
            with buffer.on_host(Intent.READ, np.float64, n) as view:
                right = right and bool((view == value).all())
    about = {"by": by, "memory": memory, "mode": mode.name, "bytes": 8 * n}
    return [
        about | {"operation": name, "seconds": seconds, "rate": ARRAYS[name] * 8 * n / max(seconds, 1e-9), "right": right}
        for name, seconds in best.items()
    ]


def run(session: Session) -> None:
    device = session.device
    size = min(session.largest // 3, QUICK if session.quick else LARGEST) // 8 * 8
    session.results()
    device.prepare(STREAM_COPY, STREAM_MUL, STREAM_ADD, STREAM_TRIAD)
    for by, memory, mode in PLACES:
        what = f"{by} on {memory} memory, {mode.name}"
        if reason := why_not(device, by, memory, mode):
            session.note_cannot(what, reason)
            continue
        session.say(f"stream, {what}, {quantities.size(size)}")
        if session.has_time(("stream", by), size, what):
            began = time.perf_counter()
            try:
                session.results().rows += measure(device, by, memory, mode, size)
            except Cannot as reason:
                session.note_cannot(what, str(reason))
            session.last["stream", by] = size, time.perf_counter() - began

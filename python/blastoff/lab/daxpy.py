"""DAXPY: the CPU touches two arrays, then kernels use them. The number of launches per touch and the kind of memory vary."""

import time
from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from blastoff import quantities
from blastoff.lab.buffers import Buffer, for_launch
from blastoff.lab.kernels.table import DAXPY, Intent
from blastoff.lab.modes import MODES, Mode
from blastoff.lab.session import Session, seconds_of

SCALE = 2.0
MARKED = 257
"""Distance of the elements of x that begin with 3 instead of 1, so that a result in the wrong place is noticed."""


TIE = 1.05
"""Factor by which another mode must be faster to replace the best mode. Smaller differences are noise."""


def touch(x: Buffer, y: Buffer, n: int, turn: int = 0) -> None:
    """The CPU writes both arrays of n numbers at first, and adds 1 to every element later."""
    intent = Intent.UPDATE if turn else Intent.WRITE
    with x.on_host(intent, np.float64, n) as xs, y.on_host(intent, np.float64, n) as ys:
        if turn:
            xs += 1
            ys += 1
        else:
            write_first(xs, ys)


def write_first(x: np.ndarray, y: np.ndarray) -> None:
    x.fill(1)
    x[::MARKED] = 3
    y.fill(0)


def expected(start: float, inner: int, turns: int) -> float:
    """An element of y at the end. All values are integers: the comparison is exact."""
    x, y = start, 0.0
    for turn in range(turns):
        x, y = x + (turn > 0), y + (turn > 0)
        for _ in range(inner):
            y += SCALE * x
    return y


def is_right(y: np.ndarray, inner: int, turns: int) -> bool:
    marked = np.count_nonzero(y[::MARKED] == expected(3, inner, turns))
    plain = np.count_nonzero(y == expected(1, inner, turns))
    return bool(marked == len(y[::MARKED]) and plain == len(y) - marked)


def ends_right(y: Buffer, n: int, inner: int, turns: int) -> bool:
    with y.on_host(Intent.READ, np.float64, n) as ys:
        return is_right(ys, inner, turns)


def measure(session: Session, mode: Mode, size: int, inner: int, outer: int) -> dict[str, Any]:
    """One case: `outer` rounds of one touch and `inner` launches."""
    device, n = session.device, size // 16
    with ExitStack() as stack:
        x, y = (mode.allocate(device, 8 * n, stack) for _ in range(2))
        rounds = []
        for turn in range(outer):
            began = time.perf_counter()
            touched = seconds_of(partial(touch, x, y, n, turn))
            moved = seconds_of(x.before_launch) + seconds_of(y.before_launch)
            with for_launch(DAXPY, (n, SCALE, x, y)) as arguments:
                kernels = device.timed_launches(inner, DAXPY, device.blocks_for(n), (256, 1), *arguments)
            moved += seconds_of(y.after_launch)
            rounds.append({"touch": touched, "moving": moved, "kernels": kernels, "total": time.perf_counter() - began})
        right = ends_right(y, n, inner, outer)
    later = [seconds for part in rounds for seconds in part["kernels"][1:]]
    return {
        "mode": mode.name,
        "bytes": 16 * n,
        "inner": inner,
        "outer": outer,
        "kernel_first": median(part["kernels"][0] for part in rounds),
        "kernel_later": median(later) if later else None,
        "kernel_count": len(later),
        "kernel": median(sum(part["kernels"]) for part in rounds),
        "touch_first": rounds[0]["touch"],
        "touch_later": median(part["touch"] for part in rounds[1:]) if outer > 1 else None,
        "moving": median(part["moving"] for part in rounds),
        "total_first": rounds[0]["total"],
        "total_later": median(part["total"] for part in rounds[1:]) if outer > 1 else None,
        "totals": [sum(part["total"] for part in rounds[: turns + 1]) for turns in range(outer)],
        "right": right,
    }


def sizes(session: Session) -> list[int]:
    """Sizes from 128 bytes per multiprocessor up to the largest that may be used."""
    found, size = [], 128 * session.device.multiprocessors
    while size <= session.largest:
        found.append(size)
        size *= 8
    if session.quick:
        return found[1:-1:2][:3] or found[:1]
    if found and session.largest > 2 * found[-1]:
        found.append(session.largest // 16 * 16)
    return found


def run(session: Session) -> None:
    """Measures all cases in the order of size, the smallest first, so that only the largest are left out if time runs short."""
    inners, outer = ((1, 4, 16), 3) if session.quick else ((1, 4, 16, 64), 4)
    session.device.prepare(DAXPY)
    for mode in MODES:
        if reason := mode.why_not(session.device):
            session.note_cannot(mode.name, reason)
    for size in sizes(session):
        session.say(f"daxpy, {quantities.size(size)}")
        for inner in inners:
            for mode in MODES:
                if mode.why_not(session.device):
                    continue
                what = f"{mode.name}, {quantities.size(size)}, {inner} launches per touch"
                case = partial(measure, session, mode, size, inner, outer)
                session.attempt(("daxpy", mode.name, inner), size, what, case)
    session.results().rules = rules(session.results().rows)


def best(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return min(rows, key=lambda row: row["total_later"])


def rules(rows: list[dict[str, Any]]) -> list[str]:
    """For each size, which mode is best from how many launches per touch on. Only rounds after the first count."""
    lines, modes = [], len({row["mode"] for row in rows})
    for size in sorted({row["bytes"] for row in rows}):
        phrases, previous = [], None
        for inner in sorted({row["inner"] for row in rows if row["bytes"] == size}):
            compared = [row for row in rows if (row["bytes"], row["inner"]) == (size, inner)]
            if len(compared) < modes:
                continue  # a mode is missing: there was no time for it
            winner = best(compared)
            if previous and previous["mode"] != winner["mode"]:
                held = next(row for row in compared if row["mode"] == previous["mode"])
                winner = held if held["total_later"] < TIE * winner["total_later"] else winner
            if not previous or winner["mode"] != previous["mode"]:
                phrases.append(f"{winner['mode']} from {inner} {'launch' if inner == 1 else 'launches'} per touch")
            previous = winner
        if phrases:
            lines.append(f"{quantities.size(size)}: {', '.join(phrases)}")
    return lines

"""DAXPY: the CPU touches an array, then kernels use it. The launches per touch, the rounds, the size and the kind of memory vary.

The benchmark of Gayatri, Gott and Deslippe (PMBS 2019): `outer` rounds of a touch by the CPU and `inner` launches of y = a x + y. The CPU writes
x once, and y in every round."""

import time
from contextlib import ExitStack
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from blastoff import quantities
from blastoff.lab.buffers import Buffer, for_launch
from blastoff.lab.device import Device
from blastoff.lab.kernels.table import DAXPY, Intent
from blastoff.lab.modes import MODES, Mode
from blastoff.lab.session import Session, seconds_of

SCALE = 2.0
MARKED = 257
"""Distance of the elements of x that begin with 3 instead of 1, so that a result in the wrong place is noticed."""


WARM_UPS = 2
"""Launches on small arrays of the same kind before each case, so that no measurement includes what only a first launch costs."""

WARM_BYTES = 1 << 12
SWEPT = tuple(range(1, 11))
"""Launches per touch, and rounds, of the sweeps at one size."""

SWEPT_BYTES = 64 << 20
PUBLISHED = "Gayatri et al.: 6 to 8"

TIE = 1.05
"""Factor by which another mode must be faster to replace the best mode, also at the next number of launches. Anything less is noise."""


def touch(x: Buffer, y: Buffer, n: int, turn: int = 0) -> None:
    """The CPU writes both arrays of n numbers at first, and adds 1 to every element of y later."""
    if turn:
        with y.on_host(Intent.UPDATE, np.float64, n) as ys:
            ys += 1
    else:
        with x.on_host(Intent.WRITE, np.float64, n) as xs, y.on_host(Intent.WRITE, np.float64, n) as ys:
            write_first(xs, ys)


def write_first(x: np.ndarray, y: np.ndarray) -> None:
    x.fill(1)
    x[::MARKED] = 3
    y.fill(0)


def expected(start: float, inner: int, turns: int) -> float:
    """An element of y at the end. All values are integers: the comparison is exact."""
    return SCALE * start * inner * turns + max(0, turns - 1)


def is_right(y: np.ndarray, inner: int, turns: int) -> bool:
    marked = np.count_nonzero(y[::MARKED] == expected(3, inner, turns))
    plain = np.count_nonzero(y == expected(1, inner, turns))
    return bool(marked == len(y[::MARKED]) and plain == len(y) - marked)


def ends_right(y: Buffer, n: int, inner: int, turns: int) -> bool:
    with y.on_host(Intent.READ, np.float64, n) as ys:
        return is_right(ys, inner, turns)


def warm_up(device: Device, mode: Mode) -> bool:
    """Launches the kernel on small arrays; whether the result was right."""
    n = WARM_BYTES // 16
    with ExitStack() as stack:
        x, y = (mode.allocate(device, 8 * n, stack) for _ in range(2))
        touch(x, y, n)
        x.before_launch()
        y.before_launch()
        with for_launch(DAXPY, (n, SCALE, x, y)) as arguments:
            device.timed_launches(WARM_UPS, DAXPY, device.blocks_for(n), (256, 1), *arguments)
        y.after_launch()
        return ends_right(y, n, WARM_UPS, 1)


def measure(session: Session, mode: Mode, size: int, inner: int, outer: int) -> dict[str, Any]:
    """One case: `outer` rounds of one touch and `inner` launches."""
    device, n = session.device, size // 16
    warm = warm_up(device, mode)
    grid = device.blocks_for(n)
    with ExitStack() as stack:
        start = time.perf_counter()
        x, y = (mode.allocate(device, 8 * n, stack) for _ in range(2))
        allocation = time.perf_counter() - start
        rounds = []
        for turn in range(outer):
            began = time.perf_counter()
            touched = seconds_of(partial(touch, x, y, n, turn))
            moved = seconds_of(y.before_launch) + (0.0 if turn else seconds_of(x.before_launch))
            with for_launch(DAXPY, (n, SCALE, x, y)) as arguments:
                kernels = device.timed_launches(inner, DAXPY, grid, (256, 1), *arguments)
            back = seconds_of(y.after_launch)
            moved += back
            rounds.append({"touch": touched, "moving": moved, "back": back, "kernels": kernels, "total": time.perf_counter() - began})
        whole = time.perf_counter() - start
        right = warm and ends_right(y, n, inner, outer)
    later = [seconds for part in rounds for seconds in part["kernels"][1:]]
    return {
        "mode": mode.name,
        "bytes": 16 * n,
        "block_bytes": 16 * n / grid[0],
        "inner": inner,
        "outer": outer,
        "kernel_first": median(part["kernels"][0] for part in rounds),
        "kernel_later": median(later) if later else None,
        "kernel_count": len(later),
        "kernel": median(sum(part["kernels"]) for part in rounds),
        "touch_first": rounds[0]["touch"],
        "touch_later": median(part["touch"] for part in rounds[1:]) if outer > 1 else None,
        "moving": median(part["moving"] for part in rounds),
        "back": median(part["back"] for part in rounds),
        "allocation": allocation,
        "whole": whole,
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
    inners, outer = session.inners or inners, session.outer or outer
    session.device.prepare(DAXPY)
    for mode in MODES:
        if session.wants(mode) and (reason := mode.why_not(session.device)):
            session.note_cannot(mode.name, reason)
    cases = [(size, inners, outer) for size in sizes(session)]
    if not session.quick and not session.inners:
        cases.append((min(session.largest, SWEPT_BYTES) // 16 * 16, SWEPT, session.outer or max(SWEPT)))
    for case in sorted(cases):
        measure_size(session, *case)
    rows = session.results().rows
    session.results().rules = rules(rows) + crossovers(rows)


def measure_size(session: Session, size: int, inners: tuple[int, ...], outer: int) -> None:
    """Measures one size with each number of launches per touch, in all modes."""
    session.say(f"daxpy, {quantities.size(size)}")
    for inner in inners:
        for mode in MODES:
            if not session.wants(mode) or mode.why_not(session.device):
                continue
            what = f"{mode.name}, {quantities.size(size)}, {quantities.counted(inner, 'launch', 'launches')} per touch"
            case = partial(measure, session, mode, size, inner, outer)
            session.attempt(("daxpy", mode.name, inner, outer), size, what, case)


def rules(rows: list[dict[str, Any]]) -> list[str]:
    """For each size, which mode is best from how many launches per touch on. Only rounds after the first count."""
    lines, modes = [], {row["mode"] for row in rows}
    for size in sorted({row["bytes"] for row in rows}):
        totals: dict[int, dict[str, float]] = {}
        for row in (row for row in rows if row["bytes"] == size):
            totals.setdefault(row["inner"], {})[row["mode"]] = row["total_later"]
        complete = [(inner, totals[inner]) for inner in sorted(totals) if totals[inner].keys() == modes]  # there was time for every mode
        phrases, held = [], ""
        for place, (inner, seconds) in enumerate(complete):
            winner = min(seconds, key=lambda mode: seconds[mode])
            following = complete[place + 1][1] if place + 1 < len(complete) else seconds
            if not held or all(TIE * each[winner] <= each[held] for each in (seconds, following)):
                if winner != held:
                    phrases.append(f"{winner} from {inner} {'launch' if inner == 1 else 'launches'} per touch")
                held = winner
        if phrases:
            lines.append(f"{quantities.size(size)}: {', '.join(phrases)}")
    return lines


STAY, MOVE = ("system", "managed remote", "page-locked"), ("managed", "managed prefetch", "system prefetch", "explicit")
"""Modes whose data stays where the CPU put it, and modes whose data moves to the device."""


def crossover(rows: list[dict[str, Any]]) -> float | None:
    """The launches per touch from which on moving the data beats leaving it, by the best mode of either kind; between two measured numbers on
    the straight line. It must pay at the next number, too, or it is noise. Infinite if moving never pays; None if one kind was not measured, or for
    one number only. `rows` are of one size."""
    gains: list[tuple[int, float]] = []
    for inner in sorted({row["inner"] for row in rows}):
        of_this = [row for row in rows if row["inner"] == inner and row["total_later"] is not None]
        stays, moves = ([row["total_later"] for row in of_this if row["mode"] in kind] for kind in (STAY, MOVE))
        if stays and moves:
            gains.append((inner, min(stays) - min(moves)))
    if len(gains) < 2:
        return None
    for place, (inner, gain) in enumerate(gains):
        if gain > 0 and all(later > 0 for _, later in gains[place + 1 : place + 2]):
            low, loss = gains[max(place - 1, 0)]
            return low + (inner - low) * -loss / (gain - loss) if loss <= 0 else float(inner)
    return float("inf")


def crossovers(rows: list[dict[str, Any]]) -> list[str]:
    """The crossover of each size, as a number."""
    lines = []
    for size in sorted({row["bytes"] for row in rows}):
        of_this = [row for row in rows if row["bytes"] == size]
        found, counts = crossover(of_this), [row["inner"] for row in of_this]
        if found is None:
            continue
        if found > max(counts):
            words = f"moving does not pay up to {max(counts)} launches per touch"
        else:
            least = "or fewer " if found == min(counts) else ""
            words = f"moving pays from {found:.3g} {least}launches per touch on"
        lines.append(f"{quantities.size(size)}: {words} ({PUBLISHED})")
    return lines

"""Pages: the cost of the first touch on either side, how many neighbouring bytes move with a touch, and the effect of page sizes."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

from blastoff import page_settings, quantities
from blastoff.lab import host
from blastoff.lab.buffers import ExplicitBuffer, FixedBuffer, SystemBuffer
from blastoff.lab.failures import Cannot
from blastoff.lab.kernels.table import FILL, WALK
from blastoff.lab.modes import EXPLICIT, MANAGED, MANAGED_PREFETCH, SYSTEM, Mode
from blastoff.lab.session import Session, seconds_of

FAULT_SECONDS = {"cpu": 5e-6, "gpu": 10e-6}
"""A touch that takes longer has moved a page: reading memory that is already there takes less than a microsecond, a fault takes tens."""

STEP = 4096
"""Bytes between two touches when the granularity is measured."""

WALKED = 32 << 20
COUNTED_LAUNCHES, COUNTED_READS = 64, 12
CLEAR = 1.1
"""Least ratio of two times that counts as a difference."""


def fill_by_kernel(session: Session, buffer: FixedBuffer, value: int) -> float:
    """Seconds of a kernel that writes the whole buffer."""
    words = buffer.size // 8
    return session.device.timed_launches(1, FILL, session.device.blocks_for(words), (256, 1), words, value, buffer.address)[0]


def filled(buffer: FixedBuffer, value: int) -> bool:
    """Whether the CPU sees the values that the kernel `fill` wrote."""
    buffer.after_launch()
    words = buffer.view(np.int64, buffer.size // 8)
    return bool(words[0] == value and words[-1] == value + len(words) - 1 and np.all(np.diff(words) == 1))


def touch_by_cpu(buffer: FixedBuffer) -> float:
    return seconds_of(lambda: buffer.host.fill(1))


def touch_pages(buffer: FixedBuffer) -> float:
    """Seconds in which the CPU writes one byte of every page, as pre-touching does."""

    def touch() -> None:
        buffer.host[:: host.base_page()] = 1

    return seconds_of(touch)


def first_touch(session: Session, mode: Mode, size: int, by: str) -> dict[str, Any]:
    """Measures the first and second touch by the CPU, by the GPU, or by the GPU after the CPU has touched each page ("gpu, pre-touched")."""
    with ExitStack() as stack:
        allocated = time.perf_counter()
        buffer = mode.allocate(session.device, size, stack)
        allocation = time.perf_counter() - allocated
        before = touch_pages(buffer) if by == "gpu, pre-touched" else 0.0
        if by == "cpu":
            first, second = touch_by_cpu(buffer), touch_by_cpu(buffer)
            right = bool(np.all(buffer.host == 1))
        else:
            moved = seconds_of(buffer.before_launch) if mode.prefetched else 0.0
            first, second = fill_by_kernel(session, buffer, 5) + moved, fill_by_kernel(session, buffer, 9)
            right = filled(buffer, 9)
    return {
        "experiment": "first touch",
        "mode": mode.name,
        "by": by,
        "bytes": size,
        "allocation": allocation,
        "pre_touch": before,
        "first": first,
        "second": second,
        "right": right,
    }


def distances(seconds: Sequence[float], limit: float) -> list[int]:
    """Bytes from each touch that moved pages to the next one that did."""
    slow = [number * STEP for number, taken in enumerate(seconds) if taken > limit]
    return [after - before for before, after in pairwise(slow)]


def cpu_walk(words: np.ndarray) -> tuple[list[float], bool]:
    """Seconds of each read of one word every STEP bytes, and whether the words were right."""
    taken, right = [], True
    for at in range(0, len(words), STEP // 8):
        began = time.perf_counter()
        value = words[at]
        taken.append(time.perf_counter() - began)
        right = right and value == at + 7
    return taken, bool(right)


def gpu_walk(session: Session, buffer: FixedBuffer, stack: ExitStack) -> tuple[list[float], bool]:
    """Does what `cpu_walk` does in one thread of the device."""
    device, steps = session.device, buffer.size // STEP
    notes = ExplicitBuffer(device, 16 * steps)
    stack.callback(notes.release)
    device.launch(WALK, (1, 1), (1, 1), steps, STEP // 8, buffer.address, notes.address, notes.address + 8 * steps)
    notes.after_launch()
    ticks, seen = notes.view(np.int64, 2, steps)
    rate = 1000.0 * device.attributes().get("clock_khz", 1_000_000)
    return [float(tick) / rate for tick in ticks], bool(np.array_equal(seen, np.arange(steps) * (STEP // 8) + 7))


def granularity(session: Session, mode: Mode, size: int, by: str) -> dict[str, Any]:
    """Measures the distance between touches that move pages, when one side reads what the other side has written."""
    with ExitStack() as stack:
        buffer = mode.allocate(session.device, size, stack)
        if by == "cpu":
            fill_by_kernel(session, buffer, 7)
            session.device.synchronize()
            taken, right = cpu_walk(buffer.view(np.int64, size // 8))
        else:
            buffer.view(np.int64, size // 8)[:] = np.arange(7, 7 + size // 8)
            taken, right = gpu_walk(session, buffer, stack)
    # If pages move at all, the first touch moves some. Otherwise slow touches come from the operating system.
    limit = FAULT_SECONDS[by] if taken[0] > FAULT_SECONDS[by] else float("inf")
    found = distances(taken, limit)
    slow = [seconds for seconds in taken if seconds > limit]
    return {
        "experiment": "granularity",
        "mode": mode.name,
        "by": by,
        "bytes": size,
        "touches": len(taken),
        "moves": len(slow),
        "move_seconds": median(slow) if slow else None,
        "distance": int(median(found)) if found else None,
        "distances": sorted(set(found)),
        "right": right,
    }


def page_size(session: Session, kind: str, size: int, huge: bool) -> dict[str, Any]:
    """Measures the first touch by the CPU and the transfer to the device, for base pages and for huge pages of host memory."""
    device = session.device
    with ExitStack() as stack:
        if kind == "explicit":
            memory = host.host_memory(size, huge)
            address = device.allocate(size)
            stack.callback(lambda: device.release(address))
            first = seconds_of(lambda: memory.fill(3))
            used = [seconds_of(lambda: device.upload(address, memory)) for _ in range(3)]
            back = np.empty(size, np.uint8)
            device.download(back, address)
            right = bool(np.all(back == 3))
        else:
            buffer = SystemBuffer(device, size, prefetched=False, huge_pages=huge)
            stack.callback(buffer.release)
            first = seconds_of(lambda: buffer.host.fill(3))
            used = [fill_by_kernel(session, buffer, 5) for _ in range(3)]
            right = filled(buffer, 5)
    return {
        "experiment": "page size",
        "mode": kind,
        "pages": "huge" if huge else "base",
        "bytes": size,
        "first": first,
        "used_first": used[0],
        "used_later": median(used[1:]),
        "right": right,
    }


def access_counters(session: Session, size: int) -> dict[str, Any]:
    """Measures whether launches on the same system memory become faster, because access counters move pages that the device uses often, and whether
    the pages come back when the CPU reads them again and again."""
    device, words = session.device, size // 8
    with ExitStack() as stack:
        buffer = SYSTEM.allocate(device, size, stack)
        buffer.host.fill(0)
        before = min(seconds_of(buffer.host.sum) for _ in range(2))
        taken = device.timed_launches(COUNTED_LAUNCHES, FILL, device.blocks_for(words), (256, 1), words, 5, buffer.address)
        device.synchronize()
        reads = [seconds_of(buffer.host.sum) for _ in range(COUNTED_READS)]
        right = filled(buffer, 5)
    return {
        "experiment": "access counters",
        "mode": SYSTEM.name,
        "bytes": size,
        "first": taken[0],
        "early": median(taken[1:8]),
        "late": median(taken[-8:]),
        "cpu_before": before,
        "cpu_first": reads[0],
        "cpu_late": median(reads[-4:]),
        "right": right,
    }


def cases(session: Session, size: int) -> list[tuple[str, int, Callable[[], dict[str, Any]]]]:
    """The cases: a description, the amount of work, and a function that measures."""
    found: list[tuple[str, int, Callable[[], dict[str, Any]]]] = []
    for mode in (EXPLICIT, MANAGED, MANAGED_PREFETCH, SYSTEM):
        for by in ("cpu", "gpu", "gpu, pre-touched"):
            if mode is not EXPLICIT or by != "gpu, pre-touched":
                found.append((f"first touch of {mode.name} memory by {by}", size, lambda mode=mode, by=by: first_touch(session, mode, size, by)))
    walked = min(size, WALKED)
    for mode in (MANAGED, SYSTEM):
        for by in ("cpu", "gpu"):
            found.append((f"granularity of {mode.name} memory by {by}", walked, lambda mode=mode, by=by: granularity(session, mode, walked, by)))
    for kind in ("explicit", "system"):
        for huge in (False, True):
            what = f"{'huge' if huge else 'base'} pages, {kind}"
            found.append((what, size, lambda kind=kind, huge=huge: checked_page_size(session, kind, size, huge)))
    found.append(("access counters", size, lambda: access_counters(session, size)))
    return found


def checked_page_size(session: Session, kind: str, size: int, huge: bool) -> dict[str, Any]:
    """Runs `page_size`; raises Cannot if the device or the kernel cannot do it."""
    if kind == "system" and (reason := session.device.why_not("system")):
        raise Cannot(reason)
    if huge and host.huge_pages() in ("", "never"):
        raise Cannot(host.NO_HUGE_PAGES)
    return page_size(session, kind, size, huge)


def run(session: Session) -> None:
    size = min(session.largest, (1 << 20) if session.quick else (1 << 30)) // STEP * STEP
    session.device.prepare(FILL, WALK)
    session.say(f"pages, {quantities.size(size)}")
    page = host.base_page()
    if page != 65536:
        session.note_cannot("64 KiB pages", f"this kernel has pages of {page // 1024} KiB; its size is fixed when the kernel is built")
    if page_settings.small_huge_pages() not in ("always", "madvise", "inherit"):
        session.note_cannot("64 KiB pages by madvise", "the kernel gives no transparent pages of 64 KiB (hugepages-64kB)")
    for what, amount, action in cases(session, size):
        session.attempt(("pages", what), amount, what, action)
    session.results().rules = rules(session.results().rows)


def rules(rows: list[dict[str, Any]]) -> list[str]:
    """The measured costs in words."""
    lines = []
    for row in rows:
        if row["experiment"] == "first touch":
            rate = row["bytes"] / row["first"]
            again = row["bytes"] / row["second"]
            lines.append(f"{row['mode']} memory, first touched by {row['by']}: {quantities.size(rate)}/s, the second time {quantities.size(again)}/s")
        elif row["experiment"] == "granularity":
            if row["distance"] is None:
                lines.append(f"{row['mode']} memory, read by {row['by']}: no touch moved pages")
            else:
                moved = f"{row['distance'] // 1024} KiB in {quantities.duration(row['move_seconds'])}"
                lines.append(f"{row['mode']} memory, read by {row['by']}: a touch that moves pages moves {moved} (median)")
        elif row["experiment"] == "access counters" and "cpu_late" in row:
            lines.append(migration(row))
    return lines


def migration(row: dict[str, Any]) -> str:
    """Whether access counters have moved pages to the device, and whether these came back to the CPU."""
    early, late = (quantities.duration(row[key]) for key in ("early", "late"))
    took = f"access counters, {quantities.size(row['bytes'])}: a launch took {early} at first, {late} later"
    if row["early"] <= CLEAR * row["late"]:
        return f"{took}: no migration was seen"
    reads = f"the CPU then read in {quantities.duration(row['cpu_first'])}, later in {quantities.duration(row['cpu_late'])}"
    back = "pages came back" if row["cpu_first"] > CLEAR * row["cpu_late"] else "no page came back"
    return f"{took}: pages moved to the GPU; {reads} ({quantities.duration(row['cpu_before'])} before the launches): {back}"

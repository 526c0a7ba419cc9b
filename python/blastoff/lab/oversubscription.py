"""Oversubscription: kernels pass over data that is smaller or larger than the free device memory, which a ballast allocation limits."""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from blastoff import quantities
from blastoff.lab.buffers import BlockBuffer, Buffer, launch
from blastoff.lab.daxpy import SCALE, ends_right, is_right, touch, write_first
from blastoff.lab.failures import Cannot
from blastoff.lab.host import host_memory
from blastoff.lab.kernels.table import DAXPY, Intent
from blastoff.lab.modes import BLOCKS, EXPLICIT, MANAGED, MANAGED_PREFETCH, MANAGED_REMOTE, SYSTEM, SYSTEM_PREFETCH, Mode
from blastoff.lab.session import Session, seconds_of

RATIOS = (0.5, 2.0, 1.0, 1.5, 0.8, 1.2, 4.0)
"""Ratios of data to free memory. The most informative come first, since there may not be time for all."""

MODES = (EXPLICIT, MANAGED, MANAGED_PREFETCH, MANAGED_REMOTE, SYSTEM, SYSTEM_PREFETCH, BLOCKS)
PASSES = 3
TILES = 16
"""At least this many blocks fit into the free memory."""

SLACK = 4
"""Granules that the ballast leaves free in addition, since the driver rounds allocations up: data of exactly the free size must still fit."""

TOO_MUCH = "managed memory beyond what the device has free can stall the GPU for everyone: only with --oversubscribe-managed"


def put_ballast(session: Session, free: int, stack: ExitStack) -> int:
    """Allocates device memory until only `free` bytes may be used. Returns the allocated bytes."""
    room = session.device.room()
    if room < free:
        raise Cannot(f"{quantities.size(free)} are needed on the device, {quantities.size(room)} may be used")
    granule = session.device.granule
    amount = max(0, room - free - min(SLACK * granule, room // 64)) // granule * granule
    if amount:
        ballast = session.device.allocate(amount)
        stack.callback(lambda: session.device.release(ballast))
    return amount


def explicit_passes(session: Session, size: int, capacity: int) -> tuple[list[float], float, bool]:
    """Seconds of each pass, seconds of copying back, and whether the result is right. Data that fits is copied once; otherwise each pass copies
    every chunk in and out."""
    device, n = session.device, size // 16
    x, y = host_memory(8 * n).view(np.float64), host_memory(8 * n).view(np.float64)
    write_first(x, y)
    fits = size <= capacity
    chunk = n if fits else max(1, capacity // 16)
    with ExitStack() as stack:
        xs, ys = (device.allocate(8 * chunk) for _ in range(2))
        stack.callback(lambda: device.release(xs))
        stack.callback(lambda: device.release(ys))

        def run_pass(number: int) -> None:
            for start in range(0, n, chunk):
                part = slice(start, min(n, start + chunk))
                length = part.stop - part.start
                if number == 0 or not fits:
                    device.upload(xs, x[part])
                    device.upload(ys, y[part])
                device.launch(DAXPY, device.blocks_for(length), (256, 1), length, SCALE, xs, ys)
                device.synchronize()
                if not fits:
                    device.download(y[part], ys)

        taken = [seconds_of(lambda number=number: run_pass(number)) for number in range(PASSES)]
        back = seconds_of(lambda: device.download(y, ys)) if fits else 0.0
        back += seconds_of(y.sum)
    return taken, back, is_right(y, PASSES, 1)


def read(y: Buffer, n: int) -> None:
    """The CPU reads the result."""
    with y.on_host(Intent.READ, np.float64, n) as ys:
        ys.sum()


def shared_passes(session: Session, mode: Mode, size: int) -> tuple[list[float], float, bool]:
    """Seconds of each pass, seconds in which the CPU reads the result, and whether it is right."""
    device, n = session.device, size // 16
    with ExitStack() as stack:
        x, y = (mode.allocate(device, 8 * n, stack) for _ in range(2))
        touch(x, y, n)

        def run_pass(number: int) -> None:
            if number == 0:
                x.before_launch()
                y.before_launch()
            launch(device, DAXPY, device.blocks_for(n), (256, 1), n, SCALE, x, y)
            device.synchronize()

        taken = [seconds_of(lambda number=number: run_pass(number)) for number in range(PASSES)]
        back = seconds_of(lambda: read(y, n))
        return taken, back, ends_right(y, n, PASSES, 1)


@dataclass(frozen=True)
class Tile:
    """A part of both arrays, as two blocks."""

    x: BlockBuffer
    y: BlockBuffer
    length: int


def block_passes(session: Session, size: int, capacity: int) -> tuple[list[float], float, bool]:
    """The same measurement with arrays in blocks. The library moves blocks off the device when room is needed, and the next blocks come while
    kernels run."""
    device, n = session.device, size // 16
    length = 1 << max(0, (capacity // (8 * TILES)).bit_length() - 1)
    with device.blocks().at_most(capacity), ExitStack() as stack:
        tiles = []
        for start in range(0, n, length):
            part = min(length, n - start)
            x, y = (BLOCKS.allocate(device, 8 * part, stack) for _ in range(2))
            touch(x, y, part)
            tiles.append(Tile(x, y, part))

        def run_pass(number: int) -> None:
            # Every second pass runs backwards, because the blocks that were used last are still on the device.
            order = tiles if number % 2 == 0 else tiles[::-1]
            for tile, following in zip(order, [*order[1:], None], strict=True):
                if following:
                    following.x.prefetch()
                    following.y.prefetch()
                launch(device, DAXPY, device.blocks_for(tile.length), (256, 1), tile.length, SCALE, tile.x, tile.y)
            device.synchronize()

        taken = [seconds_of(lambda number=number: run_pass(number)) for number in range(PASSES)]
        back = seconds_of(lambda: [read(tile.y, tile.length) for tile in tiles])
        return taken, back, all(ends_right(tile.y, tile.length, PASSES, 1) for tile in tiles)


def measure(session: Session, mode: Mode, size: int, ratio: float) -> dict[str, Any]:
    """One ratio of data to free device memory in one mode."""
    if reason := mode.why_not(session.device):
        raise Cannot(reason)
    if mode.kind == "managed" and ratio > 1 and not session.device.oversubscribes:
        raise Cannot(TOO_MUCH)
    capacity = int(size / ratio) // 16 * 16
    with ExitStack() as stack:
        ballast = put_ballast(session, capacity, stack)
        if mode is EXPLICIT:
            taken, back, right = explicit_passes(session, size, capacity)
        elif mode is BLOCKS:
            taken, back, right = block_passes(session, size, capacity)
        else:
            taken, back, right = shared_passes(session, mode, size)
    return {
        "mode": mode.name,
        "ratio": ratio,
        "bytes": size,
        "ballast": ballast,
        "pass_first": taken[0],
        "pass_later": min(taken[1:]),
        "back": back,
        "total": sum(taken) + back,
        "right": right,
    }


def run(session: Session) -> None:
    size = min(session.largest, (1 << 20) if session.quick else (2 << 30)) // 16 * 16
    session.device.prepare(DAXPY)
    for ratio in RATIOS:
        session.say(f"oversubscription, {quantities.size(size)}, {ratio:g} times the free memory")
        for mode in MODES:
            what = f"{mode.name}, {ratio:g} times the free memory"
            session.attempt(("oversubscription", mode.name), size, what, lambda mode=mode, ratio=ratio: measure(session, mode, size, ratio))
    session.results().rules = rules(session.results().rows)


def rules(rows: list[dict[str, Any]]) -> list[str]:
    """By mode, the cost of passing over more data than fits."""
    lines = []
    for mode in dict.fromkeys(row["mode"] for row in rows):
        passes = {row["ratio"]: row["pass_later"] for row in rows if row["mode"] == mode}
        within = [seconds for ratio, seconds in passes.items() if ratio <= 1]
        beyond = [seconds for ratio, seconds in passes.items() if ratio > 1]
        if within and beyond:
            lines.append(f"{mode}: a pass over data that does not fit takes {max(beyond) / min(within):.3g} times as long as one over data that fits")
    return lines

"""What each kernel computes, in NumPy on host memory: the arguments are those of the CUDA kernel, addresses as integers.

The applications check their results against programs of their own (`blastoff.lab.applications`), which work differently.
"""

import time

import numpy as np

from blastoff.lab.host import array_at

Pair = tuple[int, int]


def daxpy(_grid: Pair, _block: Pair, n: int, a: float, x: int, y: int) -> None:
    result = array_at(y, np.float64, n)
    result += a * array_at(x, np.float64, n)


def stream_copy(_grid: Pair, _block: Pair, n: int, a: int, c: int) -> None:
    array_at(c, np.float64, n)[:] = array_at(a, np.float64, n)


def stream_mul(_grid: Pair, _block: Pair, n: int, s: float, c: int, b: int) -> None:
    array_at(b, np.float64, n)[:] = s * array_at(c, np.float64, n)


def stream_add(_grid: Pair, _block: Pair, n: int, a: int, b: int, c: int) -> None:
    array_at(c, np.float64, n)[:] = array_at(a, np.float64, n) + array_at(b, np.float64, n)


def stream_triad(_grid: Pair, _block: Pair, n: int, s: float, b: int, c: int, a: int) -> None:
    array_at(a, np.float64, n)[:] = array_at(b, np.float64, n) + s * array_at(c, np.float64, n)


def fill(_grid: Pair, _block: Pair, words: int, value: int, data: int) -> None:
    array_at(data, np.int64, words)[:] = np.arange(value, value + words)


def walk(_grid: Pair, _block: Pair, steps: int, words_per_step: int, data: int, ticks: int, seen: int) -> None:
    """Ticks are nanoseconds here."""
    words = array_at(data, np.int64, (steps - 1) * words_per_step + 1)
    times, values = array_at(ticks, np.int64, steps), array_at(seen, np.int64, steps)
    for i in range(steps):
        start = time.perf_counter_ns()
        value = words[i * words_per_step]
        times[i] = time.perf_counter_ns() - start
        values[i] = value


def _spread(index: np.ndarray, position: int) -> np.ndarray:
    """The numbers with a zero bit inserted at this position."""
    return ((index >> position) << (position + 1)) | (index & ((1 << position) - 1))


def _quads(quads: int, low: int, high: int, first: int, second: int) -> list[np.ndarray]:
    """Indices of the amplitudes that a gate mixes, one array for each row of its matrix."""
    base = _spread(_spread(np.arange(quads), low), high)
    return [base | ((k & 1) << first) | ((k >> 1) << second) for k in range(4)]


def _product(matrix: list[float], before: list[np.ndarray]) -> list[np.ndarray]:
    entries = np.array(matrix, np.float32).view(np.complex64).reshape(4, 4)
    return [sum(entries[row, column] * before[column] for column in range(4)) for row in range(4)]


def first_state(_grid: Pair, _block: Pair, amplitudes: int, state: int) -> None:
    """All qubits are 0."""
    everything = array_at(state, np.complex64, amplitudes)
    everything.fill(0)
    everything[0] = 1


def gate(_grid: Pair, _block: Pair, quads: int, low: int, high: int, first: int, second: int, matrix: list[float], state: int) -> None:
    amplitudes, where = array_at(state, np.complex64, 4 * quads), _quads(quads, low, high, first, second)
    for places, after in zip(where, _product(matrix, [amplitudes[places] for places in where]), strict=True):
        amplitudes[places] = after


def gate_on_parts(
    _grid: Pair, _block: Pair, quads: int, low: int, high: int, first: int, second: int, matrix: list[float], part_bits: int, *addresses: int
) -> None:
    """The state is in parts of 2^part_bits amplitudes, one after the other."""
    parts = [array_at(address, np.complex64, 1 << part_bits) for address in addresses if address]
    where = _quads(quads, low, high, first, second)
    state = np.concatenate(parts)
    for places, after in zip(where, _product(matrix, [state[places] for places in where]), strict=True):
        state[places] = after
    for number, part in enumerate(parts):
        part[:] = state[number << part_bits : (number + 1) << part_bits]


def align(grid: Pair, _block: Pair, length: int, penalty: int, diagonal: int, first_tile: int, similarity: int, score: int) -> None:
    tile = 32
    matches, scores = array_at(similarity, np.int32, length, length), array_at(score, np.int32, length + 1, length + 1)
    for tile_column in range(first_tile, first_tile + grid[0]):
        top, left = (diagonal - tile_column) * tile, tile_column * tile
        for step in range(2 * tile - 1):
            row = np.arange(max(0, step - tile + 1), min(step, tile - 1) + 1)
            i, j = top + row, left + step - row
            gap = np.maximum(scores[i, j + 1], scores[i + 1, j]) - penalty
            scores[i + 1, j + 1] = np.maximum(scores[i, j] + matches[i, j], gap)


def descend(_grid: Pair, _block: Pair, columns: int, row: int, steps: int, weights: int, source: int, to: int) -> None:
    cost = array_at(source, np.int32, columns).copy()
    grid = array_at(weights, np.int32, row + steps + 1, columns)
    for below in range(row + 1, row + steps + 1):
        best = cost.copy()
        best[1:] = np.minimum(best[1:], cost[:-1])
        best[:-1] = np.minimum(best[:-1], cost[1:])
        cost = best + grid[below]
    array_at(to, np.int32, columns)[:] = cost


def expand(_grid: Pair, _block: Pair, nodes: int, level: int, starts: int, neighbours: int, levels: int, changed: int) -> None:
    first = array_at(starts, np.int32, nodes + 1)
    edges, depth = array_at(neighbours, np.int32, int(first[-1])), array_at(levels, np.int32, nodes)
    for node in np.flatnonzero(depth == level):
        near = edges[first[node] : first[node + 1]]
        fresh = near[depth[near] < 0]
        if fresh.size:
            depth[fresh] = level + 1
            array_at(changed, np.int32, 1)[0] = 1


def _neighbours(image: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The values north, south, west and east of each pixel; at an edge, the pixel itself."""
    padded = np.pad(image, 1, mode="edge")
    return padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]


def heat(_grid: Pair, _block: Pair, side: int, step: float, across: float, up: float, ambient: float, power: int, source: int, to: int) -> None:
    here = array_at(source, np.float32, side, side)
    north, south, west, east = _neighbours(here)
    sideways = (north + south - 2 * here) * np.float32(across) + (east + west - 2 * here) * np.float32(across)
    change = array_at(power, np.float32, side, side) + sideways + (np.float32(ambient) - here) * np.float32(up)
    array_at(to, np.float32, side, side)[:] = here + np.float32(step) * change


def exponentiate(_grid: Pair, _block: Pair, count: int, pixels: int, image: int) -> None:
    np.exp(array_at(pixels, np.float32, count), out=array_at(image, np.float32, count))


def coefficient(_grid: Pair, _block: Pair, side: int, speckle: float, image: int, diffusion: int) -> None:
    here = array_at(image, np.float32, side, side)
    differences = [near - here for near in _neighbours(here)]
    gradient = sum(part * part for part in differences) / (here * here)
    laplacian = sum(differences) / here
    variation = (np.float32(0.5) * gradient - np.float32(0.0625) * laplacian * laplacian) / (1 + np.float32(0.25) * laplacian) ** 2
    value = 1 / (1 + (variation - np.float32(speckle)) / np.float32(speckle * (1 + speckle)))
    array_at(diffusion, np.float32, side, side)[:] = np.clip(value, 0, 1)


def diffuse(_grid: Pair, _block: Pair, side: int, rate: float, diffusion: int, source: int, to: int) -> None:
    here = array_at(source, np.float32, side, side)
    north, south, west, east = (near - here for near in _neighbours(here))
    weight = array_at(diffusion, np.float32, side, side)
    _, below, _, right = _neighbours(weight)
    divergence = weight * (north + west) + below * south + right * east
    array_at(to, np.float32, side, side)[:] = here + np.float32(0.25 * rate) * divergence

"""Breadth-first search in a random graph."""

import numpy as np

from blastoff.lab.applications.application import Application, Array, Buffers, given
from blastoff.lab.buffers import launch
from blastoff.lab.device import Device
from blastoff.lab.kernels.table import EXPAND, Intent

THREADS = 256


class Bfs(Application):
    """A graph with `nodes` nodes, each with up to eleven edges."""

    name = "bfs"
    kernels = (EXPAND,)

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        random = np.random.default_rng(3)
        starts = np.zeros(nodes + 1, np.int32)
        np.cumsum(random.integers(1, 12, nodes), out=starts[1:])
        neighbours = random.integers(0, nodes, int(starts[-1]), dtype=np.int32)
        self.size_text = f"{nodes} nodes, {len(neighbours)} edges"
        levels = np.full(nodes, -1, np.int32)
        levels[0] = 0
        self.arrays: dict[str, Array] = {
            "starts": given(starts),
            "neighbours": given(neighbours),
            "levels": given(levels, read_back=True),
            "changed": given(np.zeros(1, np.int32)),
        }
        self.expected = self.by_frontiers(starts, neighbours)

    def by_frontiers(self, starts: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        """The levels, computed as sets: the nodes of each level give those of the next."""
        levels = np.full(self.nodes, -1, np.int32)
        frontier, level = np.zeros(1, np.int64), 0
        while frontier.size:
            levels[frontier] = level
            counts = starts[frontier + 1] - starts[frontier]
            offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            reached = neighbours[np.repeat(starts[frontier], counts) + offsets]
            frontier = np.unique(reached[levels[reached] < 0])
            level += 1
        return levels

    def compute(self, device: Device, buffers: Buffers) -> None:
        changed = buffers["changed"]
        grid = -(-self.nodes // THREADS), 1
        arrays = [buffers[name] for name in ("starts", "neighbours", "levels", "changed")]
        level, more = 0, True
        while more:
            with changed.on_host(Intent.WRITE, np.int32, 1) as flag:
                flag[0] = 0
            changed.send()
            launch(device, EXPAND, grid, (THREADS, 1), self.nodes, level, *arrays)
            with changed.first_on_host(np.int32, 1) as flag:
                more = bool(flag[0])
            level += 1
            self.lap()

    def error(self, results: dict[str, np.ndarray]) -> float:
        return float(np.count_nonzero(results["levels"] != self.expected))

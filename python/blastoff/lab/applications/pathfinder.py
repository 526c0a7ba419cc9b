"""Pathfinder: the cheapest way down a grid of weights."""

import numpy as np

from blastoff.lab.applications.application import Application, Array, Buffers, given
from blastoff.lab.buffers import launch
from blastoff.lab.device import Device
from blastoff.lab.kernels.table import DESCEND

ROWS_A_LAUNCH = 20
THREADS = 256


class Pathfinder(Application):
    """`launches` is even, so that the result is in the array of the first row."""

    name = "pathfinder"
    kernels = (DESCEND,)

    def __init__(self, columns: int, launches: int) -> None:
        self.columns, self.launches = columns, launches
        rows = 1 + ROWS_A_LAUNCH * launches
        self.size_text = f"{rows} x {columns}"
        weights = np.random.default_rng(2).integers(0, 10, (rows, columns), dtype=np.int32)
        self.arrays: dict[str, Array] = {
            "weights": given(weights),
            "costs": given(weights[0].copy(), read_back=True),
            "other": Array(np.int32, (columns,), device_only=True),
        }
        self.lap_bytes = (ROWS_A_LAUNCH + 2) * weights[0].nbytes
        self.expected = self.upwards(weights)

    @staticmethod
    def upwards(weights: np.ndarray) -> np.ndarray:
        """The costs, computed one row at a time. The row has a border so expensive that no path takes it."""
        border = np.iinfo(np.int64).max // 2
        cost = np.full(weights.shape[1] + 2, border, np.int64)
        cost[1:-1] = weights[0]
        for row in weights[1:]:
            cost[1:-1] = np.min(np.lib.stride_tricks.sliding_window_view(cost, 3), axis=1) + row
        return cost[1:-1]

    def compute(self, device: Device, buffers: Buffers) -> None:
        useful = THREADS - 2 * ROWS_A_LAUNCH
        source, target = buffers["costs"], buffers["other"]
        for number in range(self.launches):
            launch(
                device,
                DESCEND,
                (-(-self.columns // useful), 1),
                (THREADS, 1),
                self.columns,
                number * ROWS_A_LAUNCH,
                ROWS_A_LAUNCH,
                buffers["weights"],
                source,
                target,
            )
            source, target = target, source
            self.lap()

    def error(self, results: dict[str, np.ndarray]) -> float:
        return float(np.count_nonzero(results["costs"] != self.expected))

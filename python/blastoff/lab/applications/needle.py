"""Needleman and Wunsch: the scores of all alignments of two sequences, along the diagonals."""

import numpy as np

from blastoff.lab.applications.application import Application, Array, Buffers, given
from blastoff.lab.buffers import launch
from blastoff.lab.device import Device
from blastoff.lab.kernels.table import ALIGN

TILE = 32
PENALTY = 10


class Needle(Application):
    """`length` is a multiple of the tile."""

    name = "needle"
    kernels = (ALIGN,)

    def __init__(self, length: int) -> None:
        self.length, self.size_text = length, f"{length} x {length}"
        random = np.random.default_rng(1)
        similarity = random.integers(-4, 12, (length, length), dtype=np.int32)
        score = np.zeros((length + 1, length + 1), np.int32)
        score[0] = score[:, 0] = -PENALTY * np.arange(length + 1)
        self.arrays: dict[str, Array] = {"similarity": given(similarity), "score": given(score, read_back=True)}
        self.expected = self.by_rows(similarity, score[0])

    def by_rows(self, similarity: np.ndarray, first: np.ndarray) -> np.ndarray:
        """The scores, computed row by row: gaps along a row are a running maximum of scores that are shifted to a common column."""
        rows = np.empty((self.length + 1, self.length + 1), np.int32)
        rows[0] = first
        shift = PENALTY * np.arange(self.length + 1, dtype=np.int32)
        for i, matches in enumerate(similarity):
            row = rows[i + 1]
            row[0] = -PENALTY * (i + 1)
            np.maximum(rows[i, :-1] + matches, rows[i, 1:] - PENALTY, out=row[1:])
            row += shift
            np.maximum.accumulate(row, out=row)
            row -= shift
        return rows

    def compute(self, device: Device, buffers: Buffers) -> None:
        tiles = self.length // TILE
        similarity, score = buffers["similarity"], buffers["score"]
        for diagonal in range(2 * tiles - 1):
            first = max(0, diagonal - tiles + 1)
            count = min(diagonal, tiles - 1) - first + 1
            launch(device, ALIGN, (count, 1), (TILE, 1), self.length, PENALTY, diagonal, first, similarity, score)

    def error(self, results: dict[str, np.ndarray]) -> float:
        return float(np.count_nonzero(results["score"] != self.expected))

"""Decompositions whose matrix products happen inside NumPy's own library. Usage: decompositions.py ORDER [ROUNDS]

Prints one JSON line for each: the seconds of every round, and the error of the decomposition.
"""

import json
import sys
import time

try:
    import numpy
except ImportError:
    raise SystemExit("decompositions.py: the Python package numpy is missing") from None

order = int(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
matrix = numpy.random.default_rng(1).standard_normal((order, order))
symmetric = matrix + matrix.T


def eigh() -> float:
    values, vectors = numpy.linalg.eigh(symmetric)
    return abs(symmetric @ vectors - vectors * values).max() / abs(values).max()


def svd() -> float:
    left, values, right = numpy.linalg.svd(matrix)
    return abs((left * values) @ right - matrix).max() / values.max()


def qr() -> float:
    orthogonal, triangular = numpy.linalg.qr(matrix)
    return abs(orthogonal @ triangular - matrix).max() / abs(triangular).max()


for decomposition in (eigh, svd, qr):
    seconds, residuals = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        residuals.append(float(decomposition()))
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"operation": decomposition.__name__, "order": order, "seconds": seconds, "residual": max(residuals)}))

#!/usr/bin/env python3
"""LAPACK through NumPy and SciPy: compares the CPU with Blastoff, and with the same routine on matrices that never leave the GPU.

    bench/lapack.py [--library FILE] [--sizes 32,...,4000] [--only eigh,solve,...] [--repeats 5] [--policy first-use]
                    [--min-size N] [--output FILE]

Each row is one NumPy or SciPy call on arrays in host memory, which also get the results. The CPU is NumPy's own BLAS on all cores: as shipped,
with the processor's kernels (bench/kernels.py), and with these kernels and the huge pages for which `blastoff run` asks malloc. Blastoff has
both. The gain is over the CPU with its kernels, without huge pages. The limit is CuPy's call on resident matrices plus the time of the matrices
on the link, if CuPy is installed. CPU and Blastoff alternate by size in separate processes. The table shows the median over the calls after the
first two, in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import time
from collections.abc import Callable

import arguments
import kernels
import starting

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIZES = (32, 64, 128, 256, 512, 1000, 2000, 4000)
SLOW = {"lstsq": 2000, "svd": 2000, "eig": 2000, "hegv": 2000}  # the largest order that is measured for a slow routine
LINK = 50e9  # bytes per second of page-locked copies over PCIe gen5
ROWS = ("cholesky", "solve", "inv", "qr", "lstsq", "sysv", "eigh", "svd", "eig", "hegv")
WARM_UP = 2


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", dest="preloaded", metavar="FILE", type=arguments.file, default=ROOT / "build" / "libblastoff.so")
    parser.add_argument("--sizes", type=arguments.numbers, default=list(SIZES))
    parser.add_argument("--only", type=arguments.words(ROWS), default=list(ROWS), help="rows, of " + ", ".join(ROWS))
    parser.add_argument("--repeats", type=arguments.count, default=5, help="timed calls of each row")
    parser.add_argument("--policy", default="first-use")
    parser.add_argument("--min-size", type=int, help="Blastoff's threshold, if not its default")
    parser.add_argument("--output", type=arguments.output, help="write the figures as JSON")
    parser.add_argument("--measure", choices=("host", "resident"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.preloaded.exists():
        parser.error(f"no library {options.preloaded}: make build")
    return options


def host_calls(n: int) -> dict[str, Callable[[], object]]:
    import numpy as np
    import scipy.linalg

    random = np.random.default_rng(n)
    a, b = random.standard_normal((2, n, n))
    symmetric, definite = (a + a.T) / 2, np.copy(a @ a.T / n + np.eye(n))  # a copy, whose memory no call has used
    tall, few = random.standard_normal((4 * n, n)), random.standard_normal((4 * n, 8))
    complex_pair = symmetric + 1j * (b - b.T), definite + 0j
    return {
        "cholesky": lambda: np.linalg.cholesky(definite),
        "solve": lambda: np.linalg.solve(a, b),
        "inv": lambda: np.linalg.inv(a),
        "qr": lambda: np.linalg.qr(a),
        "lstsq": lambda: np.linalg.lstsq(tall, few, rcond=None),
        "sysv": lambda: scipy.linalg.lapack.dsysv(symmetric, b, lwork=64 * n),
        "eigh": lambda: np.linalg.eigh(symmetric),
        "svd": lambda: np.linalg.svd(a),
        "eig": lambda: np.linalg.eig(a),
        "hegv": lambda: scipy.linalg.eigh(*complex_pair, subset_by_index=[0, n // 3]),
    }


def resident_calls(n: int) -> dict[str, Callable[[], object]]:
    """Calls on resident matrices, for the rows that CuPy computes with the same routines."""
    import cupy as cp

    random = cp.random.default_rng(n)
    a, b = random.standard_normal((2, n, n))
    symmetric, definite = (a + a.T) / 2, a @ a.T / n + cp.eye(n)
    calls = {
        "cholesky": lambda: cp.linalg.cholesky(definite),
        "solve": lambda: cp.linalg.solve(a, b),
        "inv": lambda: cp.linalg.inv(a),
        "qr": lambda: cp.linalg.qr(a),
        "eigh": lambda: cp.linalg.eigh(symmetric),
        "svd": lambda: cp.linalg.svd(a),
    }

    def finished(call: Callable[[], object]) -> Callable[[], object]:
        return lambda: (call(), cp.cuda.Device().synchronize())

    return {name: finished(call) for name, call in calls.items()}


def measure(options: argparse.Namespace) -> None:
    """Runs in a separate process. Prints a line of JSON for each row and size."""
    calls_of = host_calls if options.measure == "host" else resident_calls
    for n in options.sizes:
        for name, call in calls_of(n).items():
            if name not in options.only or n > SLOW.get(name, n):
                continue
            seconds = []
            for _ in range(WARM_UP + options.repeats):
                begin = time.perf_counter()
                call()
                seconds.append(time.perf_counter() - begin)
            print(json.dumps({"row": name, "n": n, "seconds": seconds[WARM_UP:]}), flush=True)


def figures_of(options: argparse.Namespace, n: int, measured: str, environment: dict[str, str]) -> dict[str, float]:
    """Median seconds by row."""
    choice = (
        f"--measure={measured}",
        f"--sizes={n}",
        f"--only={','.join(options.only)}",
        f"--repeats={options.repeats}",
        f"--library={options.preloaded}",
    )
    lines = starting.lines_of(__file__, choice, environment)
    return {line["row"]: statistics.median(line["seconds"]) for line in lines}


def link_seconds(row: str, n: int) -> float:
    """Seconds of the smallest possible traffic on the link: the input to the device and the output back."""
    matrices = {"cholesky": 1.5, "solve": 3, "inv": 2, "qr": 3, "lstsq": 4, "sysv": 3, "eigh": 2, "svd": 3, "eig": 3, "hegv": 6}[row]
    return matrices * 8 * n * n / LINK


def main() -> None:
    options = parse_arguments()
    if options.measure:
        measure(options)
        return
    preload = starting.with_blastoff(options)
    huge_pages = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    results = []
    own = kernels.own(kernels.PYTHON)
    print(f"{'row':10}{'n':>6}{'as shipped':>12}{'own kernels':>12}{'huge pages':>12}{'Blastoff':>12}{'limit':>12}{'gain':>8}{'of limit':>10}")
    for n in options.sizes:
        shipped = figures_of(options, n, "host", {})
        cpu = figures_of(options, n, "host", own) if own else shipped
        cpu_huge = figures_of(options, n, "host", own | huge_pages)
        ours = figures_of(options, n, "host", own | huge_pages | preload)
        resident = figures_of(options, n, "resident", {})
        for row in (row for row in ROWS if row in cpu and row in ours):
            limit = resident[row] + link_seconds(row, n) if row in resident else None
            figures = {"cpu_as_shipped": shipped.get(row), "cpu": cpu[row], "cpu_huge_pages": cpu_huge.get(row), "blastoff": ours[row]}
            results.append({"row": row, "n": n} | figures | {"limit": limit})
            text = f"{1e3 * limit:12.3f}" if limit else f"{'-':>12}"
            ratio = f"{ours[row] / limit:10.2f}" if limit else f"{'-':>10}"
            columns = "".join(f"{1e3 * seconds:12.3f}" for seconds in (shipped.get(row, 0), cpu[row], cpu_huge.get(row, 0), ours[row]))
            print(f"{row:10}{n:6}{columns}{text}{cpu[row] / ours[row]:8.2f}{ratio}", flush=True)
    if options.output:
        options.output.write_text(
            json.dumps({"policy": options.policy, "kernels": kernels.describe(kernels.PYTHON), "rows": results}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()

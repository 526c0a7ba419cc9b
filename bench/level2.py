#!/usr/bin/env python3
"""Products of a matrix and a vector through NumPy and SciPy: compares the CPU with Blastoff, and with the same product of a resident matrix.

    bench/level2.py [--library FILE] [--sizes 32,...,8000] [--only gemv,symv,...] [--calls 100] [--policy first-use] [--min-size N]
                    [--output FILE]

The matrix stays unchanged, and the program writes x before each call. A product of matrices comes first, so that opening the device is not part
of the figures. CPU and Blastoff alternate by size in separate processes. The CPU is NumPy's own BLAS on all cores: as shipped, and with the
processor's kernels (bench/kernels.py), which Blastoff has too. The limit is CuPy's product on the GPU, if CuPy is installed.

For each row: milliseconds per call (the median over --calls calls; for small sizes, over batches), and the gain. `all` is the time of all these
calls together. It includes the first calls, which the CPU makes before the matrix is on the device, and copying the matrix there.
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
SIZES = (32, 64, 128, 256, 512, 1000, 2000, 4000, 8000)
ROWS = ("gemv", "gemv-t", "sgemv", "zgemv", "symv", "hemv")
SMALL = 600  # up to this order calls are timed in batches


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", dest="preloaded", metavar="FILE", type=arguments.file, default=ROOT / "build" / "libblastoff.so")
    parser.add_argument("--sizes", type=arguments.numbers, default=list(SIZES))
    parser.add_argument("--only", type=arguments.words(ROWS), default=list(ROWS), help="rows, of " + ", ".join(ROWS))
    parser.add_argument("--calls", type=arguments.count, default=100, help="calls of each row")
    parser.add_argument("--policy", default="first-use")
    parser.add_argument("--min-size", type=int, help="Blastoff's threshold, if not its default")
    parser.add_argument("--output", type=arguments.output, help="write the figures as JSON")
    parser.add_argument("--measure", choices=("host", "resident"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.preloaded.exists():
        parser.error(f"no library {options.preloaded}: make build")
    return options


def host_call(row: str, n: int) -> tuple[Callable[[], object], Callable[[], None]]:
    """The call, and a function that the program runs before each call."""
    import numpy as np
    from scipy.linalg import blas

    random = np.random.default_rng(n)
    kind = {"sgemv": np.float32, "zgemv": np.complex128, "hemv": np.complex128}.get(row, np.float64)
    a = np.asfortranarray(random.standard_normal((n, n)).astype(kind))
    source = random.standard_normal(n).astype(kind)
    x = np.empty_like(source)

    def rewrite() -> None:
        x[:] = source

    products = {
        "symv": lambda: blas.dsymv(1.0, a, x),
        "hemv": lambda: blas.zhemv(1.0, a, x),
        "gemv-t": lambda: a.T @ x,
    }
    return products.get(row, lambda: a @ x), rewrite


def resident_call(row: str, n: int) -> tuple[Callable[[], object], Callable[[], None]]:
    import cupy as cp

    kind = {"sgemv": cp.float32, "zgemv": cp.complex128, "hemv": cp.complex128}.get(row, cp.float64)
    a = cp.asfortranarray(cp.random.default_rng(n).standard_normal((n, n)).astype(kind))
    x = cp.ones(n, dtype=kind)
    product = (lambda: a.T @ x) if row == "gemv-t" else (lambda: a @ x)
    return lambda: (product(), cp.cuda.Device().synchronize()), lambda: None


def seconds_of(call: Callable[[], object], before: Callable[[], None], n: int, calls: int) -> list[float]:
    """Seconds of each call; for small sizes, the mean of each batch."""
    batch = max(1, SMALL * SMALL // (n * n)) * 20 if n <= SMALL else 1
    seconds = []
    for _ in range(calls):
        before()
        begin = time.perf_counter()
        for _ in range(batch):
            call()
        seconds.append((time.perf_counter() - begin) / batch)
    return seconds


def measure(options: argparse.Namespace) -> None:
    """Runs in a separate process. Prints a line of JSON for each row."""
    if options.measure == "host":
        import numpy as np

        start = np.ones((1000, 1000))
        start @ start
    for n in options.sizes:
        for row in options.only:
            call, before = (host_call if options.measure == "host" else resident_call)(row, n)
            seconds = seconds_of(call, before, n, options.calls)
            print(json.dumps({"row": row, "n": n, "median": statistics.median(seconds), "all": sum(seconds)}), flush=True)


def figures_of(options: argparse.Namespace, n: int, measured: str, environment: dict[str, str]) -> dict[str, dict[str, float]]:
    choice = (
        f"--measure={measured}",
        f"--sizes={n}",
        f"--only={','.join(options.only)}",
        f"--calls={options.calls}",
        f"--library={options.preloaded}",
    )
    lines = starting.lines_of(__file__, choice, environment)
    return {line["row"]: line for line in lines}


def main() -> None:
    options = parse_arguments()
    if options.measure:
        measure(options)
        return
    preload = starting.with_blastoff(options)
    tunables = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    results = []
    own = kernels.own(kernels.PYTHON)
    print(f"{'row':8}{'n':>6}{'as shipped':>12}{'CPU':>12}{'Blastoff':>12}{'limit':>12}{'gain':>8}{'CPU all':>12}{'all':>12}{'gain':>8}")
    for n in options.sizes:
        shipped = figures_of(options, n, "host", tunables)
        cpu = figures_of(options, n, "host", tunables | own) if own else shipped
        ours = figures_of(options, n, "host", tunables | own | preload)
        resident = figures_of(options, n, "resident", {})
        for row in (row for row in ROWS if row in cpu and row in ours):
            limit = resident[row]["median"] if row in resident else None
            results.append({"row": row, "n": n, "cpu_as_shipped": shipped.get(row), "cpu": cpu[row], "blastoff": ours[row], "limit": limit})
            as_shipped = f"{1e3 * shipped[row]['median']:12.5f}" if row in shipped else f"{'-':>12}"
            plain, fast = cpu[row], ours[row]
            resident_text = f"{1e3 * limit:12.5f}" if limit else f"{'-':>12}"
            print(f"{row:8}{n:6}{as_shipped}{1e3 * plain['median']:12.5f}{1e3 * fast['median']:12.5f}{resident_text}"
                  + f"{plain['median'] / fast['median']:8.2f}{1e3 * plain['all']:12.3f}{1e3 * fast['all']:12.3f}{plain['all'] / fast['all']:8.2f}",
                  flush=True)  # fmt: skip
    if options.output:
        options.output.write_text(
            json.dumps({"policy": options.policy, "kernels": kernels.describe(kernels.PYTHON), "rows": results}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()

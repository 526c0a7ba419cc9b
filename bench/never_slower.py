#!/usr/bin/env python3
"""Whole programs under the default settings: never slower than without Blastoff, and near the best fixed setting.

    bench/never_slower.py [--library FILE] [--only NAME,...] [--repeats 5] [--modes default,first-use,...] [--seconds N] [--output FILE]

Each program is a separate process, and the figure is its wall time from start to exit, which includes opening and closing the device.
`cpu` is the program without Blastoff. It has the processor's kernels (bench/kernels.py), and so have all modes with Blastoff. If NumPy's BLAS
does not use these kernels by itself, `as-shipped` is the program without them. `again` is a second `cpu`: the ratio of both shows the machine's
scatter. `default` has run before, so that it knows its times (--history); `first` has not. Fixed settings open the device at the first call that
is large enough, and send every such call there; the smallest size is 250 if the name gives none. The modes take turns, forwards and backwards,
and the median of the repeats counts. Programs of less than a second run three times as often on the CPU and by default.

For each program: seconds on the CPU; the default's time divided by the CPU's (target: at most 1.03); the same ratio for `again` and `first`; and
the default's time divided by that of the best of all fixed settings and the CPU (target: at most 1.10). If other programs disturb the machine,
the fastest repeats are more reliable: the last columns give the default's ratios of these. --seconds: no program is started later.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import arguments
import kernels

ROOT = pathlib.Path(__file__).resolve().parents[1]
FIXED = {"BLASTOFF_START": "now", "BLASTOFF_DECIDE": "size"}
CPU = ("cpu", "again")
AS_SHIPPED = "as-shipped"
SHORT, AS_OFTEN = 1.0, 3  # a program of fewer seconds is short; it runs this many times as often
MODES: dict[str, dict[str, str]] = {
    "default": {},
    "first": {"BLASTOFF_HISTORY": "off"},
    "off": {"BLASTOFF_DEVICE": "none"},
    "first-use": FIXED,
    "copy": FIXED | {"BLASTOFF_POLICY": "copy"},
    "min-100": FIXED | {"BLASTOFF_MIN_SIZE": "100"},
    "min-500": FIXED | {"BLASTOFF_MIN_SIZE": "500"},
    "min-1000": FIXED | {"BLASTOFF_MIN_SIZE": "1000"},
}


def product(n: int, calls: int = 1, kind: str = "d") -> None:
    import numpy as np

    random = np.random.default_rng(1)
    a, b = (random.random((n, n)).astype(kind) for _ in range(2))
    for _ in range(calls):
        a @ b


def rewritten(n: int, calls: int) -> None:
    """Products; all matrices are rewritten before each."""
    import numpy as np

    a, b, c = (np.ones((n, n)) for _ in range(3))
    for call in range(calls):
        a[:] = call
        b[:] = call + 1
        np.matmul(a, b, out=c)
        float(c[0, 0])


def slices(threads: int, calls: int, m: int = 4000, n: int = 640, k: int = 400) -> None:
    """Threads that share one product; B is rewritten before each product."""
    import numpy as np

    a, b, c = np.ones((m, k), order="F"), np.ones((k, n), order="F"), np.zeros((m, n), order="F")
    step = n // threads

    def work(first: int) -> None:
        np.matmul(b[:, first : first + step].T, a.T, out=c[:, first : first + step].T)

    with ThreadPoolExecutor(threads) as team:
        for call in range(calls):
            b[:] = call
            list(team.map(work, range(0, step * threads, step)))


def matrices(n: int, count: int) -> None:
    """Many small matrices, each used once."""
    import numpy as np

    random = np.random.default_rng(1)
    sources = random.random((20, n, n))
    for i in range(count):
        a = sources[i % 20] + i
        a @ a


def iteration(n: int, steps: int) -> None:
    """Power iteration: one matrix, many vectors."""
    import numpy as np

    a = np.random.default_rng(1).random((n, n))
    x = np.ones(n)
    for _ in range(steps):
        x = a @ x
        x /= np.linalg.norm(x)


def self_consistent(n: int, steps: int) -> None:
    """Eigenvectors, a density made from them, and a new matrix made from the density."""
    import numpy as np

    h = np.random.default_rng(1).random((n, n))
    h = h + h.T
    for _ in range(steps):
        _, vectors = np.linalg.eigh(h)
        density = vectors[:, : n // 3] @ vectors[:, : n // 3].T
        h = 0.9 * h + 0.1 * (density @ h + h @ density)


def solve(n: int, calls: int) -> None:
    import numpy as np

    random = np.random.default_rng(1)
    a, b = random.random((n, n)), random.random((n, n))
    for _ in range(calls):
        np.linalg.solve(a, b)


def exponential(n: int) -> None:
    import numpy as np
    from scipy.linalg import expm

    expm(np.random.default_rng(1).random((n, n)) / n)


def sparse_factors(side: int, times: int) -> None:
    """Factors of a sparse matrix: SciPy is imported, and nearly all calls are small."""
    import sparse

    sparse.splu(side, times)


def no_algebra() -> None:
    import numpy as np

    np.sort(np.random.default_rng(1).random(3_000_000))


def learning(what: str) -> None:
    import numpy as np
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.gaussian_process import GaussianProcessRegressor

    random = np.random.default_rng(1)
    if what == "k-means":
        KMeans(50, n_init=1, max_iter=30, random_state=1).fit(random.random((60_000, 64)))
    elif what == "pca":
        PCA(100, svd_solver="full").fit(random.random((6000, 1500)))
    else:
        points = random.random((3000, 4))

        # The number of evaluations is fixed, since the number that an optimizer makes depends on rounding.
        def search(function, start, bounds):
            tried = [start + step for step in np.linspace(-1, 1, 20)]
            return min(((theta, function(theta)[0]) for theta in tried), key=lambda pair: pair[1])

        GaussianProcessRegressor(optimizer=search).fit(points, points.sum(axis=1))


PROGRAMS: dict[str, tuple[Callable[[], None], dict[str, str]]] = {
    "no linear algebra": (no_algebra, {}),
    "product 500": (lambda: product(500), {}),
    "product 2000": (lambda: product(2000), {}),
    "product 2000 single": (lambda: product(2000, kind="f"), {}),
    "product 2000 complex": (lambda: product(2000, kind="D"), {}),
    "product 5000": (lambda: product(5000), {}),
    "products 5000 x 10": (lambda: product(5000, 10), {}),
    "products 1000 x 300": (lambda: product(1000, 300), {}),
    "small products 64 x 30000": (lambda: product(64, 30_000), {}),
    "matrices 200 x 1000": (lambda: matrices(200, 1000), {}),
    "rewritten 1500 x 60": (lambda: rewritten(1500, 60), {}),
    "slices 16 x 300": (lambda: slices(16, 300), {"OPENBLAS_NUM_THREADS": "1"}),
    "power iteration 6000 x 300": (lambda: iteration(6000, 300), {}),
    "self-consistent 1000 x 20": (lambda: self_consistent(1000, 20), {}),
    "solve 2000 x 10": (lambda: solve(2000, 10), {}),
    "expm 1500": (lambda: exponential(1500), {}),
    "sparse LU 22^3 x 3": (lambda: sparse_factors(22, 3), {}),
    "k-means": (lambda: learning("k-means"), {}),
    "PCA": (lambda: learning("pca"), {}),
    "Gaussian process": (lambda: learning("gaussian process"), {}),
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", dest="preloaded", metavar="FILE", type=arguments.file, default=ROOT / "build" / "libblastoff.so")
    parser.add_argument("--only", type=arguments.words(PROGRAMS), default=list(PROGRAMS), help="programs")
    parser.add_argument("--modes", type=arguments.words(MODES), default=list(MODES), help="of " + ", ".join(MODES))
    parser.add_argument("--repeats", type=arguments.count, default=5)
    parser.add_argument("--seconds", type=arguments.positive, default=float("inf"), help="no program is begun later than that")
    parser.add_argument("--output", type=arguments.output, help="write the figures as JSON")
    parser.add_argument("--program", choices=list(PROGRAMS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.program and not options.preloaded.exists():
        parser.error(f"no library {options.preloaded}: make build")
    return options


def wall_seconds(program: str, settings: dict[str, str], folder: str) -> float | None:
    """Runs a program in the working directory `folder`. Returns None if it fails because a package is missing."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(pathlib.Path(__file__).resolve()), f"--program={program}"],
        cwd=folder,
        env=os.environ | settings,
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        print(f"{program}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return seconds


def measured(options: argparse.Namespace, program: str) -> dict[str, list[float]] | None:
    """Seconds of each repeat, by mode."""
    preload = {"LD_PRELOAD": str(options.preloaded.resolve()), "BLASTOFF_SUMMARY": "never"}
    # `blastoff run` sets this for malloc, so the CPU gets it too.
    shipped = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"} | PROGRAMS[program][1]
    common = shipped | options.kernels
    settings = {AS_SHIPPED: shipped} if options.kernels else {}
    settings |= dict.fromkeys(CPU, common) | {mode: common | preload | MODES[mode] for mode in options.modes}
    seconds: dict[str, list[float]] = {mode: [] for mode in settings}
    with tempfile.TemporaryDirectory() as folder:  # no earlier run is known in this folder
        if "default" in settings:
            wall_seconds(program, settings["default"], folder)
        repeats, repeat = options.repeats, 0
        while repeat < repeats:
            turns = [mode for mode in settings if repeat < options.repeats or mode in (*CPU, "default")]
            for mode in turns[:: 1 if repeat % 2 == 0 else -1]:
                taken = wall_seconds(program, settings[mode], folder)
                if taken is None:
                    return None
                seconds[mode].append(taken)
            repeat += 1
            if repeat == options.repeats and statistics.median(seconds["cpu"]) < SHORT:
                repeats *= AS_OFTEN
    return seconds


def compared(seconds: dict[str, float]) -> tuple[float, float, str]:
    """The default's time divided by the CPU's, the default's time divided by that of the best other mode, and that mode's name."""
    best = min((mode for mode in seconds if mode not in ("default", "first", "again", AS_SHIPPED)), key=lambda mode: seconds[mode])
    return seconds["default"] / seconds["cpu"], seconds["default"] / seconds[best], best


def main() -> None:
    options = parse_arguments()
    if options.program:
        PROGRAMS[options.program][0]()
        return
    ratios = f"{'of CPU':>8}{'again':>7}{'first':>7}{'of best':>9}"
    options.kernels = kernels.own(kernels.PYTHON)
    print(f"{'program':28}{'shipped s':>10}{'CPU s':>8}{'default s':>11}{ratios}  {'best':16}{'least: of CPU':>13}{'of best':>9}")
    rows = []
    begin = time.monotonic()
    for program in options.only:
        if time.monotonic() - begin > options.seconds:
            print(f"{program}: no time")
            continue
        taken = measured(options, program)
        if taken is None:
            continue
        rows.append({"program": program, "seconds": {mode: [round(value, 4) for value in values] for mode, values in taken.items()}})
        if options.output:  # written after each row, so that the rows stay if the time runs out
            options.output.write_text(
                json.dumps({"repeats": options.repeats, "kernels": kernels.describe(kernels.PYTHON), "rows": rows}, indent=1) + "\n"
            )
        if "default" not in taken:
            continue
        medians, least = ({mode: statistic(values) for mode, values in taken.items()} for statistic in (statistics.median, min))
        of_cpu, of_best, best = compared(medians)
        first = f"{medians['first'] / medians['cpu']:.2f}" if "first" in medians else ""
        again = medians["again"] / medians["cpu"]
        least_of_cpu, least_of_best, _ = compared(least)
        ratios = f"{of_cpu:8.2f}{again:7.2f}{first:>7}{of_best:9.2f}"
        shipped = medians.get(AS_SHIPPED, medians["cpu"])
        print(
            f"{program:28}{shipped:10.3f}{medians['cpu']:8.3f}{medians['default']:11.3f}{ratios}  {best + f' {medians[best]:.3f}':16}"
            f"{least_of_cpu:13.2f}{least_of_best:9.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()

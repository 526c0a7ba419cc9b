#!/usr/bin/env python3
"""Calls of other kinds than single products: stacks of matrices in NumPy, MKL's products in batches and transforms, transforms of SciPy and NumPy.

    bench/calls.py [--only NAME,...] [--mkl FILE] [--library FILE] [--device cuda] [--calls 8] [--quick] [--seconds N] [--output FILE]

A row is a process that makes the same call several times. The figures are milliseconds of its fastest call. `CPU` has the processor's own kernels
(kernels.py), as all runs have. `first` knows no earlier run; `later` is a run after it in the same folder, which knows its times. In brackets: the
milliseconds of all calls together. Rows of MKL need its library (PyPI's `mkl`), which --mkl names. --seconds: no run is started later.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import arguments
import kernels
import machine

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIMIT = 120  # seconds of a run
SMALLER = 4  # --quick: sides divided by that


def pointer(array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def stack(count: int, order: int, divided: int) -> Callable[[], object]:
    """NumPy makes one product for each pair of matrices."""
    import numpy as np

    random = np.random.default_rng(1)
    a, b = (random.random((count, order // divided, order // divided)) for _ in range(2))
    result = np.empty_like(a)
    return lambda: np.matmul(a, b, out=result)


def batch(count: int, order: int, divided: int) -> Callable[[], object]:
    """cblas_dgemm_batch_strided of matrices without gaps."""
    import numpy as np

    n, mkl = order // divided, ctypes.CDLL(os.environ["MKL_LIBRARY"], ctypes.RTLD_GLOBAL)
    random = np.random.default_rng(1)
    a, b = (random.random((count, n, n)) for _ in range(2))
    result = np.zeros_like(a)
    one, zero, size = ctypes.c_double(1), ctypes.c_double(0), n * n

    def call() -> None:
        given = (102, 111, 111, n, n, n, one, pointer(a), n, size, pointer(b), n, size, zero, pointer(result), n, size, count)
        mkl.cblas_dgemm_batch_strided(*given)

    return call


def dfti(side: int, divided: int) -> Callable[[], object]:
    """DftiComputeForward of complex numbers in double precision, in three dimensions, into another array."""
    import numpy as np

    n, mkl = side // divided, ctypes.CDLL(os.environ["MKL_LIBRARY"], ctypes.RTLD_GLOBAL)
    x = np.random.default_rng(1).random((n, n, n)) + 0j
    result, handle = np.empty_like(x), ctypes.c_void_p()
    double, of_complex, placement, not_in_place = 36, 32, 11, 44
    status = mkl.DftiCreateDescriptor(ctypes.byref(handle), double, of_complex, ctypes.c_long(3), (ctypes.c_long * 3)(n, n, n))
    status = status or mkl.DftiSetValue(handle, placement, ctypes.c_int(not_in_place)) or mkl.DftiCommitDescriptor(handle)
    if status != 0:
        raise SystemExit(f"DFTI: status {status}")
    return lambda: mkl.DftiComputeForward(handle, pointer(x), pointer(result))


def transform(package: str, side: int, divided: int) -> Callable[[], object]:
    import numpy as np

    n = side // divided
    x = np.random.default_rng(1).random((n, n, n)) + 0j
    if package == "numpy":
        return lambda: np.fft.fftn(x)
    import scipy.fft

    return lambda: scipy.fft.fftn(x, workers=os.cpu_count())


def least_squares(rows: int, columns: int, divided: int) -> Callable[[], object]:
    import numpy as np

    random = np.random.default_rng(1)
    a, b = random.random((rows // divided, columns // divided)), random.random((rows // divided, 3))
    return lambda: np.linalg.lstsq(a, b)


def generalized(order: int, divided: int) -> Callable[[], object]:
    """ggev, which stays on the CPU."""
    import numpy as np
    import scipy.linalg

    random = np.random.default_rng(1)
    a, b = (random.random((order // divided, order // divided)) for _ in range(2))
    return lambda: scipy.linalg.eigvals(a, b)


ROWS: dict[str, Callable[[int], Callable[[], object]]] = {
    "matmul 1000 x 64": lambda divided: stack(1000, 64, divided),
    "matmul 300 x 256": lambda divided: stack(300, 256, divided),
    "matmul 100 x 512": lambda divided: stack(100, 512, divided),
    "dgemm_batch 1000 x 64": lambda divided: batch(1000, 64, divided),
    "dgemm_batch 300 x 256": lambda divided: batch(300, 256, divided),
    "dgemm_batch 100 x 512": lambda divided: batch(100, 512, divided),
    "DFTI 256^3": lambda divided: dfti(256, divided),
    "scipy.fft 256^3": lambda divided: transform("scipy", 256, divided),
    "numpy.fft 256^3": lambda divided: transform("numpy", 256, divided),
    "lstsq 4000 x 1000": lambda divided: least_squares(4000, 1000, divided),
    "ggev 1000": lambda divided: generalized(1000, divided),
}
OF_MKL = [name for name in ROWS if name.startswith(("dgemm_batch", "DFTI"))]
AT_MOST = {"ggev 1000": 1}
"""Calls of a row that takes long."""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=arguments.words(ROWS), default=list(ROWS), help="rows")
    parser.add_argument("--mkl", type=arguments.file, metavar="FILE", help="libmkl_rt.so.N")
    parser.add_argument("--library", dest="preloaded", metavar="FILE", type=arguments.file, default=ROOT / "build" / "libblastoff.so")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--calls", type=arguments.count, default=12)
    parser.add_argument("--quick", action="store_true", help="small matrices: tries the script")
    parser.add_argument("--seconds", type=arguments.positive, default=float("inf"), help="no run is started later than that")
    parser.add_argument("--output", type=arguments.output, help="write the figures as JSON")
    parser.add_argument("--row", choices=list(ROWS), help=argparse.SUPPRESS)
    return parser.parse_args()


def make(name: str, calls: int, divided: int) -> None:
    call = ROWS[name](divided)
    seconds = []
    for _ in range(calls):
        begin = time.perf_counter()
        call()
        seconds.append(round(time.perf_counter() - begin, 6))
    print(json.dumps(seconds))


def measured(options: argparse.Namespace, name: str, ends: float) -> dict[str, list[float]]:
    """Seconds of each call, by mode."""
    preload = {"LD_PRELOAD": str(options.preloaded.resolve()), "BLASTOFF_SUMMARY": "never", "BLASTOFF_DEVICE": options.device}
    common = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"} | options.kernels
    if name in OF_MKL:
        common |= {"MKL_LIBRARY": str(options.mkl), "MKL_THREADING_LAYER": "GNU"}
    script = [sys.executable, str(pathlib.Path(__file__).resolve()), "--row", name, *(["--quick"] if options.quick else [])]
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for mode, settings in {"CPU": {}, "first": preload, "later": preload, "again": {}}.items():
            if time.monotonic() > ends:
                break
            command = [*script, "--calls", str(min(options.calls, AT_MOST.get(name, options.calls)))]
            done = subprocess.run(command, cwd=folder, env=os.environ | common | settings, capture_output=True, text=True, timeout=LIMIT, check=False)
            if done.returncode != 0:
                print(f"{name}, {mode}: {(done.stderr.strip() or 'no output').splitlines()[-1]}", file=sys.stderr)
                break
            seconds[mode] = json.loads(done.stdout.splitlines()[-1])
    return seconds


def main() -> None:
    options = parse_arguments()
    if options.row:
        make(options.row, options.calls, SMALLER if options.quick else 1)
        return
    ends = time.monotonic() + options.seconds
    options.kernels = kernels.own(kernels.PYTHON)
    modes = ("CPU", "again", "first", "later")
    print(f"{machine.cpu_model()}; device {options.device}; milliseconds of the fastest call (of all)")
    print(f"{'call':24}" + "".join(f"{mode:>20}" for mode in modes) + "   CPU/later")
    rows = []
    for name in options.only:
        if name in OF_MKL and not options.mkl:
            print(f"{name}: no --mkl")
            continue
        seconds = measured(options, name, ends)
        if not seconds:
            continue
        rows.append({"call": name, "seconds": seconds})
        figures = "".join(
            f"{1e3 * min(seconds[mode]):10.2f} ({1e3 * sum(seconds[mode]):7.0f})" if mode in seconds else f"{'-':>20}" for mode in modes
        )
        cpu = min(min(seconds[mode]) for mode in ("CPU", "again") if mode in seconds)
        print(f"{name:24}{figures}{cpu / min(seconds['later']):12.2f}" if "later" in seconds else f"{name:24}{figures}", flush=True)
        if options.output:
            about = {"machine": machine.describe(), "device": options.device, "kernels": kernels.describe(kernels.PYTHON), "quick": options.quick}
            options.output.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

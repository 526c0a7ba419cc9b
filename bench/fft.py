#!/usr/bin/env python3
"""Compares FFTW on one thread and on all threads with Blastoff, and with cuFFT on an array that never leaves the GPU.

    bench/fft.py [--library FILE] [--program FILE] [--sizes 32,...,256] [--only cube,real,sixty] [--repeats 30] [--policy first-use]
                 [--min-size N] [--output FILE]

cube and real are three-dimensional transforms of one array into another, in double precision. sixty is the time of sixty executions of N
transforms of N points, which stay on the CPU and must not become slower. The program writes the input before every execution, and the result
is in host memory after it. Plans are made with FFTW_MEASURE. The limit is CuPy's transform of a resident array plus the time of both arrays on
the link, if CuPy is installed. (There is no column for a CPU with other kernels: a build of FFTW has a fixed set of kernels, and FFTW measures
which of them is best.) CPU and Blastoff alternate by size in separate processes. The table shows the median over the second half of the
executions in milliseconds, since Blastoff times the first ones on the CPU. --program is built by `cmake -S bench -B build/bench`.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import time

import arguments
import starting

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIZES = (32, 48, 64, 96, 128, 192, 256)
LINK = 50e9  # bytes per second of page-locked copies over PCIe gen5
ROWS = ("cube", "real", "sixty")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", dest="preloaded", metavar="FILE", type=arguments.file, default=ROOT / "build" / "libblastoff.so")
    parser.add_argument("--program", type=arguments.program, default=ROOT / "build" / "bench" / "fft")
    parser.add_argument("--sizes", type=arguments.numbers, default=list(SIZES))
    parser.add_argument("--only", type=arguments.words(ROWS), default=list(ROWS), help="rows, of " + ", ".join(ROWS))
    parser.add_argument("--repeats", type=arguments.count, default=30, help="executions of each row")
    parser.add_argument("--policy", default="first-use")
    parser.add_argument("--min-size", type=int, help="Blastoff's threshold, if not its default")
    parser.add_argument("--output", type=arguments.output, help="write the figures as JSON")
    options = parser.parse_args()
    for needed in (options.preloaded, options.program):
        if not needed.exists():
            parser.error(f"no {needed}: make build; cmake -S bench -B build/bench && cmake --build build/bench")
    return options


def host_seconds(options: argparse.Namespace, row: str, n: int, threads: int, environment: dict[str, str]) -> float:
    command = [str(options.program), row, str(n), str(threads), str(options.repeats)]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} ended with status {done.returncode}\n{done.stderr}")
    (seconds,) = arguments.lines_of(options.program, done.stdout)
    return statistics.median(seconds[len(seconds) // 2 :])


def limit_seconds(row: str, n: int, repeats: int) -> float | None:
    """Seconds of a transform of a resident array, plus those of the input on the link to the device and the result back."""
    try:
        import cupy as cp
    except ImportError:
        return None
    if row == "sixty":
        return None
    random = cp.random.default_rng(n)
    data = random.standard_normal((n, n, n)) if row == "real" else random.standard_normal((n, n, n)) + 0j
    transform = cp.fft.rfftn if row == "real" else cp.fft.fftn
    seconds = []
    for _ in range(repeats):
        cp.cuda.Device().synchronize()
        begin = time.perf_counter()
        result = transform(data)
        cp.cuda.Device().synchronize()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds[repeats // 2 :]) + (data.nbytes + result.nbytes) / LINK


def main() -> None:
    options = parse_arguments()
    all_threads = len(os.sched_getaffinity(0))
    preload = starting.with_blastoff(options)
    results = []
    headings = ("1 thread", "Blastoff", f"{all_threads} threads", "Blastoff", "limit")
    print(f"{'row':8}{'n':>6}" + "".join(f"{heading:>12}" for heading in headings) + f"{'gain':>8}{'gain':>8}")
    for n in options.sizes:
        for row in options.only:
            figures = {"row": row, "n": n, "threads": all_threads}
            for name, threads in (("one", 1), ("all", all_threads)):
                figures[f"cpu_{name}"] = host_seconds(options, row, n, threads, {})
                figures[f"blastoff_{name}"] = host_seconds(options, row, n, threads, preload)
            figures["limit"] = limit_seconds(row, n, options.repeats)
            results.append(figures)
            columns = [figures[key] for key in ("cpu_one", "blastoff_one", "cpu_all", "blastoff_all", "limit")]
            text = "".join(f"{1e3 * column:12.3f}" if column else f"{'-':>12}" for column in columns)
            gains = [figures["cpu_one"] / figures["blastoff_one"], figures["cpu_all"] / figures["blastoff_all"]]
            print(f"{row:8}{n:6}{text}" + "".join(f"{gain:8.2f}" for gain in gains), flush=True)
    if options.output:
        options.output.write_text(json.dumps({"policy": options.policy, "rows": results}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())

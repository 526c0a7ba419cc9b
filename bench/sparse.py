#!/usr/bin/env python3
"""Sparse solvers, whose dense fronts are products and solves: never slower than without Blastoff.

    bench/sparse.py [--program FILE] [--only NAME,...] [--library FILE] [--device cuda] [--later 2] [--quick] [--seconds N] [--output FILE]

`splu` is SciPy's (SuperLU); CHOLMOD, UMFPACK and MUMPS run in programs/sparse.c, which is compiled where their libraries are installed. Each
factors the seven-point operator on a cube a few times, with new values each time. The figures are wall seconds from start to exit, and in brackets
those of the factorizations. `CPU` and `again` have the processor's own kernels (kernels.py), as all runs have. `first` knows no earlier run;
`later` are the runs after it in the same folder, which know its times. `all sent` opens the device at once, and sends every product of average size
250 there. --seconds: no run is started later.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import arguments
import kernels
import machine

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIZES = {"splu": (28, 3), "cholmod": (64, 4), "umfpack": (40, 3), "mumps": (52, 3)}
"""Side of the cube, number of factorizations."""
QUICK = dict.fromkeys(SIZES, (12, 2))
ALL_SENT = {"BLASTOFF_START": "now", "BLASTOFF_DECIDE": "size"}
LIMIT = 60  # seconds of a run


def splu(side: int, times: int) -> None:
    import numpy as np
    import scipy.sparse as sp
    from scipy.sparse.linalg import splu as factored

    line = sp.diags_array([-1.2 * np.ones(side - 1), 2 * np.ones(side), -0.8 * np.ones(side - 1)], offsets=[-1, 0, 1])
    one = sp.eye_array(side)
    cube = sum(sp.kron(sp.kron(*pair[:2]), pair[2]) for pair in ((line, one, one), (one, line, one), (one, one, line)))
    right, seconds, largest = np.ones(side**3), 0.0, 0.0
    for step in range(times):
        matrix = sp.csc_array(cube + (0.1 + 0.01 * step) * sp.eye_array(side**3))
        begin = time.perf_counter()
        factor = factored(matrix)
        seconds += time.perf_counter() - begin
        largest = max(largest, float(abs(matrix @ factor.solve(right) - right).max()))
    print(json.dumps({"seconds": round(seconds, 4), "residual": largest}))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--program", type=arguments.program, default=ROOT / "build" / "bench" / "sparse", metavar="FILE", help="programs/sparse.c, compiled"
    )
    parser.add_argument("--only", type=arguments.words(SIZES), default=list(SIZES), help="solvers")
    parser.add_argument("--library", dest="preloaded", metavar="FILE", type=arguments.file, default=ROOT / "build" / "libblastoff.so")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--later", type=arguments.count, default=2, help="runs that know earlier ones")
    parser.add_argument("--quick", action="store_true", help="small cubes: tries the script")
    parser.add_argument("--seconds", type=arguments.positive, default=float("inf"), help="no run is started later than that")
    parser.add_argument("--output", type=arguments.output, help="write the figures as JSON")
    parser.add_argument("--splu", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.splu and set(options.only) != {"splu"} and not options.program.is_file():
        parser.error(
            f"no program {options.program}: build bench/ where libsuitesparse-dev and libmumps-seq-dev are installed, or measure --only splu"
        )
    return options


def one_run(options: argparse.Namespace, name: str, settings: dict[str, str], folder: str) -> dict[str, float]:
    sizes = [str(size) for size in (QUICK if options.quick else SIZES)[name]]
    own = [sys.executable, str(pathlib.Path(__file__).resolve()), "--splu"]
    command = [*(own if name == "splu" else [str(options.program), name]), *sizes]
    begin = time.perf_counter()
    try:
        done = subprocess.run(command, cwd=folder, env=os.environ | settings, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise SystemExit(f"{name}, side {sizes[0]}: longer than {LIMIT} s") from None
    wall = time.perf_counter() - begin
    if done.returncode != 0:
        raise SystemExit(f"{name}: {(done.stderr.strip() or done.stdout.strip() or 'no output').splitlines()[-1]}")
    return {"wall": round(wall, 4)} | json.loads(done.stdout.splitlines()[-1])


def calls_of(report: pathlib.Path) -> dict[str, dict[str, int]]:
    """Calls and offloaded calls of each routine in a report."""
    if not report.is_file():
        return {}
    routines = json.loads(report.read_text())["routines"]
    return {one["name"]: {"calls": one["calls"], "offloaded": one["offloaded"]} for one in routines}


def measured(options: argparse.Namespace, name: str, ends: float) -> dict | None:
    """The runs of a solver in turns: CPU, first, later..., all sent, again."""
    preload = {"LD_PRELOAD": str(options.preloaded.resolve()), "BLASTOFF_SUMMARY": "never", "BLASTOFF_DEVICE": options.device}
    common = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"} | options.kernels[name]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        reporting = {"BLASTOFF_REPORT": str(report)}
        runs = [("CPU", {}), ("first", preload | reporting), *[("later", preload)] * options.later, ("all sent", preload | ALL_SENT), ("again", {})]
        row: dict = {"solver": name, "sizes": (QUICK if options.quick else SIZES)[name], "runs": []}
        for mode, settings in runs:
            if time.monotonic() > ends:
                return row if len(row["runs"]) > 1 else None
            row["runs"].append({"mode": mode} | one_run(options, name, common | settings, folder))
            if mode == "first":
                row["routines"] = calls_of(report)
    return row


def best(row: dict, mode: str) -> str:
    runs = [run for run in row["runs"] if run["mode"] == mode]
    if not runs:
        return f"{'-':>18}"
    fastest = min(runs, key=lambda run: run["wall"])
    return f"{fastest['wall']:9.3f} ({fastest['seconds']:6.3f})"


def main() -> None:
    options = parse_arguments()
    if options.splu:
        splu(*options.splu)
        return
    ends = time.monotonic() + options.seconds
    program = kernels.of_library("libblas.so.3")
    options.kernels = {name: kernels.own(kernels.PYTHON if name == "splu" else program) for name in SIZES}
    print(f"{machine.cpu_model()}; device {options.device}; wall seconds (of the factorizations)")
    print(f"{'solver':9}{'side':>5}" + "".join(f"{heading:>18}" for heading in ("CPU", "again", "first", "later", "all sent")) + "   later/CPU")
    rows = []
    for name in options.only:
        row = measured(options, name, ends)
        if row is None:
            print(f"{name}: no time")
            continue
        rows.append(row)
        of_cpu = [min((run["wall"] for run in row["runs"] if run["mode"] in modes), default=float("nan")) for modes in (("later",), ("CPU", "again"))]
        figures = " ".join(best(row, mode) for mode in ("CPU", "again", "first", "later", "all sent"))
        print(f"{name:9}{row['sizes'][0]:5} {figures}{of_cpu[0] / of_cpu[1]:12.2f}", flush=True)
        if options.output:
            about = {"machine": machine.describe(), "device": options.device, "kernels": kernels.describe(program), "quick": options.quick}
            options.output.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

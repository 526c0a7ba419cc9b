#!/usr/bin/env python3
"""Sparse direct solvers side by side: SciPy's SuperLU and MKL's PARDISO on the CPU, cuDSS on the GPU.

    bench/cudss.py [--only NAME,...] [--sides 28,40] [--times 3] [--mkl FILE] [--cudss FILE] [--cudss-threads FILE] [--limit SECONDS] [--output FILE]

Blastoff uses no cuDSS. This measures what it would gain by that (docs/notes.md). The matrix is the seven-point operator with a drift on a cube.
A solver analyses it, then factors and solves several times, with new values each time. cuDSS gets the values from host memory and returns the
solution there; these copies are part of its seconds. Each solver runs in a process of its own.
Seconds: `wall` of the process, `start` of opening the device and the library, `analysis`, and the medians of `factor` and `solve`. `residual` is
the largest element of A x - b, for b = 1.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

import arguments
import kernels
import machine
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

REAL, INDEX, GENERAL, FULL, FROM_ZERO, COLUMNS = 1, 10, 0, 0, 0, 0  # CUDA_R_64F, CUDA_R_32I, and cuDSS's enumerations
ANALYSIS, FACTOR, FACTOR_AGAIN, SOLVE = 3, 4, 8, 0x3F0  # cudssPhase_t
TO_DEVICE, TO_HOST = 1, 2  # cudaMemcpyKind


def cube(side: int) -> sp.csr_array:
    line = sp.diags_array([-1.2 * np.ones(side - 1), 2 * np.ones(side), -0.8 * np.ones(side - 1)], offsets=[-1, 0, 1])
    one = sp.eye_array(side)
    matrix = sp.csr_array(sum(sp.kron(sp.kron(*factors[:2]), factors[2]) for factors in ((line, one, one), (one, line, one), (one, one, line))))
    matrix.sort_indices()
    matrix.indptr, matrix.indices = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    return matrix


class SuperLU:
    def start(self, _: sp.csr_array) -> None:
        pass

    def analyse(self, matrix: sp.csr_array) -> None:
        pass  # a part of each factorization

    def factor(self, matrix: sp.csr_array) -> None:
        self.factors = splu(sp.csc_array(matrix))

    def solve(self, _: sp.csr_array, right: np.ndarray) -> np.ndarray:
        return self.factors.solve(right)


class Pardiso:
    def start(self, _: sp.csr_array) -> None:
        self.call = ctypes.CDLL(options.mkl).pardiso
        self.handle, self.parameters = np.zeros(64, np.int64), np.zeros(64, np.int32)
        ctypes.CDLL(options.mkl).pardisoinit(self.handle.ctypes, ctypes.byref(ctypes.c_int(11)), self.parameters.ctypes)
        self.parameters[34] = 1  # indices from zero

    def phase(self, phase: int, matrix: sp.csr_array, right: np.ndarray, solution: np.ndarray) -> None:
        def one(value: int) -> object:
            return ctypes.byref(ctypes.c_int(value))

        error = ctypes.c_int(0)
        columns = (matrix.data.ctypes, matrix.indptr.ctypes, matrix.indices.ctypes, None)
        system = (self.handle.ctypes, one(1), one(1), one(11), one(phase), one(matrix.shape[0]), *columns, one(1))
        self.call(*system, self.parameters.ctypes, one(0), right.ctypes, solution.ctypes, ctypes.byref(error))
        if error.value != 0:
            raise SystemExit(f"PARDISO, phase {phase}: error {error.value}")

    def analyse(self, matrix: sp.csr_array) -> None:
        self.phase(11, matrix, np.zeros(1), np.zeros(1))

    def factor(self, matrix: sp.csr_array) -> None:
        self.phase(22, matrix, np.zeros(1), np.zeros(1))

    def solve(self, matrix: sp.csr_array, right: np.ndarray) -> np.ndarray:
        solution = np.empty_like(right)
        self.phase(33, matrix, right, solution)
        return solution


class CuDSS:
    def start(self, matrix: sp.csr_array) -> None:
        self.cuda, self.cudss = ctypes.CDLL(options.cudart), ctypes.CDLL(options.cudss)
        self.handle, self.config, self.data = (ctypes.c_void_p() for _ in range(3))
        self.do("cudssCreate", ctypes.byref(self.handle))
        if options.cudss_threads:
            self.do("cudssSetThreadingLayer", self.handle, options.cudss_threads.encode())
        self.do("cudssConfigCreate", ctypes.byref(self.config))
        self.do("cudssDataCreate", self.handle, ctypes.byref(self.data))
        order, entries = matrix.shape[0], matrix.nnz
        self.starts, self.columns, self.values = (self.on_device(part) for part in (matrix.indptr, matrix.indices, matrix.data))
        self.right, self.solution = (self.on_device(np.ones(order)) for _ in range(2))
        self.system, self.given, self.found = (ctypes.c_void_p() for _ in range(3))
        sizes = (ctypes.c_int64(order), ctypes.c_int64(order), ctypes.c_int64(entries))
        types = (INDEX, INDEX, REAL, GENERAL, FULL, FROM_ZERO)
        self.do("cudssMatrixCreateCsr", ctypes.byref(self.system), *sizes, self.starts, None, self.columns, self.values, *types)
        for vector, values in ((self.given, self.right), (self.found, self.solution)):
            self.do("cudssMatrixCreateDn", ctypes.byref(vector), *(ctypes.c_int64(size) for size in (order, 1, order)), values, REAL, COLUMNS)
        self.factored = False

    def do(self, name: str, *given: object) -> None:
        status = getattr(self.cudss if name.startswith("cudss") else self.cuda, name)(*given)
        if status != 0:
            raise SystemExit(f"{name}: status {status}")

    def on_device(self, values: np.ndarray) -> ctypes.c_void_p:
        place = ctypes.c_void_p()
        self.do("cudaMalloc", ctypes.byref(place), ctypes.c_size_t(values.nbytes))
        self.copy(place, values)
        return place

    def copy(self, place: ctypes.c_void_p, values: np.ndarray) -> None:
        self.do("cudaMemcpy", place, values.ctypes, ctypes.c_size_t(values.nbytes), TO_DEVICE)

    def execute(self, phase: int) -> None:
        self.do("cudssExecute", self.handle, phase, self.config, self.data, self.system, self.found, self.given)
        self.do("cudaDeviceSynchronize")

    def analyse(self, _: sp.csr_array) -> None:
        self.execute(ANALYSIS)

    def factor(self, matrix: sp.csr_array) -> None:
        self.copy(self.values, matrix.data)
        self.execute(FACTOR_AGAIN if self.factored else FACTOR)
        self.factored = True

    def solve(self, _: sp.csr_array, right: np.ndarray) -> np.ndarray:
        self.copy(self.right, right)
        self.execute(SOLVE)
        solution = np.empty_like(right)
        self.do("cudaMemcpy", solution.ctypes, self.solution, ctypes.c_size_t(solution.nbytes), TO_HOST)
        return solution


SOLVERS = {"superlu": SuperLU, "pardiso": Pardiso, "cudss": CuDSS}


@contextlib.contextmanager
def timed(seconds: list[float]) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    seconds.append(time.perf_counter() - begin)


def one_solver(name: str, side: int) -> None:
    """Prints the seconds of a solver as a line of JSON."""
    matrix = cube(side)
    solver, right, largest = SOLVERS[name](), np.ones(matrix.shape[0]), 0.0
    seconds: dict[str, list[float]] = {step: [] for step in ("start", "analysis", "factor", "solve")}
    with timed(seconds["start"]):
        solver.start(matrix)
    with timed(seconds["analysis"]):
        solver.analyse(matrix)
    for step in range(options.times):
        changed = sp.csr_array(matrix + (0.1 + 0.01 * step) * sp.eye_array(matrix.shape[0]))
        changed.sort_indices()
        changed.indptr, changed.indices = matrix.indptr, matrix.indices
        with timed(seconds["factor"]):
            solver.factor(changed)
        with timed(seconds["solve"]):
            solution = solver.solve(changed, right)
        largest = max(largest, float(abs(changed @ solution - right).max()))
    medians = {step: round(statistics.median(each), 5) for step, each in seconds.items()}
    print(json.dumps(medians | {"first_factor": round(seconds["factor"][0], 5), "residual": largest}))


def measured(name: str, side: int) -> dict:
    command = [sys.executable, str(pathlib.Path(__file__).resolve()), *sys.argv[1:], "--one", name, str(side)]
    begin = time.perf_counter()
    try:
        done = subprocess.run(command, env=os.environ | options.kernels, capture_output=True, text=True, timeout=options.limit, check=False)
    except subprocess.TimeoutExpired:
        return {"solver": name, "side": side, "problem": f"longer than {options.limit:.0f} s"}
    wall = time.perf_counter() - begin
    if done.returncode != 0:
        return {"solver": name, "side": side, "problem": (done.stderr.strip() or "no output").splitlines()[-1]}
    return {"solver": name, "side": side, "order": side**3, "wall": round(wall, 4)} | json.loads(done.stdout.splitlines()[-1])


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=arguments.words(SOLVERS), default=list(SOLVERS), help="solvers")
    parser.add_argument("--sides", type=arguments.numbers, default=[28, 40], help="sides of the cube")
    parser.add_argument("--times", type=arguments.count, default=3, help="factorizations")
    parser.add_argument("--mkl", default="libmkl_rt.so.3", metavar="FILE", help="MKL's single library")
    parser.add_argument("--cudart", default="libcudart.so.13", metavar="FILE", help="CUDA's runtime")
    parser.add_argument("--cudss", default="libcudss.so.1", metavar="FILE")
    parser.add_argument("--cudss-threads", metavar="FILE", help="cuDSS's layer for threads; without it, it analyses on one thread")
    parser.add_argument("--limit", type=arguments.positive, default=120, help="seconds of a solver")
    parser.add_argument("--output", type=arguments.output, help="write the figures as JSON")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    if options.one:
        one_solver(options.one[0], int(options.one[1]))
        return
    options.kernels = kernels.own(kernels.PYTHON)
    print(f"{machine.cpu_model()}; seconds; medians of {options.times}")
    steps = ("wall", "start", "analysis", "factor", "solve")
    print(f"{'solver':9}{'side':>5}" + "".join(f"{step:>10}" for step in steps) + f"{'residual':>10}")
    rows = []
    for side in options.sides:
        for name in options.only:
            rows.append(row := measured(name, side))
            figures = row.get("problem") or "".join(f"{row[step]:10.4f}" for step in steps) + f"{row['residual']:10.1e}"
            print(f"{name:9}{side:5}{figures if 'problem' not in row else '  ' + figures}", flush=True)
            if options.output:
                options.output.write_text(json.dumps({"machine": machine.describe(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    options = parse_arguments()
    main()

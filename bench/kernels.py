"""The kernels that the CPU's BLAS runs, and those that the processor could run.

An OpenBLAS that is older than the processor runs kernels of an old one, several times slower (docs/benchmarks.md#the-cpus-kernels). So every
benchmark compares with the CPU's own kernels: those for which its BLAS has to be told the processor, where it does not find out by itself.
"""

from __future__ import annotations

import functools
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping

VARIABLE = "OPENBLAS_CORETYPE"
PYTHON = """
import numpy.linalg
try:
    import scipy.linalg.blas
except ImportError:
    pass
"""
"""Loads what the benchmarks in Python compute with."""

# The OpenBLAS libraries of the process, and the kernels that each has chosen.
ASK = """
import ctypes, json
files = {line.split()[-1] for line in open("/proc/self/maps") if "blas" in line}
files = {file for file in files if file.rpartition("/")[2].startswith("lib")}
found = {}
for file in sorted(files):
    library = ctypes.CDLL(file)
    for name in ("openblas_get_corename", "scipy_openblas_get_corename", "scipy_openblas_get_corename64_", "openblas_get_corename64_"):
        if hasattr(library, name):
            getattr(library, name).restype = ctypes.c_char_p
            found[file.rsplit("/", 1)[-1]] = getattr(library, name)().decode()
            break
print(json.dumps(found))
"""


def of_library(path: pathlib.Path | str) -> str:
    """The program that loads a library of that name or path."""
    return f"import ctypes\nctypes.CDLL({str(path)!r})\n"


def in_use(program: str, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The OpenBLAS libraries that a line of Python loads, with their kernels, in a process of its own."""
    inherited = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(
        [sys.executable, "-c", program + ASK], env=inherited | dict(environment or {}), capture_output=True, text=True, timeout=60, check=False
    )
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}


@functools.cache
def processor(cpuinfo: str = "/proc/cpuinfo") -> str:
    """The value of OPENBLAS_CORETYPE for this processor; "" where it is too old to lose anything, or of another kind. As src/report/cpu.cpp."""
    try:
        text = pathlib.Path(cpuinfo).read_text()
    except OSError:
        return ""
    flags = next((set(line.split()) for line in text.splitlines() if line.startswith("flags")), set())
    if {"avx512f", "avx512vl", "avx512bw", "avx512dq", "avx512cd"} <= flags:
        return "SkylakeX"
    if {"avx2", "fma"} <= flags:
        return "Zen" if "AuthenticAMD" in text else "Haswell"
    return ""


OLD = ("prescott", "core2", "penryn", "dunnington", "nehalem", "athlon", "opteron", "opteron_sse3", "barcelona", "bobcat", "atom", "nano", "katmai",
       "coppermine", "northwood", "banias", "sandybridge", "bulldozer", "piledriver", "steamroller", "excavator")  # fmt: skip
"""Kernels without AVX2."""


def own(program: str) -> dict[str, str]:
    """The variable with which the libraries of a line of Python run the processor's kernels; {} where they do so unasked, or cannot."""
    wanted = processor()
    as_shipped = in_use(program)
    if not wanted or not any(name.lower() in OLD for name in as_shipped.values()):
        return {}
    return {VARIABLE: wanted} if in_use(program, {VARIABLE: wanted}) != as_shipped else {}


def describe(program: str) -> dict[str, dict[str, str]]:
    """For results: the kernels as shipped, and the processor's own."""
    return {"as_shipped": in_use(program), "own": in_use(program, own(program))}

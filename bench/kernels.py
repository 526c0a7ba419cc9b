"""The kernels that the CPU's BLAS uses, and the kernels that the processor could use.

An OpenBLAS that is older than the processor uses kernels for an old processor, which are several times slower
(docs/benchmarks.md#the-cpus-kernels). So every benchmark compares with the CPU's own kernels. If the BLAS does not recognise the processor, a
variable tells it which kernels to use.
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
"""A program that loads the libraries of the benchmarks in Python."""

# Prints the OpenBLAS libraries of the process, and the kernels that each has chosen.
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
    """A program that loads the library with this name or path."""
    return f"import ctypes\nctypes.CDLL({str(path)!r})\n"


def in_use(program: str, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The OpenBLAS libraries that a Python program loads, with their kernels. A separate process runs the program."""
    inherited = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(
        [sys.executable, "-c", program + ASK], env=inherited | dict(environment or {}), capture_output=True, text=True, timeout=60, check=False
    )
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}


@functools.cache
def processor(cpuinfo: str = "/proc/cpuinfo") -> str:
    """The value of OPENBLAS_CORETYPE for this processor, as in src/report/cpu.cpp; "" for an old processor, which loses nothing, and for another
    architecture."""
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
    """The variable that makes the libraries of a Python program use the processor's kernels; {} if they do so anyway, or cannot."""
    wanted = processor()
    as_shipped = in_use(program)
    if not wanted or not any(name.lower() in OLD for name in as_shipped.values()):
        return {}
    return {VARIABLE: wanted} if in_use(program, {VARIABLE: wanted}) != as_shipped else {}


def describe(program: str) -> dict[str, dict[str, str]]:
    """The kernels as shipped and the processor's own, for the results."""
    return {"as_shipped": in_use(program), "own": in_use(program, own(program))}

"""Which kernels a BLAS library uses on this processor. Processes of their own ask and measure, because loading a library runs its code."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from blastoff import library

VARIABLE = "OPENBLAS_CORETYPE"
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "BLIS")}
NOTHING: Mapping[str, str] = {}
ANSWER_SECONDS = 60
WORTH_IT = 1.2
"""Smallest speedup that is worth mentioning."""

ONE_PRODUCT = {"MKL_THREADING_LAYER": "SEQUENTIAL", "BLIS_ARCH_DEBUG": "1"}
"""For a process that asks: MKL's threads may be missing, and BLIS says its kernels in its first call."""
OF_BLIS = re.compile(r"^libblis: selecting sub-configuration '(\w+)'", re.MULTILINE)
OLD_BLIS = ("generic", "penryn", "sandybridge", "bulldozer", "piledriver", "steamroller")
"""Kernels of BLIS without AVX2."""
BETTER_BLIS = {"AVX-512": ("skx",), "AVX2": ("haswell", "zen")}
"""Its kernels for a processor with these extensions."""
NUMBERS_OF_BLIS = 10
"""How many values of BLIS_ARCH_TYPE are tried: their meaning differs between versions."""

# The single library of MKL loads its parts in the first call.
ASK = """import ctypes, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from blastoff import library
blas = ctypes.CDLL(sys.argv[3])
n, x, y = ctypes.byref(ctypes.c_int64(1)), ctypes.byref(ctypes.c_double(1)), ctypes.byref(ctypes.c_double(0))
if hasattr(blas, 'dgemm_'): blas.dgemm_(b'N', b'N', n, n, n, x, x, n, x, n, y, y, n, 1, 1)
print(library.ask(Path(sys.argv[2]), 'blastoff_cpu_json'))"""

# Elements are odd integers, so that all sums are exact in any order: correct kernels give the same bytes.
MULTIPLY = """import array, ctypes, hashlib, json, sys, time
blas = ctypes.CDLL(sys.argv[1])
names = [prefix + 'dgemm' + end for end in ('_', '_64_', '64_') for prefix in ('', 'scipy_') if hasattr(blas, prefix + 'dgemm' + end)]
n, integer = 1000, ctypes.c_int64 if '64' in names[0] else ctypes.c_int32
def matrix(period):
    values = array.array('d', [2.0 * (i * i % 17) - 15.0 for i in range(period)])
    return (values * (n * n // period + 1))[: n * n]
a, b, c = matrix(997), matrix(991), array.array('d', bytes(8 * n * n))
pointers = [(ctypes.c_char * (8 * n * n)).from_buffer(each) for each in (a, b, c)]
def multiply(order):
    size, one, zero = ctypes.byref(integer(order)), ctypes.byref(ctypes.c_double(1)), ctypes.byref(ctypes.c_double(0))
    begin = time.process_time()
    blas[names[0]](b'N', b'N', size, size, size, one, pointers[0], size, pointers[1], size, zero, pointers[2], size, 1, 1)
    return time.process_time() - begin
multiply(100)
print(json.dumps({'seconds': min(multiply(n) for _ in range(3)), 'digest': hashlib.sha256(c).hexdigest()}))"""


@dataclass(frozen=True)
class Kernels:
    """The kernels of one library."""

    path: str
    """The library's file."""
    text: str
    advice: str = ""


def _answer(code: str, *arguments: str | Path, environment: Mapping[str, str]) -> tuple[Any, str]:
    """What a process prints as JSON, None if it fails; and its error output."""
    inherited = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    env = {**inherited, **ONE_THREAD, **environment}
    # Isolated (-I): files in the current directory must not be imported as Python's own modules.
    command = [sys.executable, "-I", "-X", "utf8", "-c", code, *map(str, arguments)]
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=ANSWER_SECONDS, env=env, stdin=subprocess.DEVNULL
        )
        return json.loads(done.stdout) if done.returncode == 0 else None, done.stderr
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None, ""


def ask(blas: Path, environment: Mapping[str, str] = NOTHING) -> dict[str, Any]:
    """The processor's vector extensions, and the kernels of a library and of the libraries that it loads, in the form of a report's "cpu"."""
    told, errors = _answer(ASK, library.PACKAGE.parent, library.find_library(), blas, environment={**ONE_PRODUCT, **environment})
    cpu: dict[str, Any] = told or {"vectors": "", "libraries": []}
    if chosen := OF_BLIS.search(errors):
        for one in cpu["libraries"]:
            if one["library"] == "BLIS" and not one["kernels"]:  # Debian's libblas.so.3 hides BLIS's own functions
                one |= {"kernels": chosen[1], "description": f"{one['description']}, kernels: {chosen[1]}"}
    return cpu


def multiply(blas: Path, environment: Mapping[str, str] = NOTHING) -> dict[str, Any] | None:
    """The CPU time of a product of order 1000 on one core, and a digest of its result; None if it fails."""
    return _answer(MULTIPLY, blas, environment=environment)[0]


@cache
def measured(blas: Path, kernels: str, coretype: str) -> str:
    """Advice to choose other kernels of a library if they are faster and give the same result; else ""."""
    other = {VARIABLE: coretype}
    if all(one["kernels"] == kernels for one in ask(blas, other)["libraries"]):
        return ""
    return faster(blas, other)


def faster(blas: Path, other: Mapping[str, str], what: str = "") -> str:
    """Advice to set variables if products are faster with them, and give the same result; else "". `what`: what they choose, in words."""
    as_it_is, better = multiply(blas), multiply(blas, other)
    if as_it_is is None or better is None or as_it_is["digest"] != better["digest"]:
        return ""
    factor = as_it_is["seconds"] / max(better["seconds"], 1e-9)
    if factor < WORTH_IT:
        return ""
    setting = " ".join(f"{name}={value}" for name, value in other.items())
    return f"Set {setting}{what}: a product of order 1000 on one core then takes {factor:.1f} times less. Compare results."


@cache
def measured_blis(blas: Path, kernels: str, vectors: str) -> str:
    """Advice to choose other kernels of a BLIS that does not know this processor; else ""."""
    if kernels not in OLD_BLIS or vectors not in BETTER_BLIS:
        return ""
    for number in range(NUMBERS_OF_BLIS):
        other = {"BLIS_ARCH_TYPE": str(number)}
        chosen = next((one["kernels"] for one in ask(blas, other)["libraries"] if one["library"] == "BLIS"), "")
        if chosen in BETTER_BLIS[vectors]:
            return faster(blas, other, f" ({chosen})")
    return ""


@cache
def of_library(blas: Path) -> list[Kernels]:
    """The kernels of the BLAS libraries that a process has when it loads this one."""
    cpu = ask(blas)
    kernels = []
    for found in cpu["libraries"]:
        beside = f"; the processor has {cpu['vectors']}" if found["kernels"] and cpu["vectors"] else ""
        path = Path(found["path"])
        advice = measured(path, found["kernels"], found["coretype"]) if found["coretype"] else found["advice"]
        if found["library"] == "BLIS":
            nothing_helps = "Install a BLIS that holds kernels for this processor, or OpenBLAS." if advice else ""
            advice = measured_blis(path, found["kernels"], cpu["vectors"]) or nothing_helps
        kernels.append(Kernels(found["path"], f"{found['description']}{beside}", f"{advice[:1].upper()}{advice[1:]}"))
    return kernels

"""The process that measures a BLAS library on the CPU: by its Fortran names, on numbers that are the same in each run."""

import ctypes
import functools
import random
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from blastoff.calibrate import children

SPELLINGS = (("", "_"), ("", "_64_"), ("scipy_", "_"), ("scipy_", "_64_"))
"""Prefix and suffix of a routine's name: in the libraries of Debian and others, and in the wheels of NumPy and SciPy."""

PRECISIONS = {"gemm": "sdz", "syrk": "dz", "trsm": "dz", "gemv": "d", "getrf": "dz", "potrf": "dz", "geqrf": "dz", "syevd": "dz", "gesdd": "dz"}
SIZES = {"full": (128, 256, 512, 1024, 2048, 4096), "quick": (32, 48)}
LARGE_SIZES = (512, 2048, 6144)
"""Sizes for gemv: the last matrix is larger than any cache."""

LONG_ENOUGH = 0.08
"""Seconds that one size is measured."""

LONGEST = 0.5
"""Seconds. A size is not measured if one execution would take longer."""

LEAST, MOST = 3, 15
"""Executions of one size."""

PERIOD = 65537
"""Count of numbers before they repeat. It is a prime, so that no two columns are equal."""


@functools.cache
def period_of(kind: str) -> bytes:
    generator = random.Random(1)
    return array(kind, (generator.uniform(-1, 1) for _ in range(PERIOD))).tobytes()


@dataclass
class Numbers:
    """An array of real or complex numbers, and its initial contents if the routine writes to it."""

    precision: str
    count: int
    written: bool
    diagonal: int = 0
    buffer: bytearray = field(init=False)
    original: bytes = b""

    def __post_init__(self) -> None:
        kind = "f" if self.precision in "sc" else "d"
        parts = 2 if self.precision in "cz" else 1
        period = period_of(kind)
        size = self.count * parts * array(kind).itemsize
        self.buffer = bytearray(size)
        for begin in range(0, size, len(period)):
            self.buffer[begin : begin + len(period)] = period[: size - begin]
        with memoryview(self.buffer).cast(kind) as numbers:
            for i in range(self.diagonal):
                numbers[parts * i * (self.diagonal + 1)] += 2 * self.diagonal
        if self.written:
            self.original = bytes(self.buffer)

    def restore(self) -> None:
        if self.written:
            self.buffer[:] = self.original

    def address(self) -> ctypes.Array:
        return (ctypes.c_char * len(self.buffer)).from_buffer(self.buffer)


def scalar(precision: str, value: float) -> ctypes.Array:
    """A coefficient to pass by reference; its imaginary part is 0."""
    kind = ctypes.c_float if precision in "sc" else ctypes.c_double
    return (kind * 2)(value, 0)


def whole(value: int) -> Any:
    """An integer to pass by reference, whether the callee reads 32 bits or 64."""
    return ctypes.byref(ctypes.c_int64(value))


def routine_of(family: str, precision: str) -> str:
    return "zheevd" if (family, precision) == ("syevd", "z") else precision + family


def flops_of(family: str, precision: str, n: int) -> float:
    """Operations of a call, as the library counts them (src/blas/call.cpp, src/lapack/problem.cpp)."""
    per_cube = {"gemm": 2, "syrk": 1, "trsm": 1, "getrf": 2 / 3, "potrf": 1 / 3, "geqrf": 4 / 3, "syevd": 9, "gesdd": 26}
    real = 2.0 * n**2 if family == "gemv" else per_cube[family] * float(n) ** 3
    return real * (4 if precision in "cz" else 1)


def matrices(family: str, precision: str, n: int) -> list[Numbers]:
    """The routine's matrices and vectors. The routine overwrites the last one; gesdd overwrites the first, and only that one must be restored."""
    if family == "gemv":
        return [Numbers(precision, n * n, False), Numbers(precision, n, False), Numbers(precision, n, True)]
    count = {"gemm": 3, "syrk": 2, "trsm": 2, "gesdd": 3}.get(family, 1)
    written = 0 if family == "gesdd" else count - 1
    definite = n if family in ("trsm", "potrf") else 0
    return [Numbers(precision, n * n, i == written, definite if i == 0 else 0) for i in range(count)]


def arguments_of(family: str, precision: str, n: int, operands: list[Numbers]) -> list[Any]:
    """The argument list, without the lengths that Fortran adds for characters."""
    order, one, a = whole(n), scalar(precision, 1), [operand.address() for operand in operands]
    zero, step, info = scalar(precision, 0), whole(1), whole(0)
    square, line = 4 * n * n + 100 * n, 200 * n  # enough work space for each of these routines

    def vector(count: int) -> ctypes.Array:
        return ctypes.create_string_buffer(16 * count)

    def work(count: int) -> list[Any]:
        return [vector(count), whole(count)]

    match family:
        case "gemm":
            return [b"N", b"N", order, order, order, one, a[0], order, a[1], order, zero, a[2], order]
        case "syrk":
            return [b"L", b"N", order, order, one, a[0], order, zero, a[1], order]
        case "trsm":
            return [b"L", b"L", b"N", b"N", order, order, one, a[0], order, a[1], order]
        case "gemv":
            return [b"N", order, order, one, a[0], order, a[1], step, zero, a[2], step]
        case "getrf":
            return [order, order, a[0], order, vector(n), info]
        case "potrf":
            return [b"L", order, a[0], order, info]
        case "geqrf":
            return [order, order, a[0], order, vector(n), *work(line), info]
        case "syevd":
            rwork = work(square) if precision == "z" else []
            return [b"V", b"L", order, a[0], order, vector(n), *work(square), *rwork, *work(line), info]
        case _:
            rwork = [vector(2 * square)] if precision == "z" else []
            return [b"S", order, order, a[0], order, vector(n), a[1], order, a[2], order, *work(square), *rwork, vector(line), info]


def seconds_of(function: Any, family: str, precision: str, n: int) -> float:
    """The median of some executions; the first is not counted."""
    operands = matrices(family, precision, n)
    words = arguments_of(family, precision, n, operands)
    words += [ctypes.c_size_t(1) for word in words if isinstance(word, bytes)]
    taken: list[float] = []
    for turn in range(MOST + 1):
        for operand in operands:
            operand.restore()
        started = time.perf_counter()
        function(*words)
        took = time.perf_counter() - started
        if turn > 0:
            taken.append(took)
        if turn > 0 and sum(taken) > LONG_ENOUGH and (len(taken) >= LEAST or took > LONG_ENOUGH):
            break
    return sorted(taken)[len(taken) // 2]


def find(library: ctypes.CDLL, routine: str) -> Any:
    """The library's function; None if it has none."""
    for before, after in SPELLINGS:
        function = getattr(library, f"{before}{routine}{after}", None)
        if function is not None:
            function.restype = None
            return function
    return None


def points_of(function: Any, family: str, precision: str, quick: bool, end: float) -> list[list[float]]:
    """Measures rising sizes until the next would take too long or the time is over."""
    points: list[list[float]] = []
    expected = 0.0
    for n in SIZES["quick"] if quick else LARGE_SIZES if family == "gemv" else SIZES["full"]:
        flops = flops_of(family, precision, n)
        if points:
            expected = flops / points[-1][1]
        if time.monotonic() > end or expected > LONGEST:
            break
        points.append([flops, flops / seconds_of(function, family, precision, n)])
    return points


def description(library: ctypes.CDLL) -> str:
    """OpenBLAS's description of itself; "" for other libraries."""
    for name in ("openblas_get_config", "openblas_get_config64_", "scipy_openblas_get_config", "scipy_openblas_get_config64_"):
        function = getattr(library, name, None)
        if function is not None:
            function.restype = ctypes.c_char_p
            return function().decode(errors="replace").strip()
    return ""


def main(arguments: Sequence[str]) -> None:
    """`arguments`: the library, seconds, 1 for a quick trial."""
    path, seconds, quick = arguments[0], float(arguments[1]), arguments[2] == "1"
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        return children.show({"error": f"{path} cannot be loaded: {error}"})
    end = time.monotonic() + seconds
    rows = []
    for family, precisions in PRECISIONS.items():
        for precision in precisions:
            function = find(library, routine_of(family, precision))
            points = points_of(function, family, precision, quick, end) if function is not None else []
            if points:
                rows.append({"family": family, "precision": precision, "points": points})
    children.show({"description": description(library), "rates": rows})

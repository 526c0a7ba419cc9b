"""Passes transforms of NumPy and SciPy on to Blastoff's library, which decides where they are computed.

libblastoff.so carries the text of this file, too (transforms.py).
"""
# ruff: noqa: B905 (zip() has that option from Python 3.10 on)

from __future__ import annotations

import contextlib
import ctypes
import operator
import struct
import sys
from itertools import chain
from math import prod, sqrt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

COMPLEX, FROM_REAL, TO_REAL = range(3)
KINDS = {
    "fft": (COMPLEX, -1),
    "ifft": (COMPLEX, 1),
    "fftn": (COMPLEX, -1),
    "ifftn": (COMPLEX, 1),
    "fft2": (COMPLEX, -1),
    "ifft2": (COMPLEX, 1),
    "rfft": (FROM_REAL, -1),
    "rfftn": (FROM_REAL, -1),
    "rfft2": (FROM_REAL, -1),
    "irfft": (TO_REAL, 1),
    "irfftn": (TO_REAL, 1),
    "irfft2": (TO_REAL, 1),
}
"""The functions that are passed on: fft::Kind and the sign of the exponent."""

NUMPY, SCIPY = range(2)
LARGEST_SPARE = 1 << 24
"""Bytes of an unused array for a result up to which it is kept for the next call: to allocate it may take some 40 microseconds."""

CHECKED_SPECTRUM = 1 << 18
"""Elements from which a spectrum is looked at: below, this would take longer than a device can save."""


OWN_MODULES = ("scipy.fft._duccfft", "scipy.fft._pocketfft")
"""Where SciPy's own functions are: since SciPy 1.18, and before."""


def scipy_function(name: str) -> Callable[..., Any]:
    """SciPy's own function behind all backends. LookupError: it is somewhere else."""
    own = next((sys.modules[module] for module in OWN_MODULES if module in sys.modules), None)
    if own is None:
        raise LookupError(name)
    if not name.endswith("2"):
        return getattr(own, name)
    of_arrays = getattr(own, name[:-1] + "n")

    def of_planes(
        x: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None
    ) -> Any:
        return of_arrays(x, s, axes, norm, overwrite_x, workers, plan=plan)

    return of_planes


def shape_of_arguments(name: str) -> str:
    return "planes" if name.endswith("2") else "arrays" if name.endswith("n") else "lines"


# What the arguments of a function say: array, lengths, axes, norm, number of threads (None: as usual). None if they are left to the function itself.
Arguments = tuple


def numpy_lines(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Arguments | None:
    return (a, n if n is None else (n,), (axis,), norm, None) if out is None else None


def numpy_arrays(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Arguments | None:
    # NumPy warns of some arguments, and says what they mean.
    return (a, s, axes, norm, None) if out is None and (s is None or axes is not None) else None


def numpy_planes(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Arguments | None:
    return (a, s, axes, norm, None) if out is None and axes is not None else None


def scipy_lines(
    x: Any, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None
) -> Arguments | None:
    return (x, n if n is None else (n,), (axis,), norm, workers) if plan is None else None


def scipy_arrays(
    x: Any, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None
) -> Arguments | None:
    return (x, s, axes, norm, workers) if plan is None else None


def scipy_planes(
    x: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, overwrite_x: Any = False, workers: Any = None, *, plan: Any = None
) -> Arguments | None:
    return (x, s, axes, norm, workers) if plan is None else None


BINDINGS: dict[tuple[int, str], Callable[..., Arguments | None]] = {
    (NUMPY, "lines"): numpy_lines,
    (NUMPY, "arrays"): numpy_arrays,
    (NUMPY, "planes"): numpy_planes,
    (SCIPY, "lines"): scipy_lines,
    (SCIPY, "arrays"): scipy_arrays,
    (SCIPY, "planes"): scipy_planes,
}


class Call:
    """A call of the program's, which its own function can still make."""

    __slots__ = ("args", "error", "function", "kwargs", "result")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.result: Any = None
        self.error: BaseException | None = None

    def make(self) -> None:
        try:
            self.result = self.function(*self.args, **self.kwargs)
        except BaseException as error:  # the library's function calls this, and raises nothing
            self.error = error


class Problem:
    """A transform: the array, its axes (the last one is halved in a real transform) and the lengths along them."""

    __slots__ = ("array", "axes", "kind", "lengths", "result_shape", "sign")

    def __init__(self, array: Any, kind: int, sign: int, axes: list[int], lengths: list[int]) -> None:
        self.array, self.kind, self.sign, self.axes, self.lengths = array, kind, sign, axes, lengths
        shape = list(array.shape)
        for axis, length in zip(axes, lengths):
            shape[axis] = length
        if kind == FROM_REAL:
            shape[axes[-1]] = lengths[-1] // 2 + 1
        self.result_shape = tuple(shape)

    def lengths_needed(self) -> list[int]:
        """The lengths of the array along the axes."""
        return [*self.lengths[:-1], self.lengths[-1] // 2 + 1] if self.kind == TO_REAL else self.lengths

    def loops(self, result: Any) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]] | None:
        """Lengths and strides, in elements, of the loops of the transform and of the loops over transforms; None where a stride is no such number."""
        array, here, there = self.array, self.array.itemsize, result.itemsize
        if any(stride % here for stride in array.strides):
            return None
        along = {axis: (length, array.strides[axis] // here, result.strides[axis] // there) for axis, length in zip(self.axes, self.lengths)}
        order = sorted(self.axes) if self.kind == COMPLEX else [*sorted(self.axes[:-1]), self.axes[-1]]
        batches: list[tuple[int, int, int]] = []
        for axis, length in enumerate(array.shape):
            if axis in along or length == 1:
                continue
            loop = (length, array.strides[axis] // here, result.strides[axis] // there)
            if batches and batches[-1][1:] == (length * loop[1], length * loop[2]):
                loop = (batches.pop()[0] * length, *loop[1:])
            batches.append(loop)
        return [along[axis] for axis in order], batches


class Engine:
    """Passes the transforms of a module on to the library's function at `address`."""

    def __init__(self, address: int, floor: int, module: str) -> None:
        self.numpy = sys.modules["numpy"]
        self.module = NUMPY if module == "numpy.fft" else SCIPY
        # NumPy 1 computes in double precision only.
        types = "dD" if self.module == NUMPY and int(self.numpy.__version__.split(".")[0]) < 2 else "dfDF"
        self.smallest_spectrum = CHECKED_SPECTRUM if floor > 1 else 1
        self.types = {
            COMPLEX: "".join(letter for letter in types if letter in "DF"),
            FROM_REAL: "".join(letter for letter in types if letter in "df"),
            TO_REAL: "".join(letter for letter in types if letter in "DF"),
        }
        self.spare: list[Any] = []
        self.usual_workers: Callable[[], int] | None = None
        self.py_object = ctypes.py_object
        make = ctypes.CFUNCTYPE(None, ctypes.py_object)
        self.make = make(Call.make)
        self.transform = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, make, ctypes.py_object)(address)

    def compute(self, name: str, original: Callable[..., Any] | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of original(*args, **kwargs), from the device if that is faster. NotImplemented: the function has to be called."""
        try:
            asked = self.asked(name, args, kwargs)
            function = original or scipy_function(name)
        except Exception:
            asked = None  # the function itself says what is wrong
        if asked is None:
            return NotImplemented
        problem, factor, workers = asked
        return self.passed_on(problem, factor, workers, Call(function, args, kwargs))

    def asked(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Problem, float, int] | None:
        """What a call asks for: a transform, a factor, and a number of threads. None if the program's own function is to be asked."""
        bound = BINDINGS[self.module, shape_of_arguments(name)](*args, **kwargs)
        if bound is None:
            return None
        array, lengths, axes, norm, workers = bound
        kind, sign = KINDS[name]
        dtype = array.dtype
        if dtype.char not in self.types[kind] or not dtype.isnative or not array.flags.aligned:
            return None
        threads = self.threads(workers)
        if threads is None:
            return None
        places = axes_of(array, lengths, axes)
        if places is None:
            return None
        if lengths is None:
            lengths = [array.shape[axis] for axis in places]
            if kind == TO_REAL:
                lengths[-1] = 2 * (lengths[-1] - 1)
        lengths = [operator.index(length) for length in lengths]
        if len(lengths) != len(places) or min(lengths) < 1:
            return None
        points = prod(lengths)
        factors = {"backward": 1.0, None: 1.0, "ortho": 1 / sqrt(points), "forward": 1.0 / points}
        if sign > 0:
            factors.update({"backward": factors["forward"], None: factors["forward"], "forward": 1.0})
        if norm not in factors:
            return None
        return Problem(array, kind, sign, places, lengths), factors[norm], threads

    def threads(self, workers: Any) -> int | None:
        """The number of threads that the call uses on the CPU; None for a number that the function does not accept, or may not."""
        if self.module == NUMPY:
            return 1
        if workers is None:
            if self.usual_workers is None:
                self.usual_workers = sys.modules["scipy.fft"].get_workers
            return self.usual_workers()
        workers = operator.index(workers)
        return workers if workers > 0 or workers == -1 else None

    def passed_on(self, problem: Problem, factor: float, threads: int, call: Call) -> Any:
        numpy = self.numpy
        fit(numpy, problem)
        array = problem.array
        single = array.dtype.char in "fF"
        dtype = ("f" if single else "d") if problem.kind == TO_REAL else ("F" if single else "D")
        result = self.empty(problem, dtype)
        loops = problem.loops(result)
        supported = loops is not None
        if problem.kind == TO_REAL:
            supported = supported and array.size >= self.smallest_spectrum and is_of_reals(numpy, problem)
        dims, batches = loops or ([], [])
        kind = [problem.kind, int(single), problem.sign, 2 * threads + self.module, int(supported)]
        sizes = [len(dims), len(batches), *chain.from_iterable((*dims, *batches))]
        description = struct.pack(f"{len(kind)}qd{len(sizes)}q", *kind, factor, *sizes)
        if self.transform(description, array.ctypes.data, result.ctypes.data, self.make, self.py_object(call)):
            return result
        if result.nbytes <= LARGEST_SPARE and not self.spare:
            self.spare.append(result)
        if call.error is not None:
            raise call.error
        return call.result

    def empty(self, problem: Problem, dtype: str) -> Any:
        """An array for the result, in the order of dimensions that the module's own function chooses."""
        numpy, shape, like = self.numpy, problem.result_shape, problem.array
        with contextlib.suppress(IndexError):  # another thread may take it
            spare = self.spare.pop()
            if spare.shape == shape and spare.dtype.char == dtype and spare.flags.c_contiguous and (self.module == SCIPY or like.flags.c_contiguous):
                return spare
        return numpy.empty_like(like, dtype=dtype, shape=shape) if self.module == NUMPY else numpy.empty(shape, dtype=dtype)


def axes_of(array: Any, lengths: Any, axes: Any) -> list[int] | None:
    """The axes as numbers from 0; None if they are wrong or repeated."""
    count = array.ndim
    if axes is None:
        axes = range(0 if lengths is None else count - len(lengths), count)
    places = [operator.index(axis) for axis in (axes if hasattr(axes, "__iter__") else (axes,))]
    if not places or not all(-count <= place < count for place in places):
        return None
    places = [place % count for place in places]
    return places if len(set(places)) == len(places) else None


def fit(numpy: Any, problem: Problem) -> None:
    """Cuts the array, or fills it up with zeros, to the lengths of the transform."""
    array = problem.array
    shape = list(array.shape)
    for axis, length in zip(problem.axes, problem.lengths_needed()):
        shape[axis] = length
    if tuple(shape) == array.shape:
        return
    part = tuple(slice(min(wanted, given)) for wanted, given in zip(shape, array.shape))
    if all(wanted <= given for wanted, given in zip(shape, array.shape)):
        problem.array = array[part]
    else:
        problem.array = numpy.zeros(shape, dtype=array.dtype)
        problem.array[part] = array[part]


def is_of_reals(numpy: Any, problem: Problem) -> bool:
    """Whether the array is the spectrum of real numbers, up to rounding. From another array, pocketfft and the device compute different results.
    What is symmetric in such a spectrum lies in two planes."""
    last, others = problem.axes[-1], tuple(problem.axes[:-1])
    apart, largest = 0.0, 0.0
    for place in {0, problem.lengths[-1] // 2} if problem.lengths[-1] % 2 == 0 else {0}:
        plane = problem.array[(slice(None),) * last + (slice(place, place + 1),)]
        mirrored = numpy.roll(numpy.flip(plane, others), 1, others) if others else plane
        apart = max(apart, float(numpy.abs(plane - mirrored.conj()).max()))
        largest = max(largest, float(numpy.abs(plane).max()))
    return apart <= 16 * numpy.finfo(problem.array.dtype).eps * largest

"""Transforms by DFTI, MKL's own interface, in C's and Fortran's names, compared with the definition.

Usage: dfti.py [LIBRARY]; without a library, its functions are among those of the process. Prints how many transforms each kind has made, and "right".
"""

import collections
import ctypes
import sys

import numpy as np
from numpy.lib.stride_tricks import as_strided

library = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else None, ctypes.RTLD_GLOBAL)
COMMITTED, COMPLEX, REAL, SINGLE, DOUBLE = 30, 32, 33, 35, 36
FORWARD_SCALE, BACKWARD_SCALE, NUMBER, COMPLEX_STORAGE, CONJUGATE_EVEN_STORAGE, PLACEMENT = 4, 5, 7, 8, 10, 11
INPUT_STRIDES, OUTPUT_STRIDES, INPUT_DISTANCE, OUTPUT_DISTANCE, PACKED_FORMAT = 12, 13, 14, 15, 21
FORWARD_DISTANCE, BACKWARD_DISTANCE, FORWARD_STRIDES, BACKWARD_STRIDES = 58, 59, 60, 61
COMPLEX_REAL, REAL_REAL, NOT_IN_PLACE, CCS = 40, 42, 44, 54
random = np.random.default_rng(1)
made: collections.Counter = collections.Counter()
GAP = 7.25


def fail(*what):
    print(*what, "WRONG")
    sys.exit(1)


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def fourier(x, axes, sign):
    """The transform of x along axes, by its definition."""
    x = x.astype(complex)
    for axis in axes:
        n = x.shape[axis]
        matrix = np.exp(sign * 2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n)
        x = np.moveaxis(np.einsum("jk,...k->...j", matrix, np.moveaxis(x, axis, -1)), -1, axis)
    return x


class Descriptor:
    def __init__(self, precision, domain, lengths, fortran=None):
        """fortran: the end of the names of Fortran's functions, "" or "_"; None: C's functions."""
        self.handle, self.fortran = ctypes.c_void_p(), fortran
        self.single, self.real, self.lengths = precision == SINGLE, domain == REAL, list(lengths)
        rank = len(lengths)
        if fortran is None:
            sizes = (ctypes.c_long * rank)(*lengths) if rank > 1 else ctypes.c_long(lengths[0])
            status = library.DftiCreateDescriptor(ctypes.byref(self.handle), precision, domain, ctypes.c_long(rank), sizes)
        else:
            sizes = (ctypes.c_int * rank)(*reversed(lengths))
            name = f"dfti_create_descriptor_{'highd' if rank > 1 else '1d'}{fortran}"
            arguments = [ctypes.byref(ctypes.c_int(value)) for value in (precision, domain, rank)]
            status = getattr(library, name)(ctypes.byref(self.handle), *arguments, sizes)
        self.check(status)

    def check(self, status):
        if status != 0:
            fail("status", status)

    def set(self, **values):
        for name, value in values.items():
            if name.endswith("STRIDES"):
                passed = (ctypes.c_long * (len(value) + 1))(0, *value)
            elif name.endswith("SCALE"):
                passed = ctypes.c_double(value)
            else:
                passed = ctypes.c_long(value)
            self.check(library.DftiSetValue(self.handle, globals()[name], passed))
        return self

    def commit(self):
        if self.fortran is None:
            self.check(library.DftiCommitDescriptor(self.handle))
        else:
            self.check(getattr(library, "dfti_commit_descriptor_external" + self.fortran)(ctypes.byref(self.handle)))
        return self

    def free(self):
        if self.fortran is None:
            self.check(library.DftiFreeDescriptor(ctypes.byref(self.handle)))
        else:
            self.check(getattr(library, "dfti_free_descriptor_external" + self.fortran)(ctypes.byref(self.handle)))

    def compute(self, sign, *arrays):
        way = "forward" if sign < 0 else "backward"
        if self.fortran is None:
            return library["DftiCompute" + way.capitalize()](self.handle, *(pointer(array) for array in arrays))
        letters = "".join({"f": "s", "d": "d", "F": "c", "D": "z"}[array.dtype.char] for array in arrays)
        function = library[f"dfti_compute_{way}_{letters}{self.fortran}"]
        return function(ctypes.byref(self.handle), *(pointer(array) for array in arrays))

    def kind(self, sign):
        kinds = ("c2c", "z2z") if not self.real else ("r2c", "d2z") if sign < 0 else ("c2r", "z2d")
        return kinds[not self.single]

    def count(self, sign):
        made[self.kind(sign)] += 1


def strided(flat, dtype, shape, strides):
    view = flat.view(dtype)
    return as_strided(view, shape, [stride * view.itemsize for stride in strides])


def check_transform(descriptor, sign, batch, layouts, factor=1.0, in_place=False):
    """One transform. layouts: strides of the batch and of the dimensions, on the forward and on the backward side."""
    kinds = ("f", "F") if descriptor.single else ("d", "D")
    shape = [batch, *descriptor.lengths]
    halved = [*shape[:-1], shape[-1] // 2 + 1] if descriptor.real else shape
    sides = [(kinds[not descriptor.real], shape, layouts[0]), (kinds[1], halved, layouts[1])]
    if sign > 0:
        sides.reverse()
    values = random.standard_normal(shape)
    if not descriptor.real:
        values = values + 1j * random.standard_normal(shape)
    axes = range(1, len(shape))
    spectrum = fourier(values, axes, -1)
    if sign < 0:
        given, expected = values, factor * (spectrum[..., : halved[-1]])
    elif descriptor.real:
        given, expected = spectrum[..., : halved[-1]], factor * values * np.prod(descriptor.lengths)
    else:
        given, expected = values, factor * fourier(values, axes, 1)
    room = 2 * max(1 + int(np.dot(np.array(side[1]) - 1, side[2])) for side in sides) + 8
    flats = [np.full(room, GAP, kinds[0]) for _ in sides[: 1 if in_place else 2]]
    source, target = strided(flats[0], *sides[0]), strided(flats[-1], *sides[1])
    source[...] = given
    before = [flat.copy() for flat in flats]
    arrays = [flats[0].view(sides[0][0]), *(flat.view(sides[1][0]) for flat in flats[1:])]
    if descriptor.compute(sign, *arrays) != 0:
        fail(descriptor.kind(sign), "status")
    descriptor.count(sign)
    error = np.abs(target - expected).max() / np.abs(expected).max()
    if not error < 100 * np.finfo(kinds[0]).eps:
        fail(descriptor.kind(sign), sign, descriptor.lengths, layouts, error)
    if not in_place and not np.array_equal(flats[0], before[0]):
        fail("the input", descriptor.kind(sign))
    strided(before[-1], *sides[1])[...] = target
    padding_is_free = descriptor.real and in_place
    if not padding_is_free and not np.array_equal(flats[-1], before[-1]):
        fail("the gaps", descriptor.kind(sign), layouts)


def dense(lengths, pad=0):
    strides = [1]
    for length in lengths[:0:-1]:
        strides.insert(0, strides[0] * length + (pad if len(strides) == 1 else 0))
    return strides


def distance(lengths, strides):
    return lengths[0] * strides[0]


def complex_transforms(precision, fortran):
    for lengths in ((30,), (6, 8), (4, 5, 6), (64, 64)):
        strides = dense(lengths)
        for in_place in (True, False):
            plan = Descriptor(precision, COMPLEX, lengths, fortran).set(FORWARD_SCALE=0.5, BACKWARD_SCALE=1 / np.prod(lengths))
            if not in_place:
                plan.set(PLACEMENT=NOT_IN_PLACE)
            plan.commit()
            layouts = [[1, *strides]] * 2
            check_transform(plan, -1, 1, layouts, 0.5, in_place)
            check_transform(plan, 1, 1, layouts, 1 / np.prod(lengths), in_place)
            plan.free()


def complex_layouts(precision):
    lengths, batch = (5, 6), 3
    padded, wider = dense(lengths, 2), dense(lengths, 4)
    near, far = distance(lengths, padded), distance(lengths, wider)
    plan = Descriptor(precision, COMPLEX, lengths).set(
        PLACEMENT=NOT_IN_PLACE, NUMBER=batch, FORWARD_STRIDES=padded, BACKWARD_STRIDES=wider, FORWARD_DISTANCE=near, BACKWARD_DISTANCE=far
    )
    plan.commit()
    layouts = [[near, *padded], [far, *wider]]
    for sign in (-1, 1):
        check_transform(plan, sign, batch, layouts)
    plan.free()
    # The older names are those of the input and the output, whatever the direction.
    plan = Descriptor(precision, COMPLEX, lengths).set(
        PLACEMENT=NOT_IN_PLACE, NUMBER=batch, INPUT_STRIDES=padded, OUTPUT_STRIDES=wider, INPUT_DISTANCE=near, OUTPUT_DISTANCE=far
    )
    plan.commit()
    check_transform(plan, -1, batch, layouts)
    check_transform(plan, 1, batch, layouts[::-1])
    plan.set(PLACEMENT=43).commit()  # in place, the input's layout counts
    check_transform(plan, -1, batch, [layouts[0]] * 2, in_place=True)
    plan.free()
    # Columns of a matrix.
    plan = Descriptor(precision, COMPLEX, (12,)).set(NUMBER=4, FORWARD_STRIDES=[5], FORWARD_DISTANCE=1).commit()
    for sign in (-1, 1):
        check_transform(plan, sign, 4, [[1, 5]] * 2, in_place=True)
    plan.free()


def real_transforms(precision, fortran):
    for lengths in ((30,), (31,), (6, 8), (4, 5, 6), (4, 3, 7)):
        halved = (*lengths[:-1], lengths[-1] // 2 + 1)
        padded = (*lengths[:-1], 2 * halved[-1])
        for in_place, batch in ((True, 1), (False, 1), (True, 3), (False, 3)):
            apart, half = distance(padded if in_place else lengths, dense(padded if in_place else lengths)), distance(halved, dense(halved))
            plan = Descriptor(precision, REAL, lengths, fortran).set(CONJUGATE_EVEN_STORAGE=39, BACKWARD_SCALE=1 / np.prod(lengths))
            if not in_place:
                plan.set(PLACEMENT=NOT_IN_PLACE)
            if batch > 1:
                plan.set(NUMBER=batch, FORWARD_DISTANCE=apart, BACKWARD_DISTANCE=half)
            plan.commit()
            layouts = [[apart, *dense(padded if in_place else lengths)], [half, *dense(halved)]]
            check_transform(plan, -1, batch, layouts, 1, in_place)
            check_transform(plan, 1, batch, layouts, 1 / np.prod(lengths), in_place)
            plan.free()


def left_to_mkl():
    """What no device computes, and what MKL refuses. Returns the number of transforms that are made."""
    plan = Descriptor(DOUBLE, COMPLEX, (24,)).set(COMPLEX_STORAGE=REAL_REAL).commit()
    numbers = random.standard_normal(24) + 1j * random.standard_normal(24)
    for ending in (None, "_"):
        parts = [numbers.real.copy(), numbers.imag.copy()]
        plan.fortran = ending
        if plan.compute(-1, *parts) != 0 or not np.allclose(parts[0] + 1j * parts[1], fourier(numbers, (0,), -1)):
            fail("split")
        plan.count(-1)
    plan.fortran = None
    plan.free()
    plan = Descriptor(DOUBLE, REAL, (16,)).set(CONJUGATE_EVEN_STORAGE=COMPLEX_REAL, PACKED_FORMAT=CCS).commit()
    line = np.zeros(18)
    line[:16] = random.standard_normal(16)
    expected = fourier(line[:16], (0,), -1)[:9]
    if plan.compute(-1, line) != 0 or not np.allclose(line[::2] + 1j * line[1::2], expected):
        fail("packed")
    plan.count(-1)
    plan.free()
    # An uncommitted descriptor.
    plan = Descriptor(DOUBLE, COMPLEX, (24,)).commit()
    plan.set(FORWARD_SCALE=2.0)
    if plan.compute(-1, numbers.copy()) == 0:
        fail("uncommitted")
    plan.commit()
    check_transform(plan, -1, 1, [[1, 1]] * 2, 2.0, in_place=True)
    plan.free()
    if library.DftiComputeForward(None, pointer(numbers)) == 0:
        fail("no descriptor")
    return 3


for precision in (SINGLE, DOUBLE):
    for fortran in (None, "_", ""):
        complex_transforms(precision, fortran)
        real_transforms(precision, fortran)
    complex_layouts(precision)
left = left_to_mkl()
print(*(f"dfti_{kind}={count}" for kind, count in sorted(made.items())), f"left={left}", "right")

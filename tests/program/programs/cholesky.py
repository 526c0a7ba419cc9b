"""Cholesky factorizations in all types and of both triangles: of definite matrices, and of matrices that cease to be definite at some order.

usage: cholesky.py ORDER. Prints what is wrong, then "right" or "WRONG". All that potrf must not touch is NaN.
"""

import ctypes
import sys

import numpy as np

lapack = ctypes.CDLL("liblapack.so.3", mode=ctypes.RTLD_GLOBAL)
order = int(sys.argv[1])
generator = np.random.default_rng(3)


def definite(dtype):
    x = generator.standard_normal((order, order)) + (1j * generator.standard_normal((order, order)) if np.iscomplexobj(dtype()) else 0)
    return ((x + x.conj().T) / 2 + order * np.eye(order)).astype(dtype)


def error(factor, a):
    """Without the BLAS, whose calls would go to the device, too."""
    return abs(np.einsum("ik,jk->ij", factor, factor.conj()) - a).max() / order


def potrf(letter, triangle, a):
    info = ctypes.c_int(-7)
    n, leading_dimension = ctypes.c_int(a.shape[1]), ctypes.c_int(a.shape[0])
    address = a.ctypes.data_as(ctypes.c_void_p)
    words = triangle.encode(), ctypes.byref(n), address, ctypes.byref(leading_dimension), ctypes.byref(info), ctypes.c_size_t(1)
    getattr(lapack, letter + "potrf_")(*words)
    return info.value


def wrong(letter, dtype, triangle, broken):
    """What is wrong with a factorization; `broken`: the order of the first minor that is not positive, or 0."""
    whole = definite(dtype)
    if broken:
        whole[broken - 1, broken - 1] = -1
    a = np.full((order + 5, order), np.nan, dtype, order="F")
    used = np.tri(order, dtype=bool) if triangle == "L" else np.tri(order, dtype=bool).T
    a[:order][used] = whole[used]
    if (info := potrf(letter, triangle, a)) != broken:
        return f"info {info}"
    if not (np.isnan(a[order:]).all() and np.isnan(a[:order][~used]).all()):
        return "memory around the triangle has changed"
    if broken:  # LAPACK does not say what the triangle holds then
        return ""
    factor = np.where(used, a[:order], 0)
    found = error(factor if triangle == "L" else factor.conj().T, whole)
    return "" if found < 100 * np.finfo(dtype).eps else f"error {found}"


def wrong_in_numpy():
    """NumPy's LAPACK has integers of 64 bits and names of its own."""
    a = definite(np.float64)
    found = error(np.linalg.cholesky(a), a)
    a[-2, -2] = -1
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return [] if found < 1e-13 else [f"NumPy: error {found}"]
    return ["NumPy: a matrix that is not definite has a factor"]


found = wrong_in_numpy() + [
    f"{letter}potrf {triangle} {broken}: {what}"
    for letter, dtype in zip("sdcz", (np.float32, np.float64, np.complex64, np.complex128), strict=True)
    for triangle in "LU"
    for broken in (0, order // 8, order - order // 5)
    if (what := wrong(letter, dtype, triangle, broken))
]
print(*found, "WRONG" if found else "right", sep="\n")

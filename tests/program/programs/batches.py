"""Calls MKL's products and solves in batches, in all types and with integers of both widths, and compares with NumPy's.

Usage: batches.py LIBRARY
"""

import ctypes
import sys

import numpy as np

library = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
COLUMN_MAJOR = 102
OPTIONS = {"N": 111, "T": 112, "C": 113}
M, N, K, PRODUCTS = 23, 17, 19, 12
random = np.random.default_rng(1)


def matrices(dtype, count, rows, columns):
    """A stack of matrices that are stored by columns: [i] is the transposed matrix."""
    values = random.standard_normal((count, columns, rows))
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * random.standard_normal(values.shape)
    return values.astype(dtype)


def op(letter, matrix):
    return {"N": matrix, "T": matrix.swapaxes(1, 2), "C": matrix.swapaxes(1, 2).conj()}[letter]


def check(name, found, expected):
    error = np.abs(found - expected).max() / np.abs(expected).max()
    if not error < 100 * np.finfo(found.dtype).eps:
        print(name, "WRONG", error)
        sys.exit(1)


def passed(letter, value):
    """A coefficient as C passes it."""
    if letter in "cz":
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_float(value[0]) if letter == "s" else ctypes.c_double(value[0])


def addresses(stack):
    return (ctypes.c_void_p * len(stack))(*(each.ctypes.data for each in stack))


for letter, dtype in {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}.items():
    for suffix, integer in {"": np.int32, "_64": np.int64}.items():
        for ta, tb in (("N", "N"), ("T", "N"), ("N", "C"), ("C", "T")):
            a = matrices(dtype, PRODUCTS, *((M, K) if ta == "N" else (K, M)))
            b = matrices(dtype, PRODUCTS, *((K, N) if tb == "N" else (N, K)))
            c = matrices(dtype, PRODUCTS, M, N)
            lda, ldb = a.shape[2], b.shape[2]
            alpha, beta = 1.5, -0.5
            # Blastoff takes no einsum.
            products = np.einsum("pij,pjk->pik", op(ta, a.swapaxes(1, 2)), op(tb, b.swapaxes(1, 2)))
            expected = alpha * products + beta * c.swapaxes(1, 2)
            keep = [np.array([value], dtype) for value in (alpha, beta)]
            factors = [passed(letter, each) for each in keep]
            size = ctypes.c_int32 if integer is np.int32 else ctypes.c_int64

            found = c.copy()
            function = getattr(library, f"cblas_{letter}gemm_batch_strided{suffix}")
            function(COLUMN_MAJOR, OPTIONS[ta], OPTIONS[tb], *map(size, (M, N, K)), factors[0], ctypes.c_void_p(a.ctypes.data), size(lda),
                     size(lda * a.shape[1]), ctypes.c_void_p(b.ctypes.data), size(ldb), size(ldb * b.shape[1]), factors[1],
                     ctypes.c_void_p(found.ctypes.data), size(M), size(M * N), size(PRODUCTS))  # fmt: skip
            check(function.__name__, found.swapaxes(1, 2), expected)

            found = c.copy()
            sizes = [np.array([value], integer) for value in (M, N, K, lda, ldb, M, PRODUCTS, 1)]
            at = [ctypes.c_void_p(each.ctypes.data) for each in sizes]
            scalars = [ctypes.c_void_p(each.ctypes.data) for each in keep]
            letters = [ctypes.c_char_p(each.encode()) for each in (ta, tb)]
            function = getattr(library, f"{letter}gemm_batch{suffix or '_'}")
            function(*letters, *at[:3], scalars[0], addresses(a), at[3], addresses(b), at[4], scalars[1], addresses(found), at[5], at[7], at[6])
            check(function.__name__, found.swapaxes(1, 2), expected)

            found = c.copy()
            options = [(ctypes.c_int * 1)(OPTIONS[each]) for each in (ta, tb)]
            function = getattr(library, f"cblas_{letter}gemm_batch{suffix}")
            function(COLUMN_MAJOR, *options, *at[:3], scalars[0], addresses(a), at[3], addresses(b), at[4], scalars[1], addresses(found), at[5],
                     size(1), at[6])  # fmt: skip
            check(function.__name__, found.swapaxes(1, 2), expected)

        for side, uplo, ta, diagonal in (("L", "L", "N", "N"), ("L", "U", "C", "N"), ("R", "L", "T", "U"), ("R", "U", "N", "N")):
            order = M if side == "L" else N
            triangle = matrices(dtype, PRODUCTS, order, order) / order + 2 * np.eye(order, dtype=dtype)
            used = (np.tril if uplo == "L" else np.triu)(triangle.swapaxes(1, 2))
            if diagonal == "U":
                used = used - used * np.eye(order) + np.eye(order)
            b = matrices(dtype, PRODUCTS, M, N)
            alpha = np.array([1.5], dtype)
            right = alpha[0] * b.swapaxes(1, 2)
            expected = (
                np.linalg.solve(op(ta, used), right)
                if side == "L"
                else np.linalg.solve(op(ta, used).swapaxes(1, 2), right.swapaxes(1, 2)).swapaxes(1, 2)
            )
            size = ctypes.c_int32 if integer is np.int32 else ctypes.c_int64
            values = [{"L": 141, "R": 142}[side], {"U": 121, "L": 122}[uplo], OPTIONS[ta], {"N": 131, "U": 132}[diagonal]]
            sizes = [np.array([value], integer) for value in (M, N, order, M, PRODUCTS, 1, order * order, M * N)]
            at = [ctypes.c_void_p(each.ctypes.data) for each in sizes]
            letters = [ctypes.c_char_p(each.encode()) for each in (side, uplo, ta, diagonal)]
            scalar = ctypes.c_void_p(alpha.ctypes.data)

            found = b.copy()
            function = getattr(library, f"cblas_{letter}trsm_batch_strided{suffix}")
            function(COLUMN_MAJOR, *values, size(M), size(N), passed(letter, alpha), ctypes.c_void_p(triangle.ctypes.data), size(order),
                     size(order * order), ctypes.c_void_p(found.ctypes.data), size(M), size(M * N), size(PRODUCTS))  # fmt: skip
            check(function.__name__, found.swapaxes(1, 2), expected)

            found = b.copy()
            function = getattr(library, f"{letter}trsm_batch_strided{suffix or '_'}")
            places = [ctypes.c_void_p(each.ctypes.data) for each in (triangle, found)]
            function(*letters, *at[:2], scalar, places[0], at[2], at[6], places[1], at[3], at[7], at[4])
            check(function.__name__, found.swapaxes(1, 2), expected)

            found = b.copy()
            function = getattr(library, f"{letter}trsm_batch{suffix or '_'}")
            function(*letters, *at[:2], scalar, addresses(triangle), at[2], addresses(found), at[3], at[5], at[4])
            check(function.__name__, found.swapaxes(1, 2), expected)

            found = b.copy()
            function = getattr(library, f"cblas_{letter}trsm_batch{suffix}")
            options = [(ctypes.c_int * 1)(each) for each in values]
            function(COLUMN_MAJOR, *options, *at[:2], scalar, addresses(triangle), at[2], addresses(found), at[3], size(1), at[4])
            check(function.__name__, found.swapaxes(1, 2), expected)
print("right")

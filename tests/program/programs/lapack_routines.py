"""Calls every offloaded LAPACK routine through SciPy, and checks each result against its definition.

Prints a line for each check: "ok dpotrf lower", or "WRONG ..." with the error in units of n epsilon. Usage: lapack_routines.py [N [TYPES]]
"""

import ctypes
import mmap
import sys
from collections.abc import Iterator

import numpy as np
from scipy.linalg import cython_lapack, get_lapack_funcs

TYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
MOST = 60.0  # accepted error in units of n epsilon; LAPACK's own testers accept 30


class Checks:
    def __init__(self, dtype: type, n: int) -> None:
        self.dtype, self.n = dtype, n
        self.random = np.random.default_rng(n)
        self.epsilon = np.finfo(dtype).eps
        self.complex = np.issubdtype(dtype, np.complexfloating)
        self.real = np.float32 if dtype in (np.float32, np.complex64) else np.float64
        self.wrong = 0

    def matrix(self, rows: int, columns: int) -> np.ndarray:
        values = self.random.standard_normal((rows, columns))
        if self.complex:
            values = values + 1j * self.random.standard_normal((rows, columns))
        return np.asfortranarray(values.astype(self.dtype))

    def hermitian(self) -> np.ndarray:
        a = self.matrix(self.n, self.n)
        return np.asfortranarray((a + a.conj().T) / 2)

    def definite(self) -> np.ndarray:
        a = self.matrix(self.n, self.n)
        return np.asfortranarray(a @ a.conj().T / self.n + np.eye(self.n, dtype=self.dtype))

    def name(self, stem: str) -> str:
        """For complex matrices, "syevd" is heevd, "spevd" is hpevd, and "orgqr" is ungqr."""
        if stem == "lansy":
            return "lanhe" if self.complex else stem
        return {"sy": "he", "sp": "hp", "or": "un"}.get(stem[:2], stem[:2]) + stem[2:] if self.complex else stem

    def function(self, stem: str):
        """SciPy's function for this routine."""
        return get_lapack_funcs(self.name(stem), dtype=self.dtype)

    def report(self, name: str, good: bool, error: float | None = None) -> None:
        note = "" if error is None else f" {error:.3g}"
        print("ok" if good else "WRONG", np.dtype(self.dtype).char, name + ("" if good else note))
        self.wrong += not good

    def close(self, name: str, actual: np.ndarray, expected: np.ndarray) -> None:
        """Checks a result: the norm of its error relative to the norm of the expected result."""
        scale = np.linalg.norm(expected) or 1.0
        error = np.linalg.norm(actual - expected) / scale / (max(actual.shape) * self.epsilon)
        self.report(name, bool(error < MOST), float(error))

    def small(self, name: str, residual: np.ndarray, scale: float) -> None:
        error = np.linalg.norm(residual) / scale / (self.n * self.epsilon)
        self.report(name, bool(error < MOST), float(error))


def triangle(a: np.ndarray, lower: bool) -> np.ndarray:
    return np.tril(a) if lower else np.triu(a)


def hermitian_of(a: np.ndarray, lower: bool) -> np.ndarray:
    part = triangle(a, lower)
    return part + part.conj().T - np.diag(np.diag(part))


def half(a: np.ndarray, lower: bool) -> np.ndarray:
    """One triangle of a matrix. The other one holds NaN, and must be neither read nor written."""
    return np.asfortranarray(np.where(triangle(np.ones(a.shape), lower) > 0, a, np.nan))


def norm_of(a: np.ndarray, letter: str) -> float:
    sums = {"M": lambda size: size.max(), "1": lambda size: size.sum(0).max(), "I": lambda size: size.sum(1).max(), "F": np.linalg.norm}
    return sums[letter](np.abs(a.astype(np.complex128 if np.iscomplexobj(a) else np.float64)))


def norms(check: Checks) -> None:
    """Of numbers whose squares overflow, too, and of triangles."""
    n = check.n
    large = np.sqrt(np.finfo(check.real).max)
    for letter in "M1IF":
        for factor in (1, large, 1 / large):
            a = np.asfortranarray(check.matrix(n + 5, n) * check.real(factor))
            found, expected = check.function("lange")(letter, a), norm_of(a, letter)
            check.report(f"lange {letter} {factor:.0e}", bool(abs(found - expected) <= 10 * n * check.epsilon * expected))
        for lower in (False, True):
            a = check.hermitian()
            size, work, letters = np.array([n], np.int32), np.zeros(n, check.dtype), np.frombuffer((letter + "UL"[lower]).encode(), np.uint8)
            found = call_routine(check, "lansy", [letters[:1], letters[1:], size, half(a, lower), size, work], returned=check.real)
            expected = norm_of(a, letter)
            check.report(f"lansy {letter} {'UL'[lower]}", bool(abs(found - expected) <= 10 * n * check.epsilon * expected))
    poisoned = check.matrix(n, n)
    poisoned[3, 4] = np.nan
    check.report("lange of not-a-number", all(np.isnan(check.function("lange")(letter, poisoned)) for letter in "M1IF"))


def cholesky(check: Checks) -> None:
    a, b = check.definite(), check.matrix(check.n, 7)
    potrf, potrs, posv, potri = (check.function(name) for name in ("potrf", "potrs", "posv", "potri"))
    for lower in (False, True):
        word = "lower" if lower else "upper"
        factor, info = potrf(half(a, lower), lower=lower, clean=0)
        part = triangle(factor, lower)
        check.close(f"potrf {word}", part @ part.conj().T if lower else part.conj().T @ part, a)
        check.report(f"potrf {word} other triangle", info == 0 and bool(np.isnan(factor).sum() == check.n * (check.n - 1) // 2))
        x, _ = potrs(factor, b, lower=lower)
        check.close(f"potrs {word}", a @ x, b)
        inverse, _ = potri(factor, lower=lower)
        check.close(f"potri {word}", hermitian_of(inverse, lower) @ a, np.eye(check.n))
        _, x, info = posv(half(a, lower), b, lower=lower)
        check.close(f"posv {word}", a @ x, b)
    broken = a.copy()
    broken[check.n // 2, check.n // 2] = -1000
    factor, info = potrf(broken, lower=True, clean=0)
    check.report("potrf that is not definite", info == check.n // 2 + 1)


def lu(check: Checks) -> None:
    n, b = check.n, check.matrix(check.n, 5)
    getrf, getrs, gesv, getri = (check.function(name) for name in ("getrf", "getrs", "gesv", "getri"))
    for rows, columns in ((n, n), (n + 13, n), (n, n + 9)):
        a = check.matrix(rows, columns)
        factors, pivots, _ = getrf(a)
        low = min(rows, columns)
        product = (np.tril(factors, -1)[:, :low] + np.eye(rows, low)) @ np.triu(factors)[:low]
        order = np.arange(rows)
        for i, pivot in enumerate(pivots):
            order[[i, pivot]] = order[[pivot, i]]
        check.close(f"getrf {rows} x {columns}", product, a[order])
    a = check.matrix(n, n) + np.asfortranarray(n * np.eye(n, dtype=check.dtype))
    factors, pivots, _ = getrf(a)
    for trans, op in enumerate((a, a.T, a.conj().T)):
        x, _ = getrs(factors, pivots, b, trans=trans)
        check.close(f"getrs trans={trans}", op @ x, b)
    _, _, x, _ = gesv(a, b)
    check.close("gesv", a @ x, b)
    inverse, _ = getri(factors, pivots, lwork=64 * n)
    check.close("getri", inverse @ a, np.eye(n))
    for inc in (1, -1):
        exchanged, rows = a.copy(), np.arange(4, 4 + n // 2)
        chosen = rows + rows * 7 % (n - rows)
        for i in rows[::inc]:
            exchanged[[i, chosen[i - 4]]] = exchanged[[chosen[i - 4], i]]
        given = np.concatenate([np.zeros(4, dtype=np.int32), chosen.astype(np.int32)])
        result = check.function("laswp")(a, given, k1=4, k2=4 + n // 2 - 1, inc=inc)
        check.report(f"laswp inc={inc}", bool((result == exchanged).all()))
    for letter, part in ((b"U", np.triu), (b"L", np.tril), (b"A", lambda whole: whole)):
        copied, size = np.zeros_like(a), np.array([n], np.int32)
        call_routine(check, "lacpy", [np.frombuffer(letter, np.uint8), size, size, a, size, copied, size])
        check.report(f"lacpy {letter.decode()}", bool((copied == part(a)).all()))
    singular = a.copy()
    singular[:, n // 3] = 0
    factors, pivots, info = getrf(np.asfortranarray(singular))
    check.report("getrf of a singular matrix", info == n // 3 + 1)
    poisoned = a.copy()
    poisoned[n // 2, n // 2] = np.nan
    _, _, x, _ = gesv(poisoned, b)
    check.report("gesv of not-a-number", bool(np.isnan(x).any()))


def indefinite(check: Checks) -> None:
    """Symmetric matrices, which are not Hermitian if they are complex. A diagonal of zeros needs blocks of two rows."""
    n = check.n
    sytrf, sysv = get_lapack_funcs(("sytrf", "sysv"), dtype=check.dtype)
    for lower in (False, True):
        for zeros in (False, True):
            label = f"{'lower' if lower else 'upper'}{', zero diagonal' if zeros else ''}"
            a, b = check.matrix(n, n), check.matrix(n, 5)
            a = np.asfortranarray(a + a.T)
            if zeros:
                np.fill_diagonal(a, 0)
            given = half(a, lower)
            factors, pivots, x, info = sysv(given, b, lower=lower, lwork=64 * n)
            check.small(f"sysv {label}", a @ x - b, np.linalg.norm(a) * np.linalg.norm(x))
            check.report(f"sysv {label}: other triangle", bool(np.isnan(triangle(factors, not lower)[given != given]).all()))
            factors, pivots, info = sytrf(given, lower=lower, lwork=64 * n)
            check.report(f"sytrf {label}: info and pivots", info == 0 and bool((pivots < 0).any() or not zeros))
            x, sizes = b.copy(order="F"), np.array([n, 5, 0], np.int32)
            letter = np.frombuffer(b"L" if lower else b"U", np.uint8)
            call_routine(check, "sytrs", [letter, sizes, sizes[1:], factors, sizes, pivots, x, sizes, sizes[2:]], symmetric=True)
            check.small(f"sytrs {label}", a @ x - b, np.linalg.norm(a) * np.linalg.norm(x))
    a[:, n // 2] = a[n // 2, :] = 0
    _, _, info = sytrf(np.asfortranarray(a), lwork=64 * n)
    check.report("sytrf of a singular matrix", info > 0)


def triangles(check: Checks) -> None:
    n, b = check.n, check.matrix(check.n, 5)
    trtri, trtrs = (check.function(name) for name in ("trtri", "trtrs"))
    a = check.matrix(n, n) + np.asfortranarray(n * np.eye(n, dtype=check.dtype))
    for lower in (0, 1):
        part, given = triangle(a, bool(lower)), half(a, bool(lower))
        inverse, _ = trtri(given, lower=lower)
        check.close(f"trtri lower={lower}", triangle(inverse, bool(lower)) @ part, np.eye(n))
        for unit in (0, 1):
            whole = part / n - np.diag(np.diag(part / n)) + np.eye(n, dtype=check.dtype) if unit else part
            for trans, op in enumerate((whole, whole.T, whole.conj().T)):
                x, info = trtrs(given / n if unit else given, b, lower=lower, trans=trans, unitdiag=unit)
                check.close(f"trtrs lower={lower} trans={trans} unit={unit}", op @ x, b)
        singular = given.copy()
        singular[n // 2, n // 2] = singular[n // 4, n // 4] = 0
        _, info = trtrs(singular, b, lower=lower)
        check.report(f"trtrs of a singular triangle lower={lower}", info == n // 4 + 1)
        x, info = trtrs(singular, b, lower=lower, unitdiag=1)
        check.report(f"trtrs of ones instead of zeros lower={lower}", info == 0 and bool(np.isfinite(x).all()))


def qr(check: Checks) -> None:
    geqrf, orgqr, ormqr = (check.function(name) for name in ("geqrf", "orgqr", "ormqr"))
    n = check.n
    for rows, columns in ((n, n), (n + 21, n), (n, n + 8)):
        a = check.matrix(rows, columns)
        factor, tau, _, _ = geqrf(a, lwork=64 * columns)
        low = min(rows, columns)
        q, _, _ = orgqr(np.asfortranarray(factor[:, :low]), tau, lwork=64 * low)
        check.close(f"geqrf and orgqr {rows} x {columns}", q @ np.triu(factor)[:low], a)
        check.close(f"orgqr {rows} x {columns} orthogonal", q.conj().T @ q, np.eye(low))
        if rows < columns:
            continue
        reflectors = np.asfortranarray(factor[:, :low])
        whole, _, _ = ormqr("L", "N", reflectors, tau, np.asfortranarray(np.eye(rows, dtype=check.dtype)), 64 * rows)
        c = check.matrix(rows, 11)
        for trans in ("N", "C" if check.complex else "T"):
            op = whole if trans == "N" else whole.conj().T
            product, _, _ = ormqr("L", trans, reflectors, tau, c, 64 * rows)
            check.close(f"ormqr left {trans} {rows} x {columns}", product, op @ c)
            product, _, _ = ormqr("R", trans, reflectors, tau, np.asfortranarray(c.T), 64 * rows)
            check.close(f"ormqr right {trans} {rows} x {columns}", product, c.T @ op)


def least_squares(check: Checks) -> None:
    gels, n = check.function("gels"), check.n
    for rows, columns in ((n, n), (n + 21, n), (2 * n, n - 5)):
        a, b = check.matrix(rows, columns), check.matrix(rows, 6)
        factors, x, info = gels(a, b, lwork=64 * n)
        r = np.triu(factors)[:columns]
        solution = x[:columns]
        residual = b - a @ solution
        check.small(f"gels {rows} x {columns}", a.conj().T @ residual, np.linalg.norm(a) ** 2 * np.linalg.norm(solution))
        check.close(f"gels {rows} x {columns} triangle", r.conj().T @ r, a.conj().T @ a)
        left = np.linalg.norm(x[columns:], axis=0) - np.linalg.norm(residual, axis=0)
        check.small(f"gels {rows} x {columns} residuals", left, np.linalg.norm(a) * np.linalg.norm(solution))
    a, b = check.matrix(n, n - 9), check.matrix(n, 6)
    adjoint = "C" if check.complex else "T"
    _, x, _ = gels(a, check.matrix(n, 6), trans=adjoint, lwork=64 * n)
    check.report("gels of the transpose", bool(np.isfinite(x).all()))
    _, x, _ = gels(np.asfortranarray(a.T), b, lwork=64 * n)
    check.small("gels of a wide matrix", a.T @ x[:n] - b[: n - 9], np.linalg.norm(a) * np.linalg.norm(x[:n]))
    a[:, n // 2] = 0
    _, _, info = gels(a, b, lwork=64 * n)
    check.report("gels of a matrix without full rank", info == n // 2 + 1)


def call_least_norm(check: Checks, stem: str, a: np.ndarray, b: np.ndarray, condition: float) -> tuple:
    sizes = {"size_rwork": 40000, "size_iwork": 4000} if check.complex else {"size_iwork": 4000}
    work = sizes if stem == "gelsd" else {}
    results = check.function(stem)(a, b, lwork=60000, cond=condition, **work)
    x, s, rank = results[1:4] if stem == "gelss" else results[:3]
    return x, s, int(rank)


def least_norm(check: Checks) -> None:
    """Least squares by singular values: tall, square and wide matrices, with and without full rank."""
    n = check.n
    for stem in ("gelsd", "gelss"):
        for rows, columns in ((n, n), (n + 21, n), (n, n + 21)):
            a, b = check.matrix(rows, columns), check.matrix(max(rows, columns), 6)
            for full in (True, False):
                if not full:
                    a[:, 5] = a[:, 2]
                    a[8, :] = a[3, :]
                label = f"{stem} {rows} x {columns} {'full' if full else 'less'} rank"
                x, s, rank = call_least_norm(check, stem, a, b, 1e-4)
                check.report(f"{label}: rank", rank == np.linalg.matrix_rank(a, tol=1e-4 * s[0]))
                check.close(f"{label}: values", s, np.linalg.svd(a.astype(np.complex128), compute_uv=False))
                expected = np.linalg.pinv(a.astype(np.complex128), rcond=1e-4) @ b[:rows]
                check.small(f"{label}: solution", x[:columns] - expected, np.linalg.norm(expected) * s[0] / s[rank - 1])
        # Whether the smallest singular values count is a matter of rounding errors.
        x, _, rank = call_least_norm(check, stem, a, b, -1)
        check.report(f"{stem}, rank by rounding errors", bool(np.isfinite(x).all()) and rank <= n)


def check_eigenvectors(check: Checks, name: str, a: np.ndarray, w: np.ndarray, v: np.ndarray) -> None:
    check.small(f"{name} residual", a @ v - v * w, np.linalg.norm(a))
    check.close(f"{name} orthogonal", v.conj().T @ v, np.eye(v.shape[1]))


def hermitian(check: Checks) -> None:
    a, n = check.hermitian(), check.n
    exact = np.linalg.eigvalsh(a.astype(np.complex128 if check.complex else np.float64))
    for lower in (0, 1):
        given = half(a, bool(lower))
        for stem in ("syev", "syevd"):
            w, v, _ = check.function(stem)(given, compute_v=1, lower=lower)
            check_eigenvectors(check, f"{stem} lower={lower}", a, w, v)
            w, _, _ = check.function(stem)(given, compute_v=0, lower=lower)
            check.close(f"{stem} values lower={lower}", w, exact)
        for stem in ("syevr", "syevx"):
            function = check.function(stem)
            w, v, found, *_ = function(given, compute_v=1, range="A", lower=lower)
            check_eigenvectors(check, f"{stem} lower={lower}", a, w, v)
            w, v, found, *_ = function(given, compute_v=1, range="I", lower=lower, il=3, iu=n // 2)
            count = n // 2 - 2
            check_eigenvectors(check, f"{stem} part lower={lower}", a, w[:count], v[:, :count])
            check.report(f"{stem} number found", found == count)
            w, v, found, *_ = function(given, compute_v=0, range="I", lower=lower, il=2, iu=n - 1)
            check.close(f"{stem} part of the values lower={lower}", w[: n - 2], exact[1:-1])
            ends = {"vl": (exact[3] + exact[4]) / 2, "vu": (exact[n - 6] + exact[n - 5]) / 2}
            w, v, found, *_ = function(given, compute_v=1, range="V", lower=lower, **ends)
            check.report(f"{stem} number of values in a range", found == n - 9)
            check_eigenvectors(check, f"{stem} range lower={lower}", a, w[:found], v[:, :found])
            w, v, found, *_ = function(given, compute_v=0, range="V", lower=lower, **ends)
            check.close(f"{stem} values in a range lower={lower}", w[:found], exact[4 : n - 5])
            _, _, found, *_ = function(given, compute_v=1, range="V", lower=lower, vl=2 * exact[-1], vu=3 * exact[-1])
            check.report(f"{stem} empty range", found == 0)


def no_room_to_spare(check: Checks) -> None:
    """Eigenvectors for a range of eigenvalues, in memory that ends with the last vector."""
    a, n = check.hermitian(), check.n
    exact = np.linalg.eigvalsh(a.astype(np.complex128 if check.complex else np.float64))
    count = n // 3
    size = count * n * a.itemsize
    pages = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, pages + mmap.PAGESIZE)
    first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(first + pages), mmap.PAGESIZE, 0) == 0
    z = np.frombuffer(memory, a.dtype, count * n, pages - size).reshape(n, count, order="F")

    w, ends = np.zeros(n, check.real), np.array([-1e4, (exact[count - 1] + exact[count]) / 2, 0], check.real)
    sizes = np.array([n, 40 * n, 40 * n, 40 * n, 0, -1], np.int32)  # n, three of work space, found, info
    work, rwork = np.zeros(40 * n, a.dtype), np.zeros(40 * n, check.real)
    iwork, isuppz = np.zeros(40 * n, np.int32), np.zeros(2 * n, np.int32)
    letters = [np.frombuffer(letter, np.uint8) for letter in (b"V", b"V", b"U")]
    arguments = [*letters, sizes, a, sizes, ends, ends[1:], sizes, sizes, ends[2:], sizes[4:], w, z, sizes, isuppz, work, sizes[1:]]
    arguments += [rwork, sizes[2:]] if check.complex else []
    arguments += [iwork, sizes[3:], sizes[5:]]
    given = a.copy()
    call_routine(check, "syevr", arguments)
    check.report("syevr without room to spare", sizes[4] == count and sizes[5] == 0)
    check_eigenvectors(check, "syevr without room to spare", given, w[:count], z)


def call_routine(check: Checks, stem: str, arguments: list[np.ndarray], *, symmetric: bool = False, returned: type | None = None) -> float | None:
    """Calls the Fortran routine itself, which SciPy offers to Cython code. `symmetric`: also for complex matrices."""
    name = stem if symmetric else check.name(stem)
    capsule = cython_lapack.__pyx_capi__[{"f": "s", "d": "d", "F": "c", "D": "z"}[np.dtype(check.dtype).char] + name]
    ctypes.pythonapi.PyCapsule_GetName.restype = ctypes.c_char_p
    ctypes.pythonapi.PyCapsule_GetName.argtypes = [ctypes.py_object]
    ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
    ctypes.pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = ctypes.pythonapi.PyCapsule_GetPointer(capsule, ctypes.pythonapi.PyCapsule_GetName(capsule))
    result = {None: None, np.float32: ctypes.c_float, np.float64: ctypes.c_double}[returned]
    return ctypes.CFUNCTYPE(result)(address)(*(ctypes.c_void_p(argument.ctypes.data) for argument in arguments))


def conditions(a: np.ndarray, b: np.ndarray) -> dict:
    """For each itype, a function that is zero for eigenvalues and vectors."""
    return {1: lambda w, v: a @ v - b @ v * w, 2: lambda w, v: a @ (b @ v) - v * w, 3: lambda w, v: b @ (a @ v) - v * w}


def generalized(check: Checks) -> None:
    a, b, n = check.hermitian(), check.definite(), check.n
    for itype, residual in conditions(a, b).items():
        for uplo in ("L", "U"):
            lower = uplo == "L"
            scale = np.linalg.norm(a) * np.linalg.norm(b) * np.sqrt(n)
            for stem in ("sygv", "sygvd"):
                w, v, _ = check.function(stem)(half(a, lower), half(b, lower), itype=itype, jobz="V", uplo=uplo)
                check.small(f"{stem} itype={itype} {uplo}", residual(w, v), scale)
            w_all = w
            function = check.function("sygvx")
            w, v, found, *_ = function(half(a, lower), half(b, lower), itype=itype, jobz="V", range="I", uplo=uplo, il=2, iu=n // 3)
            check.small(f"sygvx itype={itype} {uplo}", residual(w[:found], v[:, :found]), scale)
            check.report(f"sygvx itype={itype} {uplo} number found", found == n // 3 - 1)
            ends = {"vl": (w_all[3] + w_all[4]) / 2, "vu": (w_all[n - 6] + w_all[n - 5]) / 2}
            w, v, found, *_ = function(half(a, lower), half(b, lower), itype=itype, jobz="V", range="V", uplo=uplo, **ends)
            check.small(f"sygvx range itype={itype} {uplo}", residual(w[:found], v[:, :found]), scale)
            check.report(f"sygvx range itype={itype} {uplo} number found", found == n - 9)
            factor, _ = check.function("potrf")(half(b, lower), lower=lower, clean=0)
            part = triangle(factor, lower) if lower else triangle(factor, lower).conj().T  # B is part times its adjoint
            c, info = check.function("sygst")(half(a, lower), factor, itype=itype, lower=lower)
            full = hermitian_of(c, lower)
            product, expected = (part @ full @ part.conj().T, a) if itype == 1 else (full, part.conj().T @ a @ part)
            check.close(f"sygst itype={itype} {uplo}", product, expected)
            check.report(f"sygst itype={itype} {uplo} other triangle", info == 0 and bool(np.isnan(c).sum() == n * (n - 1) // 2))


def places(n: int, lower: bool) -> tuple[np.ndarray, np.ndarray]:
    """Columns and rows of a triangle's elements, in the order of packed storage."""
    return np.triu_indices(n) if lower else np.tril_indices(n)


def call_packed(check: Checks, stem: str, lower: bool, a: np.ndarray, b: np.ndarray | None = None, **options) -> tuple:
    """Solves a packed eigenproblem. Returns eigenvalues, vectors, B's factor, and info."""
    n = check.n
    job, select, itype = options.get("job", "V"), options.get("range", "A"), options.get("itype", 1)

    def letter(text: str) -> np.ndarray:
        return np.frombuffer(text.encode(), np.uint8)

    def integer(value: int) -> np.ndarray:
        return np.array([value], np.int32)

    def real(value: float) -> np.ndarray:
        return np.array([value], check.real)

    space = 1 + 6 * n + 2 * n * n
    work, rwork, iwork = np.zeros(space, check.dtype), np.zeros(space, check.real), np.zeros(space, np.int32)
    w, z = np.full(n, np.nan, check.real), np.full((n + 3, n), np.nan, check.dtype, order="F")
    found, info, failed = integer(n), integer(-1), np.full(n, -1, np.int32)
    factor = None if b is None else b.T[places(n, lower)].copy()
    some, conquers = stem.endswith("x"), stem.endswith("d")
    arguments = [] if b is None else [integer(itype)]
    arguments += [letter(job), *([letter(select)] if some else []), letter("L" if lower else "U"), integer(n), a.T[places(n, lower)].copy()]
    arguments += [] if b is None else [factor]
    if some:
        ends = [real(options.get(end, 0)) for end in ("vl", "vu")]
        arguments += [*ends, *(integer(options.get(end, 1)) for end in ("il", "iu")), real(0), found]
    arguments += [w, z, integer(n + 3), work, *([integer(space)] if conquers else [])]
    if check.complex:
        arguments += [rwork, *([integer(space)] if conquers else [])]
    if some or conquers:
        arguments += [iwork, failed if some else integer(space)]
    call_routine(check, stem, [*arguments, info])
    vectors = found[0] if job == "V" else 0
    untouched = np.isnan(z[n:]).all() and np.isnan(z[:, vectors:]).all()
    check.report(f"{stem} writes its vectors alone", bool(untouched and (not some or not failed[:vectors].any())))
    whole = None
    if b is not None:
        whole = np.zeros((n, n), check.dtype)
        whole.T[places(n, lower)] = factor
        whole = whole @ whole.conj().T if lower else whole.conj().T @ whole
    return w[: found[0]], z[:n, :vectors], whole, info[0]


def packed(check: Checks) -> None:
    a, n = check.hermitian(), check.n
    exact = np.linalg.eigvalsh(a.astype(np.complex128 if check.complex else np.float64))
    ends = {"vl": (exact[3] + exact[4]) / 2, "vu": (exact[n - 6] + exact[n - 5]) / 2}
    for lower in (False, True):
        for stem in ("spev", "spevd", "spevx"):
            w, v, _, _ = call_packed(check, stem, lower, a)
            check_eigenvectors(check, f"{stem} lower={lower}", a, w, v)
            w, _, _, _ = call_packed(check, stem, lower, a, job="N")
            check.close(f"{stem} values lower={lower}", w, exact)
        for job in ("V", "N"):
            for some, values in (({"range": "I", "il": 3, "iu": n // 2}, exact[2 : n // 2]), ({"range": "V", **ends}, exact[4 : n - 5])):
                w, v, _, _ = call_packed(check, "spevx", lower, a, job=job, **some)
                name = f"spevx {job} {some['range']} lower={lower}"
                check.report(f"{name} number found", w.size == values.size)
                check.small(f"{name} values", w - values, np.linalg.norm(a))
                if job == "V":
                    check_eigenvectors(check, name, a, w, v)


def packed_generalized(check: Checks) -> None:
    a, b, n = check.hermitian(), check.definite(), check.n
    scale = np.linalg.norm(a) * np.linalg.norm(b) * np.sqrt(n)
    for itype, residual in conditions(a, b).items():
        for lower in (False, True):
            for stem in ("spgv", "spgvd", "spgvx"):
                w, v, factored, _ = call_packed(check, stem, lower, a, b, itype=itype)
                check.small(f"{stem} itype={itype} lower={lower}", residual(w, v), scale)
                check.close(f"{stem} itype={itype} lower={lower} factor", factored, b)
                alone, _, factored, _ = call_packed(check, stem, lower, a, b, itype=itype, job="N")
                check.small(f"{stem} values itype={itype} lower={lower}", alone - w, scale)
                check.close(f"{stem} values itype={itype} lower={lower} factor", factored, b)
            ends = {"vl": (w[3] + w[4]) / 2, "vu": (w[n - 6] + w[n - 5]) / 2}
            for some, count in (({"range": "I", "il": 2, "iu": n // 3}, n // 3 - 1), ({"range": "V", **ends}, n - 9)):
                part, v, _, _ = call_packed(check, "spgvx", lower, a, b, itype=itype, **some)
                check.small(f"spgvx {some['range']} itype={itype} lower={lower}", residual(part, v), scale)
                check.report(f"spgvx {some['range']} itype={itype} lower={lower} number found", part.size == count)
    b[n // 2, n // 2] = -1000
    _, _, _, info = call_packed(check, "spgv", True, a, b, job="N")
    check.report("spgv of a matrix that is not definite", info == n + n // 2 + 1)


def singular_values(check: Checks) -> None:
    n = check.n
    for rows, columns in ((n, n), (n + 17, n), (n, n + 12)):
        a = check.matrix(rows, columns)
        low = min(rows, columns)
        exact = np.linalg.svd(a.astype(np.complex128 if check.complex else np.float64), compute_uv=False)
        for stem in ("gesdd", "gesvd"):
            function = check.function(stem)
            for full in (0, 1):
                u, s, vt, _ = function(a, compute_uv=1, full_matrices=full)
                name = f"{stem} {rows} x {columns} full={full}"
                check.close(name, u[:, :low] * s @ vt[:low], a)
                check.close(f"{name} left", u.conj().T @ u, np.eye(u.shape[1]))
                check.close(f"{name} right", vt @ vt.conj().T, np.eye(vt.shape[0]))
            _, s, _, _ = function(a, compute_uv=0)
            check.close(f"{stem} values {rows} x {columns}", s, exact)


def singular_vectors_of_one_side(check: Checks) -> None:
    """Singular vectors of one side only, and different numbers of vectors on both sides."""
    n = check.n
    for rows, columns in ((n, n), (n + 17, n), (n, n + 12)):
        low = min(rows, columns)
        for job, job_right in ("NS", "NA", "SN", "AN", "SA", "AS"):
            a = check.matrix(rows, columns)
            left = {"N": 0, "S": low, "A": rows}[job]
            right = {"N": 0, "S": low, "A": columns}[job_right]
            u = np.full((rows, max(1, left)), np.nan, check.dtype, order="F")
            vt = np.full((max(1, right), columns), np.nan, check.dtype, order="F")
            s, work, rwork = np.zeros(low, check.real), np.zeros(64 * (rows + columns), check.dtype), np.zeros(5 * low, check.real)
            sizes = np.array([rows, columns, vt.shape[0], work.size, -1], np.int32)
            letters = [np.frombuffer(letter.encode(), np.uint8) for letter in (job, job_right)]
            arguments = [*letters, sizes, sizes[1:], a.copy(order="F"), sizes, s, u, sizes, vt, sizes[2:], work, sizes[3:]]
            call_routine(check, "gesvd", [*arguments, *([rwork] if check.complex else []), sizes[4:]])
            name = f"gesvd {job} {job_right} {rows} x {columns}"
            u, v = u[:, :left], vt[:right].conj().T
            check.report(name, sizes[4] == 0)
            for vectors in (u, v):
                if vectors.size:
                    check.close(f"{name} orthogonal", vectors.conj().T @ vectors, np.eye(vectors.shape[1]))
            if left and right:
                check.close(f"{name} product", u[:, :low] * s @ v[:, :low].conj().T, a)
            else:
                side, vectors = (a, u) if left else (a.conj().T, v)
                residual = side @ (side.conj().T @ vectors[:, :low]) - vectors[:, :low] * s * s
                check.small(f"{name} residual", residual, np.linalg.norm(a) ** 2)


def general(check: Checks) -> None:
    a = check.matrix(check.n, check.n)
    geev = check.function("geev")
    for vectors in (1, 0):
        results = geev(a, compute_vl=0, compute_vr=vectors)
        w = results[0] if check.complex else results[0] + 1j * results[1]
        check.small(f"geev trace vectors={vectors}", np.array([w.sum() - np.trace(a)]), np.linalg.norm(a) * check.n)
        if not vectors:
            continue
        v = results[-2].astype(np.complex128)
        if not check.complex:
            pairs = np.flatnonzero(w.imag > 0)
            first, second = v[:, pairs].copy(), v[:, pairs + 1].copy()
            v[:, pairs], v[:, pairs + 1] = first + 1j * second, first - 1j * second
        check.small("geev residual", a @ v - v * w, np.linalg.norm(a) * np.sqrt(check.n))
        check.close("geev norms", np.linalg.norm(v, axis=0), np.ones(check.n))
        largest = v[np.abs(v).argmax(axis=0), np.arange(check.n)]
        check.report("geev largest component is real", bool(np.all(np.abs(largest.imag) < 1e-3)))


def families() -> Iterator:
    yield from (norms, cholesky, lu, indefinite, triangles, qr, least_squares, least_norm)
    yield from (hermitian, no_room_to_spare, generalized, packed, packed_generalized, general)
    yield from (singular_values, singular_vectors_of_one_side)


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    wrong = 0
    for letter in sys.argv[2] if len(sys.argv) > 2 else "sdcz":
        check = Checks(TYPES[letter], n)
        for family in families():
            family(check)
        wrong += check.wrong
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())

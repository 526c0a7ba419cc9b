"""Stacks of matrices in numpy.matmul: one batch for the device, or left to NumPy's loops with their results."""

import subprocess
import textwrap

import pytest
from program_rig import run_python, run_session

BEGIN = """
import numpy as np
random = np.random.default_rng(1)
def stack(*shape, dtype="d"):
    numbers = random.standard_normal(shape)
    return (numbers + 1j * random.standard_normal(shape) if dtype in "FD" else numbers).astype(dtype)
def same(a, b, **kwargs):
    got, expected = np.matmul(a, b, **kwargs), np.einsum("...ij,...jk->...ik", a, b, optimize=False)
    assert got.shape == expected.shape and got.dtype == expected.dtype, (got.shape, got.dtype)
    if got.dtype.char in "fdFD" and got.size:
        eps = np.finfo(got.dtype).eps
        assert np.linalg.norm(got - expected) <= 32 * eps * np.linalg.norm(expected), (a.shape, b.shape, a.strides, b.strides)
    else:
        assert (got == expected).all()
    return got
"""


def python(tmp_path, source: str, *options: str, **how) -> tuple[subprocess.CompletedProcess, dict]:
    return run_python(tmp_path, BEGIN + textwrap.dedent(source), *options, **how)


def test_stacks_are_batches(tmp_path):
    done, calls = python(
        tmp_path,
        """
        for dtype in "fdFD":
            a, b = stack(5, 6, 7, dtype=dtype), stack(5, 7, 4, dtype=dtype)
            same(a, b)
            assert (a @ b == np.matmul(a, b)).all()
        a, b = stack(5, 6, 7), stack(5, 7, 4)
        transposed = np.ascontiguousarray(a.swapaxes(1, 2)).swapaxes(1, 2), np.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2)
        same(transposed[0], b)
        same(a, transposed[1])
        same(*transposed)
        same(a, b[0])                                    # one B for all, and one product
        same(a[::2], b[0])
        same(stack(50, 1, 7), b[0])
        same(stack(50, 2, 7)[:, :1], transposed[1][0])
        same(a[0], b)                                    # one A for all
        same(a[0], stack(50, 7, 1))
        same(stack(5, 1, 7), b)                          # vectors
        same(stack(5, 1, 7), transposed[1])
        same(a, stack(5, 7, 1))
        same(transposed[0], stack(5, 7, 1))
        same(stack(2, 5, 6, 7), stack(2, 5, 7, 4))       # ten products
        same(stack(2, 1, 6, 7), stack(1, 5, 7, 4))       # five, twice
        same(stack(6, 5, 7).swapaxes(0, 1), b)           # rows of the matrices take turns
        same(a[::2], b[::2])                             # gaps between matrices
        same(a, b.astype("f"))                           # NumPy converts
        out = np.zeros((5, 4, 6)).swapaxes(1, 2)
        assert same(a, b, out=out) is out and out.strides == (192, 8, 48)
        wide = np.full((5, 6, 9), 9.0)
        same(stack(5, 6, 9)[:, :, :7], b, out=wide[:, :, :4])  # gaps between rows
        assert (wide[:, :, 4:] == 9).all()
        square = stack(5, 6, 6)
        expected = square @ square
        assert np.allclose(np.matmul(square, square, out=square), expected)
        assert np.allclose(np.linalg.matrix_power(expected, 2), expected @ expected)
        """,
    )
    assert calls["dgemm_batch_strided"] == (28, 28), done.stderr
    assert calls["zgemm_batch_strided"] == calls["sgemm_batch_strided"] == calls["cgemm_batch_strided"] == (3, 3)
    assert not any("gemm" in name and "batch" not in name for name in calls)


def test_what_is_left_to_numpy(tmp_path):
    _, calls = python(
        tmp_path,
        """
        a, b = stack(5, 6, 7), stack(5, 7, 4)
        same(stack(5, 1, 7), stack(5, 7, 1))             # dot
        same(a, stack(5, 7, 2)[:, :, 1:])                # gemv with a stride
        same(np.broadcast_to(a[0, :1], (5, 1, 7)), b[0])
        same(a[:, :, :1], b[:, :1])                      # no BLAS
        same(a[::-1], b)                                 # five calls of gemm, and so on
        same(stack(5, 8, 9)[:, :6, :7], b)
        overlapping = np.lib.stride_tricks.as_strided(np.arange(60.0), (5, 6, 7), (8, 56, 8))
        same(overlapping, b)
        out = np.empty((5, 8, 8))[:, :6, :4]
        assert same(a, b, out=out) is out
        gram = same(a, a.swapaxes(1, 2))                 # syrk: symmetric to the last bit
        assert (gram == gram.swapaxes(1, 2)).all()
        same(a[0], b[0])                                 # one product
        same(a[:1], b[:1])
        same(a[:, :, ::2], b[:, ::2])                    # no BLAS, or copies
        same(stack(5, 0, 7), b)
        same(stack(0, 6, 7), stack(0, 7, 4))
        assert (np.ones((5, 6, 0)) @ np.ones((5, 0, 4)) == np.zeros((5, 6, 4))).all()
        same((a * 9).astype(int), (b * 9).astype(int))
        same(a.astype("g"), b.astype("g"))
        same((a * 9).astype(int).astype(object), (b * 9).astype(int).astype(object))
        try:
            np.matmul(a, a)
            raise SystemExit("no error")
        except ValueError as error:
            assert "mismatch" in str(error)
        """,
    )
    assert calls["dgemm"][0] in (4 * 5 + 2, 5 * 5 + 2)
    assert not any("batch" in name for name in calls)


def test_threads_and_fork(tmp_path):
    _, calls = python(
        tmp_path,
        """
        import os, threading
        a, b = stack(30, 16, 16), stack(30, 16, 16)
        def work():
            for _ in range(8):
                same(a, b)
        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        child = os.fork()
        if child == 0:
            work()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        """,
    )
    assert calls["dgemm_batch_strided"] == (32, 32)


@pytest.mark.parametrize("before", ["", "import numpy"])
def test_sessions(tmp_path, before):
    source = """
        a = stack(5, 6, 6)
        same(a, a)
        blastoff.disable()
        same(a, a)
        blastoff.enable()
        same(a, a)
        (row,) = [row for row in blastoff.stats() if row["routine"] == "dgemm_batch_strided"]
        assert (row["calls"], row["offloaded"]) == (3, 2), row
        """
    run_session(tmp_path, BEGIN, source, before)


@pytest.mark.parametrize("intercept", ["auto", "patch", "preload"])
def test_small_stacks_and_lines_of_calls(tmp_path, intercept):
    """A small stack is one small call. Lines of calls name NumPy's function."""
    done, calls = python(tmp_path, "same(stack(5, 6, 7), stack(5, 7, 4))", "--log=calls", f"--intercept={intercept}", BLASTOFF_MIN_SIZE="100")
    assert calls == {"dgemm_batch_strided": (1, 0), "average size below the threshold": 1}
    assert "numpy.matmul" in done.stderr

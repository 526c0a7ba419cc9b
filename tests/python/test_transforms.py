"""Transforms of numpy.fft and scipy.fft: computed by the device, or left to pocketfft with its results and errors."""

import subprocess
import sys
import textwrap

import pytest
from program_rig import run_python, run_session

pytest.importorskip("scipy")
BEGIN = """
import json, sys
import numpy as np
import scipy.fft as sf
random = np.random.default_rng(1)
real = random.standard_normal((12, 10, 14))
number = real + 1j * random.standard_normal(real.shape)
def own(function):
    name = function.__name__
    if function is getattr(np.fft, name, None): return function.__wrapped__
    return getattr(sys.modules.get("scipy.fft._duccfft") or sys.modules["scipy.fft._pocketfft"], name)
def same(function, *args, **kwargs):
    got, expected = function(*args, **kwargs), own(function)(*args, **kwargs)
    assert got.shape == expected.shape and got.dtype == expected.dtype and got.strides == expected.strides, (function.__name__, args[1:], kwargs)
    eps = np.finfo(got.dtype).eps
    assert np.linalg.norm(got - expected) <= 16 * eps * np.linalg.norm(expected), (function.__name__, args[1:], kwargs)
"""


def python(tmp_path, source: str, *options: str, **how) -> tuple[subprocess.CompletedProcess, dict]:
    return run_python(tmp_path, BEGIN + textwrap.dedent(source), *options, **how)


def test_results_are_those_of_pocketfft(tmp_path):
    _, calls = python(
        tmp_path,
        """
        for name in ("fft", "ifft", "fftn", "ifftn"):
            same(getattr(sf, name), number)
            same(getattr(np.fft, name), number.astype("F"))
        for library in (sf, np.fft):
            for norm in (None, "backward", "ortho", "forward"):
                same(library.fftn, number, norm=norm)
                same(library.ifft, number, 14, 1, norm)      # padded
                same(library.rfftn, real, (9, 13), (2, 0), norm)  # padded and cropped, axes in another order
                same(library.irfftn, np.fft.rfftn.__wrapped__(real), real.shape, (0, 1, 2), norm)
                same(library.irfft, np.fft.rfft.__wrapped__(real[:, :, :13]), 13, norm=norm)
            same(library.fft, number, axis=0)
            same(library.fft, number[:, 1:], axis=1)
            same(library.fft, number.T)
            same(library.rfft, real.T, axis=0)
            same(library.fft, number[:, 0, 0])
            same(library.fft, random.standard_normal(2 * 11 * 13) + 0j)
            same(library.rfftn, real.astype("f"), axes=(0, 2))
            same(library.ifftn, number.astype("F"), axes=(-1, 0))
        assert sf.rfft2(real, (10, 6)).shape == (12, 10, 4)
        for name in ("fft2", "ifft2", "rfft2", "irfft2"):
            function = getattr(np.fft, name)
            data = real if name == "rfft2" else np.fft.rfft2.__wrapped__(real) if name == "irfft2" else number
            same(function, data)
            assert np.allclose(getattr(sf, name)(data, workers=2), function.__wrapped__(data), rtol=1e-13, atol=1e-13)
        same(sf.fftn, number.copy(), overwrite_x=True)
        same(sf.fftn, number, None, None, None, False, 2)
        with sf.set_workers(2):
            same(sf.fftn, number)
        """,
    )
    for name in ("z2z", "c2c", "d2z", "r2c", "z2d"):
        made, offloaded = calls[f"pocketfft_{name}"]
        assert made == offloaded > 1, name


def test_what_is_left_to_pocketfft(tmp_path):
    done, calls = python(
        tmp_path,
        """
        not_of_reals = number[:, :, :8]
        for library in (sf, np.fft):
            same(library.irfftn, not_of_reals)
            same(library.irfft, not_of_reals)
            same(library.fft, number[::-1])
            same(library.fft, number[::2, 1:, ::3])
            same(library.fft, np.broadcast_to(number[0], number.shape), axis=0)
        for library in (sf, np.fft):
            same(library.fft, real)
            same(library.rfft, np.arange(20))
            same(library.fft, number.astype(">c16"))
            same(library.fft, np.arange(20, dtype="g"))
        same(sf.hfft, number)
        same(np.fft.fft, np.ma.masked_array(number))
        out = np.empty_like(number)
        if np.__version__ >= "2":
            assert np.fft.fft(number, out=out) is out
        same(sf.dctn, real)
        def refused(function, *args, **kwargs):
            messages = []
            for each in (function, own(function)):
                try:
                    each(*args, **kwargs)
                except Exception as error:
                    messages.append((type(error), str(error)))
            assert len(messages) == 2 and messages[0] == messages[1], messages
        for library in (sf, np.fft):
            refused(library.fft, number, 0)
            refused(library.fft, number, axis=3)
            refused(library.fft, number, norm="no")
            refused(library.fftn, number, (3, 4), (0,))
        refused(sf.fftn, number, axes=(0, 0))
        refused(sf.fft, number, workers=0)
        same(np.fft.fftn, number, axes=(0, 0))
        """,
    )
    assert calls["the device does not support this operation"] == 10
    assert not any(count[1] for name, count in calls.items() if name.startswith("pocketfft"))
    assert "Traceback" not in done.stderr


def test_threads_fork_and_other_backends(tmp_path):
    _, calls = python(
        tmp_path,
        """
        import os, pickle, threading
        def work():
            for _ in range(4):
                same(sf.fftn, number)
                same(np.fft.rfftn, real)
        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        child = os.fork()
        if child == 0:
            work()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        class Other:
            __ua_domain__ = "numpy.scipy.fft"
            @staticmethod
            def __ua_function__(method, args, kwargs):
                return "other"
        with sf.set_backend(Other):
            assert sf.fftn(number) == "other"
        sf.set_global_backend(Other)
        assert sf.fftn(number) == "other"
        sf.set_global_backend("scipy", try_last=True)
        same(sf.fftn, number)
        assert pickle.loads(pickle.dumps(np.fft.fftn)) is np.fft.fftn
        """,
    )
    assert calls["pocketfft_z2z"] == (17, 17) and calls["pocketfft_d2z"] == (16, 16)


def test_small_transforms_are_not_looked_at(tmp_path):
    _, calls = python(tmp_path, "same(sf.fft, number)\nsame(np.fft.fft, np.ones(70000) + 0j)", BLASTOFF_MIN_SIZE="100000")
    assert list(calls) == ["pocketfft_z2z", "average size below the threshold"] and calls["pocketfft_z2z"] == (1, 0)


def test_a_version_of_scipy_that_keeps_its_functions_elsewhere(tmp_path):
    source = """
    expected = np.fft.fftn.__wrapped__(number)
    for name in [name for name in sys.modules if name in ("scipy.fft._duccfft", "scipy.fft._pocketfft")]: del sys.modules[name]
    assert np.allclose(sf.fftn(number), expected)
    same(np.fft.fftn, number)
    """
    _, calls = python(tmp_path, source)
    assert calls["pocketfft_z2z"] == (1, 1), "NumPy's alone"


@pytest.mark.parametrize("intercept", ["auto", "preload"])
def test_no_part_of_the_environment_is_needed(tmp_path, intercept):
    """Not the module site, nor variables, nor a search path with Blastoff. Programs without NumPy see nothing."""
    source = tmp_path / "isolated.py"
    source.write_text(
        "import sys\nbefore = list(sys.meta_path)\nimport json, ctypes\n"
        "assert '_blastoff_transforms' not in sys.modules and sys.meta_path == before and 'numpy' not in sys.modules\n"
        f"sys.path.append({str(next(path for path in sys.path if path.endswith('site-packages')))!r})\n"
        "import numpy.fft\nassert 'scipy' not in sys.modules and numpy.fft.fft.__wrapped__\n"
        "import scipy.fft\nassert sys.meta_path == before\nscipy.fft.fft(numpy.ones(9) + 0j)\n"
    )
    command = (sys.executable, "-I", "-S", str(source))
    _, calls = python(tmp_path, "", f"--intercept={intercept}", command=command)
    assert calls["pocketfft_z2z"] == (1, 1)


@pytest.mark.parametrize("before", ["", "import numpy, scipy.fft"])
def test_sessions(tmp_path, before):
    source = """
        same(sf.fftn, number)
        same(np.fft.fftn, number)
        blastoff.disable()
        same(sf.fftn, number)
        same(np.fft.fftn, number)
        (row,) = [row for row in blastoff.stats() if row["routine"] == "pocketfft_z2z"]
        assert (row["calls"], row["offloaded"]) == (4, 2), row
        """
    run_session(tmp_path, BEGIN, source, before)

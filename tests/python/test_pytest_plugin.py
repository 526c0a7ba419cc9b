"""`pytest -p blastoff`."""

import subprocess
import sys

import pytest
from command_rig import clean_environment

SUITE = """
import numpy
import pytest

def test_large():
    a = numpy.ones((200, 200))
    assert (a @ a == 200).all()

@pytest.mark.parametrize("number", range(2))
def test_small(number):
    a = numpy.ones((5, 5))
    assert (a @ a == 5).all()

def test_without_numbers():
    pass
"""


@pytest.fixture
def suite(tmp_path):
    """Runs pytest on SUITE with the plugin."""
    (tmp_path / "test_suite.py").write_text(SUITE)

    def run(*arguments: str, **env: str) -> subprocess.CompletedProcess:
        simulated = {"BLASTOFF_DEVICE": "simulated", "BLASTOFF_MIN_SIZE": "100", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "blastoff", "-p", "no:cacheprovider", *arguments, "test_suite.py"]
        return subprocess.run(
            command, env=clean_environment() | simulated | env, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )

    return run


@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_it_says_which_tests_were_offloaded(suite, workers):
    done = suite(*workers)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 4 tests were offloaded, 3 called BLAS, LAPACK or FFTW: 1 of 3 calls" in done.stdout
    assert "1 result compared with the CPU's: 0 violations, 0 stale pages" in done.stdout
    listed = next(line for line in done.stdout.splitlines() if line.startswith("test_suite.py::test_large"))
    assert listed.split()[1:] == ["1", "1", "1"]
    assert "on the CPU  2 calls: average size below the threshold" in done.stdout


def test_a_wrong_result_fails_its_test(suite):
    done = suite(BLASTOFF_SIMULATED_FAULT="execute:1:wrong")
    assert done.returncode == 1 and "during this test: 1 violation" in done.stdout


def test_a_wrong_setting_is_one_line(suite):
    done = suite(BLASTOFF_DEVICE="nosuch")
    assert done.returncode == 4 and "ERROR: blastoff: invalid value BLASTOFF_DEVICE=nosuch" in done.stderr
    assert "Traceback" not in done.stderr

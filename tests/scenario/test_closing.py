"""The end of the process: who closes the device."""

import sys

import offload
import pytest

# Runs a program, collects what it leaves behind, as init does, and tells of it.
INIT = """
import ctypes, os, pathlib, subprocess, sys
PR_SET_CHILD_SUBREAPER = 36
assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
status = subprocess.run(sys.argv[1:]).returncode
while True:
    try:
        left = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        sys.exit(status)
    name = pathlib.Path(f"/proc/{left.si_pid}/comm").read_text().strip()
    print("left behind:", name, left.si_status)
    os.waitpid(left.si_pid, 0)
"""
CLOSER = "left behind: blastoff-closer 0\n"


@pytest.fixture
def left_behind(device):
    """What a program says whose devices are closed in the background, and which processes it leaves."""

    def run(*program: object, **settings: str) -> str:
        env = {"BLASTOFF_DEVICE": device, "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_SUMMARY": "never", "BLASTOFF_END": "background"} | settings
        outcome = offload.preloaded([sys.executable, "-c", INIT, *offload.program(*program)], env=env)
        assert (outcome.status, outcome.stderr) == (0, "")
        return outcome.stdout

    return run


def test_after_its_end(left_behind):
    said = left_behind("products")
    assert said.endswith(CLOSER) and said.count("left behind") == 1 and "WRONG" not in said


def test_by_the_program_itself(left_behind):
    assert "left behind" not in left_behind("products", BLASTOFF_END="wait")


def test_a_program_without_a_device(left_behind):
    assert "left behind" not in left_behind("products", BLASTOFF_DEVICE="none")


def test_a_forked_child_closes_nothing(left_behind):
    assert left_behind("process", "fork-and-exit").count("left behind") == 1


def test_what_needs_no_time_is_not_left_behind(left_behind, device):
    assert ("left behind" in left_behind("products", BLASTOFF_END="auto")) == device.startswith("cuda")

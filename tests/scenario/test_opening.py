"""A device that takes its time to open: the CPU computes meanwhile, and the program may end or fork at any moment."""

import sys
import time

import offload
import pytest

NOT_OPEN = "the device was not ready yet"
ENDS = ["return", "exit", "_exit", "thread"]


@pytest.fixture
def opening(gpu):
    """Runs the program for so many seconds with a driver that takes 0.4 s to start."""

    def run(seconds: float, how: str = "return", **settings: str) -> offload.Outcome:
        env = gpu | {"FAKE_GPU_INIT_MS": "400", "BLASTOFF_START": "background"} | settings
        outcome = offload.offloaded(offload.program("opening", seconds, how), device="cuda", verify="off", env=env)
        assert (outcome.status, outcome.stdout) == (0, "products: right\nchildren: right\n"), outcome.stderr
        return outcome

    return run


def test_a_short_program_never_opens_it(opening):
    outcome = opening(0.1)
    assert outcome.total("offloaded") == 0
    assert outcome.refused() == {NOT_OPEN: outcome.total("calls")}
    assert outcome.report["device"]["state"] == "not started"
    assert outcome.report["device"]["opening"] is None


def test_the_cpu_computes_until_it_is_open(opening):
    outcome = opening(2)
    assert outcome.total("offloaded") > 0
    assert set(outcome.refused()) == {NOT_OPEN}
    routine = outcome.routine("dgemm")
    assert routine["cpu_seconds"] > 0.5, "0.26 s before it is opened, and 0.4 s meanwhile"
    opening = outcome.report["device"]["opening"]
    assert opening["after_seconds"] > 0.2
    assert 0.4 < opening["seconds"] < 2


def test_the_first_call_opens_it_where_that_is_asked_for(opening):
    outcome = opening(0.5, BLASTOFF_START="now")
    assert outcome.total("offloaded") == outcome.total("calls")


def test_a_library_opens_it_while_it_is_loaded_itself(gpu):
    """Its constructor holds the lock of the dynamic linker, which the libraries of the device need."""
    load = f"import ctypes; ctypes.CDLL({str(offload.PROGRAMS / 'libconstructor.so')!r})"
    outcome = offload.offloaded([sys.executable, "-c", load], device="cuda", verify="off", env=gpu | {"FAKE_GPU_CONTEXT_MS": "200"}, timeout=60)
    assert (outcome.status, outcome.stdout) == (0, "product: right\n"), outcome.stderr
    assert outcome.total("offloaded") == 1


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("seconds", [0.28, 0.4, 0.6, 0.7])
def test_the_program_may_end_meanwhile(opening, how, seconds):
    start = time.monotonic()
    opening(seconds, how)
    assert time.monotonic() - start < 30


def test_the_program_may_fork_meanwhile(opening):
    outcome = opening(4, "fork")
    assert NOT_OPEN in outcome.refused()
    assert outcome.total("offloaded") > 0

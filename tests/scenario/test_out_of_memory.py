"""Allocations fail, one per run: no result is wrong, no process ends, and later calls are offloaded again.

A first call makes thousands of allocations. Samples of them fail here; in the long set (BLASTOFF_TEST_EVERY_ALLOCATION=1) each one does."""

import os
import shutil

import offload
import pytest

KINDS = ["gemm", "syrk", "gemv", "potrf", "dft"]
SEVERAL = {"BLASTOFF_DEVICE": "simulated:all", "BLASTOFF_SIMULATED_DEVICES": "3", "BLASTOFF_SPLIT": "always"}
BESIDE = [offload.REFERENCE_LAPACK]
EVERY = "BLASTOFF_TEST_EVERY_ALLOCATION" in os.environ


def each(step: int) -> int:
    """The given step between failing allocations; 1 in the long set."""
    return 1 if EVERY else step


@pytest.fixture
def failing(device, tmp_path):
    """Runs the program with failing allocations directly, with environment variables for the settings that the launcher would make."""
    if device != "simulated":
        pytest.skip("what a driver does without memory is its own affair")

    def run(*arguments: object, **settings: str) -> offload.Outcome:
        command = offload.program("out_of_memory", *arguments)
        late = tmp_path / "liblate.so"
        shutil.copy(offload.REFERENCE_BLAS / "libblas.so.3", late)
        plain = offload.plain(command, env=offload.environment(beside=BESIDE, LATE_LIBRARY=str(late)))
        if plain.status == 99:
            pytest.skip(f"{arguments[0]} is not linked")
        chosen = {"BLASTOFF_DEVICE": "simulated", "BLASTOFF_VERIFY": "abort", "BLASTOFF_POLICY": "first-use", **settings}
        env = offload.environment(
            beside=BESIDE,
            LATE_LIBRARY=str(late),
            LD_PRELOAD=str(offload.LIBRARY),
            BLASTOFF_TRACKER=offload.TRACKER,
            BLASTOFF_MIN_SIZE="0",
            BLASTOFF_SUMMARY="never",
            **chosen,
        )
        outcome = offload.run(command, env=env, timeout=4000)
        assert outcome.status == plain.status == 0, outcome.stderr
        assert outcome.stdout == plain.stdout
        return outcome

    return run


def said(outcome: offload.Outcome) -> set[str]:
    return set(outcome.lines)


@pytest.mark.parametrize("kind", KINDS)
def test_during_a_later_call(failing, policy, kind):
    outcome = failing(kind, "warm", BLASTOFF_POLICY=policy)
    assert any("out of memory" in line for line in said(outcome))


@pytest.mark.parametrize("kind", ["gemm", "large"])
def test_without_verification(failing, kind):
    failing(kind, "warm", each(7) if kind == "large" else 1, BLASTOFF_VERIFY="off")


def test_during_a_call_on_several_devices(failing):
    failing("large", "warm", each(11), BLASTOFF_VERIFY="off", **SEVERAL)


@pytest.mark.parametrize("kind", ["gemm", "potrf", "dft"])
def test_during_the_first_call(failing, kind):
    failing(kind, "first", each(257))


def test_while_several_devices_are_opened(failing):
    failing("large", "first", each(997), BLASTOFF_VERIFY="off", **SEVERAL)


def test_while_a_process_begins_to_count(device):
    """A child process of a run, whose counters lie in a file, makes its first call."""
    outcome = offload.offloaded(offload.program("out_of_memory", "gemm", "first"), device="none", verify="off")
    assert (outcome.status, outcome.stdout) == (0, "gemm: right\n"), outcome.stderr


def test_while_it_is_switched_off_and_on(failing):
    failing("switched", "warm", each(7))


@pytest.mark.parametrize("intercept", ["auto", "patch"])
def test_while_a_library_is_loaded_and_patched(failing, intercept):
    """A jump that was written still leads to its record, and an object that stays loaded is still known."""
    failing("library", "warm", each(83), BLASTOFF_INTERCEPT=intercept)


@pytest.mark.parametrize("when", ["warm", "first"])
def test_no_thread_can_be_started(failing, when):
    """Creating a thread fails with EAGAIN, as where the number of processes of a user or a container is limited."""
    failing("gemm", when, 1, "threads")
    failing("large", when, 1, "threads", BLASTOFF_VERIFY="off", **SEVERAL)


@pytest.mark.parametrize("kind", ["gemm", "potrf", "dft", "library"])
def test_with_little_address_space_left(failing, kind):
    """Address space is limited as by `ulimit -v`, to between nothing and 600 MB."""
    failing(kind, "warm", each(193), "space")
    failing(kind, "first", each(193), "space")

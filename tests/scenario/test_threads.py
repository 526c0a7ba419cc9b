"""Many threads call at once."""

from pathlib import Path

import offload
import pytest

A_BYTES = 512 * 512 * 8
SLICES_BYTES = 16 * 512 * 8 * 8


@pytest.mark.parametrize("case", ["blocks", "own", "neighbour"])
def test_results_are_right(unharmed, policy, case):
    outcome = unharmed("threads", case, policy=policy)
    assert outcome.total("offloaded") == outcome.total("calls")


@pytest.mark.parametrize("case", ["blocks", "neighbour", "own"])
def test_results_are_right_at_full_speed(unharmed, policy, case):
    unharmed("threads", case, policy=policy, verify="off")


def test_short_lived_threads(unharmed, policy):
    outcome = unharmed("threads", "short-lived", policy=policy, verify="off")
    assert outcome.total("offloaded") == outcome.total("calls") == 8 * 16 * 4


def test_small_matrices_on_the_stacks_of_many_threads(unharmed, policy):
    """The matrices are too small for a chunk of device memory each."""
    outcome = unharmed("threads", "stacks", policy=policy, verify="off")
    assert outcome.total("offloaded") == outcome.total("calls") == 300 * 10
    if outcome.tracks:
        copied = {copied["reason"]: copied["calls"] for copied in outcome.report["policy"]["copied_operands"]}
        assert copied == {"a small matrix on a thread's stack": 3000}


def test_a_matrix_that_all_threads_read_is_uploaded_once(unharmed):
    outcome = unharmed("threads", "shared-a")
    assert outcome.total("offloaded") == 16
    if outcome.tracks:
        assert outcome.total("bytes_to_device") <= A_BYTES + SLICES_BYTES + 32 * 4096
        assert outcome.total("bytes_reused") >= 15 * A_BYTES


def test_a_matrix_that_all_threads_read_is_copied_by_each(unharmed):
    outcome = unharmed("threads", "shared-a", policy="copy")
    assert outcome.total("bytes_to_device") == 16 * A_BYTES + SLICES_BYTES
    assert outcome.total("bytes_reused") == 0


@pytest.mark.parametrize("case", ["own", "shared-a"])
def test_a_race_detector_of_the_program_finds_none_in_us(device, policy, case):
    """The detector sees our allocations, copies and locks, but not the synchronisation between our threads."""
    command = offload.program("threads_watched", case)
    if not Path(command[0]).exists():
        pytest.skip("the compiler has no ThreadSanitizer")
    outcome = offload.offloaded(command, policy=policy, device=device, verify="off", launched=False)
    assert outcome.status == 0, outcome.stderr
    assert "ThreadSanitizer" not in outcome.stderr
    assert outcome.total("offloaded") > 0


MAIN_THREAD_ENDS = ["works-on", "handed-on", "forks", "opened-later", "last"]


@pytest.mark.parametrize("results", ["home", "stay"])
@pytest.mark.parametrize("case", MAIN_THREAD_ENDS)
def test_the_process_ends_with_its_last_thread_if_the_first_one_has_ended(unharmed, case, results):
    outcome = unharmed("last_thread", case, settings=[f"--results={results}"], verify="off", timeout=20)
    assert outcome.status == 0
    assert outcome.total("offloaded") >= (case != "forks")  # where the child, which is on the CPU, writes the first report


@pytest.mark.parametrize("case", MAIN_THREAD_ENDS)
def test_the_threads_of_the_driver_do_not_keep_it_alive(unharmed, gpu, case):
    outcome = unharmed("last_thread", case, device="cuda", env=gpu, settings=["--results=stay"], verify="off", timeout=20)
    assert outcome.total("offloaded") >= (case != "forks")
    assert outcome.report["device"]["kind"] == "cuda"

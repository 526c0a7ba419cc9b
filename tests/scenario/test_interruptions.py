"""Signals, cancellation and faults in the middle of a call: the program behaves as it would without Blastoff."""

import offload
import pytest


@pytest.mark.parametrize("case", ["handler-calls", "jump-out"])
def test_a_handler_runs_in_the_middle_of_a_call(unharmed, policy, case):
    outcome = unharmed("interruptions", case, policy=policy, verify="off", timeout=60)
    assert outcome.total("offloaded") > 0


@pytest.mark.parametrize("case", ["exit-in-handler", "term", "exit-in-fault"])
def test_a_handler_that_ends_the_process(unharmed, policy, case):
    """exit(3) does not wait for a call of the thread that calls it."""
    outcome = unharmed("interruptions", case, policy=policy, verify="off", timeout=60)
    assert outcome.status == 3
    assert outcome.report


def test_a_signal_without_handler_ends_the_process(device, policy):
    command = offload.program("interruptions", "interrupt")
    settings = {"BLASTOFF_DEVICE": device, "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_POLICY": policy}
    outcome = offload.preloaded(command, env=settings, timeout=60)
    plain = offload.plain(command)
    assert (outcome.status, outcome.stdout) == (plain.status, plain.stdout)


@pytest.mark.parametrize("case", ["write-barrier", "write-barrier-later", "read-barrier", "read-barrier-later"])
def test_a_handler_that_mends_faults(unharmed, policy, case):
    unharmed("interruptions", case, policy=policy, verify="off")


@pytest.mark.parametrize("case", ["cancel", "cancel-asynchronously", "leave-in-xerbla"])
def test_cancellation(unharmed, policy, case):
    outcome = unharmed("interruptions", case, policy=policy, verify="off")
    assert outcome.total("offloaded") > 0


def test_cancellation_of_calls_below_the_threshold(unharmed):
    """The stack is unwound through our frames while an original routine runs."""
    outcome = unharmed("interruptions", "cancel-asynchronously", min_size=100000, verify="off")
    assert outcome.total("offloaded") == 0 and outcome.total("calls") > 0


def test_calls_after_a_jump_out_of_an_original(unharmed):
    """The later calls come from deeper frames than the one that ran the original, so that frame's contents are unchanged."""
    outcome = unharmed("interruptions", "jump-out-of-xerbla")
    assert outcome.total("offloaded") == 11

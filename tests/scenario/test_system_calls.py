"""System calls on memory that we track succeed if they succeed without us."""

import pytest


@pytest.mark.parametrize("case", ["grow", "grow-in-place", "move", "move-several", "move-and-keep", "refused", "userfaultfd", "scan"])
def test_memory_that_was_used(unharmed, policy, case):
    outcome = unharmed("system_calls", case, policy=policy, timeout=30)
    assert outcome.total("offloaded") == outcome.total("calls")


@pytest.mark.parametrize("results", ["home", "stay"])
def test_memory_that_a_handler_fills(unharmed, policy, results):
    """Verification would touch the memory before the call does."""
    unharmed("system_calls", "filled-at-a-fault", policy=policy, verify="off", settings=[f"--results={results}"], timeout=30)

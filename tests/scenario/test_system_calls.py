"""System calls on memory that we track succeed if they succeed without us."""

import pytest


@pytest.mark.parametrize("case", ["grow", "grow-in-place", "move", "move-several", "move-and-keep", "refused", "userfaultfd"])
def test_memory_that_was_used(unharmed, policy, case):
    outcome = unharmed("system_calls", case, policy=policy, timeout=30)
    assert outcome.total("offloaded") == outcome.total("calls")

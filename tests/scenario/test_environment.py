"""What surrounds a call survives it: errno, rounding mode, signals, the program's descriptors."""

import pytest

DIRECTED = "the program rounds in another direction than to nearest"


@pytest.mark.parametrize("verify", ["off", "abort"])
def test_errno_rounding_and_signal_mask(unharmed, policy, verify):
    outcome = unharmed("environment", "errno", policy=policy, verify=verify)
    assert outcome.total("offloaded") == outcome.total("calls") - 2
    assert outcome.refused() == {DIRECTED: 2}


def test_directed_rounding(unharmed):
    """A GPU rounds to nearest, and would make both bounds of an interval the same."""
    outcome = unharmed("environment", "bounds")
    assert outcome.refused()[DIRECTED] >= 2
    assert outcome.total("offloaded") <= 1


def test_timers(unharmed, policy):
    """Interrupted system calls are taken up again, and none of our threads takes the program's signals."""
    outcome = unharmed("environment", "timers", policy=policy)
    assert outcome.total("offloaded") >= 300


def test_a_program_that_closes_all_descriptors(unharmed, policy):
    """A daemon closes everything that it inherited, ours too, and opens its own in their place."""
    unharmed("environment", "closed-descriptors", policy=policy)

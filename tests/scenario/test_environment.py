"""A call preserves the program's environment: errno, rounding mode, signals, descriptors."""

import pytest

DIRECTED = "the program rounds in another direction than to nearest"


@pytest.mark.parametrize("verify", ["off", "abort"])
def test_errno_rounding_and_signal_mask(unharmed, policy, verify):
    outcome = unharmed("environment", "errno", policy=policy, verify=verify)
    assert outcome.total("offloaded") == outcome.total("calls") - 2
    assert outcome.refused() == {DIRECTED: 2}


@pytest.mark.parametrize("verify", ["off", "abort"])
def test_exceptions_of_our_own_arithmetic(unharmed, policy, verify):
    outcome = unharmed("environment", "exceptions", policy=policy, verify=verify)
    assert outcome.total("offloaded") == 1


def test_directed_rounding(unharmed):
    """A GPU rounds to nearest, which would make both bounds of an interval equal."""
    outcome = unharmed("environment", "bounds")
    assert outcome.refused()[DIRECTED] >= 2
    assert outcome.total("offloaded") <= 1


def test_timers(unharmed, policy):
    """Interrupted system calls are restarted, and none of our threads receives the program's signals."""
    outcome = unharmed("environment", "timers", policy=policy)
    assert outcome.total("offloaded") >= 300


def test_a_program_that_closes_all_descriptors(unharmed, policy):
    """A daemon closes all descriptors that it inherited, also ours, and opens its own under the same numbers."""
    unharmed("environment", "closed-descriptors", policy=policy)

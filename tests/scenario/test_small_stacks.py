"""Calls with hardly any stack left: a program that works without Blastoff also works with it."""

import offload
import pytest


@pytest.mark.parametrize("kibibytes", [16, 20, 24, 32, 64])
@pytest.mark.parametrize("where", ["threads", "coroutines", "handler"])
def test_first_and_later_calls(unharmed, policy, where, kibibytes):
    outcome = unharmed("small_stack", where, kibibytes, policy=policy)
    assert outcome.total("offloaded") == outcome.total("calls") == 12


@pytest.mark.parametrize("where", ["threads", "coroutines"])
def test_small_calls(unharmed, where):
    outcome = unharmed("small_stack", where, 16, min_size=10000)
    assert outcome.total("offloaded") == 0


def test_a_thread_with_a_small_stack_loads_the_library(device):
    command = offload.program("small_stack", "loading", 32, offload.LIBRARY)
    outcome = offload.run(command, env=offload.environment(BLASTOFF_DEVICE=device, BLASTOFF_SUMMARY="never"))
    assert outcome.status == 0, outcome.stderr

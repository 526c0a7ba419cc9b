"""System calls on memory that we track succeed if they succeed without us."""

import offload
import pytest


@pytest.mark.parametrize("case", ["grow", "grow-in-place", "move", "move-several", "move-and-keep", "refused", "userfaultfd", "scan"])
def test_memory_that_was_used(unharmed, policy, case):
    outcome = unharmed("system_calls", case, policy=policy, timeout=30)
    assert outcome.total("offloaded") == outcome.total("calls")


@pytest.mark.parametrize("refused", [1, 2, 3])
@pytest.mark.parametrize("case", ["grow", "move"])
def test_memory_whose_mappings_change_while_it_is_moved(unharmed, case, refused):
    """Threads of ours split mappings and join them. The kernel refuses to move a range in which that happens."""
    preloaded = {"LD_PRELOAD": str(offload.PROGRAMS / "librefused_mremap.so"), "REFUSED": str(refused)}
    unharmed("system_calls", case, env=offload.environment(**preloaded), timeout=30)


@pytest.mark.parametrize("results", ["home", "stay"])
def test_memory_that_a_handler_fills(unharmed, policy, results):
    """Verification would touch the memory before the call does."""
    unharmed("system_calls", "filled-at-a-fault", policy=policy, verify="off", settings=[f"--results={results}"], timeout=30)


@pytest.mark.parametrize("results", ["home", "stay"])
@pytest.mark.parametrize("how", ["killed", "refused", "all-threads", "strict"])
def test_calls_that_the_program_forbids_itself(unharmed, policy, how, results):
    """Without a launcher, the report is written when the program forbids itself to write it."""
    outcome = unharmed("forbidden_calls", how, policy=policy, settings=[f"--results={results}"], timeout=30)
    assert outcome.total("offloaded") == outcome.total("calls") == 4


@pytest.mark.parametrize("device", ["simulated", "none"])
def test_calls_of_a_confined_process_are_counted_as_such(device, policy):
    outcome = offload.offloaded(offload.program("forbidden_calls", "killed"), policy=policy, device=device, timeout=30)
    assert outcome.status == 0, outcome.stderr
    assert outcome.refused()[offload.CONFINED] == 3


@pytest.mark.parametrize("how", ["asked", "guest"])
def test_calls_that_are_not_forbidden(unharmed, policy, how):
    outcome = unharmed("forbidden_calls", how, policy=policy, timeout=30)
    assert outcome.total("offloaded") == outcome.total("calls") == 7

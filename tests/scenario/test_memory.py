"""Results are correct also where the memory of matrices is unmapped, moved, dropped, or written by someone else."""

import pytest

CASES = [
    "free", "free-mmap", "munmap", "map-over", "realloc", "mremap", "heap", "stack", "small-stack", "madvise", "read", "shared",
    "two-mappings", "private-file", "static", "guard", "read-only", "huge", "direct-read", "remote-neighbour", "far-columns",
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_results_are_right(unharmed, policy, case):
    outcome = unharmed("memory", case, policy=policy)
    assert outcome.total("offloaded") > 0
    assert outcome.report["verification"]["checked"] > 0


@pytest.mark.parametrize("case", ["free", "munmap", "madvise", "heap", "mremap", "read", "static", "read-only"])
def test_results_are_right_without_the_help_of_verification(unharmed, tracker, case):
    """Verification computes every call again; results must not be correct only because of the memory that it reads."""
    unharmed("memory", case, verify="off")


@pytest.mark.parametrize("case", ["direct-read", "remote-neighbour", "far-columns"])
def test_what_lies_beside_an_operand_is_none_of_it(unharmed, tracker, case):
    """A page that an operand fills in part is current only for the operand's bytes; verification would update the other bytes and hide errors."""
    assert unharmed("memory", case, verify="off").total("offloaded") > 0


def test_what_is_known_of_memory_ends_with_it(unharmed, device):
    """Records are dropped on the host and on the device: otherwise a program that maps each matrix anew would fill both."""
    outcome = unharmed("memory", "fresh-mappings", verify="off", settings=["--device-memory=256M"])
    assert outcome.total("offloaded") == 600
    mirrors = next(held for held in outcome.report["device"]["memory_held"] if held["client"] == "mirrors")
    assert mirrors["bytes_peak"] <= 32 << 20


def test_what_the_cpu_left_alone_is_reused(unharmed, tracker):
    assert unharmed("memory", "madvise").total("bytes_reused") > 0


@pytest.mark.parametrize("case", ["shared", "two-mappings", "private-file"])
def test_memory_that_others_can_write_is_copied(unharmed, tracker, case):
    assert unharmed("memory", case).report["policy"]["copied_operands"], "some calls must have been copied"


def test_a_refilled_buffer_is_left_to_copy(unharmed, tracker):
    """Pages that are rewritten before every use cost a fault each when they are protected, so after a while they are no longer tracked."""
    outcome = unharmed("memory", "refill")
    assert outcome.total("offloaded") == 400


def test_what_is_left_to_the_cpu_costs_it_no_page_faults(unharmed, device):
    """The pages of a result that the device keeps are protected, so the CPU would take a fault for each page that it writes."""
    outcome = unharmed("memory", "left-to-cpu", min_size=100, verify="off")
    if outcome.tracks:
        assert outcome.total("offloaded") == 6
        assert outcome.refused()["too little work for each element of the result"] == 3


def test_factorisation_on_submatrices(unharmed, policy):
    outcome = unharmed("factorise", policy=policy)
    assert outcome.routine("dtrsm")["offloaded"] == outcome.routine("dgemm")["offloaded"] == 6
    if outcome.tracks:
        assert outcome.total("bytes_reused") > 0


@pytest.mark.parametrize("memory", ["300K", "600K", "2M"])
def test_device_memory_smaller_than_the_matrices(unharmed, policy, memory, device):
    """The least recently used matrices are evicted first; calls that do not fit are copied in panels or stay on the CPU."""
    unharmed("factorise", 240, 40, policy=policy, settings=[f"--device-memory={memory}"])
    unharmed("threads", "own", policy=policy, settings=[f"--device-memory={memory}"])
    if device == "simulated":
        unharmed("products", 160, 4, policy=policy, settings=[f"--simulated-memory={memory}"])


def test_the_report_says_what_device_memory_was_for(unharmed, policy):
    device = unharmed("factorise", 240, 40, policy=policy).report["device"]
    peaks = {held["client"]: held["bytes_peak"] for held in device["memory_held"]}
    assert list(peaks) == ["mirrors", "copies", "workspaces", "blocks"]
    assert 0 < peaks["copies" if policy == "copy" else "mirrors"] <= device["memory_budget"]
    if policy == "copy":
        assert peaks["mirrors"] == 0

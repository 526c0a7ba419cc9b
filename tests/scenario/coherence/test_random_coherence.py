"""The random coherence program under Blastoff: thousands of steps of CPU writes, memory operations and calls, every byte checked.

BLASTOFF_COHERENCE_SEEDS and BLASTOFF_COHERENCE_STEPS (seeds of each kind, steps of each thread) ask for more than CI does.
"""

import os

import offload
import pytest

SEEDS = int(os.environ.get("BLASTOFF_COHERENCE_SEEDS", "2"))
STEPS = int(os.environ.get("BLASTOFF_COHERENCE_STEPS", "400"))
PLENTY = "1G"
SCARCE = "10M"  # the matrices of all threads take several times as much


def play(policy: str, device: str, seed: int, *, budget: str = PLENTY, verify: str = "abort", threads: int = 4) -> offload.Outcome:
    command = offload.program("random_coherence", "--seed", seed, "--steps", STEPS, "--threads", threads)
    outcome = offload.offloaded(
        command,
        policy=policy,
        device=device,
        verify=verify,
        settings=[f"--device-memory={budget}"],
        # A BLAS with threads of its own does not survive the forks of a program with threads.
        env=offload.environment(OPENBLAS_NUM_THREADS="1"),
        timeout=600,
    )
    assert outcome.status == 0, outcome.stderr
    assert "calls right" in outcome.stdout
    assert outcome.total("offloaded") > 0
    assert outcome.report["verification"]["stale_pages"] == 0
    return outcome


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
@pytest.mark.parametrize("budget", [PLENTY, SCARCE], ids=["plenty", "scarce"])
def test_every_byte_is_right(policy, device, seed, budget):
    outcome = play(policy, device, seed, budget=budget)
    assert outcome.report["verification"]["checked"] > 0


@pytest.mark.parametrize("seed", range(101, 101 + SEEDS))
@pytest.mark.parametrize("budget", [PLENTY, SCARCE], ids=["plenty", "scarce"])
def test_every_byte_is_right_at_full_speed(policy, device, seed, budget):
    """Without verification, which waits for everything and hides races."""
    play(policy, device, seed, budget=budget, verify="off")


def test_many_threads(policy, device):
    play(policy, device, 1000, threads=16, verify="off")


def test_reuse_happens(tracker, device):
    """Were nothing ever reused, all of this would prove nothing."""
    outcome = play("first-use", device, 2000)
    assert outcome.report["policy"]["tracker"] == tracker
    # Between 0.02 and 0.06, as the threads happen to meet.
    assert outcome.total("bytes_reused") > outcome.total("bytes_to_device") / 100

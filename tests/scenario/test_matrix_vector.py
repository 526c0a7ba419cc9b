"""Products of a matrix and a vector under the default threshold: the matrix is copied to the device only when this saves time."""

import offload
import pytest

NOT_THERE = "a product with a vector, a row exchange, a copy or a norm, whose matrix is not on the device"


def products(mode: str, calls: int, device: str, policy: str = "first-use", **options) -> tuple[offload.Outcome, dict]:
    command = offload.program("matrix_vector", mode, calls)
    outcome = offload.offloaded(command, device=device, policy=policy, min_size=250, **options)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert f"{calls} calls right" in outcome.stdout
    return outcome, outcome.routine("dgemv")


def test_an_unchanged_matrix_is_brought_once(device):
    outcome, dgemv = products("unchanged", 30, device)
    assert outcome.refused()[NOT_THERE] >= 1
    if not outcome.tracks:
        return
    assert dgemv["offloaded"] >= 2
    matrix = 8 * 2100**2
    assert matrix <= dgemv["bytes_to_device"] < 1.1 * matrix
    assert dgemv["bytes_reused"] >= matrix


def test_a_matrix_rewritten_before_each_call_is_soon_left_alone(device):
    _, dgemv = products("rewritten", 60, device)
    assert dgemv["offloaded"] <= 15


def test_what_is_copied_at_every_call_is_soon_left_alone(device):
    _, dgemv = products("unchanged", 60, device, policy="copy", verify="off")
    assert dgemv["offloaded"] <= 15


def test_everything_is_offloaded_from_size_zero_on(device):
    command = offload.program("matrix_vector", "unchanged", 2)
    outcome = offload.offloaded(command, device=device)
    assert outcome.routine("dgemv")["offloaded"] == 2


@pytest.mark.parametrize("policy", ["first-use", "copy"])
def test_a_blas_that_reads_past_a_vector(device, policy):
    """OpenBLAS 0.3.21 does so in zgemv. In a program's own memory this is harmless."""
    if not (offload.OPENBLAS / "libblas.so.3").exists():
        pytest.skip("OpenBLAS is missing (Debian, Ubuntu: libopenblas0-pthread)")
    env = offload.environment(offload.OPENBLAS, BLASTOFF_SIMULATED_SLACK="on")
    outcome = offload.offloaded(offload.program("matrix_vector", "pages"), device=device, policy=policy, env=env)
    assert (outcome.status, outcome.stdout) == (0, "384 calls, 0 wrong\n"), outcome.stderr
    assert outcome.total("offloaded") == 384

"""Products and solves in batches: on the device if the matrices of each operand lie in a box of memory."""

import glob
import sys

import offload
import pytest

ROUNDS = 3


def mkl() -> str:
    """The path of MKL's single library in this environment of Python; "" if it is not installed."""
    return next(iter(sorted(glob.glob(f"{sys.prefix}/lib/libmkl_rt.so*"))), "")


@pytest.fixture(params=["toy", "mkl"])
def library(request) -> str:
    if request.param == "toy":
        return str(offload.PROGRAMS / "libtoy_batches.so")
    return mkl() or pytest.skip("MKL is not installed")


@pytest.mark.parametrize("policy", ["first-use", "copy"])
def test_batches_run_on_the_device(unharmed, library, policy):
    outcome = unharmed("batches", library, policy=policy)
    strided, grouped = outcome.routine("dgemm_batch_strided"), outcome.routine("dgemm_batch")
    assert (strided["calls"], strided["offloaded"]) == (2 * ROUNDS, 2 * ROUNDS)
    assert (grouped["calls"], grouped["offloaded"]) == (3 * ROUNDS, ROUNDS)
    assert outcome.refused() == {offload.UNSUPPORTED: 2 * ROUNDS}
    assert outcome.total("flops") == 5 * ROUNDS * 2 * 40 * 30 * 20 * 50
    assert outcome.report["verification"]["checked"] == 3 * ROUNDS
    assert outcome.report["interception"]["unseen"] == []


@pytest.mark.parametrize("policy", ["first-use", "copy"])
def test_batches_of_solves_run_on_the_device(unharmed, library, policy):
    outcome = unharmed("batches_of_solves", library, policy=policy)
    strided, grouped = outcome.routine("dtrsm_batch_strided"), outcome.routine("dtrsm_batch")
    assert (strided["calls"], strided["offloaded"]) == (2 * ROUNDS, 2 * ROUNDS)
    assert (grouped["calls"], grouped["offloaded"]) == (2 * ROUNDS, ROUNDS)
    assert outcome.refused() == {offload.UNSUPPORTED: ROUNDS}
    assert outcome.total("flops") == 4 * ROUNDS * 30 * 40 * 40 * 50
    assert outcome.report["verification"]["checked"] == 3 * ROUNDS
    assert outcome.report["interception"]["unseen"] == []


def test_matrices_of_a_batch_stay_on_the_device(unharmed):
    outcome = unharmed("batches", offload.PROGRAMS / "libtoy_batches.so")
    if not outcome.tracks:
        pytest.skip("writes are not tracked here")
    bytes_of_factors = 8 * 50 * (40 * 20 + 20 * 30)
    assert outcome.total("bytes_to_device") < 1.5 * bytes_of_factors
    assert outcome.total("bytes_reused") > 2 * ROUNDS * bytes_of_factors


@pytest.mark.parametrize(("intercept", "unseen"), [("auto", []), ("preload", ["cblas_dgemm_batch_strided"])])
def test_batches_that_are_not_patched_are_named(device, intercept, unseen):
    """Their names are not exported, since programs look for them to learn what their BLAS has."""
    outcome = offload.offloaded(offload.program("unseen_batches", 1, 0), device=device, settings=[f"--intercept={intercept}"])
    assert [one["function"] for one in outcome.report["interception"]["unseen"]] == unseen

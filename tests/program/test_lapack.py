"""LAPACK routines as a whole on the device, called through SciPy: right results, nothing written that may not be, failures included."""

import importlib.util
import re
import sys
from pathlib import Path

import offload
import pytest

PROGRAM = Path(__file__).parent / "programs" / "lapack_routines.py"
STEMS = ["potrf", "potrs", "posv", "potri", "getrf", "getrs", "gesv", "getri", "trtri", "trtrs", "geqrf", "orgqr", "ormqr", "gels", "syev", "syevd",
         "syevr", "syevx", "sygv", "sygvd", "sygvx", "spev", "spevd", "spevx", "spgv", "spgvd", "spgvx", "gesdd", "gesvd", "geev"]  # fmt: skip


def name_of(stem: str, precision: str) -> str:
    if precision in "cz":
        stem = {"sy": "he", "sp": "hp", "or": "un"}.get(stem[:2], stem[:2]) + stem[2:]
    return precision + stem


def run(device: str, order: int = 60, **options) -> offload.Outcome:
    if importlib.util.find_spec("scipy") is None:
        pytest.skip("SciPy is not installed")
    outcome = offload.offloaded([sys.executable, PROGRAM, order], device=device, env=offload.environment(blas=None), timeout=600, **options)
    assert outcome.status == 0, outcome.stderr + outcome.stdout[-2000:]
    assert "WRONG" not in outcome.stdout
    assert len(re.findall("^ok", outcome.stdout, re.MULTILINE)) == 1900
    return outcome


@pytest.mark.parametrize("policy", ["first-use", "copy"])
def test_every_routine(device, policy):
    outcome = run(device, policy=policy)
    for precision in "sdcz":
        for stem in STEMS:
            assert outcome.routine(name_of(stem, precision))["offloaded"] > 0, name_of(stem, precision)
    assert outcome.report["verification"]["stale_pages"] == 0
    assert outcome.report["verification"]["checked"] > 500
    # Not definite (potrf, spgv), singular, not-a-number, two singular triangles, not of full rank (gels, and trtrs in its original): each once
    # for each type. The original reported them.
    assert outcome.refused()[offload.NO_RESULT] == 8 * 4


def test_in_memory_of_the_program_they_are_copied(device):
    """A failure in place would have destroyed the operands."""
    if device != "simulated":
        pytest.skip("this device has a memory of its own")
    outcome = run(device, policy="coherent", settings=["--simulated-form=unified"])
    assert outcome.routine("dpotrf")["bytes_to_device"] > 0


FAULTS = ["execute:20:memory", "execute:20:lost", "to-device:30:memory", "to-device:30:lost", "to-host:10:memory", "synchronize:20:lost",
          "allocate:5:memory", "back:3:memory"]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_leaves_the_right_result(device, policy, fault):
    if device != "simulated":
        pytest.skip("faults are injected into the simulated device")
    run(device, order=33, policy=policy, settings=[f"--simulated-fault={fault}"])

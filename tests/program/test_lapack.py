"""LAPACK routines as a whole on the device, called through SciPy: right results, no write where none is allowed, also after failures."""

import importlib.util
import re
import sys
from pathlib import Path

import offload
import pytest

PROGRAM = Path(__file__).parent / "programs" / "lapack_routines.py"
STEMS = ["potrf", "potrs", "posv", "potri", "getrf", "getrs", "gesv", "getri", "laswp", "lacpy", "lange", "lansy", "trtri", "trtrs",
         "sytrf", "sytrs", "sysv", "geqrf", "orgqr", "ormqr", "gels", "gelsd", "gelss", "syev", "syevd", "syevr", "syevx", "sygv", "sygvd",
         "sygvx", "sygst", "spev", "spevd", "spevx", "spgv", "spgvd", "spgvx", "gesdd", "gesvd", "geev"]  # fmt: skip


def name_of(stem: str, precision: str) -> str:
    if precision in "cz" and stem not in ("sytrf", "sytrs", "sysv"):
        stem = "lanhe" if stem == "lansy" else {"sy": "he", "sp": "hp", "or": "un"}.get(stem[:2], stem[:2]) + stem[2:]
    return precision + stem


def run(device: str, order: int = 60, types: str = "sdcz", **options) -> offload.Outcome:
    if importlib.util.find_spec("scipy") is None:
        pytest.skip("SciPy is not installed")
    outcome = offload.offloaded([sys.executable, PROGRAM, order, types], device=device, env=offload.environment(blas=None), timeout=600, **options)
    assert outcome.status == 0, outcome.stderr + outcome.stdout[-2000:]
    assert "WRONG" not in outcome.stdout
    assert len(re.findall("^ok", outcome.stdout, re.MULTILINE)) == 568 * len(types)
    return outcome


@pytest.mark.parametrize("policy", ["first-use", "copy"])
def test_every_routine(device, policy):
    outcome = run(device, policy=policy)
    for precision in "sdcz":
        for stem in STEMS:
            assert outcome.routine(name_of(stem, precision))["offloaded"] > 0, name_of(stem, precision)
    assert outcome.report["verification"]["stale_pages"] == 0
    assert outcome.report["verification"]["checked"] > 500
    # Matrices that are not definite (potrf, spgv), singular (getrf, sytrf), with NaN, two singular triangles, not of full rank (gels, and
    # trtrs in its original): each once for each type. The original reported them. A GPU also leaves ranks that rounding errors decide to
    # the original (gelsd, gelss), and norms of a matrix with NaN, of which there are four.
    assert outcome.refused()[offload.NO_RESULT] == (9 if device == "simulated" else 15) * 4


@pytest.mark.parametrize("fault", ["", "execute:9:lost"], ids=["working", "lost"])
@pytest.mark.parametrize("policy", ["first-use", "copy"])
def test_cholesky_of_matrices_larger_than_the_device(device, policy, fault):
    """They are factored block by block. Matrices that are not definite are found out in the first block, which leaves them to the original,
    or in a later one; INFO tells the same. A device that is lost between two blocks leaves the rest to the CPU."""
    if device != "simulated" or importlib.util.find_spec("numpy") is None:
        pytest.skip("needs NumPy, and a device with little memory")
    settings = ["--simulated-memory=64K", *([f"--simulated-fault={fault}"] if fault else [])]
    environment = offload.environment(beside=[offload.REFERENCE_LAPACK])
    outcome = offload.offloaded([sys.executable, PROGRAM.parent / "cholesky.py", 100], policy=policy, settings=settings, env=environment)
    assert (outcome.status, outcome.stdout) == (0, "right\n"), outcome.stdout + outcome.stderr
    calls = {precision: outcome.routine(f"{precision}potrf")["offloaded"] for precision in "sdcz"}
    assert fault or (calls["d"], calls["c"], calls["z"]) == (6, 4, 4)
    assert not fault or (0 < sum(calls.values()) < 4 and outcome.refused()[offload.DEVICE_LOST] > 0)


# NumPy asks for the sizes of work space before each of these calls.
QUERIES = """
import numpy as np
a = np.random.default_rng(1).standard_normal((64, 64))
np.linalg.eigh(a), np.linalg.eigh(a.astype(complex)), np.linalg.svd(a), np.linalg.qr(a), np.linalg.eigvals(a)
"""
QUERIED = ["dsyevd", "zheevd", "dgesdd", "dgeqrf", "dorgqr", "dgeev"]


@pytest.mark.parametrize("min_size", [0, 1000])
def test_questions_for_the_size_of_work_space_are_no_calls(min_size, tmp_path):
    """Such queries appear in no figure, whether the call itself runs on the device or on the CPU."""
    if importlib.util.find_spec("numpy") is None:
        pytest.skip("NumPy is not installed")
    log, trace = tmp_path / "calls.csv", tmp_path / "run.trace"
    settings = ["--explain", f"--log=calls={log}", f"--trace={trace}"]
    outcome = offload.offloaded([sys.executable, "-c", QUERIES], min_size=min_size, settings=settings, env=offload.environment(blas=None))
    assert outcome.status == 0, outcome.stderr
    for name in QUERIED:
        sums = outcome.routine(name)
        assert (sums["calls"], sums["offloaded"]) == (1, min_size == 0), name
    assert min_size > 0 or outcome.refused() == {}
    assert [name for name in QUERIED if log.read_text().count(f"_{name}_") != 1] == []


def test_in_memory_of_the_program_they_are_copied(device):
    """Operands are copied, since a failure in place would destroy them."""
    if device != "simulated":
        pytest.skip("this device has a memory of its own")
    outcome = run(device, policy="coherent", settings=["--simulated-form=unified"])
    assert outcome.routine("dpotrf")["bytes_to_device"] > 0


FAULTS = ["execute:20:memory", "execute:20:lost", "to-device:30:memory", "to-device:30:lost", "to-host:10:memory", "synchronize:20:lost",
          "allocate:5:memory", "back:3:memory"]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_leaves_the_right_result(device, policy, fault):
    """The types take turns, since what is done after a failure is the same for all."""
    if device != "simulated":
        pytest.skip("faults are injected into the simulated device")
    types = "sdcz"[FAULTS.index(fault) % 4]
    run(device, order=33, types=types, policy=policy, settings=[f"--simulated-fault={fault}"], launched=False)

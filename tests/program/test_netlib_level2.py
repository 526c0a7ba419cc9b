"""Netlib's own level-2 testers, unmodified, through Blastoff: every increment, transpose and triangle, error exits included.

Only products of a matrix and a vector are offloaded. The testers run on the reference BLAS, like the level-3 testers.
"""

import offload
import pytest
from netlib import assert_offloaded, assert_passed, data, installed

TESTED = {"s": 16, "d": 16, "c": 17, "z": 17}
OFFLOADED = 2  # gemv, and symv or hemv

# Policy and settings. The vectors are in buffers of the call under the first two, and where the program has them under the third.
RESIDENCIES = {
    "first-use": {"policy": "first-use"},
    "copy": {"policy": "copy"},
    "coherent": {"policy": "coherent", "settings": ["--simulated-form=unified"]},
}
RUNS = [("first-use", precision) for precision in TESTED] + [("copy", "d"), ("copy", "c"), ("coherent", "d"), ("coherent", "z")]


@pytest.mark.parametrize("residency, precision", RUNS)
def test_fortran(device, residency, precision, tmp_path):
    if residency == "coherent" and device != "simulated":
        pytest.skip("this device has a memory of its own")
    tester = [installed(f"xblat2{precision}")]
    outcome = offload.offloaded(tester, device=device, cwd=tmp_path, stdin=data(f"{precision}blat2.in"), **RESIDENCIES[residency])
    assert outcome.status == 0, outcome.stderr
    assert_passed((tmp_path / f"{precision}blat2.out").read_text(), TESTED[precision], 1)
    assert_offloaded(outcome, OFFLOADED)


@pytest.mark.parametrize("precision", TESTED)
def test_cblas(device, precision, tmp_path):
    """The testers call in column-major and in row-major order. In row-major order, some complex products need the matrix's conjugate."""
    tester = [installed(f"x{precision}cblat2")]
    outcome = offload.offloaded(tester, policy="first-use", device=device, cwd=tmp_path, stdin=data(f"{precision}in2"))
    assert outcome.status == 0, outcome.stderr
    assert_passed(outcome.stdout, TESTED[precision], 2)
    assert_offloaded(outcome, OFFLOADED, *([offload.UNSUPPORTED] if precision in "cz" else []))

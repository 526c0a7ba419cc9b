"""Netlib's own level-3 testers, unmodified, through Blastoff: Fortran and CBLAS, error exits included.

The CBLAS testers need the reference BLAS (they use symbols that only it has), so all run on it.
"""

import offload
import pytest
from netlib import ROUTINES, assert_offloaded, assert_passed, data, installed

# Policy and settings. Only the simulated device can use operands in place.
IN_PLACE = {
    "moves": ("first-use", ["--simulated-form=coherent", "--device-node=0"]),
    "coherent": ("coherent", ["--simulated-form=unified"]),
}


@pytest.fixture(params=["first-use", "copy", *IN_PLACE])
def residency(request: pytest.FixtureRequest, device: str) -> dict:
    if request.param not in IN_PLACE:
        return {"policy": request.param}
    if device != "simulated":
        pytest.skip("this device has a memory of its own")
    policy, settings = IN_PLACE[request.param]
    return {"policy": policy, "settings": settings}


@pytest.mark.parametrize("precision", ROUTINES)
def test_fortran(device, residency, precision, tmp_path):
    """The testers write their summary to a file that the input names."""
    outcome = offload.offloaded([installed(f"xblat3{precision}")], device=device, cwd=tmp_path, stdin=data(f"{precision}blat3.in"), **residency)
    assert outcome.status == 0, outcome.stderr
    assert_passed((tmp_path / f"{precision}blat3.out").read_text(), ROUTINES[precision], 1)
    assert_offloaded(outcome, ROUTINES[precision])


@pytest.mark.parametrize("precision", ROUTINES)
def test_cblas(device, residency, precision, tmp_path):
    """The testers call in column-major and in row-major order."""
    outcome = offload.offloaded([installed(f"x{precision}cblat3")], device=device, cwd=tmp_path, stdin=data(f"{precision}in3"), **residency)
    assert outcome.status == 0, outcome.stderr
    assert_passed(outcome.stdout, ROUTINES[precision], 2)
    assert_offloaded(outcome, ROUTINES[precision])


def test_the_testers_notice_a_wrong_result(tmp_path):
    """Plain BLAS fails with a threshold that no arithmetic meets. A tester that always passes would prove nothing."""
    offload.plain([installed("xblat3d")], cwd=tmp_path, stdin=data("dblat3.in").replace("16.0 ", "0.0  "))
    with pytest.raises(AssertionError):
        assert_passed((tmp_path / "dblat3.out").read_text(), 6, 1)

"""Netlib's own level-3 testers, unmodified, through Blastoff: Fortran and CBLAS, error exits included.

The CBLAS testers need the reference BLAS (they use symbols that only it has), so all run on it.
"""

import re

import offload
import pytest

FORTRAN = {"s": 6, "d": 6, "c": 9, "z": 9}  # routines of each tester
CBLAS = FORTRAN


def installed(name: str) -> str:
    path = offload.REFERENCE_BLAS / name
    if not path.exists():
        pytest.skip(f"{path} is missing (Debian, Ubuntu: libblas-test)")
    return str(path)


def assert_passed(text: str, routines: int, computations: int) -> None:
    """Every routine passed its error exits and its computations, and nothing was said to have failed."""
    complaints = [line for line in text.splitlines() if re.search(r"FAIL|\*\*\*\*|ERROR-CALL|SUSPECT|not tested", line, re.IGNORECASE)]
    assert complaints == []
    assert len(re.findall(r"PASSED THE TESTS OF ERROR-EXITS", text)) == routines
    assert len(re.findall(r"PASSED THE (?:\S+\s+)?COMPUTATIONAL TESTS", text)) == routines * computations
    assert "END OF TESTS" in text


def assert_offloaded(outcome: offload.Outcome, routines: int) -> None:
    assert len(outcome.report["routines"]) == routines
    for routine in outcome.report["routines"]:
        assert routine["offloaded"] > 0, routine["name"]
    assert set(outcome.refused()) <= {offload.TRIVIAL, offload.INVALID_ARGUMENTS}
    assert outcome.report["verification"]["stale_pages"] == 0
    assert outcome.report["verification"]["checked"] == outcome.total("offloaded")


@pytest.mark.parametrize("precision", FORTRAN)
def test_fortran(device, policy, precision, tmp_path):
    """The summary goes to a file named in the input."""
    data = (offload.REFERENCE_BLAS / f"{precision}blat3.in").read_text() if offload.REFERENCE_BLAS.exists() else ""
    outcome = offload.offloaded([installed(f"xblat3{precision}")], policy=policy, device=device, cwd=tmp_path, stdin=data)
    assert outcome.status == 0, outcome.stderr
    assert_passed((tmp_path / f"{precision}blat3.out").read_text(), FORTRAN[precision], 1)
    assert_offloaded(outcome, FORTRAN[precision])


@pytest.mark.parametrize("precision", CBLAS)
def test_cblas(device, policy, precision, tmp_path):
    """Column-major and row-major."""
    data = (offload.REFERENCE_BLAS / f"{precision}in3").read_text() if offload.REFERENCE_BLAS.exists() else ""
    outcome = offload.offloaded([installed(f"x{precision}cblat3")], policy=policy, device=device, cwd=tmp_path, stdin=data)
    assert outcome.status == 0, outcome.stderr
    assert_passed(outcome.stdout, CBLAS[precision], 2)
    assert_offloaded(outcome, CBLAS[precision])


def test_the_testers_notice_a_wrong_result(tmp_path):
    """A tester that always passes would prove nothing: plain BLAS with a threshold that no arithmetic meets."""
    data = (offload.REFERENCE_BLAS / "dblat3.in").read_text() if offload.REFERENCE_BLAS.exists() else ""
    offload.plain([installed("xblat3d")], cwd=tmp_path, stdin=data.replace("16.0 ", "0.0  "))
    with pytest.raises(AssertionError):
        assert_passed((tmp_path / "dblat3.out").read_text(), 6, 1)

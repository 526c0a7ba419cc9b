"""Checks that netlib's BLAS testers pass, and that their calls were offloaded."""

import re

import offload
import pytest

ROUTINES = {"s": 6, "d": 6, "c": 9, "z": 9}  # routines that each level-3 tester tests


def installed(name: str) -> str:
    """The path of a tester, or of its input."""
    path = offload.REFERENCE_BLAS / name
    if not path.exists():
        pytest.skip(f"{path} is missing (Debian, Ubuntu: libblas-test)")
    return str(path)


def data(name: str) -> str:
    with open(installed(name)) as file:
        return file.read()


def assert_passed(text: str, routines: int, computations: int) -> None:
    """Every routine passed its error exits and its computations, and no failure was printed."""
    complaints = [line for line in text.splitlines() if re.search(r"FAIL|\*\*\*\*|ERROR-CALL|SUSPECT|not tested", line, re.IGNORECASE)]
    assert complaints == []
    assert len(re.findall(r"PASSED THE TESTS OF ERROR-EXITS", text)) == routines
    assert len(re.findall(r"PASSED THE (?:\S+\s+)?COMPUTATIONAL TESTS", text)) == routines * computations
    assert "END OF TESTS" in text


def assert_offloaded(outcome: offload.Outcome, routines: int, *unsupported: str) -> None:
    """`unsupported`: further reasons for which calls may stay on the CPU. Calls that compute nothing and invalid calls may always do so."""
    assert len(outcome.report["routines"]) == routines
    for routine in outcome.report["routines"]:
        assert routine["offloaded"] > 0, routine["name"]
    assert set(outcome.refused()) <= {offload.TRIVIAL, offload.INVALID_ARGUMENTS, *unsupported}
    assert outcome.report["verification"]["stale_pages"] == 0
    assert outcome.report["verification"]["checked"] == outcome.total("offloaded")

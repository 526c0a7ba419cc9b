"""`--routines`: which routines may run on the device."""

import pytest

LEFT_OUT = "this routine was left to the CPU (--routines)"


@pytest.mark.parametrize(
    ("routines", "offloaded"),
    [("dtrsm", {"dtrsm"}), ("-dtrsm", {"dgemm"}), ("*gemm,-z*", {"dgemm"}), ("-d*", set()), ("DTRSM,dgemm", {"dgemm", "dtrsm"})],
)
def test_only_these_are_offloaded(unharmed, routines, offloaded, policy):
    """The two routines work on the same matrix in turns, so the CPU's calls read what the device has computed."""
    outcome = unharmed("factorise", 240, 40, policy=policy, settings=[f"--routines={routines}"])
    found = {name: outcome.routine(name) for name in ("dgemm", "dtrsm")}
    assert {name for name, routine in found.items() if routine["offloaded"] == routine["calls"] == 5} == offloaded
    assert outcome.total("offloaded") == 5 * len(offloaded)
    left = sum(routine["calls"] for name, routine in found.items() if name not in offloaded)
    assert outcome.refused() == ({LEFT_OUT: left} if left else {})

"""Calls inside a library, which no exported name can intercept, and calls that NumPy itself makes."""

import importlib.util
import json
import sys

import offload
import pytest

DECOMPOSITIONS = offload.ROOT / "bench" / "programs" / "decompositions.py"

# geqp3 is not offloaded as a whole, but its products are.
PIVOTED = """
import json
import numpy
import scipy.linalg
a = numpy.random.default_rng(0).standard_normal((400, 350))
q, r, columns = scipy.linalg.qr(a, mode="economic", pivoting=True)
print(json.dumps({"residual": float(abs(q @ r - a[:, columns]).max())}))
"""

pytestmark = pytest.mark.skipif(importlib.util.find_spec("numpy") is None, reason="NumPy is not installed")


def offloaded_calls(command: list, intercept: str, device: str, policy: str) -> dict[str, int]:
    """Number of calls on the device by routine, of a program that must print small residuals."""
    outcome = offload.offloaded(
        [sys.executable, *command],
        device=device,
        policy=policy,
        min_size=32,
        settings=[f"--intercept={intercept}"],
        env=offload.environment(blas=None),
    )
    assert outcome.status == 0, outcome.stderr
    residuals = [json.loads(line)["residual"] for line in outcome.stdout.splitlines()]
    assert residuals and max(residuals) < 1e-13
    assert outcome.report["verification"]["stale_pages"] == 0
    return {routine["name"]: routine["offloaded"] for routine in outcome.report["routines"]}


@pytest.mark.parametrize("intercept", ["preload", "patch"])
def test_decompositions_as_a_whole(device, policy, intercept):
    seen = offloaded_calls([DECOMPOSITIONS, "200", "1"], intercept, device, policy)
    for routine in ("dsyevd", "dgesdd", "dgeqrf", "dorgqr", "dgemm"):
        assert seen[routine] > 0, routine


def test_products_inside(device, policy):
    if importlib.util.find_spec("scipy") is None:
        pytest.skip("SciPy is not installed")
    seen = {intercept: offloaded_calls(["-c", PIVOTED], intercept, device, policy) for intercept in ("preload", "patch")}
    assert seen["preload"]["dgemm"] == 1, "the product of the program itself"
    assert seen["patch"]["dgemm"] > 5

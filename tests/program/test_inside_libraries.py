"""Products that happen inside a library, where no exported name can catch them: NumPy's decompositions."""

import importlib.util
import json
import sys

import offload
import pytest

DECOMPOSITIONS = offload.ROOT / "bench" / "programs" / "decompositions.py"


@pytest.mark.skipif(importlib.util.find_spec("numpy") is None, reason="NumPy is not installed")
def test_decompositions(device, policy):
    """The same program under both interceptors: right results, and the counts side by side."""
    seen = {}
    for intercept in ("preload", "patch"):
        outcome = offload.offloaded(
            [sys.executable, DECOMPOSITIONS, "200", "1"],
            device=device,
            policy=policy,
            min_size=32,
            settings=[f"--intercept={intercept}"],
            env=offload.environment(blas=None),
        )
        assert outcome.status == 0, outcome.stderr
        residuals = [json.loads(line)["residual"] for line in outcome.stdout.splitlines()]
        assert len(residuals) == 3 and max(residuals) < 1e-13
        assert outcome.report["verification"]["stale_pages"] == 0
        seen[intercept] = {routine["name"]: routine["offloaded"] for routine in outcome.report["routines"]}
    print(f"offloaded under preload: {seen['preload']}, under patch: {seen['patch']}")
    assert set(seen["preload"]) == {"dgemm"}, "the products of the program itself"
    assert {"dgemm", "dtrmm", "dsyr2k"} <= set(seen["patch"])
    assert seen["patch"]["dgemm"] > 10 * seen["preload"]["dgemm"]
    assert seen["patch"]["dtrmm"] > 0

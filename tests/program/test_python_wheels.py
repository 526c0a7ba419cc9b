"""NumPy's and SciPy's own linear algebra tests, from their wheels, through Blastoff.

The wheels contain copies of OpenBLAS with prefixed names (NumPy's with 64-bit integers), which are loaded with RTLD_LOCAL. If tests fail, they
are compared with those that fail without Blastoff. Tests that only take long are left out: threading stress, huge vectors,
large random least-squares problems, an import in other processes, and condition numbers of stacks, which are their singular values and inverses.
"""

import importlib.util
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import offload
import pytest

NUMPY = [
    "numpy.linalg",
    *(f"numpy._core.tests.test_multiarray::Test{name}" for name in ("Dot", "Matmul", "MatmulInplace", "MatmulOperator")),
    "-k",
    "not test_openblas_threading and not test_huge and not test_sdot_bug and not (TestCond and test_generalized)",
]
SCIPY = [f"scipy.linalg.tests.test_{name}" for name in ("blas", "decomp_lu", "decomp_cholesky")]
EXACT = {"TestDot::test_dot_3args"}
"""Tests that need two results of the same product to agree in every bit. A GPU's kernels differ with the alignment of matrices."""
RUNS = [
    ("numpy", "first-use", NUMPY, 8, 700),
    ("scipy", "first-use", [*SCIPY, "scipy.linalg.tests.test_basic", "-k", "not TestLstsq"], 2, 2000),
    ("scipy", "copy", SCIPY, 2, 300),
]
"""Package, policy, tests, threshold, and the number of tests of which more must pass."""


def command(selection: list[str], results: Path) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={results}", "--pyargs", *selection]


def verdicts(results: Path) -> tuple[set[str], set[str]]:
    """Names of the tests that passed, and names of the tests that failed."""
    passed, failed = set(), set()
    for case in ElementTree.parse(results).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        tags = {child.tag for child in case}
        if tags & {"failure", "error"}:
            failed.add(name)
        elif "skipped" not in tags:
            passed.add(name)
    return passed, failed


@pytest.mark.parametrize(("package", "policy", "selection", "min_size", "enough"), RUNS)
def test_own_tests_of(package, policy, selection, min_size, enough, device, tmp_path):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    results = tmp_path / "with.xml"
    env = offload.environment(blas=None)
    outcome = offload.offloaded(
        command(selection, results), policy=policy, device=device, min_size=min_size, verify="report", cwd=tmp_path, env=env, timeout=900
    )
    assert results.exists(), outcome.stdout + outcome.stderr
    passed, failed = verdicts(results)
    assert len(passed) > enough
    assert outcome.total("offloaded") > 100
    assert outcome.report["verification"]["stale_pages"] == 0
    violations = [line for line in outcome.lines if "verif" in line]
    assert violations == []
    if device.startswith("cuda"):
        failed = {name for name in failed if not name.endswith(tuple(EXACT))}
    if failed:
        plainly = tmp_path / "without.xml"
        offload.plain(command(selection, plainly), cwd=tmp_path, env=env, timeout=900)
        assert failed <= verdicts(plainly)[1]

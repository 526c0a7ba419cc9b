"""Netlib's own level-3 testers with a BLAS linked into them, which only patching can intercept."""

import shutil
import subprocess
from pathlib import Path

import netlib_sources
import offload
import pytest
from netlib import ROUTINES, assert_offloaded, assert_passed, data

ARCHIVES = {
    "reference": (offload.REFERENCE_BLAS / "libblas.a", "libblas-dev"),
    "openblas": (offload.LIBRARIES / "openblas-pthread" / "libopenblas.a", "libopenblas-pthread-dev"),
}


@pytest.fixture(scope="session")
def sources() -> Path:
    if not shutil.which("gfortran"):
        pytest.skip("gfortran is missing")
    try:
        return netlib_sources.fetch(offload.BUILD / "netlib")
    except netlib_sources.NoSources as problem:
        pytest.skip(str(problem))


def link(program: Path, *parts: object) -> Path:
    """Links a tester. The C library stays shared, since nothing can be preloaded into a fully static program."""
    subprocess.run(["gfortran", "-w", "-O0", "-DADD_", "-o", program, *map(str, parts), "-lpthread"], check=True)
    return program


def archive(blas: str) -> Path:
    path, package = ARCHIVES[blas]
    if not path.exists():
        pytest.skip(f"{path} is missing (Debian, Ubuntu: {package})")
    return path


USUAL = [("reference", "d"), ("reference", "c"), ("openblas", "s"), ("openblas", "z")]
EVERY = [(blas, precision) for blas in ARCHIVES for precision in ROUTINES]


@pytest.mark.parametrize(("blas", "precision"), EVERY if offload.EVERY_CASE else USUAL)
def test_fortran(device, precision, blas, sources, tmp_path):
    program = link(tmp_path / "tester", sources / "BLAS" / "TESTING" / f"{precision}blat3.f", archive(blas))
    settings = ["--intercept=patch"]
    outcome = offload.offloaded([program], device=device, settings=settings, cwd=tmp_path, stdin=data(f"{precision}blat3.in"))
    assert outcome.status == 0, outcome.stderr
    assert_passed((tmp_path / f"{precision}blat3.out").read_text(), ROUTINES[precision], 1)
    assert_offloaded(outcome, ROUTINES[precision])


@pytest.mark.parametrize("precision", "sdcz" if offload.EVERY_CASE else "dc")
def test_cblas(device, precision, sources, tmp_path):
    """The CBLAS testers need symbols that only the reference BLAS has. tests/program/test_netlib.py runs them in each type."""
    testing = sources / "CBLAS" / "testing"
    parts = [testing / f"c_{precision}{part}" for part in ("blat3.f", "blas3.c", "3chke.c")]
    includes = [f"-I{sources / 'CBLAS' / 'include'}", f"-I{testing}"]
    program = link(tmp_path / "tester", *includes, *parts, testing / "auxiliary.c", testing / "c_xerbla.c", archive("reference"))
    outcome = offload.offloaded([program], device=device, settings=["--intercept=patch"], cwd=tmp_path, stdin=data(f"{precision}in3"))
    assert outcome.status == 0, outcome.stderr
    assert_passed(outcome.stdout, ROUTINES[precision], 2)
    assert_offloaded(outcome, ROUTINES[precision])

"""Programs in Fortran, R, Octave and Python, on the reference BLAS and on OpenBLAS."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import offload
import pytest

EXAMPLES = offload.ROOT / "examples"
BLAS = {"reference": offload.REFERENCE_BLAS, "openblas": offload.OPENBLAS}


@pytest.fixture(scope="session")
def scf(tmp_path_factory):
    built = offload.BUILD / "examples" / "scf"  # tests/gpu/pack builds it
    if built.exists():
        return built
    if not shutil.which("gfortran"):
        pytest.skip("gfortran is missing")
    program = tmp_path_factory.mktemp("scf") / "scf"
    subprocess.run(["gfortran", "-O2", "-o", str(program), str(EXAMPLES / "scf.f90"), "-lblas"], check=True)
    return program


@pytest.fixture(params=BLAS)
def blas(request):
    path = BLAS[request.param]
    if not (path / "libblas.so.3").exists():
        pytest.skip(f"{path}/libblas.so.3 is missing")
    return path


def numbers(text: str) -> list[float]:
    """The checksums that an example prints, one per line after "=". Times are on other lines."""
    return [float(line.split("=")[1]) for line in text.splitlines() if "=" in line]


def assert_equal_results(outcome: offload.Outcome, plain: offload.Outcome) -> None:
    assert (outcome.status, plain.status) == (0, 0), outcome.stderr + plain.stderr
    assert len(numbers(plain.stdout)) > 0
    assert numbers(outcome.stdout) == pytest.approx(numbers(plain.stdout), rel=1e-9)
    assert outcome.total("offloaded") > 0
    assert outcome.report["verification"]["stale_pages"] == 0


def test_fortran(scf, blas, device, policy):
    env = offload.environment(blas)
    command = [scf, "96", "5"]
    outcome = offload.offloaded(command, policy=policy, device=device, env=env)
    assert_equal_results(outcome, offload.plain(command, env=env))
    for routine in ("zgemm", "ztrsm", "dgemm"):
        assert outcome.routine(routine)["offloaded"] > 0
    if outcome.tracks:
        assert outcome.total("bytes_reused") > 0


def test_openblas_with_threads(scf, device, policy):
    """OpenBLAS's own threads run beside ours."""
    if not (offload.OPENBLAS / "libblas.so.3").exists():
        pytest.skip("OpenBLAS is missing (Debian, Ubuntu: libopenblas0-pthread)")
    env = offload.environment(offload.OPENBLAS, OPENBLAS_NUM_THREADS="4")
    command = [scf, "128", "3"]
    assert_equal_results(offload.offloaded(command, policy=policy, device=device, env=env), offload.plain(command, env=env))


def test_python(device, policy):
    if importlib.util.find_spec("numpy") is None:
        pytest.skip("NumPy is not installed")
    env = offload.environment(None)
    command = [sys.executable, EXAMPLES / "power_iteration.py", "160", "5"]
    assert_equal_results(offload.offloaded(command, policy=policy, device=device, env=env), offload.plain(command, env=env))


def interpreted(script: str, *arguments: str) -> list[str | Path]:
    interpreter = ["Rscript"] if script.endswith(".R") else ["octave-cli", "--quiet", "--no-gui"]
    if not shutil.which(interpreter[0]):
        pytest.skip(f"{interpreter[0]} is not installed")
    return [*interpreter, EXAMPLES / script, *arguments]


@pytest.mark.parametrize("script", ["regression.R", "regression.m"])
def test_interpreters(script, device, policy):
    env = offload.environment(None)
    command = interpreted(script, "200", "5")
    assert_equal_results(offload.offloaded(command, policy=policy, device=device, env=env), offload.plain(command, env=env))


@pytest.mark.parametrize(
    ("script", "routines"),
    [
        ("factorizations.R", ["dgesv", "dpotrf", "dsyevr", "dgesdd"]),
        ("factorizations.m", ["dgetrf", "dgetrs", "dpotrf", "dsyev", "dgesvd", "fftw_execute_dft_r2c"]),
    ],
)
def test_lapack_of_interpreters(script, routines, device, policy):
    env = offload.environment(None)
    command = interpreted(script, "150", "1")
    outcome = offload.offloaded(command, policy=policy, device=device, env=env)
    assert_equal_results(outcome, offload.plain(command, env=env))
    for routine in routines:
        assert outcome.routine(routine)["offloaded"] > 0, routine


OCTAVE_TESTS = """
count = 0;
for name = {"expm", "gls", "housh", "linsolve", "logm", "lscov", "lsqnonneg", "null", "ols", "orth", "polyfit", "qzhess", "roots", "sqp"}
  try
    [passed, all] = test(name{1}, "quiet");
  catch
    continue  % built in, or without tests
  end
  if (passed < all), printf("failed: %s\\n", name{1}); end
  count += passed;
end
printf("passed=%d\\n", count);
"""


@pytest.mark.parametrize(("blas", "policy"), offload.in_turns(BLAS, ["first-use", "copy", "first-use-soft-dirty"]), indirect=True)
def test_octaves_own_tests(blas, device, policy, tmp_path):
    if not shutil.which("octave-cli"):
        pytest.skip("octave-cli is not installed")
    script = tmp_path / "tests.m"
    script.write_text(OCTAVE_TESTS)
    # A test that fails without Blastoff may fail with it.
    env = offload.environment(blas, [offload.REFERENCE_LAPACK] if blas == offload.REFERENCE_BLAS else [])
    command = ["octave-cli", "--quiet", "--no-gui", script]
    outcome = offload.offloaded(command, policy=policy, device=device, env=env)
    plain = offload.plain(command, env=env)
    assert_equal_results(outcome, plain)
    assert [line for line in outcome.stdout.splitlines() if line.startswith("failed")] == [
        line for line in plain.stdout.splitlines() if line.startswith("failed")
    ]

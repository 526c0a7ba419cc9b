"""Programs that load Blastoff while they run: C programs by dlopen(), R by dyn.load(), Octave by autoload()."""

import platform
import shutil
from pathlib import Path

import offload
import pytest

OFF = "offloading was switched off by the program"


def run(command: list, tmp_path: Path, device: str, **changes: str) -> offload.Outcome:
    """Runs a program without the launcher and without preloading; the program loads the library itself."""
    report = tmp_path / "report.json"
    settings = {"BLASTOFF_DEVICE": device, "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_VERIFY": "abort", "BLASTOFF_SUMMARY": "never"}
    outcome = offload.run(command, env=offload.environment(None, BLASTOFF_REPORT=str(report), **settings, **changes), cwd=tmp_path)
    outcome.report = offload.read_report(report)
    return outcome


@pytest.mark.parametrize("how", ["before", "later", "namespace", "unloaded"])
@pytest.mark.parametrize("folder", [offload.REFERENCE_BLAS, offload.OPENBLAS], ids=["reference", "openblas"])
def test_a_c_program(how, folder, tmp_path, device):
    if not (folder / "libblas.so.3").exists():
        pytest.skip(f"{folder} is not installed")
    outcome = run(offload.program("session", offload.LIBRARY, how, folder / "libblas.so.3"), tmp_path, device)
    assert outcome.status == 0, outcome.stderr
    assert (outcome.total("calls"), outcome.total("offloaded")) == (3, 2)
    assert outcome.refused() == {OFF: 1}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program steps by x86-64's trap flag")
@pytest.mark.parametrize("instructions", [1, 2, 3])
@pytest.mark.parametrize("folder", [offload.REFERENCE_BLAS, offload.OPENBLAS], ids=["reference", "openblas"])
def test_while_a_thread_stands_where_a_jump_is_written(folder, instructions, tmp_path, device):
    """The thread has executed the given number of dgemm_'s first instructions, and continues after the function is patched. Its call is
    offloaded, too, if the jump lies behind these instructions."""
    if not (folder / "libblas.so.3").exists():
        pytest.skip(f"{folder} is not installed")
    command = offload.program("between_instructions", offload.LIBRARY, folder / "libblas.so.3", str(instructions))
    outcome = run(command, tmp_path, device, OPENBLAS_NUM_THREADS="1")
    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout.count(": right") == 2, outcome.stdout
    assert outcome.total("calls") == outcome.total("offloaded")
    assert outcome.total("calls") in (1, 2)


R = """
a <- matrix(1, 200, 200)
dyn.load("{library}")
product <- function() stopifnot(all(a %*% a == 200))
product()
invisible(.C("blastoff_disable"))
product()
invisible(.C("blastoff_enable"))
product()
"""

OCTAVE = """
a = ones(200);
autoload("blastoff", "{link}");
try, blastoff; end
assert(all((a * a)(:) == 200));
"""


def interpreter(name: str) -> str:
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    return name


def test_r(tmp_path, device):
    script = tmp_path / "session.R"
    script.write_text(R.format(library=offload.LIBRARY))
    outcome = run([interpreter("Rscript"), script], tmp_path, device)
    assert outcome.status == 0, outcome.stderr
    product = outcome.routine("dgemm")
    assert (product["calls"], product["offloaded"]) == (3, 2)
    assert outcome.refused()[OFF] == 1


def test_octave(tmp_path, device):
    """Octave loads the library as if it were an Octave function, and reports that it contains no such function."""
    link = tmp_path / "blastoff.oct"
    link.symlink_to(offload.LIBRARY)
    script = tmp_path / "session.m"
    script.write_text(OCTAVE.format(link=link))
    outcome = run([interpreter("octave-cli"), "--quiet", "--no-gui", script], tmp_path, device)
    assert outcome.status == 0, outcome.stderr
    assert outcome.routine("dgemm")["offloaded"] == 1

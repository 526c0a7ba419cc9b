"""Programs that are linked with Blastoff start, wherever it is installed, and keep their BLAS, in whatever order the two are named."""

import re
import shutil
import subprocess
from pathlib import Path

import installing
import linking
import offload
import pytest
from linking import CALLS

pytestmark = pytest.mark.skipif(bool(installing.why_not()), reason=installing.why_not())
# The libraries on the link line, and whether Blastoff comes first.
ORDERS = {"before": lambda ours, blas: [*ours, *blas], "behind": lambda ours, blas: [*blas, *ours]}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installing.install(tmp_path_factory.mktemp("site"))


def needed(program: Path) -> list[str]:
    return re.findall(r"NEEDED.*\[(.*)\]", subprocess.run(["readelf", "-d", program], check=True, capture_output=True, text=True).stdout)


def run(program: Path, mode: str = "auto") -> offload.Outcome:
    """Runs a program without the launcher and without LD_PRELOAD. Every call is offloaded to the simulated device, and verified."""
    report = program.with_suffix(".json")
    settings = {"device": "simulated", "min_size": "0", "verify": "abort", "summary": "never", "intercept": mode, "report": str(report)}
    outcome = offload.run([program], env=linking.environment(**{f"BLASTOFF_{name.upper()}": value for name, value in settings.items()}))
    outcome.report = offload.read_report(report)
    return outcome


def assert_offloads(outcome: offload.Outcome) -> None:
    assert (outcome.status, "WRONG" in outcome.stdout) == (0, False), outcome.stdout + outcome.stderr
    assert outcome.total("offloaded") == CALLS


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config here")
@pytest.mark.parametrize("pie", ["-pie", "-no-pie"])
@pytest.mark.parametrize("kept", ["--as-needed", "--no-as-needed"])
@pytest.mark.parametrize("order", ORDERS)
def test_flags_of_pkg_config(workshop, prefix, order, kept, pie):
    flags = ORDERS[order](installing.link_flags(prefix), ["-lblas"])
    program = workshop.program("program", "common/program.c", flags=[pie, f"-Wl,{kept}", *flags])
    assert {"libblastoff.so", "libblas.so.3"} <= set(needed(program))
    outcome = run(program)
    assert_offloads(outcome)
    assert outcome.lines == []


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config here")
def test_a_forgotten_blas_is_an_error_of_the_linker(workshop, prefix):
    with pytest.raises(AssertionError, match="undefined reference to `dgemm_'"):
        workshop.program("program", "common/program.c", flags=installing.link_flags(prefix))


@pytest.mark.parametrize("mode", ["auto", "patch", "preload"])
def test_a_blas_that_the_linker_left_out(workshop, prefix, mode):
    """Here -lblastoff is the real library, which has dgemm_, so the linker drops the BLAS behind it."""
    directory = installing.folder_of_libraries(prefix)
    flags = ["-Wl,--as-needed", f"-L{directory}", "-lblastoff", "-lblas", f"-Wl,-rpath,{directory}"]
    program = workshop.program("program", "common/program.c", flags=flags)
    assert "libblas.so.3" not in needed(program)
    outcome = run(program, mode)
    assert_offloads(outcome)
    assert [line.split(";")[0] for line in outcome.lines] == ["dgemm_: the program was linked with Blastoff but with no library that defines it"]


def test_no_other_library_for_a_name_of_64_bit_integers(workshop, prefix):
    """The system's libraries would read 64-bit integers as 32-bit ones."""
    directory = installing.folder_of_libraries(prefix)
    flags = ["-Ddgemm_=dgemm_64_", f"-L{directory}", "-lblastoff", f"-Wl,-rpath,{directory}"]
    outcome = run(workshop.program("program", "common/program.c", flags=flags))
    assert outcome.status == 127
    assert outcome.lines[-1] == "dgemm_64_: this call has to run on the CPU, but no library that defines it is loaded; the process ends"


def test_the_link_library_has_all_functions_and_no_routine(prefix):
    def exported(path: Path) -> set[str]:
        symbols = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout.splitlines()
        return {name for _, kind, name in map(str.split, symbols) if kind != "R"}  # read-only data: the build id, for doctor

    directory = installing.folder_of_libraries(prefix)
    ours = {name for name in exported(directory / "libblastoff.so") if name.startswith("blastoff_")}
    assert ours and exported(directory / "blastoff" / "libblastoff.so") == ours

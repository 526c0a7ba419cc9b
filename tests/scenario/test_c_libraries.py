"""The library is loaded into programs that use an older C library or a different one, as in containers that inherit LD_PRELOAD.
These programs run as if the library were absent."""

import os
import shutil
import subprocess
from pathlib import Path

import offload
import pytest

SOURCES = Path(__file__).parent / "c_libraries"
ALLOCATOR = offload.BUILD / "libblastoff-allocator.so"
SETTINGS = {"BLASTOFF_DEVICE": "simulated", "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_PLACE": "at-malloc=64K", "BLASTOFF_DEVICE_NODE": "0"}


def compiled(compiler: str, source: str, to: Path, *options: str) -> Path:
    subprocess.run([compiler, "-O1", *options, SOURCES / source, "-o", to], check=True)
    return to


def preloaded(command: list[str], *libraries: Path, **settings: str) -> offload.Outcome:
    return offload.run(command, env=offload.environment(LD_PRELOAD=":".join(map(str, libraries)), **(SETTINGS | settings)))


@pytest.fixture(scope="module")
def musl_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    if not shutil.which("musl-gcc"):
        pytest.skip("no musl here")
    return str(compiled("musl-gcc", "other_c_library.c", tmp_path_factory.mktemp("musl") / "program"))


@pytest.mark.parametrize("libraries", [[offload.LIBRARY], [ALLOCATOR], [offload.LIBRARY, ALLOCATOR]], ids=["library", "allocator", "both"])
def test_programs_of_musl(musl_program, libraries):
    plain = offload.run([musl_program], env={})
    outcome = preloaded([musl_program], *libraries)
    assert "thread 1" in plain.stdout
    assert (outcome.status, outcome.stdout, outcome.stderr) == (plain.status, plain.stdout, "")


@pytest.fixture(scope="module")
def old_c_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("gcc"):
        pytest.skip("no compiler here")
    return compiled("gcc", "old_c_library.c", tmp_path_factory.mktemp("old") / "libold.so", "-shared", "-fPIC")


PLUGINS = [offload.PROGRAMS / f"libplugin_{name}.so" for name in ("one", "two", "wide")]


@pytest.mark.parametrize(
    "program", [["products"], ["styles", "cblas"], ["one_of_each"], ["plugins", *PLUGINS], ["threads"]], ids=lambda program: program[0]
)
def test_an_older_c_library(old_c_library, program, tmp_path):
    """All calls reach the same functions as without the library (the next definition in the global search order, or the one in
    the caller's own library), and nothing is counted."""
    command = offload.program(*program)
    report = tmp_path / "report.json"
    plain = offload.plain(command)
    outcome = preloaded(command, offload.LIBRARY, ALLOCATOR, old_c_library, BLASTOFF_REPORT=str(report), BLASTOFF_PLACE="none")
    assert (outcome.status, outcome.stdout, outcome.stderr) == (plain.status, plain.stdout, plain.stderr)
    assert not report.exists()


def test_the_interface_does_nothing_on_an_older_c_library(old_c_library):
    code = f"import ctypes; b = ctypes.CDLL({str(offload.LIBRARY)!r}); print(b.blastoff_enable(), b.blastoff_enabled(), b.blastoff_report_json())"
    outcome = preloaded(["/usr/bin/python3", "-c", code], offload.LIBRARY, old_c_library)
    assert (outcome.status, outcome.stdout) == (0, "0 0 0\n"), outcome.stderr


def test_the_command_says_so(old_c_library):
    outcome = preloaded([offload.COMMAND, "run", "--policy=copy", "--", "/bin/true"], offload.LIBRARY, old_c_library)
    assert "does nothing with this system's C library: it needs glibc 2.28 or newer" in outcome.stderr


def test_a_call_before_our_constructor_is_offloaded():
    """Libraries that come after ours in the search order are initialised before it."""
    outcome = preloaded(["/bin/true"], offload.LIBRARY, offload.PROGRAMS / "libconstructor.so", BLASTOFF_VERIFY="abort", BLASTOFF_SUMMARY="always")
    assert outcome.stdout == "product: right\n"
    assert "dgemm             1          1" in outcome.stderr


def test_no_library_beside_the_c_library_is_loaded_but_libm():
    """A container's image may lack any other library."""
    listing = ["/bin/cat", "/proc/self/maps"]
    plain, loaded = (
        {os.path.basename(line.split()[-1]) for line in run(listing).stdout.splitlines() if ".so" in line}
        for run in (offload.plain, lambda command: preloaded(command, offload.LIBRARY))
    )
    assert loaded - plain == {"libblastoff.so", "libm.so.6"}

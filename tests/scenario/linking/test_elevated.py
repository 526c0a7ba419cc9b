"""A program with rights that its caller does not have (set-user-ID, set-group-ID) loads the libraries because it is linked with them. The
libraries do nothing there, whatever settings the caller gives."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import linking
import offload
import pytest

NOBODY = 65534


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that every user may read (pytest's directories are private)."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield Path(directory)


@pytest.fixture
def program(place: Path) -> Path:
    workshop = linking.Workshop(place)
    libraries = [shutil.copy(offload.BUILD / name, place) for name in ("libblastoff-allocator.so", "libblastoff.so")]
    linked = ["-Wl,--no-as-needed", *libraries, str(workshop.blas()), f"-Wl,-rpath,{place}"]
    return workshop.program("program", "elevated/program.c", flags=[*linked, "-ldl"])


def elevate(program: Path) -> dict:
    """Gives the program rights that its caller lacks. Returns the arguments of subprocess that make us that caller."""
    if os.getuid() == 0:
        program.chmod(0o4755)
        return {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    others = [group for group in os.getgroups() if group != os.getgid()]
    if not others:
        pytest.skip("needs root, or a user of more than one group")
    os.chown(program, -1, others[0])
    program.chmod(0o2755)
    return {}


def run(program: Path, report: Path, caller: dict) -> subprocess.CompletedProcess:
    env = linking.environment(
        BLASTOFF_DEVICE="simulated",
        BLASTOFF_MIN_SIZE="0",
        BLASTOFF_SUMMARY="always",
        BLASTOFF_LOG="calls",
        BLASTOFF_PLACE="at-malloc",
        BLASTOFF_DEVICE_NODE="1023",
        BLASTOFF_NO_SUCH_SETTING="1",
        BLASTOFF_REPORT=str(report),
    )
    return subprocess.run([program], env=env, capture_output=True, text=True, timeout=120, **caller)


def test_does_nothing_in_a_program_with_more_rights_than_its_caller(program, place):
    for name in ("open", "private"):
        (place / name).mkdir()
    (place / "open").chmod(0o777)  # the caller may write here; only the program's owner may write in the other one
    (place / "private").chmod(0o700)
    caller = elevate(program)
    with_rights = {name: run(program, place / name / "run.json", caller) for name in ("open", "private")}
    program.chmod(0o755)
    without = run(program, place / "open" / "run.json", caller)

    assert [outcome.returncode for outcome in with_rights.values()] == [0, 0]
    if "elevated: yes" not in with_rights["open"].stdout:
        pytest.skip("set-user-ID programs get no rights here (a nosuid file system, or no_new_privs)")
    for name, outcome in with_rights.items():
        assert outcome.stderr == ""
        assert "code: untouched" in outcome.stdout and "WRONG" not in outcome.stdout
        assert name == "open" or list((place / name).iterdir()) == []

    # Without these rights, the libraries act in the same program.
    assert "elevated: no" in without.stdout and "code: patched" in without.stdout
    assert [path.name for path in (place / "open").iterdir()] == ["run.json"]
    assert (place / "open" / "run.json").stat().st_uid == caller.get("user", os.getuid())
    for word in ("dgemm", "NO_SUCH_SETTING", "placing memory at malloc has no effect"):
        assert word in without.stderr

"""The build says what is missing, and shows its progress."""

import os
import pty
import re
import shutil
import stat
import subprocess
from pathlib import Path

import offload
import pytest

NINJA = """#!/bin/sh
# In place of Ninja: builds nothing, in 40 steps.
case "$*" in *query*) exit 1 ;; esac
i=0
while [ $i -lt 40 ]; do i=$((i + 1)); echo "[$i/40] Building CXX object number $i of a name that is longer than the width of the terminal, $PWD"; done
[ ! -e fails ] || { echo "FAILED: number 41"; exit 1; }
"""


def configured(tmp_path: Path, *options: str) -> subprocess.CompletedProcess:
    if not shutil.which("cmake"):
        pytest.skip("no CMake here")
    # Nothing is found, since the search is limited to an empty directory.
    empty = [f"-DCMAKE_FIND_ROOT_PATH={tmp_path}/empty"]
    return subprocess.run(["cmake", "-S", offload.ROOT, "-B", tmp_path / "build", *empty, *options], capture_output=True, text=True)


def packages_of(done: subprocess.CompletedProcess) -> list[str]:
    assert done.returncode != 0
    return re.search(r"On Debian and Ubuntu:\s+apt-get install ([^\n]*)", done.stderr)[1].split()


def test_cmake_names_all_missing_packages_at_once(tmp_path):
    done = configured(tmp_path, "-DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY", "-DCMAKE_CXX_FLAGS=-nostdinc")
    listed = re.search(r"build\) cat <<END\n(.*?)\nEND", (offload.ROOT / "tools" / "install").read_text(), re.DOTALL)[1]
    expected = [line.split("|")[2] for line in listed.splitlines() if line.startswith("header_there")]
    assert packages_of(done) == expected and len(expected) == 5
    assert "fmt, a formatting library (Debian, Ubuntu: libfmt-dev)" in done.stderr


@pytest.mark.parametrize(("options", "package"), [([], "g++"), (["-GNinja", "-DCMAKE_CXX_COMPILER=c++"], "ninja-build")])
def test_cmake_names_missing_tools(tmp_path, options, package):
    env = os.environ.pop("CXX", None)
    try:
        assert packages_of(configured(tmp_path, "-DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=ONLY", *options)) == [package]
    finally:
        os.environ.update({} if env is None else {"CXX": env})


def git(folder: Path, *words: str) -> None:
    name = ("-c", "user.name=test", "-c", "user.email=test")
    subprocess.run(["git", "-C", folder, *name, *words], check=True, capture_output=True)


@pytest.mark.skipif(not shutil.which("git"), reason="no git here")
def test_the_build_id_names_the_last_commit_that_changed_the_sources(tmp_path):
    folder = tmp_path / "checkout"
    (folder / "tools").mkdir(parents=True)
    (folder / "src").mkdir()
    shutil.copy(offload.ROOT / "tools" / "build-id", folder / "tools")

    def commit(file: str) -> str:
        (folder / file).write_text(f"{file}\n")
        git(folder, "add", ".")
        git(folder, "commit", "-m", file)
        return asked()

    def asked() -> str:
        return subprocess.run([folder / "tools" / "build-id"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    git(tmp_path, "init")  # of something else, in which the sources lie
    assert asked() == "unknown"
    git(folder, "init")
    assert asked() == "unknown"
    first = commit("src/first")
    assert re.fullmatch(r"[0-9a-f]{12}", first)
    git(folder, "tag", "-a", "v1.2.3", "-m", "release")
    assert asked() == "v1.2.3"
    assert commit("page.md") == "v1.2.3"
    assert re.fullmatch(r"v1\.2\.3-2-g[0-9a-f]{12}", commit("src/second"))
    (folder / "src" / "first").write_text("changed\n")
    assert asked().endswith("-dirty")


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A configured checkout, and an environment in which nothing is really built."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "build").mkdir()
    (tmp_path / "bin").mkdir()
    shutil.copy(offload.ROOT / "tools" / "build", tmp_path / "tools" / "build")
    (tmp_path / "build" / "build.ninja").write_text("")
    ninja = tmp_path / "bin" / "ninja"
    ninja.write_text(NINJA)
    ninja.chmod(ninja.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def environment(checkout: Path) -> dict[str, str]:
    return os.environ | {"PATH": f"{checkout / 'bin'}:{os.environ['PATH']}"}


def test_progress_in_a_log_is_a_few_lines(checkout):
    done = subprocess.run([checkout / "tools" / "build", "library"], env=environment(checkout), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"building: {part} of 40" for part in (10, 20, 30, 40)]
    assert len((checkout / "build" / "build.log").read_text().splitlines()) == 40


def test_progress_on_a_terminal_is_one_line(checkout):
    ours, theirs = pty.openpty()
    done = subprocess.Popen([checkout / "tools" / "build", "library"], env=environment(checkout), stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:
        pass  # the other end is closed
    assert done.wait() == 0
    lines = shown.decode().split("\r\x1b[K")
    assert "\n" not in shown.decode() and lines[-1] == ""
    assert [line[:7] for line in lines[1:4]] == ["[1/40] ", "[2/40] ", "[3/40] "] and max(map(len, lines)) <= 80


def test_a_failure_is_shown_and_stays_one(checkout):
    (checkout / "fails").touch()
    done = subprocess.run([checkout / "tools" / "build", "library"], env=environment(checkout), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "FAILED: number 41\n")

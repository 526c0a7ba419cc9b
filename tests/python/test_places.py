"""Files and outputs that cannot be read or written, and locales without UTF-8: one clear line, never a traceback."""

import ast
import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import offload
import pytest
from blastoff.calibrate import model
from blastoff.command import main
from blastoff.errors import CommandError
from blastoff.job import reading
from blastoff.replay import machines
from command_rig import clean_environment

ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
TOO_LONG = "a" * 300
READERS = ["report {}", "report --compare {0} {0}", "advise {}", "memory {}", "predict {}", "top {}", "lab --from {}", "inspect {}"]


def calls_without_encoding(source: str) -> list[int]:
    """Lines of calls that would read or write text in the encoding of the locale."""
    found = []
    for call in [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]:
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        as_text = isinstance(named.get("text"), ast.Constant) and named["text"].value is True
        if (name in ("read_text", "write_text") or as_text) and "encoding" not in named:
            found.append(call.lineno)
    return found


def test_all_text_is_utf8():
    assert calls_without_encoding('path.read_text()\nrun(["ls"], text=True)\npath.read_text(encoding="utf-8")') == [1, 2]
    package = offload.ROOT / "python" / "blastoff"
    wrong = [f"{path}:{line}" for path in package.rglob("*.py") for line in calls_without_encoding(path.read_text(encoding="utf-8"))]
    assert wrong == []


def test_a_locale_without_utf8(blastoff, report, tmp_path):
    report["process"]["command_line"] = "./prögräm Å"
    report["routines"][0]["calls"] = report["totals"]["calls"] = 12345
    report["refusals"][0]["calls"] = 12325
    (tmp_path / "r.json").write_text(json.dumps(report, ensure_ascii=False), encoding="utf-8")
    done = blastoff("report", "r.json", "--html", "r.html", env=ASCII)
    assert done.returncode == 0, done.stderr
    assert "./prögräm Å" in (tmp_path / "r.html").read_text(encoding="utf-8")
    done = blastoff("report", "r.json", env=ASCII)
    assert done.returncode == 0 and "./pr?gr?m ?" in done.stdout, done.stderr
    assert "12 325" in done.stdout


PROGRAM = b"pr\xf6gr\xe4m"
IN_LATIN_1 = """
import sys
from blastoff.command import main
for line in sys.stdin.read().splitlines():
    try:
        print("status", main(line.split()), line, file=sys.stderr)
    except SystemExit as end:
        print("status", end.code, line, file=sys.stderr)
"""
ALL_VERBS = """
report r.json
report r.json --html r.html --csv r.csv --chrome-trace c.json
report --json r.json
report --compare r.json r.json
advise r.json
memory r.memory.json
memory r.memory.json --html m.html --csv m.csv
predict t.trace
predict t.trace --html p.html
predict --json t.trace
predict --job must-lsms --nodes 25,50 --html s.html
site .
site --json .
lab --from lab/lab.json --output l
env
completion bash
run --help
help --man run
inspect ./prögräm
"""


@pytest.fixture
def latin_1(tmp_path) -> dict[str, str]:
    """The variables of a locale whose encoding is ISO-8859-1."""
    made = subprocess.run(["localedef", "-c", "-i", "POSIX", "-f", "ISO-8859-1", tmp_path / "xx_XX.iso88591"], stderr=subprocess.PIPE, text=True)
    if "cannot open" in made.stderr or "not found" in made.stderr:
        pytest.skip(f"no locale can be made here: {made.stderr.splitlines()[0]}")
    return {"LOCPATH": str(tmp_path), "LC_ALL": "xx_XX.ISO-8859-1", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.skipif(shutil.which("localedef") is None, reason="no localedef here")
def test_a_locale_with_another_encoding(latin_1, tmp_path):
    """A program with a name in that encoding is run there, and each command reads what that has left, and writes text and pages."""
    subprocess.run(["gcc", Path(__file__).parent / "pages" / "scf.c", "-o", os.fsencode(tmp_path) + b"/" + PROGRAM, "-lblas"], check=True)
    (tmp_path / "lab").mkdir()
    shutil.copy(offload.ROOT / "bench" / "results" / "h200-2026-11-23-lab.json", tmp_path / "lab" / "lab.json")
    options = {"cwd": tmp_path, "env": clean_environment() | latin_1, "capture_output": True}
    asked = ["--device=none", "--memory", "--report=r.json", "--trace=t.trace"]
    run = subprocess.run([sys.executable, "-m", "blastoff", "run", *asked, b"./" + PROGRAM, "größe→".encode()], **options)
    assert run.returncode == 0, run.stderr
    done = subprocess.run([sys.executable, "-c", IN_LATIN_1], input=ALL_VERBS.strip().encode("iso-8859-1"), **options)
    assert done.returncode == 0, done.stderr.decode("iso-8859-1")
    said = [line for line in done.stderr.decode("iso-8859-1").splitlines() if line.startswith("status ")]
    assert said == [f"status 0 {line}" for line in ALL_VERBS.strip().splitlines()], done.stderr.decode("iso-8859-1")
    for page in ("r.html", "m.html", "p.html", "s.html", "l/lab.html"):
        assert "<html" in (tmp_path / page).read_text(encoding="utf-8")
    assert "größe→" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "größe?" in done.stdout.decode("iso-8859-1")


@pytest.mark.parametrize("words", ["report r.json", "report r.json --csv -", "run --help", "--version"])
def test_an_output_that_is_full(words, report, tmp_path):
    (tmp_path / "r.json").write_text(json.dumps(report))
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "blastoff", *words.split()]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=clean_environment())
    assert (done.returncode, done.stderr) == (1, "blastoff: standard output: No space left on device\n")


@pytest.mark.parametrize("words", READERS)
def test_a_name_that_cannot_be(words, capsys):
    assert main(words.format(TOO_LONG).split()) in (2, 127)
    said = capsys.readouterr().err
    assert said.startswith("blastoff: ") and said.count("\n") == 1
    assert "File name too long" in said or "no such program" in said


@pytest.mark.parametrize("words", [words for words in READERS if words.split()[0] in ("report", "advise", "memory", "top")])
def test_a_directory_that_cannot_be_read(words, tmp_path, monkeypatch, capsys):
    def refuse(path="."):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(os, "listdir", refuse)
    assert main(words.format(tmp_path).split()) == 2
    assert capsys.readouterr().err == f"blastoff: {tmp_path}: Permission denied\n"


def test_one_damaged_report_of_many(report, write, tmp_path, capsys):
    first, second, third = write(report, json.dumps(report)[:300], {"other": 1})
    assert len(reading.read_job([str(tmp_path)]).processes) == 1
    said = capsys.readouterr().err.splitlines()
    assert [line.split(" is not")[0] for line in said] == [f"blastoff: left out: {second}", f"blastoff: left out: {third}"]
    assert main(["report", first, second, third]) == 0
    assert main(["report", second]) == 2
    assert main(["report", first, str(Path(tmp_path) / "missing.json")]) == 2


@pytest.mark.parametrize("option", ["--report=r.json", "--trace=t.trace", "--log=calls=l.txt"])
def test_a_directory_that_has_been_deleted(blastoff, tmp_path, option):
    """A relative path means nothing there: the file would come to the root directory."""
    gone = tmp_path / "gone"
    gone.mkdir()
    line = f"rmdir ../gone && {sys.executable} -m blastoff run --device=none {option} true"
    done = subprocess.run(["sh", "-c", line], cwd=gone, env=clean_environment(), capture_output=True, text=True)
    path = option.rpartition("=")[2]
    assert (done.returncode, done.stderr) == (2, f"blastoff: {path}: the current directory has been deleted; give the full path\n")


def test_a_pipe_is_not_replaced_by_a_file(blastoff, tmp_path):
    """A device neither: root could replace /dev/null."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for words in (["run", f"--trace={pipe}", "true"], ["calibrate", f"--output={pipe}"]):
        done = blastoff(*words)
        assert done.returncode == 2 and str(pipe) in done.stderr and done.stderr.count("\n") == 1
    traced = [sys.executable, "-c", "import numpy; a = numpy.ones((200, 200)); a @ a"]
    preloaded = {"LD_PRELOAD": str(offload.LIBRARY), "BLASTOFF_TRACE": str(pipe), "BLASTOFF_DEVICE": "none", "BLASTOFF_SUMMARY": "never"}
    done = subprocess.run(traced, env=clean_environment() | preloaded, capture_output=True, text=True)
    assert done.returncode == 0 and f"cannot write a trace to {pipe}" in done.stderr
    blastoff("run", "--device=none", "--memory", f"--report={pipe}", "--", *traced)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"] and pipe.is_fifo()


def test_a_user_without_a_home(monkeypatch):
    """As in a container with a user id that nobody has."""
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert "h200-pcie5" in machines.known()
    with pytest.raises(CommandError, match="neither HOME nor XDG_CACHE_HOME names a folder"):
        model.place("cuda", "H200", system=False)


def test_top_of_another_directory(tmp_path, capsys):
    assert main(["top", str(tmp_path)]) == 2
    assert "is not the directory of a run" in capsys.readouterr().err


def test_a_wheel_without_its_packages(tmp_path):
    done = subprocess.run([sys.executable, "-S", offload.ROOT / "tools" / "wheel", tmp_path], capture_output=True, text=True)
    assert done.returncode == 1 and "lacks pip, wheel, pyelftools" in done.stderr and done.stderr.count("\n") == 1


def test_a_home_that_cannot_be_read(monkeypatch, tmp_path):
    """After `su`, HOME may be somebody else's. The machines that came with Blastoff are still known."""

    def closed(folder: Path):
        if str(folder).startswith(str(tmp_path)):
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return real(folder)

    real = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", closed)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert machines.find("h200").label == "h200-pcie5"

"""Names of programs, places, routines and devices reach the terminal as plain text, and JSON as they are."""

import json
import os
import subprocess
import sys

import offload
import pytest
from blastoff import printable
from blastoff.job.schema import report_schema
from command_rig import clean_environment

EVIL = "\x1b]0;owned\x07\x1b[2J\r\n\u202e\x9b31m"
PLAIN = printable.printable(EVIL)


def is_plain(text: str) -> bool:
    return "owned" in text and not printable.UNPRINTABLE.search(text.replace("\n", ""))


@pytest.fixture
def evil(report) -> dict:
    """A report in which all names that others can choose contain control characters."""
    report["process"] |= {"program": EVIL, "command_line": EVIL, "host": EVIL}
    report["device"] |= {"name": EVIL, "software": EVIL, "state": EVIL, "model": EVIL}
    report["policy"]["reason"] = EVIL
    report["routines"][0]["name"] = EVIL
    report["refusals"][0]["reason"] = EVIL
    where = {"object": EVIL, "offset": 16, "python": f"{EVIL}:12 in {EVIL}", "threads": 1, "mean_size": 10.0, "refusals": report["refusals"]}
    counters = dict.fromkeys(report_schema()["$defs"]["sums"]["properties"], 0)
    report["call_sites"] = [{"routine": EVIL, **where, **counters, **report["totals"]}]
    return report


def test_what_is_plain():
    assert PLAIN == "?]0;owned??[2J????31m"
    assert printable.printable("Übung 計算 \U0001f680") == "Übung 計算 \U0001f680"
    assert printable.printable(os.fsdecode(b"\xff\x9b")) == "??"
    assert printable.lines("a\x1b\nb") == "a?\nb"
    assert printable.values({EVIL: [EVIL, 1, None]}) == {PLAIN: [PLAIN, 1, None]}


@pytest.mark.parametrize("words", [["report"], ["advise"]])
def test_reports(blastoff, write, evil, words):
    done = blastoff(*words, *write(evil))
    assert done.returncode == 0, done.stderr
    assert is_plain(done.stdout) or words == ["advise"]
    assert not printable.UNPRINTABLE.search(done.stdout.replace("\n", ""))


def test_comparisons(blastoff, write, evil):
    done = blastoff("report", "--compare", *write(evil, evil))
    assert done.returncode == 0 and is_plain(done.stdout), done.stdout


def test_json_and_pages_keep_the_truth(blastoff, write, evil, tmp_path):
    paths = write(evil)
    assert EVIL in [site["routine"] for site in json.loads(blastoff("report", "--json", *paths).stdout)["call_sites"]]
    evil["process"]["command_line"] = "<script>alert(1)</script>"
    assert blastoff("report", *write(evil), "--html", tmp_path / "page.html").returncode == 0
    assert "<script>alert(1)" not in (tmp_path / "page.html").read_text()


def test_errors(blastoff):
    done = blastoff("report", f"/no/such/{EVIL}")
    assert done.returncode == 2 and is_plain(done.stderr), done.stderr


@pytest.mark.skipif(not (offload.PROGRAMS / "products").exists(), reason="the scenario programs are not built: no BLAS to link against")
@pytest.mark.parametrize("launcher", [True, False])
def test_a_run(blastoff, tmp_path, launcher):
    """The summaries of the launcher and of the process itself."""
    name = EVIL.replace("/", "")
    program = tmp_path / name
    program.symlink_to(offload.PROGRAMS / "products")
    env = {"LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS)}
    settings = {"BLASTOFF_DEVICE": "simulated", "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_SUMMARY": "always", "BLASTOFF_LOG": "calls"}
    if launcher:
        done = blastoff("run", program, "40", env=env | settings)
        looked = blastoff("inspect", program, env=env)
        assert not printable.UNPRINTABLE.search(looked.stdout.replace("\n", ""))
    else:
        environment = clean_environment() | env | settings | {"LD_PRELOAD": str(offload.LIBRARY)}
        done = subprocess.run([program, "40"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and is_plain(done.stderr), done.stderr


@pytest.mark.skipif(not (offload.PROGRAMS / "products").exists(), reason="the scenario programs are not built: no BLAS to link against")
def test_a_path_need_not_be_utf_8(tmp_path):
    """The report lies at the user's path."""
    folder = os.fsencode(tmp_path) + b"/d\xfe"
    path, trace, program = folder + b"/r\xff.json", folder + b"/\xfd.trace", os.fsencode(tmp_path) + b"/p\xfc"
    os.symlink(offload.PROGRAMS / "products", program)
    environment = clean_environment() | {"LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS)}

    def blastoff(*words: str | bytes) -> bytes:
        done = subprocess.run([sys.executable, "-m", "blastoff", *words], env=environment, capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    blastoff("run", "--device=none", "--memory", b"--report=" + path, b"--trace=" + trace, "--", program, "40")
    assert sorted(os.listdir(folder)) == [b"r\xff.json", b"r\xff.memory.json", b"\xfd.trace"]
    assert json.loads(blastoff("report", "--json", path))["totals"]["calls"] == 6
    assert b"p\xef\xbf\xbd" in blastoff("memory", path)
    assert json.loads(blastoff("predict", "--json", "--machine=h200", trace))["machines"][0]["traced_seconds"] > 0

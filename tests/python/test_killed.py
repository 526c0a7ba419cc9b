"""BLASTOFF_REPORT without the launcher: the counters that a killed process leaves beside its report."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import jsonschema
import offload
import pytest
from blastoff.job.schema import report_schema
from command_rig import clean_environment

PRODUCTS = str(offload.PROGRAMS / "products")

pytestmark = pytest.mark.skipif(not os.path.exists(PRODUCTS), reason="the scenario programs are not built: no BLAS to link against")

CALLS = """
import ctypes, os, signal, sys, time
blas = ctypes.CDLL("libblas.so.3")
def call(times=1, n=8, depth=None):
    matrices = [(ctypes.c_double * (n * n))() for _ in range(3)]
    size, one = ctypes.byref(ctypes.c_int(n)), ctypes.byref(ctypes.c_double(1))
    k = size if depth is None else ctypes.byref(ctypes.c_int(depth))
    for _ in range(times):
        blas.dgemm_(b"N", b"N", size, size, k, one, matrices[0], size, matrices[1], size, one, matrices[2], size)
def kill():
    os.kill(os.getpid(), signal.SIGKILL)
"""


REMOTE = {"6969", "517b", "ff534d42", "fe534d42", "1021997", "65735546", "5346414f", "73757245"}
"""Types of file systems (statfs(2)) on which no counters are kept."""


@pytest.fixture(autouse=True)
def kept(tmp_path):
    kind = subprocess.run(["stat", "-f", "-c", "%t", str(tmp_path)], capture_output=True, text=True).stdout.strip()
    if kind in REMOTE:
        pytest.skip("the temporary directory is on a file system on which nothing is kept")


@pytest.fixture
def run(tmp_path):
    """Runs a script of calls with the library preloaded. `report`: a path below the test's directory."""

    def run(body: str, report: str = "run.json", status: int = 0, **variables: str) -> subprocess.CompletedProcess:
        script = tmp_path / "script.py"
        script.write_text(CALLS + body)
        environment = clean_environment() | {
            "LD_PRELOAD": str(offload.LIBRARY),
            "LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS),
            "BLASTOFF_REPORT": f"{tmp_path}/{report}",
            "BLASTOFF_DEVICE": "none",
            "BLASTOFF_SUMMARY": "never",
        }
        done = subprocess.run([sys.executable, str(script)], env=environment | variables, capture_output=True, text=True, timeout=60)
        assert done.returncode == status, done.stderr
        return done

    return run


def calls(blastoff, *paths) -> int:
    done = blastoff("report", "--json", *paths)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["totals"]["calls"]


def test_a_killed_process_can_be_reported(blastoff, run, tmp_path):
    run("call(5); call(1, 400); kill()", status=-signal.SIGKILL)
    assert not (tmp_path / "run.json").exists() and (tmp_path / "run.json.counters").is_dir()
    assert (tmp_path / "run.json.counters").stat().st_mode & 0o777 == 0o700
    done = blastoff("report", "run.json")
    assert done.returncode == 0, done.stderr
    row = next(line.split() for line in done.stdout.splitlines() if line.split()[:1] == ["dgemm"])
    assert row[1] == "6"
    assert "ended without exit or were killed" in done.stdout and "script.py" in done.stdout
    assert calls(blastoff, "run.json.counters") == 6
    assert calls(blastoff, ".") == 6, "the directory in which the report would be"


def test_a_program_of_its_own_too(blastoff, tmp_path):
    """A C program on the simulated device, which is killed while it computes."""
    environment = clean_environment() | {"LD_PRELOAD": str(offload.LIBRARY), "LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS)}
    environment |= {"BLASTOFF_REPORT": f"{tmp_path}/p.json", "BLASTOFF_DEVICE": "simulated", "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_DECIDE": "size"}
    done = subprocess.run([offload.PROGRAMS / "process", "kill"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL
    (process,) = json.loads(blastoff("report", "--json", "p.json").stdout)["processes"]
    assert process["ended"] == "_exit or signal"
    assert "simulated" in blastoff("report", "p.json").stdout


COUNTED = """
import json, pathlib
def counted_of_devices():
    (kept,) = pathlib.Path(os.environ["BLASTOFF_REPORT"] + ".counters").glob("*.json")
    return sum(device["calls"] for device in json.loads(kept.read_text())["devices"])
"""


def test_what_devices_did_is_kept_now_and_then(blastoff, run):
    """Counts of devices are kept once a second if that costs little, and less often on a busy machine."""
    settings = {"BLASTOFF_DEVICE": "simulated:0,1", "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_DECIDE": "size", "BLASTOFF_SPLIT": "never"}
    body = COUNTED + "call(3, 100)\nwhile counted_of_devices() < 4:\n    time.sleep(0.1)\n    call(1, 100)\nkill()"
    run(body, status=-signal.SIGKILL, **settings)
    described = blastoff("report", "run.json").stdout
    assert sum(map(int, re.findall(r"^\W*[01]: (\d+) calls", described, re.MULTILINE))) >= 4, described


def test_an_end_by_exit_leaves_the_report_alone(blastoff, run, tmp_path):
    run("call(5)")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json", "script.py"]
    jsonschema.validate(json.loads((tmp_path / "run.json").read_text()), report_schema())
    assert calls(blastoff, "run.json") == 5


def test_a_process_without_calls_leaves_nothing(run, tmp_path):
    run("kill()", status=-signal.SIGKILL)
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


def test_children_that_do_not_end_by_exit(blastoff, run, tmp_path):
    """The children count beside their parent's report, which does not include them."""
    run("""
call(5)
for end in (lambda: os._exit(0), kill):
    if os.fork() == 0:
        call(7)
        end()
    os.wait()
call(1)
""")
    assert calls(blastoff, "run.json") == 6 + 7 + 7
    assert json.loads((tmp_path / "run.json").read_text())["totals"]["calls"] == 6
    assert calls(blastoff, tmp_path) == 20
    assert calls(blastoff, *tmp_path.glob("run.json*")) == 20, "as a shell gives them"


def test_what_a_process_did_before_exec(blastoff, run):
    run(f"call(5); os.execv('{PRODUCTS}', ['{PRODUCTS}', '40'])")
    assert calls(blastoff, "run.json") == 5 + 6


def test_the_first_call_may_have_nothing_to_compute(blastoff, run):
    """It counts like all later calls."""
    run("call(depth=0); call(5); kill()", status=-signal.SIGKILL)
    assert calls(blastoff, "run.json") == 6


def test_a_file_of_somebody_elses_stays(blastoff, run, tmp_path):
    run("call(5); kill()", status=-signal.SIGKILL)
    (tmp_path / "run.json.counters" / "notes.txt").write_text("mine")
    run("call(3)")
    assert calls(blastoff, "run.json") == 3
    assert [path.name for path in (tmp_path / "run.json.counters").iterdir()] == ["notes.txt"]


def test_what_an_earlier_run_left_goes(blastoff, run, tmp_path):
    run("call(5); kill()", status=-signal.SIGKILL)
    run("call(3)")
    assert calls(blastoff, "run.json") == 3 and not (tmp_path / "run.json.counters").exists()
    run("call(2); kill()", status=-signal.SIGKILL)
    run("call(4); kill()", status=-signal.SIGKILL)
    (tmp_path / "run.json").unlink()
    assert calls(blastoff, "run.json") == 4


def test_a_report_of_an_earlier_run_does_not_count(blastoff, run):
    run("call(3)")
    run("call(5); kill()", status=-signal.SIGKILL)
    assert calls(blastoff, "run.json") == 5


def test_a_directory_of_reports(blastoff, run, tmp_path):
    (tmp_path / "reports").mkdir()
    run("call(5); kill()", "reports/", status=-signal.SIGKILL)
    run("call(3)", "reports/")
    run("call(2)", "reports/%p.json")
    assert len(list((tmp_path / "reports").glob("*.json"))) == 2
    assert calls(blastoff, "reports") == 10


def test_what_a_run_on_another_host_left_does_not_count(blastoff, run, tmp_path):
    """It stays, since this host cannot know whether it has ended."""
    run("call(5); kill()", status=-signal.SIGKILL)
    (description,) = (tmp_path / "run.json.counters").glob("*.json")
    description.write_text(description.read_text().replace(f'"host": "{os.uname().nodename}"', '"host": "elsewhere"'))
    run("call(3)")
    assert description.exists() and calls(blastoff, "run.json") == 3
    (tmp_path / "run.json").unlink()
    assert calls(blastoff, "run.json") == 5
    run("call(4); kill()", status=-signal.SIGKILL)
    assert calls(blastoff, "run.json") == 4, "the latest run's"


def test_while_it_runs(blastoff, tmp_path):
    """Counters exist from the first call on."""
    script = tmp_path / "script.py"
    script.write_text(CALLS + "call(5)\nprint(flush=True)\ntime.sleep(60)")
    environment = clean_environment() | {"LD_PRELOAD": str(offload.LIBRARY), "LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS)}
    environment |= {"BLASTOFF_REPORT": f"{tmp_path}/run.json", "BLASTOFF_DEVICE": "none", "BLASTOFF_SUMMARY": "never"}
    process = subprocess.Popen([sys.executable, str(script)], env=environment, stdout=subprocess.PIPE)
    process.stdout.readline()
    try:
        assert "were still running" in blastoff("report", "run.json").stdout
    finally:
        process.kill()
        process.wait()
    assert calls(blastoff, "run.json") == 5


def test_a_killed_process_has_ended_when_it_last_counted(blastoff, run):
    """Its end is neither the time when its counters were made, nor the time when somebody reads them."""
    run("call(1, 400); time.sleep(1.5); call(1, 400); kill()", status=-signal.SIGKILL)
    time.sleep(1)
    (process,) = json.loads(blastoff("report", "--json", "run.json").stdout)["processes"]
    (later,) = json.loads(blastoff("report", "--json", "run.json").stdout)["processes"]
    assert process["elapsed_seconds"] == later["elapsed_seconds"] > 1.5


def test_a_directory_that_others_can_read_is_not_used(run, tmp_path):
    (tmp_path / "run.json.counters").mkdir(mode=0o755)
    run("call(5)")
    assert (tmp_path / "run.json").exists() and list((tmp_path / "run.json.counters").iterdir()) == []


def test_a_report_on_standard_output_has_nothing_beside_it(run, tmp_path):
    done = run("call(5)", BLASTOFF_REPORT="-")
    assert json.loads(done.stdout)["totals"]["calls"] == 5 and [path.name for path in tmp_path.iterdir()] == ["script.py"]

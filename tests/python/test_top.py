"""`blastoff top` against running programs."""

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time

import offload
import pytest
from blastoff.errors import CommandError
from blastoff.job import runs
from blastoff.top.command import chosen
from command_rig import clean_environment
from test_ends import CALLS

BUSY = CALLS + "print(os.getpid(), flush=True)\nwhile True: call(64, 10)\n"


@pytest.fixture
def busy(tmp_path):
    """A run that calls BLAS until the test is over. Yields its environment and its process id."""
    (tmp_path / "busy.py").write_text(BUSY)
    place = tmp_path / "place"
    place.mkdir()
    env = clean_environment() | {"XDG_RUNTIME_DIR": str(place), "LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS)}
    command = [sys.executable, "-m", "blastoff", "run", "--device=none", "--summary=never", sys.executable, str(tmp_path / "busy.py")]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        yield env, int(process.stdout.readline())
        process.terminate()
    assert list(place.iterdir()) == []


def test_a_running_process(blastoff, busy, tmp_path):
    env, pid = busy
    (run,) = (tmp_path / "place").iterdir()
    for words in (["--pid", pid], [run]):
        done = blastoff("top", "--once", "--json", "--interval=0.3", *words, env=env)
        assert done.returncode == 0, done.stderr
        (look,) = [json.loads(line) for line in done.stdout.splitlines()]
        assert look["run"] == str(run) and look["running"] == 1
        (process,) = look["processes"]
        assert (process["pid"], process["ended"], process["rank"]) == (pid, "running", None)
        (routine,) = look["routines"]
        assert routine["name"] == "dgemm" and routine["calls"] == process["calls"] > 0
        assert routine["flops_per_second"] > 1e6 and look["totals"]["offloaded_share"] == 0
        assert look["refusals"][0]["calls"] > 0


def test_it_is_readable(blastoff, busy):
    env, pid = busy
    done = blastoff("top", "--once", "--interval=0.3", "--pid", pid, env=env)
    assert "1 running" in done.stdout and "dgemm" in done.stdout and "FLOP/s" in done.stdout
    assert "average size below the threshold" in done.stdout
    assert "\x1b" not in done.stdout


def test_results_that_stay_are_told(blastoff, tmp_path):
    program = offload.PROGRAMS / "results_life"
    if not program.exists():
        pytest.skip("the scenario programs are not built: no BLAS to link against")
    options = ["--device=simulated", "--results=stay", "--decide=size", "--min-size=0", "--verify=off", "--summary=never"]
    env = clean_environment() | {"XDG_RUNTIME_DIR": str(tmp_path), "LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS), "BLASTOFF_START": "now"}
    command = [sys.executable, "-m", "blastoff", "run", *options, str(program), "sleep", str(tmp_path / "file")]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "computed\n"
        look_at = ["top", "--once", "--interval=0.1", "--pid", process.pid]  # runs of other tests may be newer
        looks = [blastoff(*look_at, *words, env=env).stdout for words in ([], ["--json"])]
        process.terminate()
    look = json.loads(looks[1])
    if look["totals"]["bytes_left"] == 0:
        pytest.skip("no result stays here")
    assert "1.77 MB of results stayed on the device: 1.77 MB never came home (1.47 MB were computed anew there), 0 came home" in looks[0]
    assert look["results"] == {"bytes_overwritten": 5 * 192 * 192 * 8, "bytes_touched": 0, "bytes_brought_home": 0}


def test_a_line_for_each_look_until_the_run_ends(busy, tmp_path):
    env, pid = busy
    command = [sys.executable, "-m", "blastoff", "top", "--interval=0.2", "--pid", str(pid)]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline() for _ in range(3)]
        os.kill(pid, 15)
        process.communicate(timeout=20)
        assert process.returncode == 0
    assert all("1 running" in line and "now" in line for line in lines), lines


def test_a_terminal_is_refreshed_in_place(busy):
    env, busy_pid = busy
    pid, terminal = pty.fork()
    if pid == 0:
        command = [sys.executable, "-m", "blastoff", "top", "--interval=0.2", "--pid", str(busy_pid)]
        os.execve(command[0], command, env | {"COLUMNS": "100", "LINES": "30"})
    seen = b""
    deadline = time.monotonic() + 20
    while seen.count(b"\x1b[H") < 2 and select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
        seen += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    ended, status = os.waitpid(pid, os.WNOHANG)
    while not ended and time.monotonic() < deadline:
        time.sleep(0.05)
        ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert ended and os.waitstatus_to_exitcode(status) == 0
    assert seen.count(b"\x1b[H") >= 2 and b"dgemm" in seen


def test_no_run(blastoff, tmp_path, monkeypatch):
    for words, said in ((["/no/such/run"], "/no/such/run: no such run"), (["--pid", os.getpid()], "belongs to no run")):
        done = blastoff("top", *words)
        assert done.returncode == 2 and said in done.stderr
    monkeypatch.setattr(runs, "bases", lambda: [tmp_path])
    with pytest.raises(CommandError, match="no run of blastoff on this machine"):
        chosen(None, None)


def test_the_latest_run_that_goes_on_is_shown(busy, tmp_path, monkeypatch):
    """Only runs in this test's place count, since other tests may run programs at the same time."""
    monkeypatch.setattr(runs, "bases", lambda: [tmp_path / "place"])
    (run,) = runs.find()
    over = tmp_path / "place" / f"{runs.prefix()}over"
    over.mkdir(mode=0o700)
    (over / "1-2-3.counters").write_bytes(b"")
    later = time.time() + 60  # later than all files that the busy run makes before its first calls
    os.utime(over, (later, later))
    assert runs.find()[0] == over
    assert chosen(None, None) == run
    shutil.rmtree(over)


def test_a_file_of_another_version_is_left_out(busy, tmp_path, blastoff):
    env, _ = busy
    (run,) = (tmp_path / "place").iterdir()
    (run / f"1-2-3-{runs.namespace_of('self')}.counters").write_bytes(b"BLASTOFF" + bytes(8000))
    done = blastoff("top", "--once", "--json", "--interval=0.1", run, env=env)
    assert len(json.loads(done.stdout)["processes"]) == 1

"""`blastoff run` reports all calls, however a program and its children end."""

import contextlib
import importlib.util
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import offload
import pytest
from blastoff.job import runs
from command_rig import clean_environment

PRODUCTS = str(offload.PROGRAMS / "products")
DISK_PREFIX = f"blastoff-disk.{os.getuid()}.{os.uname().nodename}."
PROCESS = str(offload.PROGRAMS / "process")
SIMULATED = ["--device=simulated", "--min-size=0"]

pytestmark = pytest.mark.skipif(not os.path.exists(PRODUCTS), reason="the scenario programs are not built: no BLAS to link against")

# The code of each worker and each thread. ctypes calls the BLAS without NumPy. The matrices stay until the next call.
CALLS = """
import ctypes, multiprocessing, os, signal, subprocess, sys, threading, time
blas = ctypes.CDLL("libblas.so.3")
def call(n=8, times=1, _=None):
    global kept
    kept = matrices = [(ctypes.c_double * (n * n))() for _ in range(3)]
    size, one = ctypes.byref(ctypes.c_int(n)), ctypes.byref(ctypes.c_double(1))
    for _ in range(times):
        blas.dgemm_(b"N", b"N", size, size, size, one, matrices[0], size, matrices[1], size, one, matrices[2], size)
"""


@pytest.fixture
def script(tmp_path):
    def write(body: str) -> list[str]:
        path = tmp_path / "script.py"
        path.write_text(CALLS + body)
        return [sys.executable, str(path)]

    return write


@pytest.fixture
def place(tmp_path):
    """A separate place for run directories, which must be empty after the test."""
    directory, disk = tmp_path / "place", tmp_path / "disk"
    directory.mkdir()
    disk.mkdir()
    yield {"XDG_RUNTIME_DIR": str(directory), "TMPDIR": str(disk), "LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS)}
    assert [path for path in (*directory.iterdir(), *disk.iterdir()) if path.name.startswith("blastoff")] == []


@pytest.fixture(autouse=True)
def hang_ups():
    """Programs must not inherit that SIGHUP is ignored, as it is if the tests run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def reports(directory) -> list[dict]:
    """The reports in the directory, those with most calls first."""
    found = [json.loads(path.read_text()) for path in directory.glob("*.json")]
    return sorted(found, key=lambda report: -report["totals"]["calls"])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_pool_are_counted(blastoff, script, place, tmp_path, method):
    body = f"""
if __name__ == "__main__":
    call()
    with multiprocessing.get_context("{method}").Pool(3) as pool:
        pool.starmap(call, [(8, 100)] * 30, chunksize=1)
"""
    done = blastoff("run", "--device=none", f"--report={tmp_path}/out/", "--", *script(body), env=place)
    assert done.returncode == 0, done.stderr
    total = next(line for line in done.stderr.splitlines() if line.split()[:1] == ["dgemm"])
    assert total.split()[1] == "3001", done.stderr
    found = reports(tmp_path / "out")
    assert sum(report["totals"]["calls"] for report in found) == 3001
    assert sorted(report["process"]["ended"] for report in found) == ["_exit or signal"] * (len(found) - 1) + ["exit"]


# Several kinds of pools, whose workers end in different ways.
POOLS = {
    **{
        method: f"with multiprocessing.get_context('{method}').Pool(3) as pool:\n        pool.starmap(call, [(8, 1)] * 30, chunksize=1)"
        for method in ("fork", "spawn", "forkserver")
    },
    "loky": "import joblib, script\n    joblib.Parallel(3, batch_size=1)(joblib.delayed(script.call)(8, 1) for _ in range(30))",
}
SHORT_PATHS = {"TMPDIR": "/tmp"}  # the path of the fork server's socket has at most some hundred characters


def totals(paths) -> list[int]:
    return [json.loads(path.read_text())["totals"]["calls"] for path in paths]


@pytest.mark.parametrize("method", POOLS)
def test_each_worker_has_its_report_at_a_path_without_its_id(blastoff, script, place, tmp_path, method):
    """This holds even if the parent makes no call and so has written no description."""
    if method == "loky" and importlib.util.find_spec("joblib") is None:
        pytest.skip("joblib is not installed")
    body = f"if __name__ == '__main__':\n    {POOLS[method]}"
    done = blastoff("run", "--device=none", "--summary=always", f"--report={tmp_path}/r.json", "--", *script(body), env=place | SHORT_PATHS)
    assert done.returncode == 0, done.stderr
    total = next(line for line in done.stderr.splitlines() if line.split()[:1] == ["dgemm"])
    assert total.split()[1] == "30" and sum(totals(tmp_path.glob("r*.json"))) == 30, done.stderr
    assert (tmp_path / "r.json").exists()


def test_children_of_children_and_those_that_are_killed_have_reports(blastoff, script, place, tmp_path):
    """No report replaces another one."""
    body = """
def child(work):
    if os.fork() == 0:
        work()
        os._exit(0)
    os.wait()
def killed():
    call(8, 2)
    os.kill(os.getpid(), signal.SIGKILL)
def nested():
    call(8, 4)
    child(killed)
    child(lambda: call(8, 8))
child(killed)
child(nested)
child(lambda: child(lambda: call(8, 16)))
"""
    done = blastoff("run", "--device=none", f"--report={tmp_path}/r.json", "--", *script(body), env=place)
    assert done.returncode == 0, done.stderr
    assert sorted(totals(tmp_path.glob("r*.json"))) == [2, 2, 4, 8, 16]
    assert "32 calls" in done.stderr


def test_a_process_that_outlives_the_run_has_a_report(blastoff, script, place, tmp_path):
    """The launcher writes the report, and the process replaces it when it ends."""
    lasting = tmp_path / "lasting"
    os.mkfifo(lasting)
    body = f"""
call(8, 3)
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    call(8, 5)
    os.write(writing, b"x")
    os.close(2), os.close(1), os.close(0)
    open("{lasting}").read()
    call(8, 2)
    sys.exit(0)
os.read(reading, 1)
"""
    done = blastoff("run", "--device=none", f"--report={tmp_path}/r.json", "--", *script(body), env=place)
    assert done.returncode == 0 and "8 calls" in done.stderr, done.stderr
    assert sorted(totals(tmp_path.glob("r*.json"))) == [3, 5]
    (running,) = [path for path in tmp_path.glob("r*.json") if json.loads(path.read_text())["process"]["ended"] == "running"]
    daemon = json.loads(running.read_text())["process"]["pid"]
    lasting.write_text("")
    wait_until(lambda: runs.started_after(daemon) is None)
    assert sorted(totals(tmp_path.glob("r*.json"))) == [3, 7]


def wait_until(true) -> None:
    """Waits for something that must happen."""
    deadline = time.monotonic() + 60
    while not true() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert true()


MANY_CHILDREN = """
import pathlib, stat
def child():
    if os.fork() == 0:
        call()
        os._exit(0)
    os.wait()
place = pathlib.Path(os.environ["BLASTOFF_RUN_DIRECTORY"])
def blocks(path):
    try:
        return path.lstat().st_blocks
    except FileNotFoundError:  # the launcher has just folded it
        return 0
def taken():
    return sum(512 * blocks(path) for path in place.iterdir())
def files():
    return [path for path in (*place.glob("*.counters"), *(place / "disk").glob("*.counters"))]
"""


@pytest.mark.parametrize("report", [[], ["--report=reports/"]])
def test_processes_that_have_ended_are_folded(blastoff, script, place, tmp_path, report):
    """They are folded while the program runs, so that any number of children takes no more room than a few."""
    body = f"""{MANY_CHILDREN}
most = 0
for _ in range(60):
    child()
    most = max(most, taken())
deadline = time.monotonic() + 60
while len(files()) > 32 and time.monotonic() < deadline:
    time.sleep(0.005)
print(most, len(files()))
"""
    done = blastoff("run", "--device=none", "--summary=always", *report, "--", *script(body), env=place)
    assert done.returncode == 0, done.stderr
    most, left = map(int, done.stdout.split())
    assert 0 < most < 1 << 20 and left <= 32, "as many as may lie there"
    total = next(line for line in done.stderr.splitlines() if line.split()[:1] == ["dgemm"])
    assert total.split()[1] == "60" and "60 processes: ended without exit" in done.stderr
    if report:
        assert totals((tmp_path / "reports").glob("*.json")) == [1] * 60


CROWD = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*, const double*, const int*,
            const double*, double*, const int*);
static void call(void) {
  static double a[64];
  const int n = 8;
  const double one = 1;
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &one, a, &n);
}
int main(int count, char** words) {
  const int children = atoi(words[1]);
  int ready[2], leave[2], status = 0, failed = 0;
  char byte;
  if (count < 3 || pipe(ready) || pipe(leave)) return 2;
  for (int i = 0; i < children; ++i) {
    const pid_t child = fork();
    if (child < 0) return 77;
    if (child > 0) continue;
    close(leave[1]);
    call(), call();
    _exit(write(ready[1], "x", 1) != 1 || read(leave[0], &byte, 1) != 0);
  }
  for (int i = 0; i < children; ++i)
    if (read(ready[0], &byte, 1) != 1) return 3;
  if (system(words[2]) != 0) return 4;
  close(leave[1]), close(leave[0]);
  while (wait(&status) > 0) failed += status != 0;
  return failed != 0;
}
"""
TAKEN = "du -s --block-size=1 $BLASTOFF_RUN_DIRECTORY && ls $BLASTOFF_RUN_DIRECTORY/disk/ | wc -l"


@pytest.fixture
def crowd(compiled):
    """A program with a given number of children, each of which has made two calls. All children exist while a command runs."""
    path = compiled(CROWD, f"-L{offload.REFERENCE_BLAS}", "-Wl,--no-as-needed", "-l:libblas.so.3")
    return lambda children, command: [path, str(children), command]


@pytest.mark.parametrize("children", [40, 400])
def test_many_processes_at_once_take_no_more(blastoff, crowd, place, children):
    """Counters that have no room in memory lie on a disk, and count too."""
    done = blastoff("run", "--device=none", "--", *crowd(children, TAKEN), env=place)
    if done.returncode == 77:
        pytest.skip(f"{children} processes are not allowed here")
    assert done.returncode == 0, done.stderr
    taken, _, on_disk = done.stdout.split()
    assert int(taken) < 1 << 20 and int(on_disk) > 0
    assert f"{2 * children} calls" in done.stderr


MOUNTED = """
mount -t tmpfs -o ro none /dev/shm || exit 77
[ "$1" = "" ] || { mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp; } || exit 77
shift
exec "$@"
"""


def mounted(place: dict[str, str], everything: bool, *words: str) -> subprocess.CompletedProcess:
    """Runs the launcher where file systems in memory are read-only, or all are."""
    env = clean_environment() | {name: value for name, value in place.items() if name != "XDG_RUNTIME_DIR"}
    env.pop("XDG_RUNTIME_DIR", None)
    enter = ["unshare", "-rm", "sh", "-c", MOUNTED, "sh", place["TMPDIR"] if everything else "", sys.executable, "-m", "blastoff", "run"]
    done = subprocess.run([*enter, *words], env=env, capture_output=True, text=True) if shutil.which("unshare") else None
    if done is None or (done.returncode in (1, 77) and "blastoff" not in done.stderr):
        pytest.skip("file systems cannot be mounted here")
    return done


@pytest.mark.parametrize("everything", [False, True])
def test_a_read_only_file_system_in_memory(crowd, place, everything):
    """Counters then lie on a disk. If the disk is read-only too, a message says that they are missing."""
    done = mounted(place, everything, "--device=none", "--", *crowd(5, "true"))
    assert done.returncode == 0, done.stderr
    assert ("10 calls" in done.stderr) != everything
    assert ("no place for the counters of this run" in done.stderr) == everything


@pytest.mark.parametrize(
    ("how", "ended"), [("_exit", "_exit"), ("segv", "signal 11 (SIGSEGV)"), ("term", "signal 15 (SIGTERM)"), ("kill", "signal 9 (SIGKILL)")]
)
def test_a_process_that_does_not_end_by_exit(blastoff, place, tmp_path, how, ended):
    done = blastoff("run", *SIMULATED, "--report=run.json", PROCESS, how, env=place)
    assert done.returncode == {"_exit": 4, "segv": -11, "term": -15, "kill": -9}[how]
    report = json.loads((tmp_path / "run.json").read_text())
    assert report["process"]["ended"] == ended and report["totals"]["offloaded"] == 2
    assert report["device"]["used"] and report["settings"]["min-size"] == "0"
    assert "dgemm" in done.stderr
    again = blastoff("report", "run.json")  # this checks that it follows the schema
    assert again.returncode == 0 and "ended" in again.stdout


def started(command: list[str], env: dict[str, str], **options) -> subprocess.Popen:
    command = [sys.executable, "-m", "blastoff", "run", "--device=none", "--", *command]
    return subprocess.Popen(command, env=clean_environment() | env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_to_the_launcher_is_the_programs(script, place, number):
    process = started(script("call(8, 1000)\nprint(flush=True)\ntime.sleep(60)"), place)
    process.stdout.readline()
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == -number
    assert "dgemm" in said and "1000" in said
    if number == signal.SIGINT:
        assert "KeyboardInterrupt" in said  # Python ends itself by the signal afterwards


def test_a_program_decides_what_a_signal_does(script, place):
    body = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\ncall()\nprint(flush=True)\ntime.sleep(60)"
    process = started(script(body), place)
    process.stdout.readline()
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 5


def test_ctrl_c_reaches_the_program_once(script, place):
    """The terminal sends the signal to launcher and program. The launcher survives and reports."""
    body = """
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
call()
print("ready", flush=True)
time.sleep(1)
sys.exit(40 + len(seen))
"""
    pid, terminal = pty.fork()
    if pid == 0:
        command = [sys.executable, "-m", "blastoff", "run", "--device=none", "--", *script(body)]
        os.execve(command[0], command, clean_environment() | place)
    seen = b""
    while b"ready" not in seen:
        seen += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 4096):
            seen += piece
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 41
    assert b"dgemm" in seen


def test_a_stopped_program_stops_its_launcher(script, place):
    process = started(script("call()\nprint(flush=True)\nos.kill(os.getpid(), signal.SIGSTOP)\nsys.exit(6)"), place)
    process.stdout.readline()
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=30)
    assert process.returncode == 6


def test_a_program_does_not_outlive_its_launcher(blastoff, script, tmp_path, place):
    """Nor does its directory, which the next run removes."""
    process = started(script("print(os.getpid(), flush=True)\ntime.sleep(60)"), place)
    child = int(process.stdout.readline())
    process.kill()
    process.communicate(timeout=30)
    deadline = time.monotonic() + 10
    while runs.started_after(child) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert runs.started_after(child) is None
    assert len(list((tmp_path / "place").iterdir())) == 1, "nobody was left to remove it"
    blastoff("run", "--device=none", "true", env=place)


def test_what_a_program_did_before_exec_counts(blastoff, script, place, tmp_path):
    body = f"call(8, 5)\nos.execv('{PRODUCTS}', ['{PRODUCTS}', '40'])"
    done = blastoff("run", *SIMULATED, f"--report={tmp_path}/%p.json", "--", *script(body), env=place)
    assert done.returncode == 0, done.stderr
    found = reports(tmp_path)
    assert sorted((report["process"]["ended"], report["totals"]["calls"]) for report in found) == [("exec", 5), ("exit", 6)]


def test_each_of_many_threads_counts(blastoff, script, place):
    body = """
together = threading.Barrier(200)
def work():
    call()
    together.wait()
    call()
threads = [threading.Thread(target=work) for _ in range(200)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
os._exit(0)
"""
    done = blastoff("run", "--", *script(body), env=place)
    assert done.stderr == "blastoff: 400 calls, all below the threshold; all average sizes below 64\n"


@pytest.mark.parametrize(
    ("options", "body", "line"),
    [
        ([], "", "no BLAS found in "),
        ([], "call(40, 3); call(32, 4)", "7 calls, all below the threshold; all average sizes below 64"),
        (
            [],
            "dims = ctypes.byref(ctypes.c_int(0)); blas.dgemv_",
            "functions of BLAS, LAPACK or FFTW found, but no call of one that can be offloaded",
        ),
        (["--intercept=preload"], "", "no call of BLAS, LAPACK or FFTW was seen: try blastoff inspect "),
    ],
)
def test_there_is_always_a_line(blastoff, script, place, tmp_path, options, body, line):
    command = script(body)
    if not body:
        (tmp_path / "script.py").write_text("")
    done = blastoff("run", *options, "--", *command, env=place)
    assert done.returncode == 0
    (said,) = done.stderr.splitlines()
    assert said.startswith("blastoff: ") and line in said


def test_products_with_vectors_alone(blastoff, script, place):
    body = """
n = 8
size, one, step = ctypes.byref(ctypes.c_int(n)), ctypes.byref(ctypes.c_double(1)), ctypes.byref(ctypes.c_int(1))
a, x, y = (ctypes.c_double * (n * n))(), (ctypes.c_double * n)(), (ctypes.c_double * n)()
blas.dgemv_(b"N", size, size, one, a, size, x, step, one, y, step)
"""
    done = blastoff("run", "--", *script(body), env=place)
    assert done.stderr == "blastoff: level-1 and level-2 calls only (1 call of dgemv)\n"


def test_only_the_job_gets_a_line(blastoff, place):
    """The shell and other programs that it starts get no line, since they are no numeric programs."""
    done = blastoff("run", "sh", "-c", f"true; /usr/bin/env true; {PRODUCTS} 40 >/dev/null; uname >/dev/null", env=place)
    assert done.stderr == "blastoff: 6 calls, all below the threshold; all average sizes below 64\n"


def test_summary_modes_of_a_job(blastoff, place):
    command = ["sh", "-c", f"{PRODUCTS} 40; {PRODUCTS} 40"]
    said = {mode: blastoff("run", *SIMULATED, f"--summary={mode}", *command, env=place).stderr for mode in ("auto", "always", "each", "never")}
    assert said["never"] == ""
    assert said["auto"].count("routine") == said["always"].count("routine") == 1
    assert "processes  2" in said["auto"]
    assert said["each"].count("routine") == 2 and said["each"].count("products, process") == 2
    small = {mode: blastoff("run", f"--summary={mode}", *command, env=place).stderr for mode in ("auto", "always")}
    assert len(small["auto"].splitlines()) == 1 and "dgemm" in small["always"]


def test_device_none_prints_its_table(blastoff, place):
    done = blastoff("run", "--device=none", PRODUCTS, "40", env=place)
    assert "dgemm" in done.stderr and "CPU s" in done.stderr


def ranks(script, place, body: str, count: int, env: dict[str, str]) -> list[str]:
    """The output of each launcher of a job in which each rank has a launcher."""
    command = script(body)
    both = [started(command, place | env | {"PMIX_RANK": str(rank), "PMIX_NAMESPACE": "job@1"}) for rank in range(count)]
    return [process.communicate(timeout=60)[1] for process in both]


def test_ranks_with_launchers_of_their_own_share_a_summary(script, place, tmp_path):
    body = f"""
open(f"{tmp_path}/ready-{{os.environ['PMIX_RANK']}}", "w").close()
while not all(os.path.exists(f"{tmp_path}/ready-{{rank}}") for rank in range(3)): time.sleep(0.01)
call(*((400, 16) if os.environ["PMIX_RANK"] == "2" else (8, 1)))
"""
    said = ranks(script, place, body, 3, {})
    summaries = [text for text in said if text]
    assert len(summaries) == 1, said
    assert "processes  3" in summaries[0]
    assert "(least / median / most)" in summaries[0]
    assert "imbalance" in summaries[0] and "rank 2 spent" in summaries[0]


def test_a_rank_that_ends_before_another_starts_leaves_the_summary_to_it(script, place):
    job = {"PMIX_NAMESPACE": "job@3", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
    command = script("call()")
    first = started(command, place | job | {"PMIX_RANK": "0"})
    time.sleep(0.5)
    second = started(command, place | job | {"PMIX_RANK": "1"})
    assert first.communicate(timeout=60)[1] == ""
    assert "processes  2" in second.communicate(timeout=60)[1]


def test_a_rank_without_others_is_summed_up(script, place):
    alone = started(script("call()"), place | {"PMIX_NAMESPACE": "job@4", "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMIX_RANK": "0"})
    assert "dgemm" in alone.communicate(timeout=60)[1]


def test_runs_of_the_same_rank_are_not_one_job(script, place, tmp_path):
    body = f"open('{tmp_path}/' + str(os.getpid()), 'w').close()\ncall()\ntime.sleep(1)"
    command = script(body)
    both = [started(command, place | {"PMIX_RANK": "0", "PMIX_NAMESPACE": "job@2"}) for _ in range(2)]
    said = [process.communicate(timeout=60)[1] for process in both]
    assert all("dgemm" in text and "processes" not in text for text in said), said


def test_no_place_for_counters(place):
    """The program runs all the same, and each process reports for itself at its end."""
    done = mounted(place, True, "--memory", *SIMULATED, PRODUCTS, "40")
    assert done.returncode == 0 and "products, process" in done.stderr and done.stderr.count("dgemm") == 1
    assert done.stderr.count("no place for the counters of this run") == 1
    assert "the memory of this run is not sampled: there is no place" in done.stderr


def test_no_room_for_counters(blastoff, place):
    """A limit of the size of files does not harm the program, and a message says what is missing."""
    limited = ["sh", "-c", f"ulimit -f 8; exec {PRODUCTS} 40"]
    done = blastoff("run", *SIMULATED, *limited, env=place)
    assert done.returncode == 0, done.stderr
    assert "products, process" in done.stderr and "dgemm" in done.stderr
    assert "no room for the counters of 1 of 2 processes (File too large)" in done.stderr


STRANGE_NAMES = ["1-2-3-4-5.counters", "v9-1-2-3.counters", "1-2.counters", "12345678901-2-3-4.counters", "\udcff.counters", ".counters"]


def test_another_version_may_be_installed_beside_this_one(blastoff, place, tmp_path):
    """Files of the other version are ignored and stay: its directory, its directory on a disk, and the entries of its launchers."""
    made = []

    def make(link: str, disk_name: str = "") -> tuple[Path, Path]:
        run = tmp_path / "place" / f"{runs.prefix()}{len(made)}"
        disk = tmp_path / "disk" / f"{DISK_PREFIX}{len(made)}{disk_name or '.1.1'}"
        for directory in (run, disk):
            directory.mkdir(mode=0o700)
            made.append(directory)
        (run / link).symlink_to(disk)
        return run, disk

    for number, name in enumerate(STRANGE_NAMES):
        (make(runs.DISK)[number % 2] / name).write_bytes(b"not what this version writes")
    (make(runs.DISK)[0] / f"{runs.LAUNCHER}0").symlink_to("1 2 3 another version")
    make("second-disk")
    make("second-disk", ".of-another-version")[0].rename(tmp_path / "elsewhere")
    left = [directory for directory in made if directory.exists()]
    for directory in left:
        os.utime(directory, (1, 1))
    try:
        for words in (["run", *SIMULATED, PRODUCTS, "40"], ["top", "--once", "--interval=0.1"]):
            assert "Traceback" not in blastoff(*words, env=place).stderr
        assert [directory for directory in left if not directory.is_dir()] == []
    finally:
        for directory in left:
            shutil.rmtree(directory, ignore_errors=True)


def test_reports_on_standard_output(blastoff, place):
    for how, ended in (("return", "exit"), ("term", "signal 15 (SIGTERM)")):
        done = blastoff("run", *SIMULATED, "--report=-", PROCESS, how, env=place)
        report = json.loads(done.stdout[done.stdout.index("{") :])
        assert report["process"]["ended"] == ended

"""Processes of one job that share a node's (fake) GPUs: the GPU that each process takes, and its share of that GPU's memory."""

import itertools
import json
import os
import subprocess
import sys

import offload
import pytest

WORKER = """
import ctypes, os, sys, time
blas = ctypes.CDLL("libblas.so.3")
n = 64
a, b, c = ((ctypes.c_double * (n * n))(*([value] * (n * n))) for value in (1, 2, 0))
size, one, zero = ctypes.byref(ctypes.c_int(n)), ctypes.byref(ctypes.c_double(1)), ctypes.byref(ctypes.c_double(0))
blas.dgemm_(b"N", b"N", size, size, size, one, a, size, b, size, zero, c, size)
assert set(c) == {2.0 * n}
place, number = sys.argv[1], int(sys.argv[2])
open(f"{place}/{os.getpid()}", "w").close()
deadline = time.monotonic() + 60
while len(os.listdir(place)) < number and time.monotonic() < deadline: time.sleep(0.01)
"""
START = """
import os, subprocess, sys
number, rank_variables, command = int(sys.argv[1]), sys.argv[2] == "ranks", [sys.executable, *sys.argv[3:]]
def environment(rank):
    names = {"RANK": rank, "LOCAL_RANK": rank, "LOCAL_SIZE": number}
    return os.environ | ({f"OMPI_COMM_WORLD_{name}": str(value) for name, value in names.items()} if rank_variables else {})
workers = [subprocess.Popen(command, env=environment(rank)) for rank in range(number)]
sys.exit(max(worker.wait() for worker in workers))
"""


@pytest.fixture
def job(device, gpu, tmp_path):
    """Runs several workers or ranks at once under one launcher, and returns their reports."""
    if device.startswith("cuda"):
        pytest.skip("the number of GPUs is that of the fake driver")

    def run(number: int, kind: str, **changes: str) -> list[dict]:
        for name, text in (("worker", WORKER), ("start", START)):
            (tmp_path / f"{name}.py").write_text(text)
        (tmp_path / "ready").mkdir()
        launcher = [offload.COMMAND, "run", "--device=cuda", "--min-size=0", "--summary=never", f"--report={tmp_path}/reports/", sys.executable]
        worker = [tmp_path / "worker.py", tmp_path / "ready", number]
        command = [str(word) for word in (*launcher, tmp_path / "start.py", number, kind, *worker)]
        done = subprocess.run(command, env=gpu | changes, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        reports = [json.loads(path.read_text()) for path in (tmp_path / "reports").glob("*.json")]
        assert len(reports) == number and all(report["totals"]["offloaded"] == 1 for report in reports), done.stderr
        return reports

    return run


@pytest.mark.parametrize("kind", ["ranks", "workers"])
def test_processes_spread_over_the_gpus(job, kind):
    """Also processes without ranks, such as workers of joblib, Dask and Ray."""
    used = [report["device"]["index"] for report in job(6, kind, FAKE_GPU_COUNT="3")]
    assert sorted(used) == [0, 0, 1, 1, 2, 2]


def test_ranks_divide_the_memory_of_a_gpu(job):
    reports = job(4, "ranks", FAKE_GPU_COUNT="2")
    for report in reports:
        assert report["device"]["memory_budget"] == pytest.approx(0.8 * report["device"]["memory"] / 2, rel=1e-6)


def test_workers_count_those_that_use_the_gpu_already(job):
    reports = job(3, "workers")
    parts = [report["device"]["memory_budget"] / report["device"]["memory"] for report in reports]
    assert min(parts) == pytest.approx(0.8 / 3, rel=1e-6), "the last one knows of all others"


def test_a_rank_alone_on_its_gpu_has_all_of_it(job):
    """The batch system has given each rank a GPU of its own."""
    for report in job(2, "ranks", CUDA_VISIBLE_DEVICES="0", FAKE_GPU_COUNT="4"):
        assert report["device"]["memory_budget"] > 0.5 * report["device"]["memory"]


def test_a_size_that_the_user_has_named_is_not_divided(job):
    for report in job(2, "ranks", BLASTOFF_DEVICE_MEMORY="100M"):
        assert report["device"]["memory_budget"] == 100 << 20


def test_sixteen_ranks_do_not_storm_the_driver(job, tmp_path):
    job(16, "ranks", FAKE_GPU_INIT_MS="300", FAKE_GPU_OPENINGS=str(tmp_path / "openings"))
    openings = (tmp_path / "openings").read_text()
    at_once = itertools.accumulate(1 if what == "+" else -1 for what in openings)
    assert openings.count("+") == 16
    assert max(at_once) <= 2, openings
    assert openings.startswith("+-"), "the first is alone"


HOLDER = """
import fcntl, os, time
turns = open(os.environ["BLASTOFF_RUN_DIRECTORY"] + "/opening", "w")
fcntl.lockf(turns, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
print("has its turn", flush=True)
time.sleep(600)
"""
BESIDE_HOLDER = """
import subprocess, sys
holder = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE, text=True)
assert holder.stdout.readline() == "has its turn\\n"
for seconds in ("1", "3"):
    subprocess.run([sys.argv[2], seconds], check=True, stdout=subprocess.DEVNULL)
    holder.kill()
    holder.wait()
"""


def test_calls_go_on_while_others_have_their_turn(device, gpu, tmp_path):
    """A process that is killed during its turn does not block the others."""
    if device.startswith("cuda"):
        pytest.skip("the fake driver will do")
    settings = {"BLASTOFF_START": "background", "BLASTOFF_HISTORY": "off"}
    launcher = [
        offload.COMMAND,
        "run",
        "--device=cuda",
        "--min-size=100",
        "--decide=size",
        "--summary=never",
        f"--report={tmp_path}/",
        sys.executable,
    ]
    command = [str(word) for word in (*launcher, "-c", BESIDE_HOLDER, HOLDER, offload.PROGRAMS / "opening")]
    done = subprocess.run(command, env=gpu | settings, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    reports = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    offloaded = [report["totals"]["offloaded"] for report in reports if report["totals"]["calls"] > 0]
    assert len(offloaded) == 2 and min(offloaded) == 0 < max(offloaded), done.stderr


ON_THE_CPU = """
import ctypes, mmap, pathlib
blas = ctypes.CDLL("libblas.so.3")
one, zero = ctypes.byref(ctypes.c_double(1)), ctypes.byref(ctypes.c_double(0))
def product(n):
    a, b, c = ((ctypes.c_double * (n * n))() for _ in range(3))
    size = ctypes.byref(ctypes.c_int(n))
    blas.dgemm_(b"N", b"N", size, size, size, one, a, size, b, size, zero, c, size)
def spent():
    threads = [thread for thread in pathlib.Path("/proc/self/task").iterdir() if (thread / "comm").read_text().startswith("blastoff")]
    return len(threads), sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)
product(300)
before = spent()
for _ in range(2000):
    product(30)
    memory = mmap.mmap(-1, 1 << 20)
    memory[0] = 1
    memory.close()
after = spent()
print(before[0], (after[1] - before[1]) * 1e-9)
"""


def test_our_threads_rest_while_all_calls_run_on_the_cpu(tmp_path):
    outcome = offload.offloaded([sys.executable, "-c", ON_THE_CPU], device="simulated", min_size=200, env={"BLASTOFF_START": "now"})
    threads, seconds = outcome.stdout.split()
    assert int(threads) > 0 and float(seconds) < 0.02, outcome.stdout


SPECTRAL = """
import ctypes, os
lapack = ctypes.CDLL("liblapack.so.3")
n = 48
size, room, integers, info = (ctypes.byref(ctypes.c_int(value)) for value in (n, 40 * n * n, 40 * n, 0))
arrays = [(ctypes.c_double * (40 * n * n))() for _ in range(6)]
i, (a, w, v, u, work, more) = (ctypes.c_int * (40 * n))(), arrays
def call(routine, *arguments):
    for row in range(n):
        for column in range(n): a[row * n + column] = 1 / (1 + row + column) + (row == column)
    getattr(lapack, routine + "_")(*arguments, info)
call("dsyev", b"V", b"U", size, a, size, w, work, room)
call("dsyevd", b"V", b"U", size, a, size, w, work, room, i, integers)
call("dgesdd", b"A", size, size, a, size, w, u, size, v, size, work, room, i)
call("dgeev", b"N", b"V", size, a, size, w, more, u, size, v, size, work, room)
call("dsyev", b"N", b"U", size, a, size, w, work, room)
call("dgeev", b"N", b"N", size, a, size, w, more, u, size, v, size, work, room)
call("dpotrf", b"U", size, a, size)
"""
SEVERAL_RESULTS = "eigenvectors or singular vectors in a job of several ranks, which may all need the same ones"


@pytest.mark.parametrize(
    ("job", "options", "left", "offloaded"),
    [
        ({"OMPI_COMM_WORLD_SIZE": "2"}, [], 4, 3),
        ({"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "16"}, [], 4, 3),
        ({"PMI_SIZE": "2"}, ["--routines=*"], 0, 7),
        ({"PMI_SIZE": "2"}, ["--routines=*,-dgeev,dsyev*"], 0, 5),
        ({"PMI_SIZE": "2"}, ["--routines=-dgetrf,dsyev,dgesdd"], 2, 5),
        ({"PMI_SIZE": "1"}, [], 0, 7),
        ({}, [], 0, 7),
    ],
)
def test_vectors_that_other_ranks_may_need_come_from_the_cpu(device, tmp_path, job, options, left, offloaded):
    """Ranks that solve the same eigenproblem need the same vectors, but a GPU finds others than a CPU. Each rank decides on its own."""
    (tmp_path / "spectral.py").write_text(SPECTRAL)
    report = tmp_path / "report.json"
    launcher = [offload.COMMAND, "run", f"--device={device}", "--min-size=0", "--summary=never", f"--report={report}", *options]
    done = subprocess.run([*launcher, sys.executable, tmp_path / "spectral.py"], env=os.environ | job, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(report.read_text())
    refused = {each["reason"]: each["calls"] for each in found["refusals"]}
    made = {each["name"]: each["offloaded"] for each in found["routines"]}  # and what these routines call
    assert (refused.get(SEVERAL_RESULTS, 0) > left) == (offloaded < 7), "calls that those on the CPU have made stay there, too"
    assert sum(made[name] for name in ("dsyev", "dsyevd", "dgesdd", "dgeev", "dpotrf")) == offloaded

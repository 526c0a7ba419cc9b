"""What whole programs claim to have saved, beside the difference of their wall times on the CPU and with a device. The CPU's routine waits for a
known time, and the GPU of the fake driver computes at once."""

import subprocess
import sys
import time
from pathlib import Path

import mpi
import offload
import pytest

sys.path.insert(0, str(offload.ROOT / "python"))

from blastoff.job import reading
from blastoff.job.processes import Job

FAKE = offload.BUILD / "tests" / "fake_cuda"
STRICT = ["-O2", "-Wall", "-Wextra", "-Werror"]


@pytest.fixture(autouse=True)
def fake(device):
    if device != "simulated":
        pytest.skip("the programs use the fake GPU")
    if not (FAKE / "libcuda.so.1").exists():
        pytest.skip("the fake driver is not built")


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    blas, whole = folder / "libwaiting_blas.so", folder / "whole_program"
    subprocess.run(["gcc", *STRICT, "-shared", "-fPIC", mpi.SOURCES / "waiting_blas.c", "-o", blas], check=True)
    subprocess.run(["gcc", *STRICT, mpi.SOURCES / "whole_program.c", "-o", whole, "-pthread", blas, f"-Wl,-rpath,{folder}"], check=True)
    return whole


@pytest.fixture
def run(program, tmp_path):
    """Runs the program, and returns its wall time and what Blastoff reports. With the device "CPU", Blastoff is not there."""
    environment = {"BLASTOFF_CUDA_PATH": str(FAKE), "LD_LIBRARY_PATH": str(FAKE), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment |= {"BLASTOFF_HISTORY": "on", "BLASTOFF_MIN_SIZE": "8", "BLASTOFF_TRUST": "libwaiting_blas.so", "BLASTOFF_SUMMARY": "never"}

    def measured(device: str, *arguments: object, **changes: str) -> tuple[float, Job | None]:
        reports = tmp_path / f"{device}-{len(list(tmp_path.iterdir()))}"
        reports.mkdir()
        ours = {"LD_PRELOAD": str(offload.LIBRARY), "BLASTOFF_DEVICE": device, "BLASTOFF_REPORT": f"{reports}/"}
        env = offload.environment(**environment | (ours if device != "CPU" else {}) | changes)
        begin = time.perf_counter()
        done = offload.run([program, *arguments], env=env)
        seconds = time.perf_counter() - begin
        assert done.status == 0, done.stderr
        return seconds, reading.read_job([str(reports)]) if device != "CPU" else None

    return measured


@pytest.mark.parametrize("shape", ["row", "threads", "mixed"])
def test_the_claim_is_what_the_program_saves(run, shape):
    known, _ = run("none", shape, 20, 20)
    on_cpu, _ = run("CPU", shape, 20, 20)
    seconds, job = run("cuda", shape, 20, 20)
    assert job.totals.offloaded and job.verdict.known_share == 1
    assert job.verdict.saved == pytest.approx(min(known, on_cpu) - seconds, rel=0.2, abs=0.06)


def test_a_loss_is_claimed_as_one(run):
    """The program waits for the GPU longer than all of its products take on the CPU."""
    known, _ = run("none", "row", 20, 1)
    on_cpu, _ = run("CPU", "row", 20, 1)
    seconds, job = run("cuda", "row", 20, 1, BLASTOFF_START="now", BLASTOFF_DECIDE="size", FAKE_GPU_CONTEXT_MS="400")
    assert job.totals.offloaded and job.verdict.saved < 0
    assert job.verdict.saved == pytest.approx(min(known, on_cpu) - seconds, rel=0.2, abs=0.06)


def test_calls_tell_the_saving_where_no_run_on_the_cpu_made_the_same(run):
    """The earlier run made half as many. What the device takes to open beside the program is not seen."""
    run("none", "row", 10, 20)
    on_cpu, _ = run("CPU", "row", 20, 20)
    seconds, job = run("cuda", "row", 20, 20)
    assert job.verdict.cpu_run == 0 and on_cpu - seconds - 0.06 < job.verdict.saved < 20 * 0.02

"""What whole programs claim to have saved, beside the difference of their wall times on the CPU and with a device. The CPU's routine waits for a
known time, and the GPU of the fake driver computes at once."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mpi
import offload
import pytest

sys.path.insert(0, str(offload.ROOT / "python"))

from blastoff.job import reading
from blastoff.job.processes import Job

FAKE = offload.FAKE_GPU
STRICT = ["-O2", "-Wall", "-Wextra", "-Werror"]


@pytest.fixture(autouse=True)
def fake(device, fake_gpu):
    if device != "simulated":
        pytest.skip("the programs use the fake GPU")


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    blas, whole = folder / "libwaiting_blas.so", folder / "whole_program"
    subprocess.run(["gcc", *STRICT, "-shared", "-fPIC", mpi.SOURCES / "waiting_blas.c", "-o", blas], check=True)
    subprocess.run(["gcc", *STRICT, mpi.SOURCES / "whole_program.c", "-o", whole, "-pthread", "-ldl", blas, f"-Wl,-rpath,{folder}"], check=True)
    return whole


class Runs:
    """Runs of a program that know of each other."""

    def __init__(self, program: Path, folder: Path):
        self.program, self.folder = program, folder
        folder.mkdir()
        self.environment = {"BLASTOFF_CUDA_PATH": str(FAKE), "LD_LIBRARY_PATH": str(FAKE), "XDG_CACHE_HOME": str(folder / "cache")}
        self.environment |= {"BLASTOFF_HISTORY": "on", "BLASTOFF_MIN_SIZE": "8", "BLASTOFF_TRUST": "libwaiting_blas.so", "BLASTOFF_SUMMARY": "never"}
        self.environment["BLASTOFF_MODEL"] = str(mpi.model_of_fake_gpu(folder))

    def seconds(self, arguments: tuple, ours: dict[str, str]) -> float:
        env = offload.environment(**self.environment | ours)
        begin = time.perf_counter()
        done = offload.run([self.program, *arguments], env=env)
        assert done.status == 0, done.stderr
        return time.perf_counter() - begin

    def on_cpu(self, *arguments: object) -> float:
        """Wall time without Blastoff."""
        return self.seconds(arguments, {})

    def on(self, device: str, *arguments: object, **changes: str) -> tuple[float, Job]:
        """Wall time with Blastoff, and what it reports."""
        reports = tempfile.mkdtemp(dir=self.folder)
        ours = {"LD_PRELOAD": str(offload.LIBRARY), "BLASTOFF_DEVICE": device, "BLASTOFF_REPORT": f"{reports}/"}
        return self.seconds(arguments, ours | changes), reading.read_job([reports])


@pytest.fixture
def once_of_several(once_of_several, program, tmp_path):
    """Each try has runs of its own."""
    return lambda check: once_of_several(lambda attempt: check(Runs(program, tmp_path / str(attempt))))


@pytest.mark.parametrize("shape", ["row", "threads", "mixed"])
def test_the_claim_is_what_the_program_saves(once_of_several, shape):
    def check(runs: Runs) -> None:
        known, _ = runs.on("none", shape, 20, 20)
        on_cpu = runs.on_cpu(shape, 20, 20)
        seconds, job = runs.on("cuda", shape, 20, 20)
        assert job.totals.offloaded and job.verdict.known_share == 1
        assert job.verdict.saved == pytest.approx(min(known, on_cpu) - seconds, rel=0.2)

    once_of_several(check)


def test_a_loss_is_claimed_as_one(once_of_several):
    """The program waits for the GPU longer than all of its products take on the CPU."""

    def check(runs: Runs) -> None:
        known, _ = runs.on("none", "row", 20, 1)
        on_cpu = runs.on_cpu("row", 20, 1)
        seconds, job = runs.on("cuda", "row", 20, 1, BLASTOFF_START="now", BLASTOFF_DECIDE="size", FAKE_GPU_CONTEXT_MS="400")
        assert job.totals.offloaded and job.verdict.saved < 0
        assert job.verdict.saved == pytest.approx(min(known, on_cpu) - seconds, rel=0.2)

    once_of_several(check)


@pytest.mark.parametrize(("shape", "gains"), [("slowed", False), ("row", True)])
def test_runs_on_the_cpu_tell_whether_the_device_is_opened(once_of_several, shape, gains):
    """By its calls alone, either program gains half a second, the price of opening and more."""

    def check(runs: Runs) -> None:
        runs.on("none", shape, 20, 50)
        jobs = [runs.on("cuda", shape, 20, 50, FAKE_GPU_INIT_MS="400", BLASTOFF_START="background")[1] for _ in range(4)]
        openings = [job.processes[0].report["device"]["opening"] for job in jobs]
        assert openings[1]["foreseen"], "the first run opened it late"
        assert [bool(opening and opening["foreseen"]) for opening in openings[2:]] == 2 * [gains]

    once_of_several(check)


def test_calls_tell_the_saving_where_no_run_on_the_cpu_made_the_same(once_of_several):
    """The earlier run made half as many."""

    def check(runs: Runs) -> None:
        runs.on("none", "row", 10, 20)
        on_cpu = runs.on_cpu("row", 20, 20)
        seconds, job = runs.on("cuda", "row", 20, 20)
        assert job.verdict.cpu_run == 0 and job.verdict.saved == pytest.approx(on_cpu - seconds, rel=0.2)

    once_of_several(check)

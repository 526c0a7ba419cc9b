"""What a job of ranks claims to have saved, beside what it has saved. The CPU's routine is one that takes half the time
while the other ranks leave the CPU alone: so it does beside a device, and never in a run without one."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import mpi
import offload
import pytest

sys.path.insert(0, str(offload.ROOT / "python"))

from blastoff.job import reading
from blastoff.job.processes import Job

PRODUCTS, MILLISECONDS = 20, 20
FAKE = offload.FAKE_GPU
STRICT = ["-O2", "-Wall", "-Wextra", "-Werror"]


def waiting_blas(folder: Path) -> Path:
    blas = folder / "libwaiting_blas.so"
    subprocess.run(["gcc", *STRICT, "-shared", "-fPIC", mpi.SOURCES / "waiting_blas.c", "-o", blas], check=True)
    return blas


def compiled(library: mpi.Mpi, folder: Path) -> Path:
    if shutil.which(library.compiler) is None or shutil.which(library.starter[0]) is None:
        pytest.skip(f"{library.compiler} and {library.starter[0]} are not installed (tools/install test)")
    program, blas = folder / "ranks_share_cores", waiting_blas(folder)
    subprocess.run([library.compiler, *STRICT, mpi.SOURCES / "ranks_share_cores.c", "-o", program, blas, f"-Wl,-rpath,{folder}"], check=True)
    return program


class Program:
    def __init__(self, library: mpi.Mpi, folder: Path):
        self.folder = folder
        self.program = compiled(library, folder)
        self.environment = library.environment(folder) | {"BLASTOFF_CUDA_PATH": str(FAKE), "XDG_CACHE_HOME": str(folder / "cache")}
        self.environment |= {"BLASTOFF_HISTORY": "on", "LD_LIBRARY_PATH": f"{FAKE}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        self.environment["BLASTOFF_MODEL"] = str(mpi.model_of_fake_gpu(folder))
        self.starter = library.ranks(2)

    def run(self, device: str) -> tuple[float, Job]:
        """The seconds of its products, and what Blastoff reports."""
        reports = self.folder / device / str(len(list(self.folder.glob("*"))))
        options = [f"--device={device}", "--trust=libwaiting_blas.so", "--min-size=1", "--summary=never", f"--report={reports}/"]
        done = mpi.run([offload.COMMAND, "run", *options, "--", *self.starter, self.program, PRODUCTS, MILLISECONDS], self.environment)
        assert done.returncode == 0, done.stderr
        return float(done.stdout), reading.read_job([str(reports)])


@pytest.fixture(autouse=True)
def fake(device, fake_gpu):
    if device != "simulated":
        pytest.skip("the ranks use the fake GPU")


def test_a_call_beside_a_device_does_not_tell_what_the_cpu_alone_would_take(once_of_several, tmp_path):
    def check(attempt: int) -> None:
        folder = tmp_path / str(attempt)
        folder.mkdir()
        program = Program(mpi.OPENMPI, folder)
        first = program.run("cuda")[1]
        assert first.totals.offloaded >= 2 * (PRODUCTS - 2), "the CPU is timed"
        assert first.verdict.saved is None and first.verdict.known_share < 0.1, "only the small products were timed before the device was open"
        without, _ = program.run("none")
        seconds, job = program.run("cuda")
        assert job.verdict.known_share == 1 and job.totals.offloaded >= 2 * (PRODUCTS - 2)
        assert job.verdict.saved == pytest.approx(without - seconds, rel=0.2, abs=0.1)

    once_of_several(check)


SLOWER = """
import ctypes, sys
blas = ctypes.CDLL(sys.argv[1])
milliseconds = ctypes.c_int.in_dll(blas, "blas_milliseconds")
n, one, zero = ctypes.byref(ctypes.c_int(64)), ctypes.byref(ctypes.c_double(1)), ctypes.byref(ctypes.c_double(0))
a, b, c = ((ctypes.c_double * 4096)() for _ in range(3))
for calls, milliseconds.value in ((20, 20), (20, 40)):
    for _ in range(calls):
        blas.dgemm_(b"N", b"N", n, n, n, one, a, n, b, n, zero, c, n)
"""


def test_a_rank_that_waits_for_its_turn_to_open_the_device_still_times_the_cpu(once_of_several, tmp_path):
    """Nothing disturbs it, so the slower calls count, too."""
    blas = waiting_blas(tmp_path)

    def check(attempt: int) -> None:
        cache = tmp_path / str(attempt)
        env = offload.environment(XDG_CACHE_HOME=str(cache), BLASTOFF_HISTORY="on", BLASTOFF_START="background", BLASTOFF_CUDA_PATH=str(FAKE))
        env |= {"BLASTOFF_TRUST": "libwaiting_blas.so", "BLASTOFF_MIN_SIZE": "1", "BLASTOFF_DEVICE": "cuda", "LD_PRELOAD": str(offload.LIBRARY)}
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as turn:
            turn.bind(f"\0blastoff-opening-{os.getuid()}")  # as a process without a launcher does in its turn
            done = offload.run([sys.executable, "-c", SLOWER, blas], env=env)
        assert done.status == 0, done.stderr
        (kept,) = (cache / "blastoff" / "rates").glob("*.json")
        ((_, rate, _),) = json.loads(kept.read_text())["cpu"]
        assert rate * 2 * 64**3 == pytest.approx(0.03, rel=0.15)

    once_of_several(check)

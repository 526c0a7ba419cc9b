"""The MPI libraries of this machine: compiles for each of them, and runs ranks."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import offload
import pytest

SOURCES = offload.ROOT / "tests" / "program" / "programs"


@dataclass(frozen=True)
class Mpi:
    """One of the MPI libraries that Debian installs side by side."""

    name: str
    compiler: str
    starter: tuple[str, ...]
    settings: tuple[tuple[str, str], ...] = ()

    def ranks(self, number: int) -> list[str]:
        """The words that start this number of ranks of the command that follows them."""
        return [*self.starter, str(number)]

    def compiled(self, source: str, folder: Path, *libraries: str) -> Path:
        """The program compiled from tests/program/programs/SOURCE.c; skips the test where something is missing."""
        if shutil.which(self.compiler) is None or shutil.which(self.starter[0]) is None:
            pytest.skip(f"{self.compiler} and {self.starter[0]} are not installed (tools/install test)")
        linked = [f"-l{library}" for library in (*libraries, "blas")]
        if "scalapack-mkl" in libraries:
            linked = of_mkl()
        for library in libraries:
            if library.startswith("scalapack") and self is not MKL and not (offload.LIBRARIES / f"lib{library}.so").exists():
                pytest.skip(f"lib{library} is not installed (tools/install test)")
        path = folder / f"{source}-{self.name}"
        command = [self.compiler, "-O2", "-Wall", "-Wextra", "-Werror", str(SOURCES / f"{source}.c"), "-o", str(path)]
        subprocess.run([*command, *linked, "-lm", "-ldl"], check=True)
        return path

    def environment(self, folder: Path) -> dict[str, str]:
        """The environment for a job that may have more ranks than the machine has cores."""
        return offload.environment(**dict(self.settings), LD_PRELOAD=str(yielding(folder)))


def yielding(folder: Path) -> Path:
    """A library to be preloaded, by which ranks that wait give their core to others."""
    library = folder / "yielding.so"
    if not library.exists():
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", str(SOURCES / "yielding.c"), "-o", str(library), "-ldl"], check=True)
    return library


AS_ROOT = (("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"))
OPENMPI = Mpi("openmpi", "mpicc.openmpi", ("mpirun.openmpi", "--oversubscribe", "-n"), (*AS_ROOT, ("OMPI_MCA_rmaps_base_oversubscribe", "1")))
MPICH = Mpi("mpich", "mpicc.mpich", ("mpiexec.hydra", "-n"))
ALL = (OPENMPI, MPICH)
MKL = Mpi("mkl", OPENMPI.compiler, OPENMPI.starter, (*OPENMPI.settings, ("MKL_NUM_THREADS", "1")))


def of_mkl() -> list[str]:
    """What a program is linked with that uses MKL's ScaLAPACK, over Open MPI, from the wheel; skips the test without it."""
    folder = Path(sys.prefix) / "lib"
    stems = ("scalapack_lp64", "blacs_openmpi_lp64", "intel_lp64", "sequential", "core")
    files = [next(folder.glob(f"libmkl_{stem}.so*"), None) for stem in stems]
    if None in files:
        pytest.skip("the mkl wheel is not installed")
    return [f"-Wl,-rpath,{folder}", *map(str, files)]


def node_of_two(folder: Path) -> Path:
    """A program that starts its command as a rank of Open MPI on a simulated node, two ranks on each."""
    node = folder / "node"
    node.write_text(
        "#!/bin/sh\n"
        f"export XDG_RUNTIME_DIR={folder}/node$((OMPI_COMM_WORLD_RANK / 2)) OMPI_COMM_WORLD_LOCAL_SIZE=2\n"
        'mkdir -p "$XDG_RUNTIME_DIR"\nexec "$@"\n'
    )
    node.chmod(0o755)
    return node


def on_nodes(folder: Path, environment: dict[str, str], ranks_of_each: int) -> dict[str, str]:
    """What an environment needs besides, so that the ranks of a job have the names of several nodes. Each has so many ranks."""
    shim = folder / "node.so"
    if not shim.exists():
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", str(SOURCES / "node.c"), "-o", str(shim), "-ldl"], check=True)
    return {"LD_PRELOAD": ":".join(filter(None, (str(shim), environment.get("LD_PRELOAD")))), "RANKS_PER_NODE": str(ranks_of_each)}


@dataclass
class Done:
    """A job that has ended, and when, by time.monotonic()."""

    returncode: int
    stdout: str
    stderr: str
    ended: float

    def when(self, event: str) -> float:
        """When a rank said that an event happened to it."""
        (time_of,) = re.findall(rf"^{event} at ([\d.]+)$", self.stderr, re.MULTILINE)
        return float(time_of)


def run(command: Sequence[str | Path], environment: dict[str, str], timeout: float = 60) -> Done:
    done = subprocess.run([str(word) for word in command], env=os.environ | environment, capture_output=True, text=True, timeout=timeout)
    return Done(done.returncode, done.stdout, done.stderr, time.monotonic())


def model_of_fake_gpu(folder: Path) -> Path:
    """A machine model in the folder: the fake GPU closes at once."""
    model = folder / "fake_gpu.json"
    model.write_text('{"blastoff_machine": 1, "name": "a fake GPU", "gpu": {"close_seconds": 0}}')
    return model

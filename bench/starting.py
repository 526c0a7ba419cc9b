"""Starts the ranks of a measured job."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def cores_each(ranks: int) -> int:
    return max(1, len(os.sched_getaffinity(0)) // ranks)


def run(
    command: Sequence[str], threads: int, limit: float, variables: Mapping[str, str], folder: Path | None = None, stdin: Path | None = None
) -> subprocess.CompletedProcess:
    """Runs a job in `folder`, with `stdin` as its standard input. The BLAS of each rank has `threads` threads and the given environment variables.
    After `limit` seconds, the starter (of Open MPI, MPICH) ends its ranks."""
    limit = max(1, round(limit))
    environment = os.environ | {name: str(threads) for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")}
    environment |= variables
    environment |= {"MPIEXEC_TIMEOUT": str(limit)} | (AS_ROOT if os.getuid() == 0 else {})
    end = time.monotonic() + limit
    try:
        with open(stdin or os.devnull) as given:
            done = subprocess.run(
                command, env=environment, cwd=folder, stdin=given, capture_output=True, text=True, errors="replace", timeout=limit + 10, check=False
            )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"longer than {limit:.0f} s")
    if done.returncode != 0 and time.monotonic() > end:  # the starter has ended them: its status and words are its own
        done.returncode, done.stderr = 124, f"{done.stderr}\nlonger than {limit:.0f} s"
    return done


def why(done: subprocess.CompletedProcess) -> str:
    """The last words of a job that failed."""
    return f"status {done.returncode}\n{done.stderr[-2000:]}"

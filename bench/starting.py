"""Starts what is measured: a script in a process of its own, or the ranks of a job."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def with_blastoff(options: argparse.Namespace) -> dict[str, str]:
    """The variables of a run under Blastoff, which opens the device at once."""
    variables = {
        "LD_PRELOAD": str(options.preloaded.resolve()),
        "BLASTOFF_POLICY": options.policy,
        "BLASTOFF_START": "now",
        "BLASTOFF_SUMMARY": "never",
    }
    if options.min_size is not None:
        variables["BLASTOFF_MIN_SIZE"] = str(options.min_size)
    return variables


def lines_of(script: str, chosen: Sequence[str], variables: Mapping[str, str]) -> list[dict]:
    """The lines of JSON that a script prints in a process of its own. If it fails, its last words are printed."""
    done = subprocess.run([sys.executable, script, *chosen], env=os.environ | variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


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

"""Runs Python programs that use NumPy and SciPy on the simulated device, with each result verified."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import offload
from command_rig import clean_environment

SIMULATED = {"BLASTOFF_DEVICE": "simulated", "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_VERIFY": "abort", "OPENBLAS_NUM_THREADS": "1"}


def run_python(folder: Path, source: str, *options: str, command=(sys.executable,), **env: str) -> tuple[subprocess.CompletedProcess, dict]:
    """Runs Python source under `blastoff run`. Returns what it has done, and the calls of the report's routines and refusals by name."""
    report = folder / "report.json"
    done = run([offload.COMMAND, "run", "--report", report, *options, "--", *command], folder, source, env)
    found = json.loads(report.read_text())
    calls = {row["name"]: (row["calls"], row["offloaded"]) for row in found["routines"]}
    return done, calls | {row["reason"]: row["calls"] for row in found["refusals"]}


def run_session(folder: Path, begin: str, source: str, before: str = "") -> None:
    """Runs Python source that enables and disables Blastoff itself. `before`: what comes before it enables Blastoff, twice."""
    run([sys.executable], folder, f"{before}\nimport blastoff\nblastoff.enable()\nblastoff.enable()\n{begin}\n{textwrap.dedent(source)}", {})


def run(command: list, folder: Path, source: str, env: dict[str, str]) -> subprocess.CompletedProcess:
    path = folder / "program.py"
    path.write_text(source)
    done = subprocess.run([*command, path], env=clean_environment() | SIMULATED | env, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done

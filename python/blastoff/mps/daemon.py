"""What is known of MPS daemons here. `blastoff run` uses the standard library alone."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

CONTROL = "nvidia-cuda-mps-control"
"""The program that is the daemon, and that also sends it commands."""
PIPES, LOGS = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
"""Variables by which a daemon is told where to be found, and programs where to find it."""
DEFAULT_PIPES = "/tmp/nvidia-mps"
MOST_CLIENTS = 48
"""Processes that one GPU serves by MPS (from Volta on; 60 with the newest drivers)."""


def control_program(environment: Mapping[str, str]) -> str | None:
    """Its path; None where it is not installed."""
    return shutil.which(CONTROL, path=environment.get("PATH", os.defpath))


def answers(pipes: Path) -> bool:
    """Whether there is a daemon behind the pipes in that directory. A killed one leaves them behind, with its process id beside."""
    if not (pipes / "control").exists():
        return False
    try:
        return Path(f"/proc/{int((pipes / f'{CONTROL}.pid').read_text())}").exists()
    except (OSError, ValueError):
        return True


def runs(environment: Mapping[str, str]) -> bool:
    """Whether programs with this environment find a daemon."""
    return answers(Path(environment.get(PIPES) or DEFAULT_PIPES))

"""How to find MPS daemons. `blastoff run` imports this module, so it uses the standard library only."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

CONTROL = "nvidia-cuda-mps-control"
"""The program that runs as the daemon, and that also sends commands to it."""
PIPES, LOGS = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
"""Variables with the daemon's directories: the daemon opens its pipes there, and programs look there."""
DEFAULT_PIPES = "/tmp/nvidia-mps"


def control_program(environment: Mapping[str, str]) -> str | None:
    """The program's path; None if it is not installed."""
    return shutil.which(CONTROL, path=environment.get("PATH", os.defpath))


def answers(pipes: Path) -> bool:
    """Whether a daemon runs that uses the pipes in this directory. A killed daemon leaves its pipes behind, and a file with its process id."""
    if not (pipes / "control").exists():
        return False
    try:
        return Path(f"/proc/{int((pipes / f'{CONTROL}.pid').read_text(encoding='utf-8'))}").exists()
    except (OSError, ValueError):
        return True


def runs(environment: Mapping[str, str]) -> bool:
    """Whether programs with this environment find a daemon."""
    return answers(Path(environment.get(PIPES) or DEFAULT_PIPES))

"""The environment in which the command is tested."""

import os
from pathlib import Path

import offload


def clean_environment() -> dict[str, str]:
    """This process's environment, without Blastoff's variables, and with the library of the build."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("BLASTOFF_", "LD_PRELOAD", "GLIBC_TUNABLES", "COLUMNS"))}
    environment["BLASTOFF_LIBRARY"] = str(offload.LIBRARY)
    environment["PYTHONPATH"] = str(offload.ROOT / "python")
    return environment


def changed_helper(folder: Path, code: str) -> dict[str, str]:
    """Variables with which each launcher's Python process (python/blastoff/run/helper.py) runs this code first."""
    folder.mkdir(exist_ok=True)
    changes = f"import sys\nif 'blastoff.run.helper' in sys.orig_argv:\n    exec({code!r})\n"
    (folder / "sitecustomize.py").write_text(changes)
    return {"PYTHONPATH": f"{folder}:{offload.ROOT / 'python'}"}

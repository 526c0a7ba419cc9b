"""How the command is run in tests."""

import os
import sys
from pathlib import Path

import offload


def clean_environment() -> dict[str, str]:
    """This process's environment, without Blastoff's variables, and with the library of the build."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("BLASTOFF_", "LD_PRELOAD", "GLIBC_TUNABLES", "COLUMNS"))}
    environment["BLASTOFF_LIBRARY"] = str(offload.LIBRARY)
    environment["PYTHONPATH"] = str(offload.ROOT / "python")
    return environment


def command_line(*words: object) -> list[str]:
    """The words that run this command of Blastoff. The launcher does `run` itself, so that Python need not start before it."""
    return [*([str(offload.COMMAND)] if words[:1] == ("run",) else [sys.executable, "-m", "blastoff"]), *map(str, words)]


def changed_helper(folder: Path, code: str) -> dict[str, str]:
    """Variables with which each launcher's Python process (python/blastoff/run/helper.py) runs this code first."""
    folder.mkdir(exist_ok=True)
    changes = f"import sys\nif 'blastoff.run.helper' in sys.orig_argv:\n    exec({code!r})\n"
    (folder / "sitecustomize.py").write_text(changes)
    return {"PYTHONPATH": f"{folder}:{offload.ROOT / 'python'}"}

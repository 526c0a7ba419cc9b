"""Programs as the shell finds them, and whether they can run with a preloaded library."""

import os
from pathlib import Path

from blastoff import launcher


def find_program(name: str) -> Path:
    """The file that would be executed, looked up in PATH as the shell does."""
    return Path(launcher.ask("--find", name)[0])


def why_not_preloadable(program: Path) -> str:
    """Why the dynamic linker would not preload into this program; "" if it would, or if that is unknown."""
    return launcher.ask("--preloadable", str(program))[0]


def script_interpreter(script: Path) -> list[str]:
    """The words after a script's #!; none if it is not a script."""
    with script.open("rb") as file:
        line = file.readline(256)
    if not line.startswith(b"#!"):
        return []
    return os.fsdecode(line[2:]).split(maxsplit=1)

"""What a program is made of before it runs: the interpreters of a script, and the libraries that its dynamic loader would load."""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from blastoff import elf, executable
from blastoff.errors import CommandError

NESTED_SCRIPTS = 4
"""Most script interpreters that are themselves scripts; the kernel does not follow more either."""

BY_SUFFIX = {".py": "python3", ".R": "Rscript", ".r": "Rscript", ".jl": "julia"}
"""The interpreter of a script without a #! line, by the file's suffix."""

FOUND = re.compile(r"^\s+(?:.* => )?(/.*|\./.*) \(0x[0-9a-f]+\)$")
MISSING = re.compile(r"^\s+(.*) => not found$")
LIST_SECONDS = 60

GLIBC_LOADERS = ("ld-linux", "ld-lsb", "ld-2.", "ld.so", "ld64.so")
"""Prefixes of the names of glibc's loaders. The loader of another C library might run the program instead of listing its libraries."""


@dataclass
class Libraries:
    """What the loader would load: paths in its order, and the names that it does not find."""

    paths: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    error: str = ""


def behind_env(words: list[str]) -> str:
    """The program that `#!/usr/bin/env` starts; "" if the line does not name it."""
    rest = " ".join(words[1:]).split()
    return next((word for word in rest if not word.startswith("-") and "=" not in word), "")


def resolve_scripts(program: Path) -> tuple[Path, list[Path]]:
    """The ELF file that runs when `program` is executed, and the scripts on the way to it."""
    scripts: list[Path] = []
    while not elf.is_elf(program):
        words = executable.script_interpreter(program) or [*filter(None, [BY_SUFFIX.get(program.suffix)])]
        if not words or len(scripts) == NESTED_SCRIPTS:
            raise CommandError(f"{program}: neither a program nor a script with an interpreter line (#!)")
        scripts.append(program)
        name = behind_env(words) if Path(words[0]).name == "env" else words[0]
        program = executable.find_program(name or words[0])
    return program, scripts


def list_libraries(file: Path, loader: str) -> Libraries:
    """Asks the dynamic loader, which lists the libraries without running the program."""
    if not Path(loader).name.startswith(GLIBC_LOADERS):
        return Libraries(error=f"its dynamic loader {loader} is not glibc's")
    environment = os.environ | {"LD_TRACE_LOADED_OBJECTS": "1"}  # (--list stops at the first library that is missing)
    command = [loader, str(file.absolute())]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", errors="replace", timeout=LIST_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Libraries(error=f"its dynamic loader {loader} cannot be asked: {error}")
    libraries = Libraries()
    for line in done.stdout.splitlines():
        if found := FOUND.match(line):
            libraries.paths.append(found[1])
        elif missing := MISSING.match(line):
            libraries.missing.append(missing[1])
    if done.returncode != 0 and not libraries.paths and not libraries.missing:
        said = (done.stderr.strip() or f"status {done.returncode}").splitlines()[0]
        libraries.error = f"its dynamic loader {loader} cannot list its libraries: {said}"
    return libraries

"""What the benchmarks need besides the standard library: packages, and programs that are compiled first."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys
from collections.abc import Iterable


def require(*names: str) -> None:
    """Ends the program with one line if a package is missing, before anything is measured."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        program = pathlib.Path(sys.argv[0]).name
        raise SystemExit(f"{program}: the Python package {missing[0]} is missing: {sys.executable} -m pip install {' '.join(missing)}")


def build(command: Iterable[object]) -> None:
    """Runs a compiler or a build, and ends the program with one line after the tool's own messages if that fails."""
    program, words = pathlib.Path(sys.argv[0]).name, [str(word) for word in command]
    try:
        status = subprocess.run(words, stdout=subprocess.DEVNULL).returncode
    except OSError as failure:
        raise SystemExit(f"{program}: cannot run {words[0]}: {failure.strerror}") from None
    if status != 0:
        raise SystemExit(f"{program}: the measured programs were not built: {' '.join(words)} ended with status {status}")


def blocks_program(source: pathlib.Path, folder: pathlib.Path, library: pathlib.Path, *options: str, compiler: str = "g++") -> pathlib.Path:
    """Compiles a program that uses blocks, and links it with the library."""
    library, program = library.resolve(), folder / source.stem
    include = pathlib.Path(__file__).resolve().parents[1] / "include"
    build([compiler, "-std=c++17", "-O2", f"-I{include}", source, "-o", program, library, f"-Wl,-rpath,{library.parent}", *options])
    return program

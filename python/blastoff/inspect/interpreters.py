"""What an interpreter loads while it runs: the BLAS of NumPy and SciPy, and R's own program, which a shell script starts."""

import json
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from blastoff.inspect import dependencies

PYTHON = re.compile(r"python(3(\.[0-9]+)?)?")
PACKAGES = {
    "numpy": ("_core/_multiarray_umath*.so", "core/_multiarray_umath*.so", "linalg/_umath_linalg*.so"),
    "scipy": ("linalg/_fblas*.so", "linalg/_flapack*.so"),
}
"""The modules of each package that call BLAS or LAPACK. The libraries that a module needs are found as for any library."""

WHERE = """import importlib.util, json, sys
found = {name: importlib.util.find_spec(name) for name in sys.argv[1:]}
print(json.dumps({name: list(spec.submodule_search_locations or []) for name, spec in found.items() if spec}))"""
"""A program that prints where packages lie, without importing them."""

ANSWER_SECONDS = 30


@dataclass(frozen=True)
class Module:
    """A file that a package loads."""

    package: str
    path: Path


def ask(command: list[str]) -> str:
    """What an interpreter prints; "" if it cannot be started, fails or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=ANSWER_SECONDS, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def python_modules(python: Path) -> list[Module]:
    """The modules of NumPy and SciPy that this Python would load, where it has them."""
    answer = ask([str(python), "-c", WHERE, *PACKAGES])
    folders = json.loads(answer) if answer else {}
    return [
        Module(package, path)
        for package, patterns in PACKAGES.items()
        for folder in folders.get(package, [])
        for pattern in patterns
        for path in sorted(Path(folder).glob(pattern))
    ]


def r_program(script: Path) -> list[Module]:
    """The program behind the shell script `R`."""
    home = ask([str(script.with_name("R")), "RHOME"]).strip()
    program = Path(home, "bin/exec/R")
    return [Module("R", program)] if home and program.is_file() else []


def is_python(program: Path) -> bool:
    return PYTHON.fullmatch(program.name) is not None


def later_modules(programs: Iterable[Path]) -> list[Module]:
    """The modules that a known interpreter loads while it runs: the first such interpreter among the programs."""
    for program in programs:
        if is_python(program):
            return python_modules(program)
        if program.name in ("R", "Rscript"):
            return r_program(program)
    return []


def libraries_of(modules: Iterable[Module], loader: str) -> list[Module]:
    """The modules, each followed by the libraries that it needs, without repetitions."""
    found: dict[Path, Module] = {}
    for module in modules:
        needed = (Path(path) for path in dependencies.list_libraries(module.path, loader).paths)
        for path in (module.path, *needed):
            found.setdefault(path.resolve(), Module(module.package, path))
    return list(found.values())

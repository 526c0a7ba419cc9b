"""Builds small programs and libraries as each test requires, and checks which of their BLAS calls each interceptor reaches.

BLASTOFF_TEST_CC and BLASTOFF_TEST_FC name other compilers, BLASTOFF_TEST_EMULATOR the command (qemu-aarch64 -L ...) that runs their
programs.
"""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import offload

SOURCES = offload.ROOT / "tests" / "scenario" / "linking"
C_COMPILER = shlex.split(os.environ.get("BLASTOFF_TEST_CC", "gcc"))
FORTRAN_COMPILER = shlex.split(os.environ.get("BLASTOFF_TEST_FC", "gfortran"))
EMULATOR = shlex.split(os.environ.get("BLASTOFF_TEST_EMULATOR", ""))
# Options of CMake's targets (cmake/compile_options.cmake) that gfortran does not know.
C_WARNINGS = ["-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Werror"]
INCLUDES = [f"-I{SOURCES / 'common'}", f"-I{SOURCES.parent / 'programs'}"]

# The number of calls that a program or plugin of tests/scenario/linking makes (common/product.h).
CALLS = 3


def machine() -> str:
    """The architecture for which the compiler makes programs: "x86_64", "aarch64"."""
    return subprocess.run([*C_COMPILER, "-dumpmachine"], capture_output=True, text=True, check=True).stdout.split("-")[0]


class Workshop:
    """Builds into one directory. Sources are named relative to tests/scenario/linking; a Path is linked as it is."""

    def __init__(self, directory: Path):
        self.directory = directory

    def program(self, name: str, *sources: str | Path, flags: Sequence[str] = ()) -> Path:
        return self._build(name, sources, flags)

    def shared_object(self, name: str, *sources: str | Path, flags: Sequence[str] = (), soname: bool = True) -> Path:
        """Builds lib<name>.so, with this name as its DT_SONAME or without one; `name` may begin with a folder."""
        path = Path(name)
        file = path.with_name(f"lib{path.name}.so")
        named = [f"-Wl,-soname,{file.name}"] if soname else []
        return self._build(str(file), sources, ["-shared", "-fPIC", *named, *flags])

    def blas(self, name: str = "toy", flags: Sequence[str] = ()) -> Path:
        """The toy BLAS: dgemm_, and toy_calls(), which returns how often dgemm_ was called."""
        return self.shared_object(name, "common/blas.c", flags=flags)

    def strip(self, path: Path) -> Path:
        subprocess.run(["strip" if not EMULATOR else f"{C_COMPILER[0].removesuffix('gcc')}strip", path], check=True)
        return path

    def _build(self, name: str, sources: Sequence[str | Path], flags: Sequence[str]) -> Path:
        result = self.directory / name
        result.parent.mkdir(exist_ok=True)
        fortran = any(str(source).endswith(".f90") for source in sources)
        compiler = FORTRAN_COMPILER if fortran else [*C_COMPILER, "-std=gnu11", *C_WARNINGS, *INCLUDES]
        inputs = [str(source if isinstance(source, Path) else SOURCES / source) for source in sources]
        found = {f"-Wl,-rpath,{source.parent}" for source in sources if isinstance(source, Path) and source.suffix == ".so"}
        command = [*compiler, "-O1", "-g", "-Wall", "-Wextra", *inputs, *sorted(found), *flags, "-lm", "-o", str(result)]
        made = subprocess.run(command, capture_output=True, text=True)
        assert made.returncode == 0, f"{shlex.join(command)}\n{made.stderr}"
        return result


@dataclass(frozen=True)
class Reach:
    """The calls that the report counts, under each interceptor. Without any calls there is no report."""

    patch: int
    auto: int
    preload: int


EVERYWHERE = Reach(patch=CALLS, auto=CALLS, preload=CALLS)
PATCHED_ONLY = Reach(patch=CALLS, auto=CALLS, preload=0)
EXPORTED_ONLY = Reach(patch=0, auto=CALLS, preload=CALLS)
NOWHERE = Reach(patch=0, auto=0, preload=0)


def environment(**changes: str) -> dict[str, str]:
    """No BLAS is in LD_LIBRARY_PATH, because these programs have their own."""
    return offload.environment(blas=None, **changes)


def plain(command: Sequence[str | Path], **options) -> offload.Outcome:
    options.setdefault("env", environment())
    return offload.run([*EMULATOR, *command], **options)


def intercepted(command: Sequence[str | Path], mode: str, *, env: dict[str, str] | None = None, **options) -> offload.Outcome:
    """Runs a command with every call offloaded to the simulated device and verified."""
    env = environment() if env is None else env
    if not EMULATOR:
        return offload.offloaded(command, settings=[f"--intercept={mode}"], env=env, launched=False, **options)
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        # On other architectures no code shows that the toy BLAS's functions are BLAS routines.
        trusted = "" if machine() == "x86_64" else "dgemm_,cblas_dgemm"
        settings = {
            "trust": trusted,
            "intercept": mode,
            "device": "simulated",
            "min_size": "0",
            "verify": "abort",
            "summary": "never",
            "report": str(report),
        }
        preloads = ":".join(filter(None, [str(offload.LIBRARY), env.get("LD_PRELOAD")]))
        env = {name: value for name, value in env.items() if name != "LD_PRELOAD"}
        env |= {f"BLASTOFF_{name.upper()}": value for name, value in settings.items()}
        # The library must not be preloaded into the emulator itself. (Its -E takes no value with commas; no value here has any.)
        outcome = offload.run([*EMULATOR, "-E", f"LD_PRELOAD={preloads}", *command], env=env, **options)
        outcome.report = offload.read_report(report)
        return outcome


def check(command: Sequence[str | Path], reach: Reach, **options) -> dict[str, offload.Outcome]:
    """Compares each interceptor with the plain program: same output, status and errors, correct results, and the number of offloaded
    calls that `reach` says. Returns the outcomes by interceptor."""
    expected = plain(command, **options)
    assert (expected.status, "WRONG" in expected.stdout) == (0, False), expected.stdout + expected.stderr
    assert ": right" in expected.stdout
    outcomes = {}
    for mode, calls in vars(reach).items():
        outcome = intercepted(command, mode, **options)
        assert outcome.stdout == expected.stdout, f"{mode}: {outcome.stdout}{outcome.stderr}instead of\n{expected.stdout}"
        assert outcome.status == expected.status, f"{mode}: {outcome.stderr}"
        assert outcome.stderr_of_program == expected.stderr, mode
        totals = outcome.report.get("totals", {"calls": 0, "offloaded": 0})
        assert (totals["calls"], totals["offloaded"]) == (calls, calls), mode
        outcomes[mode] = outcome
    return outcomes


def patched(outcome: offload.Outcome, path: Path | str = "") -> list[str]:
    """The functions that were patched in a library, or in the program."""
    return [name for found in _objects(outcome, path) for name in found["patched"]]


def refused(outcome: offload.Outcome, path: Path | str = "") -> dict[str, str]:
    """Function -> the reason for not patching it."""
    return {entry["name"]: entry["reason"] for found in _objects(outcome, path) for entry in found["refused"]}


def left_alone(outcome: offload.Outcome, path: Path | str = "") -> dict[str, str]:
    """Function -> the rule that says it is not a BLAS routine."""
    return {entry["name"]: entry["rule"] for found in _objects(outcome, path) for entry in found["left_alone"]}


def _objects(outcome: offload.Outcome, path: Path | str) -> list[dict]:
    return [found for found in outcome.report["interception"]["objects"] if found["path"] == str(path)]

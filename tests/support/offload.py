"""Runs a program with and without Blastoff, and collects the results of both runs."""

import functools
import itertools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLASTOFF_TEST_BUILD", ROOT / "build"))
LIBRARY = BUILD / "libblastoff.so"
COMMAND = Path(os.environ.get("BLASTOFF_TEST_COMMAND", ROOT / ".venv" / "bin" / "blastoff"))
PROGRAMS = BUILD / "tests" / "scenario"
PREFIX = "blastoff: "
FAKE_GPU = BUILD / "tests" / "fake_cuda"  # libraries of a driver that stands for a GPU's
TRACKER = os.environ.get("BLASTOFF_TEST_TRACKER", "auto")  # the tracker by which first-use notices writes, unless a test sets another


def multiarch() -> str:
    """Debian's name of this machine's library directory: "x86_64-linux-gnu"."""
    if not shutil.which("gcc"):
        return f"{os.uname().machine}-linux-gnu"
    asked = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True)
    return asked.stdout.strip() or f"{os.uname().machine}-linux-gnu"


# Debian's BLAS packages, in the folders where they are installed, or unpacked (tests/gpu/run).
LIBRARIES = Path(os.environ.get("BLASTOFF_TEST_LIBRARIES", f"/usr/lib/{multiarch()}"))
REFERENCE_BLAS = LIBRARIES / "blas"
REFERENCE_LAPACK = LIBRARIES / "lapack"
OPENBLAS = LIBRARIES / "openblas-pthread"
FFTW = LIBRARIES / "fftw"  # exists only where it was unpacked

# The reasons for which calls stay on the CPU, as in reports (src/report/refusals.def).
BELOW_MIN_SIZE = "average size below the threshold"
TRIVIAL = "nothing to compute (alpha or k is 0, or the result is empty)"
INVALID_ARGUMENTS = "invalid arguments"
UNSUPPORTED = "the device does not support this operation"
DEVICE_NONE = "offloading is switched off (device none)"
NO_DEVICE = "no usable device"
DEVICE_LOST = "the device failed"
NO_RESULT = "the computation failed, or its result was not finite"
FORKED = "forked child process"
EXITING = "the process was ending"
CONFINED = "the program had forbidden itself system calls (seccomp)"
BY_ONE_RANK = "solved by one rank for all, on its device"
BY_SEVERAL_RANKS = "solved by several ranks for all, on a device each"
BY_ALL_RANKS = "solved by all ranks together"


@dataclass
class Outcome:
    """A run's status, its output, and its report (empty if none was written)."""

    status: int
    stdout: str
    stderr: str
    report: dict = field(default_factory=dict)

    @property
    def lines(self) -> list[str]:
        """Blastoff's lines, without the name in front."""
        return [line.removeprefix(PREFIX) for line in self.stderr.splitlines() if line.startswith(PREFIX)]

    @property
    def stderr_of_program(self) -> str:
        """stderr without Blastoff's lines."""
        return "".join(line for line in self.stderr.splitlines(True) if not line.startswith(PREFIX))

    def total(self, name: str) -> float:
        return self.report["totals"][name]

    def refused(self) -> dict[str, int]:
        """Reason -> number of calls that stayed on the CPU for this reason."""
        return {refusal["reason"]: refusal["calls"] for refusal in self.report["refusals"]}

    def routine(self, name: str) -> dict:
        return next(routine for routine in self.report["routines"] if routine["name"] == name)

    @property
    def tracks(self) -> bool:
        """Whether first-use was in force: not under the policy copy, and not where the kernel cannot track writes."""
        return self.report["policy"]["in_force"] == "first-use"


EVERY_CASE = os.environ.get("BLASTOFF_TEST_EVERY_CASE") == "1"
"""Whether tests run all of their cases and not only those for which continuous integration has time."""


def in_turns(*choices: Sequence) -> list[tuple]:
    """Half of the combinations: each value meets half of those of another choice. All of them with BLASTOFF_TEST_EVERY_CASE=1."""
    combinations = itertools.product(*map(list, choices))
    return [one for one in combinations if EVERY_CASE or sum(map(list.index, map(list, choices), one)) % 2 == 0]


def environment(blas: Path | None = REFERENCE_BLAS, beside: Sequence[Path] = (), **changes: str) -> dict[str, str]:
    """This process's environment, with one BLAS chosen, which has one thread. `beside` are further folders of libraries. The only
    Blastoff settings are that the first call opens the device and that earlier runs do not count, as chance would otherwise decide
    which calls run on the device. The environment also makes reads past the end of a matrix detectable."""
    result = {name: value for name, value in os.environ.items() if not name.startswith(("BLASTOFF_", "LD_", "COLUMNS"))}
    searched = [str(folder) for folder in (blas, *beside) if folder is not None]
    searched += filter(None, [os.environ.get("LD_LIBRARY_PATH")])  # on some machines the GPU driver is there
    if searched:
        result["LD_LIBRARY_PATH"] = ":".join(searched)
    result.setdefault("OPENBLAS_NUM_THREADS", "1")
    result["BLASTOFF_START"] = "now"
    result["BLASTOFF_HISTORY"] = "off"
    result["BLASTOFF_SIMULATED_SLACK"] = "off"
    result.update(changes)
    return result


def run(command: Sequence[str | Path], *, env: dict[str, str], cwd: Path | None = None, stdin: str = "", timeout: float = 120) -> Outcome:
    process = subprocess.run(
        [str(part) for part in command], env=env, cwd=cwd, input=stdin, capture_output=True, text=True, errors="replace", timeout=timeout
    )
    return Outcome(process.returncode, process.stdout, process.stderr)


def plain(command: Sequence[str | Path], **options) -> Outcome:
    """Runs a command without Blastoff."""
    options.setdefault("env", environment())
    return run(command, **options)


def read_report(path: Path) -> dict:
    return json.loads(path.read_text()) if path.exists() else {}


def offloaded(
    command: Sequence[str | Path],
    *,
    policy: str = "first-use",
    device: str = "simulated",
    min_size: int | None = 0,
    verify: str = "abort",
    settings: Sequence[str] = (),
    env: dict[str, str] | None = None,
    launched: bool = True,
    **options,
) -> Outcome:
    """Runs a command by `blastoff run`, in verify mode unless `verify` says otherwise; `settings` are further options of the launcher.

    All calls from `min_size` on are offloaded, unless the settings or the environment choose a way of deciding. Without `launched`, the command
    runs with only the library preloaded, in a fifth of the time: for tests of what happens in one process, which reports for itself."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        chosen = [f"--policy={policy}", f"--device={device}", f"--verify={verify}", f"--tracker={TRACKER}", f"--report={report}", "--summary=never"]
        if min_size is not None:
            chosen.append(f"--min-size={min_size}")
        if "BLASTOFF_DECIDE" not in (env or {}) and not any(option.startswith("--decide") for option in settings):
            chosen.append("--decide=size")
        env = environment() if env is None else env
        if launched:
            outcome = run([COMMAND, "run", *chosen, *settings, "--", *command], env=env, **options)
        else:
            outcome = run(command, env=env | preloading(env, [*chosen, *settings]), **options)
        outcome.report = read_report(report)
        return outcome


@functools.cache
def launchers_choice() -> dict[str, str]:
    """What the launcher sets on this machine besides settings: the libraries to preload, and an option of the C library."""
    printed = run([COMMAND, "run", "--device=none", "--summary=never", "--", "env", "-0"], env=environment(None)).stdout
    variables = dict(line.split("=", 1) for line in printed.split("\0") if line)
    return {name: variables[name] for name in ("LD_PRELOAD", "GLIBC_TUNABLES")}


def preloading(env: dict[str, str], settings: Sequence[str]) -> dict[str, str]:
    """The variables that the launcher would set for these settings in a program with this environment."""
    pairs = [setting.removeprefix("--").partition("=") for setting in settings]
    variables = {f"BLASTOFF_{name.replace('-', '_').upper()}": value if equals else "1" for name, equals, value in pairs}
    libraries = ":".join(filter(None, [launchers_choice()["LD_PRELOAD"], env.get("LD_PRELOAD")]))
    return launchers_choice() | variables | {"LD_PRELOAD": libraries}


def preloaded(command: Sequence[str | Path], *, env: dict[str, str] | None = None, blas: Path | None = REFERENCE_BLAS, **options) -> Outcome:
    """Runs a command with only LD_PRELOAD and environment variables; `env` holds the BLASTOFF_* settings."""
    settings = {"BLASTOFF_TRACKER": TRACKER, **(env or {})}
    return run(command, env=environment(blas, LD_PRELOAD=str(LIBRARY), **settings), **options)


def program(name: str, *arguments: object) -> list[str]:
    return [str(PROGRAMS / name), *(str(argument) for argument in arguments)]


@functools.cache
def why_not_tracked_by(tracker: str) -> str:
    """The reason why this machine's kernel cannot track writes by this tracker; "" if it can."""
    outcome = offloaded(program("products"), settings=[f"--tracker={tracker}"])
    return "" if outcome.tracks else outcome.report["policy"]["reason"]

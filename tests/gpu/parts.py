"""The parts that tests/gpu/run can run on a GPU machine, and the commands of each."""

from __future__ import annotations

import dataclasses
import fnmatch
import importlib.util
import json
import math
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRATCH = pathlib.Path(tempfile.gettempdir()) / f"blastoff-gpu-{os.getuid()}"


@dataclasses.dataclass
class Place:
    """The places of the build, of Debian's BLAS packages, and of the results."""

    build: pathlib.Path
    libraries: pathlib.Path | None  # the folder with blas/ and openblas-pthread/; None: the system's libraries
    results: pathlib.Path
    device: str
    quick: bool
    only: str  # parts of bench/run.py to run, or words in the names of steps to run

    @property
    def preloaded(self) -> pathlib.Path:
        return self.build / "libblastoff.so"

    @property
    def command(self) -> pathlib.Path:
        return SCRATCH / "blastoff"

    @property
    def mpi(self) -> pathlib.Path:
        return self.build.parent / "mpi"


@dataclasses.dataclass
class Step:
    name: str
    command: list[str]
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    expected: str = ""  # a pattern that must occur in the output, since a test runner that skips everything also succeeds
    show: str = ""  # a pattern of lines that are printed besides being logged
    findings: pathlib.Path | None = None  # if the step writes this file, the end of its output says what failed
    limit: float = math.inf  # seconds, within the limit of its part


@dataclasses.dataclass
class Part:
    name: str
    limit: float  # seconds
    steps: Callable[[Place], list[Step]]


def build_steps(place: Place) -> list[Step]:
    return [
        Step("library loads", ["/bin/true"], {"LD_PRELOAD": str(place.preloaded)}, expected=r"\A\Z"),
        Step("doctor", [str(place.command), "doctor"], {"BLASTOFF_DEVICE": place.device}, show=".*"),
    ]


def contract_steps(place: Place) -> list[Step]:
    """The contract suites on this device only (other machines run them on all other devices), and the unit tests for this kernel."""
    environment = {}
    if place.libraries:
        # Takes the reference libraries: some releases of OpenBLAS, the default on many systems, have a trtrs that refuses valid arguments.
        searched = [str(place.libraries / "blas"), str(place.libraries / "lapack"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        environment["LD_LIBRARY_PATH"] = ":".join(searched)
    if place.device.startswith("cuda"):
        environment["REQUIRE_GPU"] = "1"
    programs = sorted([*place.build.glob("tests/contract_*"), *place.build.glob("tests/unit_*")])
    # unit_intercept looks for its libraries where they were built, and does not use the GPU.
    programs = [program for program in programs if program.name != "unit_intercept"]
    steps = []
    for program in programs:
        if program.is_file() and os.access(program, os.X_OK):
            tests = f"*{place.device.partition(':')[0]}*" if program.name.startswith("contract_") else "*"
            command = [str(program), "--gtest_color=no", f"--gtest_filter={tests}"]
            steps.append(Step(program.name, command, environment, expected=r"PASSED  \] [1-9]"))
    return steps


def pytest_step(place: Place, name: str, *arguments: str) -> Step:
    command = [sys.executable, "-u", "-m", "pytest", "-vv", "-ra", "--tb=short", f"--blastoff-device={place.device}"]
    if importlib.util.find_spec("xdist"):
        command += ["-n", str(min(6, len(os.sched_getaffinity(0))))]
    environment = {"BLASTOFF_TEST_BUILD": str(place.build), "BLASTOFF_TEST_COMMAND": str(place.command)}
    if place.libraries:
        environment["BLASTOFF_TEST_LIBRARIES"] = str(place.libraries)
    return Step(name, [*command, *arguments], environment, expected=r"\b[1-9]\d* passed")


def netlib_steps(place: Place) -> list[Step]:
    files = [path for path in sorted(ROOT.glob("tests/program/test_netlib*.py")) if "netlib_lapack" not in path.name]
    return [pytest_step(place, "netlib", *map(str, files))]


def netlib_lapack_steps(place: Place) -> list[Step]:
    return [pytest_step(place, "netlib LAPACK", str(ROOT / "tests/program/test_netlib_lapack.py"))]


def program_steps(place: Place) -> list[Step]:
    files = [path for path in sorted(ROOT.glob("tests/program/test_*.py")) if "netlib" not in path.name]
    return [
        pytest_step(place, "scenarios", *map(str, sorted(ROOT.glob("tests/scenario/test_*.py")))),
        pytest_step(place, "programs", *map(str, files)),
    ]


def coherence_steps(place: Place) -> list[Step]:
    step = pytest_step(place, "random coherence", str(ROOT / "tests/scenario/coherence"))
    step.environment |= {"BLASTOFF_COHERENCE_SEEDS": "3", "BLASTOFF_COHERENCE_STEPS": "1000"}
    return [step]


def bench_command(place: Place, script: str, output: str) -> list[str]:
    (place.results / output).unlink(missing_ok=True)  # it may be left from an earlier run
    command = [sys.executable, "-u", str(ROOT / "bench" / script), "--device", place.device]
    command += ["--blastoff", str(place.preloaded)]
    if (place.build / "bench").is_dir():
        command += ["--programs", str(place.build / "bench")]
    command += ["--output", str(place.results / output)]
    if place.libraries:
        command += ["--cpu-blas", str(place.libraries / "openblas-pthread")]
    return command + (["--quick"] if place.quick else [])


def bench_steps(place: Place) -> list[Step]:
    only = ["--only", place.only] if place.only else []
    return [Step("bench", bench_command(place, "run.py", "bench.json") + only, findings=place.results / "bench.json")]


def staying_steps(place: Place) -> list[Step]:
    scale = ["--scale", "0.1", "--rounds", "1"] if place.quick else []
    command = [part for part in bench_command(place, "staying.py", "staying.json") if part != "--quick"]
    return [Step("staying", command + scale, expected=r"accumulate +\d", show=r" +\w+ +\d+ +\d+ ")]


def minsize_steps(place: Place) -> list[Step]:
    return [Step("minsize", bench_command(place, "minsize.py", "min-size.json"), show=r"\wgemm: ")]


def interception_steps(place: Place) -> list[Step]:
    return [Step("interception", bench_command(place, "interception.py", "interception.json"), show=r".*(│|ns|ms|MISSED)")]


def numpy_step(place: Place, name: str) -> Step:
    """The step that runs bench/NAME.py."""
    command = [
        sys.executable,
        "-u",
        str(ROOT / "bench" / f"{name}.py"),
        "--library",
        str(place.preloaded),
        "--output",
        str(place.results / f"{name}.json"),
    ]
    return Step(name, command + (["--sizes", "128"] if place.quick else []), show=r"(row|[a-z-]+ +\d+ )")


def lapack_steps(place: Place) -> list[Step]:
    return [numpy_step(place, "lapack")]


def level2_steps(place: Place) -> list[Step]:
    return [numpy_step(place, "level2")]


def fft_steps(place: Place) -> list[Step]:
    results = place.results / "fft.json"
    command = [sys.executable, "-u", str(ROOT / "bench" / "fft.py"), "--library", str(place.preloaded), "--output", str(results)]
    command += ["--program", str(place.build / "bench" / "fft")]
    environment = {}
    if place.libraries:
        searched = [str(place.libraries / "fftw"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        environment["LD_LIBRARY_PATH"] = ":".join(searched)
    return [Step("fft", command + (["--sizes", "64"] if place.quick else []), environment, show=r"(row|[a-z]+ +\d+ )")]


def blocks_steps(place: Place) -> list[Step]:
    command = [sys.executable, "-u", str(ROOT / "bench" / "blocks.py"), "--device", place.device, "--library", str(place.preloaded)]
    command += ["--program", str(place.build / "bench_blocks"), "--output", str(place.results / "blocks.json")]
    return [Step("blocks", command + (["--quick"] if place.quick else []), show=".*")]


def mpi_starters(place: Place) -> dict[str, list[str]]:
    """The command that starts ranks, for each MPI of the pack. The number of ranks and the program follow it."""
    unbound = ["--oversubscribe", "--bind-to", "none", "-n"]
    starters = {
        "openmpi": [str(place.mpi / "openmpi/bin/mpirun"), *unbound],
        "mpich": [str(place.mpi / "mpich/bin/mpiexec"), "-n"],
        "openmpi-cuda": [str(place.mpi / "openmpi-cuda/bin/mpirun"), *unbound],
    }
    # The same MPI without access to device memory of other processes: messages between devices pass through the host inside the MPI.
    starters["openmpi-cuda-no-ipc"] = [starters["openmpi-cuda"][0], "--mca", "btl_smcuda_use_cuda_ipc", "0", *unbound]
    return {name: words for name, words in starters.items() if pathlib.Path(words[0]).exists()}


def mpi_program(place: Place, library: str, program: str) -> str:
    """The program that was compiled for this MPI. Programs for Open MPI also run with its CUDA-aware build."""
    return str(place.mpi / ("mpich" if library == "mpich" else "openmpi") / "programs" / program)


def mpi_blocks_steps(place: Place) -> list[Step]:
    """Blocks on two ranks: checks every transfer, then measures messages."""
    environment = {"BLASTOFF_DEVICE": place.device, "BLASTOFF_SUMMARY": "never"}
    fortran = [str(place.build / "tests/scenario/blocks_f90")]
    steps = [Step("blocks in Fortran", fortran, environment, expected=r"[1-9] devices: right", limit=30)]
    for library, starter in mpi_starters(place).items():
        check = [*starter, "2", mpi_program(place, library, "check_blocks"), "-1", "few" if place.quick else "every"]
        steps.append(Step(f"blocks right, {library}", check, environment, expected=r"(?s)(ok: .*devices [1-9].*){2}", show="ok: ", limit=40))
        command = [sys.executable, "-u", str(ROOT / "bench/blocks_mpi.py"), "--device", place.device, "--library", str(place.preloaded)]
        command += ["--starter", shlex.join([*starter, "2"]), "--program", mpi_program(place, library, "blocks_mpi")]
        command += ["--output", str(place.results / f"blocks-mpi-{library}.json"), *(["--quick"] if place.quick else [])]
        steps.append(Step(f"blocks, {library}", command, show=".*", limit=40))
    return steps


def mpi_step(place: Place, name: str, script: str, program: str, seconds: float, *options: str) -> Step:
    """A step with jobs of Open MPI, each with one launcher for all of its ranks. The script stops by itself after `seconds`."""
    searched = [str(place.libraries / folder) for folder in ("openblas-pthread", "lapack")] if place.libraries else []
    environment = {"LD_LIBRARY_PATH": ":".join([*searched, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])}
    if place.quick:
        environment |= {"BLASTOFF_MIN_SIZE": "100", "BLASTOFF_DECIDE": "size"}
    command = [sys.executable, "-u", str(ROOT / "bench" / script), "--device", place.device, "--command", str(place.command)]
    command += ["--starter", shlex.join(mpi_starters(place)["openmpi"]), "--program", program, "--seconds", str(seconds)]
    command += ["--output", str(place.results / f"{name}.json"), *options]
    return Step(name, command, environment, show=".*", limit=seconds + 30)


def mpi_scalapack_steps(place: Place, ranks: int, seconds: float) -> list[Step]:
    """ScaLAPACK's routines that use products, then its eigenproblems, gathered and not."""
    program = mpi_program(place, "openmpi", "scalapack")
    products, eigen = ["pdgemm", "pdtrsm", "pdpotrf", "pdgetrf"], ["pdsyevd", "pzheevd", "pzhegvx"]
    sizes = ["--order", "4000", "--eigen-order", "2000", "--repeats", "6"]
    if place.quick:
        products, eigen = (products, eigen) if ranks == 4 else (products[:1], eigen[:1])
        sizes = ["--order", "400", "--eigen-order", "300", "--repeats", "1"]
    sizes += ["--ranks", str(ranks)]
    blocks = "64,256" if ranks == 4 else "256"
    half = [*sizes, "--blocks", blocks, "--only", ",".join(products)], [*sizes, "--blocks", "64", "--only", ",".join(eigen)]
    return [
        mpi_step(place, f"scalapack-{ranks}", "scalapack.py", program, 0.65 * seconds, *half[0]),
        mpi_step(place, f"eigenproblems-{ranks}", "scalapack.py", program, 0.35 * seconds, *half[1], "--gather", "auto,always,never"),
    ]


def mpi_steps(place: Place) -> list[Step]:
    """MPI programs with the MPI libraries of the pack. Slow steps stop after their share of the time."""
    if not place.mpi.is_dir():
        return []
    ranks = ["--iterations", "3", *(["--quick"] if place.quick else [])]
    return [
        *mpi_blocks_steps(place),
        *mpi_scalapack_steps(place, 4, 105),
        *mpi_scalapack_steps(place, 16, 85),
        mpi_step(place, "ranks", "ranks.py", str(place.build / "bench/ranks"), 100, *ranks),
    ]


def scalapack_steps(place: Place) -> list[Step]:
    """ScaLAPACK's own testers with MPICH, all calls made as wholes."""
    mpich = place.mpi / "mpich"
    if not (mpich / "testers").is_dir():
        return []
    # The testers name no folder for their libraries, and must not take a BLAS of this machine.
    searched = [str(place.libraries / folder) for folder in ("openblas-pthread", "lapack")] if place.libraries else []
    searched += [str(mpich / "lib"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    command = [sys.executable, str(ROOT / "tests/scalapack/run"), "--device", place.device, "--command", str(place.command)]
    command += ["--testers", str(mpich / "testers")]
    command += ["--starter", shlex.join(mpi_starters(place)["mpich"]), "--preload", str(mpich / "lib/yielding.so")]
    command += ["--jobs", str(max(1, len(os.sched_getaffinity(0)) // 4)), "--seconds", "120"]
    families = ["pb3tst", "lu", "llt", "qr", "inv", "ls", "sep", "evr", "svd"]
    if place.quick:
        command, families = [*command, "--ranks", "4"], ["dllt", "dpb3tst"]
    environment = {"LD_LIBRARY_PATH": ":".join(searched)}
    return [Step(f"testers {family}", [*command, "--only", family], environment, show=r"FAILED", expected=r"[1-9]\d* passed") for family in families]


def devices_steps(place: Place) -> list[Step]:
    """Several GPUs of this machine in one process. On the simulated device, this only tries the script."""
    more = ["--nvblas"] if place.device.startswith("cuda") else ["--split", "always"]
    return [Step("devices", bench_command(place, "devices.py", "devices.json") + more, show=r"(operation|[a-z]+,|one GPU)")]


def larger_steps(place: Place) -> list[Step]:
    """Matrices larger than the device memory for them."""
    return [Step("larger", bench_command(place, "larger.py", "larger.json"), show=r"(operation|\wgemm|\wsyrk|\wtrsm|working| +[0-9])")]


def lab_steps(place: Place) -> list[Step]:
    """The memory laboratory, with the blocks of the library under test."""
    command = [str(place.command), "lab", "--device", place.device.split(",")[0], "--output", str(place.results / "lab")]
    command += ["--quick"] if place.quick else ["--minutes", "5"]
    return [Step("lab", command, expected=r"every result agrees with the CPU's", show=r".*(blocks| from \d+ launch)")]


def never_slower_steps(place: Place) -> list[Step]:
    command = [sys.executable, "-u", str(ROOT / "bench" / "never_slower.py"), "--library", str(place.preloaded)]
    command += ["--output", str(place.results / "never_slower.json")]
    quick = ["--repeats", "1", "--only", "product 500", "--modes", "default"]
    return [Step("never_slower", command + (quick if place.quick else []), show=r"(program|.* [0-9.]+ +[0-9.]+  )")]


def verdict_steps(place: Place) -> list[Step]:
    command = [sys.executable, "-u", str(ROOT / "bench" / "verdict.py"), "--library", str(place.preloaded), "--seconds", "450"]
    command += ["--output", str(place.results / "verdict.json"), "--setting", f"BLASTOFF_DEVICE={place.device}"]
    quick = ["--repeats", "1", "--only", "product 2000"]
    return [
        Step("verdict", command + (quick if place.quick else []), {"BLASTOFF_LIBRARY": str(place.preloaded)}, show=r"(program|.* [0-9.]+ +[0-9.]+  )")
    ]


def visible_steps(place: Place) -> list[Step]:
    command = [sys.executable, "-u", str(ROOT / "tests/gpu/visible.py"), str(place.command), place.device]
    return [Step("visible", command, {"BLASTOFF_LIBRARY": str(place.preloaded)}, show=r"(check|FAILED|verdict)")]


def energy_steps(place: Place) -> list[Step]:
    path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-u", str(ROOT / "tests/gpu/energy.py"), str(place.command), place.device, str(place.results / "energy.json")]
    return [Step("energy", command, {"BLASTOFF_LIBRARY": str(place.preloaded), "PYTHONPATH": path}, show=r"(check|FAILED|  energy)")]


def predict_steps(place: Place) -> list[Step]:
    """Predictions of programs with the shipped model of this GPU."""
    command = [sys.executable, "-u", str(ROOT / "bench" / "predict.py"), "--output", str(place.results / "predict.json")]
    command += ["--keep", str(SCRATCH / "predict")]
    model = shipped_model() if place.device.startswith("cuda") else None
    command += ["--device", place.device, "--machine", model] if model else ["--device", "simulated"]
    quick = ["--only", "product 500"] if place.quick else []
    return [Step("predict", command + quick, {"BLASTOFF_LIBRARY": str(place.preloaded)}, show=r".* [0-9.]+ +[0-9.]+")]


def shipped_model() -> str | None:
    """The name of the machine model for the first GPU of this machine, if there is one."""
    listed = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, check=False)
    names = listed.stdout.splitlines()
    for path in sorted((ROOT / "share/machines").glob("*.json")):
        patterns = json.loads(path.read_text())["gpu"]["names"]
        if names and any(fnmatch.fnmatchcase(names[0], pattern) for pattern in patterns):
            return path.stem
    return None


PARTS = (
    Part("build", 90, build_steps),
    Part("contract", 150, contract_steps),
    Part("netlib", 150, netlib_steps),
    Part("netlib_lapack", 300, netlib_lapack_steps),
    Part("coherence", 120, coherence_steps),
    Part("programs", 200, program_steps),
    Part("bench", 280, bench_steps),
    Part("staying", 150, staying_steps),
    Part("minsize", 90, minsize_steps),
    Part("interception", 150, interception_steps),
    Part("lapack", 300, lapack_steps),
    Part("level2", 200, level2_steps),
    Part("fft", 150, fft_steps),
    Part("blocks", 120, blocks_steps),
    Part("mpi", 400, mpi_steps),
    Part("lab", 400, lab_steps),
    Part("scalapack", 500, scalapack_steps),
    Part("devices", 500, devices_steps),
    Part("larger", 300, larger_steps),
    Part("never_slower", 600, never_slower_steps),
    Part("verdict", 600, verdict_steps),
    Part("visible", 120, visible_steps),
    Part("energy", 120, energy_steps),
    Part("predict", 300, predict_steps),
)

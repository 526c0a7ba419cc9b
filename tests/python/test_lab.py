"""`blastoff lab` on the simulated device, and on a fake driver that runs the CUDA kernels on the CPU."""

import contextlib
import ctypes
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import jsonschema
import offload
import pytest
from blastoff.errors import CommandError

np = pytest.importorskip("numpy")

from blastoff.lab import command, daxpy, findings, modes, oversubscription, pages, stream  # noqa: E402
from blastoff.lab.applications import experiment, oversubscribed, quantum_volume, srad  # noqa: E402
from blastoff.lab.blocks import open_blocks  # noqa: E402
from blastoff.lab.cuda import search  # noqa: E402
from blastoff.lab.cuda.compiler import Compiler  # noqa: E402
from blastoff.lab.cuda.device import CudaDevice  # noqa: E402
from blastoff.lab.cuda.driver import Driver  # noqa: E402
from blastoff.lab.failures import Cannot, DeviceFailed  # noqa: E402
from blastoff.lab.kernels.table import KERNELS  # noqa: E402
from blastoff.lab.modes import (  # noqa: E402
    BLOCKS,
    CHUNKS,
    EXPLICIT,
    MANAGED,
    MANAGED_BACK,
    MANAGED_PREFETCH,
    MANAGED_REMOTE,
    MODES,
    PAGE_LOCKED,
    SYSTEM,
    SYSTEM_PREFETCH,
)
from blastoff.lab.simulated import SimulatedDevice  # noqa: E402
from blastoff.lab.view import output  # noqa: E402
from lab_rig import LosesLaunches, round_row, session_on  # noqa: E402

SCHEMA = json.loads((offload.ROOT / "share" / "lab.schema.json").read_text())
FAKE = offload.ROOT / "tests" / "python" / "lab" / "fake_cuda.cpp"
KERNEL_FOLDER = offload.ROOT / "python" / "blastoff" / "lab" / "kernels"
COMPILE = ["g++", "-std=c++20", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", f"-I{KERNEL_FOLDER}", str(FAKE)]
SETS = {"daxpy": daxpy.run, "pages": pages.run, "stream": stream.run, "oversubscription": oversubscription.run, "applications": experiment.run}
SETS |= {"oversubscribed": oversubscribed.run}
LAUNCH_FAILED, OUT_OF_MEMORY = 719, 2


def checked(path: Path) -> dict:
    """The results in a directory, checked against the schema."""
    document = json.loads((path / "lab.json").read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> Path:
    """The library file with the fake driver and compiler."""
    file = tmp_path_factory.mktemp("cuda") / "fake.so"
    subprocess.run([*COMPILE, "-o", str(file)], check=True)
    return file


@pytest.fixture
def cuda(built, tmp_path) -> Path:
    """A folder with a separate libcuda.so.1 and libnvrtc.so.13 for this test, whose state is fresh."""
    for name in ("libcuda.so.1", "libnvrtc.so.13"):
        shutil.copy(built, tmp_path / name)
    return tmp_path


class Fake:
    """The fake driver with its controls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.controls = ctypes.CDLL(str(folder / "libcuda.so.1"))
        self.controls.fake_set_memory.argtypes = (ctypes.c_size_t,)
        self.controls.fake_fail.argtypes = (ctypes.c_char_p, ctypes.c_int)

    def open(self) -> CudaDevice:
        return CudaDevice(0, Driver(str(self.folder / "libcuda.so.1")), Compiler(str(self.folder)))

    def fail(self, function: str, status: int) -> None:
        self.controls.fake_fail(function.encode(), status)

    def reach_system_memory(self) -> None:
        self.controls.fake_set_attribute(88, 1)

    def leaks(self) -> int:
        return self.controls.fake_leaks()


@pytest.fixture
def fake(cuda) -> Fake:
    return Fake(cuda)


@pytest.fixture(scope="module", autouse=True)
def blocks_are_on_the_simulated_device():
    """A process can have blocks on one device only."""
    open_blocks("simulated")


# ---- The command.


@pytest.fixture
def bare(tmp_path) -> dict[str, str]:
    """The environment of a Python with NumPy and nothing else, and without Blastoff's library."""
    blocked = "import sys\nfor name in ('matplotlib', 'jinja2', 'markupsafe', 'rich', 'jsonschema'): sys.modules[name] = None\n"
    (tmp_path / "sitecustomize.py").write_text(blocked)
    return {"PYTHONPATH": f"{offload.ROOT / 'python'}:{tmp_path}", "BLASTOFF_LIBRARY": "/nowhere"}


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_everything_on_the_simulated_device(blastoff, tmp_path):
    done = blastoff("lab", "--device", "simulated", "--quick", "--output", "out")
    assert done.returncode == 0, done.stderr
    document = checked(tmp_path / "out")
    assert document["sets"].keys() == SETS.keys() and all(part["rows"] for part in document["sets"].values())
    assert document["wrong"] == 0 and document["problem"] == "" and document["skipped"] == []
    assert {row["mode"] for row in document["sets"]["daxpy"]["rows"]} == {mode.name for mode in MODES}
    assert {row["mode"] for row in document["sets"]["oversubscription"]["rows"] if row["ratio"] == 2} >= {BLOCKS.name, EXPLICIT.name}
    programs = {(row["application"], "chunks" in row["problem"]) for row in document["sets"]["applications"]["rows"]}
    in_blocks = {(row["application"], "chunks" in row["problem"]) for row in document["sets"]["applications"]["rows"] if row["mode"] == BLOCKS.name}
    assert in_blocks == programs and document["device"]["attributes"]["blocks"].endswith("libblastoff.so")
    assert {row["application"] for row in document["sets"]["applications"]["rows"]} == {
        "quantum volume",
        "needle",
        "pathfinder",
        "bfs",
        "hotspot",
        "srad",
    }
    assert {finding["verdict"] for finding in document["findings"]} == {"cannot tell"} and len(document["findings"]) == len(findings.CLAIMS)
    page = (tmp_path / "out" / "lab.html").read_text()
    assert page.count("<svg") == (8 + 6) + 1 + 2 + (6 + 3) + 8 and not re.search(r'(?:src|href)="(?!#)', page)
    assert "say nothing about a GPU" in done.stdout and "| finding |" in (tmp_path / "out" / "findings.md").read_text()


def test_everything_on_a_gpu_that_reaches_no_system_memory(blastoff, cuda, bare):
    done = blastoff("lab", "--quick", "--json", "--cuda-path", cuda, env=bare | {"LD_LIBRARY_PATH": str(cuda)})
    assert done.returncode == 0, done.stderr
    document = checked(cuda / "blastoff-lab")
    assert json.loads(done.stdout) == document and document["wrong"] == 0
    assert document["device"]["name"] == "fake GPU" and document["device"]["attributes"]["pageable_memory_access"] == 0
    modes = {mode.name for mode in (EXPLICIT, MANAGED, MANAGED_PREFETCH, MANAGED_REMOTE)}
    assert {row["mode"] for row in document["sets"]["daxpy"]["rows"]} == modes | {MANAGED_BACK.name, PAGE_LOCKED.name}
    assert {row["mode"] for row in document["sets"]["applications"]["rows"]} == {*modes, CHUNKS.name}
    reasons = {entry["why"] for entry in document["cannot"]}
    assert any("neither ATS nor HMM" in reason for reason in reasons)
    assert any(reason.startswith("blocks need Blastoff's library: libblastoff.so was not found at /nowhere") for reason in reasons)
    rates = document["sets"]["stream"]["rows"]
    assert {(row["by"], row["memory"], row["mode"]) for row in rates} == {
        ("cpu", "host", "explicit"),
        ("gpu", "host", "page-locked"),
        ("gpu", "device", "explicit"),
    }
    assert any(reason.startswith("the CPU cannot reach the device's memory") for reason in reasons)
    assert all(row["ratio"] <= 1 for row in document["sets"]["oversubscription"]["rows"] if row["mode"].startswith("managed"))


def test_packages_that_are_missing_cost_the_page_alone(blastoff, tmp_path, bare):
    done = blastoff("lab", "daxpy", "--device=simulated", "--quick", "--output=out", env=bare)
    assert done.returncode == 0, done.stderr
    assert "is missing (pip install jinja2 matplotlib)" in done.stderr and "launches per touch" in done.stdout
    assert checked(tmp_path / "out")["sets"]["daxpy"]["rows"] and not (tmp_path / "out" / "lab.html").exists()


def test_results_of_another_machine_are_shown(blastoff, tmp_path, bare):
    assert blastoff("lab", "pages", "--device=simulated", "--quick", "--output=there", env=bare).returncode == 0
    done = blastoff("lab", "--from=there/lab.json", "--output=here")
    assert done.returncode == 0 and "First and second touch" in (tmp_path / "here" / "lab.html").read_text(), done.stderr
    assert checked(tmp_path / "here") == checked(tmp_path / "there") and "first touch" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "nothing.json"], "nothing.json: "),
        (["--from", "other.json"], "other.json: not a result of blastoff lab in format 1"),
        (["--device", "gpu"], "unknown device gpu; cuda, cuda:N and simulated are known"),
        (["dgemm"], "invalid choice: 'dgemm'"),
        (["--minutes", "0"], "--minutes: '0' is no number above 0"),
        (["--minutes", "long"], "--minutes: 'long' is no number above 0"),
        (["pages", "--inner", "1-10"], "--inner and --outer are of daxpy, not of pages"),
        (["daxpy", "--inner", "4-2"], "4-2: the range is empty"),
        (["daxpy", "--inner", "0"], "'0' is no whole number from 1 to 1000"),
        (["daxpy", "--outer", "two"], "'two' is no whole number from 1 to 1000"),
        (["applications", "--only", "hot", "--device=simulated"], "--only: unknown 'hot'; accepted: quantum_volume, needle,"),
        (["daxpy", "--memory", "x", "--device=simulated"], "--memory: unknown 'x'; accepted: explicit, managed, managed_prefetch,"),
        (["daxpy", "--only", "srad"], "--only is of applications and oversubscribed, not of daxpy"),
        (["pages", "--memory", "system"], "--memory is of daxpy, applications and oversubscribed, not of pages"),
        (["daxpy", "--oversubscribe-managed"], "--oversubscribe-managed is of oversubscription and oversubscribed, not of daxpy"),
        (["applications", "--natural"], "--natural is of oversubscribed, not of applications"),
        (["--quik"], "unknown option --quik (did you mean --quick?)"),
        (["--device", "simulated", "--output", "file"], "file: File exists"),
    ],
)
def test_mistakes_are_one_line(blastoff, tmp_path, arguments, message):
    (tmp_path / "file").touch()
    (tmp_path / "other.json").write_text("[]")
    done = blastoff("lab", *arguments)
    assert done.returncode == 2 and message in done.stderr and len(done.stderr.splitlines()) == 1


def test_one_application_in_one_kind_of_memory(blastoff, tmp_path, bare):
    arguments = ["applications", "--only", "hotspot,srad", "--memory", "system_prefetch,page-locked", "--device=simulated", "--quick", "--output=out"]
    done = blastoff("lab", *arguments, env=bare)
    assert done.returncode == 0, done.stderr
    document = checked(tmp_path / "out")
    rows = document["sets"]["applications"]["rows"]
    assert {(row["application"], row["mode"]) for row in rows} == {("hotspot", "system prefetch"), ("srad", "system prefetch")}
    repeated = "blastoff lab applications --quick --device simulated --minutes 10 --only hotspot,srad --memory system_prefetch,page-locked"
    assert document["request"]["command"] == repeated and f"run      {repeated}: " in done.stdout


def test_a_device_that_is_not_there(fake):
    with pytest.raises(DeviceFailed, match="there is no cuda:1: the driver shows 1 devices"):
        CudaDevice(1, Driver(str(fake.folder / "libcuda.so.1")), Compiler(str(fake.folder)))


def test_no_driver_names_the_simulated_device():
    with pytest.raises(CommandError, match="--device simulated") as caught:
        Driver("libblastoff-there-is-none.so")
    assert caught.value.status == 1


def test_no_gpu_names_the_simulated_device(fake):
    fake.fail("cuInit", 100)
    with pytest.raises(DeviceFailed, match=r"cuInit failed: CUDA_ERROR_OF_THE_TEST, words of the driver; --device simulated"):
        fake.open()


def run_command(monkeypatch, device, tmp_path, *arguments) -> int:
    monkeypatch.setattr(command, "open_device", lambda *_: device)
    monkeypatch.setattr(output, "html_page", lambda _: None)  # making the page takes seconds
    return command.run([*arguments, "--quick", "--output", str(tmp_path / "out")])


def test_an_interrupt_keeps_what_was_measured(monkeypatch, tmp_path, fake, capsys):
    device = fake.open()

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(pages, "run", interrupt)
    assert run_command(monkeypatch, device, tmp_path) == 130
    document = checked(tmp_path / "out")
    assert document["problem"] == "interrupted" and document["sets"]["daxpy"]["rows"] and "applications" not in document["sets"]
    assert fake.leaks() == 0


def test_a_device_that_fails_ends_the_run_with_its_results(monkeypatch, tmp_path, fake):
    device = fake.open()

    def fail(session):
        fake.fail("cuLaunchKernel", LAUNCH_FAILED)
        oversubscription.run(session)

    monkeypatch.setattr(pages, "run", fail)
    with pytest.raises(CommandError, match="cuLaunchKernel failed") as caught:
        run_command(monkeypatch, device, tmp_path)
    document = checked(tmp_path / "out")
    assert caught.value.status == 1 and "cuLaunchKernel failed" in document["problem"] and document["sets"]["daxpy"]["rows"]
    assert fake.leaks() == 0


def test_a_wrong_result_is_the_exit_status(monkeypatch, tmp_path):
    assert run_command(monkeypatch, LosesLaunches("daxpy", 1), tmp_path, "daxpy") == command.WRONG_RESULT
    document = checked(tmp_path / "out")
    assert document["wrong"] == 1 and "1 wrong" in (tmp_path / "out" / "findings.md").read_text()


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("daxpy", "daxpy"),
        ("stream", "stream_triad"),
        ("oversubscription", "daxpy"),
        ("pages", "fill"),
        ("pages", "walk"),
        ("applications", "gate"),
        ("applications", "align"),
        ("applications", "descend"),
        ("applications", "expand"),
        ("applications", "heat"),
        ("applications", "coefficient"),
        ("applications", "diffuse"),
        ("applications", "first_state"),
        ("applications", "exponentiate"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_a_lost_launch_is_noticed(name, kernel):
    with LosesLaunches(kernel, 0 if kernel in ("walk", "first_state", "exponentiate") else 1) as device:
        session = session_on(device, name)
        if name == "applications":
            starts = kernel in ("first_state", "exponentiate")
            makers = [maker for maker in experiment.problems(session) if maker.initialised_by == ("gpu" if starts else "cpu")]
            application = next(made for made in (maker.make() for maker in makers) if any(used.name == kernel for used in made.kernels))
            assert not experiment.measure(session, application, EXPLICIT)["right"]
        else:
            SETS[name](session)
            assert sum(not row["right"] for row in session.results().rows) >= 1


# ---- CUDA.


def test_declarations_agree_with_nvidias_headers(tmp_path):
    """The fake driver has the functions that the laboratory calls. The compiler compares them with the headers, if these are installed."""
    roots = [Path(root) / "include" for root in search.roots()]
    headers = next((root for root in roots if (root / "cuda.h").exists() and (root / "nvrtc.h").exists()), None)
    if headers is None:
        pytest.skip("no cuda.h and nvrtc.h")
    subprocess.run([*COMPILE, "-DCHECK_HEADERS", f"-I{headers}", "-fsyntax-only"], check=True)


def test_the_kernels_compile():
    try:
        compiler = Compiler()
    except DeviceFailed as reason:
        pytest.skip(str(reason))
    newest = compiler.architectures()[-1]
    for kernel in {kernel.file: kernel for kernel in KERNELS}.values():
        assert compiler.compile(kernel.source, kernel.file, 90)[:4] == b"\x7fELF"
    assert b".target" in compiler.compile(kernel.source, kernel.file, newest + 1)
    with pytest.raises(DeviceFailed, match=r"broken\.cu does not compile: .*error"):
        compiler.compile("what is this", "broken.cu", 90)
    with pytest.raises(DeviceFailed, match=r"this device has 3\.5"):
        compiler.compile(kernel.source, kernel.file, 35)


def test_nvrtc_is_found_in_wheels_and_toolkits(tmp_path, monkeypatch):
    for folder in ("nvidia/cu13/lib", "lib64"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "libnvrtc.so.13").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert search.compilers(str(tmp_path))[:2] == [str(tmp_path / "lib64/libnvrtc.so.13"), str(tmp_path / "nvidia/cu13/lib/libnvrtc.so.13")]
    assert str(tmp_path / "nvidia/cu13/lib/libnvrtc.so.13") in search.compilers()
    assert search.compilers()[-2:] == ["libnvrtc.so.13", "libnvrtc.so.12"]


@pytest.mark.parametrize("older", [False, True])
def test_every_mode_on_a_gpu_that_reaches_system_memory(fake, older):
    fake.reach_system_memory()
    with fake.open() as device:
        if older:
            device.driver.takes_locations = False  # a driver before CUDA 12.2
        session = session_on(device)
        rows = [daxpy.measure(session, mode, 1 << 16, 3, 2) for mode in MODES if mode.kind != "blocks"]
        rows += [oversubscription.measure(session, mode, 1 << 20, 2.0) for mode in (EXPLICIT, SYSTEM, SYSTEM_PREFETCH)]
        rows += [pages.granularity(session, SYSTEM, 1 << 18, by) for by in ("cpu", "gpu")]
        rows += [pages.access_counters(session, 1 << 18)]
        rows += [experiment.measure(session, quantum_volume.QuantumVolume(10, chunks=8), mode) for mode in (CHUNKS, SYSTEM)]
        assert all(row["right"] for row in rows)
    assert fake.leaks() == 0


def test_a_process_has_blocks_on_one_device(fake):
    with fake.open() as device:
        assert device.why_no_blocks() == "the blocks of this process are on simulated"


def test_a_copy_within_a_gpu(fake):
    with fake.open() as device:
        source, target, seen = device.allocate(64), device.allocate(64), np.zeros(64, np.uint8)
        device.upload(source, np.arange(64, dtype=np.uint8))
        device.copy(target, source + 16, 48)
        device.download(seen[:48], target)
        assert list(seen[:48]) == list(range(16, 64))


def test_memory_that_does_not_fit_is_never_asked_for(fake):
    with fake.open() as device:
        room = device.room()
        assert room <= device.memory()[1] - device.reserve
        with pytest.raises(Cannot, match="of managed memory do not fit"):
            device.allocate(room + 1, managed=True)
        managed = device.allocate(room // 2, managed=True)
        assert device.memory()[0] == device.memory()[1]  # the managed pages lie nowhere yet, but they count below
        with pytest.raises(Cannot, match="of device memory do not fit"):
            device.allocate(room - room // 2 + 1)
        device.allocate(room - room // 2)
        device.release(managed)
    assert fake.leaks() == 0


def test_managed_memory_is_never_oversubscribed(fake):
    with fake.open() as device, pytest.raises(Cannot, match="can stall the GPU for everyone"):
        oversubscription.measure(session_on(device), MANAGED, 1 << 20, 1.2)


def test_what_the_driver_refuses_is_named_and_the_rest_goes_on(fake):
    fake.fail("cuMemAllocManaged", OUT_OF_MEMORY)
    with fake.open() as device:
        session = session_on(device, largest=1 << 16)
        daxpy.run(session)
        assert {row["mode"] for row in session.results().rows} == {"explicit", "page-locked"}
        assert any("cuMemAllocManaged failed: CUDA_ERROR_OUT_OF_MEMORY" in entry["why"] for entry in session.cannot)
    assert fake.leaks() == 0


def test_a_kernel_that_fails_leaves_nothing_behind(fake):
    with fake.open() as device:
        fake.fail("cuLaunchKernel", LAUNCH_FAILED)
        with pytest.raises(DeviceFailed, match="cuLaunchKernel failed"):
            daxpy.measure(session_on(device), MANAGED, 1 << 12, 4, 2)
    assert fake.leaks() == 0


def test_problems_that_are_too_large_are_named():
    with SimulatedDevice() as device:
        session = session_on(device, "applications", largest=40 << 10)
        experiment.run(session)
    assert {row["application"] for row in session.results().rows} == {"quantum volume"}
    named = {entry["what"].split(",")[0] for entry in session.cannot if "Qiskit Aer" not in entry["what"]}
    assert named == {"needle", "pathfinder", "bfs", "hotspot", "srad"}


def test_advice_that_the_driver_refuses_leaves_nothing_behind(fake):
    fake.fail("cuMemAdvise_v2", 801)
    with fake.open() as device:
        with pytest.raises(Cannot, match="cuMemAdvise_v2 failed"):
            daxpy.measure(session_on(device), MANAGED_REMOTE, 1 << 12, 1, 1)
        assert device.held == {}


# ---- Experiments.


def test_an_application_that_the_gpu_initialises():
    """The CPU touches nothing before the computation: the image's own memory is new, and the pixels are in device memory alone."""
    with SimulatedDevice() as device:
        row = experiment.measure(session_on(device), srad.Srad(64, 4, by_device=True), SYSTEM)
        assert row["right"] and row["initialised_by"] == "gpu" and row["problem"].endswith("GPU-initialised")
        assert len(row["laps"]) == 4 and sum(row["laps"]) <= row["kernels"] and row["lap_bytes"] == 5 * 4 * 64**2
        row = experiment.measure(session_on(device), quantum_volume.QuantumVolume(8, by_device=True), MANAGED_PREFETCH)
        assert row["right"] and len(row["laps"]) == 8


def test_what_the_gpu_initialises_is_compared_the_other_way_round():
    def row(mode: str, total: float, by: str) -> dict:
        return {"application": "srad", "problem": by, "mode": mode, "total": total, "initialised_by": by}

    rows = [row("system", 1.0, "cpu"), row("managed", 2.0, "cpu"), row("system", 3.0, "gpu"), row("managed", 2.0, "gpu")]
    assert findings.cpu_initialised(rows)[1] == findings.gpu_initialised(rows)[1] == "agrees"
    assert "takes 1.5 times as long" in findings.gpu_initialised(rows)[0] and "takes 2 times" in findings.cpu_initialised(rows)[0]
    assert findings.oversubscribed_applications([one | {"ratio": 0.8} for one in rows])[1] == "cannot tell"
    beyond = [one | {"ratio": 1.5} for one in rows[:2]]
    assert findings.oversubscribed_applications(beyond)[1] == "agrees"


@pytest.mark.parametrize(
    ("late", "cpu_late", "said"),
    [(1e-3, 1e-3, "no migration was seen"), (5e-4, 1e-3, "pages moved to the GPU; the CPU"), (5e-4, 1e-4, ": pages came back")],
)
def test_what_access_counters_did(late, cpu_late, said):
    row = {
        "experiment": "access counters",
        "bytes": 1 << 20,
        "early": 1e-3,
        "late": late,
        "cpu_before": 1e-4,
        "cpu_first": 1e-3,
        "cpu_late": cpu_late,
    }
    (rule,) = pages.rules([row])
    assert said in rule and rule.endswith(("seen", "no page came back", "pages came back"))


@pytest.mark.parametrize(("mode", "huge"), [(modes.SYSTEM_BASE, False), (modes.SYSTEM_HUGE, True)])
def test_system_memory_by_page_size(monkeypatch, mode, huge):
    asked = []
    monkeypatch.setattr(modes.host, "huge_pages", lambda: "madvise")
    monkeypatch.setattr("blastoff.lab.buffers.host_memory", lambda size, huge_pages=None: asked.append(huge_pages) or np.zeros(size, np.uint8))
    with SimulatedDevice() as device, contextlib.ExitStack() as stack:
        mode.allocate(device, 4096, stack)
        assert asked == [huge]
        monkeypatch.setattr(modes.host, "huge_pages", lambda: "never")
        assert bool(mode.why_not(device)) is huge


def test_managed_memory_is_oversubscribed_only_if_asked(fake):
    """Each application keeps what only kernels use in device memory."""
    application = srad.Srad(256, 2)
    with fake.open() as device:
        session = session_on(device)
        with pytest.raises(Cannot, match="only with --oversubscribe-managed"):
            oversubscribed.measure(session, application, MANAGED, 1.5)
        device.granule, device.oversubscribes = 512, True
        row = oversubscribed.measure(session, application, MANAGED, 1.5)
        assert row["right"] and row["ratio"] == 1.5 and row["ballast"] > 0
        with pytest.raises(Cannot, match="must hold all arrays"):
            oversubscribed.measure(session, application, EXPLICIT, 1.5)
        assert device.held == {}


def test_applications_that_exceed_the_whole_memory(blastoff, tmp_path, bare):
    arguments = ["oversubscribed", "--natural", "--only", "hotspot", "--memory", "explicit,managed", "--device=simulated", "--output=out"]
    done = blastoff("lab", *arguments, env=bare)
    assert done.returncode == 0, done.stderr
    document = checked(tmp_path / "out")
    (row,) = document["sets"]["oversubscribed"]["rows"]
    assert row["mode"] == "managed" and row["right"] and row["ballast"] == 0
    assert row["ratio"] == row["bytes"] / document["device"]["memory_bytes"] > 1
    assert [entry["why"] for entry in document["cannot"]] == ["explicit device memory must hold all arrays"]
    assert document["request"]["command"].startswith("blastoff lab oversubscribed --natural --device simulated")


@pytest.mark.parametrize("asked", [False, True])
def test_managed_memory_exceeds_the_whole_memory_only_if_asked(fake, asked):
    fake.controls.fake_set_memory(oversubscribed.NATURAL_SIMULATED)
    with fake.open() as device:
        device.oversubscribes = asked
        session = session_on(device, "oversubscribed", natural=True, only=("bfs",), memory=("managed",))
        oversubscribed.run(session)
        assert [row["right"] for row in session.results().rows] == [True] * asked
        assert [entry["why"] for entry in session.cannot] == [oversubscription.TOO_MUCH] * (not asked)


def test_marks_of_phases_name_the_problem(monkeypatch):
    marked: list[str] = []
    monkeypatch.setattr(experiment.marks, "mark", marked.append)
    with SimulatedDevice() as device:
        experiment.measure(session_on(device), srad.Srad(256, 2, by_device=True), EXPLICIT)
    phases = ("allocation", "initialisation", "computation", "reading", "check", "release")
    assert marked == [*(f"srad, 256 x 256, 2 iterations, GPU-initialised, explicit: {phase}" for phase in phases), "between"]


@pytest.mark.parametrize("chunks", [0, 8])
def test_a_large_state_is_checked_by_the_inverse_circuit(monkeypatch, chunks):
    monkeypatch.setattr(quantum_volume, "CHECKED_QUBITS", 4)
    application = quantum_volume.QuantumVolume(9, chunks=chunks)
    assert application.expected is None
    mode = CHUNKS if chunks else EXPLICIT
    with SimulatedDevice() as device:
        assert experiment.measure(session_on(device), application, mode)["right"]
    with LosesLaunches("gate", 5) as device:
        assert not experiment.measure(session_on(device), application, mode)["right"]


def test_chunks_need_less_than_the_state_on_the_device():
    application = quantum_volume.QuantumVolume(12, chunks=16)
    reserve = 1 << 20
    with SimulatedDevice(memory=reserve + application.size // 2) as device:
        session = session_on(device, largest=application.size)
        assert device.room() == application.size // 2
        assert experiment.measure(session, application, CHUNKS)["right"]
        with pytest.raises(Cannot, match="do not fit"):
            experiment.measure(session, application, EXPLICIT)


def test_cases_that_would_take_too_long_are_named():
    with SimulatedDevice() as device:
        session = session_on(device)
        session.last["key"] = 1.0, 2.0
        session.until = 0.0
        assert session.attempt("key", 4.0, "the case", lambda: pytest.fail("ran")) is None
    assert session.skipped[0]["what"] == "the case" and session.skipped[0]["why"].startswith("about 8.00 s")


def test_granularity_is_the_distance_of_slow_touches():
    seconds = [30e-6 if number % 16 == 0 else 1e-7 for number in range(64)]
    assert pages.distances(seconds, 5e-6) == [65536] * 3


@pytest.mark.parametrize(("managed", "system", "verdict"), [(3.0, 1.0, "agrees"), (1.0, 3.0, "differs")])
def test_findings_compare_the_largest_case(managed, system, verdict):
    rows = [
        round_row("managed", 1, managed, 2000),
        round_row("system", 1, system, 2000),
        round_row("managed", 1, system),
        round_row("system", 1, managed),
    ]
    assert findings.staying_against_moving(rows, few=True) == (
        f"managed against system memory, 1 launch per touch, 2.00 kB: {managed:.2f} s against {system:.2f} s",
        verdict,
    )


def test_without_system_memory_managed_memory_that_stays_is_compared():
    rows = [round_row("managed", 1, 3.0), round_row("managed remote", 1, 1.0)]
    assert findings.staying_against_moving(rows, few=True) == (
        "managed against managed remote memory, 1 launch per touch, 1.00 kB: 3.00 s against 1.00 s",
        "agrees",
    )


def test_a_finding_without_system_memory_says_why():
    rows = {"daxpy": [round_row("managed", 1, 1.0) | {"kernel": 1.0, "moving": 0.0}]}
    found = findings.findings(rows, simulated=False, no_system="neither ATS nor HMM")
    assert {finding["verdict"] for finding in found} == {"cannot tell"} and found[0]["here"] == "neither ATS nor HMM"


def test_a_finding_names_the_memory_that_was_not_measured():
    alone = [round_row("system", 1, 1.0) | {"application": "bfs", "problem": "4 nodes", "total": 1.0, "initialised_by": "cpu"}]
    assert findings.whole_times(alone, "managed", "system", "all") == ("managed memory was not measured", "cannot tell")
    assert findings.slow_touch(alone) == ("system memory with prefetch was not measured", "cannot tell")
    assert findings.staying_against_moving([], few=True) == (findings.NO_SYSTEM, "cannot tell")


def test_a_container_limits_host_memory(tmp_path):
    from blastoff.lab import host

    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   10485760 kB\n")
    assert host.available(tmp_path) == (10 << 30) - host.RESERVE
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/memory.max").write_text(f"{4 << 30}\n")
    (tmp_path / "sys/fs/cgroup/memory.current").write_text(f"{1 << 30}\n")
    assert host.available(tmp_path) == (3 << 30) - host.RESERVE
    with pytest.raises(Cannot, match="of host memory do not fit"):
        host.host_memory(1 << 60)


def test_the_command_needs_no_library(blastoff, tmp_path):
    done = blastoff("lab", "--help", env={"BLASTOFF_LIBRARY": os.devnull})
    assert done.returncode == 0 and "oversubscription" in done.stdout

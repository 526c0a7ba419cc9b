"""`blastoff calibrate` in its quick form, on the simulated device and on the fake GPU, and machine models as files."""

import json
import os
import platform
import subprocess
import sys

import jsonschema
import offload
import pytest
from blastoff import errors
from blastoff.calibrate import busy, children, command, cpu, model
from command_rig import clean_environment

SCHEMA = json.loads((offload.ROOT / "share" / "machine.schema.json").read_text())
OPENBLAS = offload.OPENBLAS / "libblas.so.3"
BLAS = OPENBLAS if OPENBLAS.exists() else offload.REFERENCE_BLAS / "libblas.so.3"


def calibrate(*arguments, **environment):
    command_line = [sys.executable, "-m", "blastoff", "calibrate", *map(str, arguments)]
    return subprocess.run(command_line, env=clean_environment() | environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("path", sorted((offload.ROOT / "share" / "machines").glob("*.json")), ids=lambda path: path.stem)
def test_shipped_models_are_valid(path):
    jsonschema.validate(json.loads(path.read_text()), SCHEMA, format_checker=jsonschema.FormatChecker())


def test_published_figures_name_their_source():
    for path in (offload.ROOT / "share" / "machines").glob("*.json"):
        source = json.loads(path.read_text())["source"]
        assert source["references"] and (source["kind"] == "published" or source["date"] >= "2026"), path


def test_the_simulated_device(tmp_path):
    path = tmp_path / "model.json"
    done = calibrate("--quick", "--device=simulated", f"--blas={BLAS}", "--threads=1", f"--output={path}")
    assert done.returncode == 0, done.stderr
    assert "dgemm" in done.stdout and f"written to {path}" in done.stdout
    found = json.loads(path.read_text())
    jsonschema.validate(found, SCHEMA)
    assert found["gpu"]["names"] == ["simulated device"] and found["source"]["quick"]
    assert found["host"]["cores"] == len(os.sched_getaffinity(0)) and found["host"]["blas"]["file"] == str(BLAS.resolve())
    for row in found["gpu"]["rates"] + found["host"]["rates"]:
        assert all(1e6 < rate < 1e13 for _, rate in row["points"]), row
    assert {"gemm", "syrk", "trsm", "gemv"} <= {row["family"] for row in found["gpu"]["rates"]}
    used = offload.offloaded(offload.program("products"), min_size=1, settings=["--decide=time", f"--model={path}"])
    assert (used.status, used.lines) == (0, [])
    assert used.report["device"]["model"] == f"{found['name']} ({path})"


def test_a_gpu(tmp_path, fake_gpu):
    """The fake GPU: page locks, cuSOLVER and cuFFT."""
    path = tmp_path / "model.json"
    environment = {"LD_LIBRARY_PATH": str(fake_gpu), "BLASTOFF_CUDA_PATH": str(fake_gpu)}
    done = calibrate("--quick", "--blas=none", f"--output={path}", **environment)
    assert done.returncode == 0, done.stderr
    assert "The CPU was not measured" in done.stdout
    found = json.loads(path.read_text())
    jsonschema.validate(found, SCHEMA)
    assert "rates" not in found["host"]
    assert {row["family"] for row in found["gpu"]["rates"]} == {*cpu.PRECISIONS, "fft"}
    assert {"launch_seconds", "call_seconds", "memory_rate"} <= found["gpu"].keys()
    assert found["pinning"]["seconds_per_byte"] > 0
    assert {"to_device", "from_device", "pageable_to_device", "staged_to_device", "staged_from_device", "first_touch_from_device"} <= found[
        "link"
    ].keys()


@pytest.mark.parametrize(("form", "known"), [("coherent", True), ("unified", False), ("separate", False)])
def test_how_fast_the_cpu_reads_a_coherent_devices_memory(tmp_path, form, known):
    """The node of the machine's own memory stands for the device's."""
    path = tmp_path / "model.json"
    environment = {"BLASTOFF_SIMULATED_FORM": form, "BLASTOFF_DEVICE_NODE": "0"}
    done = calibrate("--quick", "--device=simulated", "--blas=none", f"--output={path}", **environment)
    assert done.returncode == 0, done.stderr
    found = json.loads(path.read_text())
    jsonschema.validate(found, SCHEMA)
    assert ("device_memory_rate" in found["host"]) == ("device memory, by the CPU" in done.stdout) == known
    assert not known or 1e8 < found["host"]["device_memory_rate"] < 1e13


@pytest.mark.parametrize(("access", "known"), [("coherent", True), ("hidden", False)])
def test_how_fast_the_cpu_reads_a_gpus_memory(tmp_path, fake_gpu, access, known):
    """A fake driver of Grace-Hopper, whose memory is a node or is hidden from the system."""
    path = tmp_path / "model.json"
    environment = {"LD_LIBRARY_PATH": str(fake_gpu), "BLASTOFF_CUDA_PATH": str(fake_gpu), "FAKE_GPU_ACCESS": access}
    done = calibrate("--quick", "--blas=none", f"--output={path}", **environment)
    assert done.returncode == 0, done.stderr
    assert ("device_memory_rate" in json.loads(path.read_text())["host"]) == known


def test_a_node_that_is_none_is_not_measured(tmp_path):
    path = tmp_path / "model.json"
    environment = {"BLASTOFF_SIMULATED_FORM": "coherent", "BLASTOFF_DEVICE_NODE": "900"}
    done = calibrate("--quick", "--device=simulated", "--blas=none", f"--output={path}", **environment)
    assert done.returncode == 0, done.stderr
    assert "device_memory_rate" not in json.loads(path.read_text())["host"]


def test_a_trial_is_not_kept_for_decisions(tmp_path):
    done = calibrate("--quick", "--device=simulated", "--blas=none", XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_no_device(tmp_path):
    done = calibrate("--quick", "--device=none", f"--output={tmp_path}/model.json")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("blastoff: calibrate: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threads=0"], "invalid value --threads=0; accepted: numbers from 1 to 4096, separated by commas"),
        (["--threads=2,x"], "invalid value --threads=2,x; accepted: numbers from 1 to 4096, separated by commas"),
        (["--blas=/no/such/libblas.so"], "/no/such/libblas.so is not a file"),
        (["--quik"], "unknown option --quik (did you mean --quick?)"),
    ],
)
def test_wrong_options(arguments, message):
    with pytest.raises(errors.CommandError, match="calibrate: ") as raised:
        command.run(arguments)
    assert str(raised.value) == f"calibrate: {message}"


def test_the_shorter_of_two_openings_and_endings_counts(monkeypatch):
    openings = [0.66, 0.27]
    asked = []

    def ask(*arguments, **_):
        asked.append((float(arguments[3]), arguments[4]))
        return {"open_seconds": openings[len(asked) - 1], "launch_seconds": len(asked), "ended": 1000 - len(asked)}

    monkeypatch.setattr(children, "ask", ask)
    monkeypatch.setattr(children.time, "time", lambda: 1000.5)
    assert children.measure_device("", 90, quick=False) == {"open_seconds": 0.27, "close_seconds": 1.5, "launch_seconds": 2}
    assert asked == [(0, "1"), (90, "0")], "the first only opens the device"
    asked.clear()
    assert children.measure_device("", 5, quick=True)["open_seconds"] == 0.66


def test_places(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    host = platform.node()
    assert model.place("cuda", "NVIDIA H200", False) == tmp_path / "blastoff" / "machines" / f"{host}.json"
    assert model.place("simulated", "simulated device", False).name == f"{host}-simulated.json"
    assert model.place("cuda", "NVIDIA H100 80GB HBM3", True) == model.SITE / "nvidia-h100-80gb-hbm3.json"
    with pytest.raises(errors.CommandError, match=r"cannot write /proc/model\.json"):
        model.write(model.Path("/proc/model.json"), "{}")


def test_a_wrong_model_is_not_written():
    valid = json.loads((offload.ROOT / "share" / "machines" / "h200-pcie5.json").read_text())
    assert model.validate(valid)
    assert json.loads(model.text_of(valid)) == valid
    with pytest.raises(errors.CommandError, match="the model is not valid: -1"):
        model.validate(valid | {"link": {"to_device": -1, "from_device": 1e10}})


@pytest.mark.parametrize(
    "words",
    [["--device=foo"], ["--device=simulated", "--output=/proc/x/y"], ["--device=simulated", "--output=/tmp"]],
    ids=["device", "output", "folder"],
)
def test_what_cannot_be_measured_is_said_at_once(words, monkeypatch, capsys):
    monkeypatch.setattr(children, "measure_device", lambda *_: pytest.fail("it measured"))
    monkeypatch.delenv("BLASTOFF_DEVICE", raising=False)
    with pytest.raises(errors.CommandError, match=r"accepted: cuda|cannot write /proc/x/y|/tmp is a directory"):
        command.run(["--quick", *words])


def test_other_programs_are_noticed(monkeypatch, tmp_path):
    stat = tmp_path / "stat"
    monkeypatch.setattr(busy, "STAT", stat)
    cpu = min(os.sched_getaffinity(0))

    def used(seconds):
        stat.write_text(f"cpu 0\ncpu{cpu} {int(seconds * os.sysconf('SC_CLK_TCK'))} 0 0 5 0 0 0 0 0 0\ncpu9999 777 0 0 0 0 0 0 0\n")

    used(10)
    others = busy.Others()
    others.began -= 10  # ten seconds have passed
    assert others.warning() == ""
    used(10 + 10 * len(others.cpus))
    assert others.cores() > 0.8 * len(others.cpus)
    assert "other programs used" in others.warning() and "measure again" in others.warning()

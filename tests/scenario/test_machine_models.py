"""The machine model on which decisions are based: a named one, this machine's own, one for this device, or none."""

import json
import re
import socket
from pathlib import Path

import offload
import pytest

MODELS = sorted((offload.ROOT / "share" / "machines").glob("*.json"))
MODEL = {"blastoff_machine": 1, "name": "a model", "gpu": {"names": ["no such device"]}, "link": {"to_device": 1e9, "from_device": 1e9}}


@pytest.fixture
def models(tmp_path):
    """The user's folder of models, empty."""
    folder = tmp_path / "blastoff" / "machines"
    folder.mkdir(parents=True)
    return folder


def outcome_of(tmp_path, device, *settings, env=None):
    environment = offload.environment(XDG_CACHE_HOME=str(tmp_path), BLASTOFF_DECIDE="time", **(env or {}))
    outcome = offload.offloaded(offload.program("products"), device=device, min_size=1, settings=settings, env=environment)
    assert (outcome.status, outcome.stdout) == (0, offload.plain(offload.program("products")).stdout)
    return outcome


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_shipped_models_are_read(device, tmp_path, path):
    outcome = outcome_of(tmp_path, device, f"--model={path}")
    assert outcome.lines == []
    assert outcome.report["device"]["model"] == f"{json.loads(path.read_text())['name']} ({path})"


def test_this_machines_own_model(device, tmp_path, models):
    path = models / f"{socket.gethostname()}.json"
    path.write_text(json.dumps(MODEL | {"gpu": {"names": ["*"]}}))
    assert outcome_of(tmp_path, device).report["device"]["model"] == f"a model ({path})"
    assert outcome_of(tmp_path, device, "--model=none").report["device"]["model"] == "assumed rates"


def test_a_model_of_the_device(device, tmp_path, models):
    if device != "simulated":
        pytest.skip("a GPU has a shipped model")
    (models / "a.json").write_text(json.dumps(MODEL))
    (models / f"{socket.gethostname()}.json").write_text(json.dumps(MODEL))
    assert outcome_of(tmp_path, device).report["device"]["model"] == "assumed rates"
    (models / "b.json").write_text(json.dumps(MODEL | {"name": "the device's", "gpu": {"names": ["no such", "simulated*"]}}))
    assert outcome_of(tmp_path, device).report["device"]["model"] == f"the device's ({models / 'b.json'})"


@pytest.mark.parametrize(("seconds", "small"), [(1e-7, False), (1e-2, True)])
def test_the_model_says_which_calls_cannot_gain(tmp_path, seconds, small):
    """One core computes the program's calls faster than a device that needs a hundredth of a second for each."""
    path = tmp_path / "model.json"
    path.write_text(json.dumps(MODEL | {"gpu": {"call_seconds": seconds}}))
    environment = offload.environment(BLASTOFF_DECIDE="time", BLASTOFF_MODEL=str(path))
    outcome = offload.offloaded(offload.program("products"), device="simulated", min_size=None, env=environment)
    assert outcome.status == 0, outcome.stderr
    below = outcome.refused().get(offload.BELOW_MIN_SIZE, 0)
    assert below == (outcome.total("calls") if small else 0)
    assert outcome.report["settings"]["min-size"] == ""


@pytest.mark.parametrize(("multiprocessors", "known"), [(0, ""), (100, ", products by the peak of the GPU")])
def test_products_of_a_gpu_without_a_model_count_by_its_peak(tmp_path, gpu, multiprocessors, known):
    if "BLASTOFF_CUDA_PATH" not in gpu:
        pytest.skip("a GPU has a shipped model")
    env = gpu | {"FAKE_GPU_MULTIPROCESSORS": str(multiprocessors), "XDG_CACHE_HOME": str(tmp_path), "BLASTOFF_DECIDE": "time"}
    outcome = offload.offloaded(offload.program("products"), device="cuda", min_size=1, settings=["--start=now", "--explain"], env=env)
    assert outcome.status == 0, outcome.stderr
    assert outcome.report["device"]["model"] == "assumed rates" + known


@pytest.mark.parametrize("min_size", [1, 100000])
def test_a_min_size_leaves_the_decision_to_time(gpu, min_size):
    outcome = offload.offloaded(offload.program("products"), device="cuda", min_size=min_size, env=gpu | {"BLASTOFF_DECIDE": "auto"})
    assert outcome.status == 0, outcome.stderr
    timed = outcome.refused().get("its time on the CPU was not known yet", 0)
    assert (timed > 0, outcome.refused().get(offload.BELOW_MIN_SIZE, 0) > 0) == (min_size == 1, min_size > 1)


def test_a_broken_file_is_one_line(device, tmp_path):
    path = tmp_path / "model.json"
    path.write_text('{"blastoff_machine": 1, "link": {"to_device": "fast"}}')
    outcome = outcome_of(tmp_path, device, f"--model={path}")
    assert outcome.lines == [
        f"machine model {path} is not used: the value of to_device is wrong",
        f"no machine model {path}: rates are assumed",
    ]
    assert outcome.report["device"]["model"] == "assumed rates"


def test_rates_of_another_blas_do_not_count(device, tmp_path):
    """In this model the CPU takes no time at all. It is used only if it was measured on this machine with the BLAS in use."""
    if device != "simulated":
        pytest.skip("the figures are made for the simulated device")
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    if found is None:
        pytest.skip("the processor has no name")
    blas = (offload.REFERENCE_BLAS / "libblas.so.3").resolve()
    rates = [{"family": "gemm", "precision": "d", "threads": 1, "points": [[1, 1e18]]}]
    host = {"name": socket.gethostname(), "cpu": found[1], "cores": 1, "rates": rates}
    path = tmp_path / "model.json"

    def first_call(file):
        path.write_text(json.dumps(MODEL | {"host": host | {"blas": {"file": file}}}))
        # The rates of earlier runs would count, and so do the times of the calls before.
        outcome = outcome_of(tmp_path, device, f"--model={path}", "--history=off", "--log=calls")
        return next(line for line in outcome.lines if "dgemm_" in line)

    untimed = "its time on the CPU was not known yet"
    for file in ("libother.so", "/nowhere/" + blas.name):
        assert untimed in first_call(file)
    for file in (str(blas), "libblas.so.3"):
        assert untimed not in first_call(file)


def test_decisions_are_explained(device, tmp_path):
    """The explanations appear on stderr and in the report, and only where they are requested."""
    jsonschema = pytest.importorskip("jsonschema")
    assert "decisions" not in outcome_of(tmp_path, device).report
    outcome = outcome_of(tmp_path, device, "--explain")
    schema = json.loads((offload.ROOT / "share" / "report.schema.json").read_text())
    jsonschema.validate(outcome.report, schema)
    decisions = outcome.report["decisions"]
    calls = outcome.total("calls") - outcome.refused().get("average size below the threshold", 0)
    assert sum(each["calls"] for each in decisions) == calls
    assert [each["seconds"] for each in decisions] == sorted((each["seconds"] for each in decisions), reverse=True)
    first = next(each for each in decisions if each["verdict"] == "its time on the CPU was not known yet")
    assert first["predicted"]["device_seconds"] > 0
    if device == "simulated" and first["calls"] == 1:  # no model contains its CPU, which was not timed again
        assert first["predicted"]["cpu_seconds"] is None
    later = [each for each in decisions if each["verdict"] != first["verdict"]]
    assert later and all(each["predicted"]["cpu_seconds"] > 0 for each in later)
    assert f": {first['verdict']}\n" in outcome.stderr
    assert len(outcome_of(tmp_path, device, "--explain=1").report["decisions"]) == 1


@pytest.mark.parametrize(("cpu", "offloaded"), [("1e8", True), ("1e15", False)])
def test_decisions_by_the_simulated_devices_clock(tmp_path, cpu, offloaded):
    """Real time has no influence: the program's own BLAS computes on the CPU and on the simulated device."""
    rates = f"--simulated-rates=link=2e10,device=1e13,launch=1e-5,cpu={cpu}"
    outcome = outcome_of(tmp_path, "simulated", "--model=none", rates)
    first = 2  # calls with beta = 0 and other calls are two classes; one call of each class may measure the CPU's time
    if offloaded:
        assert outcome.total("offloaded") >= outcome.total("calls") - first
    else:
        assert outcome.total("offloaded") <= first


def test_looking_for_a_model_leaves_the_callers_environment_alone(device, tmp_path):
    """errno, floating-point flags and traps are unchanged by a search that finds no file of that name."""
    command = offload.program("environment", "errno")
    environment = offload.environment(XDG_CACHE_HOME=str(tmp_path), BLASTOFF_DECIDE="time")
    outcome = offload.offloaded(command, device=device, min_size=1, settings=["--explain"], env=environment)
    assert (outcome.status, outcome.stdout) == (0, offload.plain(command).stdout)

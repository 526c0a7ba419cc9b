"""One call on several devices: its results, its counters, and the failure of one device."""

import json

import offload
import pytest


@pytest.fixture(autouse=True)
def on_simulated(device):
    if device != "simulated":
        pytest.skip("several devices are simulated")


def split(count: int, *settings: str) -> dict:
    """Options for `count` devices that compute every call together."""
    return {"device": "simulated:all", "settings": [f"--simulated-devices={count}", "--split=always", *settings]}


def total(outcome: offload.Outcome, key: str) -> float:
    return sum(one[key] for one in outcome.report["devices"])


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_device_makes_a_part(unharmed, count):
    outcome = unharmed("products", **split(count))
    assert outcome.total("split") == outcome.total("offloaded") > 0
    assert [one["parts"] for one in outcome.report["devices"]] == [outcome.total("split")] * count
    assert total(outcome, "calls") == 0
    assert total(outcome, "flops") == pytest.approx(outcome.total("offloaded_flops"))
    for bytes_moved in ("bytes_to_device", "bytes_from_device"):
        assert total(outcome, bytes_moved) == outcome.total(bytes_moved) > 0


def test_parts_find_what_they_left(unharmed):
    """A moves to each device once, B once to all devices together, and C, a result, twice; later one or two changed pages move."""
    size, rounds = 256, 40
    outcome = unharmed("products", size, rounds, **split(2), verify="off")
    if outcome.tracks:
        assert outcome.total("bytes_to_device") < (5 + rounds / 20) * 8 * size**2
    assert outcome.total("transfer_seconds") <= outcome.total("device_seconds")


@pytest.mark.parametrize("case", ["blocks", "shared-a", "own", "neighbour"])
def test_threads(unharmed, case):
    outcome = unharmed("threads", case, **split(3))
    assert outcome.total("split") == outcome.total("offloaded") > 0


@pytest.mark.parametrize("style", ["pointers", "cblas"])
def test_styles(unharmed, style):
    outcome = unharmed("styles", style, **split(2))
    assert outcome.total("split") > 0


@pytest.mark.parametrize("tracker", ["none", "auto"])
@pytest.mark.parametrize("verify", ["abort", "off", "sample=100%"])
def test_trackers(unharmed, tracker, verify):
    outcome = unharmed("products", **split(3, f"--tracker={tracker}"), verify=verify)
    assert outcome.total("split") > 0
    if verify == "abort":
        assert outcome.report["verification"]["checked"] == outcome.total("offloaded")


@pytest.mark.parametrize("form", ["unified", "pageable"])
def test_devices_that_reach_the_memory(unharmed, form):
    assert unharmed("products", **split(2, f"--simulated-form={form}")).total("split") > 0


@pytest.mark.parametrize("step", ["allocate", "reserve", "back", "to-device", "to-host", "execute", "record", "wait", "synchronize"])
@pytest.mark.parametrize("number", [2, 5])
@pytest.mark.parametrize("how", ["lost", "memory"])
def test_one_of_them_fails(unharmed, step, number, how):
    """How often memory is asked for depends on where the heap lies, so such a fault need not happen. A device without memory is not lost."""
    outcome = unharmed("products", **split(3, f"--simulated-fault=1/{step}:{number}:{how}"))
    states = [one["state"] for one in outcome.report["devices"]]
    told = any("simulated fault" in line for line in outcome.lines)
    if len(states) == 3:  # otherwise it could not be opened
        assert states[0] == states[2] == "working"
        assert "simulated fault" in states[1] if told and how == "lost" else states[1] == "working"
    if how == "lost" and step not in ("allocate", "reserve", "back"):
        assert told
    assert outcome.refused().keys() <= {offload.TRIVIAL, offload.INVALID_ARGUMENTS}
    assert outcome.total("split") == outcome.total("offloaded") > 0


def test_all_of_them_fail(unharmed):
    outcome = unharmed("products", **split(3, "--simulated-fault=execute:3"))
    assert outcome.refused()[offload.DEVICE_LOST] > 0
    assert [line.rsplit("; ", 1)[1] for line in outcome.lines].count("all later calls run on the CPU") == 1


def test_the_last_one_computes_alone(unharmed):
    outcome = unharmed("products", 96, 12, **split(2, "--simulated-fault=1/execute:4"))
    assert 0 < outcome.total("split") < outcome.total("offloaded")
    assert outcome.report["devices"][0]["calls"] == outcome.total("offloaded") - outcome.total("split")


def test_a_part_larger_than_the_memory(unharmed):
    """Each device computes its part block by block."""
    outcome = unharmed("products", 200, device="simulated:all", settings=["--split=always", "--device-memory=300K"])
    assert outcome.total("split") == outcome.total("offloaded") > 0


MODEL = {
    "blastoff_machine": 1,
    "name": "slow devices with fast links",
    "gpu": {"names": ["*"], "rates": [{"family": "gemm", "precision": "d", "points": [[1e6, 1e8]]}]},
    "link": {"to_device": 1e12, "from_device": 1e12},
}


@pytest.mark.parametrize("decide", ["size", "time"])
@pytest.mark.parametrize("named", [True, False])
def test_large_calls_are_split(unharmed, tmp_path, decide, named):
    """The matrices are of order 200, for which a device takes 160 ms by its model."""
    file = tmp_path / "blastoff" / "machines" / "model.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(MODEL))
    settings = ["--simulated-devices=3", f"--decide={decide}", *([f"--model={file}"] if named else [])]
    environment = offload.environment(XDG_CACHE_HOME=str(tmp_path))
    outcome = unharmed("products", 200, device="simulated:all", settings=settings, env=environment)
    assert outcome.total("split") == outcome.total("offloaded") > 0


def test_calls_that_meet_are_not_split(unharmed, tmp_path):
    file = tmp_path / "model.json"
    file.write_text(json.dumps(MODEL))
    settings = ["--simulated-devices=3", f"--model={file}"]
    outcome = unharmed("threads", "own", device="simulated:all", settings=settings)
    assert outcome.total("split") < outcome.total("offloaded") / 2


def test_small_calls_are_not_split(unharmed):
    outcome = unharmed("products", device="simulated:all")
    assert outcome.total("split") == 0 < outcome.total("offloaded")


@pytest.mark.parametrize("program", [("products", 96, 12), ("threads", "own"), ("threads", "blocks"), ("threads", "shared-a")])
def test_gpus(unharmed, gpu, program):
    """Fake GPUs page-lock results, all devices together."""
    outcome = unharmed(*program, device="cuda:all", settings=["--split=always"], env=gpu | {"FAKE_GPU_COUNT": "3"})
    assert outcome.total("split") == outcome.total("offloaded") > 0
    assert [one["parts"] for one in outcome.report["devices"]] == [outcome.total("split")] * 3


def test_the_summary_of_a_process_says_so():
    command = offload.program("products")
    setting = {"BLASTOFF_DEVICE": "simulated:all", "BLASTOFF_SPLIT": "always", "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_SUMMARY": "always"}
    outcome = offload.run(command, env=offload.environment(LD_PRELOAD=str(offload.LIBRARY), **setting))
    assert outcome.stderr.count("0 calls, 6 parts of calls, ") == 2, outcome.stderr


def test_a_line_of_the_log_says_so(unharmed):
    outcome = offload.offloaded(offload.program("products"), **{**split(2), "settings": ["--split=always", "--log=calls"]})
    assert any("dgemm_ N N m=96 n=96 k=96: 2 devices (first-use)" in line or ": 2 devices (copy)" in line for line in outcome.lines), outcome.stderr

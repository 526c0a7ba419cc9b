"""Several devices in one process: which device computes a call, and how the report shows it."""

import offload
import pytest


@pytest.fixture(autouse=True)
def on_simulated(device):
    if device != "simulated":
        pytest.skip("several devices are simulated")


def calls(outcome: offload.Outcome) -> list[int]:
    return [one["calls"] for one in outcome.report["devices"]]


@pytest.mark.parametrize(("name", "indices"), [("cuda:all", [0, 1, 2]), ("cuda:2,0", [2, 0])])
def test_several_gpus(unharmed, gpu, name, indices):
    outcome = unharmed("threads", "own", device=name, env=gpu | {"FAKE_GPU_COUNT": "3"})
    assert [one["index"] for one in outcome.report["devices"]] == indices
    assert sum(calls(outcome)) == outcome.total("offloaded") > 0


def test_a_gpu_that_is_not_there_is_left_out(unharmed, gpu):
    outcome = unharmed("threads", "own", device="cuda:0,5", env=gpu | {"FAKE_GPU_COUNT": "1"})
    assert [line for line in outcome.lines if "cuda:5: no GPU cuda:5; there is cuda:0 (fake GPU)" in line], outcome.stderr
    assert [one["index"] for one in outcome.report["devices"]] == []
    assert outcome.total("offloaded") > 0


def test_one_device_is_not_several(unharmed):
    outcome = unharmed("products", device="simulated:3")
    assert outcome.report["devices"] == []
    assert outcome.report["device"]["index"] == 3


def test_matrices_stay_where_they_are(unharmed):
    """A single thread has no reason to use a second device."""
    outcome = unharmed("products", device="simulated:0,1")
    assert calls(outcome) == [outcome.total("offloaded"), 0]


def test_threads_spread_over_them(unharmed):
    outcome = unharmed("threads", "own", device="simulated:all", settings=["--simulated-devices=3"])
    assert len(calls(outcome)) == 3
    assert sum(calls(outcome)) == outcome.total("offloaded")
    assert sum(count > 0 for count in calls(outcome)) > 1
    moved = sum(one["bytes_to_device"] for one in outcome.report["devices"])
    assert moved == outcome.total("bytes_to_device")


@pytest.mark.parametrize("fault", ["0/execute:1", "0/execute:3", "1/to-device:2", "2/to-host:1"])
def test_the_others_take_over(unharmed, fault):
    outcome = unharmed("threads", "own", device="simulated:0,1,2", settings=[f"--simulated-fault={fault}"])
    lost = int(fault[0])
    states = [one["state"] for one in outcome.report["devices"]]
    if states[lost] != "working":  # it may have had too few calls to fail
        assert "simulated fault" in states[lost]
    assert all(state == "working" for number, state in enumerate(states) if number != lost)
    assert offload.DEVICE_LOST not in outcome.refused()


def test_all_lost(unharmed):
    outcome = unharmed("products", device="simulated:0,1", settings=["--simulated-fault=execute:2"])
    assert [line.rsplit("; ", 1)[1] for line in outcome.lines] == ["all later calls run on the other devices", "all later calls run on the CPU"]
    assert outcome.refused()[offload.DEVICE_LOST] > 0


@pytest.mark.parametrize("form", ["unified", "pageable"])
def test_devices_that_reach_the_memory(unharmed, form):
    outcome = unharmed("threads", "own", device="simulated:0,1", settings=[f"--simulated-form={form}"])
    assert sum(calls(outcome)) == outcome.total("offloaded")


def test_without_tracking(unharmed):
    outcome = unharmed("threads", "own", device="simulated:0,1", settings=["--tracker=none"])
    assert sum(calls(outcome)) == outcome.total("offloaded")
    assert outcome.report["policy"]["in_force"] == "copy"

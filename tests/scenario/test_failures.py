"""A device that is missing, too small or broken: the call completes on the CPU, one line gives the reason, and the call is counted."""

import fcntl
import shutil

import offload
import pytest


@pytest.fixture
def on_simulated(device):
    if device != "simulated":
        pytest.skip("faults are injected into the simulated device")


def assert_one_line(outcome: offload.Outcome) -> None:
    assert len(outcome.lines) == 1, outcome.stderr
    assert len(outcome.lines[0]) > 20


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:99"])
def test_no_gpu(unharmed, policy, name):
    """CUDA_VISIBLE_DEVICES hides a GPU if the machine has one."""
    outcome = unharmed("products", policy=policy, device=name, env=offload.environment(CUDA_VISIBLE_DEVICES=""))
    assert_one_line(outcome)
    assert outcome.total("offloaded") == 0
    assert outcome.refused() == {offload.NO_DEVICE: outcome.total("calls")}


def test_no_library_of_the_gpus(device, unharmed, tmp_path, fake_gpu):
    """A driver without cuBLAS: the device can be opened with the driver alone, but it is useless without any library."""
    if device != "simulated":
        pytest.skip("needs the fake driver")
    shutil.copy(fake_gpu / "libcuda.so.1", tmp_path)
    env = offload.environment(HOME=str(tmp_path), PATH="/usr/bin:/bin", FAKE_GPU_CUDA="12000")
    env["LD_LIBRARY_PATH"] = f"{tmp_path}:{env['LD_LIBRARY_PATH']}"
    outcome = unharmed("products", device="cuda", verify="off", env=env)
    if "cublasCreate" in outcome.stderr:
        pytest.skip("this machine has a cuBLAS of CUDA 12, which does not know the fake driver")
    assert_one_line(outcome)
    assert "cuBLAS not found: no libcublas.so.12 in the library search path" in outcome.lines[0]
    assert "; all calls run on the CPU" in outcome.lines[0]
    assert outcome.refused() == {offload.NO_DEVICE: outcome.total("calls")}


@pytest.mark.parametrize("taken", [False, True])
def test_a_gpu_for_one_process_at_a_time(device, gpu, unharmed, tmp_path, taken):
    """Exclusive compute mode: the second process computes on the CPU, and prints the reason."""
    if device.startswith("cuda"):
        pytest.skip("a GPU's compute mode is not for tests to change")
    user = tmp_path / "user"
    with user.open("w") as other:
        if taken:
            fcntl.flock(other, fcntl.LOCK_EX)
        outcome = unharmed("products", device="cuda", verify="off", env=gpu | {"FAKE_GPU_EXCLUSIVE": str(user)})
    if not taken:
        assert outcome.lines == [] and outcome.total("offloaded") > 0
        return
    assert_one_line(outcome)
    assert "cuda:0 (fake GPU): one process at a time may use it (compute mode exclusive)" in outcome.lines[0]
    assert "NVIDIA MPS" in outcome.lines[0] and "; all calls run on the CPU" in outcome.lines[0]
    assert outcome.refused() == {offload.NO_DEVICE: outcome.total("calls")}


def test_no_gpu_and_many_threads(unharmed):
    outcome = unharmed("threads", "own", device="cuda", env=offload.environment(CUDA_VISIBLE_DEVICES=""))
    assert_one_line(outcome)
    assert outcome.refused() == {offload.NO_DEVICE: 320}


def test_device_none_counts_and_times(unharmed):
    outcome = unharmed("products", device="none", verify="off")
    assert outcome.lines == []
    assert outcome.refused() == {offload.DEVICE_NONE: outcome.total("calls")}
    assert outcome.total("cpu_seconds") > 0


LOSSES = [
    f"{operation}:{number}" for operation in ("execute", "to-device", "to-host", "synchronize") for number in (1, 2, 3, 5)
]  # fmt: skip


@pytest.mark.parametrize("fault", LOSSES)
def test_a_device_lost_in_the_middle(on_simulated, unharmed, policy, fault):
    outcome = unharmed("products", policy=policy, settings=[f"--simulated-fault={fault}"])
    assert_one_line(outcome)
    refused = outcome.refused()
    assert set(refused) == {offload.DEVICE_LOST}
    assert refused[offload.DEVICE_LOST] + outcome.total("offloaded") == outcome.total("calls") == 6


@pytest.mark.parametrize("operation", ["allocate", "reserve", "back", "staging", "queue", "event", "record", "wait"])
@pytest.mark.parametrize("kind", ["lost", "memory"])
def test_a_failure_while_preparing(on_simulated, unharmed, policy, operation, kind):
    """Whether or not this policy uses the failing operation, and whether or not it can continue without it, the program must not notice."""
    for number in (1, 2):
        outcome = unharmed("products", policy=policy, settings=[f"--simulated-fault={operation}:{number}:{kind}"])
        assert outcome.total("offloaded") + sum(outcome.refused().values()) == outcome.total("calls") == 6
        assert len(outcome.lines) <= 1, outcome.stderr
        if outcome.refused():
            assert_one_line(outcome)


@pytest.mark.parametrize("fault", ["execute:2:memory", "to-device:2:memory", "to-host:2:memory"])
def test_out_of_memory_in_the_middle(on_simulated, unharmed, policy, fault):
    """One call runs on the CPU (or under another policy); the device still works, and later calls use it."""
    outcome = unharmed("products", policy=policy, settings=[f"--simulated-fault={fault}"])
    assert outcome.total("offloaded") >= 5
    assert len(outcome.lines) <= 1, outcome.stderr


@pytest.mark.parametrize("fault", ["execute:20", "to-device:20", "to-host:10", "allocate:5", "synchronize:30"])
@pytest.mark.parametrize("case", ["blocks", "own", "shared-a"])
def test_a_device_lost_under_many_threads(on_simulated, unharmed, policy, case, fault):
    outcome = unharmed("threads", case, policy=policy, settings=[f"--simulated-fault={fault}"])
    assert len(outcome.lines) <= 1, outcome.stderr
    assert outcome.total("offloaded") + sum(outcome.refused().values()) == outcome.total("calls")


@pytest.mark.parametrize("case", ["memory-limit", "descriptor-limit", "thread-limit"])
def test_a_system_that_refuses(device, policy, case, tmp_path):
    """With little address space, no descriptors or no threads, some features are missing, but the results are the same."""
    command = offload.program("environment", case)
    plain = offload.plain(command)
    settings = {"BLASTOFF_DEVICE": device, "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_POLICY": policy, "BLASTOFF_SUMMARY": "never"}
    outcome = offload.preloaded(command, env=settings)
    assert (outcome.status, outcome.stdout) == (plain.status, plain.stdout), outcome.stderr
    assert len(outcome.lines) <= 1, outcome.stderr


def test_a_device_is_not_opened_in_little_address_space(on_simulated, policy):
    """The little address space is left to the program; one line says so."""
    env = {"BLASTOFF_DEVICE": "simulated", "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_POLICY": policy, "BLASTOFF_SUMMARY": "never"}
    outcome = offload.preloaded(offload.program("environment", "memory-limit"), env=env)
    assert outcome.status == 0, outcome.stdout
    assert len(outcome.lines) == 1 and "ulimit -v" in outcome.lines[0], outcome.stderr
    roomy = offload.preloaded(offload.program("environment", "roomy-memory-limit"), env=env)
    assert roomy.status == 0 and roomy.lines == [], roomy.stderr


def test_a_process_without_memory_ends_as_ever(unharmed, policy):
    """Its last calls give correct results, and a report that cannot be written does not abort the process."""
    unharmed("environment", "exhausted", policy=policy, verify="off")


def test_no_tracking_means_copy(unharmed):
    outcome = unharmed("products", settings=["--tracker=none"])
    assert outcome.report["policy"]["requested"] == "first-use"
    assert outcome.report["policy"]["in_force"] == "copy"
    assert outcome.report["policy"]["reason"]
    assert outcome.total("bytes_reused") == 0
    assert outcome.total("offloaded") == 6

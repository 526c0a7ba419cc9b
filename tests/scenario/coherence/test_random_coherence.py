"""The random coherence program under Blastoff: thousands of steps of CPU writes, memory operations and calls of BLAS, LAPACK and FFTW.
Every byte is checked.

BLASTOFF_COHERENCE_SEEDS and BLASTOFF_COHERENCE_STEPS (seeds of each kind, steps of each thread) request longer runs than CI's, and
BLASTOFF_TEST_EVERY_CASE=1 requests all combinations of settings.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import offload
import pytest

SEEDS = int(os.environ.get("BLASTOFF_COHERENCE_SEEDS", "1"))
STEPS = int(os.environ.get("BLASTOFF_COHERENCE_STEPS", "280"))
PLENTY = "1G"
SCARCE = "10M"  # a fraction of the size of all threads' matrices


def play(
    policy: str,
    device: str,
    seed: int,
    *,
    budget: str = PLENTY,
    verify: str = "abort",
    threads: int = 4,
    steps: int = STEPS,
    settings: Sequence[str] = (),
    beside: Sequence[Path] = (),
    **variables: str,
) -> offload.Outcome:
    command = offload.program("random_coherence", "--seed", seed, "--steps", steps, "--threads", threads)
    outcome = offload.offloaded(
        command,
        policy=policy,
        device=device,
        verify=verify,
        settings=[f"--device-memory={budget}", *settings],
        # One BLAS thread, since a BLAS with its own threads does not survive the forks of a program with threads.
        env=offload.environment(beside=[*beside, offload.REFERENCE_LAPACK, offload.FFTW], OPENBLAS_NUM_THREADS="1", **variables),
        timeout=600,
        launched=False,
    )
    assert outcome.status == 0, outcome.stderr
    assert "calls right" in outcome.stdout
    assert outcome.total("offloaded") > 0
    assert outcome.report["verification"]["stale_pages"] == 0
    return outcome


def made(outcome: offload.Outcome, what: str) -> int:
    """Number of things that the program made; 0 if it was built without the library for them."""
    return int(re.search(rf"(\d+) {what}", outcome.stdout)[1])


def offloaded(outcome: offload.Outcome, stem: str) -> int:
    return sum(routine["offloaded"] for routine in outcome.report["routines"] if stem in routine["name"])


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
@pytest.mark.parametrize("budget", [PLENTY, SCARCE], ids=["plenty", "scarce"])
def test_every_byte_is_right(policy, device, seed, budget):
    outcome = play(policy, device, seed, budget=budget)
    assert outcome.report["verification"]["checked"] > 0
    assert offloaded(outcome, "gemm") > 0
    if made(outcome, "factorizations") > 0:
        assert all(offloaded(outcome, stem) > 0 for stem in ("potrf", "potrs", "posv", "getrf", "getrs", "geqrf", "evd"))
    if made(outcome, "transforms") > 0:
        assert all(offloaded(outcome, f"execute_{kind}") > 0 for kind in ("dft", "dft_r2c", "dft_c2r"))


@pytest.mark.parametrize("seed", range(101, 101 + SEEDS))
@pytest.mark.parametrize("budget", [PLENTY, SCARCE], ids=["plenty", "scarce"])
def test_every_byte_is_right_at_full_speed(policy, device, seed, budget):
    """Runs without verification, which waits for all work and so hides races."""
    play(policy, device, seed, budget=budget, verify="off")


@pytest.mark.parametrize("seed", range(301, 301 + SEEDS))
@pytest.mark.parametrize("budget", [PLENTY, SCARCE], ids=["plenty", "scarce"])
@pytest.mark.parametrize("verify", ["abort", "off"])
def test_every_byte_is_right_where_results_stay(device, seed, budget, verify):
    outcome = play("first-use", device, seed, budget=budget, verify=verify, settings=["--results=stay"])
    assert outcome.total("bytes_left") > 0 or os.geteuid() != 0


def test_every_result_passes_the_quick_checks(device):
    outcome = play("copy", device, 5000, verify="sample=100%")
    assert outcome.report["verification"]["checked"] > 1000
    assert outcome.report["verification"]["violations"] == 0, outcome.stderr


@pytest.mark.parametrize("number", [40, 41, 42])
def test_the_program_finds_a_wrong_number(device, number):
    """It also names the seed with which the wrong number is found again."""
    if device != "simulated":
        pytest.skip("wrong numbers are made by the simulated device")
    command = offload.program("random_coherence", "--seed", 6000, "--steps", STEPS, "--threads", 1)
    environment = offload.environment(beside=[offload.REFERENCE_LAPACK, offload.FFTW], OPENBLAS_NUM_THREADS="1")
    outcome = offload.offloaded(command, verify="off", settings=[f"--simulated-fault=execute:{number}:wrong"], env=environment, launched=False)
    assert outcome.status == 1
    assert "random_coherence: seed 6000, round 1" in outcome.stderr


def test_many_threads(policy, device):
    play(policy, device, 1000, threads=16, verify="off")


FAULTS = ["execute:300:memory", "execute:300:lost", "to-device:200:memory", "to-device:200:lost", "to-host:100:memory", "to-host:100:lost",
          "allocate:3:memory", "synchronize:100:lost"]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("policy", ["first-use", "copy"])
def test_faults(policy, device, fault):
    if device != "simulated":
        pytest.skip("faults are injected into the simulated device")
    outcome = play(policy, device, 3000, settings=[f"--simulated-fault={fault}"])
    if fault.endswith("lost"):
        assert outcome.refused()[offload.DEVICE_LOST] > 0


@pytest.mark.parametrize(("form", "policy"), [("unified", "coherent"), ("coherent", "coherent"), ("coherent", "first-use")])
def test_in_place(device, form, policy):
    if device != "simulated":
        pytest.skip("which memory a device reaches is its own affair")
    outcome = play(policy, device, 4000, settings=[f"--simulated-form={form}", "--device-node=0"])
    assert outcome.report["policy"]["in_force"] == policy


def test_reuse_happens(tracker, device):
    """If nothing were reused, all other tests would prove nothing."""
    outcome = play("first-use", device, 2003)
    assert outcome.report["policy"]["tracker"] == tracker
    # The ratio is between 0.02 and 0.06, depending on the threads' interleaving.
    assert outcome.total("bytes_reused") > outcome.total("bytes_to_device") / 200


@pytest.mark.parametrize(("devices", "verify"), [("cuda", "off"), ("cuda:0,1", "abort"), ("cuda:0,1", "off")])
def test_on_the_road_to_a_gpu(device, devices, verify, tmp_path, fake_gpu):
    """Uses the fake driver, which locks pages, unlike the simulated device. Leaves out the fake cuSOLVER, whose LAPACK would be intercepted. Its
    steps are fewer, as they take five times as long."""
    if device != "simulated":
        pytest.skip("there is a GPU")
    for library in fake_gpu.glob("*.so.*"):
        if "cusolver" not in library.name:
            (tmp_path / library.name).symlink_to(library)
    settings = ["--split=always", "--exchange=always"] if "," in devices else []
    outcome = play(
        "first-use",
        devices,
        7000,
        verify=verify,
        steps=STEPS // 2,
        settings=settings,
        beside=[tmp_path],
        BLASTOFF_CUDA_PATH=str(tmp_path),
        FAKE_GPU_COUNT="2",
    )
    assert all(offloaded(outcome, stem) > 0 for stem in ("gemm", "trsm", "syrk"))
    assert outcome.total("split") > 0 or not settings
    assert outcome.total("bytes_between_devices") > 0 or not settings


POLICIES = ["first-use", "copy"]
VERIFY = ["abort", "off"]
BUDGETS = [PLENTY, SCARCE]
SEVERAL = ["simulated:all", "simulated:0,1,2"]


EXCHANGE = ["--exchange=always"]


@pytest.fixture
def on_simulated(device):
    if device != "simulated":
        pytest.skip("several devices are simulated")


@pytest.mark.parametrize(("policy", "devices", "verify", "budget"), offload.in_turns(POLICIES, SEVERAL, VERIFY, BUDGETS))
def test_several_devices(on_simulated, policy, devices, verify, budget):
    outcome = play(policy, devices, 7000, budget=budget, verify=verify, settings=EXCHANGE)
    used = outcome.report["devices"]
    assert len(used) == (3 if devices == SEVERAL[1] else 2)
    assert sum(one["calls"] > 0 for one in used) > 1  # the last device is used only if threads call at the same time
    assert sum(one["calls"] for one in used) == outcome.total("offloaded")
    exchanged = outcome.total("bytes_between_devices")
    assert exchanged == sum(one["bytes_between_devices"] for one in used)
    assert exchanged > 0 or policy == "copy" or not outcome.tracks


# The second of three devices computes 314 to 476 of the calls (twelve runs), depending on the threads' interleaving.
LOSSES_OF_ONE = ["execute:100:lost", "to-device:100:lost", "to-host:50:lost", "synchronize:50:lost"]


@pytest.mark.parametrize("fault", LOSSES_OF_ONE)
def test_one_of_several_is_lost(on_simulated, fault):
    """Its mirrors are lost. Calls continue on the other devices, and none stays on the CPU because of the loss."""
    outcome = play("first-use", SEVERAL[1], 8000, settings=[*EXCHANGE, f"--simulated-fault=1/{fault}"])
    assert [one["state"] == "working" for one in outcome.report["devices"]] == [True, False, True]
    assert "all later calls run on the other devices" in outcome.stderr
    assert offload.DEVICE_LOST not in outcome.refused()


SPLIT = ["--split=always", "--simulated-devices=4", *EXCHANGE]


@pytest.mark.parametrize(("policy", "verify", "budget", "threads"), offload.in_turns(POLICIES, VERIFY, BUDGETS, [1, 4]))
def test_calls_are_split(on_simulated, policy, verify, budget, threads):
    outcome = play(policy, "simulated:all", 9000 + threads, budget=budget, verify=verify, threads=threads, settings=SPLIT)
    used = outcome.report["devices"]
    assert all(one["parts"] > 0 for one in used)
    assert sum(one["calls"] for one in used) + outcome.total("split") == outcome.total("offloaded")
    products = ("gemm", "symm", "hemm", "syrk", "herk", "syr2k", "her2k", "trmm", "trsm")
    for stem in products:
        assert any(stem in routine["name"] and routine["split"] > 0 for routine in outcome.report["routines"]), stem


@pytest.mark.parametrize("fault", [*LOSSES_OF_ONE, "between:20:lost"])
def test_a_device_is_lost_in_a_split_call(on_simulated, fault):
    outcome = play("first-use", "simulated:all", 9500, settings=[*SPLIT, f"--simulated-fault=1/{fault}"])
    assert [one["state"] == "working" for one in outcome.report["devices"]] == [True, False, True, True]
    assert offload.DEVICE_LOST not in outcome.refused()

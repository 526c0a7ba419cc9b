"""Devices that access the program's own memory: nothing is copied in either direction, and results are correct.

The machine of these tests has one NUMA node, which stands for the device's node, so all pages are on it already. On the machines of
tests/machine/run, pages do move.
"""

import re
from pathlib import Path

import offload
import pytest

FORMS = {
    "moves": ["--simulated-form=coherent", "--device-node=0"],
    "coherent": ["--simulated-form=coherent", "--device-node=0", "--policy=coherent"],
    "unified": ["--simulated-form=unified"],
    "prefetch": ["--simulated-form=pageable", "--mechanism=prefetch"],
    "plain-access": ["--simulated-form=pageable", "--policy=coherent"],
}


@pytest.fixture(params=FORMS)
def form(request) -> str:
    return request.param


@pytest.fixture
def in_place(unharmed, form, device):
    """Runs a scenario program in one of the forms, and checks that nothing was copied."""
    if device != "simulated":
        pytest.skip("the simulated device takes these forms")

    def run(name: str, *arguments: object, settings: tuple[str, ...] = (), **options) -> offload.Outcome:
        outcome = unharmed(name, *arguments, policy="auto", settings=[*FORMS[form], *settings], **options)
        if outcome.report:
            assert outcome.total("bytes_from_device") == 0
            assert outcome.report["policy"]["copied_operands"] == []
        return outcome

    return run


def test_every_call_runs_on_the_device(in_place, form):
    outcome = in_place("products")
    assert outcome.total("offloaded") == outcome.total("calls") == 6
    assert outcome.total("bytes_to_device") == 0, "its pages are at home here"
    assert outcome.total("bytes_reused") > 0
    assert outcome.report["policy"]["mechanism"] == {"moves": "moves", "prefetch": "prefetch"}.get(form, "none")
    assert outcome.report["policy"]["in_force"] == ("first-use" if form in ("moves", "prefetch") else "coherent")


def test_a_log_names_the_node_of_each_matrix(in_place, tmp_path):
    in_place("products", 300, 1, settings=(f"--log=calls={tmp_path / 'lines'}",))
    first = (tmp_path / "lines").read_text().splitlines()[0]
    assert re.search(r", matrices node \d+, node \d+, (not yet written > )?node \d+", first)


def test_reuse_counts_the_uses_of_what_came(in_place):
    """The same matrices take part in N products: each byte counts as used N times, though nothing was copied or moved."""
    for what, matrices, products in (("reuse", 2, 4), ("square", 1, 9)):
        outcome = in_place("figures", what, products)
        assert outcome.total("operand_reuse") == products
        assert outcome.total("bytes_read") == products * matrices * 160 * 160 * 8


@pytest.mark.parametrize(
    "case", ["free", "munmap", "map-over", "realloc", "mremap", "heap", "small-stack", "madvise", "shared", "private-file", "static"]
)
def test_memory_that_comes_and_goes(in_place, case):
    assert in_place("memory", case).total("offloaded") > 0


@pytest.mark.parametrize("case", ["blocks", "own", "shared-a"])
def test_many_threads(in_place, case):
    outcome = in_place("threads", case)
    assert outcome.total("offloaded") == outcome.total("calls")


def test_submatrices(in_place):
    assert in_place("factorise").routine("dgemm")["offloaded"] == 6


def test_a_moved_matrix_is_placed_once(in_place, form):
    if form != "moves":
        pytest.skip("nothing is placed in this form")
    few, many = (in_place("products", 160, repeats, verify="off") for repeats in (4, 8))
    placements = [outcome.report["placement"] for outcome in (few, many)]
    assert placements[0]["node"] == 0
    assert placements[0]["bytes_placed"] == placements[1]["bytes_placed"] > 0, "more uses place nothing more"
    assert placements[0]["bytes_moved"] <= placements[0]["bytes_placed"]


@pytest.mark.parametrize("verify", ["abort", "off"])
def test_every_byte_is_right_at_random(form, device, verify):
    """Four threads take thousands of steps (CPU writes, memory operations, calls), and every byte is checked."""
    if device != "simulated":
        pytest.skip("the simulated device takes these forms")
    command = offload.program("random_coherence", "--seed", 7, "--steps", 300, "--threads", 4)
    outcome = offload.offloaded(command, policy="auto", verify=verify, settings=FORMS[form], timeout=600, launched=False)
    assert outcome.status == 0, outcome.stderr
    assert "calls right" in outcome.stdout
    assert outcome.total("offloaded") > 0


def test_children_of_fork_run_on_the_cpu(in_place):
    in_place("process", "fork")


@pytest.mark.parametrize("operation", ["execute:1", "execute:3", "synchronize:2"])
def test_a_device_lost_while_it_overwrites_what_it_reads(device, form, operation):
    """The result may be half written, so no correct result is possible, and the process must not continue as if there were one."""
    if device != "simulated":
        pytest.skip("faults are injected into the simulated device")
    command = offload.program("products")
    outcome = offload.offloaded(command, policy="auto", verify="off", settings=[*FORMS[form], f"--simulated-fault={operation}"], launched=False)
    plain = offload.plain(command)
    lost = [line for line in outcome.lines if "lost" in line]
    assert lost, outcome.stderr
    assert (outcome.status, outcome.stdout) == (plain.status, plain.stdout) or outcome.status == 70


@pytest.mark.parametrize(
    ("access", "mechanism"), [("coherent", "moves"), ("hidden", "mirrors"), ("unified", "none"), ("pageable", "mirrors"), ("", "mirrors")]
)
def test_the_policy_follows_what_the_gpu_says(unharmed, fake_gpu, access, mechanism):
    """A fake driver and a fake cuBLAS stand for the GPU's."""
    env = offload.environment(FAKE_GPU_ACCESS=access, BLASTOFF_CUDA_PATH=str(fake_gpu))
    env["LD_LIBRARY_PATH"] = f"{fake_gpu}:{env['LD_LIBRARY_PATH']}"
    if not access:
        del env["FAKE_GPU_ACCESS"]
    outcome = unharmed("products", policy="auto", device="cuda", env=env)
    assert outcome.total("offloaded") == 6
    if outcome.report["policy"]["mechanism"] != "copies":
        assert outcome.report["policy"]["mechanism"] == mechanism
    assert (outcome.report["placement"] is not None) == (mechanism == "moves")


def test_coherent_is_refused_where_the_device_has_its_own_memory(unharmed):
    outcome = unharmed("products", policy="coherent")
    assert outcome.report["policy"]["mechanism"] in ("mirrors", "copies")
    assert "cannot read the program's own memory" in outcome.report["policy"]["reason"]
    assert [line for line in outcome.lines if "instead of coherent" in line]


def test_moves_are_refused_where_there_is_nowhere_to_move(unharmed):
    outcome = unharmed("products", policy="first-use", settings=["--mechanism=moves"])
    assert "pages cannot move there" in outcome.report["policy"]["reason"]
    assert outcome.report["placement"] is None


def test_a_node_that_is_none_is_said_in_one_line(unharmed, device):
    if device != "simulated":
        pytest.skip("the simulated device takes this form")
    outcome = unharmed("products", policy="first-use", settings=["--simulated-form=coherent", "--device-node=900"])
    assert outcome.report["policy"]["in_force"] == "coherent"
    assert outcome.lines == [f"policy coherent instead of first-use: {outcome.report['policy']['reason']}"]
    assert "NUMA node 900" in outcome.report["policy"]["reason"]


def test_a_coherent_device_without_a_node_is_refused(unharmed, device):
    """All nodes of this machine have CPUs, so none can be the device's."""
    if device != "simulated":
        pytest.skip("the simulated device takes this form")
    nodes = Path("/sys/devices/system/node")
    if (nodes / "has_memory").read_text() != (nodes / "has_cpu").read_text():
        pytest.skip("this machine has a node without CPUs")
    outcome = unharmed("products", settings=["--simulated-form=coherent"])
    assert outcome.refused() == {offload.NO_DEVICE: outcome.total("calls")}
    assert len(outcome.lines) == 1
    assert "--device-node" in outcome.lines[0]


def test_at_malloc_stands_aside_where_no_memory_is_a_devices(unharmed):
    """On an ordinary machine all nodes have CPUs: one line says so, and the program runs as without the option."""
    outcome = unharmed("products", 200, 4, policy="auto", settings=["--place=at-malloc=64K"], launched=True)
    if outcome.report["allocation"]["node"] is not None:
        pytest.skip("this machine has such a node")
    assert [line for line in outcome.lines if "no NUMA node has memory but no CPUs" in line] == outcome.lines != []
    assert outcome.report["allocation"]["bound_blocks"] == 0
    assert outcome.total("offloaded") == outcome.total("calls")

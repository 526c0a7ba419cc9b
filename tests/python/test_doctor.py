"""`blastoff doctor`: its findings, its exit status, and its advice."""

import json
import platform
from pathlib import Path

import pytest
from blastoff import glibc
from blastoff.doctor import command, machine, memory, offload, pages, probe
from blastoff.doctor.finding import State

WORKING = {
    "blastoff": "1.2.3",
    "library": "/lib/libblastoff.so",
    "builds": {"library": "v1.2.3", "program": "v1.2.3", "package": "v1.2.3"},
    "system": {"kernel": "6.18.0", "glibc": "2.36", "cpus": 16, "local_rank": None, "global_rank": None},
    "device": {
        "requested": "cuda",
        "works": True,
        "error": "",
        "kind": "cuda",
        "name": "NVIDIA H100",
        "index": 0,
        "by_server": False,
        "exclusive": False,
        "software": "driver 580",
        "libraries": [
            {"computes": "BLAS", "version": "cuBLAS 13.1.0", "error": ""},
            {"computes": "LAPACK", "version": "cuSOLVER 12.0.4", "error": ""},
        ],
        "team_libraries": [
            {"computes": "messages between GPUs", "version": "NCCL 2.28.9", "error": ""},
            {"computes": "p?potrf, p?potrs", "version": "cuSOLVERMp 0.7.2", "error": ""},
        ],
        "total_memory": 85_000_000_000,
        "free_memory": 80_000_000_000,
        "can_reserve": True,
        "can_pin": True,
        "host_access": "none",
        "memory_node": None,
    },
    "memory": {
        "page_size": 65536,
        "huge_page_size": 2**29,
        "transparent_huge_pages": "madvise",
        "automatic_numa_balancing": False,
        "nodes": [
            {"id": 0, "bytes": 500_000_000_000, "free_bytes": 400_000_000_000, "has_cpus": True, "allowed": True},
            {"id": 1, "bytes": 97_000_000_000, "free_bytes": 96_000_000_000, "has_cpus": False, "allowed": True},
            {"id": 2, "bytes": 0, "free_bytes": 0, "has_cpus": False, "allowed": True},
        ],
    },
    "tracker": {"works": True, "error": "", "name": "uffd"},
    "patching": {"works": True, "error": ""},
    "settings": {"intercept": "auto"},
}


def probed(part: str, **changes) -> dict:
    return WORKING | {part: WORKING[part] | changes}


@pytest.mark.parametrize(
    ("part", "changes", "works"),
    [
        ("device", {}, True),
        ("device", {"works": False, "error": "no driver"}, False),
        ("device", {"kind": "simulated"}, False),
        ("device", {"can_reserve": False}, False),
        ("tracker", {"works": False, "error": "Linux 6.1"}, False),
        ("device", {"host_access": "pageable"}, True),
        ("device", {"host_access": "coherent", "memory_node": 1, "can_reserve": False}, True),
        ("device", {"host_access": "unified", "can_reserve": False}, True),
    ],
)
def test_exit_status(monkeypatch, capsys, part, changes, works):
    monkeypatch.setattr(probe, "probe", lambda: probed(part, **changes))
    assert command.show(as_json=False) == (0 if works else 1)
    assert ("first-use)" in capsys.readouterr().out) == (works or changes.get("kind") == "simulated")


def test_parts_of_different_builds_are_named():
    assert offload.builds_finding(WORKING).state is State.GOOD
    other = offload.builds_finding(probed("builds", package="v1.2.2-9-gabc"))
    assert other.state is State.WARNING and "build v1.2.3" in other.text and "v1.2.2-9-gabc" in other.text and "make build" in other.advice


def test_failures_come_with_their_reason_and_advice():
    device = offload.device_finding(probed("device", works=False, error="no driver [sic]"))
    assert device.state is State.BAD and "no driver [sic]" in device.text and device.advice
    tracking = offload.tracking_finding(probed("tracker", works=False, error="Linux 6.1 has no WP_ASYNC"))
    assert tracking.state is State.BAD and "Linux 6.1" in tracking.text and "6.7" in tracking.advice


def test_each_of_several_devices_is_named():
    second = WORKING["device"] | {"requested": "cuda:1", "free_memory": 5_000_000_000}
    third = {"requested": "cuda:2", "works": False, "error": "no GPU cuda:2"}
    both = offload.device_finding(WORKING | {"other_devices": [second]})
    assert both.state is State.GOOD and "cuda:1: " in both.text and "5.0 of " in both.text
    one_absent = offload.device_finding(WORKING | {"other_devices": [second, third]})
    assert one_absent.state is State.WARNING and "no GPU cuda:2" in one_absent.text and "without cuda:2" in one_absent.advice


def test_libraries_are_named_with_what_they_compute():
    there = offload.libraries_finding(WORKING)
    assert there.state is State.GOOD and "LAPACK: cuSOLVER 12.0.4" in there.text
    absent = offload.libraries_finding(probed("device", libraries=[{"computes": "FFTW", "version": "", "error": "libcufft not found in /lib"}]))
    assert absent.state is State.WARNING and "FFTW: libcufft not found" in absent.text and "FFTW" in absent.advice
    assert offload.libraries_finding(probed("device", works=False, libraries=[])).state is State.NOTE


def test_libraries_of_several_gpus_are_named():
    there = offload.teams_finding(WORKING)
    assert there.state is State.GOOD and "messages between GPUs: NCCL 2.28.9; p?potrf, p?potrs: cuSOLVERMp 0.7.2" in there.text
    lacking = [*WORKING["device"]["team_libraries"], {"computes": "p?gemm", "version": "", "error": "cuBLASMp is not installed"}]
    absent = offload.teams_finding(probed("device", team_libraries=lacking))
    assert absent.state is State.NOTE and "p?gemm: cuBLASMp is not installed" in absent.text and "one GPU" in absent.advice
    assert offload.teams_finding(probed("device", works=False, team_libraries=[])).state is State.NOTE


@pytest.mark.parametrize(
    ("mode", "works", "state"),
    [
        ("auto", True, State.GOOD),
        ("patch", True, State.GOOD),
        ("preload", True, State.NOTE),
        ("auto", False, State.WARNING),
        ("patch", False, State.BAD),
    ],
)
def test_interception(mode, works, state):
    probed = WORKING | {"settings": {"intercept": mode}, "patching": {"works": works, "error": "" if works else "no memory"}}
    found = offload.interception_finding(probed)
    assert found.state is state and mode in found.text
    assert works or ("no memory" in found.text and "--intercept preload" in found.advice)


@pytest.mark.parametrize(
    ("device", "installed", "state", "words"),
    [
        ({"by_server": True}, True, State.GOOD, "a daemon runs"),
        ({}, True, State.NOTE, "blastoff run --mps=auto starts one"),
        ({}, True, State.NOTE, "about a tenth of the device's time"),
        ({}, False, State.NOTE, "about a tenth of the device's time"),
        ({"exclusive": True}, True, State.WARNING, "compute mode exclusive"),
        ({"exclusive": True}, False, State.WARNING, "one process at a time"),
        ({"kind": "simulated"}, False, State.NOTE, "no GPU"),
    ],
)
def test_what_a_server_would_give(monkeypatch, device, installed, state, words):
    monkeypatch.setattr(offload.daemon, "control_program", lambda environment: "/usr/bin/nvidia-cuda-mps-control" if installed else None)
    found = offload.server_finding(probed("device", **device))
    assert found.state is state and words in found.text
    assert bool(found.advice) == (not installed and device.get("kind") != "simulated")


def coherent(**changes) -> dict:
    return probed("device", host_access="coherent", memory_node=1) | changes


def test_memory_map_names_the_devices_node_and_leaves_out_empty_ones():
    text = memory.memory_map(coherent()).text
    assert "node 0: CPUs, 500.0 GB, 400.0 GB free" in text
    assert "node 1: the device's memory, 97.0 GB" in text
    assert "node 2" not in text
    assert "pages of 64 KiB, huge ones of 512 MiB (madvise)" in text
    assert "node 1: memory without CPUs" in memory.memory_map(WORKING).text


def test_host_access_says_what_follows():
    assert "mirrors" in memory.access(WORKING).text
    good = memory.access(coherent())
    assert good.state is State.GOOD and "moves pages" in good.text
    unknown = memory.access(probed("device", host_access="coherent"))
    assert unknown.state is State.WARNING and "--device-node" in unknown.advice
    hidden = probed("device", host_access="coherent") | {"memory": WORKING["memory"] | {"nodes": WORKING["memory"]["nodes"][::2]}}
    cdmm = memory.access(hidden)
    assert cdmm.state is State.WARNING and "CDMM" in cdmm.text and "mirrors" in cdmm.advice and "--device-node" not in cdmm.advice
    nodes = [{**node, "allowed": node["id"] == 0} for node in WORKING["memory"]["nodes"]]
    forbidden = memory.access(coherent(memory=WORKING["memory"] | {"nodes": nodes}))
    assert forbidden.state is State.WARNING and "cpuset" in forbidden.advice
    assert memory.access(probed("device", works=False)).state is State.NOTE


def test_autonuma_matters_on_coherent_machines():
    on = WORKING["memory"] | {"automatic_numa_balancing": True}
    assert memory.balancing(coherent(memory=on)).state is State.WARNING
    assert memory.balancing(WORKING | {"memory": on}).state is State.NOTE
    assert memory.balancing(coherent()).state is State.GOOD


def test_tracking_is_not_missed_where_nothing_is_mirrored():
    broken = {"tracker": {"works": False, "error": "Linux 6.1"}}
    assert offload.tracking_finding(coherent(**broken)).state is State.NOTE


def test_text_is_printed_as_it_is(monkeypatch, capsys):
    """Square brackets, which are markup for the printing library, are printed unchanged."""
    monkeypatch.setattr(probe, "probe", lambda: probed("device", works=False, error="error [bold]42[/bold]"))
    command.show(as_json=False)
    assert "error [bold]42[/bold]" in capsys.readouterr().out


def test_whether_results_can_stay():
    works = {"works": True, "name": "uffd", "error": ""}
    assert offload.results_finding(probed("tracker", **works, fills_pages=True)).state is State.GOOD
    refused = offload.results_finding(probed("tracker", **works, fills_pages=False))
    assert refused.state is State.NOTE and "udev" in refused.advice
    assert "at every call" in offload.results_finding(probed("tracker", works=False, error="none")).text


def test_the_real_thing(blastoff):
    done = blastoff("doctor", "--json", env={"BLASTOFF_DEVICE": "simulated"})
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["works"] is False
    assert found["probe"]["device"]["kind"] == "simulated"
    subjects = [finding["subject"] for finding in found["findings"]]
    memory = ["memory", "host memory", "AutoNUMA"]
    ours = ["library", "device", "libraries", "several GPUs", *memory, "write tracking", "results", "interception", "MPI rank", "NVIDIA MPS"]
    assert subjects == [*ours, "pages", "access counters", "kernel", "huge pages", "container", "CPUs", "BLAS", "energy", "site defaults"]


def test_the_device_asked_for_is_the_one_tried(blastoff):
    done = blastoff("doctor", env={"BLASTOFF_DEVICE": "none"})
    assert done.returncode == 1 and "offloading is switched off" in done.stdout


def test_rank_variables_are_seen(blastoff):
    ranks = {"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}
    done = blastoff("doctor", "--json", env={"BLASTOFF_DEVICE": "simulated"} | ranks)
    system = json.loads(done.stdout)["probe"]["system"]
    assert (system["global_rank"], system["local_rank"]) == (5, 1)


def place(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


@pytest.mark.parametrize(("setting", "state"), [("always [madvise] never", State.GOOD), ("[always] madvise never", State.GOOD)])
def test_huge_pages(tmp_path, monkeypatch, setting, state):
    monkeypatch.setattr(glibc, "version", lambda: (2, 36))
    place(tmp_path, "sys/kernel/mm/transparent_hugepage/enabled", setting)
    assert machine.huge_pages(tmp_path).state is state


def test_no_huge_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(glibc, "version", lambda: (2, 31))
    assert machine.huge_pages(tmp_path).state is State.WARNING
    place(tmp_path, "sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]")
    assert "never" in machine.huge_pages(tmp_path).text
    place(tmp_path, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    assert "glibc 2.31" in machine.huge_pages(tmp_path).text


UVM = "sys/module/nvidia_uvm/parameters/"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("uvm_perf_access_counter_migration_enable", "-1", "the driver's default"),
        ("uvm_perf_access_counter_migration_enable", "0", "off: pages stay"),
        ("uvm_perf_access_counter_mimc_migration_enable", "1", "on: the driver moves"),
    ],
)
def test_access_counters(tmp_path, name, value, text):
    """Older drivers have another name for the parameter."""
    assert "nvidia_uvm is not loaded" in pages.access_counters(tmp_path).text
    place(tmp_path, UVM + name, value + "\n")
    place(tmp_path, UVM + "uvm_perf_access_counter_threshold", "256\n")
    found = pages.access_counters(tmp_path)
    assert found.text.startswith(text) and found.text.endswith("; threshold: 256 accesses")
    assert (f"{name}=0" in found.advice) == (value != "0")


def test_pages_and_how_they_are_zeroed(tmp_path):
    assert pages.base_pages(65536, tmp_path).text == "this kernel has pages of 64 KiB; whether init_on_alloc is on cannot be read"
    place(tmp_path, f"boot/config-{platform.release()}", "CONFIG_X=y\nCONFIG_INIT_ON_ALLOC_DEFAULT_ON=y\n")
    found = pages.base_pages(4096, tmp_path)
    assert "no transparent ones of 64 KiB" in found.text and "init_on_alloc is on" in found.text and "init_on_alloc=0" in found.advice
    place(tmp_path, "proc/cmdline", "root=/dev/sda init_on_alloc=0 quiet")
    place(tmp_path, "sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", "always inherit [madvise] never")
    found = pages.base_pages(4096, tmp_path)
    assert "transparent ones of 64 KiB: madvise" in found.text and "init_on_alloc is off" in found.text and found.advice == ""


def test_container_limits(tmp_path):
    place(tmp_path, ".dockerenv", "")
    place(tmp_path, "proc/self/status", "Name:\tx\nSeccomp:\t2\n")
    place(tmp_path, "sys/fs/cgroup/memory.max", "8000000000\n")
    place(tmp_path, "sys/fs/cgroup/cpu.max", "150000 100000\n")
    text = machine.container(tmp_path).text
    assert "Docker" in text and "filtered" in text and "8.0 GB" in text and "1.5 CPUs" in text


def test_no_container(tmp_path):
    place(tmp_path, "sys/fs/cgroup/memory.max", "max\n")
    place(tmp_path, "sys/fs/cgroup/cpu.max", "max 100000\n")
    assert machine.container(tmp_path).text == "none detected"

"""What the library found when it opened the device and the page tracker, and what follows for offloading."""

import os
from collections.abc import Callable
from typing import Any

from blastoff import documents
from blastoff.doctor.finding import Finding, State
from blastoff.doctor.memory import COHERENT, MEMORY
from blastoff.mps import daemon

SIMULATED = "simulated"
"""The only kind of device that is not a GPU."""
SERVER = "NVIDIA MPS"
TEAMS = "several GPUs"


def builds_finding(probed: dict[str, Any]) -> Finding:
    builds = probed["builds"]
    text = f"version {probed['blastoff']}, build {builds['library']}, {probed['library']}"
    if len(set(builds.values())) == 1:
        return Finding("library", State.GOOD, text)
    return Finding(
        "library",
        State.WARNING,
        f"{text}; the program blastoff is of build {builds['program']}, and the Python package of {builds['package']}",
        "Parts of Blastoff come from different states of its sources. Build or install it again (in a checkout: make build), or set "
        "BLASTOFF_LIBRARY to the library that belongs to this command.",
    )


def described(device: dict[str, Any]) -> str:
    """A device in a phrase: its name and memory, or why it cannot be opened."""
    if not device["works"]:
        return device["error"]
    return f"{device['name']}, {device['free_memory'] / 1e9:.1f} of {device['total_memory'] / 1e9:.1f} GB free"


def device_finding(probed: dict[str, Any]) -> Finding:
    """The devices that the settings ask for: the first with all that is known, the others in a phrase."""
    device = probed["device"]
    if not device["works"]:
        said = "" if "blastoff try" in device["error"] else "`blastoff try -- PROGRAM` says what a GPU would gain. "
        return Finding(
            "device",
            State.BAD,
            f"{device['requested']}: {device['error']}",
            f"All calls run on the CPU until this is fixed. {said}--device simulated runs the full code path without a GPU.",
        )
    others = probed.get("other_devices", [])
    text = "; ".join([described(device), device["software"], *(f"{other['requested']}: {described(other)}" for other in others)])
    absent = [other["requested"] for other in others if not other["works"]]
    if absent:
        return Finding("device", State.WARNING, text, f"Calls run on the devices that work, without {' and '.join(absent)}.")
    if device["kind"] == SIMULATED:
        return Finding("device", State.WARNING, text, "This device is not a GPU: it computes with the program's own BLAS.")
    if not device["can_reserve"]:
        return Finding(
            "device", State.WARNING, text, "This device has no virtual memory management: the policy is copy, and first-use is not possible."
        )
    return Finding("device", State.GOOD, text)


def libraries_finding(probed: dict[str, Any]) -> Finding:
    """The GPU's libraries, and what each computes."""
    libraries = probed["device"].get("libraries", [])
    if not libraries:
        return Finding("libraries", State.NOTE, "not looked for, because there is no GPU")
    text = "; ".join(f"{library['computes']}: {library['version'] or library['error']}" for library in libraries)
    absent = [library["computes"] for library in libraries if not library["version"]]
    if absent:
        return Finding("libraries", State.WARNING, text, f"Calls of {' and '.join(absent)} run on the CPU until the library is installed.")
    return Finding("libraries", State.GOOD, text)


def teams_finding(probed: dict[str, Any]) -> Finding:
    """What distributed calls need to run on several GPUs."""
    libraries = probed["device"].get("team_libraries", [])
    if not libraries:
        return Finding(TEAMS, State.NOTE, "their libraries were not looked for, because there is no GPU")
    text = "; ".join(f"{library['computes']}: {library['version'] or library['error']}" for library in libraries)
    if all(library["version"] for library in libraries):
        return Finding(TEAMS, State.GOOD, text)
    page = documents.page("ranks.md")
    return Finding(TEAMS, State.NOTE, text, f"Without them one GPU makes the distributed calls of a job. Few jobs need more ({page}).")


def tracking_finding(probed: dict[str, Any]) -> Finding:
    """Kernel write tracking, which first-use by mirrors needs."""
    tracker = probed["tracker"]
    if tracker["works"]:
        return Finding("write tracking", State.GOOD, f"{tracker['name']}: a write by the CPU was detected, as first-use requires")
    if in_place(probed):
        return Finding("write tracking", State.NOTE, f"{tracker['error']}; not needed here, because the device uses the program's own memory")
    return Finding(
        "write tracking",
        State.BAD,
        tracker["error"],
        "The policy is copy. First-use needs Linux 6.7 or newer and the userfaultfd system call, or a kernel with soft-dirty bits. "
        "Docker and Podman: use a seccomp profile that allows userfaultfd, or --security-opt seccomp=unconfined. On a cluster, ask "
        "the administrators.",
    )


RESULTS_RULE = 'KERNEL=="userfaultfd", MODE="0666"'


def results_finding(probed: dict[str, Any]) -> Finding:
    """Whether results can stay on the device until somebody looks at them."""
    if not probed["tracker"]["works"] or in_place(probed):
        return Finding("results", State.NOTE, "go to host memory at every call")
    if probed["tracker"].get("fills_pages"):
        return Finding("results", State.GOOD, "can stay on the device until the program, or the kernel on its behalf, touches them")
    return Finding(
        "results",
        State.NOTE,
        "go to host memory at every call: this user may not fill pages for the kernel's own accesses",
        f"A site allows it by the udev rule {RESULTS_RULE} or by sysctl vm.unprivileged_userfaultfd=1 "
        f"(Linux 6.7 or newer; {documents.page('results.md')}).",
    )


def interception_finding(probed: dict[str, Any]) -> Finding:
    """Whether functions can be patched in memory, and whether the settings ask for it."""
    mode, patching = probed["settings"]["intercept"], probed["patching"]
    if not patching["works"]:
        return Finding(
            "interception",
            State.BAD if mode == "patch" else State.WARNING,
            f"{mode}: functions cannot be patched here: {patching['error']}",
            "Only exported names are intercepted: a statically linked BLAS and calls inside a library are not seen. --intercept preload "
            "does the same without trying to patch. SELinux: allow execmod for the program. systemd: MemoryDenyWriteExecute=no.",
        )
    if mode == "preload":
        return Finding("interception", State.NOTE, "preload: only exported names, as requested; functions can be patched here")
    return Finding("interception", State.GOOD, f"{mode}: functions can be patched")


def ranks_finding(probed: dict[str, Any]) -> Finding:
    """MPI variables of the environment, which choose the GPU."""
    system = probed["system"]
    if system["local_rank"] is None:
        return Finding(
            "MPI rank",
            State.NOTE,
            "none in this environment; of several GPUs near its CPUs, a process takes the one that the fewest others of the run use",
        )
    return Finding("MPI rank", State.GOOD, f"rank {system['global_rank']} in the job; local rank {system['local_rank']} on this node")


TAKING_TURNS = "processes that share the GPU take turns otherwise, which costs about a tenth of the device's time"


def server_finding(probed: dict[str, Any]) -> Finding:
    """NVIDIA MPS, by which ranks use a GPU at the same time."""
    device = probed["device"]
    if device.get("kind") != "cuda":
        return Finding(SERVER, State.NOTE, "no GPU that processes could share")
    alone = "one process at a time may use the GPU otherwise (compute mode exclusive)" if device["exclusive"] else ""
    if device["by_server"]:
        return Finding(SERVER, State.GOOD, "a daemon runs: processes use the GPU at the same time" + (f"; {alone}" if alone else ""))
    if daemon.control_program(os.environ):
        text = "no daemon runs; blastoff run --mps=auto starts one for the ranks of a job that share a GPU"
        return Finding(SERVER, State.WARNING if alone else State.NOTE, f"{text}; {alone or TAKING_TURNS}")
    without = alone or TAKING_TURNS
    return Finding(
        SERVER,
        State.WARNING if alone else State.NOTE,
        f"{daemon.CONTROL} is not installed: {without}",
        "It comes with the NVIDIA driver (Debian, Ubuntu: nvidia-compute-utils). Then blastoff run --mps=auto starts it where ranks share a GPU.",
    )


PROBED: list[Callable[[dict[str, Any]], Finding]] = [
    builds_finding,
    device_finding,
    libraries_finding,
    teams_finding,
    *MEMORY,
    tracking_finding,
    results_finding,
    interception_finding,
    ranks_finding,
    server_finding,
]


def offloads_with_first_use(probed: dict[str, Any]) -> bool:
    """Whether calls go to a GPU and matrices stay there."""
    device = probed["device"]
    return device["works"] and device["kind"] != SIMULATED and (in_place(probed) or mirrors(probed))


def in_place(probed: dict[str, Any]) -> bool:
    """Whether the device uses the program's own memory."""
    return probed["device"].get("host_access") in (COHERENT, "unified")


def mirrors(probed: dict[str, Any]) -> bool:
    """Whether copies on the device can be kept equal to host memory."""
    return probed["device"]["can_reserve"] and probed["tracker"]["works"]


def verdict(probed: dict[str, Any]) -> str:
    """The sentence that sums up the findings."""
    device = probed["device"]
    if not device["works"]:
        return "All calls run on the CPU; Blastoff only counts and times them. Try: blastoff try -- PROGRAM, which says what a GPU would gain."
    where = f"the {SIMULATED} device" if device["kind"] == SIMULATED else "the GPU"
    if in_place(probed):
        return f"Calls can be offloaded to {where}, which uses the program's own memory (first-use)."
    if mirrors(probed):
        return f"Calls can be offloaded to {where}, and matrices stay there between calls (first-use)."
    return f"Calls can be offloaded to {where}, but matrices are copied at every call: first-use is not possible here."

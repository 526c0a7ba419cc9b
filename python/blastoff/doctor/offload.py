"""What the library found when it opened the device and the page tracker, and what follows for offloading."""

from collections.abc import Callable
from typing import Any

from blastoff.doctor.finding import Finding, State
from blastoff.doctor.memory import COHERENT, MEMORY


def library_finding(probed: dict[str, Any]) -> Finding:
    return Finding("library", State.GOOD, f"version {probed['blastoff']}, {probed['library']}")


def device_finding(probed: dict[str, Any]) -> Finding:
    """The device that the settings ask for."""
    device = probed["device"]
    if not device["works"]:
        return Finding(
            "device",
            State.BAD,
            f"{device['requested']}: {device['error']}",
            "Calls stay on the CPU until this is put right. --device simulated shows the whole road without a GPU.",
        )
    memory = f"{device['free_memory'] / 1e9:.1f} of {device['total_memory'] / 1e9:.1f} GB free"
    text = f"{device['name']}, {memory}; {device['software']}"
    if device["kind"] != "cuda":
        return Finding("device", State.WARNING, text, "This is no GPU: it computes with the program's own BLAS.")
    if not device["can_reserve"]:
        return Finding("device", State.WARNING, text, "It has no virtual memory management: first-use is not possible, copy is.")
    return Finding("device", State.GOOD, text)


def tracking_finding(probed: dict[str, Any]) -> Finding:
    """Kernel write tracking, which first-use by mirrors needs."""
    tracker = probed["tracker"]
    if tracker["works"]:
        return Finding("write tracking", State.GOOD, f"{tracker['name']}: a write by the CPU was noticed, as first-use needs")
    if in_place(probed):
        return Finding("write tracking", State.NOTE, f"{tracker['error']}; it is not needed where the device uses the program's own memory")
    return Finding(
        "write tracking",
        State.BAD,
        tracker["error"],
        "The policy will be copy. First-use needs Linux 6.7 or newer and a container that allows the userfaultfd system call, or a "
        "kernel with soft-dirty bits "
        "(Docker, Podman: a seccomp profile with userfaultfd, or --security-opt seccomp=unconfined; on a cluster, ask for one).",
    )


def interception_finding(probed: dict[str, Any]) -> Finding:
    """Whether functions can be patched in memory, and whether the settings ask for it."""
    mode, patching = probed["settings"]["intercept"], probed["patching"]
    if not patching["works"]:
        return Finding(
            "interception",
            State.BAD if mode == "patch" else State.WARNING,
            f"{mode}: functions cannot be patched here: {patching['error']}",
            "What is left is exported names: a BLAS linked statically and calls inside a library are not seen (--intercept preload "
            "does the same without trying). SELinux: allow execmod to the program; systemd: MemoryDenyWriteExecute=no.",
        )
    if mode == "preload":
        return Finding("interception", State.NOTE, "preload: exported names only, as the settings ask; functions could be patched here")
    return Finding("interception", State.GOOD, f"{mode}: code was made and written, as patching functions needs")


def ranks_finding(probed: dict[str, Any]) -> Finding:
    """MPI variables of the environment, which choose the GPU."""
    system = probed["system"]
    if system["local_rank"] is None:
        return Finding("MPI rank", State.NOTE, "none in this environment: GPU 0 is used unless --device cuda:N says otherwise")
    return Finding("MPI rank", State.GOOD, f"{system['global_rank']} in the job, {system['local_rank']} on this node, which picks the GPU")


PROBED: list[Callable[[dict[str, Any]], Finding]] = [
    library_finding,
    device_finding,
    *MEMORY,
    tracking_finding,
    interception_finding,
    ranks_finding,
]


def offloads_with_first_use(probed: dict[str, Any]) -> bool:
    """Whether calls go to a GPU and matrices stay there."""
    device = probed["device"]
    return device["works"] and device["kind"] == "cuda" and (in_place(probed) or mirrors(probed))


def in_place(probed: dict[str, Any]) -> bool:
    """Whether the device uses the program's own memory."""
    return probed["device"].get("host_access") in (COHERENT, "unified")


def mirrors(probed: dict[str, Any]) -> bool:
    """Whether copies on the device can be kept honest."""
    return probed["device"]["can_reserve"] and probed["tracker"]["works"]


def verdict(probed: dict[str, Any]) -> str:
    """The sentence that sums it up."""
    device = probed["device"]
    if not device["works"]:
        return "Programs run as without Blastoff: calls are counted and timed, and stay on the CPU."
    where = "the GPU" if device["kind"] == "cuda" else f"the {device['kind']} device"
    if in_place(probed):
        return f"Calls can be offloaded to {where}, and matrices stay where it works best (first-use)."
    if mirrors(probed):
        return f"Calls can be offloaded to {where}, and matrices stay there between calls (first-use)."
    return f"Calls can be offloaded to {where}, by copying every time: first-use is not possible here."

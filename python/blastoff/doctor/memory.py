"""What doctor reports about the machine's memory: its nodes, which of them is the device's, page sizes, and automatic migration."""

from collections.abc import Callable
from typing import Any

from blastoff.doctor.finding import Finding, State

COHERENT = "coherent"
ACCESS = {
    "none": "the device has its own memory: first-use keeps mirrors of matrices there",
    "pageable": "the device reads the program's memory by page faults (HMM): first-use keeps mirrors. --mechanism prefetch and "
    "--policy coherent use HMM; neither has been measured yet",
    COHERENT: "the device uses the program's memory through the CPU's page tables: first-use moves pages to the device's node",
    "unified": "device and CPU share one memory: nothing is moved",
}

CDMM = "the driver manages it alone (CDMM, coherent driver-based memory management, in drivers from 580 on)"


def gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"


def node_text(node: dict[str, Any], device_node: int | None) -> str:
    """One node in words."""
    if node["id"] == device_node:
        kind = "the device's memory"
    elif node["bytes"] == 0:
        kind = "no memory"
    elif node["has_cpus"]:
        kind = "CPUs"
    else:
        kind = "memory without CPUs"
    size = f"{gigabytes(node['bytes'])}, {gigabytes(node['free_bytes'])} free" if node["bytes"] else ""
    allowed = "" if node["allowed"] else "not allowed to this process"
    return f"node {node['id']}: {', '.join(part for part in (kind, size, allowed) if part)}"


def memory_map(probed: dict[str, Any]) -> Finding:
    """NUMA nodes and the sizes of pages."""
    memory, device_node = probed["memory"], probed["device"].get("memory_node")
    # Grace-Hopper has eight empty NUMA nodes, which are meant for parts of a GPU.
    nodes = [node_text(node, device_node) for node in memory["nodes"] if node["bytes"] or node["id"] == device_node]
    pages = f"pages of {memory['page_size'] // 1024} KiB"
    if memory["huge_page_size"]:
        pages += f", huge ones of {memory['huge_page_size'] // 2**20} MiB ({memory['transparent_huge_pages']})"
    return Finding("memory", State.NOTE, "; ".join([*nodes, pages] if nodes else ["no NUMA nodes", pages]))


def hides_memory(probed: dict[str, Any]) -> bool:
    """Whether no node can be the memory of a coherent device: every node with memory has CPUs."""
    return all(node["has_cpus"] or not node["bytes"] for node in probed["memory"]["nodes"])


def access(probed: dict[str, Any]) -> Finding:
    """How the device reaches the program's memory, and what follows for the policy."""
    device = probed["device"]
    if not device["works"]:
        return Finding("host memory", State.NOTE, "access by a device is unknown, because no device works")
    text = ACCESS[device["host_access"]]
    if device["host_access"] != COHERENT:
        return Finding("host memory", State.NOTE, text)
    node = device["memory_node"]
    if node is None and hides_memory(probed):
        return Finding(
            "host memory",
            State.WARNING,
            f"the device uses the program's memory, but its own is no NUMA node: {CDMM}",
            "Pages cannot move there, so matrices have mirrors there, as on a PCIe card. The administrator can make it a node again: "
            "options nvidia NVreg_CoherentGPUMemoryMode=numa.",
        )
    if node is None:
        return Finding(
            "host memory",
            State.WARNING,
            f"{text}; the driver does not report the number of that node",
            "Set --device-node N, so that pages move there. Until then matrices have mirrors in the device's memory.",
        )
    found = next((known for known in probed["memory"]["nodes"] if known["id"] == node), None)
    if found is None or not found["allowed"]:
        return Finding(
            "host memory",
            State.WARNING,
            f"{text}, but this process may not use memory on node {node}",
            "Ask for that node in the batch job (cpuset.mems, numactl --membind). Until then matrices are used where they are.",
        )
    return Finding("host memory", State.GOOD, f"{text}, {node}")


def balancing(probed: dict[str, Any]) -> Finding:
    """AutoNUMA, which moves pages automatically."""
    if not probed["memory"]["automatic_numa_balancing"]:
        return Finding("AutoNUMA", State.GOOD, "off: the kernel leaves pages where they are")
    text = "on: the kernel unmaps pages to detect which CPU uses them, and moves them to that CPU's node"
    if probed["device"].get("host_access") != COHERENT:
        return Finding("AutoNUMA", State.NOTE, text)
    return Finding(
        "AutoNUMA",
        State.WARNING,
        text,
        "On a coherent machine this undoes first-use and slows the device down. As root: "
        "echo 0 > /proc/sys/kernel/numa_balancing (NVIDIA's guide for Grace-Hopper recommends it too).",
    )


MEMORY: list[Callable[[dict[str, Any]], Finding]] = [memory_map, access, balancing]

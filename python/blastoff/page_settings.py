"""Settings of the kernel and of NVIDIA's driver that decide what pages cost and when they move, as the system's files give them."""

import platform
import re
from dataclasses import dataclass
from pathlib import Path

MODULE = Path("sys/module/nvidia_uvm/parameters")
ENABLE = ("uvm_perf_access_counter_migration_enable", "uvm_perf_access_counter_mimc_migration_enable")
"""The parameter's name in newer drivers, and in older ones."""
THRESHOLD = "uvm_perf_access_counter_threshold"
SMALL_HUGE_PAGES = Path("sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled")


def read(path: Path) -> str:
    """The text of a small system file; "" if there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


@dataclass(frozen=True)
class AccessCounters:
    """The GPU's counters of remote accesses, by which the driver moves pages of system memory that the GPU uses often."""

    parameter: str
    """The name of the module's parameter that switches them."""
    migration: str
    """"on", "off", or "default": on where the device uses the CPU's page tables (ATS), off elsewhere."""
    threshold: int | None
    """Accesses after which pages move."""


def access_counters(root: Path = Path("/")) -> AccessCounters | None:
    """None without NVIDIA's module for managed memory (nvidia_uvm), or if it has no such parameter."""
    for name in ENABLE:
        value = read(root / MODULE / name)
        if re.fullmatch(r"-?\d+", value):
            threshold = read(root / MODULE / THRESHOLD)
            migration = "default" if int(value) < 0 else "on" if int(value) else "off"
            return AccessCounters(name, migration, int(threshold) if threshold.isdigit() else None)
    return None


def zeroes_pages_early(root: Path = Path("/")) -> bool | None:
    """Whether the kernel zeroes all memory when it is allocated (init_on_alloc): by the command line, else by how the kernel was built. None if
    neither can be read."""
    given = re.findall(r"\binit_on_alloc=([01yn]|on|off)", read(root / "proc/cmdline"))
    if given:
        return given[-1] in ("1", "y", "on")
    built = read(root / f"boot/config-{platform.release()}")
    return "CONFIG_INIT_ON_ALLOC_DEFAULT_ON=y" in built if built else None


def small_huge_pages(root: Path = Path("/")) -> str:
    """The kernel's setting for transparent pages of 64 KiB; "" if it has none."""
    chosen = re.search(r"\[(\w+)\]", read(root / SMALL_HUGE_PAGES))
    return chosen[1] if chosen else ""

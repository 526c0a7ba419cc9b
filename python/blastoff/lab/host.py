"""Host memory, and facts about it."""

import ctypes
import mmap
import os
import platform
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from blastoff import page_settings, quantities
from blastoff.lab.failures import Cannot
from blastoff.page_settings import read

RESERVE = 1 << 30
"""Bytes of host memory that the laboratory leaves free."""

NO_HUGE_PAGES = "the kernel gives no transparent huge pages"

PAGES = Path("sys/kernel/mm/transparent_hugepage")


def available(root: Path = Path("/")) -> int:
    """Bytes of host memory that programs may still take, within the limit of a container."""
    found = re.search(r"^MemAvailable:\s*(\d+) kB", read(root / "proc/meminfo"), re.MULTILINE)
    amount = int(found[1]) * 1024 if found else 0
    limit, used = read(root / "sys/fs/cgroup/memory.max"), read(root / "sys/fs/cgroup/memory.current")
    if limit.isdigit() and used.isdigit():
        amount = min(amount, int(limit) - int(used))
    return max(0, amount - RESERVE)


def host_memory(size: int, huge_pages: bool | None = None) -> np.ndarray:
    """New pages that nobody has touched, as an array of bytes. They are freed with the last view of them."""
    if size > available():
        raise Cannot(f"{quantities.size(size)} of host memory do not fit: {quantities.size(available())} may be used")
    pages = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if huge_pages is not None:
        try:
            pages.madvise(mmap.MADV_HUGEPAGE if huge_pages else mmap.MADV_NOHUGEPAGE)
        except OSError as error:
            raise Cannot(f"the kernel has no transparent huge pages: {error.strerror}") from error
    return np.frombuffer(pages, np.uint8)[:size]


def bytes_at(address: int, size: int) -> np.ndarray:
    """A view of memory at an address, which must outlive the view."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def array_at(address: int, kind: Any, *shape: int) -> np.ndarray:
    """A typed view of memory at an address."""
    count = int(np.prod(shape, dtype=np.int64))
    return bytes_at(address, count * np.dtype(kind).itemsize).view(kind).reshape(shape)


def base_page() -> int:
    """Bytes of a page of this kernel."""
    return os.sysconf("SC_PAGE_SIZE")


def huge_pages(root: Path = Path("/")) -> str:
    """The kernel's setting for transparent huge pages; "" if it has none."""
    chosen = re.search(r"\[(\w+)\]", read(root / PAGES / "enabled"))
    return chosen[1] if chosen else ""


def facts(root: Path = Path("/")) -> dict[str, Any]:
    """The machine, as the results describe it."""
    model = re.search(r"^model name\s*:\s*(.*)", read(root / "proc/cpuinfo"), re.MULTILINE)
    return {
        "host": platform.node(),
        "kernel": platform.release(),
        "processor": model[1] if model else platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "available_bytes": available(root),
        "page_bytes": base_page(),
        "huge_pages": huge_pages(root) or "none",
        "huge_pages_64k": page_settings.small_huge_pages(root) or "none",
        "init_on_alloc": page_settings.zeroes_pages_early(root),
        "access_counters": asdict(counters) if (counters := page_settings.access_counters(root)) else None,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }

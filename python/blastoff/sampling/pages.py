"""Where the pages of a process lie. The kernel walks the page table to answer, so the question is asked rarely."""

import os
import re
from pathlib import Path

NODES = Path("/sys/devices/system/node")
ON_NODE = re.compile(rb" N(\d+)=(\d+)")
PAGE_KILOBYTES = re.compile(rb" kernelpagesize_kB=(\d+)")


def memory_nodes() -> list[int]:
    """The NUMA nodes that have memory; node 0 if the kernel does not tell."""
    try:
        ranges = [part.split("-") for part in (NODES / "has_memory").read_text(encoding="utf-8").strip().split(",") if part]
    except OSError:
        return [0]
    return [number for ends in ranges for number in range(int(ends[0]), int(ends[-1]) + 1)] or [0]


def nodes_without_cpus() -> list[int]:
    """The memory nodes without CPUs, which are the memory of devices on coherent machines."""
    try:
        return [node for node in memory_nodes() if not (NODES / f"node{node}" / "cpulist").read_text(encoding="utf-8").strip()]
    except OSError:
        return []


def by_node(text: bytes) -> dict[int, int]:
    """Bytes on each node, from /proc/PID/numa_maps: numa(7). Pages of hugetlbfs do not count, as in the resident set."""
    found: dict[int, int] = {}
    for line in text.splitlines():
        size = PAGE_KILOBYTES.search(line)
        if size is None or b" huge" in line:
            continue
        for node, pages in ON_NODE.findall(line):
            found[int(node)] = found.get(int(node), 0) + int(pages) * int(size[1]) * 1024
    return found


def huge_share(text: bytes) -> float:
    """The share of the resident set in transparent huge pages, from /proc/PID/smaps_rollup: proc_pid_smaps(5)."""
    sizes = dict(re.findall(rb"^(Rss|AnonHugePages|ShmemPmdMapped|FilePmdMapped): +(\d+) kB", text, re.MULTILINE))
    resident = int(sizes.pop(b"Rss", 0))
    return sum(map(int, sizes.values())) / resident if resident else 0.0


def read(pid: int, name: str) -> bytes:
    """A file in /proc/PID; empty if it does not exist any more or we may not read it."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


class MigrationCounter:
    """Counts the pages that the kernel has migrated between nodes, for any reason and in all processes of the machine."""

    def __init__(self) -> None:
        self.file = -1
        try:
            self.file = os.open("/proc/vmstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return
        self.start = self._count()

    def _count(self) -> int:
        text = os.pread(self.file, 16384, 0)
        place = text.find(b"pgmigrate_success ")
        return int(text[place + 18 : text.index(b"\n", place)]) if place >= 0 else 0

    def look(self) -> int:
        """Pages migrated since this counter was made."""
        return self._count() - self.start if self.file >= 0 else 0

    def close(self) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1

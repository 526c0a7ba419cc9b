"""The kinds of memory that are measured, by name."""

from __future__ import annotations

from contextlib import ExitStack

from blastoff.lab import host
from blastoff.lab.buffers import BlockBuffer, BlockOverBuffer, Buffer, ExplicitBuffer, HostBuffer, ManagedBuffer, PageLockedBuffer, SystemBuffer
from blastoff.lab.device import Device
from blastoff.lab.failures import Cannot


class Mode:
    """A way in which the CPU and the GPU can share an array, by name."""

    def __init__(self, name: str) -> None:
        self.name = name
        words = name.split()
        self.kind, self.prefetched, self.remote, self.over = words[0], "prefetch" in words, "remote" in words, "over" in words
        self.back = "back" in words
        self.huge_pages = True if "huge" in words else False if "base" in words else None

    def why_not(self, device: Device) -> str:
        """Why the device cannot use this mode; "" if it can."""
        if self.kind == "blocks":
            return device.why_no_blocks()
        if self.huge_pages and host.huge_pages() in ("", "never"):
            return host.NO_HUGE_PAGES
        ability = self.kind if self.huge_pages is not None else self.name
        return "" if self.kind in ("explicit", "chunks", "page-locked") else device.why_not(ability)

    def allocate(self, device: Device, size: int, stack: ExitStack) -> Buffer:
        """A new buffer, which `stack` releases."""
        if reason := self.why_not(device):
            raise Cannot(reason)
        buffer = self._make(device, size)
        stack.callback(buffer.release)
        return buffer

    def _make(self, device: Device, size: int) -> Buffer:
        if self.kind == "explicit":
            return ExplicitBuffer(device, size)
        if self.kind == "chunks":
            return HostBuffer(device, size)
        if self.kind == "managed":
            return ManagedBuffer(device, size, self.prefetched, self.remote, self.back)
        if self.kind == "page-locked":
            return PageLockedBuffer(device, size)
        if self.kind == "blocks":
            return BlockOverBuffer(device, size) if self.over else BlockBuffer(device, size)
        return SystemBuffer(device, size, self.prefetched, self.huge_pages, self.back)


EXPLICIT, MANAGED, MANAGED_PREFETCH = Mode("explicit"), Mode("managed"), Mode("managed prefetch")
MANAGED_REMOTE = Mode("managed remote")
SYSTEM, SYSTEM_PREFETCH = Mode("system"), Mode("system prefetch")
MANAGED_BACK, SYSTEM_BACK = Mode("managed prefetch back"), Mode("system prefetch back")
SYSTEM_BASE, SYSTEM_HUGE = Mode("system base pages"), Mode("system huge pages")
PAGE_LOCKED = Mode("page-locked")
BLOCKS, BLOCKS_OVER = Mode("blocks"), Mode("blocks over malloc")
CHUNKS = Mode("chunks")
MODES = (
    EXPLICIT,
    MANAGED,
    MANAGED_PREFETCH,
    MANAGED_BACK,
    MANAGED_REMOTE,
    SYSTEM,
    SYSTEM_PREFETCH,
    SYSTEM_BACK,
    PAGE_LOCKED,
    BLOCKS,
    BLOCKS_OVER,
)

"""The ways in which the CPU and the GPU can share an array: one class each, one interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from typing import Any

import numpy as np

from blastoff.lab.device import Device
from blastoff.lab.failures import Cannot
from blastoff.lab.host import bytes_at, host_memory


class Buffer(ABC):
    """One array. The CPU uses `host`, kernels use `address`; the CPU waits for the device before it touches anything."""

    host: np.ndarray
    address: int

    def __init__(self, device: Device, size: int) -> None:
        self.device, self.size = device, size

    def view(self, kind: Any, *shape: int) -> np.ndarray:
        """The CPU's side, typed."""
        count = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
        return self.host[:count].view(kind).reshape(shape)

    @abstractmethod
    def before_launch(self) -> None:
        """Makes what the CPU wrote known to kernels; waits."""

    @abstractmethod
    def after_launch(self) -> None:
        """Makes what kernels wrote known to the CPU; waits."""

    def fetch(self, start: int, size: int) -> None:
        """As `after_launch`, for some of the bytes."""
        self.device.synchronize()

    def send(self, start: int, size: int) -> None:
        """As `before_launch`, for some of the bytes."""
        return None

    @abstractmethod
    def release(self) -> None:
        """Gives the memory back."""


class ExplicitBuffer(Buffer):
    """Host memory, device memory, and copies of the whole array between them."""

    def __init__(self, device: Device, size: int) -> None:
        super().__init__(device, size)
        self.host = host_memory(size)
        self.address = device.allocate(size)

    def before_launch(self) -> None:
        self.device.upload(self.address, self.host)

    def after_launch(self) -> None:
        self.device.download(self.host, self.address)

    def fetch(self, start: int, size: int) -> None:
        self.device.download(self.host[start : start + size], self.address + start)

    def send(self, start: int, size: int) -> None:
        self.device.upload(self.address + start, self.host[start : start + size])

    def release(self) -> None:
        self.host = self.host[:0].copy()
        self.device.release(self.address)


class SharedBuffer(Buffer):
    """One address for both sides; `prefetched` moves the pages to the device before launches."""

    def __init__(self, device: Device, size: int, prefetched: bool) -> None:
        super().__init__(device, size)
        self.prefetched = prefetched

    def before_launch(self) -> None:
        if self.prefetched:
            self.device.prefetch(self.address, self.size, to_device=True)
            self.device.synchronize()

    def after_launch(self) -> None:
        self.device.synchronize()


class ManagedBuffer(SharedBuffer):
    """Memory whose pages the driver moves to the side that touches them, or which it leaves in host memory (`remote`)."""

    def __init__(self, device: Device, size: int, prefetched: bool, remote: bool) -> None:
        super().__init__(device, size, prefetched)
        self.address = device.allocate(size, managed=True)
        if remote:
            try:
                device.keep_on_host(self.address, size)
            except Cannot:
                device.release(self.address)
                raise
        self.host = bytes_at(self.address, size)

    def release(self) -> None:
        self.host = np.empty(0, np.uint8)
        self.device.release(self.address)


class SystemBuffer(SharedBuffer):
    """Ordinary memory that the device reaches through ATS or HMM."""

    def __init__(self, device: Device, size: int, prefetched: bool, huge_pages: bool | None = None) -> None:
        super().__init__(device, size, prefetched)
        self.host = host_memory(size, huge_pages)
        self.address = self.host.ctypes.data

    def release(self) -> None:
        self.host = self.host[:0].copy()


class HostBuffer(Buffer):
    """Host memory alone, whose parts an application brings to the device itself."""

    def __init__(self, device: Device, size: int) -> None:
        super().__init__(device, size)
        self.host, self.address = host_memory(size), 0

    def before_launch(self) -> None:
        """The application copies."""

    def after_launch(self) -> None:
        self.device.synchronize()

    def release(self) -> None:
        self.host = self.host[:0].copy()


class Mode:
    """A way to share an array, by name."""

    def __init__(self, name: str) -> None:
        self.name = name
        words = name.split()
        self.kind, self.prefetched, self.remote = words[0], "prefetch" in words, "remote" in words

    def why_not(self, device: Device) -> str:
        """Why the device cannot do it; "" if it can."""
        return "" if self.kind in ("explicit", "chunks") else device.why_not(self.name)

    def allocate(self, device: Device, size: int, stack: ExitStack) -> Buffer:
        """A buffer that `stack` releases."""
        if reason := self.why_not(device):
            raise Cannot(reason)
        if self.kind == "explicit":
            buffer: Buffer = ExplicitBuffer(device, size)
        elif self.kind == "chunks":
            buffer = HostBuffer(device, size)
        elif self.kind == "managed":
            buffer = ManagedBuffer(device, size, self.prefetched, self.remote)
        else:
            buffer = SystemBuffer(device, size, self.prefetched)
        stack.callback(buffer.release)
        return buffer


EXPLICIT, MANAGED, MANAGED_PREFETCH = Mode("explicit"), Mode("managed"), Mode("managed prefetch")
MANAGED_REMOTE = Mode("managed remote")
SYSTEM, SYSTEM_PREFETCH = Mode("system"), Mode("system prefetch")
CHUNKS = Mode("chunks")
MODES = (EXPLICIT, MANAGED, MANAGED_PREFETCH, MANAGED_REMOTE, SYSTEM, SYSTEM_PREFETCH)

"""The ways in which the CPU and the GPU can share an array: one class each, one interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from blastoff import quantities
from blastoff.lab.blocks import DEVICE, HOST, Block
from blastoff.lab.device import Device
from blastoff.lab.failures import Cannot
from blastoff.lab.host import array_at, available, bytes_at, host_memory
from blastoff.lab.kernels.table import Address, Intent, Kernel


class Buffer(ABC):
    """One array, which the CPU and kernels use in turns; the CPU waits for the device before it touches anything."""

    def __init__(self, device: Device, size: int) -> None:
        self.device, self.size = device, size

    @abstractmethod
    def on_host(self, intent: Intent, kind: Any, *shape: int) -> AbstractContextManager[np.ndarray]:
        """The array for the CPU, typed, while the `with` block runs."""

    @abstractmethod
    def first_on_host(self, kind: Any, *shape: int) -> AbstractContextManager[np.ndarray]:
        """The first elements for the CPU to read, with the results of kernels."""

    @abstractmethod
    def begin_use(self, intent: Intent) -> int:
        """The address for kernels that are launched before `end_use`."""

    @abstractmethod
    def end_use(self) -> None:
        """Ends begin_use(): no further kernel is launched with its address."""

    @abstractmethod
    def before_launch(self) -> None:
        """Makes the CPU's writes visible to kernels. Waits until that is done."""

    @abstractmethod
    def after_launch(self) -> None:
        """Makes the writes of kernels visible to the CPU. Waits until that is done."""

    def send(self) -> None:
        """Makes the CPU's writes between launches visible to kernels, if this kind of buffer needs a copy for that."""
        return None

    @abstractmethod
    def release(self) -> None:
        """Gives the memory back."""


@contextmanager
def for_launch(kernel: Kernel, values: tuple[Any, ...]) -> Iterator[list[Any]]:
    """The arguments of a kernel, with buffers replaced by their addresses. Each buffer is used with the intent that the kernel declares."""
    used: list[Buffer] = []
    arguments: list[Any] = []
    try:
        for kind, value in zip(kernel.parameters, values, strict=True):
            if isinstance(value, Buffer) and issubclass(kind, Address):
                arguments.append(value.begin_use(kind.intent))
                used.append(value)
            else:
                arguments.append(value)
        yield arguments
    finally:
        for buffer in used:
            buffer.end_use()


def launch(device: Device, kernel: Kernel, grid: tuple[int, int], block: tuple[int, int], *values: Any) -> None:
    """Queues a kernel, some of whose arguments are buffers."""
    with for_launch(kernel, values) as arguments:
        device.launch(kernel, grid, block, *arguments)


class FixedBuffer(Buffer):
    """An array that stays where it is: the CPU uses `host`, kernels use `address`."""

    host: np.ndarray
    address: int

    def view(self, kind: Any, *shape: int) -> np.ndarray:
        """The CPU's side, typed."""
        count = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
        return self.host[:count].view(kind).reshape(shape)

    @contextmanager
    def on_host(self, intent: Intent, kind: Any, *shape: int) -> Iterator[np.ndarray]:
        yield self.view(kind, *shape)

    @contextmanager
    def first_on_host(self, kind: Any, *shape: int) -> Iterator[np.ndarray]:
        self.device.synchronize()
        yield self.view(kind, *shape)

    def begin_use(self, intent: Intent) -> int:
        return self.address

    def end_use(self) -> None:
        """Does nothing: the array stays where it is."""


class ExplicitBuffer(FixedBuffer):
    """Host memory, device memory, and copies of the whole array between them."""

    def __init__(self, device: Device, size: int) -> None:
        super().__init__(device, size)
        self.host = host_memory(size)
        self.address = device.allocate(size)

    def before_launch(self) -> None:
        self.device.upload(self.address, self.host)

    def after_launch(self) -> None:
        self.device.download(self.host, self.address)

    @contextmanager
    def first_on_host(self, kind: Any, *shape: int) -> Iterator[np.ndarray]:
        part = self.view(kind, *shape)
        self.device.download(part, self.address)
        yield part

    def send(self) -> None:
        self.before_launch()

    def release(self) -> None:
        self.host = self.host[:0].copy()
        self.device.release(self.address)


class DeviceBuffer(FixedBuffer):
    """Device memory that only kernels use: the CPU's side is empty. What it starts with, if anything, is uploaded."""

    def __init__(self, device: Device, size: int) -> None:
        super().__init__(device, size)
        self.host = np.empty(0, np.uint8)
        self.address = device.allocate(size)

    def upload(self, contents: np.ndarray) -> None:
        self.device.upload(self.address, contents)

    def before_launch(self) -> None:
        """Does nothing: the CPU writes nothing."""

    def after_launch(self) -> None:
        """Does nothing: the CPU reads nothing."""

    def release(self) -> None:
        self.device.release(self.address)


class SharedBuffer(FixedBuffer):
    """Memory that both sides use at the same address. If `prefetched`, its pages move to the device before launches; if `back`, also to the host
    after them."""

    def __init__(self, device: Device, size: int, prefetched: bool, back: bool = False) -> None:
        super().__init__(device, size)
        self.prefetched, self.back = prefetched, back

    def before_launch(self) -> None:
        if self.prefetched:
            self.device.prefetch(self.address, self.size, to_device=True)
            self.device.synchronize()

    def after_launch(self) -> None:
        if self.back:
            self.device.prefetch(self.address, self.size, to_device=False)
        self.device.synchronize()


class PageLockedBuffer(SharedBuffer):
    """Page-locked host memory. Kernels read and write it over the link (zero-copy)."""

    def __init__(self, device: Device, size: int) -> None:
        super().__init__(device, size, prefetched=False)
        self.address = device.allocate_on_host(size)
        self.host = bytes_at(self.address, size)

    def release(self) -> None:
        self.host = np.empty(0, np.uint8)
        self.device.release_on_host(self.address)


class ManagedBuffer(SharedBuffer):
    """Managed memory. The driver moves its pages to the side that touches them, or leaves them in host memory (`remote`)."""

    def __init__(self, device: Device, size: int, prefetched: bool, remote: bool, back: bool = False) -> None:
        super().__init__(device, size, prefetched, back)
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

    def __init__(self, device: Device, size: int, prefetched: bool, huge_pages: bool | None = None, back: bool = False) -> None:
        super().__init__(device, size, prefetched, back)
        self.host = host_memory(size, huge_pages)
        self.address = self.host.ctypes.data

    def release(self) -> None:
        self.host = self.host[:0].copy()


class HostBuffer(FixedBuffer):
    """Host memory only. The application copies parts of it to the device itself."""

    def __init__(self, device: Device, size: int) -> None:
        super().__init__(device, size)
        self.host, self.address = host_memory(size), 0

    def before_launch(self) -> None:
        """Does nothing: the application copies."""

    def after_launch(self) -> None:
        self.device.synchronize()

    def release(self) -> None:
        self.host = self.host[:0].copy()


class BlockBuffer(Buffer):
    """A block of the block interface with its own memory. The host's side is page-locked, and each side is allocated at its first use."""

    def __init__(self, device: Device, size: int) -> None:
        super().__init__(device, size)
        self.block = self._create(size)
        self.part: Block | None = None

    def _create(self, size: int, memory: int = 0) -> Block:
        if size > available():
            raise Cannot(f"{quantities.size(size)} of host memory do not fit: {quantities.size(available())} may be used")
        return self.device.blocks().create(size, self.device.room(), memory)

    @contextmanager
    def on_host(self, intent: Intent, kind: Any, *shape: int) -> Iterator[np.ndarray]:
        with self._held_on_host(self.block, intent, kind, *shape) as array:
            yield array

    @staticmethod
    @contextmanager
    def _held_on_host(block: Block, intent: Intent, kind: Any, *shape: int) -> Iterator[np.ndarray]:
        address = block.acquire(HOST, intent)
        try:
            yield array_at(address, kind, *shape)
        finally:
            block.release(HOST)

    @contextmanager
    def first_on_host(self, kind: Any, *shape: int) -> Iterator[np.ndarray]:
        """The first elements for the CPU. A block moves as a whole, so the elements are copied on the device to a smaller block, which moves."""
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
        if size == self.size:
            with self.on_host(Intent.READ, kind, *shape) as array:
                yield array
            return
        self.part = self.part or self._create(size)
        stream = self.device.stream
        source = self.block.acquire(DEVICE, Intent.READ, stream)
        try:
            self.device.copy(self.part.acquire(DEVICE, Intent.WRITE, stream), source, size)
            self.part.release(DEVICE, stream)
        finally:
            self.block.release(DEVICE, stream)
        with self._held_on_host(self.part, Intent.READ, kind, *shape) as array:
            yield array

    def begin_use(self, intent: Intent) -> int:
        return self.block.acquire(DEVICE, intent, self.device.stream)

    def end_use(self) -> None:
        self.block.release(DEVICE, self.device.stream)

    def before_launch(self) -> None:
        self.block.acquire(DEVICE, Intent.READ)
        self.block.release(DEVICE)

    def after_launch(self) -> None:
        self.block.acquire(HOST, Intent.READ)
        self.block.release(HOST)

    def prefetch(self) -> None:
        """Starts to move the block to the device, if that is possible now."""
        self.block.prefetch(DEVICE)

    def release(self) -> None:
        for block in filter(None, (self.part, self.block)):
            block.destroy()


class BlockOverBuffer(BlockBuffer):
    """A block over ordinary memory. The CPU writes it by plain stores, and the library finds out which pages were written."""

    def __init__(self, device: Device, size: int) -> None:
        self.host = host_memory(size)
        super().__init__(device, size)

    def _create(self, size: int, memory: int = 0) -> Block:
        return super()._create(size, self.host.ctypes.data if size == len(self.host) else 0)

    @contextmanager
    def on_host(self, intent: Intent, kind: Any, *shape: int) -> Iterator[np.ndarray]:
        self.after_launch()
        yield array_at(self.host.ctypes.data, kind, *shape)

    def release(self) -> None:
        super().release()
        self.host = self.host[:0].copy()

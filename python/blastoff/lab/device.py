"""The interface of the laboratory's devices: memory, copies, kernels, time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from blastoff import quantities
from blastoff.lab.blocks import Blocks, open_blocks
from blastoff.lab.failures import Cannot
from blastoff.lab.host import available
from blastoff.lab.kernels.table import Kernel


@dataclass
class Span:
    """How long the device worked, in seconds. It is known when the `with` block of `Device.span` has ended."""

    seconds: float = 0.0


@dataclass(frozen=True)
class Held:
    """One allocation that has not been released yet."""

    size: int
    managed: bool


class Device(ABC):
    """A device with memory of its own. Addresses are integers; sizes are bytes. All work is in one queue, in order.

    No allocation takes more than the free memory less a reserve, and managed memory does not exceed the free device memory unless the device
    `oversubscribes`: when pages of managed memory evict each other, the GPU can stall for everyone who uses it.
    """

    kind: str
    name: str
    setting: str
    """The device as a value of Blastoff's setting `device`: "cuda:0"."""
    software: str
    multiprocessors: int
    stream = 1
    """The stream of all work, as an argument for Blastoff's block interface: the default stream (CU_STREAM_LEGACY)."""
    granule = 2 << 20
    """Allocations are rounded up to a multiple of so many bytes."""
    oversubscribes = False
    """Whether managed memory may exceed the free device memory."""
    context_seconds: float = 0.0
    compile_seconds: float = 0.0

    def __init__(self) -> None:
        self.held: dict[int, Held] = {}
        self.page_locked: set[int] = set()
        self._blocks: Blocks | None = None

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def memory(self) -> tuple[int, int]:
        """Free and total bytes of the device."""

    @abstractmethod
    def why_not(self, ability: str) -> str:
        """Why the device lacks an ability ("managed", "managed prefetch", "managed remote", "system", "system prefetch"); "" if it has it."""

    @abstractmethod
    def cpu_reaches_its_memory(self) -> bool:
        """Whether pages that moved to the device stay there while the CPU uses them."""

    @abstractmethod
    def attributes(self) -> dict[str, Any]:
        """What the device says about its memory."""

    @abstractmethod
    def _allocate(self, size: int, managed: bool) -> int: ...

    @abstractmethod
    def _release(self, address: int, managed: bool) -> None: ...

    @abstractmethod
    def _allocate_on_host(self, size: int) -> int: ...

    @abstractmethod
    def _release_on_host(self, address: int) -> None: ...

    @abstractmethod
    def upload(self, address: int, source: np.ndarray) -> None:
        """Copies an array in host memory to the device and waits."""

    @abstractmethod
    def download(self, target: np.ndarray, address: int) -> None:
        """Copies device memory into an array and waits."""

    @abstractmethod
    def copy(self, target: int, source: int, size: int) -> None:
        """Queues a copy within the device."""

    @abstractmethod
    def prefetch(self, address: int, size: int, to_device: bool) -> None:
        """Moves pages of managed or system memory; does not wait."""

    @abstractmethod
    def keep_on_host(self, address: int, size: int) -> None:
        """Makes managed memory stay in host memory. The device reads and writes it over the link."""

    @abstractmethod
    def launch(self, kernel: Kernel, grid: tuple[int, int], block: tuple[int, int], *values: Any) -> None:
        """Queues a kernel; `values` are its arguments in order."""

    @abstractmethod
    def synchronize(self) -> None:
        """Waits for all queued work."""

    @abstractmethod
    def mark(self) -> Any:
        """Queues a time mark."""

    @abstractmethod
    def seconds_between(self, first: Any, second: Any) -> float:
        """Waits for both marks and returns the time between them."""

    @abstractmethod
    def forget(self, marks: Sequence[Any]) -> None:
        """Releases marks."""

    def blocks(self) -> Blocks:
        """Blastoff's block interface on this device, opened by the first call; raises Cannot if it cannot be used."""
        self._blocks = open_blocks(self.setting)
        return self._blocks

    def opened_blocks(self) -> dict[str, Any]:
        """The part of the results about the block interface; empty if it was not opened."""
        return {} if self._blocks is None else {"blocks": self._blocks.path, "blocks_seconds": self._blocks.seconds}

    def why_no_blocks(self) -> str:
        """Why `blocks` raises Cannot; "" if it does not."""
        try:
            self.blocks()
        except Cannot as reason:
            return str(reason)
        return ""

    def prepare(self, *kernels: Kernel) -> None:
        """Compiles kernels, so that no measurement includes compiling."""
        return None

    @property
    def reserve(self) -> int:
        """Bytes that must stay free for the driver and other programs."""
        return max(self.memory()[1] // 50, 1 << 20)

    def room(self) -> int:
        """The most bytes that one more allocation may take."""
        managed = 0 if self.oversubscribes else sum(held.size for held in self.held.values() if held.managed)
        return max(0, self.memory()[0] - self.reserve - managed)

    def allocate(self, size: int, managed: bool = False) -> int:
        """The address of new memory; raises Cannot if it does not fit."""
        room = self.room()
        if size > room and not (managed and self.oversubscribes):
            kind = "managed" if managed else "device"
            raise Cannot(f"{quantities.size(size)} of {kind} memory do not fit: {quantities.size(room)} may be used")
        address = self._allocate(size, managed)
        self.held[address] = Held(size, managed)
        return address

    def release(self, address: int) -> None:
        held = self.held.pop(address)
        self._release(address, held.managed)

    def allocate_on_host(self, size: int) -> int:
        """The address of new page-locked host memory, which kernels reach at the same address; raises Cannot if it does not fit."""
        if size > available():
            raise Cannot(f"{quantities.size(size)} of host memory do not fit: {quantities.size(available())} may be used")
        address = self._allocate_on_host(size)
        self.page_locked.add(address)
        return address

    def release_on_host(self, address: int) -> None:
        self.page_locked.remove(address)
        self._release_on_host(address)

    def close(self) -> None:
        """Releases all memory."""
        for address in list(self.page_locked):
            self.release_on_host(address)
        for address in list(self.held):
            self.release(address)

    @contextmanager
    def span(self) -> Iterator[Span]:
        """Measures the work that the `with` block queues, on the device's own clock."""
        span = Span()
        marks = [self.mark()]
        yield span
        marks.append(self.mark())
        span.seconds = self.seconds_between(*marks)
        self.forget(marks)

    def timed_launches(self, count: int, kernel: Kernel, grid: tuple[int, int], block: tuple[int, int], *values: Any) -> list[float]:
        """Seconds of each of `count` launches, which are queued without waiting in between."""
        marks = [self.mark()]
        for _ in range(count):
            self.launch(kernel, grid, block, *values)
            marks.append(self.mark())
        seconds = [self.seconds_between(*pair) for pair in pairwise(marks)]
        self.forget(marks)
        return seconds

    def blocks_for(self, items: int, threads: int = 256) -> tuple[int, int]:
        """Grid and block sizes for a grid-stride loop over `items`."""
        return max(1, min(-(-items // threads), 32 * self.multiprocessors)), 1

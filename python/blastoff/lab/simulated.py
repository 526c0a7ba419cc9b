"""A device without a GPU: its memory is separate host memory, its copies are real copies, and its kernels are the NumPy references.

Managed and system memory are host memory that both sides use, as on a coherent machine. Times say nothing about any GPU.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from blastoff.lab.device import Device
from blastoff.lab.failures import Cannot
from blastoff.lab.host import bytes_at, host_memory
from blastoff.lab.kernels.table import Kernel

MEMORY = 256 << 20


class SimulatedDevice(Device):
    """The simulated device; see the head of this file."""

    kind = "simulated"
    name = "simulated device"
    setting = "simulated"
    software = "NumPy " + np.__version__
    multiprocessors = 4
    granule = 512
    oversubscribes = True

    def __init__(self, memory: int = MEMORY) -> None:
        super().__init__()
        self.total = memory
        self.arrays: dict[int, np.ndarray] = {}

    def memory(self) -> tuple[int, int]:
        return self.total - sum(held.size for held in self.held.values() if not held.managed), self.total

    def why_not(self, ability: str) -> str:
        return ""

    def cpu_reaches_its_memory(self) -> bool:
        return True

    def attributes(self) -> dict[str, Any]:
        return {"coherent": True}

    def _allocate(self, size: int, managed: bool) -> int:
        array = host_memory(size)
        address = array.ctypes.data
        self.arrays[address] = array
        return address

    def _release(self, address: int, managed: bool) -> None:
        del self.arrays[address]

    def _allocate_on_host(self, size: int) -> int:
        return self._allocate(size, managed=False)

    def _release_on_host(self, address: int) -> None:
        self._release(address, managed=False)

    def _check(self, address: int, size: int) -> None:
        """Copies stay within one allocation, as a GPU's driver demands."""
        if not any(start <= address and address + size <= start + array.nbytes for start, array in self.arrays.items()):
            raise Cannot(f"{size} bytes at {address:#x} are no device memory")

    def upload(self, address: int, source: np.ndarray) -> None:
        self._check(address, source.nbytes)
        bytes_at(address, source.nbytes)[:] = source.reshape(-1).view(np.uint8)

    def download(self, target: np.ndarray, address: int) -> None:
        self._check(address, target.nbytes)
        target.reshape(-1).view(np.uint8)[:] = bytes_at(address, target.nbytes)

    def copy(self, target: int, source: int, size: int) -> None:
        bytes_at(target, size)[:] = bytes_at(source, size)

    def prefetch(self, address: int, size: int, to_device: bool) -> None:
        """Does nothing: both sides use the same memory."""

    def keep_on_host(self, address: int, size: int) -> None:
        """Does nothing: the memory is host memory."""

    def launch(self, kernel: Kernel, grid: tuple[int, int], block: tuple[int, int], *values: Any) -> None:
        kernel.reference(grid, block, *kernel.decode(kernel.encode(values)))

    def synchronize(self) -> None:
        """Does nothing: kernels have run when `launch` returns."""

    def mark(self) -> float:
        return time.perf_counter()

    def seconds_between(self, first: float, second: float) -> float:
        return second - first

    def forget(self, marks: Sequence[float]) -> None:
        """Does nothing: marks are plain numbers."""

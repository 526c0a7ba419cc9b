"""What the six applications have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from blastoff.lab.buffers import Buffer
from blastoff.lab.device import Device
from blastoff.lab.kernels.table import Kernel


@dataclass(frozen=True)
class Array:
    """An array of an application. The CPU initialises it, from `contents` where there are any, or a kernel writes it first.

    `device_only`: only kernels use it, so it stays in explicit device memory in every kind of memory but blocks. `by_device`: a kernel initialises
    it, before the computation."""

    kind: type
    shape: tuple[int, ...]
    contents: np.ndarray | None = None
    initialised: bool = False
    read_back: bool = False
    device_only: bool = False
    by_device: bool = False

    @property
    def size(self) -> int:
        """Bytes."""
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.kind).itemsize


def given(contents: np.ndarray, read_back: bool = False) -> Array:
    """An array that the CPU initialises with `contents`."""
    return Array(contents.dtype.type, contents.shape, contents, initialised=True, read_back=read_back)


Buffers = dict[str, Buffer]


class Application(ABC):
    """One problem. `compute` queues its kernels; `error` compares the arrays that were read back with the CPU's own result."""

    name: str
    kernels: tuple[Kernel, ...]
    tolerance: float = 0.0
    arrays: dict[str, Array]
    size_text: str

    chunks = 0
    """Number of parts of the problem that come to the device one after the other; 0: the whole problem is there at once."""

    initialised_by = "cpu"
    """Who touches the arrays first: "cpu" or "gpu"."""

    lap_bytes: int | None = None
    """Bytes that the kernels of one iteration read and write; None if that differs or is not counted."""

    lap: Callable[[], None] = staticmethod(lambda: None)
    """Called by `compute` after the kernels of each iteration."""

    needs_undo = False
    """Whether `error` checks the arrays as they are after `undo`."""

    def initialise(self, name: str, array: np.ndarray) -> None:
        """Fills an array on the CPU before the computation."""
        array[...] = self.arrays[name].contents

    def initialise_on_device(self, device: Device, buffers: Buffers) -> None:
        """Queues the kernels that initialise the arrays `by_device`."""
        raise NotImplementedError(self.name)

    def undo(self, device: Device, buffers: Buffers) -> None:
        """Runs the computation backwards, where the problem is too large for the CPU to check it forwards."""
        raise NotImplementedError(self.name)

    @abstractmethod
    def compute(self, device: Device, buffers: Buffers) -> None:
        """Everything between copying the arrays in and copying the results out."""

    @abstractmethod
    def error(self, results: dict[str, np.ndarray]) -> float:
        """The largest deviation from the CPU's result; above `tolerance` the result is wrong."""

    @property
    def size(self) -> int:
        """Bytes of all arrays."""
        return sum(array.size for array in self.arrays.values())


def grid_2d(side: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Grid and block sizes for one thread per element of a square array."""
    return (-(-side // 32), -(-side // 8)), (32, 8)

"""The table of kernels: where each is written, what it takes, and what it computes."""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blastoff.lab.kernels import references

SOURCES = Path(__file__).resolve().parent

ADDRESS, INT, LONG, FLOAT, DOUBLE = ctypes.c_uint64, ctypes.c_int32, ctypes.c_int64, ctypes.c_float, ctypes.c_double


@dataclass(frozen=True)
class Kernel:
    """One __global__ function. `parameters` are the C types of its arguments; `reference` computes the same in host memory."""

    name: str
    file: str
    parameters: tuple[type[Any], ...]
    reference: Callable[..., None]

    @property
    def source(self) -> str:
        return (SOURCES / self.file).read_text()

    def encode(self, values: Sequence[Any]) -> list[Any]:
        """The arguments as C objects."""
        return [kind(*value) if issubclass(kind, ctypes.Array) else kind(value) for kind, value in zip(self.parameters, values, strict=True)]

    def decode(self, objects: Sequence[Any]) -> list[Any]:
        """The arguments as Python sees them."""
        return [list(thing) if isinstance(thing, ctypes.Array) else thing.value for thing in objects]


GATE_MATRIX = FLOAT * 32

DAXPY = Kernel("daxpy", "daxpy.cu", (LONG, DOUBLE, ADDRESS, ADDRESS), references.daxpy)
FILL = Kernel("fill", "pages.cu", (LONG, LONG, ADDRESS), references.fill)
WALK = Kernel("walk", "pages.cu", (LONG, LONG, ADDRESS, ADDRESS, ADDRESS), references.walk)
GATE = Kernel("gate", "statevector.cu", (LONG, INT, INT, INT, INT, GATE_MATRIX, ADDRESS), references.gate)
ALIGN = Kernel("align", "needle.cu", (INT, INT, INT, INT, ADDRESS, ADDRESS), references.align)
DESCEND = Kernel("descend", "pathfinder.cu", (INT, INT, INT, ADDRESS, ADDRESS, ADDRESS), references.descend)
EXPAND = Kernel("expand", "bfs.cu", (INT, INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS), references.expand)
HEAT = Kernel("heat", "hotspot.cu", (INT, FLOAT, FLOAT, FLOAT, FLOAT, ADDRESS, ADDRESS, ADDRESS), references.heat)
COEFFICIENT = Kernel("coefficient", "srad.cu", (INT, FLOAT, ADDRESS, ADDRESS), references.coefficient)
DIFFUSE = Kernel("diffuse", "srad.cu", (INT, FLOAT, ADDRESS, ADDRESS, ADDRESS), references.diffuse)

KERNELS = (DAXPY, FILL, WALK, GATE, ALIGN, DESCEND, EXPAND, HEAT, COEFFICIENT, DIFFUSE)

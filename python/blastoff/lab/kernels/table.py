"""The table of kernels: the source file, the arguments and the reference of each."""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from blastoff.lab.kernels import references

SOURCES = Path(__file__).resolve().parent

INT, LONG, FLOAT, DOUBLE = ctypes.c_int32, ctypes.c_int64, ctypes.c_float, ctypes.c_double


class Intent(Enum):
    """How an array is used; the values are those of blastoff_access."""

    READ = 0
    WRITE = 1  # every byte, and none is read
    UPDATE = 2


class Address(ctypes.c_uint64):
    """The address of an array."""

    intent: Intent


class Read(Address):
    """The address of an array that the kernel reads."""

    intent = Intent.READ


class Write(Address):
    """The address of an array of which the kernel writes every byte."""

    intent = Intent.WRITE


class Update(Address):
    """The address of an array that the kernel reads and writes, or writes in part."""

    intent = Intent.UPDATE


@dataclass(frozen=True)
class Kernel:
    """One __global__ function. `parameters` are the C types of its arguments; `reference` does the same computation in host memory."""

    name: str
    file: str
    parameters: tuple[type[Any], ...]
    reference: Callable[..., None]

    @property
    def source(self) -> str:
        return (SOURCES / self.file).read_text(encoding="utf-8")

    def encode(self, values: Sequence[Any]) -> list[Any]:
        """The arguments as C objects."""
        return [kind(*value) if issubclass(kind, ctypes.Array) else kind(value) for kind, value in zip(self.parameters, values, strict=True)]

    def decode(self, objects: Sequence[Any]) -> list[Any]:
        """The arguments as Python sees them."""
        return [list(thing) if isinstance(thing, ctypes.Array) else thing.value for thing in objects]


GATE_MATRIX = FLOAT * 32

DAXPY = Kernel("daxpy", "daxpy.cu", (LONG, DOUBLE, Read, Update), references.daxpy)
STREAM_COPY = Kernel("stream_copy", "stream.cu", (LONG, Read, Write), references.stream_copy)
STREAM_MUL = Kernel("stream_mul", "stream.cu", (LONG, DOUBLE, Read, Write), references.stream_mul)
STREAM_ADD = Kernel("stream_add", "stream.cu", (LONG, Read, Read, Write), references.stream_add)
STREAM_TRIAD = Kernel("stream_triad", "stream.cu", (LONG, DOUBLE, Read, Read, Write), references.stream_triad)
FILL = Kernel("fill", "pages.cu", (LONG, LONG, Write), references.fill)
WALK = Kernel("walk", "pages.cu", (LONG, LONG, Read, Write, Write), references.walk)
GATE = Kernel("gate", "statevector.cu", (LONG, INT, INT, INT, INT, GATE_MATRIX, Update), references.gate)
FIRST_STATE = Kernel("first_state", "statevector.cu", (LONG, Write), references.first_state)
GATE_ON_PARTS = Kernel(
    "gate_on_parts", "statevector.cu", (LONG, INT, INT, INT, INT, GATE_MATRIX, INT, Update, Update, Update, Update), references.gate_on_parts
)
ALIGN = Kernel("align", "needle.cu", (INT, INT, INT, INT, Read, Update), references.align)
DESCEND = Kernel("descend", "pathfinder.cu", (INT, INT, INT, Read, Read, Write), references.descend)
EXPAND = Kernel("expand", "bfs.cu", (INT, INT, Read, Read, Update, Update), references.expand)
HEAT = Kernel("heat", "hotspot.cu", (INT, FLOAT, FLOAT, FLOAT, FLOAT, Read, Read, Write), references.heat)
COEFFICIENT = Kernel("coefficient", "srad.cu", (INT, FLOAT, Read, Write), references.coefficient)
EXPONENTIATE = Kernel("exponentiate", "srad.cu", (LONG, Read, Write), references.exponentiate)
DIFFUSE = Kernel("diffuse", "srad.cu", (INT, FLOAT, Read, Read, Write), references.diffuse)

STREAM = (STREAM_COPY, STREAM_MUL, STREAM_ADD, STREAM_TRIAD)
KERNELS = (DAXPY, *STREAM, FILL, WALK, GATE, GATE_ON_PARTS, FIRST_STATE, ALIGN, DESCEND, EXPAND, HEAT, COEFFICIENT, EXPONENTIATE, DIFFUSE)

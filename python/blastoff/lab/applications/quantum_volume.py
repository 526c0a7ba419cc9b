"""Quantum volume: random gates on random pairs of qubits, applied to a state vector in single precision."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from blastoff.lab.applications.application import Application, Array, Buffers
from blastoff.lab.buffers import Buffer, HostBuffer, launch
from blastoff.lab.device import Device
from blastoff.lab.kernels.table import FIRST_STATE, GATE, GATE_ON_PARTS

CHECKED_QUBITS = 18
"""Most qubits for which the CPU checks the whole state. For more, the inverse circuit must restore the initial state."""


@dataclass(frozen=True)
class Gate:
    """A unitary matrix on two qubits. Row and column 1 are for the first qubit set, row and column 2 for the second."""

    first: int
    second: int
    matrix: np.ndarray

    def inverse(self) -> "Gate":
        return Gate(self.first, self.second, self.matrix.conj().T)


def circuit(qubits: int, layers: int) -> list[Gate]:
    """Each layer pairs all qubits at random; each pair gets a unitary matrix from the Haar measure (Mezzadri)."""
    random = np.random.default_rng(6)
    gates = []
    for _ in range(layers):
        order = random.permutation(qubits)
        for first, second in zip(order[::2], order[1::2], strict=False):
            entries = random.standard_normal((4, 4)) + 1j * random.standard_normal((4, 4))
            unitary, triangle = np.linalg.qr(entries)
            phases = np.diag(triangle) / np.abs(np.diag(triangle))
            gates.append(Gate(int(first), int(second), unitary * phases))
    return gates


def arguments(gate: Gate, first: int, second: int, amplitudes: int) -> tuple[Any, ...]:
    """The arguments of a kernel that applies a gate to the bits `first` and `second` of `amplitudes` amplitudes."""
    entries = np.ascontiguousarray(gate.matrix, np.complex64).view(np.float32).reshape(-1).tolist()
    return amplitudes // 4, *sorted((first, second)), first, second, entries


def by_tensors(qubits: int, gates: list[Gate]) -> np.ndarray:
    """The final state in double precision: the state is a tensor with an axis of length 2 for each qubit."""
    state = np.zeros((2,) * qubits, np.complex128)
    state[(0,) * qubits] = 1
    for gate in gates:
        axes = qubits - 1 - gate.second, qubits - 1 - gate.first  # the last axis is bit 0
        tensor = gate.matrix.reshape(2, 2, 2, 2)
        state = np.moveaxis(np.tensordot(tensor, state, axes=((2, 3), axes)), (0, 1), axes)
    return state.reshape(-1)


class QuantumVolume(Application):
    """As many layers as qubits. `chunks` (a power of two, at least 8; 0: none) keeps the state in arrays of that number, which need not be on the
    device together. `by_device`: a kernel writes the first state (only without chunks)."""

    name = "quantum volume"
    kernels = (GATE, GATE_ON_PARTS, FIRST_STATE)
    tolerance = 1e-5

    def __init__(self, qubits: int, layers: int = 0, chunks: int = 0, by_device: bool = False) -> None:
        self.qubits, self.chunks, layers = qubits, chunks, layers or qubits
        self.initialised_by = "gpu" if by_device else "cpu"
        self.size_text = f"{qubits} qubits, {layers} layers" + (f", {chunks} chunks" if chunks else "") + (", GPU-initialised" if by_device else "")
        self.gates = circuit(qubits, layers)
        self.lap_bytes = None if chunks else (qubits // 2) * 2 * (8 << qubits)
        self.local = qubits - (chunks.bit_length() - 1 if chunks else 0)  # qubits within an array
        part = Array(np.complex64, (1 << self.local,), initialised=not by_device, by_device=by_device, read_back=True)
        self.arrays: dict[str, Array] = {f"state {number}": part for number in range(max(1, chunks))}
        self.expected = by_tensors(qubits, self.gates) if qubits <= CHECKED_QUBITS else None

    def initialise(self, name: str, array: np.ndarray) -> None:
        array.fill(0)
        if name == "state 0":
            array[0] = 1  # all qubits are 0

    def initialise_on_device(self, device: Device, buffers: Buffers) -> None:
        amplitudes = 1 << self.qubits
        launch(device, FIRST_STATE, device.blocks_for(amplitudes), (256, 1), amplitudes, buffers["state 0"])

    def compute(self, device: Device, buffers: Buffers) -> None:
        of_a_layer = self.qubits // 2
        for start in range(0, len(self.gates), of_a_layer):
            self.apply(device, buffers, self.gates[start : start + of_a_layer])
            self.lap()

    @property
    def needs_undo(self) -> bool:
        return self.expected is None

    def undo(self, device: Device, buffers: Buffers) -> None:
        """Runs the inverse circuit."""
        self.apply(device, buffers, [gate.inverse() for gate in reversed(self.gates)])

    def apply(self, device: Device, buffers: Buffers, gates: list[Gate]) -> None:
        parts = list(buffers.values())
        if not self.chunks:
            for gate in gates:
                quads, *rest = arguments(gate, gate.first, gate.second, 1 << self.qubits)
                launch(device, GATE, device.blocks_for(quads), (256, 1), quads, *rest, parts[0])
            return
        on_host = [part for part in parts if isinstance(part, HostBuffer)]
        apply_group = self.in_copies if on_host else self.in_place
        with ExitStack() as stack:
            address = 0
            if on_host:
                address = device.allocate(4 * parts[0].size)
                stack.callback(lambda: device.release(address))
            for gate in gates:
                # A gate mixes chunks whose numbers differ in the gate's qubits above the chunk's own.
                above = sorted(qubit - self.local for qubit in (gate.first, gate.second) if qubit >= self.local)
                bits = {qubit + self.local: self.local + place for place, qubit in enumerate(above)}
                first, second = bits.get(gate.first, gate.first), bits.get(gate.second, gate.second)
                for group in groups(self.chunks, above):
                    apply_group(device, arguments(gate, first, second, len(group) << self.local), [parts[number] for number in group], address)

    def in_copies(self, device: Device, values: tuple[Any, ...], parts: list[HostBuffer], address: int) -> None:
        """Copies the chunks to the device, one behind the other, applies the gate, and copies them back."""
        size = parts[0].size
        for place, part in enumerate(parts):
            device.upload(address + place * size, part.host)
        device.launch(GATE, device.blocks_for(values[0]), (256, 1), *values, address)
        for place, part in enumerate(parts):
            device.download(part.host, address + place * size)

    def in_place(self, device: Device, values: tuple[Any, ...], parts: list[Buffer], _address: int) -> None:
        """Applies the gate to the chunks where they are; the system moves those that are not on the device."""
        none = [0] * (4 - len(parts))
        launch(device, GATE_ON_PARTS, device.blocks_for(values[0]), (256, 1), *values, self.local, *parts, *none)

    def error(self, results: dict[str, np.ndarray]) -> float:
        parts = [results[name] for name in self.arrays]
        if self.expected is not None:
            return max(float(np.max(np.abs(part - known))) for part, known in zip(parts, np.split(self.expected, len(parts)), strict=True))
        others = [parts[0][1:], *parts[1:]]
        return max(float(abs(parts[0][0] - 1)), *(float(np.max(np.abs(part.view(np.float32)))) for part in others))


def groups(chunks: int, above: list[int]) -> Iterator[list[int]]:
    """The chunks that a gate mixes: those whose numbers differ in the bits `above` only, the lowest of these bits varying fastest."""
    mask = sum(1 << bit for bit in above)
    for number in range(chunks):
        if not number & mask:
            yield [number | sum(1 << bit for place, bit in enumerate(above) if choice >> place & 1) for choice in range(1 << len(above))]

"""Quantum volume: random gates on random pairs of qubits, applied to a state vector in single precision."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from blastoff.lab.applications.application import Application, Array, Buffers
from blastoff.lab.device import Device
from blastoff.lab.kernels.table import GATE
from blastoff.lab.modes import Buffer

LAYERS = 5
CHECKED_QUBITS = 22
"""Up to here the CPU computes the whole state; above, the inverse circuit must bring the initial state back."""


@dataclass(frozen=True)
class Gate:
    """A unitary matrix on two qubits; row and column 1 have the first qubit set, 2 the second."""

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


def launch(device: Device, gate: Gate, first: int, second: int, amplitudes: int, address: int) -> None:
    """Queues a gate on the bits `first` and `second` of `amplitudes` amplitudes."""
    entries = np.ascontiguousarray(gate.matrix, np.complex64).view(np.float32).reshape(-1).tolist()
    quads = amplitudes // 4
    low, high = sorted((first, second))
    device.launch(GATE, device.blocks_for(quads), (256, 1), quads, low, high, first, second, entries, address)


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
    """`chunks` (a power of two, at least 8; 0: none) keeps the state in host memory and brings a part at a time to the device."""

    name = "quantum volume"
    kernels = (GATE,)
    tolerance = 1e-5

    def __init__(self, qubits: int, layers: int = LAYERS, chunks: int = 0) -> None:
        self.qubits, self.chunks = qubits, chunks
        self.size_text = f"{qubits} qubits, {layers} layers" + (f", {chunks} chunks" if chunks else "")
        self.gates = circuit(qubits, layers)
        self.arrays: dict[str, Array] = {"state": Array(np.complex64, (1 << qubits,), initialised=True, read_back=True)}
        self.expected = by_tensors(qubits, self.gates) if qubits <= CHECKED_QUBITS else None

    def initialise(self, name: str, array: np.ndarray) -> None:
        array.fill(0)
        array[0] = 1  # all qubits are 0

    def compute(self, device: Device, buffers: Buffers) -> None:
        self.apply(device, buffers["state"], self.gates)

    @property
    def needs_undo(self) -> bool:
        return self.expected is None

    def undo(self, device: Device, buffers: Buffers) -> None:
        """The inverse circuit."""
        self.apply(device, buffers["state"], [gate.inverse() for gate in reversed(self.gates)])

    def apply(self, device: Device, state: Buffer, gates: list[Gate]) -> None:
        if self.chunks:
            self.in_chunks(device, state.host.view(np.complex64), gates)
        else:
            for gate in gates:
                launch(device, gate, gate.first, gate.second, 1 << self.qubits, state.address)

    def in_chunks(self, device: Device, state: np.ndarray, gates: list[Gate]) -> None:
        """A gate mixes chunks whose numbers differ in the gate's qubits above the chunk's own: those come to the device together."""
        low = self.qubits - (self.chunks.bit_length() - 1)  # qubits within a chunk
        parts = state.reshape(self.chunks, 1 << low)
        with ExitStack() as stack:
            address = device.allocate(4 * parts[0].nbytes)
            stack.callback(lambda: device.release(address))
            for gate in gates:
                above = sorted(qubit - low for qubit in (gate.first, gate.second) if qubit >= low)
                bits = {qubit + low: low + place for place, qubit in enumerate(above)}
                for group in groups(self.chunks, above):
                    for place, number in enumerate(group):
                        device.upload(address + place * parts[0].nbytes, parts[number])
                    first, second = bits.get(gate.first, gate.first), bits.get(gate.second, gate.second)
                    launch(device, gate, first, second, len(group) << low, address)
                    for place, number in enumerate(group):
                        device.download(parts[number], address + place * parts[0].nbytes)

    def error(self, results: dict[str, np.ndarray]) -> float:
        state = results["state"]
        if self.expected is not None:
            return float(np.max(np.abs(state - self.expected)))
        return float(max(abs(state[0] - 1), np.max(np.abs(state[1:].view(np.float32)))))


def groups(chunks: int, above: list[int]) -> Iterator[list[int]]:
    """The chunks that a gate mixes: those whose numbers differ in the bits `above` only, the lowest of these bits varying fastest."""
    mask = sum(1 << bit for bit in above)
    for number in range(chunks):
        if not number & mask:
            yield [number | sum(1 << bit for place, bit in enumerate(above) if choice >> place & 1) for choice in range(1 << len(above))]

"""Qiskit Aer on the circuits of quantum volume, where its package is installed: the simulator that people use, beside our kernels."""

from typing import Any

import numpy as np

from blastoff.lab.applications.quantum_volume import Gate, QuantumVolume
from blastoff.lab.failures import Cannot
from blastoff.lab.session import Session, seconds_of

CPU, GPU = "CPU", "GPU"


def mode(device: str) -> str:
    """The name of its rows."""
    return f"Qiskit Aer, {device}"


def simulator() -> Any:
    try:
        import qiskit_aer
    except ImportError as error:
        raise Cannot("the Python package qiskit-aer is not installed") from error
    return qiskit_aer.AerSimulator(method="statevector", precision="single")


def circuit(qubits: int, gates: list[Gate]) -> Any:
    from qiskit import QuantumCircuit

    result = QuantumCircuit(qubits)
    for gate in gates:
        result.unitary(gate.matrix, [gate.first, gate.second])  # both have the first qubit as the lowest bit of a row
    result.save_statevector()
    return result


def final_state(aer: Any, qubits: int, gates: list[Gate]) -> tuple[np.ndarray, float]:
    """The state, and the seconds that the simulator took for it."""
    made, results = circuit(qubits, gates), []
    seconds = seconds_of(lambda: results.append(aer.run(made, shots=1).result()))
    if not results[0].success:
        raise Cannot(f"Qiskit Aer: {results[0].status}")
    return np.asarray(results[0].get_statevector(), np.complex64), seconds


def measure(session: Session, application: QuantumVolume) -> dict[str, Any]:
    """On the GPU if the package can use one and the laboratory does. Its phases cannot be told apart."""
    aer = simulator()
    on_gpu = session.device.kind != "simulated" and GPU in aer.available_devices()
    aer.set_options(device=GPU if on_gpu else CPU)
    qubits, gates = application.qubits, application.gates
    state, seconds = final_state(aer, qubits, gates)
    if application.needs_undo:
        state, _ = final_state(aer, qubits, [*gates, *(gate.inverse() for gate in reversed(gates))])
    error = application.error({"state 0": state})
    return {
        "application": application.name,
        "problem": application.size_text,
        "mode": mode(GPU if on_gpu else CPU),
        "initialised_by": application.initialised_by,
        "bytes": application.size,
        **dict.fromkeys(("allocation", "initialisation", "moving", "reading", "release"), 0.0),
        **dict.fromkeys(("computation", "kernels", "total"), seconds),
        "error": error,
        "tolerance": application.tolerance,
        "right": bool(error <= application.tolerance),
    }

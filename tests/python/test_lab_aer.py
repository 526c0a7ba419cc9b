"""Qiskit Aer in the laboratory. Its package is a stand-in here, which computes by tensors."""

import importlib.util
import sys
from types import SimpleNamespace

import pytest
from blastoff.lab.applications import aer, experiment, quantum_volume
from blastoff.lab.applications.quantum_volume import Gate, QuantumVolume
from blastoff.lab.simulated import SimulatedDevice
from blastoff.lab.view import words
from lab_rig import session_on


class Circuit:
    def __init__(self, qubits: int) -> None:
        self.qubits, self.gates = qubits, []

    def unitary(self, matrix, qubits) -> None:
        self.gates.append(Gate(*qubits, matrix))

    def save_statevector(self) -> None:
        pass


class Simulator:
    loses = 0

    def __init__(self, method: str, precision: str) -> None:
        assert (method, precision) == ("statevector", "single")

    def available_devices(self):
        return ("CPU", "GPU")

    def set_options(self, device: str) -> None:
        assert device == "CPU", "the laboratory runs on the simulated device"

    def run(self, circuit: Circuit, shots: int):
        state = quantum_volume.by_tensors(circuit.qubits, circuit.gates[self.loses :])
        return SimpleNamespace(result=lambda: SimpleNamespace(success=True, status="", get_statevector=lambda: state))


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "qiskit", SimpleNamespace(QuantumCircuit=Circuit))
    monkeypatch.setitem(sys.modules, "qiskit_aer", SimpleNamespace(AerSimulator=Simulator))


@pytest.mark.parametrize("checked", [18, 4], ids=["every amplitude", "by the inverse circuit"])
def test_the_same_circuit_gives_the_same_state(installed, monkeypatch, checked):
    monkeypatch.setattr(quantum_volume, "CHECKED_QUBITS", checked)
    with SimulatedDevice() as device:
        row = aer.measure(session_on(device), QuantumVolume(8))
        assert row["right"] and row["mode"] == "Qiskit Aer, CPU" and row["total"] > 0
        monkeypatch.setattr(Simulator, "loses", 1)
        assert not aer.measure(session_on(device), QuantumVolume(8))["right"]


def test_it_is_one_more_row_of_the_cpu_initialised_problem(installed):
    with SimulatedDevice() as device:
        session = session_on(device, "applications", only=("quantum volume",))
        experiment.run(session)
    (row,) = [row for row in session.results().rows if row["mode"] == "Qiskit Aer, CPU"]
    assert row["initialised_by"] == "cpu"
    (shown,) = [cells for cells in words.applications(session.results().rows)[1] if "Qiskit Aer, CPU" in cells]
    assert shown.count("-") == 5


@pytest.mark.skipif(importlib.util.find_spec("qiskit_aer") is not None, reason="Qiskit Aer is installed")
def test_without_the_package_a_line_says_so():
    with SimulatedDevice() as device:
        session = session_on(device, "applications", only=("quantum volume",))
        experiment.run(session)
    assert "the Python package qiskit-aer is not installed" in [entry["why"] for entry in session.cannot]

"""The laboratory's blocks, on the simulated device."""

from contextlib import ExitStack

import pytest

np = pytest.importorskip("numpy")

from blastoff.lab import daxpy  # noqa: E402
from blastoff.lab.applications import experiment, quantum_volume  # noqa: E402
from blastoff.lab.blocks import open_blocks  # noqa: E402
from blastoff.lab.buffers import launch  # noqa: E402
from blastoff.lab.failures import Cannot  # noqa: E402
from blastoff.lab.kernels.table import DAXPY, FILL, Kernel, Read, Update  # noqa: E402
from blastoff.lab.modes import BLOCKS, BLOCKS_OVER  # noqa: E402
from blastoff.lab.simulated import SimulatedDevice  # noqa: E402
from lab_rig import LosesLaunches, session_on  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def blocks():
    """Those of this process."""
    return open_blocks("simulated")


def test_the_intents_of_kernels_move_blocks(monkeypatch):
    """With a wrong one, what was computed stays behind on the device."""
    for mode in (BLOCKS, BLOCKS_OVER):
        for y, right in ((Update, True), (Read, False)):
            monkeypatch.setattr(daxpy, "DAXPY", Kernel(DAXPY.name, DAXPY.file, (*DAXPY.parameters[:3], y), DAXPY.reference))
            with SimulatedDevice() as device:
                assert daxpy.measure(session_on(device), mode, 1 << 12, 2, 3)["right"] is right, (mode.name, y)


def test_every_application_computes_in_blocks():
    """Its reference notices a launch that is lost there, too."""
    with SimulatedDevice() as device:
        session = session_on(device)
        for application in (maker() for _, _, maker in experiment.problems(session)):
            assert experiment.measure(session, application, BLOCKS)["right"], application.name
            name = "gate_on_parts" if application.chunks else application.kernels[0].name
            with LosesLaunches(name, 100 if application.chunks else 1) as faulty:
                assert not experiment.measure(session_on(faulty), application, BLOCKS)["right"], application.name


def test_a_part_of_a_block_comes_alone():
    with SimulatedDevice() as device, ExitStack() as stack:
        buffer = BLOCKS.allocate(device, 8000, stack)
        launch(device, FILL, (1, 1), (1, 1), 1000, 5, buffer)
        with buffer.first_on_host(np.int64, 3) as first:
            assert list(first) == [5, 6, 7]
        launch(device, FILL, (1, 1), (1, 1), 1000, 9, buffer)
        with buffer.first_on_host(np.int64, 1000) as whole, pytest.raises(RuntimeError, match="hold"):
            assert list(whole) == list(range(9, 1009))
            launch(device, FILL, (1, 1), (1, 1), 1000, 1, buffer)


def test_blocks_that_do_not_fit_take_turns(blocks):
    application = quantum_volume.QuantumVolume(12, chunks=16)
    whole = quantum_volume.QuantumVolume(12)
    with SimulatedDevice() as device:
        session = session_on(device)
        with blocks.at_most(application.size // 2):
            assert experiment.measure(session, application, BLOCKS)["right"]
            with pytest.raises(Cannot, match=r"no \S+ \S+ more for blocks"):
                experiment.measure(session, whole, BLOCKS)
        assert blocks.live == 0
        assert experiment.measure(session, whole, BLOCKS)["right"]

"""The laboratory's blocks, on the simulated device."""

import os
import subprocess
import sys
from contextlib import ExitStack

import offload
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
    """The blocks of this process."""
    return open_blocks("simulated")


def test_the_intents_of_kernels_move_blocks(monkeypatch):
    """With a wrong intent, results stay on the device."""
    for mode in (BLOCKS, BLOCKS_OVER):
        for y, right in ((Update, True), (Read, False)):
            monkeypatch.setattr(daxpy, "DAXPY", Kernel(DAXPY.name, DAXPY.file, (*DAXPY.parameters[:3], y), DAXPY.reference))
            with SimulatedDevice() as device:
                assert daxpy.measure(session_on(device), mode, 1 << 12, 2, 3)["right"] is right, (mode.name, y)


def test_every_application_computes_in_blocks():
    """Each application's check also notices a lost launch."""
    with SimulatedDevice() as device:
        session = session_on(device)
        for application in (maker.make() for maker in experiment.problems(session)):
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
            with pytest.raises(Cannot, match=r"no \S+ \S+ more in a pool"):
                experiment.measure(session, whole, BLOCKS)
        assert blocks.live == 0
        assert experiment.measure(session, whole, BLOCKS)["right"]


WORKS_LATE = """
import ctypes

from blastoff.lab import daxpy, oversubscription
from blastoff.lab.applications import experiment
from blastoff.lab.modes import BLOCKS, BLOCKS_OVER
from blastoff.lab.simulated import SimulatedDevice
from lab_rig import session_on


class LateDevice(SimulatedDevice):
    # Kernels run in NumPy once everything before them on the stream has run, and nothing else is waited for.
    setting = "cuda:0"

    def __init__(self):
        super().__init__()
        self.driver = ctypes.CDLL("libcuda.so.1")
        context, stream = ctypes.c_void_p(), ctypes.c_void_p()
        for status in (
            self.driver.cuInit(0),
            self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
            self.driver.cuCtxPushCurrent_v2(context),
            self.driver.cuStreamCreate(ctypes.byref(stream), 1),
        ):
            assert status == 0
        self.stream = stream.value

    def synchronize(self):
        assert self.driver.cuStreamSynchronize(ctypes.c_void_p(self.stream)) == 0

    def launch(self, *values):
        self.synchronize()
        super().launch(*values)

    def copy(self, *values):
        self.synchronize()
        super().copy(*values)


device = LateDevice()
session = session_on(device)
rows = [daxpy.measure(session, mode, size, 3, 3) for mode in (BLOCKS, BLOCKS_OVER) for size in (1 << 12, 1 << 20)]
rows += [oversubscription.measure(session, BLOCKS, 1 << 20, ratio) for ratio in (0.5, 2.0)]
rows += [experiment.measure(session, maker.make(), BLOCKS) for maker in experiment.problems(session)]
print(len(rows), sum(row["right"] for row in rows), device.blocks().live)
"""


def test_on_a_gpu_that_works_late(fake_gpu):
    """Memory is page-locked, and copies run in separate threads, so that code which does not wait for them finds other values."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("BLASTOFF_", "LD_"))}
    paths = os.pathsep.join(str(offload.ROOT / folder) for folder in ("python", "tests/python", "tests/support"))
    clean |= {"PYTHONPATH": paths, "LD_LIBRARY_PATH": str(fake_gpu), "BLASTOFF_CUDA_PATH": str(fake_gpu), "BLASTOFF_LIBRARY": str(offload.LIBRARY)}
    done = subprocess.run([sys.executable, "-c", WORKS_LATE], env=clean, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "15 15 0\n"), done.stdout + done.stderr

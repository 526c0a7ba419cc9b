"""What the scenario and program tests share. `--blastoff-device cuda` (or BLASTOFF_TEST_DEVICE) runs them on a GPU."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import offload
import pytest

# A shell without job control starts background programs with Ctrl-C ignored, and all programs inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--blastoff-device",
        default=os.environ.get("BLASTOFF_TEST_DEVICE", "simulated"),
        help="the device that scenario and program tests offload to (simulated)",
    )


def pytest_report_header(config: pytest.Config) -> str:
    return f"blastoff: device {config.getoption('--blastoff-device')}, {offload.COMMAND}"


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> str:
    return request.config.getoption("--blastoff-device")


@pytest.fixture(scope="session")
def fake_gpu() -> Path:
    """The folder of a driver and libraries that stand for a GPU's."""
    if not (offload.FAKE_GPU / "libcuda.so.1").exists():
        pytest.skip("the fake driver is not built")
    return offload.FAKE_GPU


def track_by(tracker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the test use this kind of tracking, or skips it if the kernel does not have it."""
    if reason := offload.why_not_tracked_by(tracker):
        pytest.skip(reason)
    monkeypatch.setattr(offload, "TRACKER", tracker)


@pytest.fixture(params=["first-use", "first-use-soft-dirty", "copy"])
def policy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each policy; first-use a second time, with the tracker of older kernels."""
    if request.param == "first-use-soft-dirty":
        track_by("soft-dirty", monkeypatch)
        return "first-use"
    return request.param


@pytest.fixture(params=["uffd", "soft-dirty"])
def tracker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each tracker, for tests of first-use only."""
    track_by(request.param, monkeypatch)
    return request.param


@pytest.fixture
def once_of_several() -> Callable[[Callable[[int], None]], None]:
    """Makes a check of wall times, which is given the number of the try. It has to hold in one of three tries: on busy cores, two runs of the same
    program differ by more than they save. There, a check that never holds says nothing."""

    def tried(check: Callable[[int], None]) -> None:
        tries = 3
        for attempt in range(tries):
            try:
                return check(attempt)
            except AssertionError:
                if attempt < tries - 1:
                    continue
                if os.getloadavg()[0] > len(os.sched_getaffinity(0)):
                    pytest.skip("others use the cores: wall times of the same run differ by more than what is checked")
                raise

    return tried

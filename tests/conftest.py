"""What the scenario and program tests share. `--blastoff-device cuda` (or BLASTOFF_TEST_DEVICE) runs them on a GPU."""

import os

import offload
import pytest


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


@pytest.fixture(params=["first-use", "copy"])
def policy(request: pytest.FixtureRequest) -> str:
    return request.param

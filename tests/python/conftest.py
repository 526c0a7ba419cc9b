"""Fixtures that the tests of the `blastoff` command share."""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import offload
import pytest

sys.path.insert(0, str(offload.ROOT / "python"))
os.environ.pop("COLUMNS", None)  # pytest-xdist sets it, and our text would be as narrow

from command_rig import clean_environment, command_line

REPORT = {
    "blastoff": "1.2.3",
    "process": {
        "run": "node17:1:2",
        "program": "scf",
        "command_line": "./scf input.dat",
        "host": "node17",
        "kernel": "6.18.0",
        "pid": 4711,
        "rank": None,
        "elapsed_seconds": 61.5,
    },
    "settings": {"policy": "first-use", "min-size": "250"},
    "device": {
        "used": True,
        "kind": "cuda",
        "name": "NVIDIA H100",
        "software": "driver 580",
        "state": "working",
        "opening": {"after_seconds": 1.25, "seconds": 0.31},
        "memory": 85_000_000_000,
        "memory_budget": 68_000_000_000,
        "model": "H100 SXM 80 GB on PCIe gen5, 16 cores (/usr/share/blastoff/machines/h100-sxm-pcie5.json)",
        "memory_held": [{"client": "mirrors", "bytes": 12_000_000_000, "bytes_peak": 14_000_000_000}],
    },
    "policy": {
        "requested": "first-use",
        "in_force": "first-use",
        "reason": "",
        "mechanism": "mirrors",
        "tracker": "uffd",
        "copied_operands": [],
    },
    "placement": None,
    "allocation": None,
    "interception": {"mode": "auto", "objects_seen": 9, "seconds": 0.002, "objects": []},
    "totals": {
        "calls": 30,
        "offloaded": 20,
        "bytes_to_device": 1000,
        "bytes_from_device": 500,
        "bytes_reused": 9000,
        "operand_reuse": 10.0,
        "device_seconds": 2.0,
        "cpu_seconds": 1.0,
        "transfer_seconds": 0.5,
        "flops": 6e9,
        "offloaded_flops": 5e9,
    },
    "refusals": [{"reason": "average size below the threshold", "calls": 10}],
    "verification": {"checked": 0, "violations": 0, "worst_relative_error": 0.0, "stale_pages": 0},
}
REPORT["routines"] = [{"name": "dgemm", **REPORT["totals"]}]


@pytest.fixture
def report() -> dict:
    """A report of one process, which a test may change."""
    return copy.deepcopy(REPORT)


@pytest.fixture
def write(tmp_path):
    """Writes reports (or any text) to files and returns their paths."""

    def write(*contents: dict | str) -> list[str]:
        paths = []
        for number, content in enumerate(contents):
            path = tmp_path / f"report{number}.json"
            path.write_text(content if isinstance(content, str) else json.dumps(content))
            paths.append(str(path))
        return paths

    return write


@pytest.fixture
def blastoff(tmp_path):
    """Runs the command and returns the finished process."""

    def run(*arguments: object, env: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess:
        options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 120} | options
        return subprocess.run(command_line(*arguments), env=clean_environment() | (env or {}), **options)

    return run


@pytest.fixture(scope="session")
def table():
    """The option table, as the library publishes it."""
    from blastoff.options import read_table

    return read_table(offload.LIBRARY)


@pytest.fixture
def compiled(tmp_path):
    """Compiles a C program and returns its path."""

    def compile(source: str, *options: str) -> Path:
        path = tmp_path / "program"
        (tmp_path / "program.c").write_text(source)
        subprocess.run(["gcc", *options, str(tmp_path / "program.c"), "-o", str(path)], check=True)
        return path

    return compile


@pytest.fixture(scope="session")
def fake_nvml(tmp_path_factory):
    """The folder of a library that stands for NVML."""
    folder = tmp_path_factory.mktemp("nvml")
    source = offload.ROOT / "tests" / "python" / "memory" / "fake_nvml.c"
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", str(source), "-o", str(folder / "libnvidia-ml.so.1")], check=True)
    return folder

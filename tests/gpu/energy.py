#!/usr/bin/env python3
"""Checks that the energy in a program's report on a real GPU agrees with the difference of the counters within 10 %.

    tests/gpu/energy.py COMMAND DEVICE [OUTPUT]

COMMAND is `blastoff`. OUTPUT gets both figures for each counter, as JSON for bench/results/. This script reads NVML and /sys/class/powercap before
and after the run, by code of its own. If a counter cannot be read, it says so, and the report must say so too. It ends with one line for each
check. The exit status is 1 if a check fails.
"""

import ctypes
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import machine

AGREEMENT = 0.1
SECONDS = 20
PROGRAM = f"""
import time
import numpy as np
import blastoff
a = np.random.default_rng(1).random((6000, 6000))
blastoff.mark("products")
end = time.monotonic() + {SECONDS}
while time.monotonic() < end:
    a @ a
blastoff.mark("rest")
time.sleep(1)
"""


def gpus() -> dict[str, float]:
    """Joules of each GPU that counts them, by PCI address."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return {}
    if nvml.nvmlInit_v2() != 0:
        return {}
    count, found = ctypes.c_uint(), {}
    nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    for index in range(count.value):
        device, joules, place = ctypes.c_void_p(), ctypes.c_ulonglong(), (ctypes.c_uint * 64)()
        nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device))
        nvml.nvmlDeviceGetPciInfo_v3(device, ctypes.byref(place))
        domain, bus, slot = place[4:7]  # behind 16 bytes of text
        if nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(joules)) == 0:
            found[f"{domain:04x}:{bus:02x}:{slot:02x}.0"] = joules.value / 1e3
    nvml.nvmlShutdown()
    return found


def processors() -> dict[str, tuple[float, float]]:
    """For each package, its joules, and the joules at which its counter wraps around."""
    found = {}
    for zone in Path("/sys/class/powercap").glob("intel-rapl:?"):
        try:
            name = (zone / "name").read_text().strip()
            if name.startswith("package"):
                found[name] = tuple(int((zone / file).read_text()) / 1e6 for file in ("energy_uj", "max_energy_range_uj"))
        except OSError:
            continue
    return found


def agree(what: str, told: float, counted: float, rows: list[dict]) -> tuple[str, bool]:
    rows.append({"counter": what, "report_joules": round(told, 1), "counter_joules": round(counted, 1)})
    return f"{what}: the report tells {told:.0f} J, the counter {counted:.0f} J", abs(told - counted) <= AGREEMENT * counted


def checks(command: str, device: str, folder: Path, rows: list[dict]) -> Iterator[tuple[str, object]]:
    """The checks: a description, and the result. Adds a row for each counter."""
    report = folder / "run.json"
    words = [command, "run", f"--device={device}", "--start=now", "--summary=always", f"--report={report}", "--", sys.executable, "-c", PROGRAM]
    gpus_before, processors_before = gpus(), processors()
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    gpus_after, processors_after = gpus(), processors()
    print(done.stdout, done.stderr, sep="\n", flush=True)
    said = json.loads(report.read_text())
    energy, used = said["energy"], said["device"]["bus"]
    told = {(counter["kind"], counter["bus"] or counter["name"]): counter["joules"] for counter in energy["counters"]}
    unreadable = {entry["kind"]: entry["reason"] for entry in energy["unreadable"]}
    yield "the run ends well", done.returncode == 0
    if device.startswith("cuda"):
        yield f"the GPU at {used} is one that NVML knows, or the reason is said: {unreadable.get('gpu')}", used in gpus_before or "gpu" in unreadable
        if used in gpus_before:
            yield agree("GPU", told.get(("gpu", used), 0.0), gpus_after[used] - gpus_before[used], rows)
    for name, (before, wraps_at) in processors_before.items():
        yield agree(f"CPU {name}", told.get(("cpu", name), 0.0), (processors_after[name][0] - before) % wraps_at, rows)
    if not processors_before:
        by_perf = any(kind == "cpu" for kind, _ in told)
        yield f"processors are not readable here: {unreadable.get('cpu')}", by_perf or unreadable.get("cpu")
    phases = {phase["name"]: phase for phase in energy["phases"]}
    yield "phases are those of the marks", not told or {"products", "rest"} <= phases.keys()
    if told and device.startswith("cuda") and ("gpu", used) in told:
        place = list(told).index(("gpu", used))
        watts = {name: phase["joules"][place] / phase["seconds"] for name, phase in phases.items()}
        rows.append({"counter": "GPU", "watts": {name: round(value, 1) for name, value in watts.items()}})
        yield f"products draw more power than waiting: {watts}", watts["products"] > 1.2 * watts["rest"]


def main() -> int:
    command, device, *output = sys.argv[1:]
    failed, rows = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for what, holds in checks(command, device, Path(folder), rows):
            print("check: " if holds else "FAILED: ", what, sep="", flush=True)
            failed += not holds
    for path in output:
        Path(path).write_text(json.dumps({"machine": machine.describe(), "seconds": SECONDS, "rows": rows}, indent=1) + "\n")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

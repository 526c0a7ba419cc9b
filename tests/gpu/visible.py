#!/usr/bin/env python3
"""Checks what users see of a program on a real GPU: the verdict, memory by NVML, the time line, advice, and the switch of a session.

    tests/gpu/visible.py COMMAND DEVICE

COMMAND is `blastoff`. Prints what users see, and one line for each check at the end. The exit status is 1 if a check fails.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

PRODUCTS = 60
PROGRAM = f"""
import numpy as np
a = np.random.default_rng(1).random((4000, 4000))
for _ in range({PRODUCTS}):
    b = a @ a
np.linalg.cholesky(a @ a.T + 4000 * np.eye(4000))
"""
SESSION = """
import json, sys
sys.path[:0] = [sys.argv[2]]
import numpy as np
import blastoff
a = np.ones((3000, 3000))
(a @ a).sum()
blastoff.enable(device=sys.argv[1], start="now", decide="size")
with blastoff.region("products"):
    assert (a @ a)[5, 5] == 3000
blastoff.disable()
(a @ a).sum()
counted = blastoff.stats()
(row,) = counted if isinstance(counted, list) else counted.to_dict("records")
print(json.dumps(row, default=float))
"""


def run(*words: object) -> str:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120)
    print("$", *(str(word) if "\n" not in str(word) else "..." for word in words), done.stdout, done.stderr, sep="\n", flush=True)
    if done.returncode != 0:
        raise SystemExit(f"FAILED: {words[1]} ends with status {done.returncode}")
    return done.stdout


def checks(command: str, device: str, folder: Path) -> Iterator[tuple[str, object]]:
    """The checks: a description, and the result."""
    report = folder / "run.json"
    settings = ["--start=now", f"--device={device}", "--memory=10ms", f"--report={report}"]
    run(command, "run", "--device=none", "--summary=never", sys.executable, "-c", PROGRAM)  # so that later runs know the CPU's time
    run(command, "run", *settings, sys.executable, "-c", PROGRAM)
    counted = json.loads(report.read_text())
    memory = json.loads((folder / "run.memory.json").read_text())
    totals = counted["totals"]
    yield "calls are offloaded", totals["offloaded"] >= PRODUCTS
    yield "call sites name this program", any("<string>" in json.dumps(site) for site in counted["call_sites"])
    if device.startswith("cuda"):
        yield "the verdict knows what the CPU would have taken", totals["known_flops"] > 0 and totals["known_cpu_seconds"] > 0
        peaks = memory["peaks"]
        yield "NVML tells the device's memory", memory["device"]["scope"] != "none" and memory["device"]["names"]
        seen = peaks.get("device", peaks.get("device_whole", {})).get("value", 0)
        yield "NVML sees at least what Blastoff holds", seen >= peaks["held"]["value"] > 0
    run(command, "report", report)
    run(command, "advise", report)
    run(command, "report", report, "--chrome-trace", folder / "chrome.json")
    yield "the Chrome trace has events", json.loads((folder / "chrome.json").read_text())["traceEvents"]
    python = Path(__file__).resolve().parents[2] / "python"
    row = json.loads(run(sys.executable, "-c", SESSION, device, python))
    yield "a session offloads the calls made while it is on", (row["routine"], row["calls"], row["offloaded"]) == ("dgemm", 2, 1)


def main() -> int:
    command, device = sys.argv[1:]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for what, holds in checks(command, device, Path(folder)):
            print("check: " if holds else "FAILED: ", what, sep="", flush=True)
            failed += not holds
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

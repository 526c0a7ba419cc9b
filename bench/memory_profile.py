#!/usr/bin/env python3
"""The cost of sampling memory: `blastoff run --memory` at several intervals, with a program that keeps touching memory.

For each run: the processor time of sampling per second, the mean interval, and the program's seconds. Runs without sampling take
turns with the others. bench/memory_profile.py [--intervals 10ms,100ms,1s] [--megabytes N] [--touches N] [--rounds N] > FILE
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import arguments
import machine

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """
import ctypes, mmap, sys, time
size, rounds = int(sys.argv[1]) << 20, int(sys.argv[2])
start = time.monotonic()
for _ in range(rounds):
    memory = mmap.mmap(-1, size)
    ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(memory)), 1, size)
print(time.monotonic() - start)
"""


def run(interval: str, words: list[str], folder: Path) -> dict[str, float]:
    """The seconds of the program, and of sampling. An empty interval means no sampling."""
    options = [f"--memory={interval}", f"--report={folder / 'run.json'}"] if interval else []
    command = [sys.executable, "-m", "blastoff", "run", "--device=none", "--summary=never", *options, sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "python")})
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip())
    result = {"program_seconds": float(done.stdout)}
    if interval:
        (file,) = folder.glob("*.memory.json")
        sampling = json.loads(file.read_text())["sampling"]
        file.unlink()
        result |= {name: sampling[name] for name in ("mean_interval_seconds", "samples", "cpu_share", "start_cpu_seconds")}
    return result


def mean(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: sum(one[name] for one in runs) / len(runs) for name in runs[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--intervals", default="10ms,100ms,1s")
    parser.add_argument("--megabytes", type=arguments.count, default=200)
    parser.add_argument("--touches", type=arguments.count, default=100, help="how often the memory is mapped and touched")
    parser.add_argument("--rounds", type=arguments.count, default=3)
    given = parser.parse_args()
    words = [str(given.megabytes), str(given.touches)]
    intervals = ["", *given.intervals.split(",")]
    found: dict[str, list[dict[str, float]]] = {interval: [] for interval in intervals}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(given.rounds):
            for interval in intervals:
                found[interval].append(run(interval, words, Path(folder)))
    results = {interval or "without": mean(runs) for interval, runs in found.items()}
    print(json.dumps({"machine": machine.describe(), "megabytes": given.megabytes, "touches": given.touches, "intervals": results}, indent=2))


if __name__ == "__main__":
    main()

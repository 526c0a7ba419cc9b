#!/usr/bin/env python3
"""Threads that call dgemm at the same time, on matrices of their own and with one A for all: calls per second over the number of threads.

    bench/threads.py [--device cuda] [--against OTHER/libblastoff.so] [--size 1000] [--threads 1,2,4,8,16] [--rounds 3] [--first]

With --against, another library's runs alternate with this one's. With --first, the first calls are counted too, in which memory is mapped and
page-locked. `--device simulated --size 300` only shows that the script works; its figures are not the speed of any GPU.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import statistics
import sys
import tempfile

import arguments
import execute
import machine
import modes
import run


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    run.add_common_arguments(parser)
    parser.add_argument("--against", type=arguments.file, help="another library")
    parser.add_argument("--size", type=arguments.count, default=1000)
    parser.add_argument("--threads", type=arguments.numbers, default=[1, 2, 4, 8, 16])
    parser.add_argument("--calls", type=arguments.count, default=200, help="of each thread")
    parser.add_argument("--seconds", type=arguments.positive, default=2, help="at most, for each run")
    parser.add_argument("--rounds", type=arguments.count, default=3)
    parser.add_argument("--first", action="store_true", help="each thread makes only 8 calls, which are counted from the first")
    return parser.parse_args()


def ways(options: argparse.Namespace, programs: pathlib.Path, scratch: pathlib.Path) -> dict[str, modes.Mode]:
    libraries = {"this": options.blastoff} | ({"other": options.against} if options.against else {})
    found = {}
    for name, library in libraries.items():
        available = run.find_modes(argparse.Namespace(**{**vars(options), "blastoff": library}), programs, scratch)
        mode = available.modes["first-use"]
        found[name] = dataclasses.replace(mode, settings=mode.settings | {"BLASTOFF_START": "now"})
    return found


def measure(options: argparse.Namespace, threads: int, shared: bool, libraries: dict[str, modes.Mode], recorder: execute.Recorder) -> dict:
    counts = ["--calls", "8", "--minimum", "0"] if options.first else ["--calls", str(options.calls), "--seconds", str(options.seconds)]
    command = [str(recorder.programs / "threads_gemm"), "--threads", str(threads), *counts, *(["--shared-a"] if shared else [])]
    command.append(f"dgemm,N,N,{options.size},{options.size},{options.size}")
    rates: dict[str, list[float]] = {name: [] for name in libraries}
    for turn in range(options.rounds):
        for name in list(libraries) if turn % 2 == 0 else list(libraries)[::-1]:
            entry = recorder.run("threads", libraries[name], command)
            if "failure" in entry:
                raise SystemExit(f"{threads} threads, {name}: {entry['failure']} {entry.get('stderr', '')}")
            rates[name].append(entry["lines"][-1]["rate"])
    return {"threads": threads, "shared_a": shared} | {f"{name}_rate": statistics.median(found) for name, found in rates.items()}


def main() -> int:
    options = parse_arguments()
    programs = run.build_programs(options.programs)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        libraries = ways(options, programs, scratch)
        recorder = execute.Recorder({}, scratch / "runs.json", scratch, programs, options.time_limit)
        print(f"{'A':>8} {'threads':>7}" + "".join(f" {name + ', calls/s':>14}" for name in libraries), flush=True)
        for shared in (False, True):
            for threads in options.threads:
                row = measure(options, threads, shared, libraries, recorder)
                rows.append(row)
                print(f"{'shared' if shared else 'own':>8} {threads:7}" + "".join(f" {row[name + '_rate']:14.0f}" for name in libraries), flush=True)
                if options.output:
                    options.output.write_text(json.dumps({"machine": machine.describe(), "size": options.size, "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

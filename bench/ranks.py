#!/usr/bin/env python3
"""Ranks that share the GPUs of this machine at the same time: on the CPU, with Blastoff, with its policy copy, with and without NVIDIA MPS.

    bench/ranks.py [--ranks 8,16] [--iterations 6] [--modes cpu,default,"--mps=auto",...] [--starter "mpirun --oversubscribe -n"]
                   [--program FILE] [--device cuda] [--command FILE] [--seconds N] [--quick] [--output FILE]

`cpu` is the CPU with the processor's kernels (bench/kernels.py), which all modes with Blastoff have too. `as-shipped` is the CPU without these
kernels, if that differs.

Each rank makes matrices, multiplies and solves with them (zgemm, ztrsm), and frees them (programs/ranks.c). The figure is the slowest rank's
seconds. The cores are divided among the ranks' BLAS. A mode is `as-shipped`, `cpu`, `default`, or options of `blastoff run`. Results must agree
with the CPU's. --starter: the command that starts ranks; their number and the program follow it. --program: a program that was compiled
elsewhere. --seconds: no job is started later. --quick: small matrices.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shlex
import sys
import tempfile
import time

import arguments
import dependencies
import kernels
import machine
import starting

ROOT = pathlib.Path(__file__).resolve().parents[1]
CPU = ("as-shipped", "cpu")
MODES = (*CPU, "default", "--mps=auto", "--policy=copy", "--policy=copy --mps=auto", "--start=now", "--start=now --mps=auto")
BLAS = kernels.of_library("libblas.so.3")
AGREEMENT = 1e-10
QUICK_DIVISOR = 8
LONGEST_JOB = 120  # seconds


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=arguments.numbers, default=[8, 16])
    parser.add_argument("--iterations", type=arguments.count, default=6)
    parser.add_argument("--modes", type=arguments.words(MODES), default=list(MODES))
    parser.add_argument("--starter", type=arguments.command, default="mpirun --oversubscribe --bind-to none -n")
    parser.add_argument("--program", type=arguments.program, help="bench/programs/ranks.c, compiled")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--command", default=str(ROOT / ".venv" / "bin" / "blastoff"))
    parser.add_argument("--seconds", type=arguments.positive, default=float("inf"), help="start no job later than that")
    parser.add_argument("--quick", action="store_true", help="small matrices")
    parser.add_argument("--output", type=arguments.output, help="write the figures as JSON")
    options = parser.parse_args()
    options.kernels = kernels.own(BLAS)
    if not options.kernels:
        options.modes = [mode for mode in options.modes if mode != "as-shipped"]
    return options


def compiled(options: argparse.Namespace, folder: pathlib.Path) -> pathlib.Path:
    if options.program:
        return options.program
    program = folder / "ranks"
    dependencies.build(["gcc", "-O2", ROOT / "bench" / "programs" / "ranks.c", "-o", program, "-lblas"])
    return program


def measured(options: argparse.Namespace, program: pathlib.Path, ranks: int, mode: str) -> dict:
    """The figures that each rank prints, or why the job failed."""
    settings = [] if mode == "default" else shlex.split(mode)
    launcher = [] if mode in CPU else [options.command, "run", f"--device={options.device}", "--summary=never", *settings, "--"]
    divisor = QUICK_DIVISOR if options.quick else 1
    command = [*launcher, *options.starter, str(ranks), str(program), str(options.iterations), str(divisor)]
    begin = time.monotonic()
    variables = {} if mode == "as-shipped" else options.kernels
    done = starting.run(command, starting.cores_each(ranks), LONGEST_JOB, variables)
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or len(said) != ranks:
        return {"failed": f"{len(said)} ranks ended, {starting.why(done)}"}
    each = sorted(one["seconds"] for one in said)
    sums = [one["sum"] for one in said]
    return {"seconds": each[-1], "each": each, "job": round(time.monotonic() - begin, 3), "sums": [min(sums), max(sums)], "stderr": done.stderr}


def agree(row: dict, expected: dict) -> bool:
    return all(abs(value - expected["sums"][0]) <= AGREEMENT * abs(expected["sums"][0]) for value in row["sums"])


def write(options: argparse.Namespace, rows: list[dict]) -> None:
    """Writes the results; called after each row, so that the rows stay if the time runs out."""
    if options.output:
        words = {
            "machine": machine.describe(),
            "kernels": kernels.describe(BLAS),
            "device": options.device,
            "iterations": options.iterations,
            "quick": options.quick,
            "rows": rows,
        }
        options.output.write_text(json.dumps(words, indent=1) + "\n")


def main() -> int:
    options = parse_arguments()
    end = time.monotonic() + options.seconds
    rows: list[dict] = []
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(options, pathlib.Path(folder))
        print(f"{'ranks':>5} {'mode':<28} {'slowest s':>10} {'fastest':>8} {'job':>7} {'gain':>6}")
        for ranks in options.ranks:
            on_cpu: dict | None = None
            for mode in options.modes:
                if time.monotonic() > end:
                    print(f"{ranks:>5} {mode:<28} no time left", flush=True)
                    continue
                row = {"ranks": ranks, "mode": mode} | measured(options, program, ranks, mode)
                rows.append(row)
                write(options, rows)
                if "failed" in row:
                    print(f"{ranks:>5} {mode:<28} FAILED: {row['failed']}", flush=True)
                    wrong += 1
                    continue
                if mode == "cpu":
                    on_cpu = row
                row["agree"] = agree(row, on_cpu or row)
                wrong += not row["agree"]
                gain = f"{on_cpu['seconds'] / row['seconds']:6.2f}" if on_cpu else ""
                print(
                    f"{ranks:>5} {mode:<28} {row['seconds']:10.3f} {row['each'][0]:8.3f} {row['job']:7.2f} {gain}"
                    f"{'' if row['agree'] else '  RESULTS DIFFER'}",
                    flush=True,
                )
        write(options, rows)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

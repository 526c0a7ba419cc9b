#!/usr/bin/env python3
"""Measures the size and depth from which the device is faster. The default of --min-size by size and its rule follow from it.

    bench/minsize.py [--quick] [--device cuda] [--output FILE]

For each shape it times a call on resident operands under first-use (the result is written back to host memory, as always) and
the CPU library on all cores and on one. The crossing is the average size (m n k)^(1/3) from which every larger measured
shape is faster on the device. Depth is the work per element of the result, k for gemm. If it is small, copying a large result
back takes longer than computing it on the CPU.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile

import dependencies
import execute
import run

SIDES = (100, 150, 200, 250, 300, 350, 400, 450, 500, 600, 700, 800, 1000)
QUICK_SIDES = (64, 100, 150)
KINDS = ("dgemm", "zgemm", "sgemm")
RECTANGLES = ("dgemm,T,N,32,1000,2000", "dgemm,N,N,1000,32,1000", "dgemm,N,N,64,64,8000")
DEPTHS = (16, 32, 64, 96, 128, 192, 256, 384)
FLAT = ("dgemm,N,N,1000,1000,{}", "dgemm,N,N,3000,3000,{}", "zgemm,N,N,2000,2000,{}", "sgemm,N,N,3000,3000,{}")


def shapes(quick: bool) -> list[str]:
    sides = QUICK_SIDES if quick else SIDES
    squares = [f"{kind},N,N,{n},{n},{n}" for kind in KINDS for n in sides]
    flat = [shape.format(depth) for shape in FLAT for depth in DEPTHS]
    return squares if quick else [*squares, *RECTANGLES, *flat]


def average_size(operation: str) -> float:
    m, n, k = (int(field) for field in operation.split(",")[-3:])
    return (m * n * k) ** (1 / 3)


def is_square(operation: str) -> bool:
    return len(set(operation.split(",")[-3:])) == 1


def crossing(operations: list[str], device: dict[str, float], cpu: dict[str, float]) -> float | None:
    """The smallest average size from which the device is faster at every larger size; None if it is slower at the largest."""
    found = None
    for operation in sorted(operations, key=average_size, reverse=True):
        if operation not in device or operation not in cpu:
            continue
        if device[operation] > cpu[operation]:
            break
        found = average_size(operation)
    return found


def times(results: dict, case: str) -> dict[str, float]:
    """Milliseconds per call after the first, by operation."""
    lines = [line for entry in results["runs"] if entry["case"] == case for line in entry["lines"]]
    return {line["operation"]: 1e3 * line["seconds"]["median"] for line in lines}


def crossings(results: dict) -> dict[str, dict[str, float | None]]:
    device = times(results, "first-use")
    operations = list(device)
    return {
        kind: {
            cpu: crossing([o for o in operations if o.startswith(kind) and is_square(o)], device, times(results, cpu))
            for cpu in ("all-cores", "one-core")
        }
        for kind in KINDS
    }


def show(results: dict) -> None:
    from rich.console import Console
    from rich.table import Table

    device, every, one = (times(results, case) for case in ("first-use", "all-cores", "one-core"))
    table = Table()
    for heading in ("operation", "average size", "first-use, ms", "all cores, ms", "one core, ms", "faster than"):
        table.add_column(heading, justify="left" if heading in ("operation", "faster than") else "right")
    for operation, value in device.items():
        beaten = [name for name, cpu in (("all cores", every), ("one core", one)) if value <= cpu.get(operation, 0)]
        figures = [f"{column[operation]:.3f}" if operation in column else "-" for column in (device, every, one)]
        table.add_row(operation, f"{average_size(operation):.0f}", *figures, ", ".join(beaten))
    console = Console(width=140, highlight=False)
    console.print(table)
    for kind, by_cpu in crossings(results).items():
        for cpu, size in by_cpu.items():
            text = f"from {size:.0f} on" if size is not None else "at none of the measured sizes"
            console.print(f"{kind}: first-use is faster than the CPU library on {cpu.replace('-', ' ')} {text}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    run.add_common_arguments(parser)
    parser.add_argument("--quick", action="store_true", help="few, small sizes: checks the benchmark")
    options = parser.parse_args()
    dependencies.require("rich")
    programs = run.build_programs(options.programs)
    with tempfile.TemporaryDirectory(prefix="blastoff-minsize-") as folder:
        scratch = pathlib.Path(folder)
        found = run.find_modes(options, programs, scratch)
        results = run.new_results(options, found, "min-size")
        path = run.output_path(options, results, "min-size-")
        recorder = execute.Recorder(results, path, scratch, programs, options.time_limit)
        repeat = [str(programs / "repeat_calls"), "--calls", "40", "--minimum", "5", "--seconds", "0.3"]
        command = [*repeat, *shapes(options.quick)]
        cpu = next(found.modes[name] for name in ("cpu-wheel", "cpu-own", "cpu") if name in found.modes)
        if "first-use" in found.modes:
            recorder.run("first-use", found.modes["first-use"], command, BLASTOFF_MIN_SIZE="0")
        recorder.run("all-cores", cpu, command)
        recorder.run("one-core", cpu, command, OPENBLAS_NUM_THREADS="1")
        results["crossings"] = crossings(results)
        recorder.save()
    show(results)
    failures = [f"{entry['case']}: {entry['failure']}" for entry in results["runs"] if "failure" in entry]
    for mode, reason in found.missing.items():
        if mode == "first-use":
            failures.append(f"first-use: {reason}")
    for failure in failures:
        run.say(f"FAILED {failure}")
    run.finish(options, results, path)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

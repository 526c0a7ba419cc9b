#!/usr/bin/env python3
"""Whole applications as SCILIB-Accel's author measured them: on the CPU, copying, coherent, first-use, and with the application's own GPU port.

    bench/applications.py --must FILE --inputs FOLDER [--native FILE] [--layouts 16x1,4x4] [--modes cpu,copy,first-use,...]
    bench/applications.py --parsec FILE --inputs FOLDER ...
    bench/applications.py --hpl FILE [--order 20000] [--block 192] ...
    bench/applications.py --hpcc [FILE] [--order 20000] [--block 192] ...
                          [--starter "mpirun --oversubscribe -n"] [--device cuda] [--command FILE] [--repeats N] [--limit N] [--seconds N]
                          [--setting NAME=VALUE]... [--quick] [--output FILE]

--must is MuST's mst2, --parsec is parsec.mpi; build both yourself. --inputs is the folder of their input files; each run has a copy of it.
--hpl is HPL's xhpl, and --hpcc is the HPC Challenge of Debian's package hpcc, which contains HPL. Both solve a system of this order in blocks of
this size. --native is a GPU port of the program, which runs without Blastoff. A layout is ranks x threads. MuST under Debian's Open MPI needs
--starter "mpirun --mca osc ^ucx --oversubscribe -n".

For each layout and mode: seconds of the whole job, and of these in BLAS and LAPACK (the busiest rank's wall time in calls) and waiting for data
(mean of the ranks); how often a byte that came to the device was used there; the energy of processors and GPUs; the difference of the result
from that of the CPU; and the seconds that the run claims to have saved, beside those that it has saved. `cpu` has the processor's kernels
(bench/kernels.py), as all other modes; its seconds in calls are those of a further run with --device none, which tells later runs what the CPU
takes (`counted` in the file of --output: its seconds). `default` follows `first`, so it knows that run's times, too. A mode that this machine does
not have says why. The fastest of --repeats counts.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

import application_runs
import arguments
import kernels
import machine
from application_runs import MODES, Application, Layout

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADINGS = ("layout", "setup", "total s", "BLAS s", "moving s", "reuse", "energy kJ", "reported", "difference", "claimed/saved")


def layouts(text: str) -> list[Layout]:
    """Ranks x threads, separated by commas: 16x1,4x4."""
    found = []
    for part in text.split(","):
        ranks, cross, threads = part.partition("x")
        if not cross:
            raise argparse.ArgumentTypeError(f"{part!r} is no layout: RANKSxTHREADS, as 16x1")
        found.append(Layout(arguments.count(ranks), arguments.count(threads)))
    return found


def variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text}: NAME=VALUE is wanted")
    return name, value


def existing_folder(text: str) -> pathlib.Path:
    path = pathlib.Path(text).absolute()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"no folder {text}")
    return path


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--must", type=arguments.program, metavar="FILE")
    which.add_argument("--parsec", type=arguments.program, metavar="FILE")
    which.add_argument("--hpl", type=arguments.program, metavar="FILE")
    which.add_argument("--hpcc", type=arguments.program, metavar="FILE", nargs="?", const=pathlib.Path("/usr/bin/hpcc"))
    parser.add_argument("--inputs", type=existing_folder, metavar="FOLDER", help="input files of MuST or PARSEC")
    parser.add_argument("--native", type=arguments.program, metavar="FILE", help="the program's own GPU port")
    parser.add_argument("--order", type=arguments.count, default=20000, help="of HPL's linear system")
    parser.add_argument("--block", type=arguments.count, default=192, help="of HPL's columns")
    parser.add_argument("--layouts", type=layouts, default=None, help="ranks x threads; default: a rank for each core, and one for four cores")
    parser.add_argument("--modes", type=arguments.words(MODES), default=list(MODES), help=", ".join(MODES))
    parser.add_argument("--starter", type=arguments.command, default="mpirun --oversubscribe --bind-to none -n")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--command", default=str(ROOT / ".venv" / "bin" / "blastoff"))
    parser.add_argument("--setting", type=variable, action="append", default=[], metavar="NAME=VALUE", help="a variable of runs with Blastoff")
    parser.add_argument("--repeats", type=arguments.count, default=1)
    parser.add_argument("--limit", type=arguments.positive, default=600.0, help="seconds after which a run is ended")
    parser.add_argument("--seconds", type=arguments.positive, default=float("inf"), help="start no run later than that")
    parser.add_argument("--quick", action="store_true", help="HPL of order 400 on two ranks: tries the script")
    parser.add_argument("--output", type=arguments.output, help="write the figures as JSON")
    options = parser.parse_args()
    if (options.must or options.parsec) and not options.inputs:
        parser.error("--inputs is missing: the folder of the program's input files")
    if options.hpcc and not options.hpcc.exists():
        parser.error(f"no {options.hpcc}: apt install hpcc, or --hpcc FILE")
    if options.quick:
        options.order = 400
    cores = len(os.sched_getaffinity(0))
    usual = [Layout(2, 1)] if options.quick else sorted({Layout(cores, 1), Layout(max(1, cores // 4), min(4, cores))}, reverse=True)
    options.layouts = options.layouts or usual
    return options


def application(options: argparse.Namespace) -> Application:
    if options.must:
        return application_runs.must(options.must, options.inputs)
    if options.parsec:
        return application_runs.parsec(options.parsec, options.inputs)
    measured = application_runs.hpl if options.hpl else application_runs.hpcc
    return measured(options.hpl or options.hpcc, options.order, options.block)


def number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def cells(row: dict) -> list[str]:
    """The row in the order of HEADINGS."""
    if "cannot" in row:
        return [row["layout"], row["setup"], row["cannot"]]
    reuse = "-" if row["reuse"] is None else f"{row['reuse']:.0f}x"
    energy = None if row["joules"] is None else row["joules"] / 1e3
    difference = "-" if row["difference"] is None else "0" if row["difference"] == 0 else f"{row['difference']:.1e}"
    times = [number(row[key]) for key in ("total", "blas", "moving")]
    saved = f"{number(row.get('claimed'))}/{number(row.get('saved'))}" if "claimed" in row else "-"
    return [row["layout"], row["setup"], *times, reuse, number(energy), row["reported"] or "-", difference if row["right"] else "WRONG", saved]


def line(parts: list[str], widths: tuple[int, ...] = (7, 18, 9, 9, 9, 7, 10, 21, 11, 15)) -> str:
    head = "".join(part.ljust(width) for part, width in zip(parts[:2], widths, strict=False))
    if len(parts) < len(widths):
        return f"{head}  {parts[2]}"
    return head + "".join(part.rjust(width) for part, width in zip(parts[2:], widths[2:], strict=True))


def compare(row: dict, cpu: dict | None, last_digit: float) -> None:
    """Adds the seconds that the run has saved, and the difference of the result from the CPU's, relative to it."""
    row["difference"] = None
    if "claimed" in row and cpu:
        row["saved"] = cpu["total"] - row["total"]
    if "cannot" not in row and cpu and cpu["result"] is not None and row["result"] is not None:
        difference, size = abs(row["result"] - cpu["result"]), max(abs(cpu["result"]), 1e-300)
        row["difference"] = difference / size
        row["right"] = row["right"] and difference <= max(application_runs.AGREEMENT * size, 1.01 * last_digit)


def write(options: argparse.Namespace, name: str, rows: list[dict]) -> None:
    """Writes the results; called after each row, so that the rows stay if the time runs out."""
    if options.output:
        words = {"machine": machine.describe(), "kernels": kernels.own(application_runs.BLAS), "application": name, "device": options.device}
        options.output.write_text(json.dumps(words | {"quick": options.quick, "rows": rows}, indent=1) + "\n")


def main() -> int:
    options = parse_arguments()
    measured = application(options)
    end = time.monotonic() + options.seconds
    rows: list[dict] = []
    print(measured.title)
    print(line(list(HEADINGS)))
    for layout in options.layouts:
        cpu: dict | None = None
        with tempfile.TemporaryDirectory() as folder:
            runs = application_runs.Runs(measured, layout, options, pathlib.Path(folder))
            for mode in options.modes:
                row = {"cannot": "no time left"} if time.monotonic() > end else runs.fastest(mode)
                row = {"layout": str(layout), "setup": MODES[mode].label} | row
                compare(row, cpu, measured.last_digit)
                cpu = row if mode == "cpu" and "cannot" not in row else cpu
                rows.append(row)
                write(options, measured.title, rows)
                print(line(cells(row)), flush=True)
    return 1 if any(row.get("failed") or row.get("right") is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

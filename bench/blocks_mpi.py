#!/usr/bin/env python3
"""Blocks of n x n numbers from the device of one MPI process to the device of another: through plain host memory, through page-locked
memory, and, if the MPI can, from device to device.

    bench/blocks_mpi.py [--compiler mpicxx] [--starter "mpirun -n 2"] [--program FILE] [--device cuda] [--quick] [--output FILE]

The figures are medians. A message's time is half of a round trip. Every block was changed on a device just before, and ends on a device. Puts
and gets use the memory of the other process. --program: a program that was compiled elsewhere, so that nothing is compiled now. On the
simulated device the figures only show that the program works; they are not the speed of any GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

import arguments
import dependencies
import machine

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
WAYS = ("send", "bcast", "put", "get")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", dest="preloaded", metavar="FILE", type=arguments.file, default=BUILD / "libblastoff.so")
    parser.add_argument("--compiler", default="mpicxx", help="of the MPI")
    parser.add_argument("--starter", type=arguments.command, default="mpirun -n 2", help="what starts two ranks of the program that follows")
    parser.add_argument("--program", type=arguments.program, help="bench/programs/blocks_mpi.cpp, compiled")
    parser.add_argument("--device", default="cuda", help="cuda, simulated or none")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--output", type=arguments.output, help="write the figures as JSON")
    options = parser.parse_args()
    if not options.program and shutil.which(options.compiler) is None:
        parser.error(f"no command {options.compiler}: an MPI is needed")
    if not options.preloaded.exists():
        parser.error(f"no library {options.preloaded}: make build")
    return options


def run(options: argparse.Namespace) -> list[dict]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BLASTOFF_")}
    libraries = [str(options.preloaded.resolve().parent), *filter(None, [environment.get("LD_LIBRARY_PATH")])]
    environment |= {"LD_LIBRARY_PATH": ":".join(libraries), "BLASTOFF_DEVICE": options.device, "BLASTOFF_SUMMARY": "never"}
    with tempfile.TemporaryDirectory() as folder:
        source, build = ROOT / "bench" / "programs" / "blocks_mpi.cpp", dependencies.blocks_program
        program = options.program or build(source, pathlib.Path(folder), options.preloaded, compiler=options.compiler)
        command = [*options.starter, str(program), "quick" if options.quick else "full"]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    sys.stderr.write(result.stderr)
    if result.returncode != 0:
        sys.exit(f"{shlex.join(options.starter)} ended with status {result.returncode}")
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


def print_table(rows: list[dict]) -> None:
    print(f"\n{'n':>6} {'through':12}" + "".join(f"{way + ', us':>12}{'GB/s':>8}" for way in WAYS))
    for row in rows:
        size = 8 * row["n"] ** 2
        print(f"{row['n']:6} {row['memory']:12}" + "".join(f"{row[way] * 1e6:12.1f}{size / row[way] / 1e9:8.2f}" for way in WAYS))


def main() -> int:
    options = parse_arguments()
    rows = run(options)
    about = next(row for row in rows if row["table"] == "place")
    where = "the host: there is no device" if about["place"] < 0 else options.device
    direct = "takes" if about["direct"] else "does not take"
    print(f"{machine.cpu_model()}; {about['mpi']}, which {direct} addresses of device memory; blocks on {where}")
    print_table([row for row in rows if row["table"] == "mpi"])
    if options.output:
        options.output.write_text(json.dumps({"device": options.device, "quick": options.quick, "rows": rows}, indent=1) + "\n")
    return 0 if about["place"] >= 0 or options.device == "none" else 1


if __name__ == "__main__":
    sys.exit(main())

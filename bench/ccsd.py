#!/usr/bin/env python3
"""Blocks in a coupled-cluster program (examples/ccsd.cpp) over sizes of its tiles: how often pools serve, what allocation takes, and what each
feature is worth.

    bench/ccsd.py [--tiles 10,20,40] [--occupied 40] [--virtual 160] [--ranks 1] [--features] [--device cuda] [--program FILE]
                  [--library FILE] [--quick] [--output FILE]

For each size: the numbers of a block with four indices, seconds of the program, of allocation and of waiting (mean of the ranks), GB to and from
the device, the share of allocations that the pools served, GFLOP/s. --features runs each size also without intents, page-locking, pools,
asynchronous and direct copies, and with one stream for copies in both directions. More than one rank needs a program that was compiled with MPI;
without --program the script compiles one for one rank. The norm of the amplitudes must be the same in all rows of a problem.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import sys
import tempfile

import arguments
import dependencies
import machine
import starting

ROOT = pathlib.Path(__file__).resolve().parents[1]
COLUMNS = ("seconds", "integrals", "transfers", "waiting", "allocating", "gb_to_device", "gb_from_device", "hits_percent", "gflops", "norm")
"""The figures of a line of the program, in its order."""
SHOWN = ("seconds", "allocating", "waiting", "gb_to_device", "gb_from_device", "hits_percent", "gflops")
AGREEMENT = 1e-9
LIMIT = 300  # seconds of a run


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiles", metavar="LIST", type=arguments.numbers, default=[10, 20, 40], help="orbitals of a tile (default 10,20,40)")
    parser.add_argument("--occupied", metavar="N", type=arguments.count, default=40, help="occupied orbitals (default 40)")
    parser.add_argument("--virtual", metavar="N", type=arguments.count, default=160, help="virtual orbitals (default 160)")
    parser.add_argument("--iterations", metavar="N", type=arguments.count, default=2, help="iterations (default 2)")
    parser.add_argument("--ranks", metavar="N", type=arguments.count, default=1, help="MPI processes (default 1)")
    parser.add_argument(
        "--starter", metavar="COMMAND", type=arguments.command, default="mpirun --oversubscribe --bind-to none -n", help="what starts the ranks"
    )
    parser.add_argument("--features", action="store_true", help="also without each feature")
    parser.add_argument("--device", default="cuda", help="cuda (the default), cuda:N or simulated")
    parser.add_argument("--program", type=arguments.program, metavar="FILE", help="examples/ccsd.cpp, compiled")
    parser.add_argument("--library", dest="preloaded", metavar="FILE", type=arguments.file, default=ROOT / "build" / "libblastoff.so")
    parser.add_argument("--quick", action="store_true", help="few orbitals: tries the script")
    parser.add_argument("--output", metavar="FILE", type=arguments.output, help="write the figures as JSON")
    options = parser.parse_args()
    if not options.preloaded.exists():
        parser.error(f"no library {options.preloaded}: make build")
    if options.ranks > 1 and not options.program:
        parser.error("--ranks needs --program: examples/ccsd.cpp, compiled with mpicxx")
    if options.quick:
        options.tiles, options.occupied, options.virtual = [4, 8], 8, 16
    return options


def rows_of(printed: str) -> list[dict]:
    """The lines of the program: the name of the run, and its figures."""
    number = r"[-+\d.e]+|nan|inf"
    found = re.findall(rf"^(all features|without \w+)((?:\s+(?:{number})){{{len(COLUMNS)}}})$", printed, re.MULTILINE)
    return [{"run": name} | dict(zip(COLUMNS, map(float, figures.split()), strict=True)) for name, figures in found]


def measured(options: argparse.Namespace, program: pathlib.Path, tile: int) -> list[dict]:
    sizes = [f"--occupied={options.occupied}", f"--virtual={options.virtual}", f"--tile={tile}", f"--iterations={options.iterations}"]
    start = [*options.starter, str(options.ranks)] if options.ranks > 1 else []
    variables = {"BLASTOFF_DEVICE": options.device, "BLASTOFF_SUMMARY": "never"}
    command = [*start, str(program), *sizes, *(["--compare"] if options.features else [])]
    done = starting.run(command, starting.cores_each(options.ranks), LIMIT, variables)
    found = rows_of(done.stdout)
    if done.returncode != 0 or not found:
        raise SystemExit(f"{program.name}, tiles of {tile}: {starting.why(done)}")
    norm = found[0]["norm"]
    return [{"tile": tile, "numbers": tile**4} | row | {"right": abs(row["norm"] - norm) <= AGREEMENT * abs(norm)} for row in found]


def main() -> int:
    options = parse_arguments()
    os.environ.pop("LD_PRELOAD", None)
    rows: list[dict] = []
    print(f"{machine.cpu_model()}; {options.occupied} occupied and {options.virtual} virtual orbitals, {options.ranks} rank(s) on {options.device}")
    headings = ("s", "allocating", "waiting", "GB there", "GB back", "served %", "GFLOP/s")
    print(f"{'tile':>5} {'numbers':>9} {'':22}" + "".join(f"{heading:>11}" for heading in headings))
    with tempfile.TemporaryDirectory() as folder:
        source, build = ROOT / "examples" / "ccsd.cpp", dependencies.blocks_program
        program = options.program or build(source, pathlib.Path(folder), options.preloaded, "-DWITHOUT_MPI", "-lblas")
        for tile in options.tiles:
            for row in measured(options, program, tile):
                rows.append(row)
                figures = "".join(f"{row[name]:11.4g}" for name in SHOWN)
                print(f"{tile:5} {row['numbers']:9} {row['run']:22}{figures}{'' if row['right'] else '  NORM DIFFERS'}", flush=True)
    if options.output:
        about = {"machine": machine.describe(), "device": options.device, "ranks": options.ranks, "occupied": options.occupied}
        options.output.write_text(json.dumps(about | {"virtual": options.virtual, "quick": options.quick, "rows": rows}, indent=1) + "\n")
    norms = {row["norm"] for row in rows}
    same = all(abs(norm - rows[0]["norm"]) <= AGREEMENT * abs(rows[0]["norm"]) for norm in norms)
    return 0 if same and all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

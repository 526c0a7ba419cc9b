#!/usr/bin/env python3
"""Blocks beside ACES4's tables: copies by block size from plain and page-locked memory and between two devices, allocation and release, setting
blocks to a number, files, the pool, and what each feature is worth.

    bench/blocks.py [--library FILE] [--program FILE] [--device cuda] [--quick] [--output FILE]

The figures are medians of seconds. --program: bench/programs/blocks.cpp, compiled elsewhere, so that nothing is compiled now. Files of blocks are in
the directory that TMPDIR names, or in /var/tmp. On the simulated device they only show that the program works; they are not the speed of any GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import arguments
import dependencies
import machine

ROOT = pathlib.Path(__file__).resolve().parents[1]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", dest="preloaded", metavar="FILE", type=arguments.file, default=ROOT / "build" / "libblastoff.so")
    parser.add_argument("--program", metavar="FILE", type=arguments.program, help="bench/programs/blocks.cpp, compiled")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N, simulated or none; cuda:0,1 measures copies between two, too")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--output", type=arguments.output, help="write the figures as JSON")
    options = parser.parse_args()
    if not options.preloaded.exists():
        parser.error(f"no library {options.preloaded}: make build")
    return options


def run(options: argparse.Namespace) -> list[dict]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BLASTOFF_")}
    environment |= {"LD_PRELOAD": str(options.preloaded), "BLASTOFF_DEVICE": options.device, "BLASTOFF_SUMMARY": "never"}
    with tempfile.TemporaryDirectory() as folder:
        source, build = ROOT / "bench" / "programs" / "blocks.cpp", dependencies.blocks_program
        program = options.program or build(source, pathlib.Path(folder), options.preloaded)
        result = subprocess.run([str(program), "quick" if options.quick else "full"], env=environment, capture_output=True, text=True, check=False)
    sys.stderr.write(result.stderr)
    if result.returncode != 0:
        sys.exit(f"{program.name} ended with status {result.returncode}")
    return arguments.lines_of(program, result.stdout)


def pairs(rows: list[dict], table: str, key: str = "pinned") -> list[tuple[dict, dict]]:
    """For each size, the row without what `key` names (page-locked memory, for example) and the row with it."""
    found = [row for row in rows if row["table"] == table]
    without = {row["doubles"]: row for row in found if not row[key]}
    return [(without[row["doubles"]], row) for row in found if row[key]]


def ratio(first: float, second: float) -> str:
    return f"{first / second:8.2f}" if second > 0 else f"{'-':>8}"


def print_pairs(rows: list[dict], table: str, columns: tuple[str, str], title: str) -> None:
    print(f"\n{title}: microseconds, plain and page-locked, and plain / page-locked")
    print(f"{'doubles':>10} " + " ".join(f"{name + ', ' + kind:>22}" for name in columns for kind in ("plain", "locked", "ratio")))
    for plain, pinned in pairs(rows, table):
        cells = []
        for name in columns:
            cells += [f"{plain[name] * 1e6:22.1f}", f"{pinned[name] * 1e6:22.1f}", f"{ratio(plain[name], pinned[name]):>22}"]
        print(f"{plain['doubles']:10} " + " ".join(cells))


def pays_from(rows: list[dict]) -> int | None:
    """The smallest measured block from which on page-locked copies are faster, in both directions and at every larger size."""
    found = None
    for plain, pinned in sorted(pairs(rows, "copies"), key=lambda pair: -pair[0]["doubles"]):
        if not all(pinned[way] < plain[way] for way in ("to_device", "from_device")):
            break
        found = plain["doubles"]
    return found


def print_between(rows: list[dict]) -> None:
    """Prints the table of copies between two devices."""
    found = [row for row in rows if row["table"] == "between"]
    through_host = {row["doubles"]: row for row in found if not row["direct"]}
    print("\nfrom device to device: microseconds through the host and directly, ratio, GB/s directly")
    for row in (row for row in found if row["direct"]):
        if row["copied_directly"] == 0:
            print(f"{row['doubles']:10}  the devices do not copy directly")
            continue
        slow, rate = through_host[row["doubles"]]["seconds"], 8e-9 * row["doubles"] / row["seconds"]
        print(f"{row['doubles']:10} {slow * 1e6:12.1f} {row['seconds'] * 1e6:12.1f} {ratio(slow, row['seconds'])} {rate:10.2f}")


def print_tables(rows: list[dict]) -> None:
    print_pairs(rows, "copies", ("to_device", "from_device"), "copies")
    from_on = pays_from(rows)
    print("page-locking pays at no size" if from_on is None else f"page-locking pays from {from_on} doubles on")
    if any(row["table"] == "between" for row in rows):
        print_between(rows)
    print_pairs(rows, "allocations", ("allocate", "free"), "allocation and release")
    print("\nset to a number, then on the device: microseconds on the host and copied, on the device, and their ratio")
    for host, device in pairs(rows, "fills", "there"):
        print(f"{device['doubles']:10} {host['seconds'] * 1e6:12.1f} {device['seconds'] * 1e6:12.1f} {ratio(host['seconds'], device['seconds'])}")
    print("\nto a file and back: microseconds from the device to the file, and back to the device")
    for row in (row for row in rows if row["table"] == "files"):
        print(f"{row['doubles']:10} {row['store'] * 1e6:12.1f} {row['again'] * 1e6:12.1f}")
    print("\npool: blocks of many sizes come and go")
    print(f"{'':24} {'hit rate':>10} {'allocation, ms':>16} {'all, ms':>10}")
    for row in (row for row in rows if row["table"] == "pool"):
        print(f"{row['name']:24} {row['hit_rate']:10.1%} {row['allocation_seconds'] * 1e3:16.2f} {row['seconds'] * 1e3:10.2f}")
    print("\nladder terms over tiles")
    print(f"{'':24} {'ms':>10} {'copies there':>13} {'MB there':>10} {'copies back':>12} {'MB back':>10}")
    for row in (row for row in rows if row["table"] == "overall"):
        print(
            f"{row['name']:24} {row['seconds'] * 1e3:10.2f} {row['copies_to_device']:13} {row['bytes_to_device'] / 1e6:10.1f}"
            f" {row['copies_from_device']:12} {row['bytes_from_device'] / 1e6:10.1f}"
        )


def main() -> int:
    options = parse_arguments()
    rows = run(options)
    where = next(row["place"] for row in rows if row["table"] == "place")
    print(f"{machine.cpu_model()}; blocks on {'the host: there is no device' if where < 0 else options.device}")
    print_tables(rows)
    if options.output:
        about = {"machine": machine.describe(), "device": options.device, "quick": options.quick}
        options.output.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")
    return 0 if where >= 0 or options.device == "none" else 1


if __name__ == "__main__":
    sys.exit(main())

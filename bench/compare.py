#!/usr/bin/env python3
"""Compares two builds of the library, in turns on one machine, to see what a change costs or gains.

    bench/compare.py BASE NEW [--device cuda] [--only parsec,square,...] [--rounds 3] [--output FILE]

BASE and NEW are libblastoff.so files. Every case of bench/run.py runs under both policies with base and new in turns; a different
one begins in each round. The table shows the median over the calls after the first, in milliseconds, and the median over the
rounds of new / base.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import tempfile

import arguments
import cases
import execute
import machine
import modes
import run

PARTS = ("parsec", "square", "rewrite", "level3", "one-thread", "threads")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=arguments.file)
    parser.add_argument("new", type=arguments.file)
    run.add_common_arguments(parser)
    parser.add_argument("--quick", action="store_true", help="small sizes: tries the script, measures nothing useful")
    parser.add_argument("--only", type=arguments.words(PARTS), default=list(PARTS), help="cases to run, of " + ", ".join(PARTS))
    parser.add_argument("--rounds", type=arguments.count, default=3)
    return parser.parse_args()


def seconds_per_call(entry: dict) -> dict[str, float]:
    """For each operation, the median over the calls after the first. For several threads, the seconds in which each makes one call."""
    figures = {}
    for line in entry["lines"]:
        if isinstance(line.get("seconds"), dict):
            figures[line["operation"]] = line["seconds"]["median"]
        elif "rate" in line:
            figures[line["operation"]] = 1 / line["rate"]
    return figures


def measure(options: argparse.Namespace, programs: pathlib.Path, scratch: pathlib.Path) -> dict[tuple[str, str, str], list]:
    """For each case, policy and operation, the seconds of base and new in each round."""
    available = {}
    for name, library in (("base", options.base), ("new", options.new)):
        available[name] = modes.available(
            blastoff=library.resolve(),
            device=options.device,
            cpu_blas=options.cpu_blas,
            wheel_blas=None,
            wheel_shim=programs / "wheel",
            scratch=scratch,
        )
    recorder = execute.Recorder({}, scratch / "runs.json", scratch, programs, options.time_limit)
    found: dict[tuple[str, str, str], list] = {}
    for case in cases.suite(options.quick).cases:
        if case.name not in options.only:
            continue
        for policy in (mode for mode in case.modes if mode in modes.BLASTOFF):
            for turn in range(options.rounds):
                order = ("base", "new") if turn % 2 == 0 else ("new", "base")
                entries = {name: recorder.run(case.name, available[name].modes[policy], case.command(str(programs), policy)) for name in order}
                for name, entry in entries.items():
                    if "failure" in entry:
                        raise SystemExit(f"{case.name} {policy} {name}: {entry['failure']} {entry.get('stderr', '')}")
                base, new = (seconds_per_call(entries[name]) for name in ("base", "new"))
                for operation, seconds in base.items():
                    found.setdefault((case.name, policy, operation), []).append((seconds, new[operation]))
    return found


def main() -> None:
    options = parse_arguments()
    programs = run.build_programs(options.programs)
    with tempfile.TemporaryDirectory() as scratch:
        found = measure(options, programs, pathlib.Path(scratch))
    rows = []
    for (case, policy, operation), pairs in found.items():
        ratios = [new / base for base, new in pairs]
        rows.append(
            {
                "case": case,
                "policy": policy,
                "operation": operation,
                "base_ms": 1e3 * statistics.median(base for base, _ in pairs),
                "new_ms": 1e3 * statistics.median(new for _, new in pairs),
                "ratio": {"min": min(ratios), "median": statistics.median(ratios), "max": max(ratios)},
            }
        )
    for row in rows:
        ratio = row["ratio"]
        print(
            f"{row['case']:10} {row['policy']:9} {row['operation']:26} {row['base_ms']:9.3f} {row['new_ms']:9.3f} ms"
            f"   new / base {ratio['median']:.3f}  ({ratio['min']:.3f} to {ratio['max']:.3f})"
        )
    if options.output:
        options.output.write_text(json.dumps({"machine": machine.describe(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

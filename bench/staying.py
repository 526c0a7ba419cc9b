#!/usr/bin/env python3
"""Results that stay on the device: seconds of programs that use them there again, and of one that looks at each, with --results home, auto, stay.

    bench/staying.py [--device cuda] [--cases accumulate,cholesky] [--scale 1] [--rounds 2]

`--device simulated --scale 0.05` only shows that the script works; its figures are not the speed of any GPU.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import sys
import tempfile

import arguments
import execute
import machine
import run

ORDERS = {"syrk": 2000, "accumulate": 4000, "power": 4000, "chain": 4000, "look": 4000, "cholesky": 16000, "lu": 16000}
RESULTS = ("home", "auto", "stay")
AGREEMENT = 1e-9


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    run.add_common_arguments(parser)
    parser.add_argument("--cases", type=arguments.words(ORDERS), default=list(ORDERS))
    parser.add_argument("--scale", type=arguments.positive, default=1, help="of the orders")
    parser.add_argument("--rounds", type=arguments.count, default=2, help="the quickest counts")
    return parser.parse_args()


def measure(options: argparse.Namespace, case: str, modes: dict, recorder: execute.Recorder) -> dict:
    order = int(ORDERS[case] * options.scale)
    row = {"case": case, "order": order}
    sums = {}
    for turn in range(options.rounds):
        for name in list(modes) if turn % 2 == 0 else list(modes)[::-1]:
            entry = recorder.run("staying", modes[name], [str(recorder.programs / "staying"), case, str(order)])
            if "failure" in entry:
                raise SystemExit(f"{case}, {name}: {entry['failure']} {entry.get('stderr', '')}")
            line = entry["lines"][-1]
            if line["seconds"] < row.get(f"{name}_seconds", float("inf")):
                row |= {"calls": line["calls"], f"{name}_seconds": line["seconds"], f"{name}_look": line["look"]}
            sums[name] = line["sum"]
            if abs(line["sum"] - sums["home"]) > AGREEMENT * line["magnitude"]:
                raise SystemExit(f"{case}, {name}: the results differ: {sums}")
    return row


def main() -> int:
    options = parse_arguments()
    programs = run.build_programs(options.programs)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        mode = run.find_modes(options, programs, scratch).modes["first-use"]
        more = {"BLASTOFF_START": "now", "BLASTOFF_HISTORY": "off"}
        modes = {name: dataclasses.replace(mode, settings=mode.settings | more | {"BLASTOFF_RESULTS": name}) for name in RESULTS}
        recorder = execute.Recorder({}, scratch / "runs.json", scratch, programs, options.time_limit)
        print(f"{'case':>12} {'order':>6} {'calls':>6}" + "".join(f" {name + ', s':>10} {'look, s':>8}" for name in RESULTS), flush=True)
        for case in options.cases:
            row = measure(options, case, modes, recorder)
            rows.append(row)
            columns = "".join(f" {row[name + '_seconds']:10.4f} {row[name + '_look']:8.4f}" for name in RESULTS)
            print(f"{case:>12} {row['order']:6} {row['calls']:6}{columns}", flush=True)
            if options.output:
                options.output.write_text(json.dumps({"machine": machine.describe(), "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

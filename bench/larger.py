#!/usr/bin/env python3
"""Matrices larger than the GPU's memory: single calls that run block by block, and a working set that is used repeatedly.

    bench/larger.py [--device cuda] [--only calls,working-set] [--operations "dgemm;dtrsm"] [--quick] [--output FILE]

*Single calls* (programs/repeat_calls.c) run with less and less memory for matrices (--device-memory). Matrices lie in host memory, results
are copied back, and one element of A changes between two calls. The next column is what link and arithmetic allow: the longer of the resident
cuBLAS call and the transfer of its operands. It assumes that as much of A lies on the device at once as the memory holds, and that B crosses the
link once for each such part.

The *working set* (programs/working_set.h) consists of pairs of matrices of order 2000, together 0.5 to 4 times as large as the memory for
them. The figures are milliseconds of a call, by Blastoff and by cuBLAS on managed memory with the same memory left. What link and arithmetic
allow there: in each round, the matrices that cannot stay cross the link, and C crosses after each call. With managed memory, C stays on the GPU.
`--device simulated --quick` only shows that the script works; its figures are not the speed of any GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import sys
import tempfile

import arguments
import execute
import machine
import modes
import run

MIB = 1 << 20
GIB = 1 << 30
CALLS = ("dgemm,N,N,16000,16000,16000", "zgemm,N,N,10000,10000,10000", "dsyrk,16000,16000", "dtrsm,16000,16000")
MEMORIES = ("80%", "4G", "2G", "1G")
OTHER_MEMORIES = ("80%", "2G")  # for all calls but the first
QUICK_CALLS = ("dgemm,N,N,800,800,800",)
QUICK_MEMORIES = ("80%", "8M", "4M")
RATIOS = [0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 4.0]
ROUNDS = 16
PARTS = ("calls", "working-set")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    run.add_common_arguments(parser)
    parser.add_argument("--only", type=arguments.words(PARTS), default=list(PARTS), help="parts to run, of " + ", ".join(PARTS))
    parser.add_argument("--operations", default="", help="single calls that contain one of these, separated by semicolons")
    parser.add_argument("--calls", type=arguments.count, default=8, help="of each operation; the median is of all but the first")
    parser.add_argument("--ratios", type=arguments.fractions, default=RATIOS, help="of the working set to the memory")
    parser.add_argument("--without-managed", action="store_true", help="no managed memory beside the working set")
    parser.add_argument("--budget", type=arguments.count, default=2048, help="MiB for the working set")
    parser.add_argument("--quick", action="store_true", help="small sizes: tries the script, measures nothing useful")
    return parser.parse_args()


class Limits:
    """The seconds of the resident cuBLAS calls, and the speed of the link; nothing without a GPU."""

    def __init__(self, recorder: execute.Recorder, found: modes.Available, operations: list[str]):
        self.seconds: dict[str, float] = {}
        self.to_device = self.from_device = math.inf
        if found.cublas is None or not machine.gpu():
            return
        mode = modes.Mode("limit", {}, (*found.modes["cpu"].search_path, str(found.cublas.parent)))
        command = [str(recorder.programs / "limit"), "--cublas", str(found.cublas), "--seconds", "2", "bandwidth", *operations]
        for line in recorder.run("limit", mode, command)["lines"]:
            if "operation" in line:
                self.seconds[line["operation"]] = line["seconds"]["median"]
            elif "bandwidth" in line:
                self.to_device, self.from_device = line["bandwidth"]["to_device"], line["bandwidth"]["from_device"]

    def of_call(self, operation: str, sizes: dict[str, int], memory: float) -> float | None:
        """Least seconds of a call. Only trsm also sends C to the device."""
        if operation not in self.seconds:
            return None
        a, b, c = sizes["a"], sizes["b"], sizes["c"]
        again = max(1, math.ceil(a / memory))
        up = a + again * b + (again * c if "trsm" in operation else 0)
        return max(self.seconds[operation], up / self.to_device, c / self.from_device)

    def of_pair(self, operation: str, matrix: int, missing: float) -> float | None:
        """Least seconds of one product of the working set, if the share `missing` of it cannot stay on the device."""
        if operation not in self.seconds:
            return None
        return max(self.seconds[operation], 2 * matrix * missing / self.to_device, matrix / self.from_device)


def last_line(entry: dict) -> dict:
    if "failure" in entry:
        raise SystemExit(f"{entry['command']}: {entry['failure']} {entry.get('stderr', '')}")
    return entry["lines"][-1]


def bytes_of(memory: str) -> float:
    return math.inf if memory.endswith("%") else int(memory[:-1]) * {"G": GIB, "M": MIB}[memory[-1]]


def measure_calls(options: argparse.Namespace, recorder: execute.Recorder, found: modes.Available) -> list[dict]:
    known = QUICK_CALLS if options.quick else CALLS
    operations = [operation for operation in known if any(part in operation for part in options.operations.split(";"))]
    limits = Limits(recorder, found, operations)
    rows = []
    print(f"{'operation':30} {'memory':>8} {'ms':>9} {'allowed':>9} {'share':>6}")
    for operation in operations:
        checksums = []
        for memory in QUICK_MEMORIES if options.quick else MEMORIES if operation == CALLS[0] else OTHER_MEMORIES:
            command = [str(recorder.programs / "repeat_calls"), "--calls", str(options.calls), "--minimum", "3", operation]
            entry = recorder.run(operation, found.modes["first-use"], command, BLASTOFF_DEVICE_MEMORY=memory)
            line = last_line(entry)
            checksums.append(line["checksum"])
            allowed = limits.of_call(operation, line["bytes"], bytes_of(memory))
            row = {
                "operation": operation,
                "device_memory": memory,
                "seconds": line["seconds"]["median"],
                "least_seconds": line["seconds"]["min"],
                "first_seconds": line["first_seconds"],
                "allowed_seconds": allowed,
                "share": allowed / line["seconds"]["median"] if allowed else None,
                "bytes_to_device": entry["report"]["totals"]["bytes_to_device"],
                "same": abs(checksums[-1]["sum"] - checksums[0]["sum"]) <= 1e-9 * checksums[0]["magnitude"],
            }
            rows.append(row)
            shown = f"{1e3 * allowed:9.1f} {row['share']:6.2f}" if allowed else f"{'-':>9} {'-':>6}"
            verdict = "" if row["same"] else "  RESULTS DIFFER"
            print(f"{operation:30} {memory:>8} {1e3 * row['seconds']:9.1f} {shown}{verdict}", flush=True)
    return rows


def measure_working_set(options: argparse.Namespace, recorder: execute.Recorder, found: modes.Available) -> list[dict]:
    order, budget = (200, 8) if options.quick else (2000, options.budget)
    operation = f"dgemm,N,N,{order},{order},{order}"
    limits = Limits(recorder, found, [operation])
    managed_mode = None
    if found.cublas and machine.gpu() and not options.without_managed:
        managed_mode = modes.Mode("managed", {}, (*found.modes["cpu"].search_path, str(found.cublas.parent)))
    rows = []
    print(f"{'working set / memory':>20} {'managed, ms':>12} {'Blastoff, ms':>13} {'allowed':>9}")
    for ratio in options.ratios:
        arguments = [str(order), str(round(ratio * budget)), str(ROUNDS)]
        entry = recorder.run(
            f"working set {ratio}",
            found.modes["first-use"],
            [str(recorder.programs / "working_set_blas"), *arguments],
            BLASTOFF_DEVICE_MEMORY=f"{budget}M",
        )
        line = last_line(entry)
        row = {"ratio": ratio, "pairs": line["pairs"], "seconds": line["seconds"]["median"], "checksum": line["checksum"]}
        row |= {"least_seconds": line["seconds"]["min"], "bytes_to_device": entry["report"]["totals"]["bytes_to_device"]}
        if managed_mode:
            command = [str(recorder.programs / "managed"), "--cublas", str(found.cublas), str(budget), *arguments]
            other = last_line(recorder.run(f"managed {ratio}", managed_mode, command))
            row |= {"managed_seconds": other["seconds"]["median"], "managed_checksum": other["checksum"]}
        row["allowed_seconds"] = limits.of_pair(operation, 8 * order * order, max(0.0, 1 - 1 / ratio))
        rows.append(row)
        shown = [f"{1e3 * row[key]:.2f}" if row.get(key) else "-" for key in ("managed_seconds", "seconds", "allowed_seconds")]
        print(f"{ratio:20} {shown[0]:>12} {shown[1]:>13} {shown[2]:>9}", flush=True)
    return rows


def main() -> int:
    options = parse_arguments()
    programs = run.build_programs(options.programs)
    results = {"machine": machine.describe(), "device": options.device}
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        found = run.find_modes(options, programs, scratch)
        recorder = execute.Recorder({}, scratch / "runs.json", scratch, programs, options.time_limit)
        for part, measure in (("calls", measure_calls), ("working-set", measure_working_set)):
            if part in options.only:
                results[part.replace("-", "_")] = measure(options, recorder, found)
                if options.output:
                    options.output.write_text(json.dumps(results, indent=1) + "\n")
    return 0 if all(row["same"] for row in results.get("calls", [])) else 1


if __name__ == "__main__":
    sys.exit(main())

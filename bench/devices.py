#!/usr/bin/env python3
"""Compares several GPUs in one process with one of them and with NVBLAS: single large calls, and eight threads with separate matrices.

    bench/devices.py [--several cuda:0,1] [--device cuda:0] [--only "16000;8000"] [--rounds 1] [--nvblas] [--quick] [--output FILE]

Matrices lie in host memory, results are copied back, and one element of A changes between two calls. One GPU and several GPUs alternate in
separate processes. For each row: milliseconds of a call (the median over the rounds of the medians after the first calls), the gain, and
whether both computed the same. In the rows "A rewritten" the program writes all of A before each call; these rows are also measured without
exchange between the devices. With --nvblas, NVBLAS makes a few calls of each row on the same GPUs; some of its calls take seconds.
`--several simulated:0,1 --device simulated --quick` only shows that the script works; its figures are not the speed of any GPU.
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


@dataclasses.dataclass(frozen=True)
class Row:
    operation: str
    threads: int = 1
    rewrite_a: bool = False  # all of A is new in each call, and each device needs it
    max_ms: float | None = None  # target for several GPUs: at most this many milliseconds
    min_gain: float | None = None  # target for several GPUs: at least this gain over one GPU


ROWS = (
    Row("dgemm,N,N,16000,16000,16000", max_ms=95),
    Row("dgemm,N,N,8000,8000,8000", max_ms=16),
    Row("zgemm,N,N,16000,16000,16000", min_gain=1.7),
    Row("dsyrk,16000,16000", min_gain=1.7),
    Row("dtrsm,16000,16000", min_gain=1.7),
    Row("dgemm,T,N,32,2400,93536"),
    Row("dgemm,N,N,8000,8000,8000", rewrite_a=True),
    Row("dgemm,N,N,16000,16000,16000", rewrite_a=True),
    Row("dgemm,N,N,2000,2000,2000", threads=8, min_gain=1.85),
    Row("dgemm,N,N,4000,4000,4000", threads=8, min_gain=1.85),
)
QUICK = (
    Row("dgemm,N,N,600,600,600"),
    Row("dgemm,N,N,600,600,600", rewrite_a=True),
    Row("zgemm,N,N,300,300,300"),
    Row("dsyrk,600,600"),
    Row("dtrsm,600,600"),
    Row("dgemm,N,N,300,300,300", threads=8),
)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    run.add_common_arguments(parser)
    parser.add_argument("--several", help="the devices together (default: the first two that there are)")
    parser.add_argument("--split", default="auto", choices=["auto", "always", "never"], help="Blastoff's --split")
    parser.add_argument("--only", default="", help="rows whose operation contains one of these, separated by semicolons")
    parser.add_argument("--rounds", type=arguments.count, default=1)
    parser.add_argument("--calls", type=arguments.count, default=8, help="of each operation in a round; the first is not counted")
    parser.add_argument("--nvblas", action="store_true", help="also NVBLAS on all these GPUs")
    parser.add_argument("--quick", action="store_true", help="small sizes: tries the script, measures nothing useful")
    parser.set_defaults(device=None, time_limit=400)
    options = parser.parse_args()
    kind = "simulated" if (options.device or "").startswith("simulated") else "cuda"
    options.several = options.several or f"{kind}:0,1"
    options.device = f"{kind}:0" if options.device in (None, kind) else options.device
    return options


CALLS_OF_THREADS = 25
"""Calls of each thread for one call in a row of single calls. There must be many, since the first ten or so include copying and page-locking."""
NVBLAS_CALLS = 3
MIN_GAIN_OVER_NVBLAS = 10


def command(row: Row, programs: pathlib.Path, calls: int) -> list[str]:
    if row.threads > 1:
        return [str(programs / "threads_gemm"), "--threads", str(row.threads), "--calls", str(CALLS_OF_THREADS * calls), row.operation]
    return [str(programs / "repeat_calls"), "--calls", str(calls), *(["--rewrite-a"] if row.rewrite_a else []), row.operation]


def milliseconds(line: dict) -> float:
    """Milliseconds of a call; for several threads, of the time in which each makes one call."""
    return 1e3 * (line["threads"] / line["rate"] if "rate" in line else line["seconds"]["median"])


def measure(options: argparse.Namespace, row: Row, ways: dict[str, modes.Mode], recorder: execute.Recorder) -> dict:
    if not row.rewrite_a:
        ways = {name: way for name, way in ways.items() if name != "apart"}
    found: dict[str, list[dict]] = {name: [] for name in ways}
    for turn in range(options.rounds):
        for name in list(ways) if turn % 2 == 0 else list(ways)[::-1]:
            entry = recorder.run(row.operation, ways[name], command(row, recorder.programs, options.calls))
            if "failure" in entry:
                raise SystemExit(f"{row.operation} on {name}: {entry['failure']} {entry.get('stderr', '')}")
            found[name].append({**entry["lines"][-1], "totals": entry["report"]["totals"]})
    figures = {name: statistics.median(map(milliseconds, lines)) for name, lines in found.items()}
    checksums = [lines[-1]["checksum"] for lines in found.values()]
    return {
        "operation": row.operation,
        "threads": row.threads,
        "rewrite_a": row.rewrite_a,
        **{f"{name}_ms": figure for name, figure in figures.items()},
        "gain": figures["one"] / figures["several"],
        "split": found["several"][-1]["totals"]["split"],
        "calls": found["several"][-1]["totals"]["calls"],
        "bytes_to_device": found["several"][-1]["totals"]["bytes_to_device"],
        "bytes_between_devices": found["several"][-1]["totals"]["bytes_between_devices"],
        "same": all(abs(each["sum"] - checksums[0]["sum"]) <= 1e-9 * each["magnitude"] for each in checksums),
    }


def measure_nvblas(row: Row, way: modes.Mode, recorder: execute.Recorder) -> dict[str, float]:
    """Milliseconds of a call by NVBLAS; empty if it fails, since NVBLAS does not have all routines."""
    entry = recorder.run(row.operation, way, command(row, recorder.programs, NVBLAS_CALLS if row.threads == 1 else 1))
    return {} if "failure" in entry else {"nvblas_ms": milliseconds(entry["lines"][-1])}


def verdict(row: Row, figures: dict) -> str:
    met = [f"A rewritten; without exchange {figures['apart_ms']:.2f} ms"] if row.rewrite_a else []
    if row.max_ms:
        met.append(f"at most {row.max_ms:g} ms: {'yes' if figures['several_ms'] <= row.max_ms else 'no'}")
    if row.min_gain:
        met.append(f"at least {row.min_gain:g} times: {'yes' if figures['gain'] >= row.min_gain else 'no'}")
    if "nvblas_ms" in figures:
        ratio = figures["nvblas_ms"] / figures["several_ms"]
        met.append(f"{ratio:.1f} times as fast as NVBLAS, at least {MIN_GAIN_OVER_NVBLAS}: {'yes' if ratio >= MIN_GAIN_OVER_NVBLAS else 'no'}")
    return "; ".join([*met, *([] if figures["same"] else ["RESULTS DIFFER"])])


def main() -> int:
    options = parse_arguments()
    if options.device.startswith("cuda") and len(machine.gpus()) < 2:
        print("one GPU or none: nothing to compare")
        return 0
    programs = run.build_programs(options.programs)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        ways = {}
        for name, device in (("one", options.device), ("several", options.several)):
            available = run.find_modes(argparse.Namespace(**{**vars(options), "device": device}), programs, scratch)
            found = available.modes["first-use"]
            ways[name] = dataclasses.replace(found, settings=found.settings | {"BLASTOFF_START": "now", "BLASTOFF_SPLIT": options.split})
        ways["apart"] = dataclasses.replace(ways["several"], settings=ways["several"].settings | {"BLASTOFF_EXCHANGE": "never"})
        nvblas = available.modes.get("nvblas") if options.nvblas else None
        if options.nvblas and nvblas is None:
            print(f"NVBLAS is left out: {available.missing['nvblas']}", file=sys.stderr)
        recorder = execute.Recorder({}, scratch / "runs.json", scratch, programs, options.time_limit)
        print(f"{'operation':30} {'threads':>7} {'one, ms':>10} {'several, ms':>12} {'gain':>6} {'split':>11}  target")
        for row in QUICK if options.quick else ROWS:
            if not any(part in row.operation for part in options.only.split(";")):
                continue
            figures = measure(options, row, ways, recorder) | (measure_nvblas(row, nvblas, recorder) if nvblas and not row.rewrite_a else {})
            rows.append(figures)
            print(
                f"{row.operation:30} {row.threads:7} {figures['one_ms']:10.2f} {figures['several_ms']:12.2f} {figures['gain']:6.2f}"
                f" {figures['split']:5} of {figures['calls']:3}  {verdict(row, figures)}",
                flush=True,
            )
            if options.output:
                options.output.write_text(json.dumps({"machine": machine.describe(), "devices": options.several, "rows": rows}, indent=1) + "\n")
    return 0 if all(row["same"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

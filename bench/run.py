#!/usr/bin/env python3
"""Compares Blastoff with the CPU library, NVBLAS, and the resident cuBLAS loop, and prints the table of targets.

    bench/run.py [--quick] [--device cuda] [--only parsec,square,...] [--output FILE]

Writes all runs to build/bench/results/<machine>-<date>.json. A full run on a GPU also writes a summary to bench/results/
(bench/summary.py). bench/table.py prints the table of either file.
"""

from __future__ import annotations

import argparse
import datetime
import os
import pathlib
import sys
import tempfile
import time

import arguments
import cases
import dependencies
import execute
import machine
import modes
import summary
import table
import targets

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PARTS = ("limit", "parsec", "square", "rewrite", "level3", "one-thread", "threads", "small", "startup")


def parse_arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common_arguments(parser)
    parser.add_argument("--quick", action="store_true", help="small sizes: tests the benchmark, measures nothing useful")
    parser.add_argument("--only", type=arguments.words(PARTS), default=list(PARTS), help="parts to run, of " + ", ".join(PARTS))
    return parser.parse_args(given)


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--blastoff", metavar="FILE", type=arguments.file, default=ROOT / "build/libblastoff.so", help="the library")
    device = "cuda" if machine.gpus() else "simulated"
    parser.add_argument("--device", default=device, help="Blastoff's device: cuda (the default where there is a GPU), cuda:N, simulated, none")
    parser.add_argument("--programs", type=pathlib.Path, help="folder of the built programs (default: builds them)")
    parser.add_argument("--cpu-blas", type=pathlib.Path, default=machine.find_cpu_blas(), help="folder of libblas.so.3")
    parser.add_argument("--wheel-blas", type=pathlib.Path, default=machine.find_wheel_blas(), help="SciPy's OpenBLAS")
    parser.add_argument("--time-limit", type=arguments.positive, default=120, help="seconds after which one program is killed")
    parser.add_argument("--output", type=arguments.output, help="results file, with every run")


def build_programs(given: pathlib.Path | None) -> pathlib.Path:
    if given:
        if not (given / "repeat_calls").exists():
            raise SystemExit(f"no benchmark programs in {given}")
        return given.resolve()
    folder = ROOT / "build/bench"
    for command in (["cmake", "-S", str(HERE), "-B", str(folder)], ["cmake", "--build", str(folder)]):
        dependencies.build(command)
    return folder


def say(text: str) -> None:
    print(text, flush=True)


def find_modes(options: argparse.Namespace, programs: pathlib.Path, scratch: pathlib.Path) -> modes.Available:
    return modes.available(
        blastoff=options.blastoff.resolve(),
        device=options.device,
        cpu_blas=options.cpu_blas.resolve() if options.cpu_blas else None,
        wheel_blas=options.wheel_blas.resolve() if options.wheel_blas else None,
        wheel_shim=programs / "wheel",
        scratch=scratch,
    )


def new_results(options: argparse.Namespace, found: modes.Available, kind: str) -> dict:
    return {
        "kind": kind,
        "machine": machine.describe(),
        "device": options.device,
        "quick": getattr(options, "quick", False),
        "libraries": found.libraries,
        "missing": found.missing,
        "runs": [],
    }


def output_path(options: argparse.Namespace, results: dict, prefix: str = "") -> pathlib.Path:
    """The file in which all runs are recorded."""
    if options.output:
        return options.output
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H%M")
    return ROOT / "build/bench/results" / f"{prefix}{machine.slug(results['machine'])}-{date}.json"


def finish(options: argparse.Namespace, results: dict, path: pathlib.Path) -> None:
    """Says where the results are. Writes the summary of a full run on a GPU to bench/results/, unless --output was given."""
    say(f"results: {os.path.relpath(path)}")
    if options.device.startswith("cuda") and results["machine"]["gpu"] and not results["quick"] and not options.output:
        kept = summary.RESULTS / path.name
        summary.store(results, kept)
        say(f"summary: {os.path.relpath(kept)}")


def run_limit(recorder: execute.Recorder, suite: cases.Suite, cpu: modes.Mode, found: modes.Available) -> None:
    library = (str(found.cublas.parent),) if found.cublas else ()
    mode = modes.Mode("limit", {}, (*cpu.search_path, *library))
    program = [str(recorder.programs / "limit")] + (["--cublas", str(found.cublas)] if found.cublas else [])
    operations = suite.limit_operations()
    recorder.run("limit", mode, [*program, "--calls", "50", "--seconds", "1", "bandwidth", *operations])
    recorder.run("limit-rate", mode, [*program, "--calls", "50", "--streams", str(suite.thread_count), suite.threads])


def run_small(recorder: execute.Recorder, suite: cases.Suite, found: modes.Available, quick: bool) -> None:
    """Times direct and preloaded calls in turns, with one BLAS thread, so that only the interception differs."""
    command = [str(recorder.programs / "small_calls"), "--batches", "200", "--calls", "5000"]
    for _ in range(3 if quick else 15):
        for name in ("cpu", "first-use"):
            if name in found.modes:
                recorder.run("small", found.modes[name], [*command, suite.small], OPENBLAS_NUM_THREADS="1")


def run_startup(recorder: execute.Recorder, found: modes.Available, quick: bool) -> None:
    if "first-use" in found.modes:
        preloaded = found.modes["first-use"].environment()
        plain = {key: value for key, value in preloaded.items() if key != "LD_PRELOAD"}
        recorder.results["startup"] = execute.startup(["/bin/true"], plain, preloaded, 50 if quick else 500)
        recorder.save()


def measure(options: argparse.Namespace, recorder: execute.Recorder, found: modes.Available) -> None:
    suite = cases.suite(options.quick)
    started = time.monotonic()
    if "limit" in options.only and not machine.gpu():
        say("not measured: limit: there is no GPU")
    elif "limit" in options.only:
        say("limit")
        run_limit(recorder, suite, found.modes["cpu"], found)
    for case in suite.cases:
        if case.name not in options.only:
            continue
        for name in cases.modes_for(case, set(found.modes)):
            entries = recorder.run_case(case, found.modes[name])
            failures = [entry["failure"] for entry in entries if "failure" in entry]
            say(f"{time.monotonic() - started:6.1f} s  {case.name} {name}" + "".join(f"  FAILED: {text}" for text in failures))
    if "small" in options.only:
        say("small")
        run_small(recorder, suite, found, options.quick)
    if "startup" in options.only:
        say("startup")
        run_startup(recorder, found, options.quick)


def main() -> int:
    options = parse_arguments()
    dependencies.require("rich")
    programs = build_programs(options.programs)
    with tempfile.TemporaryDirectory(prefix="blastoff-bench-") as folder:
        scratch = pathlib.Path(folder)
        found = find_modes(options, programs, scratch)
        results = new_results(options, found, "speed")
        path = output_path(options, results)
        for mode, reason in found.missing.items():
            say(f"not measured: {modes.LABELS[mode]}: {reason}")
        recorder = execute.Recorder(results, path, scratch, programs, options.time_limit)
        measure(options, recorder, found)
        results["rows"] = [row.to_json() for row in targets.rows(results)]
        results["doubtful"] = targets.complaints(results)
        recorder.save()
    table.show(results)
    finish(options, results, path)
    return 1 if results["doubtful"] else 0


if __name__ == "__main__":
    sys.exit(main())

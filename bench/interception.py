#!/usr/bin/env python3
"""Measures which calls each interceptor reaches, and what it costs.

    bench/interception.py [--quick] [--device cuda] [--output FILE]

A call below the threshold: direct, through the exported name, and through a patched function of a program with a static BLAS.
Loading: the time to patch a process with OpenBLAS. Launching: the time that `blastoff run` adds to a program that calls nothing,
its summary included. Programs whose calls exported names cannot reach, under preload and under patch: Fortran linked
statically, and NumPy's decompositions, whose products happen inside NumPy's own library.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import dependencies
import execute
import modes
import run

SMALL = "dgemm,N,N,8,8,8"
MAX_NANOSECONDS = 50
MAX_MILLISECONDS_LOADING = 20
MAX_MILLISECONDS_PER_OBJECT = 0.2
MAX_MILLISECONDS_LAUNCHING = 50


@dataclasses.dataclass
class Way:
    """A way to run a program: the mode, and the interceptor ("": without Blastoff)."""

    name: str
    mode: modes.Mode
    intercept: str = ""

    def settings(self) -> dict[str, str]:
        return {"BLASTOFF_INTERCEPT": self.intercept} if self.intercept else {}


def ways(found: modes.Available) -> list[Way]:
    with_blastoff = found.modes.get("first-use")
    preloaded = [Way(name, with_blastoff, name) for name in ("preload", "patch") if with_blastoff]
    return [Way("cpu", found.modes["cpu"]), *preloaded]


def small(recorder: execute.Recorder, found: modes.Available, quick: bool) -> None:
    """Times small calls in turns, with one BLAS thread: through exported names if the BLAS is shared, and patched if it is part of the program."""
    programs = {"": "small_calls", "preload": "small_calls", "patch": "small_calls_static"}
    options = ["--batches", "200", "--calls", "5000"]
    for _ in range(3 if quick else 15):
        for way in ways(found):
            for program in sorted({programs[way.intercept], *(programs.values() if not way.intercept else [])}):
                command = [str(recorder.programs / program), *options, SMALL]
                recorder.run(f"{program} {way.name}", way.mode, command, OPENBLAS_NUM_THREADS="1", **way.settings())


def reaching(recorder: execute.Recorder, found: modes.Available, quick: bool) -> None:
    """Runs programs that contain their BLAS."""
    order = "200" if quick else "2400"
    cases = {
        "fortran static": [str(recorder.programs / "scf_static"), order, "3" if quick else "10"],
        "numpy": [sys.executable, str(run.HERE / "programs/decompositions.py"), "200" if quick else "3000"],
    }
    for case, command in cases.items():
        for way in ways(found):
            if pathlib.Path(command[0]).exists():
                recorder.run(f"{case} {way.name}", way.mode, command, **way.settings())


def loading(recorder: execute.Recorder, found: modes.Available) -> None:
    """Loads the distribution's OpenBLAS in a process, and makes one call, so that there is a report."""
    if "first-use" in found.modes:
        command = [str(recorder.programs / "small_calls"), "--batches", "1", "--calls", "1", SMALL]
        for _ in range(9):
            recorder.run("loading", found.modes["first-use"], command)


def launching(library: pathlib.Path, repeats: int) -> dict[str, float]:
    """Milliseconds from start to exit of a program that calls nothing, by itself and under `blastoff run`: medians of runs in turns. Empty if the
    launcher fails."""
    plain = ["sleep", "0.2"]
    commands = {"plain": plain, "launcher": [str(library.parent / "bin" / "blastoff"), "run", *plain]}
    unwanted = ("BLASTOFF_", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    environment["BLASTOFF_LIBRARY"] = str(library)
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            began = time.perf_counter()
            if subprocess.run(command, env=environment, stderr=subprocess.DEVNULL).returncode != 0:
                return {}
            seconds[name].append(time.perf_counter() - began)
    return {name: 1e3 * statistics.median(values) for name, values in seconds.items()}


def entries(results: dict, case: str) -> list[dict]:
    return [entry for entry in results["runs"] if entry["case"] == case and "failure" not in entry]


def nanoseconds(results: dict, case: str) -> float | None:
    values = [line["nanoseconds"]["min"] for entry in entries(results, case) for line in entry["lines"]]
    return min(values) if values else None


def summarise(results: dict) -> dict:
    summary: dict = {"small_nanoseconds": {}, "programs": {}}
    for program, way in (("small_calls", "preload"), ("small_calls_static", "patch")):
        direct, through = (nanoseconds(results, f"{program} {name}") for name in ("cpu", way))
        if direct is not None and through is not None:
            summary["small_nanoseconds"][way] = {"direct": direct, "through": through, "difference": through - direct}
    looked = [entry["report"]["interception"] for entry in entries(results, "loading") if "report" in entry]
    if looked:
        with_blas = [sum(blas["seconds"] for blas in one["objects"]) for one in looked]
        others = [(one["seconds"] - mine) / max(1, one["objects_seen"] - len(one["objects"])) for one, mine in zip(looked, with_blas, strict=True)]
        summary["loading"] = {
            "milliseconds": 1e3 * statistics.median(one["seconds"] for one in looked),
            "functions": sum(len(blas["patched"]) for blas in looked[0]["objects"]),
            "milliseconds_per_other_object": 1e3 * statistics.median(others),
        }
    for entry in results["runs"]:
        if not entry["case"].startswith(("fortran", "numpy")) or "failure" in entry:
            continue
        totals = entry.get("report", {}).get("totals", {})
        summary["programs"][entry["case"]] = {
            "seconds": {line["operation"]: min(line["seconds"]) for line in entry["lines"]} or entry["wall_seconds"],
            "calls": totals.get("calls", 0),
            "offloaded": totals.get("offloaded", 0),
        }
    return summary


def show(summary: dict) -> list[str]:
    """Prints the table. Returns the lines about targets that were missed."""
    from rich.console import Console
    from rich.table import Table

    missed = []
    console = Console(width=140, highlight=False)
    for way, cost in summary["small_nanoseconds"].items():
        console.print(f"{SMALL} through {way}: {cost['through']:.0f} ns, {cost['difference']:.1f} ns more than direct")
        if cost["difference"] > MAX_NANOSECONDS:
            missed.append(f"a small call through {way} may cost {MAX_NANOSECONDS} ns more, not {cost['difference']:.0f}")
    if found := summary.get("loading"):
        each = found["milliseconds_per_other_object"]
        console.print(f"patching {found['functions']} functions: {found['milliseconds']:.1f} ms; other objects: {each:.3f} ms each")
        if found["milliseconds"] > MAX_MILLISECONDS_LOADING or each > MAX_MILLISECONDS_PER_OBJECT:
            missed.append(f"patching may take {MAX_MILLISECONDS_LOADING} ms, and {MAX_MILLISECONDS_PER_OBJECT} ms for other objects")
    if launched := summary["launching"]:
        added = launched["launcher"] - launched["plain"]
        console.print(f"blastoff run: {added:.1f} ms more for a program that calls nothing")
        if added > MAX_MILLISECONDS_LAUNCHING:
            missed.append(f"the launcher may take {MAX_MILLISECONDS_LAUNCHING} ms, not {added:.0f}")
    else:
        missed.append("blastoff run fails")
    table = Table()
    for heading in ("program", "seconds", "calls seen", "offloaded"):
        table.add_column(heading, justify="left" if heading == "program" else "right")
    for case, figures in summary["programs"].items():
        seconds = figures["seconds"]
        text = ", ".join(f"{name} {value:.2f}" for name, value in seconds.items()) if isinstance(seconds, dict) else f"{seconds:.2f}"
        table.add_row(case, text, str(figures["calls"]), str(figures["offloaded"]))
    console.print(table)
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    run.add_common_arguments(parser)
    parser.add_argument("--quick", action="store_true", help="small sizes: checks the benchmark")
    options = parser.parse_args()
    dependencies.require("rich")
    programs = run.build_programs(options.programs)
    with tempfile.TemporaryDirectory(prefix="blastoff-interception-") as folder:
        scratch = pathlib.Path(folder)
        found = run.find_modes(options, programs, scratch)
        results = run.new_results(options, found, "interception")
        path = run.output_path(options, results, "interception-")
        recorder = execute.Recorder(results, path, scratch, programs, options.time_limit)
        small(recorder, found, options.quick)
        loading(recorder, found)
        reaching(recorder, found, options.quick)
        results["summary"] = summarise(results) | {"launching": launching(options.blastoff, 3 if options.quick else 21)}
        recorder.save()
    missed = show(results["summary"])
    failures = [f"{entry['case']}: {entry['failure']}" for entry in results["runs"] if "failure" in entry]
    for line in [*missed, *failures]:
        run.say(f"MISSED {line}" if line in missed else f"FAILED {line}")
    run.finish(options, results, path)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

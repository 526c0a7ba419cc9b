#!/usr/bin/env python3
"""Compares the predictions of `blastoff predict` with the times of programs on a device.

    bench/predict.py [--device simulated|auto] [--machine NAME] [--only NAME,...] [--output FILE] [--keep FOLDER]

Each program of never_slower.py is traced with --device none, and run on the device. Two figures are compared for the routines that were
offloaded: the seconds on the device, and the seconds of all calls. They must agree within 20 %.

simulated: the device has a clock, which both sides use; its rates are given by --rates. Real time has no influence, and threads
share the clock. auto: a GPU, predicted by its machine model (--machine).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import arguments
import never_slower

ROOT = pathlib.Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "blastoff"]
MAX_WRONG = 0.2
MIN_SECONDS = 1e-4
"""Fewer seconds on the device are too few to compare."""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="simulated", help="as for blastoff run")
    parser.add_argument("--machine", help="the model of a GPU, as for blastoff predict")
    parser.add_argument("--rates", default="link=2e10,device=1e13,cpu=1e11,launch=1e-5,start=0.5", help="of the simulated device")
    parser.add_argument("--only", type=arguments.words(never_slower.PROGRAMS), default=list(never_slower.PROGRAMS), help="programs")
    parser.add_argument("--output", type=arguments.output, help="write the figures as JSON")
    parser.add_argument("--keep", type=arguments.folder, help="leave each program's trace, report and log of calls in this folder")
    options = parser.parse_args()
    if options.device != "simulated" and not options.machine:
        parser.error("--machine NAME is needed: the model of the GPU")
    return options


def blastoff(*words: object, variables: dict[str, str] | None = None) -> str:
    path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path} | (variables or {})
    done = subprocess.run([*COMMAND, *map(str, words)], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return done.stdout


def compare(options: argparse.Namespace, program: str, folder: pathlib.Path) -> dict[str, float]:
    """Measured and predicted seconds; 0 if nothing was offloaded."""
    variables = never_slower.PROGRAMS[program][1]
    name = program.replace(" ", "-")
    command = ["--", sys.executable, never_slower.__file__, f"--program={program}"]
    trace, report, log = (folder / f"{name}.{kind}" for kind in ("trace", "json", "log"))
    for left in (trace, report, log):
        left.unlink(missing_ok=True)
    logged = [f"--log=calls={log}"] if options.keep else []
    settings = ["--decide=time", "--start=now", "--model=none"] if options.device == "simulated" else []
    rates = [f"--simulated-rates={options.rates}", "--simulated-memory=8G"] if options.device == "simulated" else []
    blastoff("run", "--device=none", "--summary=never", f"--trace={trace}", *command, variables=variables)
    blastoff("run", f"--device={options.device}", "--summary=never", f"--report={report}", *logged, *settings, *rates, *command, variables=variables)
    if not trace.exists():
        return {"measured": 0.0, "predicted": 0.0, "all_measured": 0.0, "all_predicted": 0.0}
    machine = f"simulated:{options.rates}" if options.device == "simulated" else options.machine
    asked = [*settings[:2], *rates[1:], f"--machine={machine}", "--json"]
    (found,) = json.loads(blastoff("predict", trace, *asked))["machines"]
    routines = {routine["name"]: routine for routine in json.loads(report.read_text())["routines"]}
    offloaded = [name for name, routine in routines.items() if routine["offloaded"]]
    predicted = {routine["name"]: routine for routine in found["routines"] if routine["name"] in offloaded}
    measured = [routines[name] for name in offloaded]
    return {
        "measured": sum(routine["device_seconds"] for routine in measured),
        "predicted": sum(routine["device_seconds"] for routine in predicted.values()),
        "all_measured": sum(routine["device_seconds"] + routine["cpu_seconds"] for routine in measured),
        "all_predicted": sum(routine["device_seconds"] + routine["cpu_seconds"] for routine in predicted.values()),
    }


def verdict(row: dict[str, float]) -> str:
    if max(row["measured"], row["predicted"]) < MIN_SECONDS:
        return "nothing on the device"
    return "" if abs(row["all_predicted"] / row["all_measured"] - 1) <= MAX_WRONG else "more than 20 % off"


def main() -> None:
    options = parse_arguments()
    print(f"{'program':28}{'device s':>10}{'predicted':>11}{'all s':>10}{'predicted':>11}")
    rows = []
    with contextlib.ExitStack() as stack:
        folder = options.keep or stack.enter_context(tempfile.TemporaryDirectory())
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        for program in options.only:
            try:
                row = compare(options, program, pathlib.Path(folder))
            except RuntimeError as error:
                print(f"{program}: {error}", file=sys.stderr)
                continue
            rows.append({"program": program} | row)
            print(
                f"{program:28}{row['measured']:10.4f}{row['predicted']:11.4f}{row['all_measured']:10.4f}{row['all_predicted']:11.4f}  {verdict(row)}",
                flush=True,
            )
    if options.output:
        options.output.write_text(json.dumps({"device": options.device, "rates": options.rates, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

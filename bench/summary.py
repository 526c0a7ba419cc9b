#!/usr/bin/env python3
"""Summaries of results files, for bench/results/: machine, date, and per measurement count, minimum, median and maximum.

    bench/summary.py RESULTS [OUTPUT]     # the file that a benchmark wrote; without OUTPUT into bench/results/

A results file also has every run with its command, output and report. It stays in build/ or at the place given by --output.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import sys
from typing import Any

import arguments

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
QUANTITIES = ("seconds", "nanoseconds", "rate")


def spread(values: list[float]) -> dict[str, float]:
    """The summary of samples: count, minimum, median and maximum."""
    return {"count": len(values), "min": min(values), "median": statistics.median(values), "max": max(values)}


def _rounded(value: Any) -> Any:
    """All numbers rounded to six significant digits, which is more than any measurement has."""
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _merged(samples: list) -> dict[str, float]:
    """One spread of the samples of several runs: single values, lists of values, or spreads."""
    if not isinstance(samples[0], dict):
        return spread([value for sample in samples for value in (sample if isinstance(sample, list) else [sample])])
    return {
        "count": sum(sample["count"] for sample in samples),
        "min": min(sample["min"] for sample in samples),
        "median": statistics.median(sample["median"] for sample in samples),
        "max": max(sample["max"] for sample in samples),
    }


def measurements(runs: list[dict]) -> list[dict]:
    """One entry per case, mode, operation and quantity, in the order in which they were first measured.

    The median is the median over runs of each run's median. For programs that print no figures, the wall time is the figure.
    """
    samples: dict[tuple[str, str, str, str], list] = {}
    for run in runs:
        if "failure" in run:
            continue
        lines = [line for line in run["lines"] if "operation" in line] or [{"operation": "", "seconds": run["wall_seconds"]}]
        for line in lines:
            for quantity in QUANTITIES:
                if quantity in line:
                    samples.setdefault((run["case"], run["mode"], line["operation"], quantity), []).append(line[quantity])
    names = ("case", "mode", "operation", "quantity")
    return [dict(zip(names, key, strict=True)) | {"runs": len(found)} | _merged(found) for key, found in samples.items()]


def bandwidth(runs: list[dict]) -> dict[str, float] | None:
    """Bytes per second over the link, from the first run that measured it."""
    return next((line["bandwidth"] for run in runs for line in run["lines"] if "bandwidth" in line), None)


def summarise(results: dict) -> dict:
    """The summary of a benchmark's results."""
    kept = {key: value for key, value in results.items() if key != "runs"}
    if found := bandwidth(results["runs"]):
        kept["bandwidth"] = found
    return _rounded(kept | {"measurements": measurements(results["runs"])})


def text(summary: dict) -> str:
    """The summary as JSON. Each entry of a list of objects has its own line."""
    parts = []
    for key, value in summary.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines = ",\n".join(f"  {json.dumps(entry)}" for entry in value)
            parts.append(f" {json.dumps(key)}: [\n{lines}\n ]")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def store(results: dict, path: pathlib.Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(summarise(results)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", metavar="FILE", type=arguments.results)
    parser.add_argument("output", type=arguments.output, nargs="?")
    options = parser.parse_args()
    given, results = options.results
    if "runs" not in results:
        raise SystemExit(f"{given}: this is a summary already")
    path = options.output or RESULTS / given.name
    store(results, path)
    print(f"summary: {os.path.relpath(path)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

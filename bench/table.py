#!/usr/bin/env python3
"""Prints the table of a results file or of its summary:  bench/table.py bench/results/FILE.json [--markdown]"""

from __future__ import annotations

import argparse

import arguments
import dependencies
import summary
import targets
from modes import LABELS

_NAMES = {**LABELS, "cpu": "CPU", "cpu-own": "CPU own", "cpu-wheel": "CPU wheel", "limit": "limit"}
HEADINGS = ["case", "unit", *(_NAMES[column] for column in targets.COLUMNS), "figure", "measured", "target", "met"]


def number(value: float | None, unit: str = "") -> str:
    if value is None:
        return "-"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}{' ' + unit if unit else ''}"


def cells(row: targets.Row) -> list[str]:
    target = ("≥ " if row.at_least else "≤ ") + f"{row.target:g}" + (f" {row.figure_unit}" if row.figure_unit else "")
    met = {True: "yes", False: "NO", None: "not measured"}[row.met]
    columns = [number(row.columns.get(column)) for column in targets.COLUMNS]
    return [row.case, row.unit, *columns, row.what, number(row.figure, row.figure_unit), target, met]


def describe(results: dict) -> str:
    machine = results["machine"]
    gpu = machine["gpu"]
    device = f"{gpu['name']}, driver {gpu['driver_version']}" if gpu else "no GPU"
    lines = [
        f"{device}; {machine['cpu']}, {machine['cores']} cores; Linux {machine['kernel']}; {machine['date']}",
        f"Blastoff on device {results['device']}" + ("; quick sizes" if results["quick"] else ""),
    ]
    lines += [f"{name}: {version}" for name, version in results.get("libraries", {}).items()]
    bandwidth = summary.bandwidth(results["runs"]) if "runs" in results else results.get("bandwidth")
    if bandwidth:
        ways = ", ".join(f"{way.replace('_', ' ')} {value / 1e9:.1f}" for way, value in bandwidth.items())
        lines.append(f"pinned copies, GB/s: {ways}")
    return "\n".join(lines)


def markdown(results: dict) -> str:
    rows = targets.rows(results)
    text = ["- " + line for line in describe(results).splitlines()]
    text += ["", "| " + " | ".join(HEADINGS) + " |", "|" + " --- |" * len(HEADINGS)]
    text += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    text += [""] + ["- doubtful: " + line for line in targets.complaints(results)]
    return "\n".join(text).rstrip() + "\n"


def show(results: dict) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(width=220, highlight=False)
    console.print(describe(results), markup=False)
    rows = targets.rows(results)
    table = Table(box=box.SIMPLE)
    for index, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="right" if 2 <= index < 2 + len(targets.COLUMNS) else "left")
    for row in rows:
        table.add_row(*cells(row), style={True: "green", False: "bold red", None: None}[row.met])
    console.print(table)
    for line in targets.complaints(results):
        console.print("doubtful: " + line, markup=False, style="red")


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the table of a results file.")
    parser.add_argument("results", metavar="FILE", type=arguments.results)
    parser.add_argument("--markdown", action="store_true", help="as Markdown, for docs/benchmarks.md")
    options = parser.parse_args()
    if not options.markdown:
        dependencies.require("rich")
    path, results = options.results
    if results.get("kind") != "speed":
        raise SystemExit(f"{path}: not a file of bench/run.py")
    print(markdown(results), end="") if options.markdown else show(results)


if __name__ == "__main__":
    main()

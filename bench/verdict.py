#!/usr/bin/env python3
"""Compares the time that Blastoff claims to have saved with the measured saving: whole programs on the CPU and with Blastoff, in turns.

    bench/verdict.py [--library FILE] [--only NAME,...] [--program NAME=COMMAND]... [--repeats 5] [--coretype SkylakeX]
                     [--setting NAME=VALUE]... [--seconds N] [--output FILE]

Each program is a separate process, and its time is wall time from start to exit. The claim is the verdict of `blastoff report`: the job's
wall time saved. The measured saving is the difference of the medians. Before the turns, each program runs once on the CPU, so that the files
and the memory of the machine are warm; once with Blastoff but without a device, so that the CPU's times are known; and once with a device, so
that earlier runs are known. Each turn has another run without a device: the CPU's speed differs from run to run, so claim and measurement rest on
as many runs. Their seconds are `none_seconds` in the JSON; `compared_with` has the seconds that the verdict compared with (0: it compared calls).

--program runs any command (which /bin/sh reads) under this name, besides the programs of `--only`: most of never_slower.py, longer
ones, the examples, and some of its own. If the command contains "blastoff run", as for MPI, the command itself must send reports to
$BLASTOFF_REPORT. All runs have the processor's kernels (bench/kernels.py). --coretype names other kernels, for the BLAS of a --program; with
"" the BLAS chooses. --setting is an environment variable of the runs with Blastoff (BLASTOFF_DEVICE=simulated). --seconds: no program is
started later.

For each program: seconds on the CPU and with Blastoff; claimed and measured seconds saved; the uncertainty of the measured saving (half of the
sum of both quartile ranges); the ratio of the savings; and whether they agree: within 20 % or within the uncertainty, and with the same sign.
If the verdict says "at least", the measured saving may be larger.
"not known" is Blastoff's own answer, with the share of the operations on the device for which it knows the CPU's time.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import arguments
import kernels
import never_slower

sys.path.insert(0, str(never_slower.ROOT / "python"))

from blastoff.job import reading
from blastoff.job.wall import Verdict

ROOT = never_slower.ROOT
LEAST = 0.01
"""A difference of fewer seconds does not matter."""
AGREE = 0.2
"""Largest difference that counts as agreement, as a share of the measured saving."""


def worker(calls: int) -> None:
    never_slower.product(1500, calls)


def pool(processes: int, calls: int) -> None:
    """Forked workers that run at the same time."""
    with multiprocessing.get_context("fork").Pool(processes) as workers:
        workers.map(worker, [calls] * processes, chunksize=1)


def decompositions(n: int, calls: int) -> None:
    """Decompositions in SciPy's own OpenBLAS."""
    import numpy as np
    from scipy import linalg

    a = np.random.default_rng(1).random((n, n))
    for _ in range(calls):
        linalg.lu_factor(a)
        linalg.qr(a, mode="r")
        linalg.svdvals(a)


def transforms(n: int, calls: int) -> None:
    """Transforms in SciPy's own code, of which Blastoff sees no call."""
    import numpy as np
    from scipy import fft

    a = np.random.default_rng(1).random((n, n))
    for _ in range(calls):
        a = fft.ifft2(fft.fft2(a)).real


OWN: dict[str, tuple[Callable[[], None], dict[str, str]]] = {
    "pool 4 x 100": (lambda: pool(4, 100), {"OPENBLAS_NUM_THREADS": "4"}),
    "SciPy decompositions 2500 x 3": (lambda: decompositions(2500, 3), {}),
    "SciPy transforms 2000 x 5": (lambda: transforms(2000, 5), {}),
}
LONGER: dict[str, tuple[Callable[[], None], dict[str, str]]] = {
    "products 1000 x 900": (lambda: never_slower.product(1000, 900), {}),
    "rewritten 1500 x 200": (lambda: never_slower.rewritten(1500, 200), {}),
    "slices 16 x 900": (lambda: never_slower.slices(16, 900), {"OPENBLAS_NUM_THREADS": "1"}),
    "self-consistent 1000 x 60": (lambda: never_slower.self_consistent(1000, 60), {}),
    "solve 2000 x 40": (lambda: never_slower.solve(2000, 40), {}),
    "expm 3000": (lambda: never_slower.exponential(3000), {}),
    "power iteration 6000 x 2000": (lambda: never_slower.iteration(6000, 2000), {}),
}
"""Longer runs of programs of never_slower.py: the scatter of their times is a smaller share of what they save."""
EXAMPLES = {
    "power iteration of examples/": [sys.executable, str(ROOT / "examples" / "power_iteration.py"), "4000", "60"],
    "decompositions of bench/": [sys.executable, str(ROOT / "bench" / "programs" / "decompositions.py"), "2500", "3"],
}
LEFT_OUT = ("no linear algebra", "product 500", "small products 64 x 30000", "matrices 200 x 1000", "sparse LU 22^3 x 3")
"""Programs of never_slower.py whose gain or loss is smaller than the scatter of their times."""
FUNCTIONS = LONGER | OWN | {name: entry for name, entry in never_slower.PROGRAMS.items() if name not in LEFT_OUT}
COMMANDS: dict[str, list[str]] = {name: [sys.executable, str(pathlib.Path(__file__).resolve()), f"--run={name}"] for name in FUNCTIONS} | EXAMPLES


def named_command(text: str) -> tuple[str, list[str]]:
    name, equals, command = text.partition("=")
    if not equals or not command.strip():
        raise argparse.ArgumentTypeError(f"{text}: NAME=COMMAND is wanted")
    return name, ["/bin/sh", "-c", command]


def variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text}: NAME=VALUE is wanted")
    return name, value


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen = arguments.words(COMMANDS)
    parser.add_argument("--library", dest="preloaded", metavar="FILE", type=arguments.file, default=ROOT / "build" / "libblastoff.so")
    parser.add_argument("--only", type=lambda text: chosen(text) if text else [], default=list(COMMANDS), help="programs; '' for none")
    parser.add_argument("--program", type=named_command, action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--repeats", type=arguments.count, default=5)
    parser.add_argument("--coretype", help="OPENBLAS_CORETYPE of all runs")
    parser.add_argument("--setting", type=variable, action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--seconds", type=arguments.positive, default=float("inf"), help="no program is begun later than that")
    parser.add_argument("--output", type=arguments.output, help="write the figures as JSON")
    parser.add_argument("--run", choices=list(FUNCTIONS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.run and not options.preloaded.exists():
        parser.error(f"no library {options.preloaded}: make build")
    named = {kernels.VARIABLE: options.coretype} if options.coretype else {}
    options.kernels = named if options.run or options.coretype is not None else kernels.own(kernels.PYTHON)
    return options


class Program:
    """One of the programs, in a working directory where no earlier run is known."""

    def __init__(self, name: str, command: list[str], options: argparse.Namespace, folder: pathlib.Path):
        self.name, self.command, self.folder = name, command, folder
        # `blastoff run` sets this for malloc, so the CPU gets it too.
        self.cpu = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "XDG_CACHE_HOME": str(folder / "cache")}
        self.cpu |= FUNCTIONS[name][1] if name in FUNCTIONS else {}
        self.cpu |= options.kernels
        preload = {"LD_PRELOAD": str(options.preloaded.resolve()), "BLASTOFF_SUMMARY": "never"}
        self.blastoff = self.cpu | preload | dict(options.setting)
        self.runs = 0

    def seconds(self, environment: dict[str, str]) -> float | None:
        """Wall time of a run; None if the program fails, for example because a package is missing."""
        begin = time.perf_counter()
        done = subprocess.run(self.command, cwd=self.folder, env=os.environ | environment, capture_output=True, text=True)
        taken = time.perf_counter() - begin
        if done.returncode != 0:
            print(f"{self.name}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}", file=sys.stderr)
            return None
        return taken

    def with_blastoff(self, **changes: str) -> tuple[float | None, Verdict | None]:
        """Wall time of a run with Blastoff, and the verdict; None instead of the verdict if the program made no call."""
        self.runs += 1
        reports = self.folder / f"reports-{self.runs}"
        reports.mkdir()
        taken = self.seconds(self.blastoff | {"BLASTOFF_REPORT": f"{reports}/"} | changes)
        return taken, reading.read_job([str(reports)]).verdict if any(reports.iterdir()) else None


def measured(program: Program, repeats: int) -> dict[str, list] | None:
    """Lists with one value for each pair of runs."""
    program.seconds(program.cpu)
    program.with_blastoff(BLASTOFF_DEVICE="none")
    program.with_blastoff()
    names = ("cpu_seconds", "none_seconds", "blastoff_seconds", "claimed_seconds", "compared_with", "known_share", "at_least")
    row: dict[str, list] = {name: [] for name in names}
    for repeat in range(repeats):
        verdict, taken = None, {}
        for way in ("cpu", "none", "blastoff")[:: 1 if repeat % 2 == 0 else -1]:
            if way == "cpu":
                taken[way] = program.seconds(program.cpu)
            elif way == "none":
                taken[way], _ = program.with_blastoff(BLASTOFF_DEVICE="none")
            else:
                taken[way], verdict = program.with_blastoff()
            if taken[way] is None:
                return None
        for way, seconds in taken.items():
            row[f"{way}_seconds"].append(seconds)
        row["compared_with"].append(verdict.cpu_run if verdict else 0.0)
        row["claimed_seconds"].append(verdict.saved if verdict else 0.0)
        row["known_share"].append(verdict.known_share if verdict else 1.0)
        row["at_least"].append(verdict is not None and not verdict.alike)
    return row


def spread(values: list[float]) -> float:
    """The range of the middle half of the values."""
    if len(values) < 3:
        return max(values) - min(values)
    first, _, last = statistics.quantiles(values, n=4, method="inclusive")
    return last - first


def figures(row: dict[str, list]) -> dict[str, float | str | None]:
    cpu, blastoff = statistics.median(row["cpu_seconds"]), statistics.median(row["blastoff_seconds"])
    claims = [claim for claim in row["claimed_seconds"] if claim is not None]
    saved, uncertain = cpu - blastoff, (spread(row["cpu_seconds"]) + spread(row["blastoff_seconds"])) / 2
    found = {"cpu": cpu, "blastoff": blastoff, "measured": saved, "uncertain": uncertain, "claimed": None, "ratio": None}
    if 2 * len(claims) <= len(row["claimed_seconds"]):
        return found | {"verdict": f"not known ({100 * statistics.median(row['known_share']):.0f} %)"}
    claimed = statistics.median(claims)
    off = abs(claimed - saved)
    right_sign = claimed * saved >= 0
    if off <= AGREE * abs(saved) and right_sign:
        agrees = "agrees"
    elif off <= max(uncertain, LEAST):
        agrees = "agrees, as far as is certain"
    elif all(row["at_least"]) and 0 <= claimed <= saved:
        agrees = "agrees: it says at least"
    else:
        agrees = "differs" if right_sign else "WRONG SIGN"
    return found | {"claimed": claimed, "ratio": claimed / saved if saved else None, "verdict": agrees}


def line(name: str, found: dict) -> str:
    claimed = "-" if found["claimed"] is None else f"{found['claimed']:.3f}"
    ratio = "-" if found["ratio"] is None else f"{found['ratio']:.2f}"
    times = f"{found['cpu']:8.3f}{found['blastoff']:12.3f}{claimed:>10}{found['measured']:10.3f}{found['uncertain']:8.3f}{ratio:>7}"
    return f"{name:30}{times}  {found['verdict']}"


def main() -> None:
    options = parse_arguments()
    if options.run:
        FUNCTIONS[options.run][0]()
        return
    os.environ["BLASTOFF_LIBRARY"] = str(options.preloaded.resolve())  # which reads the counters of killed processes
    print(f"{'program':30}{'CPU s':>8}{'Blastoff s':>12}{'claimed':>10}{'measured':>10}{'+-':>8}{'ratio':>7}")
    rows, begin = [], time.monotonic()
    for name, command in ({name: COMMANDS[name] for name in options.only} | dict(options.program)).items():
        if time.monotonic() - begin > options.seconds:
            print(f"{name}: no time")
            continue
        with tempfile.TemporaryDirectory() as folder:
            row = measured(Program(name, command, options, pathlib.Path(folder)), options.repeats)
        if row is None:
            continue
        found = figures(row)
        rows.append({"program": name, **found, "runs": row})
        if options.output:  # written after each row, so that the rows stay if the time runs out
            about = {"repeats": options.repeats, "kernels": options.kernels, "settings": dict(options.setting)}
            options.output.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")
        print(line(name, found), flush=True)
    known = [row for row in rows if row["claimed"] is not None]
    print(f"{sum(row['verdict'].startswith('agrees') for row in known)} of {len(rows)} agree, {len(rows) - len(known)} are not known")


if __name__ == "__main__":
    main()

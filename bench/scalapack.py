#!/usr/bin/env python3
"""ScaLAPACK on the CPUs of this machine and with Blastoff, for several block sizes of the distribution.

    bench/scalapack.py [--ranks 4,16] [--order 8000] [--eigen-order N] [--blocks 32,64,128,256] [--only pdgemm,...] [--gather auto,always,never]
                       [--gather-gpus auto,one,all] [--no-cpu] [--mpi openmpi|mpich] [--starter "mpirun -n"] [--program FILE] [--repeats 3]
                       [--device cuda ...] [--threads N] [--own-kernels-only] [--command FILE] [--seconds N] [--output FILE]

    bench/scalapack.py --ranks 4,16 --blocks 64,256 --only pdgemm,pdpotrf,pdgetrf,pdtrsm --gather auto,never --own-kernels-only

The ranks form a square grid. Eigenproblems (pdsyevd, pzheevd, pzhegvx; generalized: A x = w B x by pdpotrf, pdsygst, pdsyevd and pdtrsm) have the
order --eigen-order (a quarter of the order if not given). Each value of --gather has a row; it says whether one rank makes a call for all
(docs/ranks.md). `gathered` counts the calls that one rank made for all, over all repetitions, `by several` those that several ranks made (--gather-
gpus). The CPU has the processor's kernels (bench/kernels.py), and so has Blastoff. `as shipped` is the CPU without these kernels, if that differs.
CPU and Blastoff take turns, in separate jobs. The table shows the median in milliseconds over the second half of the repetitions, and the first
repetition. The first half includes opening the GPU, which takes 0.1 s for each rank of a node, one after the other. Results must agree: the sums of
the absolute values of all elements are compared, if the CPU is measured. They must be right, too: a product of the result with a vector is compared
with that of the operands (pdgemm, pdpotrf, pdgetrf, pdsyevd). Each value of --device has its own rows: with two GPUs, "cuda cuda:0" shows what the
second GPU gains. --seconds: no job is started later.

Needs the compiler of the MPI library and its ScaLAPACK (Debian: libscalapack-openmpi-dev or libscalapack-mpich-dev), or --program, a program
that was compiled elsewhere. --starter: the command that starts ranks; their number and the program follow it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

import arguments
import dependencies
import kernels
import machine
import starting

ROOT = pathlib.Path(__file__).resolve().parents[1]
EIGENSOLVERS = ("pdsyevd", "pzheevd", "pzhegvx", "generalized")
GATHER_GPUS = ("auto", "one", "all")
ROUTINES = ("pdgemm", "pdtrsm", "pdpotrf", "pdgetrf", *EIGENSOLVERS)
STARTERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "-n"], "mpich": ["mpiexec.hydra", "-n"]}
GATHER = ("auto", "always", "never")
REASONS = {  # src/report/refusals.def
    "gathered": "solved by one rank for all, on its device",
    "by_several": "solved by several ranks for all, on a device each",
}
BLAS = kernels.of_library("libblas.so.3")
AGREEMENT, OF_VECTORS, RIGHT = 1e-9, 1e-7, 1e-10
LONGEST_JOB = 300  # seconds


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=arguments.numbers, default=[4])
    parser.add_argument("--order", type=arguments.count, default=8000)
    parser.add_argument("--eigen-order", type=arguments.count, help="default: a quarter of the order")
    parser.add_argument("--blocks", type=arguments.numbers, default=[32, 64, 128, 256])
    parser.add_argument("--only", type=arguments.words(ROUTINES), default=list(ROUTINES), help="routines, of " + ", ".join(ROUTINES))
    parser.add_argument("--gather", type=arguments.words(GATHER), default=["auto"], help="of " + ", ".join(GATHER))
    parser.add_argument("--gather-gpus", type=arguments.words(GATHER_GPUS), default=["auto"], help="of " + ", ".join(GATHER_GPUS))
    parser.add_argument("--no-cpu", action="store_true", help="do not measure the CPU")
    parser.add_argument("--mpi", choices=STARTERS, default="openmpi")
    parser.add_argument("--starter", type=arguments.command, help="default: that of --mpi")
    parser.add_argument("--program", type=arguments.program, help="bench/programs/scalapack.c, compiled")
    parser.add_argument("--repeats", type=arguments.count, default=3)
    parser.add_argument("--device", nargs="+", default=["cuda"])
    parser.add_argument("--threads", type=arguments.count, help="of the BLAS in each rank. Default: the cores divided by the ranks")
    parser.add_argument("--own-kernels-only", action="store_true", help="do not measure the CPU without the processor's kernels")
    parser.add_argument("--command", default=str(ROOT / ".venv" / "bin" / "blastoff"))
    parser.add_argument("--seconds", type=arguments.positive, default=float("inf"), help="start no job later than that")
    parser.add_argument("--output", type=arguments.output, help="write the figures as JSON")
    options = parser.parse_args()
    for ranks in options.ranks:
        if round(ranks**0.5) ** 2 != ranks:
            parser.error(f"{ranks} ranks form no square grid; accepted are 1, 4, 9, 16, ...")
    options.eigen_order = options.eigen_order or options.order // 4
    options.starter = options.starter or STARTERS[options.mpi]
    if shutil.which(options.starter[0]) is None:
        parser.error(f"no command {options.starter[0]}: {options.mpi} is not installed")
    options.kernels = kernels.own(BLAS)
    options.end = time.monotonic() + options.seconds
    return options


def compiled(options: argparse.Namespace, folder: pathlib.Path) -> pathlib.Path:
    if options.program:
        return options.program
    program = folder / "scalapack"
    source = ROOT / "bench" / "programs" / "scalapack.c"
    dependencies.build([f"mpicc.{options.mpi}", "-O2", source, "-o", program, f"-lscalapack-{options.mpi}", "-lm"])
    return program


def calls_gathered(folder: pathlib.Path) -> dict[str, int]:
    """Numbers of calls that one rank, and several, solved for all, from the report of rank 0."""
    reports = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    refusals = [refusal for report in reports if report["process"]["rank"] == 0 for refusal in report["refusals"]]
    return {name: sum(refusal["calls"] for refusal in refusals if refusal["reason"] == reason) for name, reason in REASONS.items()}


def measured(
    options: argparse.Namespace,
    program: pathlib.Path,
    ranks: int,
    routine: str,
    block: int,
    gather: str = "",
    gpus: str = "",
    device: str = "",
    as_shipped: bool = False,
) -> dict | None:
    """Seconds of each repetition, and the sum of the result; None if there is no time left. Without a device, on the CPU."""
    if time.monotonic() > options.end:
        return None
    order = options.eigen_order if routine in EIGENSOLVERS else options.order
    command = [*options.starter, str(ranks), str(program), routine, str(order), str(block), str(options.repeats)]
    with tempfile.TemporaryDirectory() as folder:
        if device:
            launcher = [
                options.command,
                "run",
                f"--device={device}",
                f"--gather={gather}",
                f"--gather-gpus={gpus}",
                "--summary=never",
                f"--report={folder}/",
            ]
            command = [*launcher, "--", *command]
        done = starting.run(command, options.threads or starting.cores_each(ranks), LONGEST_JOB, {} if as_shipped else options.kernels)
        if done.returncode != 0:
            return {"failed": starting.why(done)}
        said = json.loads(done.stdout[done.stdout.index('{"seconds"') :])
        return said | calls_gathered(pathlib.Path(folder))


def milliseconds(options: argparse.Namespace, side: dict | None) -> float | None:
    """The median of the second half of the repetitions; None if there were none."""
    return 1e3 * statistics.median(side["seconds"][options.repeats // 2 :]) if side and "seconds" in side else None


def compare(row: dict, options: argparse.Namespace) -> str:
    """Completes the row, and returns the end of its line."""
    sides = [side for side in ("cpu", "blastoff") if row[side]]
    failed = [f"{side} FAILED: {row[side]['failed']}" for side in sides if "failed" in row[side]]
    if failed:
        row["agree"] = False
        return "; ".join(failed)
    bound = OF_VECTORS if row["routine"] in EIGENSOLVERS else AGREEMENT
    sums = [row[side]["sum"] for side in sides]
    row["agree"] = max(sums) - min(sums) <= bound * abs(sums[0]) and all(row[side]["error"] <= RIGHT for side in sides)
    cpu, device = (milliseconds(options, row[side]) for side in ("cpu", "blastoff"))
    shipped = milliseconds(options, row["cpu_as_shipped"])
    on_cpu = f"{shipped or cpu:>10.1f} {cpu:>10.1f}" if cpu else f"{'':>21}"
    on_device = f"{1e3 * row['blastoff']['seconds'][0]:>10.1f} {device:>12.1f}"
    calls = f"{row['blastoff']['gathered']:>9} {row['blastoff']['by_several']:>10}"
    gain = f"{cpu / device:>6.2f}" if cpu else f"{'':>6}"
    return f"{on_cpu} {on_device} {gain} {calls}" + ("" if row["agree"] else "  RESULTS DIFFER")


def main() -> int:
    options = parse_arguments()
    about = {"machine": machine.describe(), "ranks": options.ranks, "threads": options.threads, "order": options.order}
    about |= {"kernels": kernels.describe(BLAS), "eigen_order": options.eigen_order, "mpi": options.mpi, "device": options.device}
    rows: list[dict] = []
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(options, pathlib.Path(folder))
        figures = f"{'as shipped':>10} {'CPU ms':>10} {'first ms':>10} {'Blastoff ms':>12} {'gain':>6} {'gathered':>9} {'by several':>10}"
        print(f"{'routine':<8} {'ranks':>5} {'block':>6} {'device':<8} {'gather':>7} {'GPUs':>5} {figures}")
        for ranks, routine, block in itertools.product(options.ranks, options.only, options.blocks):
            case = (options, program, ranks, routine, block)
            on_cpu = measured(*case) if not options.no_cpu else None
            shipped = measured(*case, as_shipped=True) if on_cpu and options.kernels and not options.own_kernels_only else None
            for device, gather, gpus in itertools.product(options.device, options.gather, options.gather_gpus):
                row = {"routine": routine, "ranks": ranks, "block": block, "device": device, "gather": gather, "gather_gpus": gpus}
                row |= {"cpu_as_shipped": shipped, "cpu": on_cpu, "blastoff": measured(*case, gather, gpus, device)}
                line = f"{routine:<8} {ranks:>5} {block:>6} {device:<8} {gather:>7} {gpus:>5} "
                if row["blastoff"] is None or (on_cpu is None and not options.no_cpu):
                    print(line + "no time left", flush=True)
                    continue
                print(line + compare(row, options), flush=True)
                rows.append(row)
                if options.output:  # written after each row, so that the rows stay if the time runs out
                    options.output.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")
    return 0 if rows and all(row["agree"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

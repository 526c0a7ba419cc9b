#!/usr/bin/env python3
"""ScaLAPACK on the CPUs of this machine, and with Blastoff, by the block size of the distribution.

    bench/scalapack.py [--ranks 4] [--order 8000] [--blocks 32,64,128,256] [--only pdgemm,...] [--mpi openmpi|mpich] [--repeats 3]
                       [--device cuda] [--threads N] [--command FILE] [--output FILE]

The ranks form a square grid. pdsyevd has a quarter of the order. CPU and Blastoff take turns, in jobs of their own; the table shows the median
in milliseconds, without the first repetition. Results must agree: the sums of the absolute values of all elements are compared.
Needs the compiler of the MPI library and its ScaLAPACK (Debian: libscalapack-openmpi-dev or libscalapack-mpich-dev).
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROUTINES = ("pdgemm", "pdtrsm", "pdpotrf", "pdgetrf", "pdsyevd")
STARTERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "-n"], "mpich": ["mpiexec.hydra", "-n"]}
AGREEMENT = 1e-9


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--order", type=int, default=8000)
    parser.add_argument("--blocks", type=lambda text: [int(part) for part in text.split(",")], default=[32, 64, 128, 256])
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(ROUTINES), help="routines, of " + ", ".join(ROUTINES))
    parser.add_argument("--mpi", choices=STARTERS, default="openmpi")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--threads", type=int, help="of the BLAS in each rank. Default: the cores divided by the ranks")
    parser.add_argument("--command", default=str(ROOT / ".venv" / "bin" / "blastoff"))
    parser.add_argument("--output", type=pathlib.Path, help="write the figures as JSON")
    options = parser.parse_args()
    if unknown := set(options.only) - set(ROUTINES):
        parser.error(f"unknown routine {', '.join(sorted(unknown))}; accepted: {', '.join(ROUTINES)}")
    if round(options.ranks**0.5) ** 2 != options.ranks:
        parser.error(f"{options.ranks} ranks form no square grid; accepted are 1, 4, 9, 16, ...")
    return options


def compiled(mpi: str, folder: pathlib.Path) -> pathlib.Path:
    program = folder / "scalapack"
    source = ROOT / "bench" / "programs" / "scalapack.c"
    subprocess.run([f"mpicc.{mpi}", "-O2", str(source), "-o", str(program), f"-lscalapack-{mpi}", "-lm"], check=True)
    return program


def measured(options: argparse.Namespace, program: pathlib.Path, routine: str, block: int, offloading: bool) -> dict:
    """Seconds of each repetition but the first, and the sum of the result."""
    order = options.order // 4 if routine == "pdsyevd" else options.order
    launcher = [options.command, "run", f"--device={options.device}", "--summary=never", "--"] if offloading else []
    command = [*launcher, *STARTERS[options.mpi], str(options.ranks), str(program), routine, str(order), str(block), str(options.repeats + 1)]
    threads = options.threads or max(1, len(os.sched_getaffinity(0)) // options.ranks)
    environment = os.environ | {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    if os.getuid() == 0:
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{routine}, block {block}: status {done.returncode}\n{done.stderr}")
    said = json.loads(done.stdout)
    return {"seconds": said["seconds"][1:], "sum": said["sum"]}


def main() -> int:
    options = parse_arguments()
    rows, wrong = [], 0
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(options.mpi, pathlib.Path(folder))
        print(f"{'routine':<8} {'block':>6} {'CPU ms':>10} {'Blastoff ms':>12} {'gain':>6}")
        for routine in options.only:
            for block in options.blocks:
                on_cpu, offloaded = (measured(options, program, routine, block, offloading) for offloading in (False, True))
                agree = abs(on_cpu["sum"] - offloaded["sum"]) <= AGREEMENT * abs(on_cpu["sum"])
                wrong += not agree
                cpu, device = (1e3 * statistics.median(one["seconds"]) for one in (on_cpu, offloaded))
                print(f"{routine:<8} {block:>6} {cpu:>10.1f} {device:>12.1f} {cpu / device:>6.2f}{'' if agree else '  RESULTS DIFFER'}", flush=True)
                rows.append({"routine": routine, "block": block, "cpu": on_cpu, "blastoff": offloaded, "agree": agree})
    if options.output:
        options.output.write_text(json.dumps({"ranks": options.ranks, "order": options.order, "mpi": options.mpi, "rows": rows}, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs of whole applications: how each program is started, where its result is, and what Blastoff's reports say of a run."""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import re
import shutil
import sys
import time
from collections.abc import Callable

import execute
import kernels
import starting

sys.path.insert(0, str(execute.ROOT / "python"))

from blastoff.errors import CommandError
from blastoff.job import metering, reading
from blastoff.job.processes import Job

BLAS = kernels.of_library("libblas.so.3")
AGREEMENT = 1e-5
"""Largest difference of the result, relative to the CPU's: self-consistent iterations end at slightly different energies."""


@dataclasses.dataclass(frozen=True, order=True)
class Layout:
    ranks: int
    threads: int

    def __str__(self) -> str:
        return f"{self.ranks} x {self.threads}"


@dataclasses.dataclass(frozen=True)
class Application:
    """A program, the folder in which it runs, and what it writes there."""

    title: str
    program: pathlib.Path
    prepare: Callable[[pathlib.Path, Layout], None]
    """Fills the folder of a run."""
    results: str
    """The files that have the result."""
    result: str
    """The result in them: the number of the last match counts."""
    stdin: str = ""
    """A file in the folder that the program reads from standard input."""
    reported: str = ""
    """What else the program reports, and its unit."""
    unit: str = ""
    passed: str = ""
    """What the program writes if its own checks have passed."""
    last_digit: float = 0.0
    """The last digit of the result: results agree if they differ by no more."""


def copied(inputs: pathlib.Path) -> Callable[[pathlib.Path, Layout], None]:
    return lambda folder, _: shutil.copytree(inputs, folder, dirs_exist_ok=True)


def must(program: pathlib.Path, inputs: pathlib.Path) -> Application:
    """MuST reads i_mst. Its file k_n0... has a line for each iteration, with the energy. o_n0... tells the seconds for one energy of the contour, and
    whether the run ended well; the exit status is always 0."""
    energy = r"^\W*\d+\s+(-?\d+\.\d+)(?:\s+-?\d+\.\d+){2}(?:\s+\d\.\d+E[+-]\d+){2}\s"
    seconds = r"Averaged time for calculating MS DOS\s*:\s*(\S+)"
    ended = "End of a successful run"
    return Application(f"MuST, {inputs.name}", program, copied(inputs), "[ko]_n0*", energy, "i_mst", seconds, "s an energy", ended, 1e-6)


def parsec(program: pathlib.Path, inputs: pathlib.Path) -> Application:
    """PARSEC reads parsec.in and writes parsec.out, at whose end are the seconds that it diagonalized."""
    seconds = r"Time spent on diagonalization \[sec\]\s*:\s*(\S+)"
    energy, ended = r"Total Energy\s*=\s*(-?\d+\.\d+)", "Time spent on diagonalization"
    return Application(f"PARSEC, {inputs.name}", program, copied(inputs), "parsec.out", energy, "", seconds, "s diagonalizing", ended)


def hpcc(program: pathlib.Path, order: int, block: int) -> Application:
    """The HPC Challenge; its HPL solves a system of this order. The program checks its own results."""
    title, rate = f"hpcc, HPL of order {order} in blocks of {block}", r"HPL_Tflops=(\S+)"

    def prepare(folder: pathlib.Path, layout: Layout) -> None:
        (folder / "hpccinf.txt").write_text(hpl_input(layout, order, block, HPCC_LINES))

    return Application(title, program, prepare, "hpccoutf.txt", "", "", rate, "TFLOP/s", "Success=1")


def hpl(program: pathlib.Path, order: int, block: int) -> Application:
    """HPL alone. Its line of a test ends with the seconds and the rate; the program checks its own results."""
    title, rate = f"HPL of order {order} in blocks of {block}", r"^W[RC]\w+(?:\s+\d+){4}\s+\S+\s+(\S+)$"

    def prepare(folder: pathlib.Path, layout: Layout) -> None:
        (folder / "HPL.dat").write_text(hpl_input(layout, order, block))

    return Application(title, program, prepare, "HPL.out", "", "", rate, "GFLOP/s", "1 tests completed and passed residual checks")


HPL_CHOICES = {"PFACTs": "2", "NBMINs": "4", "NDIVs": "2", "RFACTs": "1", "BCASTs": "1", "DEPTHs": "0"}
"""As in the example of Debian's package."""

HPL_LINES = (
    ("HPL.out", "output file name"),
    ("8", "device out: a file"),
    ("1", "# of problems sizes (N)"),
    ("{order}", "Ns"),
    ("1", "# of NBs"),
    ("{block}", "NBs"),
    ("0", "PMAP process mapping"),
    ("1", "# of process grids (P x Q)"),
    ("{rows}", "Ps"),
    ("{columns}", "Qs"),
    ("16.0", "threshold"),
    *(line for name, value in HPL_CHOICES.items() for line in (("1", f"# of {name}"), (value, name))),
    ("2", "SWAP"),
    ("64", "swapping threshold"),
    ("0", "L1 in transposed form"),
    ("0", "U in transposed form"),
    ("1", "Equilibration"),
    ("8", "memory alignment in double"),
)
"""HPL's parameters in the order of its input: the value, and what it is."""

HPCC_LINES = (
    ("#", "this line is ignored"),
    ("0", "Number of additional problem sizes for PTRANS"),
    ("1200", "values of N"),
    ("0", "number of additional blocking sizes for PTRANS"),
    ("40", "values of NB"),
)
"""What the HPC Challenge reads besides."""


def hpl_input(layout: Layout, order: int, block: int, further: tuple[tuple[str, str], ...] = ()) -> str:
    rows = max(part for part in range(1, layout.ranks + 1) if layout.ranks % part == 0 and part * part <= layout.ranks)
    values = {"order": order, "block": block, "rows": rows, "columns": layout.ranks // rows}
    lines = [f"{value.format(**values):12} {what}" for value, what in (*HPL_LINES, *further)]
    return "\n".join(["HPLinpack benchmark input file", "bench/applications.py", *lines]) + "\n"


@dataclasses.dataclass(frozen=True)
class Mode:
    label: str
    options: tuple[str, ...] = ()
    """Of `blastoff run`."""
    policy: str = ""
    """The policy that must be in force."""
    launched: bool = True
    """Whether Blastoff runs the job."""
    own_kernels: bool = True
    alone: Callable[[Job], str] = lambda job: ""
    """Why a run was not what the mode says; "" if it was."""


def why_not_placed(job: Job) -> str:
    return "" if job.allocated()[2] else "not on this machine: the device's memory is no NUMA node"


def why_no_mps(job: Job) -> str:
    served = any(process.report["device"].get("by_server") for process in job.processes)
    return "" if served else "not on this machine: no MPS daemon was started (blastoff doctor tells why)"


NOW = "--start=now"
FIRST_USE = ("--policy=first-use", NOW)
MODES: dict[str, Mode] = {
    "as-shipped": Mode("CPU, as shipped", launched=False, own_kernels=False),
    "cpu": Mode("CPU", launched=False),
    "copy": Mode("Mem-Copy", ("--policy=copy", NOW), "copy"),
    "coherent": Mode("coherent", ("--policy=coherent", NOW), "coherent"),
    "first-use": Mode("First-Use", FIRST_USE, "first-use"),
    "mps": Mode("First-Use, MPS", (*FIRST_USE, "--mps=auto"), "first-use", alone=why_no_mps),
    "placed": Mode("First-Use, placed", (*FIRST_USE, "--place=at-malloc"), "first-use", alone=why_not_placed),
    "aligned": Mode("First-Use, aligned", (*FIRST_USE, "--align"), "first-use"),
    "first": Mode("default, first"),
    "default": Mode("default"),
    "native": Mode("own GPU port", launched=False),
}


def matched(text: str, pattern: str) -> float | None:
    """The number of the last match."""
    found = re.findall(pattern, text, re.MULTILINE) if pattern else []
    return float(found[-1]) if found else None


def last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no message")[:120]


class Runs:
    """The runs of an application in one layout. No run knows runs from elsewhere: the cache of earlier runs is in `scratch`."""

    def __init__(self, application: Application, layout: Layout, options: argparse.Namespace, scratch: pathlib.Path) -> None:
        self.application, self.layout, self.options, self.scratch = application, layout, options, scratch
        self.kernels = kernels.own(BLAS)
        self.number = 0

    def fastest(self, name: str) -> dict:
        """The fastest of the repeats, or why there is none."""
        mode = MODES[name]
        if name == "native" and not self.options.native:
            return {"cannot": "no program: --native names it"}
        if name == "as-shipped" and not self.kernels:
            return {"cannot": "the library runs the processor's kernels unasked"}
        rows = []
        for _ in range(self.options.repeats):
            row = self.run(mode, self.options.native if name == "native" else self.application.program)
            if "cannot" in row:
                return row
            rows.append(row)
        best = min(rows, key=lambda row: row["total"])
        if name == "cpu":
            counted = self.run(Mode("", ("--device=none",)), self.application.program)
            best |= {key: counted[key] for key in ("blas", "joules") if key in counted} | {"counted": counted.get("total")}
        return best

    def run(self, mode: Mode, program: pathlib.Path) -> dict:
        self.number += 1
        # Earlier runs count for the same command in the same directory.
        folder, reports = self.scratch / "run", self.scratch / f"reports-{self.number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.application.prepare(folder, self.layout)
        command = [*self.options.starter, str(self.layout.ranks), str(program)]
        variables = {"XDG_CACHE_HOME": str(self.scratch / "cache")} | (self.kernels if mode.own_kernels else {})
        if mode.launched:
            device = [] if any(option.startswith("--device=") for option in mode.options) else [f"--device={self.options.device}"]
            command = [self.options.command, "run", *device, *mode.options, f"--report={reports}/", "--summary=never", "--", *command]
            variables |= dict(self.options.setting)
        stdin = folder / self.application.stdin if self.application.stdin else None
        if stdin is not None and not stdin.is_file():
            raise SystemExit(f"{self.application.title}: no file {self.application.stdin} in the folder of --inputs")
        begin = time.monotonic()
        done = starting.run(command, self.layout.threads, self.options.limit, variables, folder, stdin)
        total = time.monotonic() - begin
        if done.returncode != 0:
            return {"cannot": f"FAILED with status {done.returncode}: {last_line(done.stderr)}", "failed": True}
        outcome = self.outcome(folder, done.stdout)
        if outcome["result"] is None and outcome["reported"] is None:
            return {"cannot": f"FAILED: it ended with status 0, but wrote no result of {self.application.title}", "failed": True}
        row = {"total": total, "blas": None, "moving": None, "reuse": None, "joules": None} | outcome
        return row | (self.reported(mode, reports) if mode.launched else {})

    def outcome(self, folder: pathlib.Path, printed: str) -> dict:
        """The program's own results."""
        text = printed + "".join(path.read_text(errors="replace") for path in sorted(folder.glob(self.application.results)))
        result, reported = matched(text, self.application.result), matched(text, self.application.reported)
        return {
            "result": result,
            "reported": None if reported is None else f"{reported:.3g} {self.application.unit}",
            "right": self.application.passed in text,
        }

    def reported(self, mode: Mode, reports: pathlib.Path) -> dict:
        """What Blastoff's reports say of the run."""
        try:
            job = reading.read_job([str(reports)])
        except CommandError as error:
            return {"cannot": f"Blastoff saw no calls: {str(error).removeprefix(f'{reports}: ')}", "failed": True}
        wrong = self.why_other_policy(mode, job) or (mode.alone(job) if mode.policy else "")
        if wrong:
            return {"cannot": wrong}
        totals, energy = job.totals, metering.energy_of(job)
        return {
            "blas": job.wall.in_calls,
            "moving": totals.transfer_seconds / max(1, self.layout.ranks) if totals.offloaded else None,
            "reuse": totals.operand_reuse if totals.bytes_to_device else None,
            "joules": sum(energy.joules.values()) if energy and energy.joules else None,
            "claimed": job.verdict.saved,
            "compared_with": job.verdict.cpu_run,
            "calls": totals.calls,
            "offloaded": totals.offloaded,
        }

    @staticmethod
    def why_other_policy(mode: Mode, job: Job) -> str:
        for process in job.processes:
            policy = process.report["policy"]
            if mode.policy and process.totals.calls and policy["in_force"] != mode.policy:
                return f"not on this machine: {policy['reason'] or 'policy ' + policy['in_force'] + ' is in force'}"
        return ""

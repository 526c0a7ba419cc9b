"""`blastoff try`: runs a program once under trace, and says what a GPU would change."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from blastoff import launcher, library
from blastoff.errors import CommandError
from blastoff.parser import Parser
from blastoff.replay import machines, prediction, traces

BY_SIGNAL = 128
"""Exit status of a program that a signal has ended, less the number of the signal, as in the shell."""


def parser() -> Parser:
    result = Parser(
        prog="blastoff try",
        usage="blastoff try [--machine NAME[,NAME...]] [--trace DIRECTORY] [--] PROGRAM\n                    [ARGUMENT...]",
        description="Runs PROGRAM once on the CPU, and says on stderr whether a GPU would help, which, how much, and what stands in the way. Needs "
        "no GPU: `blastoff predict` replays the calls on machine models. After Ctrl-C, the answer is about the calls up to then. If several "
        "processes call BLAS, they are taken to run at the same time and to share one GPU. MPI programs are started as "
        "`blastoff try -- mpirun -n 4 PROGRAM` or `mpirun -n 4 blastoff try PROGRAM`: one answer for the ranks of a node.",
        epilog="Exit status: that of PROGRAM.",
    )
    result.add_argument("--machine", metavar="NAME[,NAME...]", help="as for blastoff predict. Default: all that Blastoff can use")
    result.add_argument("--trace", metavar="PATH", help="a directory in which the traces are kept, for `blastoff predict`. Default: they are removed")
    result.add_argument("command", metavar="PROGRAM", nargs=argparse.REMAINDER, help="the program and its arguments")
    return result


def traced(program: Sequence[str], folder: Path) -> int:
    """Runs the program on the CPU; its traces come into the folder. Returns its exit status."""
    launcher.undo_locale_coercion()
    command = [launcher.find(), "--python", sys.executable, str(library.PACKAGE.parent), "run", "--device=none", "--summary=never"]
    running = subprocess.Popen([*command, f"--trace={folder}/", "--", *program])
    signal.signal(signal.SIGINT, lambda *_: None)  # the terminal sends it to the program, too
    signal.signal(signal.SIGTERM, lambda *_: running.terminate())
    status = running.wait()
    return status if status >= 0 else BY_SIGNAL - status


def answer(folder: Path, chosen: Sequence[machines.Machine]) -> dict[str, Any] | None:
    """The prediction for the traces in a folder; None if there are none."""
    paths = traces.that_matter(sorted(folder.glob("*.trace")))
    return prediction.predict(paths, chosen, prediction.Layout(1, len(paths)), {}) if paths else None


def folder_for_traces(path: str, is_rank: bool) -> Path:
    """The directory in which traces are kept. The ranks of a job may find traces of each other there."""
    folder = Path(path).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise CommandError(f"try: {path}: not a directory") from error
    except OSError as error:
        raise CommandError(f"try: {path}: {error.strerror}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CommandError(f"try: {path}: no trace can be written there")
    if not is_rank and any(folder.glob("*.trace")):
        raise CommandError(f"try: {path} holds traces already; accepted: an empty or a new directory")
    return folder

"""`blastoff top`: what the processes of a run do now."""

import json
import shutil
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path

from blastoff import columns
from blastoff.errors import CommandError
from blastoff.job import runs
from blastoff.parser import Parser, process_id
from blastoff.top import frame, view

IN_PLACE = "\x1b[H"
REST_OF_LINE = "\x1b[K"
REST_OF_SCREEN = "\x1b[J"
SHORTEST, LONGEST = 0.05, 86400.0


def interval(text: str) -> float:
    """Seconds between two looks, as an option's value."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not SHORTEST <= seconds <= LONGEST:
        raise ArgumentTypeError(f"{text!r} is no number of seconds from {SHORTEST:g} to {LONGEST:g}")
    return seconds


def parser() -> Parser:
    result = Parser(
        prog="blastoff top",
        description="Shows what the processes of a run do: routines, share on the device, rate, bytes moved, device memory, and why calls stay on "
        "the CPU. Refreshes in place on a terminal, and prints a line each time otherwise.",
    )
    which = result.add_mutually_exclusive_group()
    which.add_argument("run", metavar="RUN", nargs="?", help="directory of the run. Default: the latest run on this machine")
    which.add_argument("--pid", type=process_id, metavar="PID", help="the run to which this process belongs")
    result.add_argument("--interval", type=interval, default=1.0, metavar="SECONDS", help="time between two looks. Default: 1")
    result.add_argument("--once", action="store_true", help="look twice, print once, and end")
    result.add_argument("--json", action="store_true", help="print one JSON object for each look")
    return result


def chosen(run: str | None, pid: int | None) -> Path:
    """The directory of the run that the options name."""
    if run is not None:
        directory = Path(run)
        if not directory.is_dir():
            raise CommandError(f"top: {run}: no such run")
        if not runs.is_run(directory):
            raise CommandError(f"top: {run} is not the directory of a run: no process has its counters there; without RUN, the latest run is shown")
        return directory
    found = runs.find()
    if pid is not None:
        found = [directory for directory in found if pid in runs.pids(directory)]
        if not found:
            raise CommandError(f"top: process {pid} belongs to no run of blastoff on this machine")
    live = [directory for directory in found if any(file.alive for file in runs.counter_files(directory))]
    if not live and not found:
        raise CommandError("top: no run of blastoff on this machine; start one by blastoff run")
    return (live or found)[0]


def show(now: frame.Frame, as_json: bool, whole: bool) -> None:
    """Prints one moment of the run."""
    if as_json:
        print(json.dumps(frame.as_json(now)), flush=True)
        return
    now = frame.printable(now)
    if whole and sys.stdout.isatty():
        size = shutil.get_terminal_size()
        lines = view.lines(now, size.columns - 1, size.lines - 1)[: size.lines - 1]
        shown = [line[: size.columns - 1] + REST_OF_LINE for line in lines]
        print(IN_PLACE + "\n".join(shown) + REST_OF_SCREEN, flush=True)
    elif whole:
        print("\n".join(view.lines(now, columns.terminal_width())), flush=True)
    else:
        print(view.line(now), flush=True)


def watch(directory: Path, seconds: float, once: bool, as_json: bool) -> None:
    """Prints the run repeatedly until it has ended."""
    now = frame.read(directory, None)
    whole = once or sys.stdout.isatty()
    while True:
        time.sleep(seconds)
        if not directory.is_dir():
            if once:
                show(now, as_json, whole)
            return
        now = frame.read(directory, now)
        show(now, as_json, whole)
        if once or not now.running:
            return


def run(arguments: Sequence[str]) -> int:
    parsed = parser().parse_args(arguments)
    try:
        watch(chosen(parsed.run, parsed.pid), parsed.interval, parsed.once, parsed.json)
    except KeyboardInterrupt:
        print()
    return 0

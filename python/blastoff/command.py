"""The `blastoff` command."""

import argparse
import io
import sys
from collections.abc import Sequence

from blastoff.errors import CommandError

USAGE = """usage: blastoff run [options] [--] PROGRAM [ARGUMENT...]
       blastoff doctor [--json]
       blastoff report FILE... [--html FILE]
       blastoff --version

Runs the dense linear algebra of unmodified programs on the GPU.

  run      run a program with its BLAS calls offloaded
  doctor   what works on this machine, what does not, and what to do about it
  report   show reports that `run --report FILE` has written; several files make a job

`blastoff run --help` lists every option."""


def run(arguments: Sequence[str]) -> int:
    from blastoff import launch

    launch.run(arguments)


def doctor(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="blastoff doctor",
        description="Says what works on this machine, what does not, why, and what to do about it.",
        epilog="Exit status: 0 if calls can be offloaded to a GPU with the policy first-use, else 1.",
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parsed = parser.parse_args(arguments)
    from blastoff import doctor

    return doctor.main(as_json=parsed.json)


def report(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="blastoff report", description="Shows reports that `blastoff run --report FILE` has written; several files make a job."
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="report of one process")
    parser.add_argument("--html", metavar="FILE", help="write one self-contained page with plots instead")
    parsed = parser.parse_args(arguments)
    from blastoff import reports

    return reports.main(parsed.files, parsed.html)


COMMANDS = {"run": run, "doctor": doctor, "report": report}


def dispatch(arguments: Sequence[str]) -> int:
    if not arguments:
        raise CommandError("run, doctor or report? blastoff --help says more")
    name, *rest = arguments
    if name in ("-h", "--help", "help"):
        print(USAGE)
        return 0
    if name == "--version":
        from blastoff import library

        print(f"blastoff {library.version()}")
        return 0
    if name not in COMMANDS:
        raise CommandError(f"{name} is no command: run, doctor and report are")
    return COMMANDS[name](rest)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the command; returns the exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no box characters shows question marks
    try:
        return dispatch(sys.argv[1:] if arguments is None else arguments)
    except CommandError as error:
        print(f"blastoff: {error}", file=sys.stderr)
        return error.status
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone: nothing more to say
        return 1

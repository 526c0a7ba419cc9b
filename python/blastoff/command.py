"""The `blastoff` command."""

import argparse
import io
import sys
from collections.abc import Sequence

from blastoff.errors import CommandError

USAGE = """usage: blastoff run [options] [--] PROGRAM [ARGUMENT...]
       blastoff inspect [--json] PROGRAM [ARGUMENT...]
       blastoff inspect [--json] --pid PID
       blastoff doctor [--json]
       blastoff report FILE... [--html FILE]
       blastoff --version

Runs the dense linear algebra of unmodified programs on the GPU.

  run      run a program with its BLAS calls offloaded
  inspect  how a program or a running process gets its BLAS, and which of it can be intercepted
  doctor   what works on this machine, what does not, and what to do about it
  report   show reports that `run --report FILE` has written; several files make a job

`blastoff run --help` lists every option."""


def run(arguments: Sequence[str]) -> int:
    from blastoff import launch

    launch.run(arguments)


def inspect(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="blastoff inspect",
        usage="blastoff inspect [--json] [--] PROGRAM [ARGUMENT...]\n       blastoff inspect [--json] --pid PID",
        description="Says how a program gets its BLAS, which routines, which interceptor reaches them, and which not and why. "
        "Neither a program nor a process is run or changed. PROGRAM may be a script, a name on PATH, or the file of a library; "
        "its arguments are ignored.",
        epilog="Exit status: 0 if BLAS was found that can be intercepted, 1 if not, 2 if there is nothing to look at.",
    )
    parser.add_argument("--json", action="store_true", help="print all of it as JSON (share/inspect.schema.json)")
    parser.add_argument("--pid", type=int, metavar="PID", help="look at a running process, read only")
    parser.add_argument("command", metavar="PROGRAM", nargs=argparse.REMAINDER, help="look at a program before it runs")
    parsed = parser.parse_args(arguments)
    command = parsed.command[1:] if parsed.command[:1] == ["--"] else parsed.command
    if bool(command) == (parsed.pid is not None):
        raise CommandError("inspect: a program or --pid PID? blastoff inspect --help says more")
    from blastoff import inspection

    return inspection.main(command[0] if command else None, parsed.pid, as_json=parsed.json)


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


COMMANDS = {"run": run, "inspect": inspect, "doctor": doctor, "report": report}


def dispatch(arguments: Sequence[str]) -> int:
    if not arguments:
        raise CommandError("run, inspect, doctor or report? blastoff --help says more")
    name, *rest = arguments
    if name in ("-h", "--help", "help"):
        print(USAGE)
        return 0
    if name == "--version":
        from blastoff import library

        print(f"blastoff {library.version()}")
        return 0
    if name not in COMMANDS:
        raise CommandError(f"{name} is no command: run, inspect, doctor and report are")
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

"""The `blastoff` command."""

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
    from blastoff.run import command

    command.run(arguments)


def inspect(arguments: Sequence[str]) -> int:
    from blastoff.inspect import command

    return command.run(arguments)


def doctor(arguments: Sequence[str]) -> int:
    from blastoff.doctor import command

    return command.run(arguments)


def report(arguments: Sequence[str]) -> int:
    from blastoff.report import command

    return command.run(arguments)


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

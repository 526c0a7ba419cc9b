"""The `blastoff` command."""

import errno
import io
import os
import re
import signal
import sys
import textwrap
from collections.abc import Sequence
from typing import TextIO

from blastoff import columns
from blastoff.errors import USAGE as NOT_USABLE
from blastoff.errors import CommandError
from blastoff.parser import hint
from blastoff.printable import PLAIN_ERRORS, lines

USAGE = """usage: blastoff run [options] [--] PROGRAM [ARGUMENT...]
       blastoff try [--machine NAME[,NAME...]] [--trace DIRECTORY] [--] PROGRAM [ARGUMENT...]
       blastoff env [options] [--shell sh|csh|fish] [--unset] [--json]
       blastoff inspect [--json] PROGRAM [ARGUMENT...]
       blastoff inspect [--json] --pid PID
       blastoff doctor [--json]
       blastoff top [RUN | --pid PID] [--once] [--json]
       blastoff report FILE... [--html FILE] [--json] [--csv FILE] [--chrome-trace FILE]
       blastoff report --compare FIRST SECOND
       blastoff advise FILE... [--json]
       blastoff site DIRECTORY [--machine NAME[,NAME...]] [--json]
       blastoff memory FILE [--html FILE] [--csv FILE]
       blastoff predict FILE... [--machine NAME[,NAME...]] [options]
       blastoff calibrate [options]
       blastoff lab [SET] [--device DEVICE] [--quick] [--minutes N] [--output DIRECTORY]
       blastoff completion bash|zsh|fish
       blastoff --version

Runs the dense linear algebra of unmodified programs on the GPU.

  run         run a program, offload its BLAS calls, and sum them up when it has ended, however it ends
  try         run a program once without a GPU, and say whether one would help, how much, and what stands in the way
  env         print the environment of `run`, as lines for a shell
  inspect     show how a program or a running process gets its BLAS, and which functions can be intercepted
  doctor      show what works on this machine, what does not, and how to fix it
  top         show what a run does now: processes, routines, share on the device, rates, reasons
  report      show the reports that `run --report FILE` has written; several files are added up as one job
  advise      say what stands in the way of a job, by seconds, and what to do about it
  site        show the reports and traces of many jobs and users as one ranking: who would gain from GPUs
  memory      show the time line of memory that `run --memory --report FILE` has written
  predict     say what a program would take on other machines, from traces that `run --trace FILE` has written
  calibrate   measure this machine, so that decisions start from its own figures
  lab         measure how memory behaves between the CPU and the GPU of this machine
  completion  print the completion of this command for a shell

`blastoff COMMAND --help` and `blastoff help COMMAND` list the options of a command. `blastoff help --man COMMAND` prints its manual page."""


def run(arguments: Sequence[str]) -> int:
    from blastoff.run import command

    return command.run(arguments)


def attempt(arguments: Sequence[str]) -> int:
    from blastoff.predict import command

    return command.attempt(arguments)


def env(arguments: Sequence[str]) -> int:
    from blastoff.run import env

    return env.run(arguments)


def inspect(arguments: Sequence[str]) -> int:
    from blastoff.inspect import command

    return command.run(arguments)


def doctor(arguments: Sequence[str]) -> int:
    from blastoff.doctor import command

    return command.run(arguments)


def report(arguments: Sequence[str]) -> int:
    from blastoff.report import command

    return command.run(arguments)


def advise(arguments: Sequence[str]) -> int:
    from blastoff.advise import command

    return command.run(arguments)


def site(arguments: Sequence[str]) -> int:
    from blastoff.site import command

    return command.run(arguments)


def memory(arguments: Sequence[str]) -> int:
    from blastoff.memory import command

    return command.run(arguments)


def top(arguments: Sequence[str]) -> int:
    from blastoff.top import command

    return command.run(arguments)


def lab(arguments: Sequence[str]) -> int:
    from blastoff.lab import command

    return command.run(arguments)


def calibrate(arguments: Sequence[str]) -> int:
    from blastoff.calibrate import command

    return command.run(arguments)


def predict(arguments: Sequence[str]) -> int:
    from blastoff.predict import command

    return command.run(arguments)


def completion(arguments: Sequence[str]) -> int:
    from blastoff.manual import command

    return command.print_completion(arguments, COMMANDS, USAGE)


COMMANDS = {
    "run": run,
    "try": attempt,
    "env": env,
    "inspect": inspect,
    "doctor": doctor,
    "top": top,
    "report": report,
    "advise": advise,
    "site": site,
    "memory": memory,
    "predict": predict,
    "calibrate": calibrate,
    "lab": lab,
    "completion": completion,
}


def unknown(name: str) -> CommandError:
    """The message about a word that is not a command."""
    kind = "option" if name.startswith("-") else "command"
    return CommandError(f"unknown {kind} {name}{hint(name, [*COMMANDS, '--help', '--version'], 'blastoff --help lists the commands')}")


LEAST_WIDTH = 40
"""Characters in a line of the usage, however narrow the terminal is."""


def overview() -> list[str]:
    """The usage in lines that fit the terminal. Continued lines begin below what a line says."""
    width = columns.terminal_width()
    if width is None:
        return USAGE.splitlines()
    shown = []
    for line in USAGE.splitlines():
        begin = re.match(r"  \w+ +|(?:usage:|      ) blastoff \w+ |", line)
        shown += textwrap.wrap(line, max(width, LEAST_WIDTH), subsequent_indent=" " * len(begin[0] if begin else ""), break_on_hyphens=False) or [""]
    return shown


def show_help(words: Sequence[str]) -> int:
    """`blastoff help`, or `blastoff help COMMAND`, which is `blastoff COMMAND --help`; with --man as a manual page."""
    if not words:
        print("\n".join(overview()))
        return 0
    if words[0] == "--man":
        from blastoff.manual import command

        return command.print_page(words[1:], COMMANDS, USAGE)
    if words[0] not in COMMANDS:
        raise unknown(words[0])
    return COMMANDS[words[0]](["--help"])


def dispatch(arguments: Sequence[str]) -> int:
    if not arguments:
        raise CommandError("no command given; blastoff --help lists the commands")
    name, *rest = arguments
    if name in ("-h", "--help", "help"):
        return show_help(rest if name == "help" else [])
    if name in ("-V", "--version"):
        from blastoff import library

        try:
            version = f"{library.version()} (build {library.build(library.find_library())})"
        except CommandError as error:
            if not (known := library.version_of_package()):
                raise
            version = f"{known} ({error})"
        print(f"blastoff {version}")
        return 0
    if name not in COMMANDS:
        raise unknown(name)
    return COMMANDS[name](rest)


STDOUT, STDERR = 1, 2
"""File descriptors."""
OUTPUT_ERRORS = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""How writing to standard output fails."""


def discard_output() -> None:
    """Gives standard output up, so that Python does not try again to write what is left of it when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def closed(stream: int, mode: int) -> TextIO:
    """What stands for a standard stream that the caller has closed: no other file gets its descriptor. Writing fails if the mode is to read."""
    nowhere = os.open(os.devnull, mode)
    if nowhere != stream:
        os.dup2(nowhere, stream)
        os.close(nowhere)
    return open(stream, "w", encoding="utf-8", closefd=False)


def written(arguments: Sequence[str]) -> int:
    """Runs the command and writes all of its output, so that an output that cannot be written is noticed here."""
    try:
        return dispatch(arguments)
    finally:
        sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the command; returns the exit status. `run` does not return: it ends the process as its program has ended."""
    if sys.stdout is None:
        sys.stdout = closed(STDOUT, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = closed(STDERR, os.O_WRONLY)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=PLAIN_ERRORS)
    try:
        return written(sys.argv[1:] if arguments is None else arguments)
    except CommandError as error:
        print(f"blastoff: {lines(str(error))}", file=sys.stderr)
        return error.status
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "blastoff":
            raise
        print(f"blastoff: this command needs the Python package {error.name.partition('.')[0]}, which {sys.executable} lacks", file=sys.stderr)
        return NOT_USABLE
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)  # the shell learns by what the command has ended, and nothing is printed
        return NOT_USABLE
    except MemoryError:
        print("blastoff: out of memory", file=sys.stderr)
        return 1
    except UnicodeEncodeError as error:
        print(f"blastoff: {lines(error.object)}: a name that does not fit the encoding of the locale ({error.encoding})", file=sys.stderr)
        return NOT_USABLE
    except OSError as error:
        if error.filename is None and error.errno in OUTPUT_ERRORS:
            discard_output()
            if error.errno != errno.EPIPE:  # a reader that has closed the pipe wants no more
                print(f"blastoff: standard output: {error.strerror}", file=sys.stderr)
            return 1
        named = f"{lines(os.fsdecode(error.filename))}: " if isinstance(error.filename, str | bytes) else ""
        print(f"blastoff: {named}{error.strerror or error}", file=sys.stderr)
        return NOT_USABLE

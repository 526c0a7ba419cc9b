"""`blastoff inspect`: how a program or a running process gets its BLAS."""

import argparse
import json
from collections.abc import Sequence

from blastoff import printable
from blastoff.errors import USAGE, CommandError
from blastoff.inspect import inspection
from blastoff.parser import Parser, process_id


def run(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="blastoff inspect",
        usage="blastoff inspect [--json] [--] PROGRAM [ARGUMENT...]\n       blastoff inspect [--json] --pid PID",
        description="Shows how a program gets its BLAS, which routines it has, which interceptor reaches each of them, and why some "
        "are not reached. The program or process is neither run nor changed; the BLAS libraries of a program are asked for their "
        "kernels in a process of their own. PROGRAM may be a script, a name on PATH, or the file "
        "of a library. Its arguments are ignored.",
        epilog="Exit status: 0 if BLAS was found that can be intercepted, 1 if not, 2 if there is nothing to inspect.",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON (share/inspect.schema.json)")
    parser.add_argument("--pid", type=process_id, metavar="PID", help="inspect a running process, read only")
    parser.add_argument("command", metavar="PROGRAM", nargs=argparse.REMAINDER, help="inspect a program before it runs")
    parsed = parser.parse_args(arguments)
    command = parsed.command[1:] if parsed.command[:1] == ["--"] else parsed.command
    if bool(command) == (parsed.pid is not None):
        raise CommandError("inspect: give either a program or --pid PID; blastoff inspect --help explains both")
    return show(command[0] if command else None, parsed.pid, as_json=parsed.json)


def show(program: str | None, pid: int | None, as_json: bool) -> int:
    """Prints what was found; returns the exit status."""
    try:
        found = inspection.inspect_process(pid) if pid is not None else inspection.inspect_program(program)
    except CommandError as error:
        raise CommandError(str(error), USAGE) from error  # no program was to be started, so the shell's exit statuses do not apply
    found["verdict"] = inspection.verdict(found)
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        from blastoff.inspect import view

        view.print_document(printable.values(found))
    return inspection.exit_status(found)

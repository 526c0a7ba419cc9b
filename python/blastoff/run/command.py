"""`blastoff run`, which the launcher does, and what it says when the program has ended."""

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from blastoff import columns, library, printable
from blastoff.errors import CommandError
from blastoff.job import runs

if TYPE_CHECKING:
    from blastoff.run import nodes

STDOUT = "/dev/stdout"
STDERR = 2
"""Its file descriptor."""


def run(arguments: Sequence[str]) -> int:
    """Prints the help, or becomes the launcher."""
    from blastoff import launcher, options
    from blastoff.run import arguments as command_line

    if list(arguments) != ["--help"]:
        launcher.execute(["run", *arguments])
    try:
        parser = command_line.parser(options.read_table(library.find_library()))
    except CommandError as error:
        parser = command_line.parser([])
        parser.epilog = f"The options are those of the library: {error}. docs/settings.md lists them, too."
    parser.print_help()
    return 0


def say(text: str) -> None:
    """Prints on stderr. Does nothing if stderr is closed or cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        if sys.__stderr__ is not None:
            os.write(sys.__stderr__.fileno(), printable.lines(text).encode(sys.__stderr__.encoding, errors=printable.PLAIN_ERRORS))


def report(
    directory: Path, known: dict[int, str], command: Sequence[str], environment: Mapping[str, str], meeting: "nodes.Meeting | nodes.Apart"
) -> None:
    """Reports all processes of a run whose last launcher this is. `known`: how processes have ended, by process id."""
    from blastoff.job import folding, reading
    from blastoff.run import keeping, view

    processes = list(reading.read_run(directory, known))
    if (runs.bulk(directory) / runs.ENERGY).exists():
        from blastoff.job import metering

        metering.attach(metering.collect(directory), processes, environment.get("BLASTOFF_REPORT", ""))
    write = keeping.writer(environment)
    folded = len(folding.read(directory))  # their reports have been written
    for one in processes[folded:] if write is not None else []:
        if one.worked and one.ended != "exit":
            write(one)
    gathered = meeting.gather(processes)
    if gathered is not None:
        words = view.words(gathered.processes, command, environment.get("BLASTOFF_SUMMARY") or "auto", columns.terminal_width(STDERR))
        say(words + (f"blastoff: {gathered.remark}\n" if words and gathered.remark else ""))
    if environment.get("BLASTOFF_MEMORY"):
        report_memory(directory, environment)


def report_memory(directory: Path, environment: Mapping[str, str]) -> None:
    """Writes the time line of the memory beside the reports, and says what it shows."""
    from blastoff.sampling import results
    from blastoff.sampling.view import words

    document = results.collect(directory)
    if document is None:
        return
    pattern = environment.get("BLASTOFF_REPORT", "")
    if pattern not in ("", STDOUT) and (Path(pattern).is_file() or not Path(pattern).exists()):
        library.write_report(library.find_library(), results.beside(pattern), document)
    if environment.get("BLASTOFF_SUMMARY") != "never":
        say(words.summary(document, columns.terminal_width(STDERR)))

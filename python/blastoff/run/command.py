"""`blastoff run`: checks everything first, then becomes the program."""

import errno
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from blastoff import executable, library, options
from blastoff.errors import CANNOT_EXECUTE, NOT_FOUND, CommandError
from blastoff.run import arguments as command_line
from blastoff.run.environment import program_environment


def preloadable_library() -> Path:
    """The library's path. It is refused if it contains a space or a colon, which separate the entries of LD_PRELOAD."""
    path = library.find_library()
    if any(separator in str(path) for separator in " :\t\n"):
        raise CommandError(f"{path}: a path in LD_PRELOAD cannot contain a space or a colon; set BLASTOFF_LIBRARY to another copy")
    return path


def become(program: Path, command: Sequence[str], environment: dict[str, str]) -> NoReturn:
    """Replaces this process by the program."""
    # Python ignores these two signals, and the program would inherit that.
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execve(program, list(command), environment)
    except OSError as error:
        status = NOT_FOUND if error.errno == errno.ENOENT else CANNOT_EXECUTE
        missing = " (its interpreter is missing)" if error.errno == errno.ENOENT else ""
        raise CommandError(f"{program}: {error.strerror}{missing}", status) from error


def run(arguments: Sequence[str]) -> NoReturn:
    """`blastoff run ARGUMENTS`; returns only by an exception."""
    path = preloadable_library()
    table = options.read_table(path)
    given, command = command_line.parse(arguments, table)
    options.check_environment([option for option in table if option.name not in given], os.environ)
    program = executable.find_program(command[0])
    executable.check_preloadable(program)
    become(program, command, program_environment(table, given, path))

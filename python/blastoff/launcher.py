"""The program `blastoff` (src/launcher), which does `blastoff run`, and which the other commands ask about programs and settings."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from blastoff import library
from blastoff.errors import CommandError

NAME = "blastoff"


def find() -> Path:
    """The program that belongs to this package, or else to the library."""
    wheel, checkout = library.PACKAGE / "lib", library.PACKAGE.parent.parent / "build" / "bin"
    prefixes = list(library.PACKAGE.parents)[3:6]  # of lib/blastoff/python/blastoff; lib may be Debian's lib/x86_64-linux-gnu
    beside = library.find_library().parent
    folders = [wheel, checkout, *(prefix / "bin" for prefix in prefixes), beside / "bin", beside]
    for path in [folder / NAME for folder in folders]:
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise CommandError(f"the program {NAME} of this installation was not found at {folders[0] / NAME} or {folders[1] / NAME}")


def undo_locale_coercion() -> None:
    """Removes the LC_CTYPE that Python itself sets in the C locale (PEP 538), since the program must not inherit it."""
    try:
        at_start = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return
    if not any(entry.startswith(b"LC_CTYPE=") for entry in at_start):
        os.environ.pop("LC_CTYPE", None)


def execute(arguments: Sequence[str]) -> NoReturn:
    """Replaces this process by the launcher, which uses the same Python and this package."""
    program = find()
    undo_locale_coercion()
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python; the program would inherit that they are ignored
        signal.signal(ignored, signal.SIG_DFL)
    os.execv(program, [NAME, "--python", sys.executable, str(library.PACKAGE.parent), *arguments])


def ask(*arguments: str) -> list[str]:
    """The texts that the launcher prints; what it says on stderr is passed on. Raises CommandError with its message if it refuses."""
    done = subprocess.run([find(), *arguments], stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        raise CommandError(os.fsdecode(done.stderr).strip().removeprefix("blastoff: "), done.returncode)
    sys.stderr.write(os.fsdecode(done.stderr))
    return os.fsdecode(done.stdout).split("\0")[:-1]

"""Files that commands read and write: in UTF-8, whatever the locale."""

import errno
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any, NoReturn, TextIO

from blastoff.errors import CommandError
from blastoff.printable import printable

STDOUT = "-"
"""The name that stands for standard output."""


def user_cache() -> Path | None:
    """The folder of what Blastoff keeps for a user, as the library finds it (src/runtime/user_cache.h); None if no variable names one."""
    cache, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    if cache.startswith("/"):
        return Path(cache) / "blastoff"
    return Path(home) / ".cache" / "blastoff" if home.startswith("/") else None


def opened(path: str | Path) -> TextIO:
    """A file to read. OSError if it cannot be read. A device is refused: /dev/zero has no end."""
    try:
        kind = os.stat(path).st_mode
    except UnicodeEncodeError as error:
        raise OSError(errno.EILSEQ, "its name does not fit the encoding of the locale", str(path)) from error
    if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
        raise OSError(errno.EINVAL, "is a device, not a file", str(path))
    return Path(path).open(encoding="utf-8")


def read(path: str | Path) -> str:
    """The text of a file. OSError if it cannot be read, ValueError if it is not UTF-8."""
    with opened(path) as file:
        try:
            return file.read()
        except MemoryError as error:
            raise OSError(errno.ENOMEM, "too large for the memory of this machine", str(path)) from error


def _no_number(name: str) -> NoReturn:
    """Python reads NaN and Infinity as numbers, which JSON does not have."""
    raise ValueError(f"{name} is no number")


def parsed(text: str) -> Any:
    """What a JSON text says. ValueError if it is not JSON."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError("too many brackets in each other") from error


REPORT, TIME_LINE, TRACE, MODEL = '"interception"', '"mean_interval_seconds"', '"blastoff_trace"', '"blastoff_machine"'
"""Keys that only files of one kind have."""
KINDS = {
    REPORT: "a report, which blastoff report reads",
    TIME_LINE: "a time line of memory, which blastoff memory reads",
    TRACE: "a trace, which blastoff predict reads",
    MODEL: "a machine model, which blastoff predict --machine takes",
}


def other_kind(text: str, wanted: str) -> str:
    """What a file of another kind than the wanted one is; "" if it is nothing of Blastoff's."""
    if not text.strip():
        return "it is empty"
    return next((f"it is {told}" for key, told in KINDS.items() if key != wanted and key in text), "")


def write(path: str, text: str) -> None:
    """Writes to the file at `path`, or to standard output, and says so."""
    if path == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode(errors="replace"))
        return
    try:
        Path(path).write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
    print(f"blastoff: wrote {printable(path)}", file=sys.stderr)

"""Text that commands write to files: in UTF-8, whatever the locale."""

import sys
from pathlib import Path

from blastoff.errors import CommandError

STDOUT = "-"
"""The name that stands for standard output."""


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
    print(f"blastoff: wrote {path}", file=sys.stderr)

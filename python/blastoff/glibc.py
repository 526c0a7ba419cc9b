"""The C library that this process runs on, which is almost always the program's, too."""

import os

HUGE_PAGES_SINCE = (2, 35)
"""Version whose malloc can ask for huge pages."""


def version() -> tuple[int, ...]:
    """The C library's version; (0,) if unknown."""
    try:
        return tuple(int(part) for part in (os.confstr("CS_GNU_LIBC_VERSION") or "").split()[1].split("."))
    except (ValueError, OSError, IndexError):
        return (0,)

"""The C library that this process runs on, which is the program's in all but exotic cases."""

import os

HUGE_PAGES_SINCE = (2, 35)
"""Version whose malloc can ask for huge pages."""


def version() -> tuple[int, ...]:
    """Its version; (0,) where unknown."""
    try:
        return tuple(int(part) for part in (os.confstr("CS_GNU_LIBC_VERSION") or "").split()[1].split("."))
    except (ValueError, OSError, IndexError):
        return (0,)

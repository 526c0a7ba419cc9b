"""The C library that this process runs on, which is almost always the program's, too."""

import os
from collections.abc import MutableMapping

HUGE_PAGES = "glibc.malloc.hugetlb"
HUGE_PAGES_SINCE = (2, 35)
"""First version whose malloc can ask for huge pages."""

SUPPORTED_SINCE = (2, 28)
"""First version with which the library works (src/entrance/slots.cpp). With an older one, or with another C library, it does nothing."""
SUPPORTED = "glibc " + ".".join(map(str, SUPPORTED_SINCE)) + " or newer"


def version() -> tuple[int, ...]:
    """The C library's version; (0,) if unknown."""
    try:
        return tuple(int(part) for part in (os.confstr("CS_GNU_LIBC_VERSION") or "").split()[1].split("."))
    except (ValueError, OSError, IndexError):
        return (0,)


def ask_for_huge_pages(environment: MutableMapping[str, str]) -> None:
    """Adds the tunable that makes malloc ask for huge pages, unless the user has set it."""
    tunables = environment.get("GLIBC_TUNABLES", "")
    if HUGE_PAGES not in tunables and version() >= HUGE_PAGES_SINCE:
        environment["GLIBC_TUNABLES"] = f"{tunables}:{HUGE_PAGES}=1".lstrip(":")

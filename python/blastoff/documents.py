"""Where the pages of the documentation are, for messages that name one."""

from blastoff import library

PREFIXES = list(library.PACKAGE.parents)[3:6]
FOLDERS = [library.PACKAGE / "docs", *(prefix / "share" / "doc" / "blastoff" for prefix in PREFIXES)]
"""In the wheel, and below the prefix of lib/blastoff/python/blastoff; lib may be Debian's lib/x86_64-linux-gnu."""


def page(name: str) -> str:
    """The path of a page that is installed; in a checkout, its path there."""
    return next((str(folder / name) for folder in FOLDERS if (folder / name).is_file()), f"docs/{name}")

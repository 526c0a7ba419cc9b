"""Finding libblastoff.so, and what it says about itself."""

import ctypes
import os
from pathlib import Path

from blastoff.errors import CommandError

PACKAGE = Path(__file__).resolve().parent


def candidates() -> list[Path]:
    """Where the library may be, in the order in which it is looked for."""
    chosen = os.environ.get("BLASTOFF_LIBRARY")
    if chosen:
        return [Path(chosen).absolute()]
    return [PACKAGE / "lib" / "libblastoff.so", PACKAGE.parent.parent / "build" / "libblastoff.so"]


def find_library() -> Path:
    """The library's absolute path."""
    for path in candidates():
        if path.is_file():
            return path
    looked = " or ".join(str(path) for path in candidates())
    raise CommandError(f"libblastoff.so was not found at {looked}; set BLASTOFF_LIBRARY to its path")


def ask(path: Path, function: str, *arguments: ctypes._SimpleCData) -> str:
    """Text that one of the library's C functions returns for C arguments (include/blastoff.h).

    The library is loaded without RTLD_GLOBAL, since its BLAS names would otherwise take the place of other libraries' names.
    """
    try:
        library = ctypes.CDLL(str(path), mode=os.RTLD_LOCAL | os.RTLD_NOW)
        call = getattr(library, function)
    except (OSError, AttributeError) as error:
        raise CommandError(f"{path} cannot be used: {error}") from error
    call.restype = ctypes.c_char_p
    text = call(*arguments)
    if text is None:
        raise CommandError(f"{path}: {function} failed: out of memory")
    return text.decode()


def allocator_beside(path: Path) -> Path:
    """The allocation interposer that belongs to the library at `path`."""
    return path.with_name("libblastoff-allocator.so")


def hears_of_memory(path: Path) -> bool:
    """Whether the kernel reports to the library which memory is freed; otherwise the interposer must."""
    try:
        hears = ctypes.CDLL(str(path), mode=os.RTLD_LOCAL | os.RTLD_NOW).blastoff_hears_of_memory
    except (OSError, AttributeError):
        return True
    return hears() != 0


def version() -> str:
    """The library's version, which is also the version of Blastoff."""
    return ask(find_library(), "blastoff_version")

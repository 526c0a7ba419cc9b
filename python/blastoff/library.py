"""Finding libblastoff.so, and what it says about itself."""

import ctypes
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from blastoff import glibc
from blastoff.errors import CommandError

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parent.parent
"""The checkout, if the package is in one."""


def candidates() -> list[Path]:
    """Where the library may be, in the order in which it is looked for."""
    chosen = os.environ.get("BLASTOFF_LIBRARY")
    if chosen:
        return [Path(chosen).absolute()]
    wheel, checkout = PACKAGE / "lib", CHECKOUT / "build"
    installed = PACKAGE.parent.parent.parent  # of lib/blastoff/python/blastoff (cmake/site.cmake)
    return [folder / "libblastoff.so" for folder in (wheel, checkout, installed)]


def find_library() -> Path:
    """The library's absolute path."""
    for path in candidates():
        if path.is_file():
            return path
    if not os.environ.get("BLASTOFF_LIBRARY") and (CHECKOUT / "CMakeLists.txt").is_file():
        raise CommandError(f"libblastoff.so is not built yet: make build, in {CHECKOUT}, builds it")
    looked = " or ".join(str(path) for path in candidates())
    raise CommandError(f"libblastoff.so was not found at {looked}; set BLASTOFF_LIBRARY to its path")


def loaded(path: Path, function: str) -> tuple[ctypes.CDLL, Any]:
    """The library, and one of its C functions."""
    try:
        library = ctypes.CDLL(str(path), mode=os.RTLD_LOCAL | os.RTLD_NOW)
        return library, getattr(library, function)
    except (OSError, AttributeError) as error:
        raise CommandError(f"{path} cannot be used: {error}") from error


def ask(path: Path, function: str, *arguments: ctypes._SimpleCData) -> str:
    """Text that one of the library's C functions returns for C arguments (include/blastoff.h).

    The library is loaded without RTLD_GLOBAL, since its BLAS names would otherwise take the place of other libraries' names.
    """
    library, call = loaded(path, function)
    call.restype = ctypes.c_char_p
    text = call(*arguments)
    if text is None and does_nothing(library):
        raise CommandError(f"{path} does nothing with this system's C library: it needs {glibc.SUPPORTED}")
    if text is None:
        raise CommandError(f"{path}: {function} failed: out of memory")
    return text.decode()


def does_nothing(library: ctypes.CDLL) -> bool:
    """Whether the library cannot work on this C library. All its functions return 0 then."""
    library.blastoff_version.restype = ctypes.c_char_p
    return library.blastoff_version() is None


def counters(path: Path, file: Path) -> dict[str, Any] | None:
    """A report made from a process's counter file as it is now; None if another version of the library wrote the file."""
    _, function = loaded(path, "blastoff_counters_json")
    function.restype = ctypes.c_void_p
    text = function(ctypes.c_char_p(os.fsencode(file)))
    if text is None:
        return None
    try:
        return json.loads(ctypes.string_at(text))
    finally:
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        free(text)


def remove_counters(path: Path, file: Path) -> None:
    """Removes the files of a process that has ended."""
    loaded(path, "blastoff_remove_counters")[1](ctypes.c_char_p(os.fsencode(file)))


def global_rank(path: Path) -> int:
    """The MPI rank that the environment gives this process; -1 if it gives none."""
    return loaded(path, "blastoff_global_rank")[1]()


def local_size(path: Path) -> int:
    """How many processes of the MPI job run on this host; 1 if the environment does not tell."""
    return loaded(path, "blastoff_local_size")[1]()


def write_report(path: Path, pattern: str, report: dict[str, Any], of_child: bool = False) -> bool:
    """Writes the report of a process that has not written it itself. Returns False, after a line on stderr, if that fails. Bytes of names that are
    not UTF-8 become U+FFFD, as in all reports. `of_child`: the file's name contains the process id."""
    _, write = loaded(path, "blastoff_write_report")
    text = json.dumps(report, indent=2, ensure_ascii=False).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return write(os.fsencode(pattern), text.encode() + b"\n", int(of_child)) == 0


def allocator_beside(path: Path) -> Path:
    """The allocation interposer that belongs to the library at `path`."""
    return path.with_name("libblastoff-allocator.so")


def version() -> str:
    """The library's version, which is also the version of Blastoff."""
    return ask(find_library(), "blastoff_version")


UNKNOWN_BUILD = "unknown"


def build(path: Path) -> str:
    """Which state of the sources the library at `path` was built from (tools/build-id)."""
    try:
        library = ctypes.CDLL(str(path), mode=os.RTLD_LOCAL | os.RTLD_NOW)
        return ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, "blastoff_build_id"))).decode()
    except (OSError, ValueError):
        return UNKNOWN_BUILD


def build_of_package() -> str:
    """The same of this package's files: what was written beside them when they were installed, or the state of the checkout."""
    asked = CHECKOUT / "tools" / "build-id"
    try:
        return (PACKAGE / "build-id.txt").read_text(encoding="utf-8").strip()
    except OSError:
        pass
    try:
        return subprocess.run([asked], check=True, capture_output=True, encoding="utf-8", timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return UNKNOWN_BUILD


def version_of_package() -> str:
    """The version where there is no library yet, as in a checkout before the build; "" if nothing tells it."""
    project = CHECKOUT / "CMakeLists.txt"
    try:
        told = re.search(r"project\(blastoff VERSION ([0-9.]+)", project.read_text(encoding="utf-8"))
    except OSError:
        return ""
    return told[1] if told else ""

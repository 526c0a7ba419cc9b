"""The environment that a program starts with: settings, preloaded libraries, huge pages."""

import os
import time
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path

from blastoff import glibc, library
from blastoff.errors import CommandError
from blastoff.options import Option

NODES = Path("/sys/devices/system/node")


def node_numbers(name: str) -> set[int]:
    """The NUMA nodes in a list as sysfs writes it ("0-1,8")."""
    try:
        ranges = [part.split("-") for part in (NODES / name).read_text().strip().split(",") if part]
    except OSError:
        return set()
    return {number for ends in ranges for number in range(int(ends[0]), int(ends[-1]) + 1)}


def has_device_node(settings: Mapping[str, str]) -> bool:
    """Whether a device's memory is a NUMA node on this machine, as far as can be known without the driver."""
    chosen = settings.get("BLASTOFF_DEVICE_NODE", "")
    return (chosen not in ("", "-1")) or bool(node_numbers("has_memory") - node_numbers("has_cpu"))


def needs_allocator(settings: Mapping[str, str], library_path: Path) -> bool:
    """Whether the program's malloc must be interposed to place or align memory."""
    place = settings.get("BLASTOFF_PLACE", "")
    placing = place.startswith("at-malloc") or (place == "auto" and has_device_node(settings))
    if not placing and not settings.get("BLASTOFF_ALIGN"):
        return False
    allocator = library.allocator_beside(library_path)
    if not allocator.is_file():
        raise CommandError(f"{allocator} is missing: --place at-malloc and --align need it")
    return True


def helped_by_allocator(settings: Mapping[str, str], library_path: Path) -> bool:
    """Whether the allocator library must report which memory is freed, because the kernel does not."""
    if settings.get("BLASTOFF_POLICY") == "copy" or not library.allocator_beside(library_path).is_file():
        return False
    return not library.hears_of_memory(library_path)


def preloads(settings: Mapping[str, str], library_path: Path) -> list[str]:
    """The entries of LD_PRELOAD: our libraries, then the entries that it had before."""
    ours = [str(library_path)]
    if needs_allocator(settings, library_path) or helped_by_allocator(settings, library_path):
        ours.append(str(library.allocator_beside(library_path)))
    return [*ours, *filter(None, [settings.get("LD_PRELOAD")])]


def undo_locale_coercion(environment: MutableMapping[str, str]) -> None:
    """Removes the LC_CTYPE that Python itself sets in the C locale (PEP 538), since the program must not inherit it."""
    try:
        at_start = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return
    if not any(entry.startswith(b"LC_CTYPE=") for entry in at_start):
        environment.pop("LC_CTYPE", None)


def trace_pattern(path: str) -> str:
    """The pattern of the traces' paths. If `path` is a directory, each process writes a file there. The directory is made if it does not exist,
    and must be writable."""
    given = Path(path).expanduser().absolute()
    if path.endswith("/") or given.is_dir():
        given = given / "%h-%p.trace"
    try:
        given.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"no trace can be written to {path}: {error.strerror}") from error
    if not os.access(given.parent, os.W_OK | os.X_OK):
        raise CommandError(f"no trace can be written to {path}: {given.parent} is not writable")
    return str(given)


def absolute(option: Option, path: str, library_path: Path) -> str:
    """The path made absolute, since the program may change its directory. Raises CommandError if no report or trace can be written there."""
    if option.name == "trace":
        return trace_pattern(path)
    if option.name != "report":
        return str(Path(path).absolute())
    pattern, obstacle = library.report_path(library_path, path)
    if obstacle:
        raise CommandError(f"no report can be written to {path}: {obstacle}")
    return str(Path(pattern).absolute())


def program_environment(table: Sequence[Option], given: dict[str, str], library_path: Path) -> dict[str, str]:
    """The environment that the program starts with."""
    environment = dict(os.environ)
    undo_locale_coercion(environment)
    for option in table:
        if option.name in given:
            environment[option.environment] = given[option.name]
        value = environment.get(option.environment, "")
        if option.is_path and value and not (value == "none" and "none" in option.values.split()):
            environment[option.environment] = absolute(option, value, library_path)
    file = environment.get("BLASTOFF_LOG", "").partition("=")[2]
    if file:
        environment["BLASTOFF_LOG"] = f"calls={file if file == '-' else Path(file).expanduser().absolute()}"
    if environment.get("BLASTOFF_PLACE") != "none":
        glibc.ask_for_huge_pages(environment)
    environment["LD_PRELOAD"] = ":".join(preloads(environment, library_path))
    environment["BLASTOFF_RUN"] = f"{os.uname().nodename}:{os.getpid()}:{time.time_ns()}"
    return environment

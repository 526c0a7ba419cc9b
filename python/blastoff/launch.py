"""`blastoff run`: checks everything first, then becomes the program."""

import argparse
import difflib
import errno
import os
import platform
import signal
import time
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import NoReturn

from blastoff import executable, library, options
from blastoff.errors import CANNOT_EXECUTE, NOT_FOUND, CommandError
from blastoff.options import Option

NODES = Path("/sys/devices/system/node")
HUGE_PAGES = "glibc.malloc.hugetlb"
HUGE_PAGES_SINCE = (2, 35)
PATHS = ("report", "cuda-path")
"""Options that name files: made absolute, since the program may change its directory."""


class Parser(argparse.ArgumentParser):
    """Reports a wrong command line in one line, as everything else is reported."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"run: {message}")


def parser(table: Sequence[Option]) -> Parser:
    """The options of `blastoff run`, out of the option table."""
    result = Parser(
        prog="blastoff run",
        usage="blastoff run [options] [--] PROGRAM [ARGUMENT...]",
        description="Runs PROGRAM with its BLAS calls offloaded. Its exit status, output and signals are its own. Each option can "
        "also be given as the environment variable named with it.",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result._optionals.title = "options"
    tests = result.add_argument_group("options for tests")
    for option in table:
        if not option.on_command_line:
            continue
        group = result if option.audience == "user" else tests
        default = f"Default: {option.default}. " if option.default else ""
        group.add_argument(
            option.flag,
            metavar=metavar(option),
            help=f"{option.help} {default}({option.environment})".replace("%", "%%"),
        )
    return result


def metavar(option: Option) -> str:
    """What stands for the value in the help."""
    if option.choices:
        return "|".join(option.choices)
    by_name = {"device": "cuda[:N]|simulated|none", "place": "auto|huge-pages|at-malloc[=SIZE]|none"}
    if option.name in by_name:
        return by_name[option.name]
    return {"integer": "N", "memory": "SIZE"}.get(option.kind, "PATH" if option.name in PATHS else "TEXT")


def split(arguments: Sequence[str], table: Sequence[Option]) -> tuple[list[str], list[str]]:
    """Options, each with its value as --name=value, and the program with its own arguments.

    The program is the first word that is neither an option nor the value of one. An option that may stand without a value
    takes one only after "=", so that `--verify ./a.out` runs ./a.out.
    """
    bare = {option.flag: option.bare for option in table if option.bare is not None}
    valued = {option.flag for option in table if option.bare is None}
    ours: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        if word in bare:
            word = f"{word}={bare[word]}"
        elif word in valued and rest and not rest[0].startswith("--"):
            word = f"{word}={rest.pop(0)}"
        ours.append(word)
    return ours, rest


def parse(arguments: Sequence[str], table: Sequence[Option]) -> tuple[dict[str, str], list[str]]:
    """The options given, by name and checked, and the program with its arguments."""
    ours, command = split(arguments, table)
    parsed, unknown = parser(table).parse_known_args(ours)
    if unknown:
        flags = [option.flag for option in table if option.on_command_line]
        near = difflib.get_close_matches(unknown[0].split("=")[0], flags, n=1)
        hint = f"; did you mean {near[0]}?" if near else "; blastoff run --help lists all"
        raise CommandError(f"run: {unknown[0]} is no option{hint}")
    given = {}
    for option in table:
        value = getattr(parsed, option.name.replace("-", "_"), None)
        if value is not None:
            options.check(option, value, option.flag)
            given[option.name] = value
    if not command:
        raise CommandError("run: no program was given; blastoff run [options] [--] PROGRAM [ARGUMENT...]")
    return given, command


def glibc_version() -> tuple[int, ...]:
    """Of the C library that this process runs on, which is the program's in all but exotic cases; (0,) where unknown."""
    try:
        return tuple(int(part) for part in (os.confstr("CS_GNU_LIBC_VERSION") or "").split()[1].split("."))
    except (ValueError, OSError, IndexError):
        return (0,)


def ask_for_huge_pages(environment: MutableMapping[str, str]) -> None:
    """Adds the tunable that makes malloc ask for huge pages, unless the user has set it."""
    tunables = environment.get("GLIBC_TUNABLES", "")
    if HUGE_PAGES not in tunables and glibc_version() >= HUGE_PAGES_SINCE:
        environment["GLIBC_TUNABLES"] = f"{tunables}:{HUGE_PAGES}=1".lstrip(":")


def node_numbers(name: str) -> set[int]:
    """The NUMA nodes of one of sysfs's lists ("0-1,8")."""
    try:
        ranges = [part.split("-") for part in (NODES / name).read_text().strip().split(",") if part]
    except OSError:
        return set()
    return {number for ends in ranges for number in range(int(ends[0]), int(ends[-1]) + 1)}


def has_device_node(settings: Mapping[str, str]) -> bool:
    """Whether a device's memory is a NUMA node here, as far as one can tell without the driver."""
    chosen = settings.get("BLASTOFF_DEVICE_NODE", "")
    return (chosen not in ("", "-1")) or bool(node_numbers("has_memory") - node_numbers("has_cpu"))


def needs_allocator(settings: Mapping[str, str], library_path: Path) -> bool:
    """Whether the program's malloc is to be interposed: to place or to align memory."""
    place = settings.get("BLASTOFF_PLACE", "")
    placing = place.startswith("at-malloc") or (place == "auto" and has_device_node(settings))
    if not placing and not settings.get("BLASTOFF_ALIGN"):
        return False
    allocator = library.allocator_beside(library_path)
    if not allocator.is_file():
        raise CommandError(f"{allocator} is missing: --place at-malloc and --align need it")
    return True


def helped_by_allocator(settings: Mapping[str, str], library_path: Path) -> bool:
    """Whether libblastoff.so must be told which memory goes away, since the kernel does not tell it."""
    if settings.get("BLASTOFF_POLICY") == "copy" or not library.allocator_beside(library_path).is_file():
        return False
    return not library.hears_of_memory(library_path)


def preloads(settings: Mapping[str, str], library_path: Path) -> list[str]:
    """What LD_PRELOAD names: our libraries, then what it named before."""
    ours = [str(library_path)]
    if needs_allocator(settings, library_path) or helped_by_allocator(settings, library_path):
        ours.append(str(library.allocator_beside(library_path)))
    return [*ours, *filter(None, [settings.get("LD_PRELOAD")])]


def undo_locale_coercion(environment: MutableMapping[str, str]) -> None:
    """Takes away the LC_CTYPE that Python itself sets in the C locale (PEP 538): the program must not inherit it."""
    try:
        at_start = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return
    if not any(entry.startswith(b"LC_CTYPE=") for entry in at_start):
        environment.pop("LC_CTYPE", None)


def program_environment(table: Sequence[Option], given: dict[str, str], library_path: Path) -> dict[str, str]:
    """The environment that the program starts with."""
    environment = dict(os.environ)
    undo_locale_coercion(environment)
    for option in table:
        if option.name in given:
            environment[option.environment] = given[option.name]
        if option.name in PATHS and environment.get(option.environment):
            environment[option.environment] = str(Path(environment[option.environment]).absolute())
    if environment.get("BLASTOFF_PLACE") != "none":
        ask_for_huge_pages(environment)
    environment["LD_PRELOAD"] = ":".join(preloads(environment, library_path))
    environment["BLASTOFF_RUN"] = f"{platform.node()}:{os.getpid()}:{time.time_ns()}"
    return environment


def preloadable_library() -> Path:
    """The library's path, refused where LD_PRELOAD, which separates by spaces and colons, would cut it in pieces."""
    path = library.find_library()
    if any(separator in str(path) for separator in " :\t\n"):
        raise CommandError(f"{path}: LD_PRELOAD cannot hold a path with a space or a colon; BLASTOFF_LIBRARY can name another")
    return path


def become(program: Path, command: Sequence[str], environment: dict[str, str]) -> NoReturn:
    """Replaces this process by the program."""
    # Python ignores these two for itself, and what is ignored stays so in the program.
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execve(program, list(command), environment)
    except OSError as error:
        status = NOT_FOUND if error.errno == errno.ENOENT else CANNOT_EXECUTE
        missing = " (its interpreter is missing)" if error.errno == errno.ENOENT else ""
        raise CommandError(f"{program}: {error.strerror}{missing}", status) from error


def run(arguments: Sequence[str]) -> NoReturn:
    """`blastoff run ARGUMENTS`; returns only by an exception."""
    path = preloadable_library()
    table = options.read_table(path)
    given, command = parse(arguments, table)
    options.check_environment([option for option in table if option.name not in given], os.environ)
    program = executable.find_program(command[0])
    executable.check_preloadable(program)
    become(program, command, program_environment(table, given, path))

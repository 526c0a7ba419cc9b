"""What a running process has loaded, read from /proc without disturbing the process."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from blastoff import elf
from blastoff.errors import CommandError

MAPPING = re.compile(r"([0-9a-f]+)-[0-9a-f]+ (\S{4}) ([0-9a-f]+) \S+ \d+ +(/.*)$")
DELETED = " (deleted)"
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class LoadedFile:
    """A program or library in a process's memory."""

    path: str
    """The file's path as the process sees it."""
    file: Path
    """The path at which we can read the file."""
    bias: int
    """Address in memory minus address at link time."""


@dataclass(frozen=True)
class Mapping:
    """A line of /proc/PID/maps with a file."""

    start: int
    executable: bool
    offset: int
    path: str


def not_permitted(pid: int) -> CommandError:
    return CommandError(f"process {pid}: permission denied; only its owner and root can read it")


def read_mappings(pid: int) -> list[Mapping]:
    try:
        text = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="surrogateescape")
    except (FileNotFoundError, ProcessLookupError) as error:
        raise CommandError(f"process {pid} does not exist") from error
    except PermissionError as error:
        raise not_permitted(pid) from error
    found = (MAPPING.match(line) for line in text.splitlines())
    return [Mapping(int(row[1], 16), "x" in row[2], int(row[3], 16), row[4]) for row in found if row]


def program_of(pid: int) -> str:
    """The path of the process's executable, as the process itself sees it."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except PermissionError as error:
        raise not_permitted(pid) from error
    except OSError as error:
        raise CommandError(f"process {pid}: it has no program file, or has ended") from error


def readable_file(pid: int, path: str, program: str) -> Path:
    """The file behind a mapping; a program that was deleted can still be read."""
    if path == program:
        return Path(f"/proc/{pid}/exe")
    inside = Path(f"/proc/{pid}/root{path}")
    # For another mount namespace, the kernel gives paths relative to that namespace's root; for a mere chroot, relative to our root.
    return inside if inside.exists() else Path(path)


def instances(mappings: list[Mapping], first_offset: int) -> list[int]:
    """The addresses at which a file is loaded, one for each linker namespace. A file that is mapped without executable pages is only read, not
    loaded."""
    starts: list[int] = []
    begun = None
    for mapping in mappings:
        if mapping.offset == first_offset:
            begun = mapping.start
        if mapping.executable and begun is not None:
            starts.append(begun)
            begun = None
    return starts


def loaded_files(pid: int) -> tuple[list[LoadedFile], list[str]]:
    """The program and then the libraries of a process; and the paths of loaded files that no longer exist."""
    program = program_of(pid)
    by_path: dict[str, list[Mapping]] = {}
    for mapping in read_mappings(pid):
        by_path.setdefault(mapping.path, []).append(mapping)
    loaded: list[LoadedFile] = []
    gone: list[str] = []
    for path, mappings in sorted(by_path.items(), key=lambda item: item[0] != program):
        if path.startswith("/memfd:") or not any(mapping.executable for mapping in mappings):
            continue
        file = readable_file(pid, path, program)
        try:
            if not elf.is_elf(file):
                continue
            headers = elf.read(file)
        except OSError:
            gone.append(path.removesuffix(DELETED))
            continue
        page = headers.first_address // PAGE * PAGE
        starts = instances(mappings, headers.first_offset // PAGE * PAGE)
        loaded += [LoadedFile(path, file, start - page) for start in starts]
    return loaded, gone


def open_memory(pid: int) -> int | None:
    """A file descriptor of the process's memory; None if it may not be read (this needs more permission than reading the process's maps)."""
    try:
        return os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def command_line(pid: int) -> list[str]:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return []
    return [os.fsdecode(word) for word in words]

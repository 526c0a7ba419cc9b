"""Can this program be run with a preloaded library? Found out before it starts, where it can still be said."""

import errno
import os
import platform
import shutil
import stat
import struct
from pathlib import Path
from typing import BinaryIO

from blastoff.errors import CANNOT_EXECUTE, NOT_FOUND, CommandError

PT_INTERP = 3
"""Type of the program header that names the dynamic linker (elf.h)."""

MACHINES = {"x86_64": 62, "aarch64": 183}
"""EM_X86_64 and EM_AARCH64 (elf.h)."""


def find_program(name: str) -> Path:
    """The file that would be executed, looked up in PATH as the shell does."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    path = Path(name)
    if "/" not in name or not path.exists():
        raise CommandError(f"{name}: no such program", NOT_FOUND)
    what = "is a directory" if path.is_dir() else "is not executable"
    raise CommandError(f"{name}: {what}", CANNOT_EXECUTE)


def check_preloadable(program: Path) -> None:
    """Raises where the dynamic linker would not preload into this program. Scripts pass: what they start inherits."""
    _check_privileges(program)
    try:
        with program.open("rb") as file:
            if file.read(4) == b"\x7fELF":
                file.seek(0)
                _check_elf(program, file)
    except PermissionError:
        return  # it may be executable without being readable; then nothing can be said about it


def _check_privileges(program: Path) -> None:
    """The dynamic linker ignores LD_PRELOAD where a program gains privileges by being executed."""
    status = program.stat()
    if os.statvfs(program).f_flag & os.ST_NOSUID:
        return
    gains_user = bool(status.st_mode & stat.S_ISUID) and status.st_uid != os.geteuid()
    gains_group = bool(status.st_mode & stat.S_ISGID) and status.st_gid != os.getegid()
    if gains_user or gains_group:
        kind = "setuid" if gains_user else "setgid"
        raise CommandError(f"{program}: a {kind} program, into which the system preloads nothing")
    if os.geteuid() != 0 and _has_capabilities(program):
        raise CommandError(f"{program}: has file capabilities, so that the system preloads nothing into it")


def _has_capabilities(program: Path) -> bool:
    try:
        return bool(os.getxattr(program, "security.capability"))
    except OSError:
        return False


def _check_elf(program: Path, file: BinaryIO) -> None:
    """Reads the few fields that matter (elf.h): a parser of the whole format would take longer to import than all the rest."""
    header = file.read(64)
    try:
        is_64_bit, is_little = header[4] == 2, header[5] == 1
        order = "<" if is_little else ">"
        machine = struct.unpack_from(f"{order}H", header, 18)[0]
        if not is_64_bit or machine != MACHINES.get(platform.machine(), machine):
            raise CommandError(f"{program}: built for another kind of machine, this library cannot be preloaded into it")
        table, entry_size, entries = struct.unpack_from(f"{order}Q14xHH", header, 32)
        file.seek(table)
        segments = file.read(entry_size * entries)
        types = [struct.unpack_from(f"{order}I", segments, i * entry_size)[0] for i in range(entries)]
    except (IndexError, struct.error) as error:
        raise CommandError(f"{program}: {os.strerror(errno.ENOEXEC)}", CANNOT_EXECUTE) from error
    if PT_INTERP not in types:
        raise CommandError(f"{program}: statically linked, nothing can be preloaded into it")

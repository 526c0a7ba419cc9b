"""The few fields of an ELF file (elf.h) that the command itself needs. A parser of the whole format would take longer to import than the
rest of the command."""

import errno
import os
import struct
from pathlib import Path
from typing import NamedTuple

from blastoff.errors import CANNOT_EXECUTE, CommandError

PT_LOAD = 1
PT_INTERP = 3
"""Type of the program header that names the dynamic linker."""

MACHINES = {"x86_64": 62, "aarch64": 183}
"""EM_X86_64 and EM_AARCH64."""


class Elf(NamedTuple):
    """What the headers of a program or library say."""

    native: bool
    """Whether the file was built for this machine's architecture, with 64 bits."""
    interpreter: str | None = None
    """The dynamic linker that the file names."""
    first_address: int = 0
    """Link-time address of the first loadable segment."""
    first_offset: int = 0
    """Offset of that segment in the file."""


def is_elf(path: Path) -> bool:
    """Whether the file begins like an ELF file; PermissionError if it may not be read."""
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def read(path: Path) -> Elf:
    """The headers of a file that begins like an ELF file; CommandError if it is broken."""
    with path.open("rb") as file:
        header = file.read(64)
        try:
            is_64_bit, order = header[4] == 2, "<" if header[5] == 1 else ">"
            machine = struct.unpack_from(f"{order}H", header, 18)[0]
            if not is_64_bit or machine != MACHINES.get(os.uname().machine, machine):
                return Elf(native=False)
            table, entry_size, entries = struct.unpack_from(f"{order}Q14xHH", header, 32)
            file.seek(table)
            segments = file.read(entry_size * entries)
            rows = [struct.unpack_from(f"{order}I4xQQ8xQ", segments, i * entry_size) for i in range(entries)]
            interpreter = None
            for kind, offset, _, size in rows:
                if kind == PT_INTERP:
                    file.seek(offset)
                    interpreter = os.fsdecode(file.read(size).rstrip(b"\0"))
            loaded = [(address, offset) for kind, offset, address, _ in rows if kind == PT_LOAD]
        except (IndexError, struct.error) as error:
            raise CommandError(f"{path}: {os.strerror(errno.ENOEXEC)}", CANNOT_EXECUTE) from error
    address, offset = min(loaded, default=(0, 0))
    return Elf(True, interpreter, address, offset)

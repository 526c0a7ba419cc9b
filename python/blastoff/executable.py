"""Whether a program can run with a preloaded library, checked before it starts."""

import os
import shutil
import stat
from pathlib import Path

from blastoff import elf
from blastoff.errors import CANNOT_EXECUTE, NOT_FOUND, CommandError


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
    """Raises CommandError if the dynamic linker would not preload into this program. Scripts pass, since what they start inherits LD_PRELOAD."""
    reason = why_not_preloadable(program)
    if reason:
        raise CommandError(f"{program}: {reason}")


def why_not_preloadable(program: Path) -> str:
    """Why the dynamic linker would not preload into this program; "" if it would, or if that is unknown."""
    gains = _gains(program)
    if gains:
        return gains
    try:
        if not elf.is_elf(program):
            return ""
        headers = elf.read(program)
    except PermissionError:
        return ""  # it may be executable without being readable
    if not headers.native:
        return "built for another architecture, so this library cannot be preloaded into it"
    if headers.interpreter is None:
        return "statically linked, so nothing can be preloaded into it"
    if Path(headers.interpreter).name.startswith("ld-musl"):
        return "linked with musl, but this library needs glibc"
    return ""


def _gains(program: Path) -> str:
    """How the program gains privileges when it is executed, so that the dynamic linker ignores LD_PRELOAD; "" if it does not."""
    status = program.stat()
    if os.statvfs(program).f_flag & os.ST_NOSUID:
        return ""
    gains_user = bool(status.st_mode & stat.S_ISUID) and status.st_uid != os.geteuid()
    gains_group = bool(status.st_mode & stat.S_ISGID) and status.st_gid != os.getegid()
    if gains_user or gains_group:
        kind = "setuid" if gains_user else "setgid"
        return f"a {kind} program, for which the system ignores LD_PRELOAD"
    if os.geteuid() != 0 and _has_capabilities(program):
        return "has file capabilities, so the system ignores LD_PRELOAD"
    return ""


def _has_capabilities(program: Path) -> bool:
    try:
        return bool(os.getxattr(program, "security.capability"))
    except OSError:
        return False


def script_interpreter(script: Path) -> list[str]:
    """The words after a script's #!; none if it is not a script."""
    with script.open("rb") as file:
        line = file.readline(256)
    if not line.startswith(b"#!"):
        return []
    return os.fsdecode(line[2:]).split(maxsplit=1)

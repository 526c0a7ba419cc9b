"""The directories in which the processes of a run keep their counters. The launcher makes and removes them (src/launcher/run_directories.h)."""

import os
import re
import signal
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

COUNTERS = ".counters"
BESIDE = COUNTERS
"""Suffix of the directory beside a report with the counters of processes without a launcher (src/report/counter_file.h)."""

MARKS = "marks"
"""The file with the program's marks. It exists if somebody reads the marks (src/report/marks.h)."""

MEMORY_SUFFIX = ".memory.json"
"""Suffix of the files about a run's memory, which lie beside its reports."""

LAUNCHER = "launcher-"
"""Prefix of the links that stand for the launchers of a run."""

EXEC = "exec"
RUNNING = "running"
UNKNOWN = "_exit or signal"
LONGEST_LEFT = 86400.0

ENERGY, ENERGY_LOCK = "energy", "energy.lock"
"""The file with the readings of energy counters, and the file that the reading launcher has locked (run/energy.py)."""

DISK = "disk"
"""The link in the directory of a run to its directory on a disk (src/report/run_space.h)."""
INITIAL_NAMESPACE = 0xEFFFFFFC
"""Inode of the initial namespace of process ids, which sees all processes of a machine (linux/proc_ns.h)."""


def bases() -> list[Path]:
    """Where run directories may be: file systems in memory, then on a disk."""
    names = (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm", os.environ.get("TMPDIR"), "/tmp")
    return [Path(name) for name in dict.fromkeys(names) if name and os.path.isabs(name)]


def prefix() -> str:
    """Prefix of the names of this user's run directories on this machine."""
    return f"blastoff.{os.getuid()}.{os.uname().nodename}."


def is_ours(directory: Path) -> bool:
    """Whether a directory belongs to this user and no other user can access it."""
    try:
        status = directory.lstat()
    except OSError:
        return False
    return status.st_uid == os.getuid() and directory.is_dir() and not directory.is_symlink() and not status.st_mode & 0o077


def bulk(directory: Path) -> Path:
    """The directory for the larger files of a run."""
    disk = directory / DISK
    return disk if disk.is_dir() else directory


def find() -> list[Path]:
    """This user's run directories on this machine, the one that started last first."""
    found = [directory for base in bases() for directory in base.glob(prefix() + "*") if is_ours(directory)]
    started = {directory: moment for directory in found if (moment := _started(directory)) is not None}
    return sorted(started, key=lambda directory: started[directory], reverse=True)


def _started(directory: Path) -> float | None:
    """When the run started: the age of its oldest launcher's link, or of the directory if no launcher is left; None if it no longer exists."""
    try:
        links = [link.lstat().st_mtime for link in directory.glob(f"{LAUNCHER}*")]
        return min(links, default=directory.lstat().st_mtime)
    except OSError:
        return None


def started_after(pid: int) -> float | None:
    """When the process with this id started, in nanoseconds since boot; None if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return None if fields[0] in "ZX" else int(fields[19]) * 1e9 / os.sysconf("SC_CLK_TCK")


def namespace_of(process: str) -> int:
    """Inode of the namespace of process ids that the process is in; 0 if that cannot be known."""
    try:
        return os.stat(f"/proc/{process}/ns/pid").st_ino
    except OSError:
        return 0


def is_elsewhere(namespace: int) -> bool:
    """Whether the namespace is another one than ours, so that its process ids mean nothing here."""
    here = namespace_of("self")
    return bool(here and namespace and namespace != here)


def has_processes(namespace: int) -> bool:
    """Whether processes of another namespace run; True if that namespace cannot be seen from here."""
    if namespace_of("self") != INITIAL_NAMESPACE:
        return True
    return any(namespace_of(name) == namespace for name in os.listdir("/proc") if name.isdigit())


def exists(pid: int) -> bool:
    """Whether a process with this id exists, found out by a signal because /proc is hidden."""
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError) as error:
        return isinstance(error, PermissionError)
    return True


COUNTER_FILE = re.compile(rf"(\d{{1,10}})-(\d{{1,20}})-\d{{1,10}}(?:-(\d{{1,20}}))?{re.escape(COUNTERS)}", re.ASCII)


class CounterFile(NamedTuple):
    """A counter file in a run directory. Its name tells the process id, when the file was made (nanoseconds since boot), and the id's namespace."""

    path: Path
    pid: int
    made: int
    namespace: int = 0

    @classmethod
    def at(cls, path: Path) -> "CounterFile | None":
        """The counter file at this path; None if another version gave it its name."""
        name = COUNTER_FILE.fullmatch(path.name)
        return cls(path, *(int(number or 0) for number in name.groups())) if name else None

    @property
    def alive(self) -> bool:
        """Whether the process that made the file still runs. (Another process may have its id now.)"""
        if not namespace_of("self"):
            return exists(self.pid)
        if is_elsewhere(self.namespace):
            return has_processes(self.namespace)
        started = started_after(self.pid)
        tick = 1e9 / os.sysconf("SC_CLK_TCK")
        return started is not None and started <= self.made + tick


def counter_files(directory: Path) -> list[CounterFile]:
    """The counter files of a run in the order in which they were made, without those of other versions."""
    files = [file for place in (directory, directory / DISK) for path in place.glob(f"*{COUNTERS}") if (file := CounterFile.at(path))]
    return sorted(files, key=lambda file: file.made)


def _launchers(directory: Path) -> set[int]:
    """The process ids of the run's launchers. Each has a symbolic link whose target begins with its id."""
    found = set()
    for path in directory.glob(f"{LAUNCHER}*"):
        with suppress(OSError, ValueError):
            found.add(int(os.readlink(path).split()[0]))
    return found


def is_run(directory: Path) -> bool:
    """Whether launchers or processes of a run have entered themselves in the directory."""
    return any(name.startswith(LAUNCHER) or COUNTER_FILE.fullmatch(name) for name in os.listdir(directory))


def pids(directory: Path) -> set[int]:
    """The process ids of all members of a run."""
    return _launchers(directory) | {file.pid for file in counter_files(directory)}


def how_it_ended(status: int) -> str:
    """The wait status of a process that has not ended by exit(3), in words."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = next((known.name for known in signal.Signals if known == number), "")
        return f"signal {number}" + (f" ({name})" if name else "")
    return "_exit"

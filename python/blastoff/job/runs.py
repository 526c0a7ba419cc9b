"""The directories in which the processes of a run keep their counters. Imported before the program starts, so it imports little."""

import os
import shutil
import signal
import time
from pathlib import Path
from typing import NamedTuple

COUNTERS = ".counters"
BESIDE = COUNTERS
"""What the directory beside a report adds to its name (src/report/counter_file.h): counters of processes without a launcher."""

MARKS = "marks"
"""The file of the program's marks, which is there if somebody reads them (src/report/marks.h)."""

MEMORY_SUFFIX = ".memory.json"
"""How the files of a run's memory end, which lie beside its reports."""

EXEC = "exec"
RUNNING = "running"
UNKNOWN = "_exit or signal"
LONGEST_LEFT = 86400.0


def bases() -> list[Path]:
    """Where run directories may be, the best place first: file systems in memory, so that counting never waits for a disk."""
    named = [os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm", os.environ.get("TMPDIR"), "/tmp"]
    return [Path(name) for name in dict.fromkeys(named) if name and os.path.isabs(name)]


def prefix() -> str:
    """How the names of this user's run directories on this machine begin."""
    return f"blastoff.{os.getuid()}.{os.uname().nodename}."


def is_ours(directory: Path) -> bool:
    """Whether a directory is this user's, and closed to others."""
    try:
        status = directory.lstat()
    except OSError:
        return False
    return status.st_uid == os.getuid() and directory.is_dir() and not directory.is_symlink() and not status.st_mode & 0o077


def create(name: str) -> Path | None:
    """A directory of that name, where there is not one already; None if there is no place for it."""
    for base in bases():
        directory = base / (prefix() + name)
        try:
            directory.mkdir(mode=0o700)
        except FileExistsError:
            if is_ours(directory):
                return directory
        except OSError:
            continue
        else:
            return directory
    return None


def find() -> list[Path]:
    """This user's run directories on this machine, the latest first."""
    found = [directory for base in bases() for directory in base.glob(prefix() + "*") if is_ours(directory)]
    return sorted(found, key=lambda directory: directory.lstat().st_mtime, reverse=True)


def started_after(pid: int) -> float | None:
    """When the process with that id started, in nanoseconds since boot; None if there is none any more."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return None if fields[0] in "ZX" else int(fields[19]) * 1e9 / os.sysconf("SC_CLK_TCK")


class CounterFile(NamedTuple):
    """One file of a run directory; its name tells the process id, and when it was made (nanoseconds since boot)."""

    path: Path
    pid: int
    made: int

    @classmethod
    def at(cls, path: Path) -> "CounterFile":
        pid, made, _ = path.stem.split("-")
        return cls(path, int(pid), int(made))

    @property
    def alive(self) -> bool:
        """Whether its process still runs, and has not left its id to another one."""
        started = started_after(self.pid)
        tick = 1e9 / os.sysconf("SC_CLK_TCK")
        return started is not None and started <= self.made + tick


def counter_files(directory: Path) -> list[CounterFile]:
    """The counter files of a run, in the order in which they were made."""
    return sorted((CounterFile.at(path) for path in directory.glob(f"*-*-*{COUNTERS}")), key=lambda file: file.made)


LAUNCHER = "launcher-"


class Launcher(NamedTuple):
    """A `blastoff run` that waits for a program of the run: its process id, and when it started (nanoseconds since boot)."""

    pid: int
    started: float

    @classmethod
    def at(cls, path: Path) -> "Launcher | None":
        try:
            pid, started = path.read_text().split()
            return cls(int(pid), float(started))
        except (OSError, ValueError):
            return None

    @property
    def alive(self) -> bool:
        return started_after(self.pid) == self.started


def launchers(directory: Path) -> list[Launcher]:
    """The launchers of a run."""
    return [launcher for path in directory.glob(f"{LAUNCHER}*") if (launcher := Launcher.at(path))]


def pids(directory: Path) -> set[int]:
    """All processes of a run."""
    return {one.pid for one in (*launchers(directory), *counter_files(directory))}


def sweep() -> None:
    """Removes what killed launchers have left behind, after a day in which it can be looked at."""
    for directory in find():
        members = (*launchers(directory), *counter_files(directory))
        if time.time() - directory.stat().st_mtime > LONGEST_LEFT and not any(member.alive for member in members):
            shutil.rmtree(directory, ignore_errors=True)


def how_it_ended(status: int) -> str:
    """What a wait status says about a process that has not ended by exit(3)."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = next((known.name for known in signal.Signals if known == number), "")
        return f"signal {number}" + (f" ({name})" if name else "")
    return "_exit"

"""The directories in which the processes of a run keep their counters. The launcher imports this module before the program starts, so it
imports little itself."""

import fcntl
import os
import re
import shutil
import signal
import struct
import time
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

EXEC = "exec"
RUNNING = "running"
UNKNOWN = "_exit or signal"
LONGEST_LEFT = 86400.0

ENERGY, ENERGY_LOCK = "energy", "energy.lock"
"""The file with the readings of energy counters, and the file that the reading launcher has locked (run/energy.py)."""

QUOTA, DISK = "quota", "disk"
"""Two entries in the directory of a run: the bytes that its processes may still take there, and the link to its directory on a disk
(src/report/run_space.h)."""
EMPTY = {QUOTA, DISK, MARKS, ENERGY, ENERGY_LOCK}
"""Entries of a directory that has no members yet."""
MAX_IN_MEMORY = 7 << 17
"""Most bytes that the processes of a run take in a file system in memory. With the other files there, a run takes less than 1 MiB."""
UNLIMITED = 1 << 62
MIN_FREE = 16 << 20
"""No run directory is made in a file system with fewer free bytes."""
BEING_MADE = 60.0
"""Seconds for which a directory may be without a member."""
INITIAL_NAMESPACE = 0xEFFFFFFC
"""Inode of the initial namespace of process ids, which sees all processes of a machine (linux/proc_ns.h)."""


def _existing(*names: str | None) -> list[Path]:
    return [Path(name) for name in dict.fromkeys(names) if name and os.path.isabs(name)]


def memory_bases() -> list[Path]:
    """File systems in memory, where counting never waits for a disk."""
    return _existing(os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm")


def disk_bases() -> list[Path]:
    return _existing(os.environ.get("TMPDIR"), "/tmp")


def bases() -> list[Path]:
    """Where run directories may be, the best place first."""
    return list(dict.fromkeys([*memory_bases(), *disk_bases()]))


def is_roomy(base: Path) -> bool:
    """Whether the file system has enough free bytes that a run directory does not hinder programs."""
    try:
        system = os.statvfs(base)
    except OSError:
        return False
    return system.f_bavail * system.f_frsize >= MIN_FREE


def _of_user(kind: str) -> str:
    return f"{kind}.{os.getuid()}.{os.uname().nodename}."


def prefix() -> str:
    """Prefix of the names of this user's run directories on this machine."""
    return _of_user("blastoff")


def disk_prefix() -> str:
    """Prefix of the names of their directories on a disk."""
    return _of_user("blastoff-disk")


def is_ours(directory: Path) -> bool:
    """Whether a directory belongs to this user and no other user can access it."""
    try:
        status = directory.lstat()
    except OSError:
        return False
    return status.st_uid == os.getuid() and directory.is_dir() and not directory.is_symlink() and not status.st_mode & 0o077


def _on_disk(name: str) -> Path | None:
    """Makes a new directory on a disk; None if there is no room."""
    for base in disk_bases():
        directory = base / f"{disk_prefix()}{name}.{os.getpid()}.{time.time_ns()}"
        try:
            if is_roomy(base):
                directory.mkdir(mode=0o700)
                return directory
        except OSError:
            continue
    return None


def _furnish(directory: Path, name: str, in_memory: bool) -> None:
    (directory / QUOTA).write_bytes(struct.pack("=q", MAX_IN_MEMORY if in_memory else UNLIMITED))
    disk = _on_disk(name) if in_memory else None
    if disk is not None:
        (directory / DISK).symlink_to(disk)


def _create_in(base: Path, name: str) -> Path | None:
    """Makes a run's directory in one step, so that others never find it incomplete; None if that fails or it belongs to somebody else."""
    directory = base / (prefix() + name)
    if os.path.lexists(directory):
        return directory if is_ours(directory) else None
    unfinished = directory.with_name(f"{directory.name}.new-{os.getpid()}")
    try:
        unfinished.mkdir(mode=0o700)
        _furnish(unfinished, name, base in memory_bases())
        unfinished.rename(directory)
    except OSError:
        remove(unfinished)
        return directory if is_ours(directory) else None
    return directory


def create(name: str) -> Path | None:
    """The run directory with this name, made if it does not exist yet; None if there is no place for it."""
    return next((made for base in bases() if is_roomy(base) and (made := _create_in(base, name)) is not None), None)


def bulk(directory: Path) -> Path:
    """The directory for the larger files of a run."""
    disk = directory / DISK
    return disk if disk.is_dir() else directory


def remove(directory: Path) -> None:
    """Removes a run's directory, and its directory on a disk."""
    disk = directory / DISK
    if disk.is_symlink():
        target = Path(os.readlink(disk))
        if target.name.startswith(disk_prefix()) and is_ours(target):
            shutil.rmtree(target, ignore_errors=True)
    shutil.rmtree(directory, ignore_errors=True)


def find() -> list[Path]:
    """This user's run directories on this machine, the latest first."""
    found = [directory for base in bases() for directory in base.glob(prefix() + "*") if is_ours(directory)]
    changed = {directory: moment for directory in found if (moment := _changed(directory)) is not None}
    return sorted(changed, key=lambda directory: changed[directory], reverse=True)


def _changed(directory: Path) -> float | None:
    """Time of the directory's last change; None if it no longer exists."""
    try:
        return directory.lstat().st_mtime
    except OSError:
        return None


def started_after(pid: int) -> float | None:
    """When the process with this id started, in nanoseconds since boot; None if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
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


LAUNCHER = "launcher-"


class Launcher(NamedTuple):
    """A `blastoff run` that waits for a program of the run: its process id, when it started (nanoseconds since boot), and the id's namespace.
    Its entry is a symbolic link whose target is these three words, since a link takes no page of a file system in memory."""

    pid: int
    started: float
    namespace: int = 0

    @classmethod
    def at(cls, path: Path) -> "Launcher | None":
        try:
            pid, started, namespace = os.readlink(path).split()
            return cls(int(pid), float(started), int(namespace))
        except (OSError, ValueError):
            return None

    @classmethod
    def this(cls) -> "Launcher":
        return cls(os.getpid(), started_after(os.getpid()) or 0.0, namespace_of("self"))

    def enter(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        path.symlink_to(f"{self.pid} {self.started} {self.namespace}")

    @property
    def alive(self) -> bool:
        if not namespace_of("self"):
            return exists(self.pid)
        if is_elsewhere(self.namespace):
            return has_processes(self.namespace)
        return started_after(self.pid) == self.started


def launchers(directory: Path) -> list[Launcher]:
    """The launchers of a run."""
    return [launcher for path in directory.glob(f"{LAUNCHER}*") if (launcher := Launcher.at(path))]


def pids(directory: Path) -> set[int]:
    """The process ids of all members of a run."""
    return {one.pid for one in (*launchers(directory), *counter_files(directory))}


def has_strangers(directory: Path) -> bool:
    """Whether there are members whose entries this version cannot read, since another version may be installed too. We cannot know whether
    these members have ended."""
    entries = [path for place in (directory, directory / DISK) if place.is_dir() for path in place.iterdir()]
    counting = any(path.name.endswith(COUNTERS) and CounterFile.at(path) is None for path in entries)
    return counting or any(path.name.startswith(LAUNCHER) and os.path.lexists(path) and Launcher.at(path) is None for path in entries)


def is_left(directory: Path) -> bool:
    """Whether all members of a run have ended. A run without members counts as ended only after a while: its first member may be about to
    begin, or its members may be of another version, whose entries have other names."""
    if has_strangers(directory):
        return False
    members = (*launchers(directory), *counter_files(directory))
    if members:
        return not any(member.alive for member in members)
    return {path.name for path in directory.iterdir()} <= EMPTY and time.time() - directory.stat().st_mtime > BEING_MADE


def _remove_if_left(directory: Path) -> None:
    """Removes the directory if all members have ended. Holds the lock that joining needs; who gets the lock later sees that the name no longer
    exists (run/membership.py)."""
    file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_left(directory):
            remove(directory.rename(directory.with_name(f"{directory.name}.left-{os.getpid()}")))
    finally:
        os.close(file)


DISK_MADE = re.compile(r"\.\d{1,10}\.\d{1,20}$", re.ASCII)
"""Suffix of the name of a directory on a disk."""


def _is_left_on_disk(disk: Path) -> bool:
    """Whether no run uses a directory on a disk. (No run directory on this machine refers to it.)"""
    if not DISK_MADE.search(disk.name) or time.time() - disk.stat().st_mtime <= BEING_MADE:
        return False
    return not has_strangers(disk) and not any(file.alive for file in counter_files(disk))


def _links(directory: Path) -> set[str]:
    """The targets of all symbolic links in a run's directory."""
    found = set()
    with suppress(OSError):
        for path in directory.iterdir():
            with suppress(OSError):
                found.add(os.readlink(path))
    return found


def sweep() -> None:
    """Removes what killed launchers of this user have left behind on this machine. Directories of other versions stay, unless this version can
    read who uses them."""
    for directory in find():
        with suppress(OSError):
            _remove_if_left(directory)
    in_use = {link for directory in find() for link in _links(directory)}
    for disk in [disk for base in disk_bases() for disk in base.glob(disk_prefix() + "*")]:
        with suppress(OSError):
            if str(disk) not in in_use and is_ours(disk) and _is_left_on_disk(disk):
                shutil.rmtree(disk, ignore_errors=True)


def how_it_ended(status: int) -> str:
    """The wait status of a process that has not ended by exit(3), in words."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = next((known.name for known in signal.Signals if known == number), "")
        return f"signal {number}" + (f" ({name})" if name else "")
    return "_exit"

"""The processes of a program, itself and its descendants, with the kernel's counters of each."""

import os
from dataclasses import dataclass, field
from pathlib import Path

PROC = "/proc"
PAGE = os.sysconf("SC_PAGE_SIZE")
MAX_CANDIDATES = 256
"""Most new process ids that are checked one by one. If more were given out since the last check, all processes are listed instead."""

STATE, FLAGS, MINOR, MAJOR, THREADS, STARTED, RESIDENT = 0, 6, 7, 9, 17, 19, 21
"""Places in /proc/PID/stat after the name: proc_pid_stat(5)."""

EXITING = 0x4
"""The flag PF_EXITING: the process is ending, and its memory is being freed or has been."""


@dataclass
class Member:
    """One process, alive or ended, with its latest counters. Sizes are in bytes."""

    pid: int
    file: int
    """Open file of /proc/PID/stat. It belongs to this process even if another process gets the id; -1 after the process has ended."""
    name: str = ""
    started: int = 0
    resident: int = 0
    minor_faults: int = 0
    major_faults: int = 0
    nodes: dict[int, int] = field(default_factory=dict)
    """Resident bytes on each NUMA node when the page table was last read."""
    huge: float = 0.0
    """Share of the resident set that lies in huge pages."""
    last_name: bytes = b""

    @property
    def key(self) -> tuple[int, int]:
        """The process id and the time of the start, which together identify the process."""
        return self.pid, self.started

    @property
    def alive(self) -> bool:
        return self.file >= 0

    def look(self) -> None:
        """Reads the counters. If the process has ended or is ending, its counts of faults stay as they are."""
        try:
            text = os.pread(self.file, 1024, 0)
        except OSError:  # ESRCH
            self.end()
            return
        close = text.rindex(b")")
        values = text[close + 2 :].split(None, RESIDENT + 1)
        name = text[:close]
        if name != self.last_name:
            self.last_name = name
            self.name = name.partition(b"(")[2].decode(errors="replace")
            self.started = int(values[STARTED])
        self.minor_faults, self.major_faults = int(values[MINOR]), int(values[MAJOR])
        if (int(values[FLAGS]) & EXITING or values[STATE] in b"ZX") and int(values[THREADS]) <= 1:
            self.end()
        else:
            self.resident = int(values[RESIDENT]) * PAGE

    def end(self) -> None:
        """Notes that the process has ended: none of it is in memory any more."""
        if self.file >= 0:
            os.close(self.file)
        self.file, self.resident, self.nodes, self.huge = -1, 0, {}, 0.0


def last_process() -> int:
    """The id that the kernel gave last to a process or thread; 0 if not known."""
    try:
        with open(f"{PROC}/loadavg", "rb") as file:
            return int(file.read().split()[-1])
    except (OSError, ValueError, IndexError):
        return 0


def _parent(pid: int) -> int:
    """The parent of a process; 0 if there is no such process or the id belongs to a thread."""
    try:
        with open(f"{PROC}/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split(None, 2)[1])
    except (OSError, ValueError, IndexError):
        return 0


def _is_thread(pid: int) -> bool:
    try:
        text = Path(f"{PROC}/{pid}/status").read_bytes()
    except OSError:
        return True
    return int(text.partition(b"Tgid:")[2].split(None, 1)[0]) != pid


class Family:
    """A program and its descendants. A process is not found if all its ancestors ended before it was seen, unless somebody adds it."""

    def __init__(self, program: int) -> None:
        self.members: dict[int, Member] = {}
        """The processes that are alive, by process id."""
        self.ended: set[int] = set()
        """The process ids of processes that have ended."""
        self.past_faults = [0, 0]
        """Minor and major faults of the processes that have ended."""
        self.newest = last_process()
        self.older = min(program, self.newest)
        self.add(program)
        self.update()

    def faults(self) -> tuple[int, int]:
        """Minor and major faults of all processes until now."""
        minor, major = self.past_faults
        for member in self.members.values():
            minor += member.minor_faults
            major += member.major_faults
        return minor, major

    def add(self, pid: int) -> None:
        if pid in self.members:
            return
        try:
            member = Member(pid, os.open(f"{PROC}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            return
        member.look()
        if member.alive:
            self.members[pid] = member
            self.ended.discard(pid)

    def update(self) -> None:
        """Looks for new processes. Goes back to the last search but one, since some may not have been visible yet at the last search."""
        start, self.older, self.newest = self.older, self.newest, last_process()
        if start == self.newest != 0:
            return
        few = 0 < self.newest - start <= MAX_CANDIDATES
        candidates = range(start + 1, self.newest + 1) if few else sorted(int(name) for name in os.listdir(PROC) if name.isdigit())
        for pid in candidates:
            if pid not in self.members and _parent(pid) in self.members and not _is_thread(pid):
                self.add(pid)

    def look(self) -> None:
        """Reads the counters of all processes."""
        ended = []
        for member in self.members.values():
            member.look()
            if not member.alive:
                ended.append(member)
        for member in ended:
            del self.members[member.pid]
            self.ended.add(member.pid)
            self.past_faults[0] += member.minor_faults
            self.past_faults[1] += member.major_faults

    def close(self) -> None:
        for member in self.members.values():
            member.end()

"""The processes of a program: itself and its descendants, with what the kernel counts for each."""

import os
from dataclasses import dataclass, field
from pathlib import Path

PROC = "/proc"
PAGE = os.sysconf("SC_PAGE_SIZE")
MOST_CANDIDATES = 256
"""Of process ids that were given out since the last look, so many are looked at one by one; of more, all processes are."""

STATE, FLAGS, MINOR, MAJOR, THREADS, STARTED, RESIDENT = 0, 6, 7, 9, 17, 19, 21
"""Places in /proc/PID/stat after the name: proc_pid_stat(5)."""

EXITING = 0x4
"""Of the flags: the process is ending, and its memory is gone or going (PF_EXITING)."""


@dataclass
class Member:
    """One process, alive or not, as it was last seen. Sizes are bytes."""

    pid: int
    file: int
    """Its /proc/PID/stat. It stays that of this process when the id is given to another one; -1 once the process has ended."""
    name: str = ""
    started: int = 0
    resident: int = 0
    minor_faults: int = 0
    major_faults: int = 0
    nodes: dict[int, int] = field(default_factory=dict)
    """Shares of the resident set by NUMA node, in bytes when they were looked at."""
    huge: float = 0.0
    """Share of the resident set that lies in huge pages."""
    last_name: bytes = b""

    @property
    def key(self) -> tuple[int, int]:
        """The process id and when it was started: no other process has both."""
        return self.pid, self.started

    @property
    def alive(self) -> bool:
        return self.file >= 0

    def look(self) -> None:
        """Reads the counters; of a process that has ended or is ending, the faults stay."""
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
        """Nothing of it is in memory any more."""
        if self.file >= 0:
            os.close(self.file)
        self.file, self.resident, self.nodes, self.huge = -1, 0, {}, 0.0


def last_process() -> int:
    """The process id that was given out last, of processes and threads; 0 where it is not known."""
    try:
        with open(f"{PROC}/loadavg", "rb") as file:
            return int(file.read().split()[-1])
    except (OSError, ValueError, IndexError):
        return 0


def _parent(pid: int) -> int:
    """The process that started it; 0 if there is no such process, or the id is a thread's."""
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
    """A program and its descendants. A process whose parents have all ended before it was seen is not found, unless it is added."""

    def __init__(self, program: int) -> None:
        self.members: dict[int, Member] = {}
        """Those alive, by process id."""
        self.ended: set[int] = set()
        """The process ids of those that have ended."""
        self.past_faults = [0, 0]
        """Minor and major faults of those."""
        self.newest = last_process()
        self.older = min(program, self.newest)
        self.add(program)
        self.update()

    def faults(self) -> tuple[int, int]:
        """Minor and major faults of all so far."""
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
        """Looks for processes that were started since the look before the last one: at the last one, they may not have been visible yet."""
        start, self.older, self.newest = self.older, self.newest, last_process()
        if start == self.newest != 0:
            return
        few = 0 < self.newest - start <= MOST_CANDIDATES
        candidates = range(start + 1, self.newest + 1) if few else sorted(int(name) for name in os.listdir(PROC) if name.isdigit())
        for pid in candidates:
            if pid not in self.members and _parent(pid) in self.members and not _is_thread(pid):
                self.add(pid)

    def look(self) -> None:
        """Reads the counters of all."""
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

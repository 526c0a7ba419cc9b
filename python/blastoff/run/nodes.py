"""The nodes of a job in which each rank has a launcher. They meet in a directory beside the reports, and one of them sums up all processes.

Each launcher enters its node before its rank starts. Ranks that use MPI wait for each other at their start, so all nodes are entered before
the first of them ends. The last launcher of a node leaves the reports of its processes in the directory. The node that finds the reports of
all other nodes sums up. Other nodes may have been killed, so waiting is limited: the node of rank 0 waits for all, and all others wait for it.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from blastoff import library
from blastoff.job import runs

if TYPE_CHECKING:
    from blastoff.job.processes import Process

PRESENT, ENDED = ".present", ".ended"
FIRST, SUMMED = "first", "summed-up"
"""The file that names the node of rank 0, and the file that names the nodes in the summary."""
SAME_JOB = 3600.0
"""Seconds within which all launchers of a job begin. Older files are left from another job of the same name."""
LONGEST_WAIT, POLL_SECONDS = 10.0, 0.1
"""Seconds for which a node waits for others, and seconds between two checks."""
ATTEMPTS = 5
"""How often a directory is removed into which another node still writes."""
ONE_SUMMARY = ("auto", "always")
"""Values of --summary with which a summary is printed."""


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def name_of_node(directory: Path) -> str:
    """A name for this node, that is, for the launchers that share this directory of a run. Other nodes have other names, even if they are
    containers on the same host."""
    status = directory.stat()
    return f"{os.uname().nodename}-{zlib.crc32(f'{boot_id()} {status.st_dev} {status.st_ino}'.encode()):08x}"


class Gathered(NamedTuple):
    """The processes that the last launcher of a node must sum up."""

    processes: Sequence[Process]
    remark: str = ""
    """A remark on nodes that are missing."""


def alone(why: str) -> str:
    return f"this summary is of {os.uname().nodename} alone: {why}"


class Apart(NamedTuple):
    """A node that meets no others."""

    remark: str = ""

    def gather(self, processes: Sequence[Process]) -> Gathered | None:
        return Gathered(processes, self.remark)

    def withdraw(self) -> None:
        """Does nothing."""


class Meeting(NamedTuple):
    """This node among the nodes of its job."""

    directory: Path
    """The directory in which the nodes meet."""
    node: str
    began: float
    """When this launcher began, in seconds since 1970."""
    elsewhere: bool
    """Whether the job is known to have ranks on other nodes."""

    def enter(self, rank: int) -> None:
        """Enters this node. Each of its launchers calls it before its rank starts."""
        self._remove_summed_of_another_job()
        if self._present(self.directory / f"{self.node}{PRESENT}") is None:
            self._write(PRESENT, {"began": self.began, "host": os.uname().nodename})
        if rank == 0:
            (self.directory / FIRST).write_text(self.node, encoding="utf-8")

    def withdraw(self) -> None:
        """Removes this node again, because no program was started."""
        (self.directory / f"{self.node}{PRESENT}").unlink(missing_ok=True)

    def _present(self, path: Path) -> str | None:
        """The host of the node that has written this file; None if the file belongs to another job or cannot be read."""
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
            return said["host"] if abs(said["began"] - self.began) < SAME_JOB else None
        except (OSError, ValueError):
            return None

    def _hosts(self) -> dict[str, str]:
        """The hosts of this job's nodes, by node."""
        found = {path.name.removesuffix(PRESENT): self._present(path) for path in self._files(PRESENT)}
        return {node: host for node, host in found.items() if host is not None}

    def _ended(self) -> set[str]:
        return {path.name.removesuffix(ENDED) for path in self._files(ENDED)}

    def _files(self, extension: str) -> list[Path]:
        """The files with this extension. There are none if another node has removed the directory, maybe while it is listed."""
        try:
            return list(self.directory.glob(f"*{extension}"))
        except FileNotFoundError:
            return []

    def _write(self, extension: str, said: Mapping[str, Any]) -> None:
        """Writes a file of this node in one step."""
        unfinished = self.directory / f"{self.node}.{os.getpid()}.tmp"
        unfinished.write_text(json.dumps(said), encoding="utf-8")
        unfinished.rename(self.directory / f"{self.node}{extension}")

    def _summed(self) -> list[str] | None:
        """The nodes in the summary, if a node has begun to sum up; else None."""
        path = self.directory / SUMMED
        try:
            return path.read_text(encoding="utf-8").split("\n") if abs(path.stat().st_mtime - self.began) < SAME_JOB else None
        except OSError:
            return None

    def _remove_summed_of_another_job(self) -> None:
        """A node does this when it enters. When it claims, the file could be that of another node, which claims at the same time."""
        path = self.directory / SUMMED
        if path.exists() and self._summed() is None:
            path.unlink(missing_ok=True)

    def _claim(self, nodes: Iterable[str]) -> bool:
        """Claims the summing up of these nodes. Returns False if another node was first."""
        path, unfinished = self.directory / SUMMED, self.directory / f"{self.node}.{os.getpid()}.tmp"
        try:
            unfinished.write_text("\n".join(nodes), encoding="utf-8")
            os.link(unfinished, path)
        except (FileExistsError, FileNotFoundError):  # the directory is gone if the other node has finished
            return False
        finally:
            unfinished.unlink(missing_ok=True)
        return True

    def _first(self) -> str:
        """The node of rank 0."""
        try:
            return (self.directory / FIRST).read_text(encoding="utf-8")
        except OSError:
            return ""

    def _remove(self) -> None:
        """Removes the directory; renames it first, so that it disappears in one step. A node that was about to write into it may still do so while
        its files are removed, but no other file follows, so they are removed again."""
        with suppress(OSError):
            gone = self.directory.rename(self.directory.with_name(f"{self.directory.name}.{self.node}"))
            for _ in range(ATTEMPTS):
                shutil.rmtree(gone, ignore_errors=True)
                if not gone.exists():
                    return
                time.sleep(POLL_SECONDS)

    def gather(self, processes: Sequence[Process]) -> Gathered | None:
        """The processes that this node must sum up; None if another node does so, or will."""
        try:
            self._write(ENDED, {"reports": [process.report for process in processes]})
            found = self._together(time.monotonic() + LONGEST_WAIT)
        except OSError as error:
            return Gathered(processes, alone(f"{self.directory}: {error.strerror}"))
        return found if found is None or found.processes else Gathered(processes, found.remark)

    def _together(self, deadline: float) -> Gathered | None:
        """What this node must sum up; None if nothing. A result without processes stands for the processes of this node alone."""
        while True:
            hosts, ended, in_summary = self._hosts(), self._ended(), self._summed()
            absent = sorted(hosts.keys() - ended)
            if self.node not in ended or (in_summary is not None and self.node in in_summary):
                return None
            if in_summary is not None:
                if not absent:
                    self._remove()
                return Gathered([], alone("it ended after the others had been summed up"))
            if not absent and len(hosts) == 1:
                self._remove()
                return Gathered([], alone(f"the other nodes do not see {self.directory.parent}") if self.elsewhere else "")
            if absent and self._first() != self.node and self._first() in ended:
                return None  # the node of rank 0 waits for the others
            if not absent or time.monotonic() > deadline:
                present = sorted(hosts.keys() & ended)
                if self._claim(present):
                    return self._all(present, [hosts[node] for node in absent])
            else:
                time.sleep(POLL_SECONDS)

    def _all(self, nodes: Sequence[str], absent: Sequence[str]) -> Gathered:
        from blastoff.job.processes import Process

        said = {node: json.loads((self.directory / f"{node}{ENDED}").read_text(encoding="utf-8")) for node in nodes}
        if not absent:
            self._remove()
        everything = [Process(node, report) for node in nodes for report in said[node]["reports"]]
        return Gathered(everything, f"this summary lacks {', '.join(absent)}: not ended yet" if absent else "")


def place(environment: Mapping[str, str]) -> tuple[Path | None, str]:
    """The directory in which nodes may meet, or why there is none."""
    pattern = environment.get("BLASTOFF_REPORT", "")
    folder = Path(pattern).parent
    if not pattern or str(folder).startswith("/dev"):
        return None, "with --report=DIRECTORY/ that all nodes see, there is one for the job"
    if "%" in str(folder):
        return None, f"reports of other nodes are not in one directory ({pattern})"
    return folder, ""


def sweep(folder: Path) -> None:
    """Removes what killed nodes have left behind, after a day."""
    for left in folder.glob(f".blastoff.{os.getuid()}.job-*"):
        with suppress(OSError):
            if runs.is_ours(left) and time.time() - left.stat().st_mtime > runs.LONGEST_LEFT:
                shutil.rmtree(left, ignore_errors=True)


def meet(environment: Mapping[str, str], run: Path, job: str, elsewhere: bool) -> Meeting | Apart:
    """This node among the others of its job. `environment`: the environment of the program, which is a rank. `run`: the run's directory. `job`: the
    name of the job that all nodes know; "" if there is none. `elsewhere`: whether the job is known to have ranks on other nodes."""
    if (environment.get("BLASTOFF_SUMMARY") or "auto") not in ONE_SUMMARY:
        return Apart()
    if not job:
        return Apart(alone("the batch system gives the job no name that all nodes know") if elsewhere else "")
    folder, obstacle = place(environment)
    if folder is None:
        return Apart(alone(obstacle) if elsewhere else "")
    rank = library.global_rank(library.find_library())
    if rank == 0:
        sweep(folder)
    directory = folder / f".blastoff.{os.getuid()}.job-{job}"
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        if not runs.is_ours(directory):
            raise OSError(0, "somebody else's")
        meeting = Meeting(directory, name_of_node(run), time.time(), elsewhere)
        meeting.enter(rank)
    except OSError as error:
        return Apart(alone(f"{directory}: {error.strerror}") if elsewhere else "")
    return meeting

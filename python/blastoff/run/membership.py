"""Which run a launcher belongs to: its own, or the run of an MPI job in which each rank has a launcher."""

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from blastoff import library
from blastoff.job import runs

LONGEST_NAME = 100


def job_name(environment: Mapping[str, str]) -> str | None:
    """A name that all ranks of one job have in common, on all nodes; None if the batch system gives none."""
    name = environment.get("PMIX_NAMESPACE") or environment.get("PALS_APID") or environment.get("FLUX_JOB_ID")
    if not name and environment.get("SLURM_STEP_ID"):
        name = f"{environment.get('SLURM_JOB_ID')}.{environment['SLURM_STEP_ID']}.{environment.get('SLURM_RESTART_COUNT', '0')}"
    return re.sub(r"[^\w.-]", "_", name)[:LONGEST_NAME] if name else None


def job_key(environment: Mapping[str, str]) -> str | None:
    """A name that the ranks of one job have in common on this node; None outside MPI jobs. If the batch system gives no name, the process that
    has started the ranks gives one."""
    if library.global_rank(library.find_library()) < 0:
        return None
    return job_name(environment) or f"{os.getppid()}_{runs.started_after(os.getppid())}"


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[bool]:
    """Holds the lock of the run's directory. Yields False if the run has ended before, so that the path names another directory or none."""
    file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield directory.is_dir() and os.path.samestat(os.fstat(file), directory.stat())
    finally:
        os.close(file)


class Member:
    """This launcher as a member of a run."""

    def __init__(self, directory: Path, entry: Path) -> None:
        self.directory, self.entry = directory, entry

    def leave(self) -> bool:
        """Leaves the run, and returns whether this was its last launcher. The last launcher has renamed the directory, so that nobody can join;
        it reports all processes and removes the directory. Killed launchers do not count."""
        with locked(self.directory):
            own = runs.Launcher.at(self.entry)
            others = any(launcher.alive for launcher in runs.launchers(self.directory) if launcher != own)
            if others or runs.has_strangers(self.directory):
                self.entry.unlink(missing_ok=True)
                return False
            self.directory = self.directory.rename(self.directory.with_name(f"{self.directory.name}.ended-{os.getpid()}"))
            return True

    def remove(self) -> None:
        runs.remove(self.directory)


def _enter(directory: Path, rank: int) -> Member | None:
    """Enters this launcher into the run. Returns None if the run has a running launcher of this rank, and so is another run; if it has just
    ended; or if another version has members in it."""
    entry = directory / f"{runs.LAUNCHER}{rank}"
    try:
        with locked(directory) as present:
            other = runs.Launcher.at(entry)
            if not present or (other is not None and other.alive) or runs.has_strangers(directory):
                return None
            runs.Launcher.this().enter(entry)
    except OSError:
        return None
    return Member(directory, entry)


def join() -> Member | None:
    """Joins the run of this launcher, or begins it; None if no directory can be made for it."""
    with contextlib.suppress(OSError):
        runs.sweep()
    key = job_key(os.environ)
    rank = library.global_rank(library.find_library())
    names = [f"job-{key}"] * 2 if key is not None else []  # twice: the directory of an earlier job of this name may be removed right now
    for name in [*names, f"{os.getpid()}-{time.time_ns()}"]:
        directory = runs.create(name)
        member = _enter(directory, rank) if directory is not None else None
        if member is not None:
            return member
    return None

"""Which run a launcher belongs to: its own, or that of the MPI job whose ranks are each started by a launcher of their own."""

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
    """A name that all ranks of one job have in common, on all nodes; None where the batch system gives none."""
    name = environment.get("PMIX_NAMESPACE") or environment.get("PALS_APID") or environment.get("FLUX_JOB_ID")
    if not name and environment.get("SLURM_STEP_ID"):
        name = f"{environment.get('SLURM_JOB_ID')}.{environment['SLURM_STEP_ID']}.{environment.get('SLURM_RESTART_COUNT', '0')}"
    return re.sub(r"[^\w.-]", "_", name)[:LONGEST_NAME] if name else None


def job_key(environment: Mapping[str, str]) -> str | None:
    """A name that the ranks of one job have in common on this node; None outside MPI jobs. Where the batch system gives no name, it is
    the process that has started the ranks."""
    if library.global_rank(library.find_library()) < 0:
        return None
    return job_name(environment) or f"{os.getppid()}_{runs.started_after(os.getppid())}"


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[bool]:
    """Alone among the launchers of the run; false if the run has ended meanwhile, so that the directory is another one or none."""
    file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield directory.is_dir() and os.path.samestat(os.fstat(file), directory.stat())
    finally:
        os.close(file)


class Member:
    """This launcher in a run."""

    def __init__(self, directory: Path, entry: Path) -> None:
        self.directory, self.entry = directory, entry

    def leave(self) -> bool:
        """Whether this was the last launcher: it reports for all, from a directory that no other can join, and then removes it. A launcher
        that was killed does not count."""
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
    """None if there is a launcher of this rank already: then the run is another one. (Or it has just ended.) None, too, if the run is
    another version's."""
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
    """The run of this launcher; None where no directory for it can be made."""
    with contextlib.suppress(OSError):
        runs.sweep()
    key = job_key(os.environ)
    rank = library.global_rank(library.find_library())
    names = [f"job-{key}"] * 2 if key is not None else []  # what an earlier job of that name has left may go just now
    for name in [*names, f"{os.getpid()}-{time.time_ns()}"]:
        directory = runs.create(name)
        member = _enter(directory, rank) if directory is not None else None
        if member is not None:
            return member
    return None

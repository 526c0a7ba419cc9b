"""Ranks of an MPI job that each run under `blastoff try`: those of a node share one folder for their traces, and the last of them answers for all."""

import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blastoff import library

JOB = ("PMIX_NAMESPACE", "PALS_APID", "FLUX_JOB_ID")
"""Variables with a name that the ranks of a job have in common (src/launcher/membership.cpp)."""
SLURM_JOB = ("SLURM_JOB_ID", "SLURM_STEP_ID")
BEGUN, ENDED = ".begun", ".ended"
LATEST_START, POLL_SECONDS = 2.0, 0.02
"""Seconds after its own start for which a rank waits for the others to start, and seconds between two checks."""


def started_at(pid: int) -> str:
    """When a process began, in the kernel's ticks; "" if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def job_name() -> str:
    """A name that the ranks of this job on this node have in common: the job's, or else that of the process that has started them."""
    environment = os.environ
    names = [environment[name] for name in JOB if environment.get(name)]
    if environment.get("SLURM_STEP_ID"):
        names.append(".".join(environment.get(name, "") for name in SLURM_JOB))
    name = names[0] if names else f"{os.getppid()}_{started_at(os.getppid())}"
    return re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)[:100]


class Rank:
    """This process among the ranks of its node."""

    def __init__(self, folder: Path, ranks: int) -> None:
        self.folder, self.ranks, self.began = folder, ranks, time.monotonic()
        self.name = str(os.getpid())
        (folder / f"{self.name}{BEGUN}").write_text(started_at(os.getpid()), encoding="utf-8")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        file = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    def _begun(self) -> list[Path]:
        return list(self.folder.glob(f"*{BEGUN}"))

    def _runs(self, begun: Path) -> bool:
        """Whether a rank has not ended. One that was killed has."""
        return not begun.with_suffix(ENDED).exists() and started_at(int(begun.stem)) == begun.read_text(encoding="utf-8")

    def is_last(self) -> bool:
        """Ends this rank's part. Whether it is the last one, which answers for all."""
        while len(self._begun()) < self.ranks and time.monotonic() - self.began < LATEST_START:
            time.sleep(POLL_SECONDS)
        with self._locked():
            (self.folder / f"{self.name}{ENDED}").touch()
            return not any(self._runs(begun) for begun in self._begun())

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def join() -> Rank | None:
    """This process as a rank; None if it is no rank, or the only one of its node."""
    path = library.find_library()
    ranks = library.local_size(path)
    if library.global_rank(path) < 0 or ranks < 2:
        return None
    folder = Path(tempfile.gettempdir()) / f"blastoff-try-{os.getuid()}-{job_name()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
        return Rank(folder, ranks) if about.st_uid == os.getuid() and not folder.is_symlink() else None
    except OSError:
        return None

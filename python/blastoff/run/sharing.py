"""Ranks that share a GPU: whether there are any in this job, and one MPS daemon for them.

A launcher that starts the ranks (`blastoff run mpirun ...`) starts the daemon for all of them. If each rank has a launcher
(`mpirun blastoff run ...`), the launchers tell each other in the directory of the run which GPUs they see, and the first one that finds a
shared GPU starts the daemon for the others.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from blastoff import library
from blastoff.errors import CommandError
from blastoff.job import runs
from blastoff.mps import daemon

if TYPE_CHECKING:
    from blastoff.mps.guardian import Member

VIEW, SERVICE = "gpus-", "mps-"
"""Prefixes of the files in which ranks tell which GPUs they see, and of the entries that lead to the daemon."""
LONGEST_WAIT, POLL_SECONDS = 2.0, 0.01
"""Seconds to wait until the other ranks have told what they see, and seconds between two checks. Absent ranks are taken to see the same GPUs."""

MPI_STARTERS = ("mpirun", "mpiexec", "orterun", "prterun")
OTHER_STARTERS = ("srun", "flux")
"""Programs that start the ranks of a job, also under names such as mpiexec.hydra."""
NUMBER_OPTIONS = ("-n", "-np", "--np", "--ntasks")
"""Options that tell these programs how many ranks to start."""
DEFAULT_RANKS = 1_000_000
"""Stands for the number of ranks if the command gives none: as many as the machine or the allocation has room for."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class View:
    """The GPUs that a rank can use. `gpus`: those of this machine or of its control group. `visible`: the list that restricts them
    (CUDA_VISIBLE_DEVICES)."""

    gpus: tuple[str, ...]
    visible: str | None

    @property
    def count(self) -> int:
        return len(self.gpus) if self.visible is None else len([name for name in self.visible.split(",") if name])

    @property
    def key(self) -> str:
        """A name for these GPUs. Processes with the same GPUs use the same daemon."""
        return f"{zlib.crc32(','.join(self.gpus).encode()):08x}"


def own_view(environment: Mapping[str, str]) -> View | None:
    """The GPUs that this process can use; None without a GPU, and for a part of a GPU (MIG), for which no daemon is started."""
    from blastoff.sampling import nvml

    chosen = (environment.get("BLASTOFF_DEVICE") or "").partition(":")[2]  # from cuda:N, cuda:LIST or cuda:all
    visible = chosen.removeprefix("all") or environment.get("CUDA_VISIBLE_DEVICES")
    try:
        gpus = nvml.Nvml()
        view = View(tuple(gpus.identities()), visible)
        gpus.close()
    except nvml.NvmlError:
        return None
    return None if view.count == 0 or (visible or "").startswith("MIG") else view


def wanted(environment: Mapping[str, str]) -> bool:
    """Whether a daemon may be started at all."""
    if environment.get("BLASTOFF_MPS") != "auto" or not (environment.get("BLASTOFF_DEVICE") or "cuda").startswith("cuda"):
        return False
    if environment.get(daemon.PIPES) or daemon.runs(environment):
        return False
    return daemon.control_program(environment) is not None


def number_of_ranks(command: Sequence[str]) -> int | None:
    """How many ranks the command starts, as far as its options tell; None if it starts none."""
    if Path(command[0]).name.split(".")[0] not in MPI_STARTERS + OTHER_STARTERS:
        return None
    total = 0
    for word, following in zip(command[1:], [*command[2:], ""], strict=True):
        option, equals, value = word.partition("=")
        number = value if equals else following
        if option in NUMBER_OPTIONS and number.isdigit():
            total += int(number)
    return total or DEFAULT_RANKS


def shared(views: Sequence[View], own: View, absent: int) -> bool:
    """Whether several of these ranks use the same GPU. Ranks that see the same GPUs take them in turn. The `absent` ranks are taken to see what this
    one sees."""
    same = [view for view in views if view.gpus == own.gpus]
    users = {view.visible: sum(other.visible == view.visible for other in same) + (absent if view == own else 0) for view in same}
    return any(number > View(own.gpus, visible).count for visible, number in users.items())


def views_of(directory: Path, number: int) -> list[View]:
    """The GPUs that the ranks of a job see. Waits until all ranks have told it, but not longer than LONGEST_WAIT."""
    deadline = time.monotonic() + LONGEST_WAIT
    while True:
        found = [json.loads(path.read_text(encoding="utf-8")) for path in directory.glob(f"{VIEW}*") if path.suffix != ".new"]
        if len(found) >= number or time.monotonic() > deadline:
            return [View(tuple(view["gpus"]), view["visible"]) for view in found]
        time.sleep(POLL_SECONDS)


def tell(directory: Path, rank: int, view: View) -> None:
    """Writes down what this rank sees, in one step."""
    path = directory / f"{VIEW}{rank}"
    unfinished = path.with_suffix(".new")
    unfinished.write_text(json.dumps({"gpus": view.gpus, "visible": view.visible}), encoding="utf-8")
    unfinished.rename(path)


def start(environment: Mapping[str, str], say: Say) -> Member | None:
    """Starts a daemon, and says whether that worked."""
    from blastoff.mps import guardian

    try:
        member = guardian.start(environment)
    except (CommandError, OSError) as error:
        say(f"blastoff: NVIDIA MPS could not be started: {error}; processes that share a GPU take turns\n")
        return None
    say("blastoff: NVIDIA MPS started for the ranks that share a GPU; it ends with them\n")
    return member


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[bool]:
    """Holds the lock of the run's directory. Yields False if the run has ended before, so that the path names another directory or none."""
    file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield directory.is_dir() and os.path.samestat(os.fstat(file), directory.stat())
    finally:
        os.close(file)


def one_for_all(directory: Path, view: View, environment: Mapping[str, str], say: Say) -> Member | None:
    """The daemon of the ranks that see these GPUs. The first of these ranks starts it."""
    from blastoff.mps import guardian

    entry = directory / f"{SERVICE}{view.key}"
    with locked(directory) as present:
        if not present:
            return None
        if entry.exists():
            place = entry.read_text(encoding="utf-8")
            return guardian.join(Path(place)) if place else None
        member = start(environment, say)
        entry.write_text(str(member.directory) if member else "", encoding="utf-8")
        return member


def arrange(environment: dict[str, str], command: Sequence[str], directory: Path, say: Say) -> Member | None:
    """Starts an MPS daemon, and tells the program where it is, if ranks of its job share a GPU and no daemon runs. The daemon runs as long as the
    returned member. `directory`: that of the run."""
    if not wanted(environment):
        return None
    path = library.find_library()
    rank, local = library.global_rank(path), library.local_size(path)
    number = (number_of_ranks(command) or 0) if rank < 0 else local
    if number < 2:
        return None
    view = own_view(environment)
    if view is None:
        return None
    if rank < 0:
        service = start(environment, say) if number > view.count else None
    else:
        tell(runs.bulk(directory), rank, view)
        views = views_of(runs.bulk(directory), local)
        service = one_for_all(directory, view, environment, say) if shared(views, view, max(0, local - len(views))) else None
    if service is not None:
        environment[daemon.PIPES] = str(service.pipes)
    return service

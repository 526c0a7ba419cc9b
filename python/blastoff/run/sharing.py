"""Ranks that share a GPU: whether there are any in this job, and one MPS daemon for them.

A launcher that starts the ranks (`blastoff run mpirun ...`) starts the daemon for all of them. Where each rank has a launcher of its own
(`mpirun blastoff run ...`), these tell each other in the directory of the run which GPUs they see, and the first that learns that a GPU
is shared starts the daemon for the others.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from blastoff import library
from blastoff.errors import CommandError
from blastoff.job import runs
from blastoff.mps import daemon
from blastoff.run import membership

if TYPE_CHECKING:
    from blastoff.mps.guardian import Member

VIEW, SERVICE = "gpus-", "mps-"
"""How the files begin in which ranks say which GPUs they see, and where the daemon for these is."""
LONGEST_WAIT, POLL_SECONDS = 2.0, 0.01
"""Seconds to wait for what the other ranks see. Those that do not come are taken to see the same."""

MPI_STARTERS = ("mpirun", "mpiexec", "orterun", "prterun")
OTHER_STARTERS = ("srun", "flux")
"""Programs that start the ranks of a job, also under names such as mpiexec.hydra."""
NUMBER_OPTIONS = ("-n", "-np", "--np", "--ntasks")
"""By which they are told how many."""
DEFAULT_RANKS = 1_000_000
"""Without a number, they start as many as the machine or the allocation has room for."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class View:
    """The GPUs that a rank can use: those of this machine, or of its control group, and what CUDA_VISIBLE_DEVICES leaves of them."""

    gpus: tuple[str, ...]
    visible: str | None

    @property
    def count(self) -> int:
        return len(self.gpus) if self.visible is None else len([name for name in self.visible.split(",") if name])

    @property
    def key(self) -> str:
        """The name of the daemon's entry: processes with the same GPUs have the same daemon."""
        return f"{zlib.crc32(','.join(self.gpus).encode()):08x}"


def own_view(environment: Mapping[str, str]) -> View | None:
    """None where there is no GPU, or a part of one (MIG), which this leaves alone."""
    from blastoff.sampling import nvml

    chosen = (environment.get("BLASTOFF_DEVICE") or "").partition(":")[2]  # of cuda:N, cuda:LIST or cuda:all
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
    """Whether a GPU is used by several of these ranks. Ranks that see the same go round; `absent` ones are taken to see what this one sees."""
    same = [view for view in views if view.gpus == own.gpus]
    users = {view.visible: sum(other.visible == view.visible for other in same) + (absent if view == own else 0) for view in same}
    return any(number > View(own.gpus, visible).count for visible, number in users.items())


def views_of(directory: Path, number: int) -> list[View]:
    """What the ranks of a job see, when all have told it, or after a while."""
    deadline = time.monotonic() + LONGEST_WAIT
    while True:
        found = [json.loads(path.read_text()) for path in directory.glob(f"{VIEW}*") if path.suffix != ".new"]
        if len(found) >= number or time.monotonic() > deadline:
            return [View(tuple(view["gpus"]), view["visible"]) for view in found]
        time.sleep(POLL_SECONDS)


def tell(directory: Path, rank: int, view: View) -> None:
    """The others find the file complete, or not at all."""
    path = directory / f"{VIEW}{rank}"
    unfinished = path.with_suffix(".new")
    unfinished.write_text(json.dumps({"gpus": view.gpus, "visible": view.visible}))
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


def one_for_all(directory: Path, view: View, environment: Mapping[str, str], say: Say) -> Member | None:
    """The daemon of the ranks that see these GPUs: the first of them starts it."""
    from blastoff.mps import guardian

    entry = directory / f"{SERVICE}{view.key}"
    with membership.locked(directory) as present:
        if not present:
            return None
        if entry.exists():
            place = entry.read_text()
            return guardian.join(Path(place)) if place else None
        member = start(environment, say)
        entry.write_text(str(member.directory) if member else "")
        return member


def arrange(environment: dict[str, str], command: Sequence[str], member: membership.Member | None, say: Say) -> Member | None:
    """Lets the program find an MPS daemon, if ranks of its job share a GPU and no daemon runs. The daemon runs while the member is there."""
    if member is None or not wanted(environment):
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
        tell(runs.bulk(member.directory), rank, view)
        views = views_of(runs.bulk(member.directory), local)
        service = one_for_all(member.directory, view, environment, say) if shared(views, view, max(0, local - len(views))) else None
    if service is not None:
        environment[daemon.PIPES] = str(service.pipes)
    return service

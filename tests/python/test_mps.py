"""A private MPS daemon for ranks that share a GPU, with stand-ins for NVIDIA's programs: which process starts it, uses it, and ends it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import offload
import pytest
from blastoff.mps import daemon, guardian
from blastoff.run import sharing
from blastoff.run.sharing import View
from blastoff.sampling import nvml
from command_rig import changed_helper, clean_environment

MPIRUN = """#!/bin/sh
# mpirun -n N COMMAND: so many ranks, at once.
shift; count=$1; shift; rank=0
while [ $rank -lt $count ]; do
  OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_LOCAL_RANK=$rank OMPI_COMM_WORLD_LOCAL_SIZE=$count PMIX_NAMESPACE=job "$@" &
  rank=$((rank + 1))
done
wait
"""
SEEN = 'test -n "$CUDA_MPS_PIPE_DIRECTORY" && test -e "$CUDA_MPS_PIPE_DIRECTORY/control"; echo "$OMPI_COMM_WORLD_RANK $? $CUDA_MPS_PIPE_DIRECTORY"'
"""The program of a rank. Prints its rank, 0 if it finds a daemon, and the daemon's directory."""
LAUNCHER = [sys.executable, "-m", "blastoff", "run"]


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory):
    """A folder with a stand-in for NVML."""
    folder = tmp_path_factory.mktemp("nvidia")
    source = offload.ROOT / "tests" / "python" / "memory" / "fake_nvml.c"
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", str(source), "-o", str(folder / nvml.LIBRARY)], check=True)
    return folder


class Node:
    """A machine with GPUs."""

    def __init__(self, folder: Path, stand_ins: Path) -> None:
        self.folder, self.log = folder, folder / "mps.log"
        commands = self.without_control("bin")
        (commands / daemon.CONTROL).symlink_to(offload.ROOT / "tests" / "python" / "mps" / daemon.CONTROL)
        (folder / "place").mkdir()
        self.environment = clean_environment() | {
            "PATH": f"{commands}:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": str(stand_ins),
            "FAKE_NVML": str(folder / "gpus"),
            "FAKE_MPS": str(self.log),
            "XDG_RUNTIME_DIR": str(folder / "place"),
            "BLASTOFF_MPS": "auto",
        }
        self.environment.pop("CUDA_VISIBLE_DEVICES", None)
        self.has_gpus(1)

    def without_control(self, name: str = "other") -> Path:
        """A folder that contains only mpirun."""
        commands = self.folder / name
        commands.mkdir()
        (commands / "mpirun").write_text(MPIRUN)
        (commands / "mpirun").chmod(0o755)
        return commands

    def has_gpus(self, count: int) -> None:
        (self.folder / "gpus").write_text(f"gpus {count}\n")

    def start(self, *command: str, **changes: str) -> subprocess.Popen:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, env=self.environment | changes, text=True, start_new_session=True, **pipes)

    def run(self, *command: str, **changes: str) -> tuple[list[str], str]:
        """Runs ranks. Returns their output in order, and stderr."""
        process = self.start(*command, **changes)
        said, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        return sorted(said.splitlines()), errors

    def happened(self, awaited: str = "") -> list[str]:
        """The daemon's actions, after it has done the awaited one."""
        deadline = time.monotonic() + 30
        while True:
            told = self.log.read_text().splitlines() if self.log.exists() else []
            if not awaited or awaited in told:
                return told
            assert time.monotonic() < deadline, told
            time.sleep(0.02)

    def is_clean(self) -> bool:
        """Whether the daemon's directory has been removed, which the guardian does last."""
        pipes = Path(self.happened()[0].removeprefix("started "))
        deadline = time.monotonic() + 30
        while pipes.parent.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        return not pipes.parent.exists() and list((self.folder / "place").iterdir()) == []


@pytest.fixture
def node(tmp_path, stand_ins):
    return Node(tmp_path, stand_ins)


def test_a_launcher_before_mpirun_starts_one_for_all_ranks(node):
    said, errors = node.run(*LAUNCHER, "mpirun", "-n", "3", "sh", "-c", SEEN)
    assert errors.count("NVIDIA MPS started for the ranks that share a GPU") == 1
    (pipes,) = {line.split(" ", 2)[2] for line in said}
    assert [line.split()[:2] for line in said] == [["0", "0"], ["1", "0"], ["2", "0"]]
    assert (node.folder / "gpus").read_text().count("closed") == 1, "the launcher closes all files, also those of NVML"
    assert node.happened("quit") == [f"started {pipes}", "quit"]
    assert node.is_clean()


def test_of_launchers_after_mpirun_one_starts_it(node):
    said, errors = node.run("mpirun", "-n", "6", *LAUNCHER, "sh", "-c", f"{SEEN}; sleep 0.$((OMPI_COMM_WORLD_RANK % 3))")
    assert errors.count("NVIDIA MPS started") == 1
    (pipes,) = {line.split(" ", 2)[2] for line in said}
    assert [line.split()[:2] for line in said] == [[str(rank), "0"] for rank in range(6)]
    assert node.happened("quit") == [f"started {pipes}", "quit"]
    assert node.is_clean()


@pytest.mark.parametrize("killed", ["ranks", "guardian"])
def test_killed_ranks_and_a_killed_guardian_leave_no_daemon(node, killed):
    job = node.start("mpirun", "-n", "3", *LAUNCHER, "sh", "-c", f"{SEEN}; exec sleep 60")
    for _ in range(3):
        job.stdout.readline()
    if killed == "ranks":
        os.killpg(job.pid, signal.SIGKILL)
        assert node.happened("quit")[1:] == ["quit"]
    else:
        control = int((Path(node.happened()[0].removeprefix("started ")) / f"{daemon.CONTROL}.pid").read_text())
        keeper = int(Path(f"/proc/{control}/stat").read_text().rpartition(")")[2].split()[1])
        assert Path(f"/proc/{keeper}/comm").read_text() == "blastoff-mps\n"
        os.kill(keeper, signal.SIGKILL)
        assert node.happened("terminated")[1:] == ["terminated"]
        os.killpg(job.pid, signal.SIGKILL)
    job.communicate(timeout=30)


def test_a_daemon_that_does_not_quit_is_ended(node):
    said, _ = node.run(
        *LAUNCHER,
        *("mpirun", "-n", "2", "sh", "-c", SEEN),
        FAKE_MPS_STUBBORN="1",
        **changed_helper(node.folder / "changes", "from blastoff.mps import guardian; guardian.END_SECONDS = 0.2"),
    )
    assert len(said) == 2
    assert node.happened("terminated")[1:] == ["terminated"]
    assert node.is_clean()


def test_a_daemon_that_cannot_start(node):
    said, errors = node.run(*LAUNCHER, "mpirun", "-n", "2", "sh", "-c", SEEN, FAKE_MPS_FAILS="no room for a server")
    assert "NVIDIA MPS could not be started: no room for a server; processes that share a GPU take turns" in errors
    assert said == ["0 1 ", "1 1 "] and node.happened() == []


@pytest.mark.parametrize("way", ["before", "after"])
def test_none_is_started_where_none_is_needed(node, tmp_path, way):
    def ran(count: int = 2, options: tuple[str, ...] = (), **changes: str) -> list[str]:
        mpirun = ["mpirun", "-n", str(count)]
        launcher = [*LAUNCHER, *options]
        said, errors = node.run(*([*launcher, *mpirun] if way == "before" else [*mpirun, *launcher]), "sh", "-c", SEEN, **changes)
        assert "NVIDIA MPS" not in errors
        return said

    alone = ["0 1 ", "1 1 "]
    assert ran(options=("--mps=off",)) == alone
    assert ran(BLASTOFF_MPS="") == alone, "the default"
    assert ran(options=("--device=simulated",)) == alone
    assert ran(FAKE_NVML="/none") == alone
    assert ran(PATH=f"{node.without_control()}:{os.environ['PATH']}") == alone
    assert ran(count=1) == alone[:1]
    assert ran(CUDA_MPS_PIPE_DIRECTORY=str(tmp_path)) == [f"0 1 {tmp_path}", f"1 1 {tmp_path}"]
    node.has_gpus(2)
    assert ran() == alone
    assert node.happened() == []


def test_ranks_with_gpus_of_their_own_need_none():
    four = ("a", "b", "c", "d")
    own = [View(four, str(number)) for number in range(4)]
    assert not any(sharing.shared(own, view, 0) for view in own), "CUDA_VISIBLE_DEVICES of a batch system"
    apart = [View((name,), "0") for name in four]
    assert not any(sharing.shared(apart, view, 0) for view in apart), "a control group for each"
    together = [View(four, None)] * 5
    assert sharing.shared(together, together[0], 0) and not sharing.shared(together[1:], together[0], 0)
    assert sharing.shared(together[:2], together[0], 3), "ranks that have not come yet"
    assert sharing.shared([*own, View(four, "2")], own[0], 0), "two on one of the four: all must use the server"


@pytest.mark.parametrize(
    ("command", "number"),
    [
        ("mpirun -n 4 ./a", 4),
        ("/usr/bin/mpiexec.hydra -np 3 ./a", 3),
        ("mpirun -n 2 ./a : -n 3 ./b", 5),
        ("srun --ntasks=8 ./a", 8),
        ("flux run -n 2 ./a", 2),
        ("mpirun ./a", sharing.DEFAULT_RANKS),
        ("./mpirun_like -n 4", None),
    ],
)
def test_the_number_of_ranks(command, number):
    assert sharing.number_of_ranks(command.split()) == number


def test_daemons_that_were_killed_do_not_count(tmp_path):
    assert not daemon.answers(tmp_path)
    (tmp_path / "control").touch()
    assert daemon.answers(tmp_path)
    pid = tmp_path / f"{daemon.CONTROL}.pid"
    pid.write_text(str(os.getpid()))
    assert daemon.answers(tmp_path)
    pid.write_text("999999999")
    assert not daemon.answers(tmp_path)
    assert guardian.join(tmp_path / "ended") is None

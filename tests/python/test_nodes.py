"""One summary for a job on several nodes. Launchers with a separate place for run directories stand for a separate node."""

import copy
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import offload
import pytest
from blastoff.job.processes import Process, in_order
from blastoff.job.view import words
from blastoff.run import nodes
from command_rig import changed_helper, clean_environment

PRODUCTS = str(offload.PROGRAMS / "products")

needs_programs = pytest.mark.skipif(not os.path.exists(PRODUCTS), reason="the scenario programs are not built: no BLAS to link against")

PROGRAM = """
import ctypes, os, pathlib, sys, time
folder, ranks, seconds = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
rank = int(os.environ["PMIX_RANK"])
blas = ctypes.CDLL("libblas.so.3")
n, one = ctypes.byref(ctypes.c_int(8)), ctypes.byref(ctypes.c_double(1))
a, b, c = ((ctypes.c_double * 64)() for _ in range(3))
for _ in range(10 + rank):
    blas.dgemm_(b"N", b"N", n, n, n, one, a, n, b, n, one, c, n)
(folder / f"ready-{rank}").touch()
while not all((folder / f"ready-{each}").exists() for each in range(ranks)):
    time.sleep(0.01)
if rank < len(seconds) and seconds[rank] == "go":
    while not (folder / "go").exists():
        time.sleep(0.01)
elif rank < len(seconds):
    time.sleep(float(seconds[rank]))
"""


class Job:
    """Ranks on simulated nodes, two on each. `wait`: seconds for which the node of rank 0 waits."""

    def __init__(self, folder: Path, ranks: int = 4, wait: float = 20, shared: bool = True, variables: dict[str, str] | None = None) -> None:
        self.folder, self.ranks, self.shared = folder, ranks, shared
        self.variables = {"PMIX_NAMESPACE": "job@7", "OMPI_COMM_WORLD_SIZE": str(ranks), "OMPI_COMM_WORLD_LOCAL_SIZE": "2"} | (variables or {})
        self.variables |= changed_helper(folder / "changes", f"from blastoff.run import nodes; nodes.LONGEST_WAIT = {wait}")
        (folder / "program.py").write_text(PROGRAM)

    def reports(self, rank: int) -> Path:
        return self.folder / ("reports" if self.shared else f"reports-{rank // 2}")

    def start(self, rank: int, seconds: list[float | str], report: bool = True) -> subprocess.Popen:
        place = self.folder / f"node-{rank // 2}"
        place.mkdir(exist_ok=True)
        environment = clean_environment() | self.variables | {"XDG_RUNTIME_DIR": str(place), "PMIX_RANK": str(rank)}
        environment["LD_LIBRARY_PATH"] = str(offload.REFERENCE_BLAS)
        given = [f"--report={self.reports(rank)}/"] if report else []
        program = [sys.executable, str(self.folder / "program.py"), str(self.folder), str(self.ranks), *map(str, seconds)]
        command = [sys.executable, "-m", "blastoff", "run", "--device=none", *given, "--", *program]
        return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)

    def run(self, seconds: list[float | str], **options) -> list[str]:
        """The output of each rank's launcher."""
        started = [self.start(rank, seconds, **options) for rank in range(self.ranks)]
        return [process.communicate(timeout=60)[1] for process in started]

    def left(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("reports*/.*"))


def calls(text: str) -> int:
    return int(next(line for line in text.splitlines() if line.split()[:1] == ["dgemm"]).split()[1])


@needs_programs
@pytest.mark.parametrize(
    "seconds", [[0, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]], ids=["together", "node of rank 0 last", "node of rank 0 first"]
)
def test_one_summary_for_a_job_on_two_nodes(tmp_path, seconds):
    job = Job(tmp_path)
    said = job.run(seconds)
    (summary,) = [text for text in said if text]
    assert calls(summary) == 10 + 11 + 12 + 13 and "alone" not in summary and "lacks" not in summary
    assert all(f"rank {rank}" in summary for rank in range(4)), summary
    assert len(list((tmp_path / "reports").glob("*.json"))) == 4
    assert job.left() == []


@needs_programs
def test_three_nodes(tmp_path):
    job = Job(tmp_path, ranks=6)
    said = [text for text in job.run([]) if text]
    assert len(said) == 1, said
    (summary,) = said
    assert calls(summary) == sum(10 + rank for rank in range(6)) and job.left() == []


@needs_programs
def test_a_directory_that_is_not_shared(tmp_path):
    job = Job(tmp_path, shared=False)
    summaries = [text for text in job.run([]) if text]
    assert sorted(map(calls, summaries)) == [21, 25]
    for text in summaries:
        assert f"this summary is of {os.uname().nodename} alone: the other nodes do not see {tmp_path}/reports-" in text
    assert job.left() == []


@needs_programs
def test_without_a_report(tmp_path):
    summaries = [text for text in Job(tmp_path).run([], report=False) if text]
    assert sorted(map(calls, summaries)) == [21, 25]
    assert all("alone: with --report=DIRECTORY/ that all nodes see, there is one for the job" in text for text in summaries)


@needs_programs
def test_a_job_on_one_node_says_nothing_of_nodes(tmp_path):
    job = Job(tmp_path, ranks=2)
    (summary,) = [text for text in job.run([]) if text]
    assert calls(summary) == 21 and "alone" not in summary and job.left() == []


@needs_programs
@pytest.mark.parametrize("first", [0, 2], ids=["of rank 0", "another one"])
def test_a_node_that_is_killed(tmp_path, first):
    """The other nodes are summed up all the same, and the summary names the missing node."""
    job = Job(tmp_path, ranks=6, wait=1)
    killed = (first, first + 1)
    started = [job.start(rank, [60 if each in killed else 0 for each in range(6)]) for rank in range(6)]
    deadline = time.monotonic() + 30
    while len(list(tmp_path.glob("ready-*"))) < 6 and time.monotonic() < deadline:
        time.sleep(0.01)
    for rank in killed:
        started[rank].send_signal(signal.SIGKILL)
    said = [process.communicate(timeout=30)[1] for process in started]
    (summary,) = [text for text in said if text]
    assert (
        calls(summary) == sum(10 + rank for rank in range(6) if rank not in killed)
        and f"this summary lacks {os.uname().nodename}: not ended yet" in summary
    )


@needs_programs
def test_a_node_that_ends_long_after_the_others(tmp_path):
    job = Job(tmp_path, wait=0.2)
    started = [job.start(rank, [0, 0, "go", "go"]) for rank in range(4)]
    said = [process.communicate(timeout=60)[1] for process in started[:2]]
    (tmp_path / "go").touch()
    said += [process.communicate(timeout=60)[1] for process in started[2:]]
    first, last = [text for text in said if text]
    assert (calls(first), calls(last)) == (21, 25)
    assert "this summary lacks" in first and "alone: it ended after the others had been summed up" in last
    assert job.left() == [], "nothing stays behind"


@needs_programs
def test_what_an_earlier_job_of_that_name_left(tmp_path):
    """Entries of an earlier job do not count, and nobody waits for them."""
    job = Job(tmp_path)
    left = tmp_path / "reports" / f".blastoff.{os.getuid()}.job-job_7"
    left.mkdir(mode=0o700, parents=True)
    (left / "gone-1.present").write_text('{"began": 1e9, "host": "gone"}')
    (left / "gone-1.ended").write_text('{"reports": []}')
    (left / "summed-up").write_text("gone-1")
    os.utime(left / "summed-up", (1e9, 1e9))
    (summary,) = [text for text in job.run([]) if text]
    assert calls(summary) == 46 and "gone" not in summary and job.left() == []


def test_where_nodes_may_meet():
    assert nodes.place({"BLASTOFF_REPORT": "/scratch/reports/%h-%p.json"}) == (Path("/scratch/reports"), "")
    assert nodes.place({"BLASTOFF_REPORT": "/scratch/%h/%r.json"})[0] is None
    assert nodes.place({"BLASTOFF_REPORT": "/dev/stdout"})[0] is None
    assert nodes.place({})[0] is None


def test_only_one_node_sums_up(tmp_path):
    both = [nodes.Meeting(tmp_path, name, time.time(), True) for name in ("a-1", "b-2")]
    assert [meeting._claim(["a-1", "b-2"]) for meeting in both] == [True, False]
    assert both[1]._summed() == ["a-1", "b-2"]


def test_a_node_that_still_writes_when_the_directory_goes(tmp_path, monkeypatch):
    """Its file comes after the directory was listed, so that the directory is not empty when it is to be removed."""
    meeting = nodes.Meeting(tmp_path / "meeting", "a-1", time.time(), True)
    meeting.directory.mkdir()
    remove, late = nodes.shutil.rmtree, []

    def removing(path, **options):
        if not late:
            late.append(path / "b-2.tmp")
            return late[0].touch()
        return remove(path, **options)

    monkeypatch.setattr(nodes.shutil, "rmtree", removing)
    meeting._remove()
    assert late and list(tmp_path.iterdir()) == []


def test_nodes_are_counted(report):
    processes = []
    for rank, host in enumerate(("n1", "n1", "n2")):
        one = copy.deepcopy(report)
        one["process"] |= {"host": host, "rank": rank}
        processes.append(Process("", one))
    assert ("processes", "3 on 2 nodes") in words.facts(in_order(processes))
    assert ("processes", "2") in words.facts(in_order(processes[:2]))


@pytest.fixture
def two_nodes(tmp_path):
    directory = tmp_path / "job"
    directory.mkdir()
    first, second = (nodes.Meeting(directory, name, time.time(), True) for name in ("a-1", "b-2"))
    first.enter(0)
    second.enter(2)
    return first, second


def test_a_node_that_another_sums_up_while_it_looks(two_nodes, monkeypatch):
    """The other node finishes, and removes the directory, when this one has seen that all nodes have ended."""
    first, second = two_nodes
    claim, found = nodes.Meeting._claim, []

    def claim_late(meeting: nodes.Meeting, names: list[str]) -> bool:
        if meeting is second:
            found.append(first.gather([Process("a", {})]))
        return claim(meeting, names)

    monkeypatch.setattr(nodes.Meeting, "_claim", claim_late)
    monkeypatch.setattr(nodes, "LONGEST_WAIT", 0)
    assert second.gather([Process("b", {})]) is None
    assert [len(each.processes) for each in found] == [2] and not first.directory.exists()


def test_a_node_that_another_sums_up_while_it_lists_the_directory(two_nodes, monkeypatch):
    first, second = two_nodes
    glob, found = Path.glob, []

    def glob_late(path: Path, pattern: str):
        monkeypatch.setattr(Path, "glob", glob)
        found.append(first.gather([Process("a", {})]))
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(Path, "glob", glob_late)
    assert second.gather([Process("b", {})]) is None
    assert [len(each.processes) for each in found] == [2] and not first.directory.exists()


def test_two_nodes_that_claim_at_once(two_nodes, monkeypatch):
    """Neither has seen the other's claim."""
    first, second = two_nodes
    monkeypatch.setattr(nodes.Meeting, "_summed", lambda meeting: None)
    assert first._claim(["a-1", "b-2"])
    assert not second._claim(["a-1", "b-2"])

"""Distributed calls that several ranks make for all, each on a GPU of its own: by a fake NCCL, cuSOLVERMp and cuBLASMp."""

import json
import os
import re

import mpi
import offload
import pytest

FAKE = offload.FAKE_GPU
LAUNCHER = [
    offload.COMMAND,
    "run",
    "--device=cuda",
    "--start=now",
    "--min-size=0",
    "--policy=first-use",
    "--gather=always",
    "--gather-gpus=all",
    "--summary=never",
]
TOGETHER = "solved by all ranks together"
FAILED = "the device failed"
CALLS = (2, 2, 7, 200, 60)  # on 2 x 2 ranks: a seed, the number of calls, the largest order
FEWER = (*CALLS[:3], 80, CALLS[4])
CALLED = ("gemm", "syrk", "trsm", "potrf", "potrs", "posv", "getrf", "gesv", "trmm")
LONGEST_AFTER_DEATH = 2  # seconds
LONGEST_AFTER_LOSS = 3  # a rank that waited for one that does not answer would wait for ten
# Memory that may not have its full size is not shared. The file of the fake NCCL is smaller.
APART = ("prlimit", "--fsize=300000000:300000000")
SPECTRAL = ("sygst", "hegst", "syev", "heev", "syevd", "heevd")


@pytest.fixture(autouse=True)
def fake(device, fake_gpu):
    if device != "simulated":
        pytest.skip("the ranks use the fake GPUs")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mpi")


LIBRARY = mpi.OPENMPI


def program_in(folder, library=LIBRARY):
    return library.compiled("distributed_calls", folder, f"scalapack-{library.name}")


def record(folder, library, ranks, calls, called=CALLED):
    """The memory of a job without Blastoff, after each of its random calls."""
    memory = folder / f"memory-{library.name}-{ranks}"
    done = mpi.run([*library.ranks(ranks), program_in(folder, library), *calls, "record", memory, *called], library.environment(folder))
    assert done.returncode == 0, done.stderr
    return memory


@pytest.fixture(scope="module")
def recorded(folder):
    return record(folder, LIBRARY, 4, CALLS)


class Job:
    """A job that makes the same calls, and compares its memory. `nodes`: the ranks believe that they run on so many nodes."""

    def __init__(
        self,
        folder,
        path,
        recorded,
        settings=(),
        gpus=2,
        called=CALLED,
        before=(),
        of_second=(),
        ends=True,
        nodes=1,
        library=LIBRARY,
        ranks=4,
        calls=CALLS,
        **environment,
    ):
        program = [program_in(folder, library), *calls, "compare", recorded, *called]
        shares = APART if nodes > 1 else ()
        command = [*shares, *before, *LAUNCHER, *settings, f"--report={path}/reports/"]
        command = [*library.ranks(1), *command, *program, ":", "-n", 1, *command, *of_second, *program, ":", "-n", ranks - 2, *command, *program]
        gpu = {"LD_LIBRARY_PATH": f"{FAKE}:{os.environ.get('LD_LIBRARY_PATH', '')}", "BLASTOFF_CUDA_PATH": str(FAKE), "FAKE_GPU_COUNT": str(gpus)}
        environment = library.environment(folder) | gpu | environment
        if nodes > 1:
            environment |= mpi.on_nodes(folder, environment, ranks // nodes)
        self.ranks = ranks
        self.done = mpi.run(command, environment, timeout=60)
        if not ends:
            return
        assert (self.done.stdout, self.done.returncode) == ("same\n", 0), self.done.stdout + self.done.stderr
        self.lines = [line for line in self.done.stderr.splitlines() if line.startswith("blastoff")]
        read = [json.loads(file.read_text()) for file in (path / "reports").glob("*.json")]
        self.reports = {report["process"]["rank"]: report for report in read}

    def of_first(self, reason) -> int:
        return sum(entry["calls"] for entry in self.reports[0]["refusals"] if entry["reason"] == reason)

    def because(self, reason) -> int:
        """The calls of which all ranks give this reason."""
        of_ranks = {rank: sum(entry["calls"] for entry in report["refusals"] if entry["reason"] == reason) for rank, report in self.reports.items()}
        assert len(of_ranks) == self.ranks and len(set(of_ranks.values())) == 1, of_ranks
        return of_ranks[0]


LIBRARIES = {"two": (2, {}), "two with all pivots": (2, {"FAKE_PIVOTS": "1"}), "two without INFO": (2, {"FAKE_SINGULAR_TOLD": "0"}), "four": (4, {})}


@pytest.mark.parametrize(("gpus", "library"), LIBRARIES.values(), ids=LIBRARIES)
def test_a_team_makes_calls_for_all(gpus, library, recorded, folder, tmp_path):
    """What its libraries do not offer, one GPU computes. Matrices that are not definite or are singular are left to the original, also if
    the library does not say so. It may give each member the pivots of its own columns, or all."""
    job = Job(folder, tmp_path, recorded, gpus=gpus, **library)
    assert job.lines == []
    assert job.because(offload.BY_SEVERAL_RANKS) >= 20 and job.because(offload.BY_ONE_RANK) >= 3
    assert job.of_first(TOGETHER) >= 3


@pytest.mark.parametrize("gpus", [2, 4])
def test_a_team_solves_eigenproblems(gpus, folder, tmp_path):
    """The calls check their results themselves. Upper triangles are for one GPU."""
    for rank in range(4):
        (tmp_path / f"nothing.{rank}").touch()
    job = Job(folder, tmp_path, tmp_path / "nothing", gpus=gpus, called=SPECTRAL)
    assert job.lines == []
    assert job.because(offload.BY_SEVERAL_RANKS) >= 3 and job.because(offload.BY_ONE_RANK) >= 5


def test_doctor_names_the_libraries():
    gpu = {"LD_LIBRARY_PATH": f"{FAKE}:{os.environ.get('LD_LIBRARY_PATH', '')}", "BLASTOFF_CUDA_PATH": str(FAKE), "BLASTOFF_DEVICE": "cuda"}
    found = json.loads(mpi.run([offload.COMMAND, "doctor", "--json"], gpu).stdout)
    (text,) = (finding["text"] for finding in found["findings"] if finding["subject"] == "several GPUs")
    assert (
        "NCCL 2.28.3; p?potrf, p?potrs, p?posv, p?getrf, p?gesv, p?syev, p?syevd, p?sygst: cuSOLVERMp 0.7.2; p?gemm, p?trsm, p?syrk: cuBLASMp 0.7.0"
        in text
    )


@pytest.mark.parametrize("settings", [["--gather-gpus=one"], ["--verify=report"]], ids=lambda settings: settings[0])
def test_nothing_asks_for_a_team(settings, recorded, folder, tmp_path):
    job = Job(folder, tmp_path, recorded, settings, calls=FEWER)
    assert job.because(offload.BY_SEVERAL_RANKS) == 0 < job.because(offload.BY_ONE_RANK)


def test_auto_takes_all_gpus_for_what_does_not_fit_one(recorded, folder, tmp_path):
    job = Job(folder, tmp_path, recorded, ["--gather-gpus=auto", "--device-memory=40K"])
    assert job.because(offload.BY_SEVERAL_RANKS) > 0 < job.because(offload.BY_ONE_RANK)


FAILURES = {"NCCL": {"FAKE_NCCL_RESULT": "3"}, "version": {"FAKE_CUBLASMP_VERSION": "600"}}
REASONS = {"NCCL": "ncclCommInitRank: an error of the fake NCCL", "version": "cuBLASMp 0.7 or newer is needed"}


@pytest.mark.parametrize("failure", FAILURES)
def test_without_a_team_one_gpu_makes_the_calls(failure, recorded, folder, tmp_path):
    """One line of each member says why."""
    job = Job(folder, tmp_path, recorded, calls=FEWER, **FAILURES[failure])
    assert job.because(offload.BY_ONE_RANK) > 0
    assert 1 <= len(job.lines) <= 2 and all(REASONS[failure] in line for line in job.lines), job.lines


def test_no_member_waits_for_one_that_has_failed(recorded, folder, tmp_path):
    """One member waits within its library for the other, which has left. Then all ranks make the call together, and later ones run on one GPU."""
    job = Job(folder, tmp_path, recorded, calls=FEWER, FAKE_TEAM_FAILS="1")
    assert job.because(offload.BY_SEVERAL_RANKS) == 0 < job.because(offload.BY_ONE_RANK)
    assert len(job.lines) == 2 and any("another member has given up" in line for line in job.lines), job.lines


DIFFERENT = ("--device=none", "--device=simulated", "--device=cuda:1", "--gather-gpus=one")


@pytest.mark.parametrize("setting", DIFFERENT)
def test_a_member_that_thinks_otherwise(setting, recorded, folder, tmp_path):
    """One that may not use every GPU leaves the calls to one GPU. The first rank alone chooses who makes a call."""
    job = Job(folder, tmp_path, recorded, of_second=[setting], calls=FEWER)
    by_several = job.because(offload.BY_SEVERAL_RANKS)
    assert job.because(offload.BY_ONE_RANK) > 0 and (by_several > 0) == (setting == "--gather-gpus=one"), by_several


@pytest.mark.parametrize("rank", [0, 1])
def test_no_member_waits_for_one_that_has_died(rank, recorded, folder, tmp_path):
    """The ranks ignore the launcher's SIGTERM, so that each leaves its library itself. The launcher kills them later."""
    program = ["sh", "-c", "trap '' TERM; exec \"$@\"", "sh"]
    job = Job(folder, tmp_path, recorded, before=program, ends=False, FAKE_TEAM_DIES=f"{rank} call 1", OMPI_MCA_odls_base_sigkill_timeout="3")
    assert job.done.returncode != 0 and "same" not in job.done.stdout
    assert job.done.when("leaves") - job.done.when("dies") < LONGEST_AFTER_DEATH


DEATHS = ("1 in 4", "0 out 3", "1 end 1")


@pytest.mark.parametrize(("death", "nodes"), offload.in_turns(DEATHS, [1, 2]))
def test_a_job_ends_when_a_member_dies(death, nodes, recorded, folder, tmp_path):
    """While it copies its part, or after the library's call. The launcher of Open MPI takes a second to end the others."""
    job = Job(folder, tmp_path, recorded, nodes=nodes, ends=False, FAKE_TEAM_DIES=death)
    assert job.done.returncode != 0 and "same" not in job.done.stdout
    assert job.done.ended - job.done.when("dies") < 1 + LONGEST_AFTER_DEATH


def distributed_calls(job, member) -> tuple[dict[int, list[tuple[str, float]]], int]:
    """What became of each rank's calls, with their seconds, from their log. And which of them a GPU was lost in, or before."""
    units = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
    calls, lost = {rank: [] for rank in range(job.ranks)}, {}
    for line in job.done.stderr.splitlines():
        if line.startswith("loses at "):
            lost = {rank: len(made) for rank, made in calls.items()}
        elif call := re.search(r"rank (\d+) [\d.]+ s: p\w+_: CPU \((.*)\), ([\d.]+) (\w+)$", line):
            calls[int(call[1])].append((call[2], float(call[3]) * units[call[4]]))
    return calls, lost[member]


LOSSES = {
    "copies in": ("in 4", offload.BY_ONE_RANK),
    "the call": ("call 3", FAILED),
    "the call, which others make": ("end 2", FAILED),
    "copies out": ("out 9", FAILED),
    "its own product": ("own 4", offload.BY_ONE_RANK),
}


MEMBERS = {"the first": (1, 0), "the first of two nodes": (2, 0), "another": (1, 1), "one on the other node": (2, 2)}


@pytest.mark.parametrize(("place", "lost"), offload.in_turns(LOSSES, MEMBERS))
def test_a_gpu_of_a_team_is_lost(place, lost, recorded, folder, tmp_path):
    """All ranks make the call together, or the first one makes it for all if its GPU is not lost and nothing has been computed. Later calls
    need no team. Every result is right."""
    (loss, becomes), (nodes, member) = LOSSES[place], MEMBERS[lost]
    own = {"OWN_PRODUCTS": "1"} if "own" in loss else {}
    job = Job(folder, tmp_path, recorded, ["--log=calls"], nodes=nodes, calls=FEWER, FAKE_TEAM_LOSES=f"{member} {loss}", **own)
    calls, number = distributed_calls(job, member)
    assert {len(made) for made in calls.values()} == {len(calls[0])}
    why, _ = calls[0][number]
    assert why == (FAILED if member == 0 else becomes), why
    assert all(made[number][1] < LONGEST_AFTER_LOSS for made in calls.values()), [made[number] for made in calls.values()]
    later = [why for why, _ in calls[0][number + 1 :]]
    assert offload.BY_SEVERAL_RANKS not in later and (offload.BY_ONE_RANK in later) == (member != 0)


SMALL = ("--device-memory=20K",)
NODES = {"three": (mpi.OPENMPI, 3, 1, (2, 3, 11, 200), (*CALLED, *SPECTRAL), ()), "two": (mpi.MPICH, 2, 2, (2, 2, 7, 100), CALLED, SMALL)}


@pytest.mark.parametrize(("library", "nodes", "gpus", "calls", "called", "settings"), NODES.values(), ids=NODES)
def test_a_team_of_several_nodes_makes_calls_for_all(library, nodes, gpus, calls, called, settings, folder, tmp_path):
    """GPUs of different nodes have the same names. On three nodes every other rank is a member. On two, the team makes what does not fit one
    GPU."""
    calls, ranks = (*calls, 60), 2 * nodes
    memory = record(folder, library, ranks, calls, called)
    job = Job(folder, tmp_path, memory, settings, gpus, called, nodes=nodes, library=library, ranks=ranks, calls=calls, FAKE_SINGULAR_TOLD="0")
    assert job.lines == []
    assert job.because(offload.BY_SEVERAL_RANKS) >= (1 if settings else 20) and job.because(offload.BY_ONE_RANK) >= 3
    assert settings or job.of_first(TOGETHER) >= 1


def test_auto_forms_no_team_of_several_nodes(recorded, folder, tmp_path):
    job = Job(folder, tmp_path, recorded, ["--gather-gpus=auto", *SMALL], nodes=2, calls=FEWER)
    assert job.because(offload.BY_SEVERAL_RANKS) == 0 < job.because(offload.BY_ONE_RANK)


ACROSS = {"library": (("env", "FAKE_CUBLASMP_VERSION=600"), {}), "GPU": (("--device=none",), {}), "failure": ((), {"FAKE_TEAM_FAILS": "2"})}


@pytest.mark.parametrize("member", ACROSS)
def test_a_member_on_another_node_that_is_not_able(member, recorded, folder, tmp_path):
    """The second member has no cuBLASMp, or no GPU. Or the third one fails in the library, in which the others wait for it."""
    of_second, environment = ACROSS[member]
    job = Job(folder, tmp_path, recorded, of_second=of_second, nodes=2, calls=FEWER, **environment)
    assert (job.because(offload.BY_SEVERAL_RANKS) > 0) == (member == "library") and job.because(offload.BY_ONE_RANK) > 0
    assert len(job.lines) == {"library": 1, "GPU": 0, "failure": 4}[member], job.lines

"""Ranks that think differently about a distributed call: none of them waits for another, and all compute right results."""

import json

import mpi
import offload
import pytest

RUN = [offload.COMMAND, "run", "--device=simulated", "--min-size=0", "--policy=first-use", "--summary=never"]
ALWAYS = "--gather=always"
LONGEST_CALL = 4000  # milliseconds, on a busy machine. A rank that waited for another that does not come took ten seconds
LONGEST_AFTER_DEATH = 1  # seconds


@pytest.fixture(autouse=True)
def simulated(device):
    if device != "simulated":
        pytest.skip("the ranks use the simulated device")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("agreement")


class Job:
    """Four ranks that call pdgemm. Each element of `ranks` is a number of ranks, and the settings of their launcher; None: no Blastoff."""

    def __init__(self, library, folder, path, ranks, words=(160, 2, "rows"), starter=(), ends=True):
        program = library.compiled("distributed_grids", folder, f"scalapack-{library.name}")
        command: list[object] = []
        for number, settings in ranks:
            launcher = [*RUN, "env", "-u", "LD_PRELOAD"] if settings is None else [*RUN, ALWAYS, f"--report={path}/", *settings]
            start = library.ranks(number) if not command else [":", "-n", number]
            command += [*start, *starter, *launcher, program, *words]
        self.done = mpi.run(command, library.environment(folder))
        said = self.done.stdout.partition("\n")[0].split()  # UCX may print lines about messages to ranks without Blastoff
        self.calls = [int(word) for word in said if word.isdecimal()]
        reports = [json.loads(file.read_text()) for file in path.glob("*.json")]
        self.reports = {report["process"]["rank"]: report for report in reports}
        assert max(self.calls) < LONGEST_CALL, self.calls
        if ends:
            assert (self.done.returncode, said[-1]) == (0, "right"), self.done.stdout + self.done.stderr

    def because(self, reason=offload.BY_ONE_RANK) -> list[int]:
        """For each rank with Blastoff, its number of calls with that reason."""
        refusals = [self.reports[rank]["refusals"] for rank in sorted(self.reports)]
        return [sum(entry["calls"] for entry in of_rank if entry["reason"] == reason) for of_rank in refusals]


GRIDS = ("rows", "columns", "some", "halves")
BY_MESSAGES = ("prlimit", "--fsize=200000000:200000000")  # the ranks share no memory, as on several nodes


@pytest.mark.parametrize(
    ("library", "starter"), [(mpi.OPENMPI, ()), (mpi.MPICH, ()), (mpi.OPENMPI, BY_MESSAGES)], ids=["openmpi", "mpich", "by messages"]
)
def test_grids_of_all_kinds(library, starter, folder, tmp_path):
    """In the order of rows and of columns, without the first rank, and two at once."""
    job = Job(library, folder, tmp_path, [(4, [])], (160, 2, *GRIDS), starter)
    assert job.because() == [9, 12, 12, 12]


def test_the_first_rank_alone_judges_the_size(folder, tmp_path):
    (tmp_path / "small").mkdir(), (tmp_path / "large").mkdir()
    small = Job(mpi.OPENMPI, folder, tmp_path / "small", [(1, ["--min-size=5000"]), (3, [])])
    assert small.because() == [0] * 4 and small.because(offload.BELOW_MIN_SIZE)[0] >= 3
    large = Job(mpi.OPENMPI, folder, tmp_path / "large", [(1, []), (3, ["--min-size=5000"])])
    assert large.because() == [3] * 4


@pytest.mark.parametrize("settings", [["--gather=never"], ["--gather=auto"], None], ids=["never", "auto", "without"])
def test_nobody_waits_for_a_first_rank_that_does_not_take_part(settings, folder, tmp_path):
    job = Job(mpi.OPENMPI, folder, tmp_path, [(1, settings), (3, [])])
    assert not any(job.because())


def test_nobody_waits_long_where_nobody_can_see_who_is_there(folder, tmp_path):
    """Two simulated nodes, and a first rank without Blastoff."""
    node = mpi.node_of_two(tmp_path)
    job = Job(mpi.OPENMPI, folder, tmp_path, [(1, None), (3, [])], starter=[node])
    assert job.because() == [0] * 3


def test_other_ranks_need_no_device(folder, tmp_path):
    job = Job(mpi.MPICH, folder, tmp_path, [(3, []), (1, ["--device=none"])])
    assert job.because() == [3] * 4


def test_a_device_that_is_lost(folder, tmp_path):
    job = Job(mpi.OPENMPI, folder, tmp_path, [(4, ["--simulated-fault=execute:2:lost"])], (160, 3, "rows"))
    assert job.because() == [1] * 4 and job.because(offload.DEVICE_LOST)[0] >= 3


def test_a_rank_that_dies_ends_the_job(folder, tmp_path):
    """Soon: nobody waits for it."""
    job = Job(mpi.MPICH, folder, tmp_path, [(4, [])], (160, 3, "death"), ends=False)
    assert job.done.returncode != 0 and "right" not in job.done.stdout
    assert job.done.ended - job.done.when("dies") < LONGEST_AFTER_DEATH

"""Jobs of real MPI libraries: the ranks' numbers, ScaLAPACK, and messages into matrices that are on the device."""

import json
import os
import re
import socket
import sys
from pathlib import Path

import mpi
import offload
import pytest

LAUNCHER = [offload.COMMAND, "run", "--device=simulated", "--min-size=0", "--policy=first-use", "--verify=abort", "--summary=never"]
KNOWN = "; ".join(
    (
        "import os, sys",
        f"sys.path.insert(0, {str(offload.ROOT / 'python')!r})",
        "from blastoff import library",
        "path = library.find_library()",
        "os.write(1, f'{library.global_rank(path)} {library.local_size(path)}\\n'.encode())",  # whole, among the lines of the others
    )
)

# Every way in which bytes get from one rank of a node to another, by the names of Open MPI's and UCX's transports. MPICH by TCP is left out:
# with UCX 1.13, every second job hangs in MPI_Finalize, also without Blastoff.
OB1 = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_base_warn_component_unused": "0"}
OVER_UCX = {"OMPI_MCA_pml": "ucx", "OMPI_MCA_opal_common_ucx_tls": "any", "OMPI_MCA_opal_common_ucx_devices": "any"}
TRANSPORTS = {
    "openmpi-vader-cma": (mpi.OPENMPI, OB1 | {"OMPI_MCA_btl": "vader,self", "OMPI_MCA_btl_vader_single_copy_mechanism": "cma"}),
    "openmpi-vader": (mpi.OPENMPI, OB1 | {"OMPI_MCA_btl": "vader,self", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}),
    "openmpi-tcp": (mpi.OPENMPI, OB1 | {"OMPI_MCA_btl": "tcp,self"}),
    "openmpi-ucx-shm": (mpi.OPENMPI, OVER_UCX | {"UCX_TLS": "posix,self"}),
    "openmpi-ucx-tcp": (mpi.OPENMPI, OVER_UCX | {"UCX_TLS": "tcp,self"}),
    "mpich-ucx-cma-get": (mpi.MPICH, {"UCX_TLS": "posix,cma,self", "UCX_RNDV_SCHEME": "get_zcopy"}),
    "mpich-ucx-cma-put": (mpi.MPICH, {"UCX_TLS": "posix,cma,self", "UCX_RNDV_SCHEME": "put_zcopy"}),
    "mpich-ucx-shm": (mpi.MPICH, {"UCX_TLS": "sysv,self"}),
}


@pytest.mark.parametrize(("size", "offloaded"), [(1, 0), (64, 1)])
def test_ranks_expect_their_share_of_the_cores(size, offloaded, device):
    """One product takes more than twice the time of opening a device on one core, and less on two cores. A process alone leaves it to the CPU."""
    if device != "simulated" or (os.cpu_count() or 1) < 2:
        pytest.skip("needs two cores; of a GPU the model says how long opening takes")
    product = "import numpy as np; a = np.ones((3000, 3000), np.float32); assert (a @ a)[5, 7] == 3000"
    env = offload.environment(blas=None, BLASTOFF_START="background", OMPI_COMM_WORLD_LOCAL_RANK="0", OMPI_COMM_WORLD_LOCAL_SIZE=str(size))
    outcome = offload.offloaded([sys.executable, "-c", product], device=device, verify="off", settings=["--device-memory=512M"], env=env)
    assert outcome.status == 0, outcome.stderr
    routine = outcome.routine("sgemm")
    assert (routine["calls"], routine["offloaded"]) == (1, offloaded)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mpi")


@pytest.fixture(autouse=True)
def simulated(device):
    if device != "simulated":
        pytest.skip("the ranks use the simulated device")


def reports(path) -> list[dict]:
    return [json.loads(file.read_text()) for file in path.glob("*.json")]


@pytest.mark.parametrize("library", mpi.ALL, ids=lambda library: library.name)
def test_ranks_know_themselves(library, folder):
    library.compiled("receives", folder)  # skips the test if it cannot be compiled
    python = [offload.ROOT / ".venv" / "bin" / "python", "-c", KNOWN]
    done = mpi.run([*library.ranks(3), *python], library.environment(folder) | {"BLASTOFF_LIBRARY": str(offload.LIBRARY)})
    assert sorted(done.stdout.splitlines()) == ["0 3", "1 3", "2 3"], done.stderr


@pytest.mark.parametrize("library", mpi.ALL, ids=lambda library: library.name)
def test_scalapack(library, folder, tmp_path):
    """Open MPI runs with a launcher for each rank, MPICH with one launcher for all."""
    program = library.compiled("scalapack_routines", folder, f"scalapack-{library.name}")
    launcher = [*LAUNCHER, f"--report={tmp_path}/"]
    starter = library.ranks(4)
    command = [*starter, *launcher] if library is mpi.OPENMPI else [*launcher, *starter]
    done = mpi.run([*command, program, 96, 24, 2, 2, "L", "all"], library.environment(folder))
    routines = ("pdgemm", "pdtrsm", "pdpotrf", "pdgetrf", "pdsyevd", "pzheevd", "pzhegvx V A")
    assert done.stdout.splitlines() == [f"{routine}: right" for routine in routines], done.stderr
    assert done.returncode == 0, done.stderr
    ranks = {report["process"]["rank"]: report for report in reports(tmp_path) if report["process"]["program"] == program.name}
    assert sorted(ranks) == [0, 1, 2, 3]
    for report in ranks.values():
        offloaded = {routine["name"] for routine in report["routines"] if routine["offloaded"]}
        assert {"dgemm", "dtrsm", "zgemm"} <= offloaded, offloaded
        assert report["verification"]["checked"] > 0 and report["verification"]["violations"] == 0


def test_without_a_device_all_calls_of_the_pblas_are_counted(folder, tmp_path):
    """Also those that are too small for a question to the other ranks; each without the time of calls inside it."""
    program = mpi.MPICH.compiled("scalapack_routines", folder, f"scalapack-{mpi.MPICH.name}")
    command = [*mpi.MPICH.ranks(4), *LAUNCHER, "--device=none", "--verify=off", f"--report={tmp_path}/", program, 60, 24, 2, 2, "L", "all"]
    done = mpi.run(command, mpi.MPICH.environment(folder))
    assert done.returncode == 0, done.stderr
    for report in reports(tmp_path):
        found = {routine["name"]: routine for routine in report["routines"] if routine["name"].startswith("p")}
        assert {"pdgemm", "pdtrsm", "pdpotrf", "pdgetrf", "pdsyevd", "pzhegvx"} <= found.keys()
        assert all(routine["calls"] >= 1 and routine["cpu_seconds"] > 0 and routine["offloaded"] == 0 for routine in found.values())
        assert {entry["reason"] for entry in report["refusals"]} <= {offload.DEVICE_NONE, offload.BELOW_MIN_SIZE, offload.TRIVIAL}
        inside = sum(routine["cpu_seconds"] for routine in report["routines"])
        assert inside <= report["process"]["elapsed_seconds"]


EIGENSOLVERS = ("pdsyevd", "pzheevd", "pzhegvx V A", "pzhegvx V I", "pzhegvx V V", "pzhegvx N A")


NO_LARGE_FILES = ("prlimit", "--fsize=200000000:200000000")


class DistributedCalls:
    """A job that makes random distributed calls, and compares its memory with that of a job without Blastoff."""

    def __init__(self, library, folder, path, grid, seed, calls, routine="", starter=(), settings=()):
        program = library.compiled("distributed_calls", folder, f"scalapack-{library.name}")
        ranks = library.ranks(grid[0] * grid[1])
        words = [*grid, seed, calls, 60]
        only = [routine] if routine else []
        plain = mpi.run([*ranks, program, *words, "record", path / "memory", *only], library.environment(folder))
        assert plain.returncode == 0, plain.stdout + plain.stderr
        launcher = [*starter, *LAUNCHER, "--gather=always", *settings, f"--report={path}/reports/"]
        launched = [*launcher, program, *words, "compare", path / "memory", *only]
        self.done = mpi.run([*ranks, *launched], library.environment(folder))
        assert (self.done.stdout, self.done.returncode) == ("same\n", 0), self.done.stdout + self.done.stderr
        self.reports = {report["process"]["rank"]: report for report in reports(path / "reports")}
        assert all(report["verification"]["violations"] == 0 for report in self.reports.values())

    def because(self, rank, reason) -> int:
        return sum(entry["calls"] for entry in self.reports[rank]["refusals"] if entry["reason"] == reason)


class Eigensolvers:
    """A job whose ranks solve eigenproblems. Checks that all results are right, and reads the ranks' reports."""

    def __init__(self, library, folder, path, words, settings=("--gather=always",), without=None, starter=()):
        program = library.compiled("scalapack_routines", folder, f"scalapack-{library.name}")
        launched = [*starter, *LAUNCHER, *settings, f"--report={path}/", program, *words]
        command = [*library.ranks(4), *launched]
        if without is not None:  # rank 0, or all others, run without Blastoff
            sides = [launched, [program, *words]]
            first, others = sides[::-1] if without == 0 else sides
            command = [*library.ranks(1), *first, ":", "-n", "3", *others]
        self.done = mpi.run([str(word) for word in command], library.environment(folder))
        said = [line for line in self.done.stdout.splitlines() if "UCX  WARN" not in line]  # warnings of a rank without Blastoff about messages
        assert said == [f"{routine}: right" for routine in EIGENSOLVERS], self.done.stderr
        assert self.done.returncode == 0, self.done.stderr
        self.reports = {report["process"]["rank"]: report for report in reports(path) if report["process"]["rank"] is not None}
        assert all(report["verification"]["violations"] == 0 for report in self.reports.values())

    def routines(self, rank) -> dict[str, tuple[int, int]]:
        """Number of calls and of offloaded calls, by routine."""
        return {routine["name"]: (routine["calls"], routine["offloaded"]) for routine in self.reports[rank]["routines"]}

    def because(self, rank, reason) -> int:
        return sum(entry["calls"] for entry in self.reports[rank]["refusals"] if entry["reason"] == reason)


GRIDS = {"2x2": (150, 24, 2, 2, "L"), "1x4": (140, 40, 1, 4, "U"), "one block": (130, 150, 4, 1, "U")}
BOTH = {library.name: library for library in mpi.ALL}


@pytest.mark.parametrize(("library", "grid"), offload.in_turns(BOTH, GRIDS))
def test_eigensolvers_are_gathered(library, grid, folder, tmp_path):
    ranks = Eigensolvers(BOTH[library], folder, tmp_path, GRIDS[grid])
    assert ranks.routines(0) == {"dsyevd": (1, 1), "zheevd": (1, 1), "zhegvx": (4, 4), "pdsyevd": (1, 0), "pzheevd": (1, 0), "pzhegvx": (4, 0)}
    assert ranks.reports[0]["verification"]["checked"] == 6
    for rank in range(1, 4):
        assert ranks.routines(rank) == {"pdsyevd": (1, 0), "pzheevd": (1, 0), "pzhegvx": (4, 0)}
    assert all(ranks.because(rank, offload.BY_ONE_RANK) == 6 for rank in range(4))


@pytest.mark.parametrize("library", mpi.ALL, ids=lambda library: library.name)
def test_gathered_by_messages_where_no_memory_is_shared(library, folder, tmp_path):
    """As between nodes. Memory that may not have its full size is not shared."""
    ranks = Eigensolvers(library, folder, tmp_path, (150, 24, 2, 2, "L"), starter=NO_LARGE_FILES)
    assert all(ranks.because(rank, offload.BY_ONE_RANK) == 6 for rank in range(4))


PBLAS = {"gemm", "symm", "hemm", "syrk", "herk", "syr2k", "her2k", "trmm", "trsm"}
LINEAR = {"potrf", "potri", "potrs", "posv", "getrf", "getrs", "gesv", "trtri", "geqrf", "orgqr", "ungqr", "ormqr", "unmqr", "gels"}
SPECTRAL = {"gesvd", "syev", "heev", "syevd", "heevd", "syevx", "heevx", "syevr", "heevr", "sygvx", "hegvx", "sygst", "hegst", "syngst", "hengst"}
KINDS = PBLAS | LINEAR | SPECTRAL
WHOLES = [(mpi.OPENMPI, (1, 1)), (mpi.OPENMPI, (3, 2)), (mpi.MPICH, (2, 2))]
WITH_MKL = [*WHOLES, (mpi.OPENMPI, (1, 2)), (mpi.MKL, (2, 2))]


@pytest.mark.parametrize(("library", "grid"), WITH_MKL, ids=[f"{library.name}-{grid[0]}x{grid[1]}" for library, grid in WITH_MKL])
def test_distributed_calls_are_made_as_wholes(library, grid, folder, tmp_path):
    """Random calls give what they give without Blastoff, and leave everything else as it was."""
    ranks = DistributedCalls(library, folder, tmp_path, grid, seed=sum(grid), calls=400)
    gathered = ranks.because(0, offload.BY_ONE_RANK)
    assert gathered > 150 and all(ranks.because(rank, offload.BY_ONE_RANK) == gathered for rank in ranks.reports)
    assert {routine["name"][2:] for routine in ranks.reports[0]["routines"] if routine["name"].startswith("p")} == KINDS
    assert ranks.because(0, offload.NO_RESULT) > 0  # matrices that are not definite are left to the original


@pytest.mark.parametrize(("library", "grid"), WHOLES, ids=[f"{library.name}-{grid[0]}x{grid[1]}" for library, grid in WHOLES])
def test_a_matrix_goes_to_the_device_once(library, grid, folder, tmp_path):
    """What a rank has changed since goes there again, also in memory that was allocated anew, and with another descriptor."""
    program = library.compiled("distributed_problem", folder, f"scalapack-{library.name}")
    order, changes = 256, ("nothing", "element", "again", "part", "nothing")
    launched = [*LAUNCHER, "--gather=always", f"--report={tmp_path}/", program, *grid, order, 32, *changes]
    done = mpi.run([*library.ranks(grid[0] * grid[1]), *launched], library.environment(folder))
    assert (done.stdout, done.returncode) == ("right\n", 0), done.stdout + done.stderr
    report = next(report for report in reports(tmp_path) if report["process"]["rank"] == 0)
    assert report["verification"]["checked"] == 18 and report["verification"]["violations"] == 0
    routines = {routine["name"]: routine for routine in report["routines"]}
    matrix = 8 * order**2
    assert routines["dpotrf"]["bytes_to_device"] == len(changes) * matrix
    # The factor is there since dpotrf, in the two problems in which nobody has changed it, and the vectors since dsyevd.
    assert 2 * matrix <= routines["dsygst"]["bytes_reused"] < 4 * matrix
    assert (routines["dtrsm"]["bytes_to_device"], routines["dtrsm"]["bytes_reused"]) == (0, 8 * matrix)


def test_what_was_copied_for_a_call_that_nobody_made_for_all_goes_to_the_device(folder, tmp_path):
    """The ranks disagree on a call, after they have copied what had changed."""
    program = mpi.OPENMPI.compiled("distributed_problem", folder, f"scalapack-{mpi.OPENMPI.name}")
    launched = [*LAUNCHER, "--gather=always", f"--report={tmp_path}/", program, 2, 2, 160, 32, "nothing", "disagree"]
    done = mpi.run([*mpi.OPENMPI.ranks(4), *launched], mpi.OPENMPI.environment(folder))
    assert (done.stdout, done.returncode) == ("right\n", 0), done.stdout + done.stderr
    report = next(report for report in reports(tmp_path) if report["process"]["rank"] == 0)
    refused = {entry["reason"]: entry["calls"] for entry in report["refusals"]}
    assert (refused[offload.BY_ONE_RANK], refused[offload.BY_ALL_RANKS]) == (8, 1)


def test_ranks_other_than_the_first_open_no_device(folder, tmp_path):
    ranks = DistributedCalls(mpi.OPENMPI, folder, tmp_path, (2, 2), seed=3, calls=100, routine="gemm")
    assert [ranks.reports[rank]["device"]["used"] for rank in range(4)] == [True, False, False, False]


def test_what_does_not_fit_the_device_is_made_block_by_block(folder, tmp_path):
    """Most of the matrices are larger than the device's memory."""
    settings = ["--simulated-memory=24K"]
    ranks = DistributedCalls(mpi.OPENMPI, folder, tmp_path, (2, 2), seed=5, calls=700, routine="potrf", settings=settings)
    gathered = ranks.because(0, offload.BY_ONE_RANK)
    assert gathered >= 10 and ranks.because(0, "not enough device memory") == 0
    assert all(ranks.because(rank, offload.BY_ONE_RANK) == gathered for rank in ranks.reports)


def test_ranks_whose_calls_run_in_different_places_make_calls_together(folder, tmp_path):
    """A rank's calls fit its part of a small device more often than another's."""
    settings = ["--gather=never", "--simulated-memory=32K"]
    ranks = DistributedCalls(mpi.OPENMPI, folder, tmp_path, (2, 2), seed=4, calls=100, routine="reliable", settings=settings)
    assert all(report["totals"]["offloaded"] > 500 for report in ranks.reports.values())
    assert len({ranks.because(rank, "not enough device memory") for rank in ranks.reports}) == 4


def test_distributed_calls_by_messages(folder, tmp_path):
    ranks = DistributedCalls(mpi.OPENMPI, folder, tmp_path, (2, 2), seed=3, calls=80, starter=NO_LARGE_FILES)
    assert ranks.because(0, offload.BY_ONE_RANK) > 40


@pytest.mark.parametrize("library", mpi.ALL, ids=lambda library: library.name)
def test_gathered_by_exported_names_too(library, folder, tmp_path):
    ranks = Eigensolvers(library, folder, tmp_path, (150, 24, 2, 2, "L"), ("--gather=always", "--intercept=preload"))
    assert all(ranks.because(rank, offload.BY_ONE_RANK) == 6 for rank in range(4))


@pytest.mark.parametrize("library", mpi.ALL, ids=lambda library: library.name)
def test_what_is_not_solved_is_solved_by_all(library, folder, tmp_path):
    """First with a metric that is not definite, which the original reports; then with a device that is lost in the second solution."""
    ranks = Eigensolvers(library, folder, tmp_path / "broken", (150, 24, 2, 2, "U", "broken"))
    assert ranks.because(0, offload.NO_RESULT) == 4 and "zhegvx" not in ranks.routines(0)
    assert all((ranks.because(rank, offload.BY_ONE_RANK), ranks.because(rank, offload.BY_ALL_RANKS)) == (2, 4) for rank in range(1, 4))
    ranks = Eigensolvers(library, folder, tmp_path / "lost", (150, 24, 2, 2, "U"), ("--gather=always", "--simulated-fault=execute:2:lost"))
    assert [ranks.because(rank, offload.BY_ONE_RANK) for rank in range(4)] == [1] * 4
    assert ranks.because(0, offload.DEVICE_LOST) >= 5
    assert "zheevd" not in ranks.routines(0) and ranks.routines(0)["pzheevd"] == (1, 0)


def test_small_or_unwanted_problems_are_not_gathered(folder, tmp_path):
    library = mpi.OPENMPI
    gladly = ("--decide=time", f"--model={slow_cpu(tmp_path / 'model.json')}")
    small = Eigensolvers(library, folder, tmp_path / "small", (110, 40, 2, 2, "L"), gladly)
    unwanted = Eigensolvers(library, folder, tmp_path / "unwanted", (150, 50, 2, 2, "L"), ("--gather=never", "--min-size=100"))
    unpaid = Eigensolvers(library, folder, tmp_path / "unpaid", (150, 50, 2, 2, "L"), ("--min-size=100",))
    for rank in range(4):
        assert not set(small.routines(rank)) & {"pdsyevd", "pzheevd", "pzhegvx"}
        assert unwanted.because(rank, offload.BY_ALL_RANKS) == unpaid.because(rank, offload.BY_ALL_RANKS) == 6
    assert not set(unwanted.routines(0)) & {"dsyevd", "zheevd", "zhegvx"}


def model_of(path, family, cpu_rate, device_rate=1e12):
    """The model of a machine with a device and a CPU of these rates, for the routines of a family."""
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    if cpu is None:
        pytest.skip("the processor has no name")
    rates = {precision: {"family": family, "precision": precision, "points": [[1, cpu_rate]]} for precision in "dz"}
    path.write_text(
        json.dumps(
            {
                "blastoff_machine": 1,
                "name": "a fast device",
                "gpu": {"names": ["simulated*"], "rates": [rate | {"points": [[1, device_rate]]} for rate in rates.values()]},
                "link": {"to_device": 1e10, "from_device": 1e10},
                "host": {
                    "name": socket.gethostname(),
                    "cpu": cpu[1],
                    "cores": 1,
                    "blas": {"file": "libblas.so.3"},
                    "rates": [rate | {"threads": 1} for rate in rates.values()],
                },
            }
        )
    )
    return path


def slow_cpu(path):
    """The model of a machine whose CPU is slower at eigenproblems than any device."""
    return model_of(path, "syevd", 1e6)


def test_the_first_rank_alone_opens_its_device_for_calls_that_it_makes_for_all(folder, tmp_path):
    """The ranks get to know each other in a few small calls. One large call shows that an opening pays, by the clock of the simulated
    device. The next run knows it before, and no other rank opens a device in that run either."""
    library = mpi.OPENMPI
    program = library.compiled("distributed_opening", folder, f"scalapack-{library.name}")
    settings = ["--decide=time", "--start=background", "--simulated-rates=cpu=2.4e8", "--history=on", "--verify=off"]
    model = f"--model={model_of(tmp_path / 'model.json', 'potrf', 1e11)}"
    for foreseen in (False, True):
        path = tmp_path / f"foreseen-{foreseen}"
        command = [*library.ranks(4), *LAUNCHER, *settings, model, f"--report={path}/", program, 420, 1200, 4]
        done = mpi.run(command, library.environment(folder) | {"XDG_CACHE_HOME": str(tmp_path / "cache")})
        assert (done.returncode, done.stdout) == (0, "right\n"), done.stdout + done.stderr
        ranks = {report["process"]["rank"]: report for report in reports(path) if report["process"]["rank"] is not None}
        gathered = [sum(entry["calls"] for entry in ranks[rank]["refusals"] if entry["reason"] == offload.BY_ONE_RANK) for rank in range(4)]
        assert gathered[0] >= 3 and gathered == [gathered[0]] * 4, ranks[0]["refusals"]
        assert [ranks[rank]["device"]["used"] for rank in range(4)] == [True, False, False, False]
        assert [ranks[rank]["device"]["opening"] is not None for rank in range(4)] == [True, False, False, False]
        assert ranks[0]["device"]["opening"]["foreseen"] == foreseen
        of_job = json.loads(mpi.run([offload.COMMAND, "report", "--json", path], {}).stdout)
        assert [routine["calls"] for routine in of_job["routines"] if routine["name"] == "pdpotrf"] == [9], "once, not once a rank"
        assert of_job["refusals"][offload.BY_ONE_RANK] == gathered[0]


def test_gathered_where_the_model_says_that_it_pays(folder, tmp_path):
    """Problems are gathered once the ranks know each other, since they then wait only for a few microseconds."""
    settings = ("--decide=time", f"--model={slow_cpu(tmp_path / 'model.json')}")
    ranks = Eigensolvers(mpi.OPENMPI, folder, tmp_path / "reports", (270, 24, 2, 2, "L"), settings)
    gathered = ranks.because(0, offload.BY_ONE_RANK)
    assert gathered >= 3, ranks.reports[0]["refusals"]
    assert all(ranks.because(rank, offload.BY_ONE_RANK) == gathered for rank in range(4))


def traces_of(library, folder, path, words, *settings) -> list[Path]:
    """The traces of four ranks that solve a generalized eigenproblem on the CPU, for each of the last words."""
    program = library.compiled("distributed_problem", folder, f"scalapack-{library.name}")
    launcher = [offload.COMMAND, "run", "--device=none", "--min-size=0", "--summary=never", *settings, f"--trace={path}/"]
    done = mpi.run([*library.ranks(4), *launcher, program, 2, 2, *words], library.environment(folder))
    assert (done.stdout, done.returncode) == ("right\n", 0), done.stdout + done.stderr
    return sorted(path.glob("*.trace"))


def predicted(traces, *settings) -> dict:
    done = mpi.run([offload.COMMAND, "predict", *traces, "--json", "--min-size=0", "--start=now", *settings], {})
    assert done.returncode == 0, done.stderr
    (machine,) = json.loads(done.stdout)["machines"]
    return machine


def first_rank(path) -> dict:
    return next(report for report in reports(path) if report["process"]["rank"] == 0)


@pytest.mark.parametrize("library", mpi.ALL, ids=lambda library: library.name)
def test_a_prediction_moves_what_a_run_moves(library, folder, tmp_path):
    """Each matrix of a generalized problem stays with the first rank between calls, unless the program changes it."""
    words = (256, 32, "nothing", "again", "nothing")
    traces = traces_of(library, folder, tmp_path / "traces", words, "--gather=always")
    told = [json.loads(line)["distributed"] for trace in traces for line in trace.read_text().splitlines() if '"distributed"' in line]
    assert (len(told), sum("words" in call for call in told)) == (4 * 12, 12), "the arguments once a job"
    machine = predicted(traces, "--machine=h200", "--gather=always", "--ranks-per-gpu=4")
    program = library.compiled("distributed_problem", folder, f"scalapack-{library.name}")
    command = [*library.ranks(4), *LAUNCHER, "--gather=always", f"--report={tmp_path}/reports/", program, 2, 2, *words]
    assert mpi.run(command, library.environment(folder)).returncode == 0
    run = {routine["name"]: routine for routine in first_rank(tmp_path / "reports")["routines"]}
    wholes = {routine["name"]: routine for routine in machine["routines"] if routine["name"].startswith("p")}
    assert set(wholes) == {"pdpotrf", "pdsygst", "pdsyevd", "pdtrsm"}
    for name, whole in wholes.items():
        moved = ("bytes_to_device", "bytes_from_device", "bytes_reused")
        assert (whole["calls"], whole["on_device"]) == (3, 3)
        assert [whole[key] for key in moved] == [run[name[1:]][key] for key in moved], name
    assert (machine["distributed_calls"], sum(call["calls"] for call in machine["distributed"])) == (0, 12)
    on_two = predicted(traces, "--machine=h200", "--gather=always", "--gather-gpus=all", "--ranks-per-gpu=2")
    # NVIDIA's libraries factorize, solve and reduce by lower triangles, as the program does.
    assert all((call["gathered"], call["by_several"], call["gpus"]) == (3, 3, 2) for call in on_two["distributed"]), on_two["distributed"]


@pytest.fixture(scope="module")
def problems(folder) -> tuple[tuple, list[Path]]:
    """The arguments of a program that factorizes three matrices and solves one eigenproblem, and the traces of its ranks. pdpotrf of an
    order below 466 is too small to be gathered."""
    words = (480, 32, "factorize", "factorize", "nothing")
    return words, traces_of(mpi.OPENMPI, folder, folder / "traces", words)


@pytest.mark.parametrize(("device_rate", "gathers"), [(1e12, True), (1e6, False)], ids=["fast-device", "slow-device"])
def test_a_prediction_decides_as_the_run(device_rate, gathers, problems, folder, tmp_path):
    """With the model that the run has, which knows Cholesky factorizations alone. Their seconds are those of the model."""
    (words, traces), library = problems, mpi.OPENMPI
    order, rounds = words[0], len(words) - 2
    model = model_of(tmp_path / "model.json", "potrf", 1e6, device_rate)
    program = library.compiled("distributed_problem", folder, f"scalapack-{library.name}")
    launched = [*LAUNCHER, "--decide=time", f"--model={model}", "--verify=off", f"--report={tmp_path}/reports/", program, 2, 2, *words]
    done = mpi.run([*library.ranks(4), *launched], library.environment(folder))
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stdout + done.stderr
    report = first_rank(tmp_path / "reports")
    run = {routine["name"]: routine["offloaded"] for routine in report["routines"]}
    machine = predicted(traces, f"--machine={model}", "--decide=time", "--ranks-per-gpu=4")
    wholes = {call["name"]: call for call in machine["distributed"]}
    assert {name: call["calls"] for name, call in wholes.items()} == {"pdpotrf": rounds, "pdsygst": 1, "pdsyevd": 1, "pdtrsm": 1}
    assert {name for name, call in wholes.items() if call["gathered"]} == ({"pdpotrf"} if gathers else set())
    gathered = sum(entry["calls"] for entry in report["refusals"] if entry["reason"] == offload.BY_ONE_RANK)
    # The ranks of the run know each other once all have answered at one call.
    assert (gathered, run.get("dpotrf", 0)) == ((gathered, gathered) if gathers else (0, 0)) and (gathered > 0) == gathers, report["refusals"]
    if not gathers:
        return
    assert wholes["pdpotrf"]["gathered"] == rounds
    whole = next(routine for routine in machine["routines"] if routine["name"] == "pdpotrf")
    matrix, triangle = 8 * order**2, 4 * order * (order + 1)
    assert (whole["bytes_to_device"], whole["bytes_from_device"]) == (rounds * matrix, rounds * triangle)
    between_ranks = matrix / 8e9  # a triangle there and back; each of four ranks copies 2 GB/s
    link = (matrix + triangle) / 1e10
    launches, kernels = 60e-6, 0.06 + 0.03  # what any call takes; the first one loads kernels (src/runtime/open_policy.h)
    expected = rounds * (between_ranks + order**3 / 3 / device_rate + link + launches) + kernels
    assert whole["device_seconds"] == pytest.approx(expected, rel=0.1)


def test_what_the_gpus_of_many_nodes_would_take_is_computed(problems, tmp_path):
    """By the formula of src/decide/distributed_library.h, here once more; with the network that the user gives."""
    words, traces = problems
    order, calls = words[0], len(words) - 2
    rate, bandwidth, latency = 1e12, 5e10, 1e-6
    model = model_of(tmp_path / "model.json", "potrf", 1e6, rate)
    asked = [offload.COMMAND, "predict", *traces, f"--machine={model}", "--nodes=1,200", "--gpus-per-node=4"]
    refused = mpi.run(asked, {})
    assert refused.returncode == 2 and "a --job with `communication`: latency and bandwidth between nodes" in refused.stderr, refused.stderr
    network = {"collectives": 0, "bytes": 0, "latency": latency, "bandwidth": bandwidth, "source": "a guess"}
    (tmp_path / "job.json").write_text(json.dumps({"blastoff_job": 1, "name": "a problem", "communication": network}))
    done = mpi.run([*asked, f"--job={tmp_path}/job.json", "--json"], {})
    assert done.returncode == 0, done.stderr
    (machine,) = json.loads(done.stdout)["machines"]
    triangle = 4 * order * (order + 1)
    for row in machine["distributed"]:
        nodes, gpus = row["nodes"], 4 * row["nodes"]
        side = {4: 2, 800: 25}[gpus]  # 2 x 2, 25 x 32: panels of 8 columns, since 32 GPUs are to get four of them each
        received = triangle * (1 / side + side / gpus)
        exchange = received / 1e10 if nodes == 1 else received / (bandwidth / 4) + order / 8 * 2 * 10 * latency
        copies = 8 * order**2 / 8e9 / nodes + 2 * triangle / 1e10 / gpus
        assert (row["calls"], row["left_out"]) == (calls, 3), "the model knows Cholesky factorizations alone"
        assert row["exchanging_seconds"] == pytest.approx(calls * exchange, rel=0.01)
        assert row["moving_seconds"] == pytest.approx(calls * copies, rel=0.01)
        assert row["computing_seconds"] == pytest.approx(calls * (60e-6 + order**3 / 3 / gpus / rate), rel=0.02)
    said = " ".join(mpi.run([*asked, f"--job={tmp_path}/job.json"], {}).stdout.split())
    assert "computed: calls of ScaLAPACK and the PBLAS" in said and "not tried on a network" in said
    for trace in traces[2:]:
        trace.write_text(re.sub('"host": "[^"]*"', '"host": "another"', trace.read_text(), count=1))
    calls = predicted(traces, "--machine=h200", "--gather=always", "--gather-gpus=all", "--ranks-per-gpu=2")["distributed"]
    assert len(calls) == 4 and all(call["by_several"] == call["calls"] and call["gpus"] == 2 for call in calls), "two traced nodes form a team"


def test_a_device_that_is_too_small_solves_nothing(folder, tmp_path):
    settings = ("--decide=time", f"--model={slow_cpu(tmp_path / 'model.json')}", "--device-memory=100K")
    ranks = Eigensolvers(mpi.OPENMPI, folder, tmp_path / "reports", (150, 50, 2, 2, "L"), settings)
    assert ranks.because(0, "not enough device memory") >= 3  # once the ranks know each other
    assert all(ranks.because(rank, offload.BY_ALL_RANKS) == 6 for rank in range(1, 4))


@pytest.mark.parametrize("without", [0, 3], ids=["root", "others"])
def test_nobody_waits_for_ranks_without_blastoff(without, folder, tmp_path):
    settings = ("--decide=time", f"--model={slow_cpu(tmp_path / 'model.json')}")
    ranks = Eigensolvers(mpi.OPENMPI, folder, tmp_path / "reports", (150, 50, 2, 2, "L"), settings, without)
    assert len(ranks.reports) == (3 if without == 0 else 1)
    assert all(ranks.because(rank, offload.BY_ALL_RANKS) == 6 for rank in ranks.reports)


@pytest.mark.parametrize("library", mpi.ALL, ids=lambda library: library.name)
def test_the_original_reports_wrong_arguments(library, folder, tmp_path):
    """The work space is too short on one rank, and all ranks get the original's error."""
    program = library.compiled("scalapack_routines", folder, f"scalapack-{library.name}")
    command = [*library.ranks(4), *LAUNCHER, "--gather=always", f"--report={tmp_path}/", program, 150, 24, 2, 2, "L", "short"]
    done = mpi.run(command, library.environment(folder))
    assert "pdsyevd with too little work space: right" in done.stdout and done.returncode == 0, done.stdout + done.stderr
    assert "parameter number   14 had an illegal value" in done.stdout


@pytest.mark.parametrize("name", TRANSPORTS)
def test_what_a_receive_writes_is_seen(name, folder, tmp_path):
    library, settings = TRANSPORTS[name]
    program = library.compiled("receives", folder)
    environment = library.environment(folder) | settings
    command = [*library.ranks(2), program, 144, 2]
    plain = mpi.run(command, environment)
    if plain.returncode != 0:
        pytest.skip(f"this transport does not work here: {plain.stderr.strip().splitlines()[:1]}")
    assert "WRONG" not in plain.stdout
    done = mpi.run([*LAUNCHER, f"--report={tmp_path}/", *command], environment)
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr
    ranks = [report for report in reports(tmp_path) if report["process"]["rank"] is not None]
    assert len(ranks) == 2
    for report in ranks:
        assert report["verification"]["stale_pages"] == 0 and report["verification"]["violations"] == 0
        # The second operand is never received, so that it stays on the device.
        totals = report["totals"]
        assert totals["bytes_reused"] > totals["bytes_to_device"] / 2 > 0 or report["policy"]["in_force"] != "first-use"


def test_one_summary_for_two_nodes(folder, tmp_path):
    """Two simulated nodes: ranks 0 and 1 keep their counters in one place, ranks 2 and 3 in another."""
    program = mpi.OPENMPI.compiled("receives", folder)
    node = mpi.node_of_two(tmp_path)
    launcher = [offload.COMMAND, "run", "--device=simulated", "--min-size=0"]
    environment = mpi.OPENMPI.environment(folder)
    done = mpi.run([*mpi.OPENMPI.ranks(4), node, *launcher, f"--report={tmp_path}/reports/", program, 64, 1], environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("routine  calls") == 1 and "processes  4" in done.stderr, done.stderr
    assert all(f"rank {rank}" in done.stderr for rank in range(4))
    assert len(reports(tmp_path / "reports")) == 4 and not list((tmp_path / "reports").glob(".*"))
    apart = mpi.run([*mpi.OPENMPI.ranks(4), node, *launcher, program, 64, 1], environment)
    assert apart.stderr.count("routine  calls") == 2 and apart.stderr.count("alone: with --report=DIRECTORY/") == 2, apart.stderr

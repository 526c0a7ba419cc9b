"""Jobs of real MPI libraries: what ranks know of themselves, ScaLAPACK, and messages into matrices that are on the device."""

import json
import os
import sys

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

# Every way in which bytes get from one rank of a node to another: the names of Open MPI's and UCX's transports. Not that of MPICH by
# TCP: with UCX 1.13, every second job stays in MPI_Finalize, also without Blastoff.
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
    """One product that takes longer than opening a device on one core, and less on two: alone, a process leaves it to the CPU."""
    if device != "simulated" or (os.cpu_count() or 1) < 2:
        pytest.skip("needs two cores; of a GPU the model says how long opening takes")
    product = "import numpy as np; a = np.ones((2400, 2400), np.float32); assert (a @ a)[5, 7] == 2400"
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
    library.compiled("receives", folder)  # or skips
    python = [offload.ROOT / ".venv" / "bin" / "python", "-c", KNOWN]
    done = mpi.run([*library.ranks(3), *python], library.environment(folder) | {"BLASTOFF_LIBRARY": str(offload.LIBRARY)})
    assert sorted(done.stdout.splitlines()) == ["0 3", "1 3", "2 3"], done.stderr


@pytest.mark.parametrize("library", mpi.ALL, ids=lambda library: library.name)
def test_scalapack(library, folder, tmp_path):
    """Open MPI with a launcher for each rank, MPICH with one for all."""
    program = library.compiled("scalapack_routines", folder, f"scalapack-{library.name}")
    launcher = [*LAUNCHER, f"--report={tmp_path}/"]
    starter = library.ranks(4)
    command = [*starter, *launcher] if library is mpi.OPENMPI else [*launcher, *starter]
    done = mpi.run([*command, program, 96, 24], library.environment(folder))
    routines = ("pdgemm", "pdtrsm", "pdpotrf", "pdgetrf", "pdsyevd", "pzhegvx")
    assert done.stdout.splitlines() == [f"{routine}: right" for routine in routines], done.stderr
    assert done.returncode == 0, done.stderr
    ranks = {report["process"]["rank"]: report for report in reports(tmp_path) if report["process"]["program"] == program.name}
    assert sorted(ranks) == [0, 1, 2, 3]
    for report in ranks.values():
        offloaded = {routine["name"] for routine in report["routines"] if routine["offloaded"]}
        assert {"dgemm", "dtrsm", "zgemm"} <= offloaded, offloaded
        assert report["verification"]["checked"] > 0 and report["verification"]["violations"] == 0


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
        assert report["totals"]["bytes_reused"] > report["totals"]["bytes_to_device"] > 0 or report["policy"]["in_force"] != "first-use"


def test_one_summary_for_two_nodes(folder, tmp_path):
    """Nodes are simulated: ranks 0 and 1 keep their counters in one place, ranks 2 and 3 in another."""
    program = mpi.OPENMPI.compiled("receives", folder)
    node = tmp_path / "node"
    node.write_text(
        "#!/bin/sh\n"
        f"export XDG_RUNTIME_DIR={tmp_path}/node$((OMPI_COMM_WORLD_RANK / 2)) OMPI_COMM_WORLD_LOCAL_SIZE=2\n"
        'mkdir -p "$XDG_RUNTIME_DIR"\nexec "$@"\n'
    )
    node.chmod(0o755)
    launcher = [offload.COMMAND, "run", "--device=simulated", "--min-size=0"]
    environment = mpi.OPENMPI.environment(folder)
    done = mpi.run([*mpi.OPENMPI.ranks(4), node, *launcher, f"--report={tmp_path}/reports/", program, 64, 1], environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("routine  calls") == 1 and "processes  4" in done.stderr, done.stderr
    assert all(f"rank {rank}" in done.stderr for rank in range(4))
    assert len(reports(tmp_path / "reports")) == 4 and not list((tmp_path / "reports").glob(".*"))
    apart = mpi.run([*mpi.OPENMPI.ranks(4), node, *launcher, program, 64, 1], environment)
    assert apart.stderr.count("routine  calls") == 2 and apart.stderr.count("alone: with --report=DIRECTORY/") == 2, apart.stderr

"""Ranks that need the same eigenvectors, where one of them has a (fake) GPU that would find others."""

import json
import os

import mpi
import offload
import pytest

SEVERAL_RESULTS = "eigenvectors or singular vectors in a job of several ranks, which may all need the same ones"


@pytest.mark.parametrize(("named", "vectors", "offloaded"), [("", "same", 0), (",dsyev", "different", 1)])
def test_ranks_have_the_same_vectors_unless_the_routine_is_named(named, vectors, offloaded, device, tmp_path, fake_gpu):
    """The GPU's routine is another one than the CPU's (divide and conquer). It finds another basis of an eigenspace."""
    if device != "simulated":
        pytest.skip("one rank uses a fake GPU, the other none")
    program = mpi.MPICH.compiled("same_vectors", tmp_path, "lapack")
    chosen = f"--routines=-dorg*,-dorm*{named}"  # the fake GPU computes by LAPACK, whose calls would come back to it

    def rank(on: str) -> list:
        report = f"--report={tmp_path}/{on}/"
        return [offload.COMMAND, "run", f"--device={on}", "--min-size=0", "--start=now", "--summary=never", report, chosen, program]

    gpu = {"LD_LIBRARY_PATH": f"{fake_gpu}:{os.environ.get('LD_LIBRARY_PATH', '')}", "BLASTOFF_CUDA_PATH": str(fake_gpu)}
    done = mpi.run([*mpi.MPICH.ranks(1), *rank("cuda"), ":", "-n", 1, *rank("none")], mpi.MPICH.environment(tmp_path) | gpu)
    assert (done.stdout, done.returncode) == (f"{vectors}\n", 0), done.stdout + done.stderr
    (file,) = (tmp_path / "cuda").iterdir()
    report = json.loads(file.read_text())
    assert [(each["calls"], each["offloaded"]) for each in report["routines"] if each["name"] == "dsyev"] == [(1, offloaded)]
    if not offloaded:
        left = {each["reason"]: each["calls"] for each in report["refusals"]}
        assert left[SEVERAL_RESULTS] > 1 and report["totals"]["offloaded"] == 0, "the calls inside it stay on the CPU, too"

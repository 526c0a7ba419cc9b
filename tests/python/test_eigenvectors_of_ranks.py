"""Eigenvectors are not unique, so the ranks of a job compute them alike: on the CPU."""

import json
import subprocess
import sys

import offload
import pytest

PROGRAM = """
import numpy
a = numpy.random.default_rng(1).random((200, 200))
numpy.linalg.eigh(a + a.T)
numpy.linalg.svd(a)
numpy.linalg.eig(a)
numpy.linalg.solve(a, a)
"""
RANK = {"PMI_RANK": "0", "PMI_SIZE": "2"}


@pytest.mark.parametrize(
    ("variables", "options", "offloaded"),
    [
        ({}, [], {"dsyevd", "dgesdd", "dgeev", "dgesv"}),
        (RANK, [], {"dgesv"}),
        (RANK, ["--routines=-dgesv"], set()),
        (RANK, ["--routines=*,-dgesv"], {"dsyevd", "dgesdd", "dgeev"}),
    ],
)
def test_a_rank_of_a_job(tmp_path, variables, options, offloaded):
    pytest.importorskip("numpy")
    given = ["--device=simulated", "--min-size=0", f"--report={tmp_path}/", *options]
    command = [offload.COMMAND, "run", *given, "--", sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=offload.environment(None, **variables), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    (report,) = tmp_path.glob("*.json")
    routines = {one["name"]: one for one in json.loads(report.read_text())["routines"]}
    of_interest = {"dsyevd", "dgesdd", "dgeev", "dgesv"}
    assert of_interest <= set(routines)
    assert {name for name in of_interest if routines[name]["offloaded"]} == offloaded

"""The saved time that the report gives is wall time, also where threads, children and ranks run at once.

The clock is the simulated device's: a product takes 0.1 s on the CPU, and almost no time on the device.
"""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import mpi
import offload
import pytest

sys.path.insert(0, str(offload.ROOT / "python"))

from blastoff.job import reading
from blastoff.job.processes import Job
from blastoff.job.view import words

ROUNDS, SIZE = 4, 300
CPU_RATE = 5e8
ON_CPU = ROUNDS * 2 * SIZE**3 / CPU_RATE
"""Seconds that one thread's products take."""
FEW_CORES = ("taskset", "-c", ",".join(map(str, sorted(os.sched_getaffinity(0))[:2])))
"""With many cores, the first product would be made on the CPU to time it: no simulated rate says that the CPU cannot be faster."""


def job_of(reports: Path, *command: object, launcher: tuple[str, ...] = (), rates: bool = True, min_size: int = 1, **changes: str) -> Job:
    options = ["--device=simulated", "--summary=never", f"--report={reports}/", f"--min-size={min_size}", "--decide=time"]
    if rates:
        options.append(f"--simulated-rates=cpu={CPU_RATE}")
    done = offload.run([*FEW_CORES, *launcher, offload.COMMAND, "run", *options, "--", *command], env=offload.environment(**changes))
    assert done.status == 0, done.stderr
    return reading.read_job([str(reports)])


def test_one_thread(tmp_path):
    job = job_of(tmp_path, *offload.program("wall_time", "threads", 1, ROUNDS, SIZE))
    assert job.verdict.saved == pytest.approx(ON_CPU, rel=0.05) and job.verdict.known_share == 1


def test_threads_that_call_at_once(tmp_path):
    job = job_of(tmp_path, *offload.program("wall_time", "threads", 4, ROUNDS, SIZE))
    assert job.totals.calls == 4 * ROUNDS
    # The sum over threads is four times as much. The scheduler determines how far the threads overlap.
    assert job.verdict.saved == pytest.approx(ON_CPU, rel=0.05)


def test_a_pool_of_forked_children(tmp_path):
    job = job_of(tmp_path, *offload.program("wall_time", "children", 3, ROUNDS, SIZE))
    assert len(job.processes) == 3 and job.totals.known_cpu_seconds == pytest.approx(3 * ON_CPU, rel=0.05)
    assert job.verdict.saved is None and "not known (its processes call at the same time)" in words.verdict(job)


def test_two_ranks(tmp_path):
    if shutil.which(mpi.OPENMPI.starter[0]) is None:
        pytest.skip("Open MPI is not installed (tools/install test)")
    ranks = tuple(mpi.OPENMPI.ranks(2))
    command = offload.program("wall_time", "threads", 1, ROUNDS, SIZE)
    job = job_of(tmp_path, *command, launcher=ranks, **dict(mpi.OPENMPI.settings))
    assert job.wall.ranks == [0, 1] and job.verdict.saved == pytest.approx(ON_CPU, rel=0.05)


def test_the_summary_and_the_reports_say_the_same(tmp_path):
    command = [*offload.program("wall_time", "threads", 1, ROUNDS, SIZE)]
    rates = [f"--simulated-rates=cpu={CPU_RATE}", "--min-size=1", "--decide=time"]
    report = tmp_path / "report.json"
    for summary in ("each", "always"):
        run = [*FEW_CORES, offload.COMMAND, "run", "--device=simulated", f"--summary={summary}", f"--report={report}", *rates, "--", *command]
        said = offload.run(run, env=offload.environment()).stderr
        assert re.search(r"verdict +saved about 43[0-3] ms of wall time; 100 % of the operations seen ran on the device", said), said
    document = json.loads(offload.run([offload.COMMAND, "report", "--json", report], env=offload.environment()).stdout)
    assert document["verdict"]["saved_seconds"] == pytest.approx(ON_CPU, rel=0.05)


def test_nothing_is_claimed_where_the_cpu_was_not_timed_until_a_run_without_a_device_has(tmp_path):
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "BLASTOFF_HISTORY": "on"}
    command = offload.program("wall_time", "threads", 1, ROUNDS, SIZE)

    def run(name: str) -> Job:
        return job_of(tmp_path / name, *command, rates=False, min_size=0, **cache)

    first = run("first")
    assert first.totals.offloaded == ROUNDS and first.verdict.saved is None and first.verdict.known_share == 0
    options = ["--device=none", "--summary=never", "--min-size=1"]
    done = offload.run([offload.COMMAND, "run", *options, "--", *command], env=offload.environment(**cache))
    assert done.status == 0, done.stderr
    later = run("later")
    assert later.totals.offloaded and later.verdict.known_share == 1 and later.verdict.saved is not None
    wall = later.processes[0].report["wall"]
    assert wall["cost_seconds"] > 0, "the launcher has to start, too"
    assert wall["cpu_run"]["runs"] == 1 and wall["cpu_run"]["in_calls"] <= wall["cpu_run"]["seconds"] == later.verdict.cpu_run
    assert first.processes[0].report["wall"]["cpu_run"] is None and first.verdict.cpu_run == 0

    own = tmp_path / "own.json"
    options = ["--device=simulated", "--summary=each", f"--report={own}", "--min-size=0", "--decide=time"]
    done = offload.run([*FEW_CORES, offload.COMMAND, "run", *options, "--", *command], env=offload.environment(**cache))
    said = words.verdict(reading.read_job([str(own)]))
    assert "(on the CPU it took " in said and said in done.stderr, "the process itself and its report say the same"


def test_a_whole_lapack_call_is_compared_with_a_run_whose_cpu_made_its_products_as_calls(tmp_path):
    pytest.importorskip("numpy")
    eigenvalues = "import numpy; a = numpy.random.default_rng(0).random((300, 300)); numpy.linalg.eigh(a + a.T)"
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "BLASTOFF_HISTORY": "on"}
    command = [sys.executable, "-c", eigenvalues]
    own = tmp_path / "cpu.json"
    done = offload.run([offload.COMMAND, "run", "--device=none", f"--report={own}", "--", *command], env=offload.environment(**cache))
    assert done.status == 0, done.stderr
    on_cpu = reading.read_job([str(own)]).totals
    assert on_cpu.inner_flops > 0, "the CPU's eigensolver calls products"
    later = job_of(tmp_path / "later", *command, rates=False, min_size=0, **cache)
    assert later.totals.offloaded and later.totals.inner_flops == 0
    assert later.totals.flops == pytest.approx(on_cpu.flops - on_cpu.inner_flops, rel=1e-6)
    assert later.verdict.cpu_run > 0

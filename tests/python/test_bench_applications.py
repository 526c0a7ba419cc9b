"""bench/applications.py: whole applications in the setups that SCILIB-Accel's author compared."""

import json
import subprocess
import sys

import offload
import pytest

sys.path.insert(0, str(offload.ROOT / "bench"))

import application_runs
import applications
import starting
from application_runs import Layout

ONE_RANK = """sh -c 'shift; exec "$@"' sh"""
"""In the place of mpirun: runs the program once."""

PARSEC = """#!/bin/sh
test -f POTRE.DAT || exit 3
{products} 120 3
echo "   Total Energy =           -15.87385506 [Ry]
   Total Energy =           {energy} [Ry]
 Time spent on diagonalization [sec] :       8.56" > parsec.out
"""


def run(tmp_path, *arguments, energy="-15.87937774"):
    """Measures a program that multiplies and writes a result as PARSEC does. `energy`: the result, in the shell's words."""
    program, inputs = tmp_path / "parsec.mpi", tmp_path / "inputs"
    program.write_text(PARSEC.format(products=offload.PROGRAMS / "products", energy=energy))
    program.chmod(0o755)
    inputs.mkdir()
    (inputs / "POTRE.DAT").touch()
    settings = ["--device=simulated", "--setting=BLASTOFF_MIN_SIZE=32", "--layouts=1x1", f"--command={offload.COMMAND}"]
    given = [f"--parsec={program}", f"--inputs={inputs}", f"--starter={ONE_RANK}", *settings, f"--output={tmp_path / 'out.json'}", *arguments]
    env = offload.environment(BLASTOFF_HISTORY="on")
    command = [sys.executable, offload.ROOT / "bench" / "applications.py", *given]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    rows = {row["setup"]: row for row in json.loads((tmp_path / "out.json").read_text())["rows"]}
    return done, rows


@pytest.mark.skipif(not (offload.PROGRAMS / "products").exists(), reason="the scenario programs are not built")
def test_a_table_of_setups(tmp_path):
    done, rows = run(tmp_path, "--modes=cpu,copy,coherent,first-use,placed,native")
    assert done.returncode == 0, done.stderr + done.stdout
    assert list(rows) == ["CPU", "Mem-Copy", "coherent", "First-Use", "First-Use, placed", "own GPU port"]
    assert rows["coherent"]["cannot"].startswith("not on this machine: the device cannot read the program's own memory")
    assert rows["First-Use, placed"]["cannot"] == "not on this machine: the device's memory is no NUMA node"
    assert rows["own GPU port"]["cannot"] == "no program: --native names it"
    assert 0 < rows["CPU"]["blas"] < rows["CPU"]["total"], "the seconds in calls come from a run without a device"
    assert rows["CPU"]["result"] == -15.87937774 and rows["CPU"]["reported"] == "8.56 s diagonalizing" and rows["CPU"]["moving"] is None
    for setup, reuse in (("Mem-Copy", 1), ("First-Use", 2)):
        row = rows[setup]
        assert row["offloaded"] == row["calls"] == 5 and row["moving"] > 0 and row["reuse"] >= reuse, row
        assert row["difference"] == 0 and row["right"]
        assert row["saved"] == rows["CPU"]["total"] - row["total"] and row["compared_with"] > 0, "a run without a device was before"
        assert f"{row['claimed']:.2f}/{row['saved']:.2f}" in done.stdout
    assert done.stdout.splitlines()[1].split() == [
        "layout",
        "setup",
        "total",
        "s",
        "BLAS",
        "s",
        "moving",
        "s",
        "reuse",
        "energy",
        "kJ",
        "reported",
        "difference",
        "claimed/saved",
    ]


def test_runs_of_a_layout_are_the_same_command_to_blastoff(tmp_path):
    """It knows a command by its directory, too. What an earlier run left there is gone."""
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "in $(pwd)"; ls; touch left\n')
    program.chmod(0o755)
    options = applications.argparse.Namespace(starter=["sh", "-c", 'shift; exec "$@"', "sh"], device="none", command="", setting=[], limit=20)
    said = []
    application = application_runs.Application("own", program, lambda folder, layout: None, "nothing", r"in")
    runs = application_runs.Runs(application, Layout(1, 1), options, tmp_path)
    runs.outcome = lambda folder, printed: said.append(printed) or {"result": 1.0, "reported": None}
    for _ in range(2):
        runs.run(application_runs.Mode("", launched=False), program)
    assert said == [f"in {tmp_path}/run\n"] * 2


@pytest.mark.skipif(not (offload.PROGRAMS / "products").exists(), reason="the scenario programs are not built")
def test_a_wrong_result_and_a_run_that_fails(tmp_path):
    done, rows = run(tmp_path, "--modes=cpu,copy", energy='$(test -z "$BLASTOFF_REPORT" && echo -15.8 || echo -15.9)')
    assert done.returncode == 1 and not rows["Mem-Copy"]["right"] and "WRONG" in done.stdout


def test_another_program_has_no_result(tmp_path):
    program = tmp_path / "hello"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    command = [sys.executable, offload.ROOT / "bench" / "applications.py", f"--hpl={program}", f"--starter={ONE_RANK}", "--quick", "--modes=cpu"]
    done = subprocess.run(command, env=offload.environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "ended with status 0, but wrote no result of HPL" in done.stdout and "WRONG" not in done.stdout


def test_a_run_that_takes_too_long_says_so():
    """A starter that ends its ranks has a status and words of its own."""
    done = starting.run(["sh", "-c", "sleep 1.05; echo ended >&2; exit 255"], 1, 0.2, {})
    assert (done.returncode, starting.why(done)) == (124, "status 124\nended\n\nlonger than 1 s")


def test_a_program_that_fails_says_so(tmp_path):
    options = applications.argparse.Namespace(
        starter=["sh", "-c", "echo no such atom >&2; exit 4", "sh"], device="none", command="", setting=[], repeats=1, limit=20, native=None
    )
    application = application_runs.parsec(tmp_path, tmp_path / "inputs")
    (tmp_path / "inputs").mkdir()
    row = application_runs.Runs(application, Layout(1, 1), options, tmp_path).fastest("cpu")
    assert row["failed"] and row["cannot"] == "FAILED with status 4: no such atom"


MUST_ENERGIES = """Energy Offset                        : -2633
    Iter    Energy      3PV     Efermi   Rms_rho    Rms_pot   Mix Alg   Alpha    Mom
**     1  -0.038361 -55.89705  2.06081  0.484E-01  0.580E+00  pot  B   0.05000  0.1135
       2  -0.038360 -55.89702  2.06081  0.484E-01  0.570E+00  pot  B   0.05000  0.1135
"""
MUST_OUTPUT = """         3   -0.500000    1.250000    0.300000
Averaged time for calculating MS DOS                       :       1.921 Sec
"""


@pytest.mark.parametrize(("last", "right"), [("End of a successful run......!", True), ("STOP AT setupGauGrid", False)])
def test_the_results_of_must(tmp_path, last, right):
    """Its exit status is 0 even if it gives up, so its last line tells."""
    (tmp_path / "k_n0000000_Fe3Ni").write_text(MUST_ENERGIES)
    (tmp_path / "o_n0000000_Fe3Ni").write_text(MUST_OUTPUT + last)
    runs = application_runs.Runs(application_runs.must(offload.COMMAND, tmp_path), Layout(1, 1), None, tmp_path)
    assert runs.outcome(tmp_path, "") == {"result": -0.038360, "reported": "1.92 s an energy", "right": right}


@pytest.mark.parametrize(("other", "right"), [(-0.038361, True), (-0.038362, False)])
def test_the_last_digit_of_a_result_may_differ(tmp_path, other, right):
    row = {"result": other, "right": True}
    applications.compare(row, {"result": -0.038360}, application_runs.must(offload.COMMAND, tmp_path).last_digit)
    assert row["right"] == right and row["difference"] == pytest.approx(abs(other + 0.038360) / 0.038360)


@pytest.mark.parametrize(("ranks", "grid"), [(1, (1, 1)), (6, (2, 3)), (7, (1, 7)), (16, (4, 4))])
def test_hpl_gets_a_grid_of_all_ranks(tmp_path, ranks, grid):
    for program, name, length in ((application_runs.hpcc, "hpccinf.txt", 34), (application_runs.hpl, "HPL.dat", 29)):
        program(offload.COMMAND, 5000, 192).prepare(tmp_path, Layout(ranks, 1))
        values = [line.split()[0] for line in (tmp_path / name).read_text().splitlines()[2:]]
        assert values[3] == "5000" and values[5] == "192" and (int(values[8]), int(values[9])) == grid and len(values) == length


HPL_OUTPUT = """T/V                N    NB     P     Q               Time                 Gflops
WR01C2R4        3000   256     1     1               0.35             5.1034e+01
Finished      1 tests with the following results:
              {passed} tests completed and passed residual checks,
"""


@pytest.mark.parametrize("passed", [1, 0])
def test_the_result_of_hpl(tmp_path, passed):
    (tmp_path / "HPL.out").write_text(HPL_OUTPUT.format(passed=passed))
    runs = application_runs.Runs(application_runs.hpl(offload.COMMAND, 3000, 256), Layout(1, 1), None, tmp_path)
    assert runs.outcome(tmp_path, "") == {"result": None, "reported": "51 GFLOP/s", "right": passed == 1}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "one of the arguments --must --parsec --hpl --hpcc is required"),
        (["--must", offload.COMMAND], "--inputs is missing"),
        (["--hpcc", "/nowhere/hpcc"], "no file /nowhere/hpcc"),
        (["--hpcc", offload.COMMAND, "--layouts", "4"], "'4' is no layout: RANKSxTHREADS, as 16x1"),
        (["--hpcc", offload.COMMAND, "--modes", "fast"], "unknown 'fast'; accepted: as-shipped, cpu, copy"),
    ],
)
def test_mistakes_are_said_before_anything_is_measured(monkeypatch, capsys, arguments, said):
    monkeypatch.setattr(sys, "argv", ["applications.py", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        applications.main()
    assert ended.value.code == 2 and said in capsys.readouterr().err

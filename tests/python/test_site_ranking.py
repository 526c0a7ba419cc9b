"""`blastoff site`, and the module that samples jobs for it."""

import json
import os
import subprocess
import sys

import offload
import pytest
from blastoff.command import main
from blastoff.errors import CommandError
from blastoff.site import ranking, share
from command_rig import clean_environment


def job(report: dict, seconds: float, large: float, program: str, host: str = "n1", outside: float = 10.0) -> dict:
    """A run on the CPU: `large` and one second more of it in calls, that second in small ones."""
    sums = dict.fromkeys(report["totals"], 0) | {"calls": 11, "cpu_seconds": large + 1, "wall_seconds": large + 1, "flops": 1e12}
    small = "average size below the threshold"
    site = {"routine": "dgemm", "object": "/bin/x", "offset": 1, "python": "", "threads": 1, "mean_size": 10.0} | sums
    return report | {
        "process": report["process"] | {"run": "", "program": program, "command_line": program, "host": host, "elapsed_seconds": seconds},
        "device": report["device"] | {"used": False, "kind": "none", "name": ""},
        "totals": sums,
        "routines": [{"name": "dgemm", **sums}],
        "refusals": [{"reason": small, "calls": 10}],
        "sizes": [{"min_size": 16.0} | sums | {"cpu_seconds": 1.0}, {"min_size": 724.0} | sums | {"cpu_seconds": large}],
        "call_sites": [site | {"cpu_seconds": 1.0, "calls": 10, "refusals": [{"reason": small, "calls": 10}]}],
        "wall": {"began": 0.0, "ended": seconds, "span_seconds": seconds, "small_seconds": 0.0, "cost_seconds": 0.0},
    }


def test_who_would_gain(blastoff, report, tmp_path):
    place = tmp_path / "spool"
    reports = {"1/a.json": job(report, 3600, 3000, "scf"), "1/b.json": job(report, 3600, 3000, "scf", "n2"), "2/a.json": job(report, 7200, 5, "bash")}
    reports |= {"3/c.json": job(report, 3600, 1000, "scf"), "4/on.json": report | {"process": report["process"] | {"elapsed_seconds": 7200.0}}}
    for name, content in reports.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(json.dumps(content))
    (place / "4" / "damaged.json").write_text('{"blastoff": ')
    shown = json.loads(blastoff("site", "--json", place).stdout)
    assert shown["unreadable_files"] == 1
    user = share.owner(place)
    rows = {(row["user"], row["program"]): row for row in shown["programs"]}
    assert next(iter(rows)) == (user, "scf"), "the largest gain comes first, whatever took longest"
    scf = rows[user, "scf"]
    assert scf["jobs"] == 3, "a folder is one job"
    assert scf["node_hours"] == pytest.approx(2 + 1 + 2), "a job on two nodes, one on one, and one with a GPU"
    assert scf["largest_gain_hours"] == pytest.approx((2 * 3000 + 1000) / 3600)
    assert scf["gpu_hours"] == pytest.approx((2 * 600 + 2600 + 7200) / 3600) and scf["hours_on_gpus"] == 2
    assert rows[user, "bash"]["gpu_hours"] == 0, "a job that gains little takes no GPU"
    text = blastoff("site", place).stdout
    assert "4 jobs of 1 user, 7.00 node hours: with GPUs, up to 1.95 of them could be saved (28 %)" in text
    assert "left out    1 file that could not be read" in text
    assert "outside BLAS, LAPACK and FFTW" in text
    assert max(map(len, blastoff("site", place, env={"COLUMNS": "80"}).stdout.splitlines())) <= 80


def test_traces_count_by_prediction(blastoff, tmp_path):
    """A job with traces counts once, and its gain is predicted. What is no trace is left out."""
    rates = "simulated:link=10,device=100000,cpu=1,launch=1,start=1"
    traced = ["--device=none", "--history=off", "--summary=never", f"--trace={tmp_path}/1/", f"--report={tmp_path}/1/"]
    (tmp_path / "scf.py").write_text("import numpy\na = numpy.ones((400, 400))\nfor i in range(20): a @ a\n")
    blastoff("run", *traced, "--", sys.executable, tmp_path / "scf.py")
    (tmp_path / "1" / "other.trace").write_text("no trace")
    shown = json.loads(blastoff("site", f"--machine={rates}", "--json", tmp_path).stdout)
    assert (shown["traced_jobs"], shown["unreadable_files"]) == (1, 1)
    (row,) = shown["programs"]
    assert row["program"] == "scf.py" and row["jobs"] == 1
    assert 0 < row["largest_gain_hours"] < row["hours_in_calls"] and row["gpu_hours"] == pytest.approx(row["node_hours"] - row["largest_gain_hours"])
    assert "traces      of 1 job: " in blastoff("site", f"--machine={rates}", tmp_path).stdout


def test_wrong_directories(blastoff, tmp_path):
    for place, said in ((tmp_path / "none", "no such directory"), (tmp_path, "no report or trace of a process that made calls")):
        done = blastoff("site", place)
        assert done.returncode == 2 and said in done.stderr and len(done.stderr.splitlines()) == 1


def test_an_unreadable_directory(monkeypatch, tmp_path):
    def refused(place):
        raise PermissionError(13, "Permission denied", str(place))

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(CommandError, match="Permission denied"):
        ranking.Reader(tmp_path, [])


def test_an_unreadable_directory_of_many(monkeypatch, report, tmp_path, capsys):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "r.json").write_text(json.dumps(job(report, 3600, 3000, "scf")))
    walk = os.walk

    def without_b(top, onerror=None):
        for folder, folders, names in walk(top):
            if folder.endswith("/b"):
                onerror(PermissionError(13, "Permission denied", folder))
            else:
                yield folder, folders, names

    monkeypatch.setattr(os, "walk", without_b)
    assert main(["site", str(tmp_path)]) == 0
    assert "left out    1 directory that could not be read" in capsys.readouterr().out


def test_reports_without_arguments(tmp_path):
    (tmp_path / "run.py").write_text("import numpy\na = numpy.ones((80, 80))\na @ a\n")
    sampled = {"LD_PRELOAD": str(offload.LIBRARY), "BLASTOFF_DEVICE": "none", "BLASTOFF_SUMMARY": "never", "BLASTOFF_HISTORY": "off"}
    sampled |= {"BLASTOFF_ARGUMENTS": "drop", "BLASTOFF_REPORT": str(tmp_path / "spool" / "7" / "%h-%r-%p.json")}
    command = ["sh", "-c", f"{sys.executable} -u run.py --password secret; {sys.executable} -c 'import numpy; a = numpy.ones((80, 80)); a @ a'; true"]
    subprocess.run(command, env=clean_environment() | sampled, cwd=tmp_path, check=True)
    files = sorted((tmp_path / "spool" / "7").iterdir())
    assert len(files) == 2, "a process without calls writes nothing"
    lines = {json.loads(file.read_text())["process"]["command_line"] for file in files}
    assert lines == {f"{sys.executable} run.py", sys.executable}
    assert all("secret" not in file.read_text() for file in files)
    assert share.owner(files[0]) == share.owner(tmp_path) and os.access(files[0], os.R_OK)

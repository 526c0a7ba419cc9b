"""`blastoff advise`, the verdict, `report --compare` and the exports."""

import csv
import io
import json

import offload
import pytest
from blastoff.advise import advice
from blastoff.advise.advice import advise
from blastoff.job import reading
from blastoff.job.call_sites import CallSite
from blastoff.job.places import Place
from blastoff.job.processes import Sums
from blastoff.job.view import words


def sums_of(**counters: float) -> Sums:
    """With zeros for the other counters."""
    return Sums() + Sums(counters)


def site(name: str = "cg.f90:214 in step", threads: int = 1, size: float = 96, refusals: dict | None = None, **sums: float) -> CallSite:
    result = CallSite("dgemm", Place("/opt/scf", 1), "", name=name, threads=threads)
    result.sums = sums_of(**sums)
    result.volume = size**3 * result.sums.calls
    result.refusals.update(refusals or {})
    return result


def said(job, *sites) -> list[str]:
    return [one.what for one in advise(job, list(sites))]


@pytest.fixture
def job(report, write):
    return reading.read_job(write(report))


def test_nothing_is_said_of_a_good_run(job):
    assert said(job, site(calls=100, offloaded=100, device_seconds=2, bytes_to_device=1000, bytes_reused=90000)) == []


def test_matrices_that_are_moved_for_one_use(job):
    moving = {"calls": 100, "offloaded": 100, "device_seconds": 2, "transfer_seconds": 1, "bytes_to_device": 3_200_000_000}
    (found,) = advise(job, [site(**moving)])
    assert found.seconds == 1
    assert found.what.startswith("3.20 GB brought to the device for one use, in 100 calls of dgemm at cg.f90:214 in step")
    assert found.what.endswith("the matrices are new each time")
    (what,) = said(job, site(**moving, bytes_rewritten=2_000_000_000))
    assert what.startswith("2.00 GB rewritten before each use, in 100 calls of dgemm at cg.f90:214")
    assert said(job, site(**moving, bytes_reused=9_000_000_000)) == []
    assert said(job, site(**moving | {"transfer_seconds": 0.0001})) == []  # costs nothing


def test_many_small_calls(job):
    small = {"average size below the threshold": 1_200_000}
    (what,) = said(job, site(calls=1_200_000, cpu_seconds=9, refusals=small))
    assert "calls of 96 x 96 by dgemm at cg.f90:214" in what
    assert said(job, site(calls=100, cpu_seconds=9, refusals={"average size below the threshold": 100})) == []


def test_a_product_cut_among_threads(job):
    (what,) = said(job, site(calls=1600, threads=16, size=200, cpu_seconds=9, refusals={"average size below the threshold": 1600}))
    assert what.startswith("a product cut among 16 threads: 1600 calls of 200 x 200")


def test_calls_that_the_device_slowed_down(job):
    (found,) = advise(job, [site(calls=10, offloaded=10, device_seconds=2, judged=10, lost=4, lost_seconds=0.5)])
    assert found.seconds == 0.5 and "4 of 10 offloaded calls" in found.what


def test_block_sizes_of_scalapack(job):
    shallow = {"too little work for each element of the result": 40_000, "average size below the threshold": 10_000}
    small = site(calls=50_000, cpu_seconds=9, refusals=shallow)
    small.place = Place("/usr/lib/x86_64-linux-gnu/libscalapack-openmpi.so.2.2", 1)
    (found,) = advise(job, [small])
    assert found.seconds == 9 and found.what.replace("\u202f", "") == "50000 calls of dgemm by ScaLAPACK are too shallow or too small for the device"
    assert "blocks of 64 at least" in found.remedy and "better of 256" in found.remedy
    assert said(job, site(calls=50_000, cpu_seconds=9, refusals=shallow)) != [found.what]


def test_no_room_on_the_device(job):
    (found,) = advise(job, [site(calls=10, offloaded=6, cpu_seconds=8, refusals={"not enough device memory": 1})])
    assert found.seconds == 2 and "no room on the device" in found.what


def test_ranks_without_a_server(report, write):
    device = report["device"] | {"index": 0, "by_server": False}
    ranks = [report | {"process": report["process"] | {"rank": rank, "pid": rank + 1}, "device": device} for rank in range(4)]
    (what,) = said(reading.read_job(write(*ranks)))
    assert what == "4 processes share cuda:0 of node17 without NVIDIA MPS: they take turns"
    shared = reading.read_job(write(*ranks))
    assert shared.taking_turns() == {("node17", 0): (4, 8.0)}
    assert ("sharing", "4 processes took turns on cuda:0 of node17: NVIDIA MPS (--mps=auto) would save about 800 ms") in words.conclusions(shared)
    served = [rank | {"device": device | {"by_server": True}} for rank in ranks]
    assert said(reading.read_job(write(*served))) == []
    assert "sharing" not in dict(words.conclusions(reading.read_job(write(*served))))


def test_the_kernel_has_no_huge_pages(report, write):
    never = report | {"process": report["process"] | {"huge_pages": "never"}}
    assert said(reading.read_job(write(never))) == ["the kernel gives no huge pages (transparent_hugepage: never)"]
    assert said(reading.read_job(write(report | {"process": report["process"] | {"huge_pages": "madvise"}}))) == []


def test_memory_that_cannot_be_tracked(report, write):
    policy = report["policy"] | {"copied_operands": [{"reason": "a mapped file", "calls": 20}]}
    (found,) = advise(reading.read_job(write(report | {"policy": policy})), [])
    assert found.seconds == 0.5 and found.what == "20 calls copied a matrix each time: a mapped file"


def test_the_dearest_comes_first(job):
    found = advise(
        job,
        [
            site(calls=10, offloaded=10, device_seconds=2, judged=10, lost=4, lost_seconds=0.5),
            site(calls=100, offloaded=100, device_seconds=2, transfer_seconds=1, bytes_to_device=1000),
        ],
    )
    assert [one.seconds for one in found] == [1, 0.5]


def test_the_command(blastoff, report, write):
    never = report | {"process": report["process"] | {"huge_pages": "never"}}
    done = blastoff("advise", *write(never))
    assert done.returncode == 0, done.stderr
    assert "the kernel gives no huge pages" in done.stdout and "- Tracking writes" in done.stdout
    (one,) = json.loads(blastoff("advise", "--json", *write(never)).stdout)
    assert one["seconds"] is None and set(one) == {"seconds", "what", "remedy"}
    assert "Nothing in these reports stands in the way." in blastoff("advise", *write(report)).stdout


def test_the_verdict():
    gained = sums_of(
        offloaded=9,
        judged=9,
        judged_seconds=2,
        device_seconds=2,
        expected_cpu_seconds=51,
        cpu_seconds=73,
        lost=412,
        lost_seconds=0.3,
        flops=100,
        offloaded_flops=92,
    )
    assert words.verdict(gained) == "saved about 49.0 s of 124 s in BLAS; 300 ms lost in 412 calls; 92 % of all operations ran on the device"
    slower = sums_of(offloaded=9, judged=9, judged_seconds=3, device_seconds=3, expected_cpu_seconds=2, flops=1, offloaded_flops=1)
    assert words.verdict(slower) == "lost about 1.00 s, where the CPU would have taken 2.00 s; 100 % of all operations ran on the device"
    assert words.verdict(Sums()) == ""
    unknown = sums_of(offloaded=9, device_seconds=3, flops=1, offloaded_flops=1)
    assert words.verdict(unknown).endswith("what the CPU would have taken is not known")


def test_two_reports_side_by_side(blastoff, report, write):
    faster = report | {
        "routines": [{"name": "dgemm", **report["totals"], "device_seconds": 1.0}],
        "totals": report["totals"] | {"device_seconds": 1.0},
    }
    paths = [*write(report), *write(report, faster)[1:]]
    done = blastoff("report", "--compare", *paths)
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if line.startswith("dgemm")).split()
    assert row[5:8] == ["3.000", "2.000", "0.67"]
    both = blastoff("report", "--compare", *paths, paths[0])
    assert both.returncode == 2 and "--compare takes two reports" in both.stderr


def test_csv_and_json(blastoff, report, write):
    paths = write(report)
    (row,) = csv.DictReader(io.StringIO(blastoff("report", "--csv", "-", *paths).stdout))
    assert (row["host"], row["pid"], row["rank"], row["routine"], row["calls"]) == ("node17", "4711", "", "dgemm", "30")
    document = json.loads(blastoff("report", "--json", *paths).stdout)
    assert document["totals"]["calls"] == 30 and document["routines"][0]["name"] == "dgemm"


def test_the_time_line_as_a_trace(blastoff, report, write, tmp_path):
    call = {"start": 1.5, "seconds": 0.25, "transfer_seconds": 0.125, "routine": "dgemm", "on_device": True, "thread": 7, "size": 500}
    timed = report | {"process": report["process"] | {"started": 1000.0}, "timeline": [call]}
    later = timed | {"process": timed["process"] | {"started": 1001.0, "pid": 4712}}
    path = tmp_path / "trace.json"
    done = blastoff("report", "--chrome-trace", str(path), *write(timed, later))
    assert done.returncode == 0, done.stderr
    events = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    assert [(event["ts"], event["dur"], event["tid"], event["pid"]) for event in events] == [(1.5e6, 0.25e6, 7, 0), (2.5e6, 0.25e6, 7, 1)]
    none = blastoff("report", "--chrome-trace", str(path), *write(report))
    assert none.returncode != 0 and "there is no time line" in none.stderr


def test_the_page_shows_sites_sizes_and_the_time_line(blastoff, report, write, tmp_path):
    place = {
        "routine": "dgemm",
        "object": "/opt/scf",
        "offset": 64,
        "python": "/home/me/scf.py:12 in step",
        "threads": 1,
        "mean_size": 100.0,
        "refusals": [],
    }
    sizes = [{"least_size": size, "calls": 5, "offloaded": 0, "cpu_seconds": 1.0, "device_seconds": 0.5} for size in (64.0, 512.0)]
    call = {"start": 1.5, "seconds": 0.25, "transfer_seconds": 0.125, "routine": "dgemm", "on_device": True, "thread": 7, "size": 500}
    whole = report | {
        "process": report["process"] | {"started": 1000.0},
        "timeline": [call],
        "sizes": sizes,
        "call_sites": [place | report["totals"]],
    }
    predicted = {"cpu_seconds": 0.002, "device_seconds": 0.001, "bringing_seconds": None, "missing_bytes": None}
    decision = {"routine": "dgemm", "example": "N N m=96", "verdict": "offloaded", "calls": 4, "seconds": 2.0, "longest_seconds": 1.0}
    whole["decisions"] = [decision | {"predicted": predicted}]
    page = tmp_path / "page.html"
    assert blastoff("report", "--html", str(page), *write(whole)).returncode == 0
    text = page.read_text()
    for words_shown in ("Decisions", "dgemm N N m=96", "500 ms", "Call sites", "scf.py:12 in step", "Time by average size", "Time line"):
        assert words_shown in text


def test_the_reasons_are_those_of_the_library():
    texts = (offload.ROOT / "src" / "report" / "refusals.def").read_text()
    for reason in (advice.SMALL, advice.SHALLOW, advice.MEMORY, advice.NOT_READY, advice.LOST, advice.NO_DEVICE):
        assert f'"{reason}"' in texts

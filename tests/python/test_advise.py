"""`blastoff advise`, the verdict, `report --compare` and the exports."""

import copy
import csv
import io
import json

import offload
import pytest
from advise_rig import ranks_of, site
from blastoff.advise import advice
from blastoff.advise.advice import advise
from blastoff.job import folding, processes, reading, schema
from blastoff.job.call_sites import call_sites
from blastoff.job.places import Place
from blastoff.job.view import words
from blastoff.job.wall import Verdict


def said(job, *sites) -> list[str]:
    """The obstacles in words, without the time outside calls."""
    return [one.what for one in found(job, *sites)]


def found(job, *sites) -> list:
    return [one for one in advise(job, list(sites)) if "outside the calls" not in one.what]


def plain(text: str) -> str:
    """The text without the spaces between groups of digits."""
    return text.replace("\u202f", "")


@pytest.fixture
def report(report) -> dict:
    """A report of a run that knows how much time it has saved."""
    return report | {"totals": report["totals"] | {"known_flops": 5e9, "known_seconds": 2.0, "known_cpu_seconds": 4.0}}


@pytest.fixture
def job(report, write):
    return reading.read_job(write(report))


def test_nothing_is_said_of_a_good_run(job):
    assert said(job, site(calls=100, offloaded=100, device_seconds=2, bytes_to_device=1000, bytes_reused=90000)) == []


def test_what_is_outside_comes_first(report, write):
    wall = {"began": 10.0, "ended": 70.0, "span_seconds": 60.0, "small_seconds": 4.5, "cost_seconds": 0.5}
    calling = report | {"wall": wall, "totals": report["totals"] | {"wall_seconds": 10.0}}
    lost = site(calls=10, offloaded=10, device_seconds=2, lost=4, lost_seconds=0.5)
    first, second = advise(reading.read_job(write(calling)), [lost])
    assert first.seconds == 46.5 and first.what == "76 % of the run (61.5 s) at least is outside the calls that Blastoff sees"
    assert second.seconds == 0.5
    busy = calling | {"totals": report["totals"] | {"wall_seconds": 55.0}}
    assert [one.seconds for one in advise(reading.read_job(write(busy)), [lost])] == [0.5]
    pool = {"hits": 0, "misses": 0, "seconds": 0.0}
    counts = schema.report_schema()["properties"]["blocks"]["required"]
    blocks = {name: pool if name.endswith("pool") else 0 for name in counts}
    for untold in (report, calling | {"blocks": blocks}):
        assert [one.seconds for one in advise(reading.read_job(write(untold)), [lost])] == [0.5]
    simulated = calling | {"settings": report["settings"] | {"simulated-rates": "cpu=1"}}
    assert [one.seconds for one in advise(reading.read_job(write(simulated)), [lost])] == [0.5]


def test_matrices_that_are_brought_for_few_uses(job):
    moving = {"calls": 100, "offloaded": 100, "device_seconds": 2, "transfer_seconds": 1, "bytes_to_device": 3_200_000_000}
    (one,) = found(job, site(**moving))
    assert one.seconds == 1
    assert one.what == "3.20 GB brought to the device in 100 calls of dgemm at cg.f90:214 in step, and used 1.00 times there on average"
    assert said(job, site(**moving, bytes_reused=9_000_000_000)) == []
    assert said(job, site(**moving | {"transfer_seconds": 0.0001})) == []  # the transfers take no noticeable time
    assert said(job, site(**moving | {"calls": 1, "offloaded": 1})) == []  # one matrix, which was used once


def test_matrices_that_are_rewritten(job):
    moving = {"calls": 100, "offloaded": 100, "device_seconds": 2, "transfer_seconds": 1, "bytes_to_device": 3_200_000_000}
    (what,) = said(job, site(**moving, bytes_rewritten=2_000_000_000))
    assert what.startswith("3.20 GB brought to the device in 100 calls of dgemm at cg.f90:214 in step; 2.00 GB of them again")
    (what,) = said(job, site(**moving, bytes_rewritten=1_000_000_000))
    assert "again" not in what


def test_many_small_calls(job):
    small = {"average size below the threshold": 1_200_000}
    (one,) = found(job, site(calls=1_200_000, cpu_seconds=9, refusals=small))
    assert one.seconds == 9 and "calls of 96 x 96 by dgemm at cg.f90:214" in one.what
    assert said(job, site(calls=100, cpu_seconds=9, refusals={"average size below the threshold": 100})) == []
    assert said(job, site(calls=1_200_000, cpu_seconds=9, refusals={"measured: the CPU is as fast": 1_200_000})) == []


def test_small_calls_of_several_threads(job):
    small = {"average size below the threshold": 1600}
    (what,) = said(job, site(calls=1600, threads=16, size=200, cpu_seconds=9, refusals=small))
    assert plain(what) == "1600 calls of 200 x 200 by dgemm at cg.f90:214 in step, from 16 threads: each is too small for the device"
    assert said(job, site(calls=1600, threads=1, size=200, cpu_seconds=9, refusals=small)) == []
    assert said(job, site(calls=1600, threads=16, size=20, cpu_seconds=9, refusals=small)) == []  # the whole product would be too small too


def test_calls_that_the_device_slowed_down(job):
    (one,) = found(job, site(calls=10, offloaded=10, device_seconds=2, lost=4, lost_seconds=0.5))
    assert one.seconds == 0.5 and one.what == "4 of 10 offloaded calls of dgemm at cg.f90:214 in step took longer than on the CPU"
    assert said(job, site(calls=10, offloaded=10, device_seconds=2, judged_seconds=2, expected_cpu_seconds=1)) == []  # not measured


def test_block_sizes_of_scalapack(job):
    shallow = {"too little work for each element of the result": 40_000, "average size below the threshold": 10_000}
    small = site(calls=50_000, cpu_seconds=9, refusals=shallow)
    small.place = Place("/usr/lib/x86_64-linux-gnu/libscalapack-openmpi.so.2.2", 1)
    (one,) = found(job, small)
    assert one.seconds == 9 and plain(one.what) == "50000 calls of dgemm by ScaLAPACK are too shallow or too small for the device"
    assert said(job, site(calls=50_000, cpu_seconds=9, refusals=shallow)) != [one.what]


def test_vectors_that_ranks_may_share(job):
    left = {"eigenvectors or singular vectors in a job of several ranks, which may all need the same ones": 30}
    (one,) = found(job, site(calls=40, cpu_seconds=8, refusals=left))
    assert one.seconds == 6 and one.what == "30 calls of dgemm ran on the CPU: ranks that solve the same problem need the same vectors"
    assert said(job, site(calls=40, cpu_seconds=8, refusals={"measured: the CPU is as fast": 30})) == []


def test_no_room_on_the_device(job):
    (one,) = found(job, site(calls=10, offloaded=6, cpu_seconds=8, refusals={"not enough device memory": 1}))
    assert one.seconds == 2 and "no room on the device for 1 call" in one.what
    assert said(job, site(calls=10, offloaded=6, cpu_seconds=8, refusals={"the device was not ready yet": 0})) == []


def test_calls_before_the_device_was_ready(job, report, write):
    early = site(calls=4, offloaded=2, cpu_seconds=2, refusals={"the device was not ready yet": 2})
    assert said(job, early) == ["2 calls ran on the CPU, before the device was ready"]
    never = reading.read_job(write(report | {"device": report["device"] | {"opening": None}}))
    assert said(never, early) == ["2 calls ran on the CPU, and the device was not opened"]
    assert said(job, site(calls=4, offloaded=4, device_seconds=2)) == []


def test_ranks_without_a_server_are_named_and_nothing_is_promised(report, write):
    device = report["device"] | {"index": 0, "by_server": False}
    ranks = [rank | {"device": device} for rank in ranks_of(report, *4 * [{}])]
    shared = reading.read_job(write(*ranks))
    assert said(shared) == []
    assert ("sharing", "4 processes took turns on cuda:0 of node17, without NVIDIA MPS (--mps)") in words.conclusions(shared)
    served = [rank | {"device": device | {"by_server": True}} for rank in ranks]
    assert "sharing" not in dict(words.conclusions(reading.read_job(write(*served))))


def test_a_rank_that_others_wait_for(report, write):
    uneven = reading.read_job(write(*ranks_of(report, {"wall_seconds": 10.0}, {"wall_seconds": 2.0}, {"wall_seconds": 3.0})))
    (one,) = found(uneven)
    assert one.seconds == 5 and one.what == "rank 0 spends 2.0 times the mean wall time in calls, and 2 others may wait for it"
    assert said(reading.read_job(write(*ranks_of(report, *3 * [{"wall_seconds": 10.0}])))) == []


def test_no_device(report, write):
    without = {"refusals": [{"reason": "no usable device", "calls": 3}], "device": report["device"] | {"state": "no CUDA driver"}}
    (one,) = found(reading.read_job(write(report | without)), site(calls=3, cpu_seconds=4, refusals={"no usable device": 3}))
    assert one.seconds == 4 and one.what == "3 calls: no usable device: no CUDA driver"
    assert said(reading.read_job(write(report)), site(calls=3, cpu_seconds=4)) == []


def test_the_kernel_has_no_huge_pages(report, write):
    never = report | {"process": report["process"] | {"huge_pages": "never"}}
    (what,) = said(reading.read_job(write(never)))
    assert what == "writes to matrices were tracked without huge pages: the kernel gives none (transparent_hugepage: never)"
    assert said(reading.read_job(write(report | {"process": report["process"] | {"huge_pages": "madvise"}}))) == []
    assert said(reading.read_job(write(never | {"policy": report["policy"] | {"tracker": "none"}}))) == []  # nothing was tracked


def test_memory_that_cannot_be_tracked(job, report, write):
    policy = report["policy"] | {"copied_operands": [{"reason": "a mapped file", "calls": 20}]}
    (one,) = found(reading.read_job(write(report | {"policy": policy})))
    assert one.seconds is None and one.what == "20 calls copied a matrix each time: a mapped file"
    assert said(job) == []


def with_refused(report: dict, *names: str) -> dict:
    refused = [{"name": name, "reason": "its code is too short"} for name in names]
    objects = [{"path": "/usr/lib/libx.so", "seconds": 0.0, "patched": [], "refused": refused, "left_alone": []}]
    return report | {"interception": report["interception"] | {"objects": objects}}


def test_functions_that_could_not_be_patched(report, write):
    (one,) = found(reading.read_job(write(with_refused(report, "zherk_", "zher2k_"))))
    assert one.seconds is None
    assert one.what.startswith("2 functions could not be patched (zherk_, zher2k_: its code is too short), and no call was counted")
    assert said(reading.read_job(write(with_refused(report, "dgemm_", "cblas_dgemm", "dgemm_64_")))) == []  # their calls were counted
    transforms = report | {"routines": [{"name": "fftw_execute_dft", **report["totals"]}]}
    assert said(reading.read_job(write(with_refused(transforms, "fftw_execute", "dfftw_execute_")))) == []
    assert len(said(reading.read_job(write(with_refused(transforms, "fftwf_execute"))))) == 1
    transforms = report | {"routines": [{"name": "dfti_z2z", **report["totals"]}]}
    assert said(reading.read_job(write(with_refused(transforms, "DftiComputeForward", "dfti_compute_forward_z_")))) == []


def test_a_saving_that_is_not_known(report, write):
    (what,) = said(reading.read_job(write(of_counters(report, known_flops=1e9))))
    assert what == "what the device saves is not known: the CPU was timed for 20 % of the operations that ran there"
    assert said(reading.read_job(write(report))) == []
    assert said(reading.read_job(write(of_counters(report, known_flops=0, offloaded=0)))) == []


def test_calls_that_are_checked(report, write):
    checks = {"verification": report["verification"] | {"checked": 20}}
    assert said(reading.read_job(write(report | checks))) == ["--verify has computed 20 calls on the CPU, too"]
    assert said(reading.read_job(write(report | {"verification": report["verification"] | {"checked": 1}}))) == []
    sampled = report | checks | {"settings": report["settings"] | {"verify": "sample:1"}}
    assert said(reading.read_job(write(sampled))) == []  # because of products with a vector


def test_the_dearest_comes_first(job):
    both = found(
        job,
        site(calls=10, offloaded=10, device_seconds=2, lost=4, lost_seconds=0.5),
        site(calls=100, offloaded=100, device_seconds=2, transfer_seconds=1, bytes_to_device=1000),
    )
    assert [one.seconds for one in both] == [1, 0.5]


def test_seconds_of_threads_and_ranks_are_wall_time(report, write):
    """Four ranks with eight threads each spend 32 seconds in calls within one second."""
    place = {"routine": "dgemm", "object": "/opt/scf", "offset": 64, "python": "", "threads": 8, "mean_size": 500.0}
    refusals = [{"reason": "not enough device memory", "calls": 8}]
    sums = report["totals"] | {"calls": 8, "offloaded": 0, "cpu_seconds": 8.0, "device_seconds": 0.0, "wall_seconds": 1.0}
    ranks = [rank | {"call_sites": [place | sums | {"refusals": refusals}]} for rank in ranks_of(report, *4 * [sums])]
    job = reading.read_job(write(*ranks))
    (one,) = found(job, *call_sites(job))
    assert one.seconds == 1 and one.what.startswith("no room on the device for 32 calls")


def test_small_calls_take_the_time_that_was_estimated_for_them(report, write):
    """Wall time is measured for large calls only: 0.1 s of these 5 s of 20 000 calls."""
    refusals = [{"reason": "average size below the threshold", "calls": 20_000}]
    place = {"routine": "dgemm", "object": "/opt/scf", "offset": 64, "python": "", "threads": 1, "mean_size": 40.0, "refusals": refusals}
    sums = report["totals"] | {"calls": 20_000, "offloaded": 0, "cpu_seconds": 5.0, "device_seconds": 0.0, "wall_seconds": 0.1}
    wall = {"began": 10.0, "ended": 16.0, "span_seconds": 6.0, "small_seconds": 4.9, "cost_seconds": 0.0}

    def seconds(**changes: float) -> list[float | None]:
        one = report | {"totals": sums | changes, "wall": wall, "call_sites": [place | sums | changes | {"threads": int(changes.get("threads", 1))}]}
        job = reading.read_job(write(one))
        return [one.seconds for one in found(job, *call_sites(job))]

    assert seconds() == [pytest.approx(5.0)]
    assert seconds(threads=2, wall_seconds=0.05) == [pytest.approx(2.5)]  # two threads at once
    assert seconds(wall_seconds=0) == [pytest.approx(5.0)]


def test_the_command(blastoff, report, write):
    never = report | {"process": report["process"] | {"huge_pages": "never"}}
    done = blastoff("advise", *write(never))
    assert done.returncode == 0, done.stderr
    assert "the kernel gives none" in done.stdout and "- Tracking takes" in done.stdout and "What stands in the way, and" in done.stdout
    outside, one = json.loads(blastoff("advise", "--json", *write(never | {"wall": None})).stdout)
    assert one["seconds"] is None and set(one) == {"seconds", "what", "remedy"} and outside["seconds"] == 61.5
    assert "Nothing in these reports stands in the way." in blastoff("advise", *write(report)).stdout


SHARE = "92 % of the operations seen ran on the device"
KNOWN = {"offloaded": 9, "flops": 100, "offloaded_flops": 92, "known_flops": 92}


def of_counters(report: dict, **counters: float) -> dict:
    return report | {"totals": report["totals"] | counters}


def test_the_verdict(report, write):
    def verdict(**counters: float) -> str:
        return words.verdict(reading.read_job(write(of_counters(report, **counters))))

    gained = KNOWN | {"known_seconds": 2, "known_cpu_seconds": 51, "lost": 412, "lost_seconds": 0.3}
    assert verdict(**gained) == f"saved about 49.0 s of wall time; 300 ms lost in 412 calls; {SHARE}"
    assert verdict(**KNOWN, known_seconds=3, known_cpu_seconds=2) == f"lost about 1.00 s of wall time; {SHARE}"
    assert verdict(offloaded=0) == ""
    unknown = verdict(**KNOWN | {"known_flops": 46}, known_seconds=3, known_cpu_seconds=30)
    assert unknown == f"saved: not known (the CPU was timed for 50 % of it); {SHARE}"


def test_the_verdict_on_threads(report, write):
    """The calls of the threads may overlap more on the CPU than they do now."""

    def verdict(busiest: float, on_cpu: float, now: float) -> tuple[str, float | None]:
        wall = {"began": 10.0, "ended": 70.0, "span_seconds": 60.0, "small_seconds": 0.0, "cost_seconds": 0.0, "busiest_cpu_seconds": busiest}
        job = reading.read_job(write(of_counters(report, **KNOWN, known_seconds=now, known_cpu_seconds=on_cpu) | {"wall": wall}))
        return words.verdict(job).partition(";")[0], job.verdict.saved

    assert verdict(10, 10, 2) == ("saved about 8.00 s of wall time", 8)
    assert verdict(10, 11.5, 2) == ("saved about 8.00 s of wall time", 8)
    assert verdict(10, 40, 2) == ("saved at least 8.00 s of wall time", 8)
    assert verdict(10, 6, 2) == ("saved at least 8.00 s of wall time", 8)
    assert verdict(10, 40, 20) == ("saved: not known (its threads may overlap otherwise on the CPU)", None)
    assert verdict(10, 10.05, 10.02)[0] == "lost about 20.0 ms of wall time"


def test_what_blastoff_takes_outside_calls_counts(report, write):
    wall = {"began": 10.0, "ended": 70.0, "span_seconds": 60.0, "small_seconds": 0.0, "cost_seconds": 3.0}
    counted = of_counters(report, **KNOWN, known_seconds=2, known_cpu_seconds=4) | {"wall": wall}
    assert reading.read_job(write(counted)).verdict.saved == -1


def compared(report: dict, elapsed: float, in_calls: float, rank: int | None = None, flops: float = 100.0, pid: int = 1) -> dict:
    """The report of a process with an earlier run on the CPU, which took 30 s, 20 of them in calls, for 100 operations."""
    wall = {"began": 10.0, "ended": 70.0, "span_seconds": 60.0, "small_seconds": 0.0, "cost_seconds": 0.5}
    wall["cpu_run"] = {"flops": 100.0, "seconds": 30.0, "in_calls": 20.0, "runs": 1}
    process = report["process"] | {"elapsed_seconds": elapsed, "rank": rank, "pid": pid}
    counters = KNOWN | {"flops": flops, "known_seconds": 2, "known_cpu_seconds": 4, "wall_seconds": in_calls}
    return of_counters(report, **counters) | {"wall": wall, "process": process}


def test_an_earlier_run_on_the_cpu_tells_what_was_saved(report, write):
    def verdict(*reports: dict) -> Verdict:
        return reading.read_job(write(*reports)).verdict

    assert verdict(compared(report, 15, 5)).saved == 15, "the rest of the program takes as long as on the CPU"
    assert verdict(compared(report, 17, 5)).saved == 13, "it takes longer, because the device was opened beside it"
    opening = report["device"]["opening"]["seconds"]
    assert verdict(compared(report, 40, 5)).saved == pytest.approx(15 - 5.5 - opening), "it cannot take longer by more than calls and our own work"
    assert verdict(compared(report, 10, 5)).saved == 15, "that it takes less is no merit of the device"
    assert verdict(compared(report, 31, 20.0)).saved == -1
    other = verdict(compared(report, 15, 5, flops=102.0))
    assert (other.saved, other.cpu_run) == (1.5, 0), "a run with other work is not compared"
    inside = compared(report, 15, 5, flops=150.0)
    inside["totals"]["inner_flops"] = 50.0
    assert verdict(inside).cpu_run == 30, "calls inside calls are no further work"
    text = words.verdict(reading.read_job(write(compared(report, 15, 5))))
    assert text.startswith("saved about 15.0 s of wall time (on the CPU it took 30.0 s); ")


def test_the_time_of_the_first_rank_tells_what_a_job_has_saved_against_an_earlier_run(report, write):
    def saved(*reports: dict) -> float:
        return reading.read_job(write(*reports)).verdict.saved

    ranks = [compared(report, elapsed, 5, rank, pid=rank + 1) for rank, elapsed in enumerate((12, 14, 16))]
    assert saved(*ranks) == 15 + 3, "a rank waits for others no longer: a fifth of what the calls save, at most"
    assert saved(*ranks[::-1]) == 15 + 3
    alone = [compared(report, 12, 5, pid=pid) for pid in (1, 2)]
    assert saved(*alone) is None, "neither of two processes has the job's time"


def test_a_job_saves_what_its_busiest_rank_saves(report, write):
    """The job does not save the sum over all ranks."""

    def saved(*times: tuple[float, float]) -> float:
        counters = [KNOWN | {"known_cpu_seconds": on_cpu, "known_seconds": now} for on_cpu, now in times]
        return reading.read_job(write(*ranks_of(report, *counters))).verdict.saved

    assert saved(*16 * [(11, 1)]) == 10
    assert saved((11, 1), (2, 1), (2, 1)) == 10
    assert saved((11, 1), (6, 5)) == 6
    assert saved((5, 1), (5, 8)) == -3


def calling(report: dict, pid: int, began: float, ended: float, span: float | None = None, count: int = 1) -> dict:
    """The report of processes that are no ranks, each of which saves 9 seconds, and is in calls for one."""
    wall = {"began": began, "ended": ended, "span_seconds": ended - began if span is None else span, "small_seconds": 0.0, "cost_seconds": 0.0}
    process = report["process"] | {"pid": pid, "ended": "exit"} | ({"count": count} if count > 1 else {})
    return of_counters(report, **KNOWN, known_cpu_seconds=10 * count, known_seconds=count, wall_seconds=count) | {"wall": wall, "process": process}


def test_processes_that_call_at_once_share_the_wall_time(report, write):
    """How long such calls take on the CPU without the others is not known, and so is the saving."""

    def found(*reports: dict) -> tuple[float, float | None]:
        job = reading.read_job(write(*reports))
        return job.wall.in_calls, job.verdict.saved

    assert found(calling(report, 1, 0, 10), calling(report, 2, 20, 30)) == (2, 18), "the processes call one after the other"
    assert found(*[calling(report, pid, 5, 15) for pid in range(1, 5)]) == (1, None), "all call at the same time"
    assert found(calling(report, 1, 0, 20), calling(report, 2, 10, 30)) == (1.5, None), "they overlap for half of their time"
    assert found(calling(report, 1, 0, 20), calling(report, 2, 18, 38)) == (1.9, pytest.approx(17.1)), "hardly"
    assert found(calling(report, 1, 0, 100, span=400, count=40)) == (10, None), "40 added processes, four of which call at a time"
    ranks = [one | {"process": one["process"] | {"rank": pid}} for pid in (0, 1) for one in [calling(report, pid + 1, 0, 10)]]
    assert found(*ranks) == (1, 9), "ranks wait for each other"
    said = words.verdict(reading.read_job(write(*[calling(report, pid, 5, 15) for pid in (1, 2)])))
    assert said.startswith("saved: not known (its processes call at the same time); ")


def test_processes_that_are_added_up_keep_their_spans(report):
    folded: list[dict] = []
    for pid in range(folding.MAX_SINGLE + 8):
        others = {"sizes": [], "call_sites": [], "devices": [], "largest_small_size": 0}
        folding.add(folded, copy.deepcopy(calling(report, pid, pid, pid + 4) | others))
    last = folded[-1]["wall"]
    assert last["cpu_run"] is None
    assert (last["began"], last["ended"], last["span_seconds"]) == (24, 35, 32)


def test_what_is_not_taken_is_said_once(report, write):
    """Also of processes that are added up."""

    def importing(*families: str) -> dict:
        unseen = [{"family": family, "function": f"{family}_start", "object": "/opt/libsolver.so"} for family in families]
        others = {"sizes": [], "call_sites": [], "devices": [], "largest_small_size": 0}
        of_process = {"process": report["process"] | {"ended": "exit"}, "interception": report["interception"] | {"unseen": unseen}}
        return copy.deepcopy(report | others | of_process)

    assert words.unseen(reading.read_job(write(report))) == ""
    said = "not taken and not counted here, if called: ELPA (ELPA_start from libsolver.so), oneDNN (oneDNN_start from libsolver.so)"
    assert words.unseen(reading.read_job(write(importing("ELPA"), importing("ELPA", "oneDNN")))) == said
    folded: list[dict] = []
    for number in range(folding.MAX_SINGLE + 3):
        folding.add(folded, importing("ELPA", *["oneDNN"] * (number == folding.MAX_SINGLE + 2)))
    assert [one["family"] for one in folded[-1]["interception"]["unseen"]] == ["ELPA", "oneDNN"]


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
    sizes = [{"min_size": size, "calls": 5, "offloaded": 0, "cpu_seconds": 1.0, "device_seconds": 0.5} for size in (64.0, 512.0)]
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


def test_a_device_that_is_not_there_is_not_late():
    def reason(**device):
        return processes.reason_of({"device": {"used": False, "name": "", "state": "not started"} | device}, advice.NOT_READY)

    assert reason(state="no GPU here") == advice.NO_DEVICE
    assert reason() == reason(state="working", used=True, name="H100") == reason(state="lost", name="H100") == advice.NOT_READY

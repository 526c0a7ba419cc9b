"""The memory profiler: compares samples with /proc and a stand-in for NVML, for programs that touch known amounts between known events."""

import csv
import io
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import offload
import pytest
from blastoff.errors import CommandError
from blastoff.memory import table
from blastoff.memory.view import page, plots
from blastoff.sampling import family, findings, nvml, pages, results, timeline
from blastoff.sampling.sampler import DeviceWatch, Sampler, now
from blastoff.sampling.view import words
from command_rig import changed_helper, clean_environment
from test_ends import CALLS

MB = 1_000_000

# A program that obeys commands, line by line, and answers when each is done. A child gets commands from its parent.
WORKER = """
import ctypes, gc, mmap, os, subprocess, sys, threading, time
held, children = [], []
def touched(size):
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE)
    ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(memory)), 1, size)
    return memory
for line in sys.stdin:
    word, rest = line.split(None, 1)
    if word == "touch":
        held.append(touched(int(rest)))
    elif word == "free":
        held.clear()
        gc.collect()
    elif word == "thread":
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    elif word == "start":
        children.append(subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    elif word == "child":
        print(rest, file=children[-1].stdin, end="", flush=True)
        children[-1].stdout.readline()
    elif word == "kill":
        children[-1].kill()
        children[-1].wait()
    elif word == "mark":
        import blastoff
        blastoff.mark(rest.strip())
    print(os.getpid(), flush=True)
"""


class Worker:
    """A running WORKER."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.process = process

    def tell(self, *words: object) -> int:
        """Sends a command and waits until it is done. Returns the worker's process id."""
        print(*words, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "worker.py"
    path.write_text(WORKER)
    return str(path)


@pytest.fixture
def worker(script):
    process = subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        yield Worker(process)
        process.kill()


@pytest.fixture
def sampler(worker):
    """A sampler of the worker that takes no sample by itself."""
    sampler = Sampler(worker.tell("hello", "x"), 3600, None)
    yield sampler
    sampler.finish(["worker"], "")


def look(sampler: Sampler) -> timeline.Point:
    """Takes a sample that reads everything."""
    sampler.next_processes = sampler.next_pages = 0
    sampler.looked_at.clear()
    sampler.sample()
    return sampler.line.points[-1]


def resident_by_proc(pid: int) -> int:
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def test_the_resident_set_is_that_of_proc(worker, sampler):
    pid = worker.tell("hello", "x")
    before = look(sampler)
    worker.tell("touch", 200 * MB)
    touched = look(sampler)
    assert touched["resident"] - before["resident"] == pytest.approx(200 * MB, abs=4 * MB)
    assert touched["resident"] == pytest.approx(resident_by_proc(pid), abs=4 * MB)
    assert (touched["minor_faults"] - before["minor_faults"]) * findings.HUGE_PAGE >= 199 * MB
    assert sum(touched["nodes"].values()) == pytest.approx(touched["resident"], rel=0.01)
    worker.tell("free", "all")
    freed = look(sampler)
    assert touched["resident"] - freed["resident"] == pytest.approx(200 * MB, abs=4 * MB)
    assert freed["minor_faults"] >= touched["minor_faults"]
    assert sampler.line.peaks["resident"] is touched


def test_a_sample_tells_of_nothing_behind_a_mark_that_comes_later(worker, sampler, monkeypatch):
    """A phase ends with the last sample before its mark. If a launcher loses the processor during a sample, later memory must not count in it."""
    counters, marks = sampler.family.look, []

    def look_late() -> None:
        marks.append(now())
        worker.tell("touch", 50 * MB)
        counters()

    monkeypatch.setattr(sampler.family, "look", look_late)
    late = look(sampler)
    assert late["resident"] > 50 * MB and late["time"] > marks[0] - sampler.started_at


def test_children_and_grandchildren(worker, sampler):
    alone = look(sampler)
    worker.tell("start", "child")
    worker.tell("child", "touch", 50 * MB)
    worker.tell("child", "start", "grandchild")
    worker.tell("child", "child", "touch", 70 * MB)
    look(sampler)
    together = look(sampler)
    assert (alone["processes"], together["processes"]) == (1, 3)
    assert together["resident"] - alone["resident"] > 120 * MB
    worker.tell("child", "kill", "grandchild")
    after = look(sampler)
    assert after["processes"] == 2
    assert together["resident"] - after["resident"] > 70 * MB
    assert after["minor_faults"] >= together["minor_faults"], "the faults of a process that has ended still count"


def test_where_many_processes_have_started_all_are_looked_at(worker, sampler, monkeypatch):
    monkeypatch.setattr(family, "MAX_CANDIDATES", 0)
    worker.tell("start", "child")
    worker.tell("child", "touch", 50 * MB)
    look(sampler)
    assert look(sampler)["processes"] == 2


def test_where_the_kernel_does_not_say_which_process_is_the_newest(worker, sampler, monkeypatch):
    monkeypatch.setattr(family, "last_process", lambda: 0)
    look(sampler)
    look(sampler)
    worker.tell("start", "child")
    worker.tell("child", "touch", 50 * MB)
    assert look(sampler)["processes"] == 2


def test_threads_are_no_processes(worker, sampler):
    for _ in range(3):
        worker.tell("thread", "one")
    look(sampler)
    assert look(sampler)["processes"] == 1


def test_a_process_that_dies(worker, sampler):
    worker.tell("touch", 50 * MB)
    before = look(sampler)
    worker.process.kill()
    worker.process.wait()
    assert look(sampler) is before, "there is nothing more to tell"
    assert not sampler.family.members and sampler.family.faults()[0] == before["minor_faults"]
    (process,) = sampler.finish(["worker"], "")["processes"]
    assert process["resident_peak"] == before["resident"] and process["pid"] == worker.process.pid


def test_a_program_that_ends_at_once(blastoff, tmp_path):
    done = blastoff("run", "--memory=10ms", "--report=run.json", "true")
    assert done.returncode == 0 and "blastoff: memory\n" in done.stderr
    shown = blastoff("memory", "run.memory.json", "--html=run.html", "--csv=run.csv")
    assert shown.returncode == 0 and "<dt>sampled</dt>" in (tmp_path / "run.html").read_text()


def test_nothing_sampled():
    whole = document([point(1.0)])
    whole["timeline"] = timeline.columns([], [0])
    whole["peaks"] = {}
    assert "the program had ended before the first sample" in words.summary(whole)
    assert "<svg" not in page.render(whole) and table.csv_text(whole).count("\n") == 1


def test_numa_maps_and_huge_pages():
    text = b"""55d0 default file=/bin/x mapped=2 N0=2 kernelpagesize_kB=4
7f00 bind:1 anon=10 dirty=10 N0=3 N1=7 kernelpagesize_kB=64
7f10 default heap
7f20 default file=/dev/hugepages/a huge anon=1 N1=1 kernelpagesize_kB=2048
"""
    assert pages.by_node(text) == {0: 2 * 4096 + 3 * 65536, 1: 7 * 65536}
    assert pages.huge_share(b"55-7f [rollup]\nRss:  4096 kB\nAnonHugePages:  2048 kB\nShmemPmdMapped: 0 kB\nFilePmdMapped: 0 kB\n") == 0.5
    assert pages.huge_share(b"") == 0


def test_nodes_share_the_resident_set_as_they_did_at_the_last_look(worker, sampler):
    look(sampler)
    sampler.nodes = [0, 8]
    (member,) = sampler.family.members.values()
    member.nodes = {0: 100, 8: 300}
    sampler.next_pages = float("inf")
    sampler.sample()
    nodes = sampler.line.points[-1]["nodes"]
    assert nodes == {0: pytest.approx(member.resident / 4, abs=1), 8: pytest.approx(member.resident * 3 / 4, abs=1)}


def point(time: float, **values: float) -> timeline.Point:
    zeros = dict.fromkeys((*timeline.GAUGES, *timeline.COUNTERS), 0) | dict.fromkeys((*timeline.RATES, "device", "device_whole", "device_age"))
    resident = values.get("resident", 0)
    return zeros | {"time": time, "nodes": {0: resident}, "processes": 1} | values


def document(points: list[timeline.Point], **changes: object) -> dict:
    line = timeline.TimeLine()
    for one in points:
        line.add(one)
    whole = {
        "format": 1,
        "blastoff": "1.2.3",
        "process": {"run": "r", "program": "scf", "command_line": "./scf", "host": "node17", "pid": 4711, "rank": None},
        "started_at": 1000.0,
        "seconds": points[-1]["time"],
        "sampling": {
            "interval_seconds": 0.1,
            "mean_interval_seconds": 0.1,
            "samples": len(points),
            "backed_off": False,
            "cpu_seconds": 0.01,
            "cpu_share": 0.002,
            "start_cpu_seconds": 0.001,
        },
        "page_bytes": 4096,
        "nodes": [0],
        "nodes_without_cpus": [],
        "device": {"scope": "none", "names": [], "reason": ""},
        "peaks": timeline.peaks(line),
        "marks": [],
        "marks_dropped": False,
        "processes": [],
        "timeline": timeline.columns(line.points, [0]),
    }
    return whole | changes


def test_a_long_time_line_keeps_its_ends_and_its_peaks():
    line = timeline.TimeLine(most=64)
    for place in range(1000):
        line.add(point(place, resident=1000 if place == 501 else place % 7))
    assert 32 <= len(line.points) <= 64
    times = [one["time"] for one in line.points]
    assert times == sorted(times) and times[0] == 0 and times[-1] == 999
    assert 501 in times and line.peaks["resident"]["time"] == 501


def test_launchers_of_one_job_are_added_up():
    first = document([point(0, resident=10, minor_faults=1, migrated_pages=5), point(2, resident=30, minor_faults=4, migrated_pages=9)])
    second = document([point(0, resident=100, minor_faults=7), point(4, resident=300, minor_faults=8, migrated_pages=9)], started_at=1001.0)
    whole = timeline.merged([second, first])
    lists = whole["timeline"]
    assert lists["time"] == [0, 1, 2, 5]
    assert lists["resident"] == [10, 110, 130, 300], "a program that has ended uses nothing"
    assert lists["minor_faults"] == [1, 8, 11, 12], "but its faults count"
    assert lists["migrated_pages"] == [5, 5, 9, 9], "the machine's pages count once"
    assert (whole["started_at"], whole["seconds"], whole["peaks"]["resident"]["value"]) == (1000.0, 5.0, 300)


def test_who_touches_first_shows_by_page_faults():
    points = [
        point(0.1, resident=10 * MB, minor_faults=3000),
        point(1.0, resident=10 * MB, minor_faults=3000),
        point(1.1, resident=210 * MB, minor_faults=52000),
        point(2.0, resident=210 * MB, minor_faults=52000),
        point(2.1, resident=610 * MB, minor_faults=52010),
        point(3.0, resident=610 * MB, minor_faults=52010, held=100 * MB, to_device=80 * MB),
        point(4.0, resident=10 * MB, minor_faults=52010, held=100 * MB, to_device=80 * MB),
    ]
    whole = document(points)
    host = [(touch.since, touch.until, touch.bytes, touch.by) for touch in findings.touches(whole) if not touch.on_device]
    assert host == [(1.0, 1.1, 200 * MB, "CPU"), (2.0, 2.1, 400 * MB, "device")]
    (on_device,) = [touch for touch in findings.touches(whole) if touch.on_device]
    assert (on_device.since, on_device.until, on_device.bytes, on_device.moved) == (2.1, 3.0, 100 * MB, 80 * MB)
    (move,) = findings.moves(whole)
    assert (move.bytes, move.until) == (80 * MB, 3.0)
    text = words.summary(whole)
    assert "1.000 to 1.100 s: 200 MB by the CPU (49\u202f000 page faults)" in text
    assert "610 MB resident at most, at 2.100 s" in text and "10.0 MB at the last sample" in text
    assert "100 MB of device memory by the device, 80.0 MB brought by Blastoff meanwhile" in text


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda whole: whole["timeline"]["held"].pop(), "timeline/held: 1 values instead of 2"),
        (lambda whole: whole["timeline"]["time"].reverse(), "timeline/time: not in order"),
        (lambda whole: whole["peaks"].pop("resident"), "peaks: 'resident' is missing"),
    ],
)
def test_time_lines_that_contradict_themselves(blastoff, tmp_path, change, wrong):
    whole = document([point(1.0, resident=100), point(2.0, resident=300)])
    path = tmp_path / "run.memory.json"
    path.write_text(json.dumps(whole))
    assert blastoff("memory", path).returncode == 0
    change(whole)
    path.write_text(json.dumps(whole))
    done = blastoff("memory", path)
    assert (done.returncode, done.stderr) == (2, f"blastoff: {path} is not a time line of `blastoff run --memory`: {wrong}\n")


def test_phases_in_which_no_sample_was_taken_are_unknown():
    """The growth of the phase that follows is not known either, since it may be that of both. Phases that are merely short are known."""
    points = [point(0.1 * place, resident=100 + place) for place in range(1, 11)] + [point(3.0, resident=50)]
    marks = [{"time": time, "pid": 1, "name": name} for time, name in ((1.05, "lost"), (2.0, "late"), (2.5, "last"))]
    assert [phase.resident for phase in findings.phases(document(points, marks=marks))] == [110, None, None, None]
    short = [{"time": time, "pid": 1, "name": name} for time, name in ((0.95, "long"), (1.11, "short"), (1.12, "rest"))]
    assert [phase.resident for phase in findings.phases(document(points, marks=short))] == [109, 1, 0, -60]
    assert words.cells(findings.phases(document(points, marks=marks))[1])[2:] == ["-"] * 7


def test_device_memory_of_a_phase_is_unknown_if_it_was_read_before_the_phase():
    marks = [{"time": time, "pid": 1, "name": name} for time, name in ((1.05, "explicit"), (2.05, "managed"), (3.05, "end"))]
    points = [point(each / 10, device=(each // 8) * MB, device_age=(each % 16) / 10) for each in range(1, 41)]
    whole = document(points, marks=marks, device={"scope": "processes", "names": ["one"], "reason": ""})
    assert [phase.device for phase in findings.phases(whole)] == [MB, MB, None, None]
    assert words.cells(findings.phases(whole)[2])[4] == "-"
    del whole["timeline"]["device_age"]
    assert [phase.device for phase in findings.phases(whole)] == [MB, MB, MB, 2 * MB]


def test_phases_are_cut_at_the_marks():
    points = [point(0.5, resident=100), point(1.5, resident=300, minor_faults=7), point(2.5, resident=200, minor_faults=7, to_device=50)]
    whole = document(points, marks=[{"time": 1.0, "pid": 1, "name": "setup"}, {"time": 2.0, "pid": 1, "name": "solve"}])
    found = [(phase.name, phase.resident, phase.faults, phase.to_device) for phase in findings.phases(whole)]
    assert found == [(findings.BEFORE, 100, 0, 0), ("setup", 200, 7, 0), ("solve", -100, 0, 50)]
    assert [phase.most for phase in findings.phases(whole)] == [100, 300, 300]
    assert "solve" in words.summary(whole)


def test_samples_after_the_end_are_no_part_of_the_time_line():
    line = timeline.TimeLine()
    for one in (point(0.5, resident=100), point(1.0, resident=356, to_device=5), point(1.1, to_device=7, minor_faults=9), point(1.2)):
        line.add(one)
    line.end()
    assert [(one["time"], one["resident"], one["to_device"], one["minor_faults"]) for one in line.points] == [(0.5, 100, 0, 0), (1.0, 356, 7, 9)]


def test_a_node_without_cpus_is_named():
    whole = document([point(1, resident=300, nodes={0: 100, 1: 200})], nodes=[0, 1], nodes_without_cpus=[1])
    whole["timeline"]["resident_by_node"] = {"0": [100 * MB], "1": [200 * MB]}
    whole["timeline"]["resident"] = [300 * MB]
    assert "100 MB on node 0, 200 MB on node 1, without CPUs" in words.summary(whole)


@pytest.fixture
def says(tmp_path, monkeypatch):
    """Writes the figures that the stand-in gives."""
    path = tmp_path / "nvml"
    monkeypatch.setenv("FAKE_NVML", str(path))

    def say(*lines: str) -> str:
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    return say


def test_device_memory_of_processes(fake_nvml, says):
    says("whole 900", "process 41 100", "process 42 200", "process 43 400", f"process 44 {nvml.UNKNOWN}")
    devices = nvml.Nvml(str(fake_nvml / nvml.LIBRARY))
    assert devices.names == ["fake GPU"]
    use = devices.look({42, 43, 44})
    assert (use.of_run, use.whole, use.seen) == (600, 900, True)
    assert use.to_device is None and use.from_device is None


def test_where_nvml_names_no_process_the_whole_device_counts(fake_nvml, says):
    says("whole 900", f"process 41 {nvml.UNKNOWN}")
    devices = nvml.Nvml(str(fake_nvml / nvml.LIBRARY))
    assert not devices.look({41}).seen and devices.look({41}).whole == 900
    assert not devices.look({42}).seen


def test_traffic_of_the_link(fake_nvml, says):
    says("whole 0", "process 41 100", "link 2000")
    use = nvml.Nvml(str(fake_nvml / nvml.LIBRARY)).look({41})
    assert (use.to_device, use.from_device) == (2_001_000, 2_000_000)


def test_device_memory_is_read_more_often_than_a_link_that_takes_long(monkeypatch):
    looks: list[bool] = []
    spent = [0.0]

    class Devices:
        names = ("one",)

        def look(self, pids: set[int], with_link: bool) -> nvml.DeviceUse:
            spent[0] += 0.01 if with_link else 1e-6
            looks.append(with_link)
            return nvml.DeviceUse(whole=len(looks), to_device=5.0 if with_link else None)

    monkeypatch.setattr(nvml, "Nvml", Devices)
    monkeypatch.setattr(time, "thread_time", lambda: spent[0])
    watch = DeviceWatch(0.001)
    watch.start()
    while len(looks) < 4:
        watch.join(timeout=0.01)
    watch.stop()
    assert looks == [True, *[False] * (len(looks) - 1)]
    assert watch.use.whole == len(looks) and watch.use.to_device == 5.0


def test_no_nvml(fake_nvml, monkeypatch):
    with pytest.raises(nvml.NvmlError, match="cannot be loaded"):
        nvml.Nvml("libno-such-nvml.so.1")
    monkeypatch.delenv("FAKE_NVML", raising=False)
    with pytest.raises(nvml.NvmlError, match="nvmlInit_v2 failed with status 999"):
        nvml.Nvml(str(fake_nvml / nvml.LIBRARY))
    with pytest.raises(nvml.NvmlError, match="has no nvmlInit_v2"):
        nvml.Nvml("libc.so.6")


# Reports the end of each sample, and of each search for new processes.
TELLING = """
import os
from blastoff.sampling import family, sampler
def telling(owner, name):
    action = getattr(owner, name)
    def done(*arguments):
        result = action(*arguments)
        with open(os.environ["TOLD"] + "." + name, "a") as file:
            file.write("1")
        return result
    setattr(owner, name, done)
telling(sampler.Sampler, "sample")
telling(family.Family, "update")
"""


def wait_for_more(file: Path, count: int) -> None:
    """Waits for `count` further ends of a repeated action, each of which adds a byte to the file. At least `count` - 1 of them began after now."""

    def size() -> int:
        return file.stat().st_size if file.exists() else 0

    until = size() + count
    while size() < until:
        time.sleep(0.01)


class Launched(Worker):
    """A worker under `blastoff run --memory`. `told`: the file in which the launcher reports its samples."""

    def __init__(self, process: subprocess.Popen, told: Path) -> None:
        super().__init__(process)
        self.told = told

    def wait_for_samples(self) -> None:
        """Waits for a sample that began after now: an earlier one may be under way, and the next one shows that the point was added."""
        wait_for_more(Path(f"{self.told}.sample"), 2)

    def wait_for_looks_for_processes(self) -> None:
        """Waits until a process that runs now must have been found. A search may miss it once."""
        wait_for_more(Path(f"{self.told}.update"), 3)

    def phase(self, *words: object) -> None:
        """Sends a command, and waits until a sample was taken after it."""
        self.tell(*words)
        self.wait_for_samples()


@pytest.fixture
def launched(script, tmp_path):
    """Starts a worker under the launcher. At the end, returns the time line and the launcher's output."""
    place = tmp_path / "place"
    place.mkdir()
    running = []

    def start(*options: str, program: tuple[str, ...] = (sys.executable, script), env: dict[str, str] | None = None) -> Launched:
        command = [sys.executable, "-m", "blastoff", "run", "--memory=10ms", f"--report={tmp_path / 'run.json'}", *options, *program]
        told = tmp_path / f"told{len(running)}"
        environment = clean_environment() | {"XDG_RUNTIME_DIR": str(place), "TOLD": str(told)} | (env or {})
        environment |= changed_helper(tmp_path / "changes", TELLING)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        running.append(subprocess.Popen(command, env=environment, text=True, **pipes))
        return Launched(running[-1], told)

    def finish(worker: Launched) -> tuple[dict, str]:
        _, said = worker.process.communicate()
        return results.read(str(tmp_path / "run.json")), said

    start.finish = finish
    yield start
    for process in running:
        process.kill()
        process.communicate()
    assert list(place.iterdir()) == []


def phases(whole: dict) -> dict[str, findings.Phase]:
    return {phase.name: phase for phase in findings.phases(whole)}


def test_a_run_from_its_marks(launched, blastoff, tmp_path):
    worker = launched("--device=none")
    worker.phase("hello", "x")  # has started
    worker.phase("mark", "touch")
    worker.phase("touch", 200 * MB)
    worker.phase("mark", "children")
    worker.phase("start", "child")
    worker.phase("child", "touch", 100 * MB)
    worker.wait_for_looks_for_processes()
    worker.phase("child", "mark", "of the child")
    worker.phase("mark", "free")
    pid = worker.tell("free", "all")
    worker.wait_for_samples()
    whole, said = launched.finish(worker)
    found = phases(whole)
    assert found["touch"].resident == pytest.approx(200 * MB, rel=0.05)
    assert found["touch"].faults * findings.HUGE_PAGE >= 199 * MB
    assert found["children"].resident > 100 * MB
    assert found["free"].resident < -195 * MB
    assert [mark["name"] for mark in whole["marks"]] == ["touch", "children", "of the child", "free"]
    assert [mark["pid"] == pid for mark in whole["marks"]] == [True, True, False, True]
    assert whole["process"]["pid"] == pid and len(whole["processes"]) == 2
    assert whole["device"]["scope"] == "none" and whole["sampling"]["samples"] >= len(whole["timeline"]["time"])
    assert "blastoff: memory\n" in said and "resident at most" in said and "by the CPU" in said and "of the child" in said

    shown = blastoff("memory", tmp_path / "run.memory.json")
    assert shown.returncode == 0 and "resident at most" in shown.stdout and "of the child" in shown.stdout
    written = blastoff("memory", tmp_path / "run.json", "--csv", tmp_path / "run.csv", "--html", tmp_path / "run.html")
    assert written.returncode == 0, written.stderr
    rows = list(csv.DictReader((tmp_path / "run.csv").open()))
    assert len(rows) == len(whole["timeline"]["time"])
    assert [row["phase"] for row in rows][-1] == "free" and int(rows[-1]["resident_bytes"]) == whole["timeline"]["resident"][-1]
    text = (tmp_path / "run.html").read_text()
    assert text.count("<svg") == 2 and "of the child" in text and "src=" not in text and "<link" not in text


C_MARKS = """
#include <stdio.h>
#include "blastoff.h"
#pragma weak blastoff_mark
int main(void) {
  int count;
  char name[200];
  if (!blastoff_mark) return puts("none"), 0;
  while (scanf("%d %199s", &count, name) == 2) {
    for (int i = 0; i < count; ++i) blastoff_mark(name);
    puts("1");
    fflush(stdout);
  }
  blastoff_mark(NULL);
  return puts("done"), 0;
}
"""


def test_marks_of_a_c_program(launched, compiled):
    program = str(compiled(C_MARKS, f"-I{offload.ROOT / 'include'}"))
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "none\n"
    worker = launched(program=(program,))
    worker.phase(1, "setup")
    worker.phase(2, "a\x01b")
    worker.phase(1, "l" * 150)
    whole, _ = launched.finish(worker)
    assert [mark["name"] for mark in whole["marks"]] == ["setup", "a b", "a b", "l" * 100]
    assert all(0 <= mark["time"] <= whole["seconds"] for mark in whole["marks"]) and not whole["marks_dropped"]


def test_marks_are_bounded(launched, compiled):
    worker = launched(program=(str(compiled(C_MARKS, f"-I{offload.ROOT / 'include'}")),))
    worker.tell(12000, "m" * 100)
    whole, said = launched.finish(worker)
    assert 1000 < len(whole["marks"]) < 12000 and whole["marks_dropped"] and "there was no room for all" in said


def test_nothing_is_sampled_unless_asked_for(blastoff, compiled, tmp_path):
    program = compiled(C_MARKS, f"-I{offload.ROOT / 'include'}")
    done = blastoff("run", "--report", tmp_path / "reports/", program, input="1 setup\n")
    assert done.stdout == "1\ndone\n" and "memory" not in done.stderr
    assert not list(tmp_path.glob("**/*.memory.json"))


def test_what_blastoff_holds(launched, tmp_path):
    (tmp_path / "calls.py").write_text(
        CALLS + "print(os.getpid(), flush=True)\nfor line in sys.stdin:\n    call(int(line.split()[0]), 2)\n    print(os.getpid(), flush=True)\n"
    )
    env = {"LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS)}
    worker = launched("--device=simulated", "--min-size=0", "--policy=first-use", program=(sys.executable, str(tmp_path / "calls.py")), env=env)
    worker.process.stdout.readline()
    worker.wait_for_samples()
    worker.phase(400, "x")
    whole, said = launched.finish(worker)
    (report,) = [json.loads(path.read_text()) for path in tmp_path.glob("run*.json") if not path.name.endswith(".memory.json")]
    lists = whole["timeline"]
    held = {one["client"]: one["bytes_peak"] for one in report["device"]["memory_held"]}
    assert whole["peaks"]["mirrored"]["value"] == held["mirrors"] > 3 * 400 * 400 * 8
    assert whole["peaks"]["held"]["value"] >= held["mirrors"] and whole["peaks"]["staged"]["value"] > 0
    assert lists["mirrored"][0] == 0 and (lists["to_device"][-1], lists["from_device"][-1]) == (
        report["totals"]["bytes_to_device"],
        report["totals"]["bytes_from_device"],
    )
    assert "mirrors of" in said and "of device memory by the device" in said


def wait_for_looks(said: Path) -> None:
    """Waits until the devices were read after now: an earlier reading may be under way, and the next one shows that the sampler has the result."""
    wait_for_more(said.with_name(f"{said.name}.looks"), 3)


def test_device_memory_in_the_time_line(launched, fake_nvml, says):
    env = {"LD_LIBRARY_PATH": str(fake_nvml), "FAKE_NVML": says("whole 5000000")}
    worker = launched(env=env)
    pid = worker.tell("hello", "x")
    said_in = Path(says("whole 9000000", f"process {pid} 7000000", "process 1 1000000"))
    wait_for_looks(said_in)
    worker.wait_for_samples()
    whole, said = launched.finish(worker)
    assert whole["device"] == {"scope": "processes", "names": ["fake GPU"], "reason": ""}
    assert whole["peaks"]["device"]["value"] == 7_000_000 and whole["peaks"]["device_whole"]["value"] == 9_000_000
    assert "7.00 MB of device memory at most, of the run's processes by NVML" in said


def test_device_memory_of_the_whole_device(launched, fake_nvml, says):
    said_in = says("whole 5000000", "process 1 1000000")
    worker = launched(env={"LD_LIBRARY_PATH": str(fake_nvml), "FAKE_NVML": said_in})
    worker.tell("hello", "x")
    wait_for_looks(Path(said_in))
    worker.wait_for_samples()
    whole, said = launched.finish(worker)
    assert whole["device"]["scope"] == "whole" and "device" not in whole["peaks"]
    assert whole["timeline"]["device_whole"][-1] == 5_000_000 and set(whole["timeline"]["device"]) == {None}
    assert "5.00 MB at most on the whole device, by all programs (NVML named no process of this run)" in said


def test_ranks_that_are_each_started_by_a_launcher(launched, tmp_path):
    job = {"PMIX_NAMESPACE": "memory@1"}
    workers = [launched(env=job | {"PMIX_RANK": str(rank)}) for rank in range(2)]
    for worker in workers:
        worker.tell("touch", 60 * MB)
    for worker in workers:
        worker.wait_for_samples()
    workers[0].process.communicate()
    _, said = workers[1].process.communicate()
    whole = results.read(str(tmp_path / "run.memory.json"))
    assert whole["peaks"]["resident"]["value"] > 120 * MB and whole["peaks"]["processes"]["value"] == 2
    assert len(whole["processes"]) == 2 and said.count("blastoff: memory") == 1


def test_the_exit_status_and_signals_are_the_programs(launched, blastoff):
    assert blastoff("run", "--memory", "sh", "-c", "exit 3").returncode == 3
    worker = launched()
    worker.tell("touch", 20 * MB)
    worker.wait_for_samples()
    worker.process.send_signal(signal.SIGTERM)
    assert worker.process.wait() == -signal.SIGTERM  # before its input is closed, which would end it too
    whole, said = launched.finish(worker)
    assert whole["peaks"]["resident"]["value"] > 20 * MB and "resident at most" in said


@pytest.mark.parametrize("interval", ["5ms", "9ms", "100", "1m", "-1s", "3601s", "0.5s", "", "s"])
def test_an_interval_that_is_refused(blastoff, interval):
    done = blastoff("run", f"--memory={interval}", "true")
    assert done.returncode == 2
    assert done.stderr == f"blastoff: invalid value --memory={interval}; accepted: a time from 10ms to 3600s, with the unit ms or s\n"


@pytest.mark.parametrize("interval", ["10ms", "100ms", "1s", "3600s"])
def test_an_interval_that_is_accepted(blastoff, interval):
    assert blastoff("run", f"--memory={interval}", "true").returncode == 0
    assert blastoff("run", "true", env={"BLASTOFF_MEMORY": interval}).stderr.count("blastoff: memory") == 1


def test_a_directory_of_reports(blastoff, tmp_path):
    options = ["--memory", "--report=reports/", "--device=simulated", "--min-size=0", "--summary=never"]
    env = {"LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS)}
    (tmp_path / "calls.py").write_text(CALLS + "call()\n")
    program = [sys.executable, tmp_path / "calls.py"]
    done = blastoff("run", *options, *program, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert "calls.py" in blastoff("report", "reports").stdout, "a time line is no report"
    assert "calls.py" in blastoff("memory", "reports").stdout
    blastoff("run", *options, *program, env=env)
    several = blastoff("memory", "reports")
    assert several.returncode == 2 and "2 time lines" in several.stderr and "name one of them" in several.stderr


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(CommandError, match="No such file"):
        results.read(str(tmp_path / "missing.json"))
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(CommandError, match="is not a time line of `blastoff run --memory`"):
        results.read(str(tmp_path / "other.json"))


def test_an_axis_of_zeros_has_each_label_once():
    quiet = document([point(each / 10) for each in range(20)])
    (*_, (heading, _, svg)) = plots.figures(quiet)
    labels = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert heading.startswith("Page faults") and labels.count("0") == 1 and "1" in labels


def test_a_page_with_everything():
    points = [
        point(
            time / 10, resident=time * MB, huge=time * MB // 2, device=time * MB, device_whole=2 * time * MB, held=time * MB, mirrored=time * MB // 2
        )
        | {
            "pinned": MB,
            "staged": MB,
            "to_device": time * MB,
            "migrated_pages": time,
            "major_faults": time,
            "link_to_device": 1e9,
            "link_from_device": 0.0,
        }
        for time in range(2000)
    ]
    whole = document(points, marks=[{"time": 10.0, "pid": 1, "name": "<solve>"}])
    whole["device"]["scope"] = "processes"
    whole["process"] |= {"program": "python3", "command_line": "/usr/bin/python3 scf.py 7"}
    text = page.render(whole)
    assert "<h1>scf.py</h1>" in text and "<td>1  &lt;solve&gt;</td>" in text
    assert text.count("<svg") == 4 and "&lt;solve&gt;" in text and "<solve>" not in text
    assert len(text) < 2_000_000, "long time lines are drawn with fewer points"
    rows = list(csv.reader(io.StringIO(table.csv_text(whole))))
    assert len(rows) == 2001 and {len(row) for row in rows} == {len(rows[0])}
    assert rows[150][:2] == ["14.9", "<solve>"] and rows[50][1] == ""

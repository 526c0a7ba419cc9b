"""The energy of a run: counters of an invented machine, which only a test changes, between known events of a program."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import offload
import pytest
from blastoff.job import metering, reading
from blastoff.job.view import words
from blastoff.sampling import energy, nvml
from command_rig import clean_environment
from test_ends import CALLS

# A program that calls BLAS, makes the marks that it is told to make, and answers when that is done.
PROGRAM = (
    CALLS
    + """
call()
ours = ctypes.CDLL(None)
print("begun", flush=True)
for line in sys.stdin:
    if line.strip():
        ours.blastoff_mark(line.strip().encode())
    print("done", flush=True)
"""
)
RANGE = 1e6
"""Joules at which the counters of the invented machine wrap around."""


class Tree:
    """An invented /sys/class/powercap with one processor and its memory, and with counters that must not count: cores, and the whole machine."""

    ZONES = (("intel-rapl:0", "package-0"), ("intel-rapl:0:0", "core"), ("intel-rapl:0:1", "dram"), ("intel-rapl:1", "psys"))

    def __init__(self, path: Path) -> None:
        self.path = path
        for zone, name in self.ZONES:
            (path / zone).mkdir(parents=True)
            (path / zone / "name").write_text(f"{name}\n")
            (path / zone / "max_energy_range_uj").write_text(f"{RANGE * 1e6:.0f}\n")
            self.set(zone, RANGE - 100)

    def set(self, zone: str, joules: float) -> None:
        file = self.path / zone / "energy_uj"
        with open(file, "r+" if file.exists() else "w") as opened:  # the same file, so that readers who have it open see the change
            opened.write(f"{joules * 1e6:012.0f}\n")

    def take(self, joules: float, of_memory: float = 0.0) -> None:
        """Adds joules to the counters."""
        for zone, more in zip(("intel-rapl:0", "intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl:1"), (joules, 7, of_memory, 77), strict=True):
            before = int((self.path / zone / "energy_uj").read_text()) / 1e6
            self.set(zone, (before + more) % RANGE)


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "powercap")


class Launched:
    """A program under a launcher."""

    def __init__(self, process: subprocess.Popen, folder: Path) -> None:
        self.process, self.folder = process, folder
        assert self.process.stdout.readline() == "begun\n"

    def readings(self) -> int:
        return sum(path.read_text().count('"joules": [') for path in self.folder.glob("**/energy"))

    def wait_for(self, readings: int) -> None:
        while self.readings() < readings:
            assert self.process.poll() is None

    def mark(self, name: str) -> None:
        """Makes the program set a mark, and waits until counters have been read after it."""
        before = self.readings()
        print(name, file=self.process.stdin, flush=True)
        assert self.process.stdout.readline() == "done\n"
        self.wait_for(before + 1)

    def end(self) -> str:
        """Ends the program and returns the launcher's output."""
        _, said = self.process.communicate()
        assert self.process.returncode == 0, said
        return said


@pytest.fixture
def launched(tmp_path, tree):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    for name in ("place", "disk"):
        (tmp_path / name).mkdir()
    running = []

    def start(*options: str, **env: str) -> Launched:
        command = [sys.executable, "-m", "blastoff", "run", "--summary=always", "--device=none", *options, sys.executable, str(script)]
        own = {"XDG_RUNTIME_DIR": str(tmp_path / "place"), "TMPDIR": str(tmp_path / "disk"), "BLASTOFF_POWERCAP": str(tree.path)}
        environment = clean_environment() | own | {"LD_LIBRARY_PATH": str(offload.REFERENCE_BLAS)} | env
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        running.append(subprocess.Popen(command, env=environment, text=True, **pipes))
        return Launched(running[-1], tmp_path / "disk")

    yield start
    for process in running:
        process.kill()
        process.communicate()


def test_a_run_and_its_phases(launched, tree, tmp_path):
    """The counter of the package wraps around during the run."""
    report = tmp_path / "run.json"
    program = launched(f"--report={report}")
    program.wait_for(1)
    tree.take(50)
    program.mark("first")
    tree.take(300, of_memory=20)
    program.mark("second")
    tree.take(400)
    said = program.end()
    assert "energy   CPU 750 J, memory 20.0 J in" in said
    assert "first: CPU 300 J, memory 20.0 J in" in said and "second: CPU 400 J, memory 0 J" in said
    assert "before the first mark: CPU 50.0 J" in said
    job = reading.read_job([str(report)])
    found = metering.energy_of(job)
    assert found.joules == pytest.approx({"cpu": 750, "memory": 20})
    assert {name: joules["cpu"] for name, (_, joules) in found.phases.items()} == pytest.approx(
        {metering.BEFORE_MARKS: 50, "first": 300, "second": 400}
    )
    (wholly,) = [process.report for process in reading.read_job([str(report)]).processes]
    assert [counter["name"] for counter in wholly["energy"]["counters"]] == ["package-0", "dram of package-0"]
    assert ("energy", words.energy(job)[0][1]) in words.facts(job)
    assert wholly["process"]["ended"] == "exit", "the report is the program's own, and has the energy besides"


def test_marks_that_one_reading_follows():
    """If one reading follows several marks, the energy is divided by the times of the marks."""
    count = metering._Count({"lasting": True, "wraps_at": 0.0})
    for moment, value in ((0.0, 0.0), (10.0, 100.0), (11.0, 130.0)):
        count.add(1, moment, value)
    assert count.at_marks([0.0, 4.0, 8.0, 10.5]) == [0.0, 40.0, 100.0, 130.0]


def test_many_phases_are_one_for_each_name(tmp_path):
    """Two phases occur a thousand times each, with a second and a joule each time."""
    lines = [{"by": 1, "counters": [{"kind": "cpu", "name": "package-0", "bus": "", "wraps_at": 0.0, "lasting": True}]}]
    lines += [{"by": 1, "time": float(second), "joules": [float(second)]} for second in range(2002)]
    (tmp_path / "energy").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "marks").write_text("".join(f"{second}000000000 1 {'ab'[second % 2]}\n" for second in range(1, 2001)))
    document = metering.collect(tmp_path)
    found = {phase["name"]: (phase["from"], phase["seconds"], phase["joules"]) for phase in document["phases"]}
    assert found == {metering.BEFORE_MARKS: (0, 1, [1]), "b": (1, 1000, [1000]), "a": (2, 1000, [1000])}


def test_a_counter_that_begins_anew():
    lasting, own = (metering._Count({"lasting": lasting, "wraps_at": 1000.0 if lasting else 0.0}) for lasting in (True, False))
    for count in (lasting, own):
        for reader, value in ((1, 900.0), (1, 950.0), (2, 20.0), (2, 50.0)):
            count.add(reader, 0.0, value)
    assert lasting.joules == [0, 50, 120, 150]
    assert own.joules == [0, 50, 50, 80], "each reader begins at zero"


def test_ranks_of_a_node_count_it_once(launched, tree, tmp_path):
    """Each rank has a launcher. The launcher that reads ends first, and the other one continues."""
    ranks = [launched(f"--report={tmp_path}/r%r.json", PMIX_NAMESPACE="job", OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK=rank) for rank in "01"]
    ranks[0].wait_for(1)
    tree.take(30)
    (read,) = tmp_path.glob("disk/*/energy")
    by = json.loads(read.read_text().splitlines()[0])["by"]  # a child of a launcher
    launcher = int(Path(f"/proc/{by}/stat").read_text().rpartition(")")[2].split()[1])
    reader = [rank.process.pid for rank in ranks].index(launcher)
    first = ranks[reader].end()
    ranks[1 - reader].wait_for(3)
    tree.take(500)
    second = ranks[1 - reader].end()
    assert "energy" not in first, "it does not report"
    assert "CPU 530 J" in second, second
    both = reading.read_job([str(path) for path in tmp_path.glob("r*.json")])
    assert both.number == 2 and metering.energy_of(both).joules["cpu"] == pytest.approx(530)


def test_what_cannot_be_read_says_why(launched, tree):
    (tree.path / "intel-rapl:0:1" / "energy_uj").unlink()
    program = launched()
    while not any(path.stat().st_size for path in program.folder.glob("**/energy")):
        time.sleep(0.01)
    assert f"energy   CPU: not readable: {tree.path}/intel-rapl:0:1/energy_uj: No such file or directory" in program.end()


def test_it_can_be_switched_off(launched, tmp_path):
    program = launched("--energy=off")
    assert list(tmp_path.glob("disk/*/marks")) == []
    assert "energy" not in program.end()


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda tree: tree.path.rename(tree.path.with_name("other")), "there is no "),
        (lambda tree: (tree.path / "intel-rapl:0" / "name").write_text("psys\n"), "tells of no processor"),
    ],
)
def test_a_machine_without_counters(tree, spoil, why):
    spoil(tree)
    with pytest.raises(energy.UnreadableError, match=why):
        energy.Powercap(tree.path)


def test_counters_for_root_alone(tree, monkeypatch):
    def refuse(path, *_):
        raise PermissionError(13, os.strerror(13), str(path))

    monkeypatch.setattr(energy.os, "open", refuse)
    with pytest.raises(energy.UnreadableError, match="intel-rapl:0/energy_uj: Permission denied"):
        energy.Powercap(tree.path)


def test_perf_where_powercap_is_not_for_us(tree, tmp_path, monkeypatch):
    """perf's events count in units of 2^-32 J, for each processor on one of its CPUs."""
    events = tmp_path / "power"
    (events / "events").mkdir(parents=True)
    for file, text in (("type", "9"), ("cpumask", "0,18"), ("events/energy-pkg", "event=0x02"), ("events/energy-ram", "event=0x03")):
        (events / file).write_text(f"{text}\n")
    for event in ("pkg", "ram"):
        (events / "events" / f"energy-{event}.scale").write_text(f"{2.0**-32}\n")
    opened = []

    def counting(_, kind: int, config: int, cpu: int) -> int:
        opened.append((kind, config, cpu))
        reader, writer = os.pipe()
        os.write(writer, (len(opened) << 32).to_bytes(8, "little"))
        os.close(writer)
        return reader

    monkeypatch.setattr(energy.Perf, "_open", counting)
    monkeypatch.setattr(energy, "POWER_EVENTS", events)
    monkeypatch.setattr(energy.Perf.__init__, "__defaults__", (events,))
    (tree.path / "intel-rapl:0" / "energy_uj").unlink()
    found = energy.processors(tree.path)
    assert opened == [(9, 2, 0), (9, 3, 0), (9, 2, 18), (9, 3, 18)]
    assert [counter.name for counter in found.counters] == ["package-0", "dram-0", "package-1", "dram-1"]
    assert found.read() == [1, 2, 3, 4] and not any(counter.lasting for counter in found.counters)


def test_both_ways_closed_name_both_reasons(tree, tmp_path, monkeypatch):
    events = tmp_path / "power"
    events.mkdir()
    monkeypatch.setattr(energy, "POWER_EVENTS", events)
    monkeypatch.setattr(energy.Perf.__init__, "__defaults__", (events,))
    (tree.path / "intel-rapl:0" / "energy_uj").unlink()
    with pytest.raises(energy.UnreadableError, match=r"energy_uj: No such file or directory; .*power/type: No such file or directory"):
        energy.processors(tree.path)


@pytest.fixture
def says(tmp_path, monkeypatch, fake_nvml):
    """Writes the figures that the stand-in gives."""
    path = tmp_path / "nvml"
    monkeypatch.setenv("FAKE_NVML", str(path))
    monkeypatch.setattr(energy.nvml.Nvml.__init__, "__defaults__", (str(fake_nvml / nvml.LIBRARY),))
    return lambda *lines: path.write_text("\n".join(lines) + "\n")


def test_the_counter_of_a_gpu(says):
    says("gpus 2", "energy 5000", "power 300000")
    gpus = energy.Gpus()
    assert [counter.bus for counter in gpus.counters] == ["facade:00:00.0", "facade:01:00.0"]
    says("energy 7500", "power 300000")
    assert gpus.read() == [7.5, 7.5]
    assert all(counter.lasting for counter in gpus.counters)


def test_the_power_of_a_gpu_without_a_counter_is_added_up(says, monkeypatch):
    says("power 100000")
    gpus = energy.Gpus()
    clock = iter([10.0, 11.0, 13.0])
    monkeypatch.setattr(energy.time, "monotonic", lambda: next(clock))
    assert gpus.read() == [0]
    says("power 200000")
    assert gpus.read() == [150]
    assert gpus.read() == [550]
    assert gpus.pause == energy.Gpus.OFTEN and not gpus.counters[0].lasting


def test_a_gpu_that_tells_nothing(says):
    says("whole 1")
    with pytest.raises(energy.UnreadableError, match="NVML tells neither energy nor power of fake GPU"):
        energy.Gpus()


def test_the_gpu_that_a_program_used(launched, tree, tmp_path, fake_nvml, fake_gpu):
    """The driver and NVML tell the PCI address of the GPU. The other GPU does not count."""
    said = tmp_path / "nvml"
    said.write_text("gpus 2\nenergy 5000\n")
    libraries = ":".join(map(str, (fake_gpu, fake_nvml, offload.REFERENCE_BLAS)))
    cuda = {"LD_LIBRARY_PATH": libraries, "BLASTOFF_CUDA_PATH": str(fake_gpu), "FAKE_NVML": str(said)}
    program = launched("--device=cuda", "--min-size=0", "--decide=size", "--start=now", "--history=off", **cuda)
    program.wait_for(2)  # the second reading includes the GPUs
    said.write_text("gpus 2\nenergy 47000\n")
    assert "CPU 0 J, memory 0 J, GPU 42.0 J (fake GPU) in" in program.end()


def told(report, host="node17", bus="0000:17:00.0", **changes):
    """The report of a process on a machine with one processor and two GPUs."""
    counters = [("cpu", "package-0", "", 100.0), ("gpu", "H100", "0000:17:00.0", 40.0), ("gpu", "H100", "0000:65:00.0", 5.0)]
    document = {
        "of": host,
        "counters": [dict(zip(("kind", "name", "bus", "joules"), counter, strict=True)) | {"seconds": 2.0} for counter in counters],
        "unreadable": [],
        "phases": [],
    }
    copy = json.loads(json.dumps(report)) | {"energy": document | changes}
    copy["process"] |= {"host": host}
    copy["device"] |= {"kind": "cuda", "bus": bus}
    return copy


def energy_of(write, *reports):
    return metering.energy_of(reading.read_job(write(*reports)))


def test_a_job_counts_machines_once_and_gpus_that_it_used(report, write):
    assert energy_of(write, report) is None
    assert energy_of(write, told(report), told(report)).joules == {"cpu": 100, "gpu": 40}
    assert energy_of(write, told(report), told(report, bus="0000:65:00.0")).joules == {"cpu": 100, "gpu": 45}
    assert energy_of(write, told(report), told(report, host="node18")).joules == {"cpu": 200, "gpu": 80}
    assert energy_of(write, told(report, bus="")).joules == {"cpu": 100}, "no GPU was opened"


def test_why_a_gpu_is_missing_is_said_where_one_was_used(report, write):
    nothing = {"counters": [], "unreadable": [{"kind": "gpu", "reason": "no library"}]}
    assert energy_of(write, told(report, **nothing)).unreadable == {"gpu": "no library"}
    assert energy_of(write, told(report, bus="", **nothing)).unreadable == {}


def test_doctor_says_what_can_be_read(blastoff, tree, fake_nvml, tmp_path):
    (tmp_path / "nvml").write_text("energy 1\n")
    fake = {"LD_LIBRARY_PATH": str(fake_nvml), "FAKE_NVML": str(tmp_path / "nvml"), "BLASTOFF_POWERCAP": str(tree.path)}
    assert "processors: package-0, dram of package-0; GPUs: fake GPU" in " ".join(blastoff("doctor", env=fake).stdout.split())
    without = " ".join(blastoff("doctor", env={"BLASTOFF_POWERCAP": str(tmp_path / "none")}).stdout.split())
    assert "processors: not readable: there is no" in without and "GPUs: " in without

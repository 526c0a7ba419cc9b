"""Samples the memory of a program while its launcher waits for it, at a cost that is bounded."""

import os
import platform
import resource
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blastoff import library
from blastoff.sampling import nvml, own, pages, timeline
from blastoff.sampling.family import PAGE, Family, Member

OFTEN, PAGES, DEVICES, LINK = 0.004, 0.0005, 0.0005, 0.0005
"""Largest cost of reading the counters of processes, page tables, the memory of devices, and the traffic of their link, as shares of one core."""

PROCESSES_EVERY = 0.2
"""Seconds between two searches for new processes, and between two readings of the machine's counters."""

DEVICES_EVERY = 0.1
"""Least seconds between two readings of the devices."""

PAGES_EVERY = 1.0
"""Least seconds between two readings of the same process's page table."""

NOTICEABLE = 1.25
"""If the mean interval is this many times the requested one, the summary tells it."""

IN_ADVANCE = 1.0
"""Seconds at the start for which samples may cost more, so that a program's start is sampled at the requested interval."""

MAX_LIVES = 500
"""Most processes in the document: those with the most memory."""


def now() -> float:
    """Seconds since boot, on the clock of marks and counter files."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _allow_files() -> None:
    """Raises the limit of open files, since two files stay open for each process."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class DeviceWatch(threading.Thread):
    """Reads the devices in a thread of its own, because the driver may take long to answer."""

    def __init__(self, interval: float) -> None:
        super().__init__(name="blastoff-nvml", daemon=True)
        self.interval = interval
        self.pids: frozenset[int] = frozenset()
        self.use: nvml.DeviceUse | None = None
        self.seen = False
        self.names: list[str] = []
        self.reason = ""
        self._over = threading.Event()

    def run(self) -> None:
        try:
            devices = nvml.Nvml()
        except nvml.NvmlError as error:
            self.reason = str(error)
            return
        self.names = devices.names
        pause = next_link = 0.0
        while not self._over.wait(pause):
            before, with_link = time.thread_time(), now() >= next_link
            use = devices.look(self.pids, with_link)
            cost = time.thread_time() - before
            if with_link:
                next_link, pause = now() + cost / LINK, self.interval
            else:
                pause = max(self.interval, cost / DEVICES)
                if self.use is not None:
                    use.to_device, use.from_device = self.use.to_device, self.use.from_device
            self.use, self.seen = use, self.seen or use.seen

    def stop(self) -> None:
        self._over.set()
        self.join(timeout=1.0)

    @property
    def scope(self) -> str:
        """Whose device memory is known: that of the run's `processes`, that of the `whole` devices, or `none`."""
        if self.use is None:
            return "none"
        return "processes" if self.seen else "whole"


@dataclass
class Life:
    """When one process was seen, in seconds since the start."""

    member: Member
    since: float
    until: float = 0.0
    resident_peak: int = 0


class Sampler:
    """Samples a program and its descendants. `interval`: seconds. `directory`: the run's directory, if there is one. `alone`: no other launcher uses
    the directory. `started_at`: when the program started, in seconds since boot; None: now."""

    def __init__(self, program: int, interval: float, directory: Path | None, alone: bool = True, started_at: float | None = None) -> None:
        self.program, self.interval, self.alone = program, interval, alone
        self.started_at = now() if started_at is None else started_at
        self.cpu_before = time.process_time()
        _allow_files()
        self.family = Family(program)
        self.own = own.OwnMemory(directory) if directory is not None else None
        self.nodes = pages.memory_nodes()
        self.migrations = pages.MigrationCounter()
        self.migrated = 0
        self.line = timeline.TimeLine()
        self.lives: dict[tuple[int, int], Life] = {}
        self.looked_at: dict[int, float] = {}
        self.samples = 0
        self.paid = 0.0
        self.next_sample = self.next_processes = self.next_pages = now()
        self.devices = DeviceWatch(max(interval, DEVICES_EVERY))
        self.devices.start()
        self.cpu_at_start = time.process_time() - self.cpu_before
        self.thread_before = time.thread_time()

    def idle(self) -> float:
        """Takes a sample if it is time for one, and returns the seconds until the next."""
        moment = now()
        if moment >= self.next_sample:
            pages_cost = self.sample(moment)
            spent = time.thread_time()
            cost = spent - self.thread_before - pages_cost
            self.thread_before = spent
            self.paid = max(self.paid, moment - IN_ADVANCE) + cost / OFTEN
            self.next_sample = max(self.next_sample + self.interval, self.paid, moment)
            moment = now()
        return max(0.0, self.next_sample - moment)

    def sample(self, moment: float | None = None) -> float:
        """Takes one sample. Returns the part of its seconds that was spent on page tables."""
        moment = now() if moment is None else moment
        if moment >= self.next_processes:
            self.next_processes = moment + PROCESSES_EVERY
            self._look_for_processes()
        self.family.look()
        self.samples += 1
        pages_cost = self._look_at_pages(moment)
        if self.family.members:
            self._add_point()
        return pages_cost

    def _look_for_processes(self) -> None:
        self.family.update()
        if self.own is not None:
            self.own.update()
            if self.alone:  # all processes in the directory belong to the program, whoever their parents are
                for pid, _ in self.own.files.values():
                    if pid not in self.family.ended:
                        self.family.add(pid)
        if len(self.lives) > 2 * MAX_LIVES:
            largest = sorted(self.lives.items(), key=lambda item: (item[1].member.alive, item[1].resident_peak), reverse=True)
            self.lives = dict(largest[:MAX_LIVES])
        self.migrated = self.migrations.look()
        self.devices.pids = frozenset(self.family.members)

    def _look_at_pages(self, moment: float) -> float:
        """Reads the page table of one process, the one whose last reading is longest ago. Returns the seconds that it took."""
        if moment < self.next_pages or not self.family.members:
            return 0.0
        pid = min(self.family.members, key=lambda pid: self.looked_at.get(pid, 0.0))
        if moment - self.looked_at.get(pid, 0.0) < PAGES_EVERY:
            return 0.0
        self.looked_at[pid] = moment
        before = time.thread_time()
        member = self.family.members[pid]
        member.huge = pages.huge_share(pages.read(pid, "smaps_rollup"))
        if len(self.nodes) > 1:
            member.nodes = pages.by_node(pages.read(pid, "numa_maps"))
        cost = time.thread_time() - before
        self.next_pages = moment + cost / PAGES
        return cost

    def _by_node(self) -> dict[int, int]:
        """The resident set by node. Each process's present size is spread over the nodes as at the last reading of its page table."""
        if len(self.nodes) == 1:
            return {self.nodes[0]: sum(member.resident for member in self.family.members.values())}
        found = dict.fromkeys(self.nodes, 0)
        for member in self.family.members.values():
            known = sum(member.nodes.values())
            for node, size in member.nodes.items():
                found[node] = found.get(node, 0) + member.resident * size // known if known else 0
        return found

    def _add_point(self) -> None:
        """Adds the latest readings as a sample with the present time, so that everything in the sample happened before any later mark."""
        members = self.family.members
        held = self.own.look(members, self.family.ended) if self.own is not None else dict.fromkeys(own.NAMES, 0)
        use = self.devices.use
        moment = now() - self.started_at
        for member in members.values():
            life = self.lives.get(member.key)
            if life is None:
                life = self.lives[member.key] = Life(member, moment)
            life.until = moment
            life.resident_peak = max(life.resident_peak, member.resident)
        minor_faults, major_faults = self.family.faults()
        self.line.add(
            {
                "time": moment,
                "processes": len(members),
                "resident": sum(member.resident for member in members.values()),
                "huge": int(sum(member.resident * member.huge for member in members.values())),
                "nodes": self._by_node(),
                "device": use.of_run if use else None,
                "device_whole": use.whole if use else None,
                "device_age": round(now() - use.moment, 4) if use else None,
                "link_to_device": use.to_device if use else None,
                "link_from_device": use.from_device if use else None,
                "minor_faults": minor_faults,
                "major_faults": major_faults,
                "migrated_pages": self.migrated,
                **held,
            }
        )

    def _sampling(self, seconds: float) -> dict[str, Any]:
        spent = time.process_time() - self.cpu_before - self.cpu_at_start
        mean = seconds / self.samples if self.samples else seconds
        return {
            "interval_seconds": self.interval,
            "mean_interval_seconds": mean,
            "samples": self.samples,
            "backed_off": mean > NOTICEABLE * self.interval,
            "cpu_seconds": spent,
            "cpu_share": spent / seconds if seconds else 0.0,
            "start_cpu_seconds": self.cpu_at_start,
        }

    def _processes(self) -> list[dict[str, Any]]:
        return [
            {
                "pid": life.member.pid,
                "program": life.member.name,
                "from": round(life.since, 4),
                "to": round(life.until, 4),
                "resident_peak": life.resident_peak,
                "minor_faults": life.member.minor_faults,
                "major_faults": life.member.major_faults,
            }
            for life in self.lives.values()
        ]

    def finish(self, command: Sequence[str], run: str) -> dict[str, Any]:
        """Ends sampling and returns the document, without marks. `run`: the run's name in reports."""
        self.devices.stop()
        self.family.look()
        seconds = now() - self.started_at
        self.line.end()
        if self.own is not None:
            last = self.line.points[-1] if self.line.points else None
            if last is not None:  # the counter files keep the final counts
                moved = self.own.look((), self.family.ended | set(self.family.members))
                last |= {name: moved[name] for name in ("to_device", "from_device")}
            self.own.close()
        scope = self.devices.scope
        if scope != "processes":
            self.line.peaks.pop("device", None)
            for point in self.line.points:
                point["device"] = None
        document = {
            "format": 1,
            "blastoff": library.version(),
            "process": {
                "run": run,
                "program": os.path.basename(command[0]),
                "command_line": " ".join(command),
                "host": platform.node(),
                "pid": self.program,
                "rank": None,  # a time line covers all ranks on this machine
            },
            "started_at": self.started_at,
            "seconds": seconds,
            "sampling": self._sampling(seconds),
            "page_bytes": PAGE,
            "nodes": self.nodes,
            "nodes_without_cpus": pages.nodes_without_cpus(),
            "device": {"scope": scope, "names": self.devices.names, "reason": self.devices.reason},
            "peaks": timeline.peaks(self.line),
            "marks": [],
            "marks_dropped": False,
            "processes": self._processes(),
            "timeline": timeline.columns(self.line.points, self.nodes),
        }
        self.family.close()
        self.migrations.close()
        return document

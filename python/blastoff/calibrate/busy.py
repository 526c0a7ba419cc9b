"""Whether other programs used the CPUs while a measurement ran: rates are too low then."""

import os
import time
from pathlib import Path

LEAST_CORES, LEAST_SHARE = 0.2, 0.05
"""Less than so many cores, or than this share of all, is the noise of an idle machine."""

STAT = Path("/proc/stat")
BUSY = (0, 1, 2, 5, 6, 7)
"""Columns of a CPU in /proc/stat: user, nice, system, irq, softirq and steal; a guest's time is in the first two."""


class Others:
    """The time that other programs, and other guests of the host, take from this process's CPUs from here on."""

    def __init__(self) -> None:
        self.cpus = os.sched_getaffinity(0)
        self.began, self.busy, self.own = time.monotonic(), self._busy(), self._own()

    def _busy(self) -> float:
        """Seconds that the CPUs have been busy; 0 where the kernel does not tell."""
        try:
            rows = [line.split() for line in STAT.read_text(encoding="utf-8").splitlines() if line.startswith("cpu")]
        except OSError:
            return 0.0
        ticks = sum(int(row[1 + column]) for row in rows if row[0][3:].isdigit() and int(row[0][3:]) in self.cpus for column in BUSY)
        return ticks / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def _own() -> float:
        """Seconds of this process and of its children that have ended."""
        taken = os.times()
        return taken.user + taken.system + taken.children_user + taken.children_system

    def cores(self) -> float:
        """How many cores they have used on average."""
        seconds = time.monotonic() - self.began
        return max(0.0, (self._busy() - self.busy - self._own() + self.own) / seconds) if seconds > 0 else 0.0

    def warning(self) -> str:
        """A line about them; "" if they have used next to nothing."""
        cores = self.cores()
        if cores <= max(LEAST_CORES, LEAST_SHARE * len(self.cpus)):
            return ""
        return (
            f"other programs used {cores:.1f} of the {len(self.cpus)} cores meanwhile, so these figures may be too low; "
            "measure again when nothing else runs"
        )

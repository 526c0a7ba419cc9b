"""Named parts of a program, and the calls in them."""

import os
import threading
import time
from types import TracebackType

from blastoff.session import counts
from blastoff.session.counts import Counts

_lock = threading.Lock()
_sums: dict[str, tuple[int, Counts]] = {}


class Region:
    """Counts the calls of all threads of this process while its `with` block runs. stats() sums up all blocks with the same `name`.

    Regions may be nested: a call counts in each open region. If several threads have open regions at once, each counts the calls of all threads.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.counts = Counts()
        """The counts of the last block."""
        self._open: list[tuple[int, Counts]] = []

    def __enter__(self) -> "Region":
        self._open.append((os.getpid(), counts.now(time.perf_counter())))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pid, before = self._open.pop()
        after = counts.now(time.perf_counter())
        inherited = pid != os.getpid()  # the counters of a forked child start at zero
        self.counts = after.since(Counts(seconds=before.seconds) if inherited else before)
        if self.name:
            with _lock:
                times, sums = _sums.get(self.name, (0, Counts()))
                _sums[self.name] = (times + 1, sums + self.counts)

    @property
    def calls(self) -> int:
        return self.counts.totals.calls

    @property
    def offloaded(self) -> int:
        """Calls that ran on the device."""
        return self.counts.totals.offloaded

    @property
    def offloaded_share(self) -> float:
        """The part of the arithmetic that ran on the device, from 0 to 1."""
        return self.counts.offloaded_share

    @property
    def seconds(self) -> float:
        """Wall time of the block."""
        return self.counts.seconds

    @property
    def blas_seconds(self) -> float:
        """Time in calls, of all threads together."""
        return self.counts.totals.seconds

    @property
    def bytes_moved(self) -> int:
        """Bytes moved to the device and from the device."""
        totals = self.counts.totals
        return totals.bytes_to_device + totals.bytes_from_device


def all_regions() -> dict[str, tuple[int, Counts]]:
    """For each name, how many blocks have run, and their sums."""
    with _lock:
        return dict(_sums)

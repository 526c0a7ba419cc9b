"""The counters of this process as rows of a table."""

import math
import time
from collections.abc import Mapping
from typing import Any

from blastoff.errors import CommandError
from blastoff.job.processes import Sums
from blastoff.session import counts, regions

SUMS = ("cpu_seconds", "device_seconds", "transfer_seconds", "bytes_to_device", "bytes_from_device", "bytes_reused", "flops", "offloaded_flops")
KINDS = ("routine", "line", "region", "reason")

Row = dict[str, Any]


def row(sums: Sums) -> Row:
    """Sums over calls: numbers, seconds, bytes, operations."""
    return {
        "calls": sums.calls,
        "offloaded": sums.offloaded,
        "offloaded_share": counts.share(sums),
        **{name: getattr(sums, name) for name in SUMS},
        "saved_seconds": math.nan if sums.verdict.saved is None else sums.verdict.saved,
    }


def longest_first(sums: Mapping[str, Sums]) -> dict[str, Sums]:
    return dict(sorted(sums.items(), key=lambda entry: -entry[1].seconds))


def rows(by: str) -> list[Row]:
    """The whole process up to now, one row for each routine, line of Python, region, or reason why calls stayed on the CPU."""
    if by in ("routine", "line"):
        found = counts.now(time.perf_counter())
        sums_by = found.routines if by == "routine" else found.lines
        return [{by: name, **row(sums)} for name, sums in longest_first(sums_by).items()]
    if by == "reason":
        return [{"reason": reason, "calls": calls} for reason, calls in counts.now(time.perf_counter()).reasons.items()]
    if by == "region":
        known = regions.all_regions()
        return [{"region": name, "times": times, "seconds": sums.seconds, **row(sums.totals)} for name, (times, sums) in known.items()]
    raise CommandError(f"stats: invalid value by={by}; accepted: {', '.join(KINDS)}")

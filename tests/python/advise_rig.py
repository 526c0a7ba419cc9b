"""Records from which the tests of `blastoff advise` make jobs."""

from blastoff.job.call_sites import CallSite
from blastoff.job.places import Place
from blastoff.job.processes import Sums


def sums_of(**counters: float) -> Sums:
    """Sums with these counters, and zeros for all others."""
    return Sums() + Sums(counters)


def site(name: str = "cg.f90:214 in step", threads: int = 1, size: float = 96, refusals: dict | None = None, **sums: float) -> CallSite:
    """A call site of one process, with one thread at a time, so that its sums are wall time."""
    result = CallSite("dgemm", Place("/opt/scf", 1), "", name=name, threads=threads)
    result.sums = result.wall = sums_of(**sums)
    result.volume = size**3 * result.sums.calls
    result.refusals.update(refusals or {})
    return result


def ranks_of(report: dict, *totals: dict, **process: object) -> list[dict]:
    """A report for each rank, with these counters."""
    return [
        report | {"process": report["process"] | {"rank": rank, "pid": rank + 1} | process, "totals": report["totals"] | counters}
        for rank, counters in enumerate(totals)
    ]

"""The columns of a job's tables: those of a run that has used a device, and those of a run that has not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from blastoff import quantities
from blastoff.job.call_sites import CallSite
from blastoff.job.processes import Job, Sums

Row = TypeVar("Row")


class Layout(NamedTuple, Generic[Row]):
    """The columns after the name."""

    headings: Sequence[str]
    dropped: Sequence[str]
    """Those that are left out where a line is too short, the first one first."""
    cells: Callable[[Row], list[str]]
    """The numbers of a row, in the order of the headings."""


def rate(flops: float, seconds: float) -> str:
    return quantities.number(flops / seconds / 1e9) if flops and seconds else "-"


def reuse(sums: Sums) -> str:
    return f"{quantities.number(sums.operand_reuse)}x" if sums.operand_reuse else "-"


def _cells_by_device(sums: Sums) -> list[str]:
    return [
        quantities.count(sums.calls),
        quantities.count(sums.offloaded),
        quantities.seconds(sums.cpu_seconds),
        quantities.seconds(sums.device_seconds),
        quantities.seconds(sums.transfer_seconds),
        rate(sums.offloaded_flops, sums.device_seconds),
        quantities.size(sums.bytes_to_device),
        quantities.size(sums.bytes_from_device),
        quantities.size(sums.bytes_reused),
        reuse(sums),
    ]


BY_DEVICE: Layout[Sums] = Layout(
    ("calls", "offloaded", "CPU s", "device s", "moving s", "GFLOP/s", "to device", "from device", "reused", "reuse"),
    ("reused", "reuse", "from device", "to device", "GFLOP/s", "moving s"),
    _cells_by_device,
)


def without_device(share: Callable[[Sums], float | None]) -> Layout[Sums]:
    """The columns of calls that all ran on the CPU. `share`: the part of the wall time that calls took, if it is known."""

    def cells(sums: Sums) -> list[str]:
        part = share(sums)
        shown = "-" if part is None else f"{100 * part:.0f} %"
        return [quantities.count(sums.calls), quantities.seconds(sums.cpu_seconds), rate(sums.flops, sums.cpu_seconds), shown]

    return Layout(("calls", "CPU s", "CPU GFLOP/s", "of wall time"), (), cells)


def layout_of(job: Job) -> Layout[Sums]:
    """The columns of sums over all processes."""
    if job.totals.offloaded:
        return BY_DEVICE
    whole = job.share_in_calls
    return without_device(lambda sums: whole * sums.seconds / job.totals.seconds if whole is not None and job.totals.seconds else None)


def layout_of_processes(job: Job) -> Layout[Sums]:
    """The columns of the sums of each process."""
    if job.totals.offloaded:
        return BY_DEVICE
    headings, _, cells = without_device(lambda _: None)
    return Layout(headings[:-1], (), lambda sums: cells(sums)[:-1])


def _site_by_device(site: CallSite) -> list[str]:
    sums = site.sums
    return [
        site.routine,
        f"{site.mean_size:.0f}",
        quantities.count(sums.calls),
        quantities.count(sums.offloaded),
        quantities.seconds(sums.cpu_seconds),
        quantities.seconds(sums.device_seconds),
        quantities.seconds(sums.transfer_seconds),
        quantities.size(sums.bytes_to_device),
        reuse(sums),
    ]


SITES_BY_DEVICE: Layout[CallSite] = Layout(
    ("routine", "size", "calls", "offloaded", "CPU s", "device s", "moving s", "to device", "reuse"),
    ("reuse", "to device", "moving s", "size"),
    _site_by_device,
)


def _site_without_device(site: CallSite) -> list[str]:
    sums = site.sums
    calls, seconds = quantities.count(sums.calls), quantities.seconds(sums.cpu_seconds)
    return [site.routine, f"{site.mean_size:.0f}", calls, seconds, rate(sums.flops, sums.cpu_seconds)]


SITES_WITHOUT_DEVICE: Layout[CallSite] = Layout(("routine", "size", "calls", "CPU s", "CPU GFLOP/s"), ("CPU GFLOP/s", "size"), _site_without_device)


def layout_of_sites(sites: Sequence[CallSite]) -> Layout[CallSite]:
    """The columns of call sites."""
    return SITES_BY_DEVICE if any(site.sums.offloaded for site in sites) else SITES_WITHOUT_DEVICE

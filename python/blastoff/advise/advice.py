"""What a job's reports show to stand in its way, and what to do about it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from blastoff import quantities
from blastoff.job.call_sites import CallSite
from blastoff.job.processes import GAIN_BY_SERVER, Job


@dataclass(frozen=True)
class Advice:
    """One obstacle."""

    seconds: float | None
    """Time that it costs, summed over threads and processes, as far as the reports tell; None: unknown."""
    what: str
    remedy: str


SMALL = "average size below the threshold"
SHALLOW = "too little work for each element of the result"
MEMORY = "not enough device memory"
NOT_READY = "the device was not ready yet"
LOST = "the device failed"
NO_DEVICE = "no usable device"
"""Reasons of src/report/refusals.def."""

WITHOUT_FAULT = ("working", "not started")
"""States of a device."""

MANY_CALLS = 10_000
SOME_THREADS = 2
LITTLE_REUSE = 2.0
"""Uses of a byte that was brought to the device."""
DEFAULT_MINIMUM = 250
"""Of --min-size by size; a call must be a quarter of it deep."""
LARGE_PRODUCT = 512
"""Average size of the whole of a product that is worth the device."""


def at(site: CallSite) -> str:
    return f"{site.routine} at {site.name}"


def size(site: CallSite) -> str:
    edge = f"{site.mean_size:.0f}"
    return f"{edge} x {edge}"


def cpu_seconds(site: CallSite, reason: str) -> float:
    """Time of its calls that stayed on the CPU for that reason, if those take as long as its others there."""
    return site.sums.cpu_seconds * site.refusals[reason] / max(1, site.sums.calls - site.sums.offloaded)


def moved_again(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Data that is brought to the device for one use."""
    for site in sites:
        sums = site.sums
        if sums.offloaded < 2 or not sums.bytes_to_device or sums.operand_reuse >= LITTLE_REUSE:
            continue
        calls = f"{quantities.count(sums.offloaded)} calls of {at(site)}"
        if 2 * sums.bytes_rewritten >= sums.bytes_to_device:
            yield Advice(
                sums.transfer_seconds,
                f"{quantities.size(sums.bytes_rewritten)} rewritten before each use, in {calls}",
                "Write only what changes, and leave matrices alone that do not: the pages that were not written stay on the device.",
            )
        else:
            yield Advice(
                sums.transfer_seconds,
                f"{quantities.size(sums.bytes_to_device)} brought to the device for one use, in {calls}: the matrices are new each time",
                "Keep matrices in the same memory, and call again with the same arrays. If they must be refilled, refill them in place: "
                "Blastoff page-locks memory that is refilled at the same address.",
            )


def copied(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Matrices in memory that cannot be tracked."""
    for reason, calls in job.copied().items():
        yield Advice(
            job.totals.transfer_seconds * min(1.0, calls / max(1, job.totals.offloaded)),
            f"{quantities.count(calls)} calls copied a matrix each time: {reason}",
            "docs/troubleshooting.md says which memory can be tracked, so that matrices stay on the device: that of malloc, new and ALLOCATE can.",
        )


def slower(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Calls that the CPU would have made faster."""
    for site in sites:
        if site.sums.lost_seconds > 0:
            lost = f"{quantities.count(site.sums.lost)} of {quantities.count(site.sums.offloaded)} offloaded calls"
            yield Advice(
                site.sums.lost_seconds,
                f"{lost} of {at(site)} took longer than the CPU",
                "The first calls of a run teach the decision. If it goes on, `blastoff calibrate` measures this machine, "
                "and --min-size N sets a limit.",
            )


def many_small(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Loops over small matrices, and products that threads have cut among themselves."""
    for site in sites:
        left = site.refusals[SMALL] + site.refusals[SHALLOW]
        if 2 * left < site.sums.calls or of_scalapack(site):
            continue
        whole = site.mean_size * site.threads ** (1 / 3)
        if site.threads >= SOME_THREADS and whole >= LARGE_PRODUCT / 2 and site.refusals[SMALL] < MANY_CALLS:
            yield Advice(
                site.sums.cpu_seconds,
                f"a product cut among {site.threads} threads: {quantities.count(site.sums.calls)} calls of {size(site)} by {at(site)}",
                "Let one thread make the whole product outside the parallel region: the device computes it at once, "
                "and so does a BLAS with threads of its own.",
            )
        elif left >= MANY_CALLS:
            yield Advice(
                site.sums.cpu_seconds,
                f"{quantities.count(left)} calls of {size(site)} by {at(site)}: each is too small for the device",
                "Batch them: make one product of many (stack the matrices, or reorder the loops), or use a batched routine.",
            )


def of_scalapack(site: CallSite) -> bool:
    """Whether ScaLAPACK, or the PBLAS in it, makes the calls."""
    return "scalapack" in Path(site.place.object).name


def blocks(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Distributed matrices in small blocks: ScaLAPACK's products are as deep as a block is wide."""
    small = [site for site in sites if of_scalapack(site) and site.refusals[SMALL] + site.refusals[SHALLOW] > 0]
    seconds = sum(cpu_seconds(site, SMALL) + cpu_seconds(site, SHALLOW) for site in small)
    if small:
        calls = sum(site.refusals[SMALL] + site.refusals[SHALLOW] for site in small)
        routines = ", ".join(dict.fromkeys(site.routine for site in small))
        least = 1 << (-(-minimum_size(job) // 4) - 1).bit_length()
        yield Advice(
            seconds,
            f"{quantities.count(calls)} calls of {routines} by ScaLAPACK are too shallow or too small for the device",
            f"ScaLAPACK's products are as deep as its blocks are wide: distribute matrices in blocks of {least} at least (MB and NB of the "
            f"descriptor), better of {4 * least}, over as few ranks as keep the CPUs busy.",
        )


def minimum_size(job: Job) -> int:
    """--min-size of the run, as far as its reports tell."""
    named = [process.report["settings"].get("min-size", "") for process in job.processes]
    return max((int(value) for value in named if value.isdigit()), default=0) or DEFAULT_MINIMUM


def memory(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Calls that had no room on the device."""
    for site in sites:
        calls = site.refusals[MEMORY]
        if calls:
            yield Advice(
                cpu_seconds(site, MEMORY),
                f"no room on the device for {quantities.count(calls)} calls of {at(site)}",
                "Use fewer ranks on each GPU, raise --device-memory, or use a GPU with more memory.",
            )


def opening(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Calls that ran on the CPU while the device was opened."""
    calls = sum(site.refusals[NOT_READY] for site in sites)
    if calls:
        yield Advice(
            sum(cpu_seconds(site, NOT_READY) for site in sites),
            f"{quantities.count(calls)} calls ran on the CPU while the device was opened",
            "A long program does not notice. For a short one, --start now opens the device with the first call, and waits for it.",
        )


def sharing(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Ranks that take turns on a GPU."""
    for gpu, (number, seconds) in job.taking_turns().items():
        yield Advice(
            GAIN_BY_SERVER * seconds,
            f"{number} processes share cuda:{gpu[1]} of {gpu[0]} without NVIDIA MPS: they take turns",
            "Install nvidia-cuda-mps-control and run with --mps=auto, so that `blastoff run` starts it, or start it on the node before the "
            "job: nvidia-cuda-mps-control -d. The seconds are a tenth of the device's time, which others have measured.",
        )


def imbalance(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Ranks that wait for one."""
    awaited = job.awaited_rank()
    if awaited is not None:
        others = len(job.ranks()) - 1
        yield Advice(
            awaited.excess * others,
            f"rank {awaited.rank} spends {awaited.ratio:.1f} times the mean in BLAS, and {others} others may wait for it",
            "Spread the work, or the GPUs, more evenly over the ranks.",
        )


def huge_pages(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Page tables that are long to look through."""
    without = [process for process in job.processes if process.report["process"].get("huge_pages") == "never" and process.totals.bytes_reused]
    if without:
        yield Advice(
            None,
            "the kernel gives no huge pages (transparent_hugepage: never)",
            "Tracking writes is about 30 times faster with huge pages. As root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled.",
        )


def no_device(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Processes that had no device, or lost it."""
    for reason in (NO_DEVICE, LOST):
        calls = job.refusals().get(reason, 0)
        if calls:
            states = [text for text, _ in job.distinct(lambda report: report["device"]["state"]) if text not in WITHOUT_FAULT]
            why = f": {states[0]}" if states else ""
            seconds = sum(cpu_seconds(site, reason) for site in sites)
            yield Advice(seconds, f"{quantities.count(calls)} calls: {reason}{why}", "`blastoff doctor` says what is missing.")


def unpatched(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Functions whose calls are not seen."""
    _, refused = job.patched()
    if refused:
        yield Advice(
            None, f"{refused} functions of BLAS could not be patched: their calls are not seen", "`blastoff inspect PROGRAM` names them and says why."
        )


def verification(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Checks that compute everything twice."""
    checked = job.verification()["checked"]
    if checked and 2 * checked >= job.totals.offloaded:
        yield Advice(None, f"--verify has computed {quantities.count(int(checked))} calls on the CPU, too", "Use --verify=sample in production.")


RULES: tuple[Callable[[Job, list[CallSite]], Iterator[Advice]], ...] = (
    moved_again,
    copied,
    slower,
    many_small,
    blocks,
    memory,
    opening,
    sharing,
    imbalance,
    no_device,
    huge_pages,
    unpatched,
    verification,
)

NOTICEABLE = 0.005
"""Of the time in BLAS: what costs less is not mentioned."""


def advise(job: Job, sites: list[CallSite]) -> list[Advice]:
    """All that costs noticeable time, the dearest first, and then what costs nobody knows how much."""
    found = [advice for rule in RULES for advice in rule(job, sites)]
    worth = [advice for advice in found if advice.seconds is None or advice.seconds >= NOTICEABLE * job.totals.seconds]
    return sorted(worth, key=lambda advice: -(advice.seconds if advice.seconds is not None else -1))

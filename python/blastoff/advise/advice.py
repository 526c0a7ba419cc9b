"""The obstacles that a job's reports show, and what to do about each.

Seconds are wall time of the job: the most that removing the obstacle could gain, by measured times. Nothing is guessed that the reports do
not tell.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from blastoff import documents, quantities
from blastoff.job.call_sites import CallSite, cpu_share
from blastoff.job.processes import NO_DEVICE, NOT_READY, WITHOUT_FAULT, Job
from blastoff.job.wall import MIN_KNOWN_SHARE


@dataclass(frozen=True)
class Advice:
    """One obstacle."""

    seconds: float | None
    """Wall time of the job that it costs at most, as far as the reports tell; None: unknown."""
    what: str
    remedy: str


SMALL = "average size below the threshold"
SHALLOW = "too little work for each element of the result"
MEMORY = "not enough device memory"
VECTORS = "eigenvectors or singular vectors in a job of several ranks, which may all need the same ones"
LOST = "the device failed"
"""Reasons of src/report/refusals.def."""

MANY_CALLS = 10_000
SOME_THREADS = 2
LITTLE_REUSE = 2.0
"""Uses of a byte that was brought to the device."""
LARGE_PRODUCT = 512
"""Average size of the whole of a product that is worth the device."""
MAX_NAMES = 3


def at(site: CallSite) -> str:
    return f"{site.routine} at {site.name}"


def size(site: CallSite) -> str:
    edge = f"{site.mean_size:.0f}"
    return f"{edge} x {edge}"


def cpu_seconds(site: CallSite, reason: str) -> float:
    """Wall time of the site's calls that stayed on the CPU for this reason. All of its calls on the CPU are taken to last equally long."""
    return site.wall.cpu_seconds * cpu_share(site, reason)


def outside(job: Job) -> Advice | None:
    """The time outside BLAS calls, which no BLAS can change. None where seconds are those of a simulated clock, where reports of earlier
    versions do not tell it, or where the program has computed with its own blocks."""
    told = all("wall" in process.report and not process.blocks for process in job.processes)
    if job.has_own_clock or not told or not job.wall.seconds:
        return None
    share = job.wall.outside / job.wall.seconds
    if share < NOTICEABLE_OUTSIDE:
        return None
    return Advice(
        job.wall.outside,
        f"{100 * share:.0f} % of the run ({quantities.duration(job.wall.seconds)}) at least is outside the calls that Blastoff sees",
        "No BLAS changes that. All that follows is about the rest.",
    )


def moved_again(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Data that is brought to the device for one use."""
    for site in sites:
        sums = site.sums
        if sums.offloaded < 2 or not sums.bytes_to_device or sums.operand_reuse >= LITTLE_REUSE:
            continue
        calls = f"{quantities.counted(sums.offloaded, 'call')} of {at(site)}"
        if 2 * sums.bytes_rewritten >= sums.bytes_to_device:
            yield Advice(
                site.wall.transfer_seconds,
                f"{quantities.size(sums.bytes_to_device)} brought to the device in {calls}; {quantities.size(sums.bytes_rewritten)} of them "
                "again, because the program had written to the matrices",
                "Write only what changes: pages that were not written stay on the device. Data that is new each time has to be brought, also where "
                "it is made at the same address (a copy that NumPy makes for a call, for example).",
            )
        else:
            yield Advice(
                site.wall.transfer_seconds,
                f"{quantities.size(sums.bytes_to_device)} brought to the device in {calls}, and used {quantities.number(sums.operand_reuse)} "
                "times there on average",
                "If the same matrices are used again, keep them in the same memory. If they must be refilled, refill them in place: "
                "Blastoff page-locks memory that is refilled at the same address.",
            )


def copied(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Matrices in memory that cannot be tracked."""
    for reason, calls in job.copied().items():
        yield Advice(
            None,
            f"{quantities.counted(calls, 'call')} copied a matrix each time: {reason}",
            f"{documents.page('troubleshooting.md')} says which memory can be tracked, so that matrices stay on the device: "
            "that of malloc, new and ALLOCATE can.",
        )


def slower(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Calls that the CPU makes faster."""
    for site in sites:
        if site.sums.lost_seconds > 0:
            lost = f"{quantities.count(site.sums.lost)} of {quantities.counted(site.sums.offloaded, 'offloaded call')}"
            yield Advice(
                site.wall.lost_seconds,
                f"{lost} of {at(site)} took longer than on the CPU",
                "The first calls of a run teach the decision. If it goes on, `blastoff calibrate` measures this machine, "
                "and --min-size N sets a limit.",
            )


def many_small(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Loops over small matrices, and products that threads may have cut among themselves."""
    for site in sites:
        left = site.refusals[SMALL] + site.refusals[SHALLOW]
        if 2 * left < site.sums.calls or of_scalapack(site):
            continue
        each_is = "it is" if left == 1 else "each is"
        whole = site.mean_size * site.threads ** (1 / 3)
        if site.threads >= SOME_THREADS and whole >= LARGE_PRODUCT / 2 and site.refusals[SMALL] < MANY_CALLS:
            yield Advice(
                site.wall.cpu_seconds,
                f"{quantities.counted(left, 'call')} of {size(site)} by {at(site)}, from {site.threads} threads: {each_is} too small for the device",
                "If they are parts of one product, let one thread make the whole product outside the parallel region: the device computes it at "
                "once, and so does a BLAS with threads of its own.",
            )
        elif left >= MANY_CALLS:
            yield Advice(
                site.wall.cpu_seconds,
                f"{quantities.counted(left, 'call')} of {size(site)} by {at(site)}: {each_is} too small for the device",
                "Batch them: make one product of many (stack the matrices, or reorder the loops), or use a batched routine.",
            )


def of_scalapack(site: CallSite) -> bool:
    """Whether ScaLAPACK, or the PBLAS in it, makes the calls."""
    return "scalapack" in Path(site.place.object).name


def blocks(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Distributed matrices in small blocks, or on many ranks."""
    small = [site for site in sites if of_scalapack(site) and site.refusals[SMALL] + site.refusals[SHALLOW] > 0]
    if small:
        calls = sum(site.refusals[SMALL] + site.refusals[SHALLOW] for site in small)
        routines = ", ".join(dict.fromkeys(site.routine for site in small))
        yield Advice(
            sum(cpu_seconds(site, SMALL) + cpu_seconds(site, SHALLOW) for site in small),
            f"{quantities.counted(calls, 'call')} of {routines} by ScaLAPACK {'is' if calls == 1 else 'are'} too shallow or too small for the device",
            "The products of ScaLAPACK's factorizations are as deep as the blocks are wide (MB and NB of the descriptor): try larger ones, and as "
            "few ranks as keep the CPUs busy.",
        )


def vectors(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Eigenproblems and singular values that the CPU solved, because ranks may need the same vectors."""
    left = [site for site in sites if site.refusals[VECTORS]]
    if left:
        calls = sum(site.refusals[VECTORS] for site in left)
        routines = ", ".join(dict.fromkeys(site.routine for site in left))
        yield Advice(
            sum(cpu_seconds(site, VECTORS) for site in left),
            f"{quantities.counted(calls, 'call')} of {routines} ran on the CPU: ranks that solve the same problem need the same vectors",
            "If each rank solves problems of its own, or one rank solves a problem and sends the vectors to all, --routines='*' allows the device.",
        )


def memory(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Calls that had no room on the device."""
    for site in sites:
        calls = site.refusals[MEMORY]
        if calls:
            yield Advice(
                cpu_seconds(site, MEMORY),
                f"no room on the device for {quantities.counted(calls, 'call')} of {at(site)}",
                "Use fewer ranks on each GPU, raise --device-memory, or use a GPU with more memory.",
            )


def opening(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Calls that ran on the CPU before the device was ready, or because it was not worth opening."""
    calls = sum(site.refusals[NOT_READY] for site in sites)
    if not calls:
        return
    seconds, ran = sum(cpu_seconds(site, NOT_READY) for site in sites), f"{quantities.counted(calls, 'call')} ran on the CPU"
    if any(process.report["device"].get("opening") for process in job.processes):
        remedy = "A long program does not notice. For a short one, --start now opens the device with the first call, and waits for it."
        yield Advice(seconds, f"{ran}, before the device was ready", remedy)
    else:
        remedy = "It is opened once that is worth it. --start now opens it with the first call, and shows what it gains."
        yield Advice(seconds, f"{ran}, and the device was not opened", remedy)


def imbalance(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Ranks that may wait for one."""
    awaited = job.awaited_rank()
    if awaited is not None:
        others = quantities.counted(len(job.ranks()) - 1, "other")
        yield Advice(
            awaited.excess,
            f"rank {awaited.rank} spends {awaited.ratio:.1f} times the mean wall time in calls, and {others} may wait for it",
            "Spread the work, or the GPUs, more evenly over the ranks.",
        )


def huge_pages(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Small pages, whose long page tables take time to scan."""
    if any(
        process.report["process"].get("huge_pages") == "never"
        and process.report["policy"]["tracker"] not in ("", "none")
        and process.totals.bytes_reused
        for process in job.processes
    ):
        yield Advice(
            None,
            "writes to matrices were tracked without huge pages: the kernel gives none (transparent_hugepage: never)",
            "Tracking takes less time with huge pages. As root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled.",
        )


def no_device(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Processes that had no device, or lost it."""
    refused = job.refusals()
    states = [text for text, _ in job.distinct(lambda report: report["device"]["state"]) if text not in WITHOUT_FAULT]
    why = f": {states[0]}" if states else ""
    if calls := refused.get(NO_DEVICE, 0):
        remedy = "`blastoff doctor` says what is missing. `blastoff try -- PROGRAM` says what a GPU would gain."
        yield Advice(sum(cpu_seconds(site, NO_DEVICE) for site in sites), f"{quantities.counted(calls, 'call')}: {NO_DEVICE}{why}", remedy)
    if calls := refused.get(LOST, 0):
        remedy = "All calls after the failure ran on the CPU. `dmesg` shows what the driver says of it, as an Xid."
        yield Advice(sum(cpu_seconds(site, LOST) for site in sites), f"{quantities.counted(calls, 'call')}: {LOST}{why}", remedy)


TRANSFORMS = {"fftw_": "fftw_", "dfftw_": "fftw_", "fftwf_": "fftwf_", "sfftw_": "fftwf_", "dfti": "dfti_"}
"""Prefixes of the functions of FFTW and DFTI, and the prefix of what they compute in reports: for FFTW, in the same precision."""


def is_counted(function: str, job: Job) -> bool:
    """Whether calls of the function were counted, under any name: dgemm_, cblas_dgemm and dgemm_64_ are all dgemm. For a function of FFTW or
    DFTI, any routine with its prefix counts, since several functions execute a plan."""
    name = function.lower()
    for prefix, counted in TRANSFORMS.items():
        if name.startswith(prefix):
            return any(routine.startswith(counted) for routine in job.routines)
    return name.removeprefix("cblas_").removesuffix("_").removesuffix("_64").removesuffix("_") in job.routines


def unpatched(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Functions that could not be patched and whose calls were not counted either."""
    functions = {
        entry["name"]: entry["reason"]
        for process in job.processes
        for found in process.report["interception"]["objects"]
        for entry in found["refused"]
    }
    missed = {name: reason for name, reason in functions.items() if not is_counted(name, job)}
    if missed:
        names = ", ".join(list(missed)[:MAX_NAMES]) + (", ..." if len(missed) > MAX_NAMES else "")
        number = f"{len(missed)} functions" if len(missed) > 1 else "a function"
        yield Advice(
            None,
            f"{number} could not be patched ({names}: {next(iter(missed.values()))}), and no call was counted: if there were any, they are missing",
            "`blastoff inspect PROGRAM` names them and says why.",
        )


def unknown(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """CPU times that were never measured, so that nobody can say whether the device saves time."""
    if job.totals.offloaded and job.verdict.known_share < MIN_KNOWN_SHARE:
        yield Advice(
            None,
            f"what the device saves is not known: the CPU was timed for {100 * job.verdict.known_share:.0f} % of the operations that ran there",
            "Run the same command once with --device none: later runs know what the CPU takes.",
        )


def verification(job: Job, sites: list[CallSite]) -> Iterator[Advice]:
    """Checks that compute everything twice."""
    checked = job.verification()["checked"]
    sampled = any(str(process.report["settings"].get("verify", "")).startswith("sample") for process in job.processes)
    if checked and not sampled and 2 * checked >= job.totals.offloaded:
        yield Advice(None, f"--verify has computed {quantities.counted(int(checked), 'call')} on the CPU, too", "Use --verify=sample in production.")


RULES: tuple[Callable[[Job, list[CallSite]], Iterator[Advice]], ...] = (
    moved_again,
    copied,
    slower,
    many_small,
    blocks,
    vectors,
    memory,
    opening,
    imbalance,
    no_device,
    huge_pages,
    unpatched,
    unknown,
    verification,
)

NOTICEABLE = 0.005
"""Share of the job's wall time below which an obstacle is not mentioned."""
NOTICEABLE_OUTSIDE = 0.05


def advise(job: Job, sites: list[CallSite]) -> list[Advice]:
    """The obstacles in order: first the time that no BLAS can change, then what costs noticeable time, the most expensive first, and at the
    end what has an unknown cost."""
    found = [advice for rule in RULES for advice in rule(job, sites)]
    worth = [advice for advice in found if advice.seconds is None or advice.seconds >= NOTICEABLE * job.wall.seconds]
    ordered = sorted(worth, key=lambda advice: -(advice.seconds if advice.seconds is not None else -1))
    out_of_reach = outside(job)
    return [out_of_reach, *ordered] if out_of_reach else ordered

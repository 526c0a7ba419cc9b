"""A job in words and numbers, for all views."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import getitem

from blastoff import quantities
from blastoff.job import metering
from blastoff.job.call_sites import seconds_by_reason
from blastoff.job.processes import Job, Process, Sums
from blastoff.job.wall import MIN_KNOWN_SHARE, Verdict


def letter(number: int) -> str:
    """The letter by which a line refers to a note."""
    return chr(ord("a") + number)


def device_kind(report: dict) -> tuple:
    """What processes have in common whose devices are told in one line."""
    device, opening = report["device"], report["device"].get("opening")
    several, foreseen = len(report.get("devices", [])), bool(opening and opening.get("foreseen"))
    return several, device["name"] or device["kind"], device["software"], device["state"], bool(device["memory_budget"]), bool(opening), foreseen


def describe_devices(reports: Sequence[dict]) -> str:
    """The devices of processes of one kind in a line, with the least and the largest of figures that differ."""
    several, name, software, state, has_memory, opened, foreseen = device_kind(reports[0])
    text = f"{f'{several} x ' * (several > 0)}{name}{f' ({software})' * bool(software)}"

    def span(shown: Callable[[float], str], *path: str) -> str:
        return quantities.span([reduce(getitem, path, report["device"]) for report in reports], shown)

    if has_memory:
        text += f", {span(quantities.size, 'memory_budget')} of {span(quantities.size, 'memory')} for matrices"
    if opened:
        after, took = (span(quantities.duration, "opening", key) for key in ("after_seconds", "seconds"))
        text += f", opened after {after} in {took}{', since earlier runs gained' * foreseen}"
    return text + ("" if state == "working" else f", {state}")


def device_lines(job: Job) -> list[tuple[str, int]]:
    """A line for each kind of device, and the number of processes with it; the kind of most processes first."""
    kinds: dict[tuple, list[Process]] = {}
    for process in job.processes:
        kinds.setdefault(device_kind(process.report), []).append(process)
    lines = [(describe_devices([process.report for process in those]), sum(process.number for process in those)) for those in kinds.values()]
    return sorted(lines, key=lambda line: -line[1])


def devices(job: Job) -> list[str]:
    """A line for each device of processes that use several: what the calls there did."""
    found: dict[tuple[str, str, int], list[dict]] = {}
    for process in job.processes:
        for device in process.report.get("devices", []):
            found.setdefault((process.report["process"]["host"], device["name"], device["index"]), []).append(
                {"parts": 0, "bytes_between_devices": 0} | device
            )
    hosts = {host for host, _, _ in found}
    lines = []
    for (host, _, index), parts in sorted(found.items()):
        keys = ("calls", "parts", "seconds", "bytes_to_device", "bytes_from_device", "bytes_between_devices")
        sums = {key: sum(part[key] for part in parts) for key in keys}
        states = sorted({part["state"] for part in parts} - {"working"})
        where = f"{index} on {host}" if len(hosts) > 1 else str(index)
        moved = f"{quantities.size(sums['bytes_to_device'])} to it, {quantities.size(sums['bytes_from_device'])} from it"
        if sums["bytes_between_devices"]:
            moved += f", {quantities.size(sums['bytes_between_devices'])} from other devices"
        calls = quantities.counted(sums["calls"], "call") + (f", {quantities.counted(sums['parts'], 'part')} of calls" if sums["parts"] else "")
        lines.append("; ".join([f"{where}: {calls}, {quantities.duration(sums['seconds'])}, {moved}", *states]))
    return lines


def describe_policy(report: dict) -> str:
    """The policy of one process in a line, and why it is not the one requested."""
    policy = report["policy"]
    if report["placement"] is not None:
        how = f" by moving pages to NUMA node {report['placement']['node']}"
    else:
        how = f", writes tracked by {policy['tracker']}" if policy["tracker"] not in ("", "none") else ""
    instead = f" instead of {policy['requested']}: {policy['reason']}" if policy["reason"] else ""
    home = f"; results go home: {policy['results_reason']}" if policy.get("results_reason") else ""
    return f"{policy['in_force']}{how}{instead}{home}"


def describe_run(report: dict) -> str:
    """What ran, in a line."""
    return report["process"]["command_line"] or report["process"]["program"]


def kernels(report: dict) -> list[tuple[str, str]]:
    """The BLAS libraries that computed on the CPU, and what to do for better kernels; src/report/text.cpp says the same of one process."""
    cpu = report.get("cpu") or {"libraries": []}
    return list(dict.fromkeys((library["description"], library["advice"]) for library in cpu["libraries"]))


def kernels_of_job(job: Job) -> list[tuple[str, str]]:
    """Each library once, with its advice in a line of its own."""
    found = dict.fromkeys(pair for those, _ in job.distinct(lambda report: tuple(kernels(report))) for pair in those)
    return [(label, text) for described, advice in found for label, text in (("CPU", described), ("", advice)) if text]


def served(sums: Mapping[str, float], pool: str) -> str:
    """The share of allocations that a pool has served; "" if there were none."""
    hits, misses = sums[f"{pool}.hits"], sums[f"{pool}.misses"]
    return f"{100 * hits / (hits + misses):.0f} %" if hits + misses else ""


def blocks(job: Job) -> list[tuple[str, str]]:
    """A line on the program's blocks, if there were any; src/report/text.cpp says the same of one process."""
    sums = job.blocks()
    if not sums:
        return []
    moved = f"{quantities.size(sums['bytes_to_device'])} to the device, {quantities.size(sums['bytes_from_device'])} from it"
    if sums["copies_between_devices"]:
        moved += f", {quantities.size(sums['bytes_between_devices'])} between devices"
    parts = [f"{quantities.count(int(sums['acquisitions']))} acquired, {quantities.count(int(sums['found_current']))} without a copy", moved]
    if sums["evictions"]:
        parts.append(quantities.counted(int(sums["evictions"]), "eviction"))
    if sums["contractions"]:
        parts.append(f"{quantities.counted(int(sums['contractions']), 'contraction')} of {quantities.number(sums['flops'] / 1e9)} GFLOP")
    pools = [f"{share} on the {side}" for side in ("host", "device") if (share := served(sums, f"{side}_pool"))]
    if pools:
        parts.append(f"pools served {', '.join(pools)}")
    return [("blocks", "; ".join([*parts, f"waited {quantities.duration(sums['waiting_seconds'])}"]))]


def in_blas(job: Job) -> str:
    """The time in calls."""
    return f"{quantities.duration(job.totals.seconds)} in BLAS, {'all processes and threads' if job.number > 1 else 'all threads'} together"


def facts(job: Job) -> list[tuple[str, str]]:
    """Facts about the run besides its sums: label and text."""
    lines = []
    told = (("program", job.distinct(describe_run)), ("device", device_lines(job)), ("policy", job.distinct(describe_policy)))
    for label, described in told:
        for text, processes in described:
            shared = "" if processes == job.number else f"  ({processes} of {job.number} processes)"
            lines.append((label, f"{text}{shared}"))
        if label == "device":
            lines += [("", text) for text in devices(job)]
    lines += kernels_of_job(job)
    lines += blocks(job)
    patched, refused = job.patched()
    if patched or refused:
        others = f", {quantities.counted(refused, 'other')} could not be patched (--report names them)" if refused else ""
        lines.append(("patched", f"{quantities.counted(patched, 'function')}{others}"))
    elapsed = quantities.duration(max(process.report["process"]["elapsed_seconds"] for process in job.processes))
    if job.number > 1:
        nodes = len({process.report["process"]["host"] for process in job.processes})
        lines.append(("processes", f"{job.number}{f' on {nodes} nodes' if nodes > 1 else ''}"))
        lines.append(("time", f"{elapsed} for the longest process; {in_blas(job)}"))
    else:
        lines.append(("time", f"{elapsed}; {in_blas(job)}"))
    return [*lines, *energy(job)]


MAX_PHASES = 16
"""Most phases in a summary."""


def consumed(joules: Mapping[str, float]) -> str:
    """Energy by kind, in words."""
    names = {"cpu": "CPU", "memory": "memory", "gpu": "GPU"}
    return ", ".join(f"{names[kind]} {quantities.energy(value)}" for kind, value in joules.items())


def energy(job: Job) -> list[tuple[str, str]]:
    """The energy of processors and GPUs, also by phase if the program has marked phases; or the reason why it is not known."""
    sums = metering.energy_of(job)
    if sums is None:
        return []
    lines = []
    if sums.joules:
        gpus = f" ({', '.join(dict.fromkeys(sums.gpus))})" if sums.gpus else ""
        lines.append(f"{consumed(sums.joules)}{gpus} in {quantities.duration(sums.seconds)}, all programs that used them")
    lines += [f"{'memory' if kind == 'memory' else kind.upper()}: not readable: {why}" for kind, why in sums.unreadable.items()]
    phases = list(sums.phases.items())
    lines += [f"{name}: {consumed(joules)} in {quantities.duration(seconds)}" for name, (seconds, joules) in phases[:MAX_PHASES]]
    if len(phases) > MAX_PHASES:
        lines.append(f"{len(phases) - MAX_PHASES} more phases: --json names them")
    return [("energy", line) for line in lines]


ENDINGS = {
    "exec": "replaced themselves by another program",
    "running": "were still running",
    "_exit": "ended without exit, so the counts are up to then",
    "_exit or signal": "ended without exit or were killed, so the counts are up to then",
}


def distribution(job: Job) -> dict[str, Sums]:
    """The processes with the least, the median and the most time in BLAS."""
    ordered = sorted(job.processes, key=lambda process: process.totals.seconds)
    chosen = (("least", ordered[0]), ("median", ordered[len(ordered) // 2]), ("most", ordered[-1]))
    return {f"{name}: {process.label}": process.totals for name, process in chosen}


def balance(job: Job) -> list[tuple[str, str]]:
    """How the time in BLAS is spread over the ranks, and the rank for which the others wait, if there is one."""
    ranks = job.ranks()
    if len(ranks) < 2 or not job.totals.seconds:
        return []
    ordered = sorted(sums.seconds for sums in ranks.values())
    spread = " / ".join(quantities.duration(value) for value in (ordered[0], ordered[len(ordered) // 2], ordered[-1]))
    lines = [("ranks", f"{len(ranks)}; in BLAS the threads of each spent {spread} (least / median / most)")]
    awaited = job.awaited_rank()
    if awaited is not None:
        lines.append(("imbalance", f"rank {awaited.rank} spent {awaited.ratio:.1f} times the mean wall time in calls: the others may wait for it"))
    return lines


def turns(job: Job) -> list[tuple[str, str]]:
    """GPUs that processes have shared without NVIDIA MPS."""
    return [
        ("sharing", f"{number} processes took turns on cuda:{index} of {host}, without NVIDIA MPS (--mps)")
        for (host, index), number in job.taking_turns().items()
    ]


def endings(job: Job) -> list[tuple[str, str]]:
    """How processes ended that did not end by exit."""
    lines = []
    for how, count in job.endings().items():
        number = quantities.counted(count, "process", "processes")
        lines.append(("ended", f"{number}: {ENDINGS.get(how, how)}"))
    return lines


LOST_AT_LEAST = 0.001
"""Seconds that are worth mentioning."""


def saving(found: Verdict) -> str:
    """The saving in words."""
    if found.saved is not None:
        how = "about" if found.alike else "at least"
        against = f" (on the CPU it took {quantities.duration(found.cpu_run)})" if found.cpu_run else ""
        return f"{'saved' if found.saved >= 0 else 'lost'} {how} {quantities.duration(abs(found.saved))} of wall time{against}"
    if found.at_once:
        return "saved: not known (its processes call at the same time)"
    if found.known_share < MIN_KNOWN_SHARE:
        return f"saved: not known (the CPU was timed for {100 * found.known_share:.0f} % of it)"
    return "saved: not known (its threads may overlap otherwise on the CPU)"


def verdict(job: Job) -> str:
    """What the run has saved in wall time; "" if nothing ran on a device. src/report/text.cpp says the same of one process."""
    sums = job.totals
    if not sums.offloaded:
        return ""
    parts = [saving(job.verdict)]
    if sums.lost_seconds >= LOST_AT_LEAST:
        together = ", all processes together" if job.number > 1 else ""
        parts.append(f"{quantities.duration(sums.lost_seconds)} lost in {quantities.counted(sums.lost, 'call')}{together}")
    return "; ".join([*parts, f"{100 * sums.offloaded_share:.0f} % of the operations seen ran on the device"])


def unseen(job: Job) -> str:
    """The calls that the counts lack; "" if there are none. src/report/text.cpp says the same of one process."""
    families = ", ".join(f"{family} ({function} from {file})" for family, (function, file) in job.unseen().items())
    return f"not taken and not counted here, if called: {families}" if families else ""


def counted(job: Job) -> list[str]:
    """A line for each routine that is only counted. src/report/text.cpp says the same of one process."""
    return [
        f"{name}: {quantities.counted(calls, 'call')}, {quantities.duration(seconds)}, {quantities.duration(own)} of it its own"
        for name, (calls, seconds, own) in job.counted().items()
    ]


def refusals(job: Job) -> dict[str, tuple[int, float | None]]:
    """Why calls stayed on the CPU: their number, and the seconds that they took there if call sites tell them. The most seconds come first, then
    the most calls."""
    seconds = seconds_by_reason(job)
    told = {reason: (calls, seconds.get(reason)) for reason, calls in job.refusals().items()}
    return dict(sorted(told.items(), key=lambda entry: (-(entry[1][1] or 0.0), -entry[1][0])))


def stayed(reason: str, calls: int, seconds: float | None) -> str:
    """One reason in words."""
    return f"{quantities.counted(calls, 'call')}{f', {quantities.duration(seconds)}' if seconds else ''}: {reason}"


def results(job: Job) -> str:
    """What became of results that stayed on the device. They came home in whole pages, which hold other bytes, too."""
    overwritten, touched, home = (job.of_results(fate) for fate in ("bytes_overwritten", "bytes_touched", "bytes_brought_home"))
    amounts = (job.totals.bytes_left, max(overwritten, job.totals.bytes_left - home), overwritten, touched, max(0, home - touched))
    left, never, anew, looked_at, other = map(quantities.size, amounts)
    fates = f"{never} never came home ({anew} were computed anew there), {looked_at} came home when the program touched them"
    return f"{left} of results stayed on the device: {fates}, {other} for other reasons"


def conclusions(job: Job) -> list[tuple[str, str]]:
    """The sentences below the table: verdict, reuse, refusals, copied operands, verification."""
    lines = []
    if verdict(job):
        lines.append(("verdict", verdict(job)))
    lines.extend(("counted", line) for line in counted(job))
    if unseen(job):
        lines.append(("unseen", unseen(job)))
    if job.totals.operand_reuse:
        lines.append(("reuse", f"each byte that came to the device was used {quantities.number(job.totals.operand_reuse)} times there"))
    if job.totals.bytes_left:
        lines.append(("results", results(job)))
    placed, left = job.placed()
    if placed or left:
        lines.append(("placed", f"{quantities.size(placed)} on the device's NUMA node"))
    lines.extend(("placed", f"{quantities.size(count)} stay elsewhere: {reason}") for reason, count in left.items())
    blocks, size, bound = job.allocated()
    if blocks:
        to_node = f"; {quantities.size(bound)} bound to the device's NUMA node" if bound else ""
        lines.append(("allocated", f"{quantities.count(blocks)} large blocks, {quantities.size(size)}, on pages of their own{to_node}"))
    lines.extend(("on the CPU", stayed(reason, calls, seconds)) for reason, (calls, seconds) in refusals(job).items())
    lines.extend(("copied", f"{quantities.counted(calls, 'call')}: {reason}") for reason, calls in job.copied().items())
    checked = job.verification()
    if checked["checked"] or checked["stale_pages"]:
        worst = f"worst relative error {checked['worst_relative_error']:.1e}"
        lines.append(
            (
                "verified",
                f"{quantities.counted(checked['checked'], 'call')}, {quantities.counted(checked['violations'], 'violation')}, {worst}, "
                f"{quantities.counted(checked['stale_pages'], 'stale page')}",
            )
        )
    return [*lines, *turns(job), *balance(job), *endings(job)]

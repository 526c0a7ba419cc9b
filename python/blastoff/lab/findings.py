"""Compares this machine with the findings of the studies that the laboratory repeats.

Gayatri, Gott and Deslippe, "Comparing Managed Memory and ATS with and without Prefetching on NVIDIA Volta GPUs" (PMBS 2019), and
Schieffer, Wahlgren, Ren, Faj and Peng, "Harnessing Integrated CPU-GPU System Memory for HPC: a first look into Grace Hopper"
(ICPP 2024). The claims about blocks are from the runtime of ACES4.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from math import prod
from typing import Any

from blastoff import quantities

GAYATRI, SCHIEFFER, ACES4 = "Gayatri et al. 2019", "Schieffer et al. 2024", "ACES4"
AGREES, DIFFERS, UNKNOWN = "agrees", "differs", "cannot tell"
NO_SYSTEM = "system memory was not measured"
NO_BLOCKS = "blocks were not measured"
CLEAR = 1.1
"""Least ratio of two times that counts as a difference."""

Rows = list[dict[str, Any]]
Verdict = tuple[str, str]
"""What was measured here, and whether it agrees with the claim."""


@dataclass(frozen=True)
class Finding:
    """A claim of a study, and what this machine shows."""

    source: str
    claim: str
    here: str
    verdict: str


def compare(what: str, pair: tuple[dict[str, Any], dict[str, Any]], *keys: str) -> Verdict:
    """The verdict on the claim that the first row takes clearly longer than the second, by the sums of these keys."""
    slower, faster = (sum(row[key] for key in keys) for row in pair)
    times = f"{quantities.duration(slower)} against {quantities.duration(faster)}"
    return f"{what}, {quantities.size(pair[0]['bytes'])}: {times}", AGREES if slower > CLEAR * faster else DIFFERS


def largest(rows: Rows, first: str, second: str, **fixed: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The rows of two modes for the largest size that has both; None if there is no such size."""
    chosen = [row for row in rows if all(row[key] == value for key, value in fixed.items())]
    by_mode = {mode: {row["bytes"]: row for row in chosen if row["mode"] == mode} for mode in (first, second)}
    shared = by_mode[first].keys() & by_mode[second].keys()
    return (by_mode[first][max(shared)], by_mode[second][max(shared)]) if shared else None


def not_measured(rows: Rows, *modes: str) -> str:
    """Which of the modes that a claim compares (those of system and managed memory) is missing."""
    measured = {row["mode"] for row in rows}
    for mode in modes or ("system", "managed"):
        if mode not in measured:
            kind, *prefetched = mode.split()
            return NO_SYSTEM if mode == "system" else f"{kind} memory{' with prefetch' if prefetched else ''} was not measured"
    return "no size was measured in both kinds of memory"


def staying(rows: Rows, inner: int) -> tuple[str, dict[str, Any], dict[str, Any]] | None:
    """A mode whose memory stays where the CPU put it, its row, and the row of managed memory, which moves."""
    for mode in ("system", "managed remote"):
        if pair := largest(rows, mode, "managed", inner=inner):
            return mode, *pair
    return None


def staying_against_moving(rows: Rows, few: bool) -> Verdict:
    """Compares data that stays on the host with data that moves: at the fewest launches per touch (`few`), where staying should be faster, or
    at the most."""
    inner = (min if few else max)((row["inner"] for row in rows), default=0)
    found = staying(rows, inner)
    if found is None:
        return not_measured(rows), UNKNOWN
    mode, stays, moves = found
    launches = f"{inner} launch{'es' if inner > 1 else ''} per touch"
    if few:
        return compare(f"managed against {mode} memory, {launches}", (moves, stays), "total_later")
    return compare(f"{mode} against managed memory, {launches}", (stays, moves), "total_later")


def prefetch_helps(rows: Rows) -> Verdict:
    inner = min((row["inner"] for row in rows), default=0)
    pair = largest(rows, "managed", "managed prefetch", inner=inner)
    if pair is None:
        return "managed memory with prefetch was not measured", UNKNOWN
    return compare(f"managed memory without against with prefetch, {inner} launch per touch", pair, "kernel", "moving")


def page_locked_copies(rows: Rows) -> Verdict:
    inner = min((row["inner"] for row in rows), default=0)
    pair = largest(rows, "explicit", "blocks", inner=inner)
    if pair is None:
        return NO_BLOCKS, UNKNOWN
    return compare("copies of plain arrays against copies of blocks", pair, "moving")


def blocks_against_copies(rows: Rows) -> Verdict:
    """Compares blocks, which the library moves off the device by itself, with the program's own copies in chunks."""
    ratio = max((row["ratio"] for row in rows if row["mode"] == "blocks"), default=0)
    pair = largest(rows, "explicit", "blocks", ratio=ratio)
    if ratio <= 1 or pair is None:
        return NO_BLOCKS, UNKNOWN
    return compare(f"copies in chunks against blocks, data {ratio:g} times the free memory", pair, "total")


def slow_touch(rows: Rows) -> Verdict:
    """Compares the CPU's next touch of system memory with and without prefetch: only a prefetch is certain to move the data away from the CPU."""
    pair = largest(rows, "system prefetch", "system")
    if pair is None:
        return not_measured(rows, "system", "system prefetch"), UNKNOWN
    return compare("the CPU's next touch of system memory, with against without prefetch", pair, "touch_later")


def fastest_back(rows: Rows) -> Verdict:
    """Compares the ways back to the CPU: the prefetch to the host, if there is one, and the CPU's next touch."""
    kinds = dict.fromkeys(("managed", "system"), ("", " prefetch", " prefetch back"))
    inner = max((row["inner"] for row in rows), default=0)
    chosen = [row for row in rows if row["inner"] == inner and "back" in row and row["touch_later"] is not None]
    size = max((row["bytes"] for row in chosen), default=0)
    back = {row["mode"]: row["back"] + row["touch_later"] for row in chosen if row["bytes"] == size}
    managed = {mode: seconds for mode, seconds in back.items() if mode.startswith("managed prefetch")}
    others = {mode: back[mode] for mode in (name + end for name, ends in kinds.items() for end in ends) if mode in back and mode not in managed}
    if not managed or not any(mode.startswith("system") for mode in others):
        return not_measured(rows, "system", "managed prefetch"), UNKNOWN
    best, other = min(managed, key=managed.__getitem__), min(others, key=others.__getitem__)
    times = f"{quantities.duration(others[other])} against {quantities.duration(managed[best])}"
    here = f"back to the CPU and its touch, {other} against {best}, {quantities.size(size)}: {times}"
    return here, AGREES if others[other] > CLEAR * managed[best] else DIFFERS


def whole_times(rows: Rows, slower: str, faster: str, which: str) -> Verdict:
    """Compares the whole times of two modes: the geometric mean over the problems that have both."""
    totals: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        totals.setdefault((row["application"], row["problem"]), {})[row["mode"]] = row["total"]
    ratios = [modes[slower] / modes[faster] for modes in totals.values() if slower in modes and faster in modes]
    if not ratios:
        return not_measured(rows), UNKNOWN
    mean = prod(ratios) ** (1 / len(ratios))
    here = f"{slower} memory takes {mean:.3g} times as long as {faster} memory, {which} (geometric mean)"
    return here, AGREES if mean > CLEAR else DIFFERS


def cpu_initialised(rows: Rows) -> Verdict:
    chosen = [row for row in rows if row.get("initialised_by", "cpu") == "cpu"]
    return whole_times(chosen, "managed", "system", "all applications that the CPU initialises")


def gpu_initialised(rows: Rows) -> Verdict:
    chosen = [row for row in rows if row.get("initialised_by") == "gpu"]
    return whole_times(chosen, "system", "managed", "applications that the GPU initialises")


def oversubscribed_applications(rows: Rows) -> Verdict:
    managed = sorted((row for row in rows if row["mode"] == "managed" and row["ratio"] > 1), key=lambda row: row["ratio"])
    if not managed:
        return "managed memory was not oversubscribed (--oversubscribe-managed)", UNKNOWN
    ratios = {(row["application"], row["problem"]): row["ratio"] for row in managed}
    chosen = [row for row in rows if row["ratio"] == ratios.get((row["application"], row["problem"]))]
    return whole_times(chosen, "managed", "system", f"arrays of up to {managed[-1]['ratio']:.3g} times the free memory")


def gpu_first_touch(rows: Rows) -> Verdict:
    chosen = [row for row in rows if row["experiment"] == "first touch" and row["by"] == "gpu"]
    pair = largest(chosen, "system", "managed")
    if pair is None:
        return not_measured(chosen), UNKNOWN
    return compare("first touch by the GPU, system against managed memory", pair, "first")


def amplification(rows: Rows) -> Verdict:
    walks = [row for row in rows if row["experiment"] == "granularity" and row["mode"] == "managed" and row["distance"]]
    if not walks:
        return "no touch of managed memory moved pages", UNKNOWN
    words = " and ".join(f"{row['distance'] // 1024} KiB by the {row['by'].upper()}" for row in walks)
    return f"a touch of one word moves {words} (median)", AGREES if max(row["distance"] for row in walks) > 4096 else DIFFERS


def remote_access(rows: Rows) -> Verdict:
    beyond = [row for row in rows if row["ratio"] > 1]
    ratio = max((row["ratio"] for row in beyond if row["mode"] == "system"), default=None)
    if ratio is None:
        return f"{NO_SYSTEM}; managed memory is never oversubscribed here", UNKNOWN
    pair = largest(beyond, "explicit", "system", ratio=ratio)
    if pair is None:
        return "only one mode was measured", UNKNOWN
    return compare(f"copies in chunks against system memory, data {ratio:g} times the free memory", pair, "total")


CLAIMS: tuple[tuple[str, str, str, Callable[[Rows], Verdict]], ...] = (
    ("daxpy", GAYATRI, "With few launches per touch, data is best left where it is.", partial(staying_against_moving, few=True)),
    ("daxpy", GAYATRI, "With many launches per touch, moving the data pays.", partial(staying_against_moving, few=False)),
    ("daxpy", GAYATRI, "Prefetch helps.", prefetch_helps),
    ("daxpy", GAYATRI, "Prefetch makes the CPU's next touch slow.", slow_touch),
    ("daxpy", GAYATRI, "Back on the CPU, managed memory with prefetch is fastest.", fastest_back),
    ("daxpy", ACES4, "Page-locked memory makes copies of large blocks faster.", page_locked_copies),
    ("oversubscription", ACES4, "Blocks whose copies overlap with kernels beat copies that are waited for.", blocks_against_copies),
    ("applications", SCHIEFFER, "System memory suits data that the CPU initialises.", cpu_initialised),
    ("applications", SCHIEFFER, "Applications that the GPU initialises lose in system memory.", gpu_initialised),
    ("oversubscribed", SCHIEFFER, "Oversubscribed applications take longer in managed memory than in system memory.", oversubscribed_applications),
    ("pages", SCHIEFFER, "First touch by the GPU is slow in system memory: the operating system makes the pages.", gpu_first_touch),
    ("pages", SCHIEFFER, "The granularity of migration amplifies what is moved.", amplification),
    ("oversubscription", SCHIEFFER, "When memory is oversubscribed, remote access is better than moving.", remote_access),
)


def findings(rows_of: dict[str, Rows], simulated: bool, no_system: str) -> list[dict[str, str]]:
    """The claims about the sets that were measured, each with the measurement. `no_system` says why the device cannot reach system memory."""
    found = []
    for name, source, claim, judge in CLAIMS:
        if rows_of.get(name):
            here, verdict = judge(rows_of[name])
            if no_system and verdict == UNKNOWN:
                here = here.replace(NO_SYSTEM, no_system)
            if simulated:
                here, verdict = f"{here} (simulated)", UNKNOWN
            found.append(asdict(Finding(source, claim, here, verdict)))
    return found

"""The ranking as lines of text."""

import textwrap
from collections.abc import Mapping

from blastoff import columns, quantities
from blastoff.job.view.words import letter
from blastoff.printable import printable
from blastoff.site.ranking import LARGE, Reader
from blastoff.site.share import Key, Share

COLUMNS = ("jobs", "node h", "in calls", "gain h", "GPU h", "on GPU", "in the way")
DROPPED = ("on GPU", "in calls", "jobs")
MAX_ROWS = 30


def hours(value: float) -> str:
    return quantities.number(value) if value >= 0.01 else "0" if not value else "<0.01"


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def cells(share: Share) -> list[str]:
    numbers = [hours(share.gain), hours(share.gpu_hours)]
    return [quantities.count(share.jobs), hours(share.hours), percent(share.in_calls, share.hours), *numbers, percent(share.on_device, share.hours)]


def obstacle(share: Share, reasons: list[str]) -> str:
    """The largest obstacle: its share of the hours, and the letter of its note."""
    reason, part = share.obstacle
    return f"{percent(part, 1)}  {letter(reasons.index(reason))}" if reason else "-"


def lines(shares: Mapping[Key, Share], reader: Reader, width: int | None) -> list[str]:
    """Who would gain, and what stands in the way."""
    total = sum(shares.values(), Share())
    users = len({user for user, _ in shares})
    answer = (
        f"{quantities.counted(total.jobs, 'job')} of {quantities.counted(users, 'user')}, "
        f"{hours(total.hours)} node hours: with GPUs, up to {hours(total.gain)} of them could be saved ({percent(total.gain, total.hours)})"
    )
    shown = [*textwrap.wrap(answer, width or len(answer)), ""]
    rows = [[printable(f"{user} {program}"), *cells(share)] for (user, program), share in list(shares.items())[:MAX_ROWS]]
    reasons = list(dict.fromkeys(share.obstacle[0] for share in [*list(shares.values())[:MAX_ROWS], total]))
    for row, share in zip(rows, shares.values(), strict=False):
        row.append(obstacle(share, reasons))
    shown += columns.table(["user, program", *COLUMNS], [*rows, ["total", *cells(total), obstacle(total, reasons)]], DROPPED, width, total=True)
    if len(shares) > MAX_ROWS:
        shown.append(f"{len(shares) - MAX_ROWS} more programs: --json has them")
    way = [(f"({letter(place)})", printable(reason)) for place, reason in enumerate(reasons) if reason]
    notes = [
        ("in the way", "the largest part of the node hours that no GPU takes over"),
        ("gain h", f"at most: node hours in calls of average size {LARGE:.0f} and more on the CPU"),
        ("GPU h", "hours for which those that gain would hold the GPU of each node, at best; for jobs on GPUs, what they held"),
    ]
    if reader.traced:
        jobs, best = quantities.counted(reader.traced, "job"), ", ".join(each.label for each in reader.machines)
        notes.append(("traces", f"of {jobs}: gain and GPU hours of later runs, predicted for the best of {best}"))
    left = [(reader.unreadable, "file", "files"), (reader.closed, "directory", "directories")]
    if counted := [quantities.counted(*each) for each in left if each[0]]:
        notes.append(("left out", f"{' and '.join(counted)} that could not be read"))
    return [*shown, "", *columns.pairs([*way, *notes], width)]

"""`blastoff advise`: reads reports and says what stands in the way."""

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict

from blastoff import columns, printable, quantities
from blastoff.advise.advice import Advice, advise
from blastoff.job import reading
from blastoff.job.call_sites import call_sites
from blastoff.job.processes import Job
from blastoff.job.view import words
from blastoff.parser import Parser

WIDTH = 100
"""The longest line, where the terminal is not narrower."""


def run(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="blastoff advise",
        description="Says what part of a job no BLAS can change, what stands in the way of the rest, by the wall time that it costs at most, and "
        "what to do about it. It reads the reports that `blastoff run --report FILE` has written.",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="report of one process, or a directory")
    parser.add_argument("--json", action="store_true", help="print a list of objects instead: seconds (null: unknown), what, remedy")
    parsed = parser.parse_args(arguments)
    job = reading.read_job(parsed.files)
    found = advise(job, call_sites(job))
    print(json.dumps([asdict(advice) for advice in found], indent=2) if parsed.json else printable.lines(text(job, found)))
    return 0


def text(job: Job, found: Sequence[Advice]) -> str:
    """The verdict, and what stands in the way, with the seconds in front."""
    nothing = f"nothing ran on the device; at most {quantities.duration(job.wall.in_calls)} of wall time in calls"
    width = min(WIDTH, columns.terminal_width() or WIDTH)
    lines = [*textwrap.wrap(words.verdict(job) or nothing, width), ""]
    if not found:
        return "\n".join([*lines, "Nothing in these reports stands in the way."])
    lines += ["What stands in the way, and the wall time that it costs the job at most:"]
    for advice in found:
        seconds = "" if advice.seconds is None else quantities.duration(advice.seconds)
        lines += textwrap.wrap(advice.what, width, initial_indent=f"{seconds:>8}  ", subsequent_indent=" " * 10)
        lines += textwrap.wrap(advice.remedy, width, initial_indent=" " * 10 + "- ", subsequent_indent=" " * 12)
    return "\n".join(lines)

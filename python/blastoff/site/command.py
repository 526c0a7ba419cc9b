"""`blastoff site`: who of a site's users would gain from GPUs, and what stands in the way."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from blastoff import columns
from blastoff.errors import CommandError
from blastoff.parser import Parser
from blastoff.replay import machines
from blastoff.site import ranking
from blastoff.site.share import Key, Share


def parser() -> Parser:
    result = Parser(
        prog="blastoff site",
        description="Shows the reports and traces of many jobs and users as one ranking: who would gain from GPUs, how many GPU hours that takes, "
        "and what stands in the way. The modulefile blastoff-sample takes such reports of some of a site's jobs.",
    )
    result.add_argument("directory", metavar="DIRECTORY", help="where the reports and traces are, also in directories below it")
    measured = "as for blastoff predict, for traces. Default: the models that come with Blastoff and were measured"
    result.add_argument("--machine", metavar="NAME[,NAME...]", help=measured)
    result.add_argument("--json", action="store_true", help="print the ranking as JSON")
    return result


def as_json(shares: Mapping[Key, Share], reader: ranking.Reader) -> dict[str, Any]:
    rows = [
        {"user": user, "program": program, "jobs": share.jobs, "node_hours": share.hours, "hours_in_calls": share.in_calls}
        | {"largest_gain_hours": share.gain, "gpu_hours": share.gpu_hours, "hours_on_gpus": share.on_device, "obstacles": dict(share.obstacles)}
        for (user, program), share in shares.items()
    ]
    return {"programs": rows, "traced_jobs": reader.traced, "unreadable_files": reader.unreadable, "unreadable_directories": reader.closed}


def run(arguments: Sequence[str]) -> int:
    parsed = parser().parse_args(arguments)
    replayed = machines.chosen(parsed.machine)
    if parsed.machine is None:
        replayed = [machine for machine in replayed if machine.basis != machines.DATA_SHEET]
    reader = ranking.Reader(Path(parsed.directory), replayed)
    shares = ranking.ranking(reader.jobs())
    if not shares:
        raise CommandError(f"site: {parsed.directory}: no report or trace of a process that made calls")
    if parsed.json:
        print(json.dumps(as_json(shares, reader), indent=2))
    else:
        from blastoff.site.view import text

        print("\n".join(text.lines(shares, reader, columns.terminal_width())))
    return 0

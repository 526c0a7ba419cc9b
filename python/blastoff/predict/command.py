"""`blastoff predict`: the command line."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from blastoff import library, options
from blastoff.errors import CommandError
from blastoff.parser import Parser
from blastoff.predict import machines, prediction

SETTINGS = ("policy", "min-size", "decide", "start", "device-memory", "simulated-memory")
"""Options of a run that change a prediction."""


def parser() -> Parser:
    result = Parser(
        prog="blastoff predict",
        description="Says what a program would take on other machines, from the traces that `blastoff run --device none --trace FILE` has "
        "written. The calls go through Blastoff's own decisions and residency, on machine models: nothing is computed. Several files are "
        "the processes of one job.",
    )
    result.add_argument("files", metavar="FILE", nargs="+", help="the trace of a process")
    named = "machine models by name, or by path; simulated:RATES is the simulated device. Default: all that come with Blastoff"
    result.add_argument("--machine", metavar="NAME[,NAME...]", help=named)
    result.add_argument("--gpus", metavar="N", default="1", help="GPUs of each process: a call goes to the one that has its matrices. Default: 1")
    result.add_argument("--ranks-per-gpu", metavar="N", default="1", help="processes that share a GPU, its memory and its link. Default: 1")
    for option in options.read_table(library.find_library()):
        if option.name in SETTINGS:
            result.add_argument(option.flag, metavar=option.metavar, help=f"as for blastoff run. Default: {option.default}".replace("%", "%%"))
    result.add_argument("--html", metavar="FILE", help="write one self-contained page instead")
    result.add_argument("--json", action="store_true", help="print JSON (share/prediction.schema.json)")
    return result


def number(text: str, flag: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= 64):
        raise CommandError(f"predict: invalid value {flag}={text}; accepted: a number from 1 to 64")
    return int(text)


def run(arguments: Sequence[str]) -> int:
    parsed = parser().parse_args(arguments)
    layout = prediction.Layout(number(parsed.gpus, "--gpus"), number(parsed.ranks_per_gpu, "--ranks-per-gpu"))
    settings = {}
    for option in options.read_table(library.find_library()):
        value = getattr(parsed, option.name.replace("-", "_"), None) if option.name in SETTINGS else None
        if value is not None:
            options.check(option, value, option.flag)
            settings[option.environment] = value
    result = prediction.predict(parsed.files, machines.chosen(parsed.machine), layout, settings)
    if parsed.json:
        print(json.dumps(result, indent=2))
    elif parsed.html is None:
        from blastoff.predict.view import text

        text.show(result)
    else:
        from blastoff.predict.view import page

        try:
            Path(parsed.html).write_text(page.render(result))
        except OSError as error:
            raise CommandError(f"{parsed.html}: {error.strerror}") from error
        print(f"blastoff: wrote {parsed.html}", file=sys.stderr)
    return 0

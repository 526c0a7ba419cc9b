"""`blastoff predict`: the command line."""

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from blastoff import files, library, options, printable
from blastoff.errors import CommandError
from blastoff.parser import Parser
from blastoff.predict import job as jobs
from blastoff.predict import nodes, ranks, trial
from blastoff.predict.scale import Nodes
from blastoff.replay import machines, prediction, traces

SETTINGS = ("policy", "routines", "min-size", "decide", "start", "device-memory", "simulated-memory", "gather", "gather-gpus")
"""Options of a run that change a prediction."""
NODES_ONLY = ("--ranks-per-node", "--gpus-per-node", "--units", "--scaling", "--job")


def parser() -> Parser:
    result = Parser(
        prog="blastoff predict",
        description="Says what a program would take on other machines, from the traces that `blastoff run --device none --trace FILE` has "
        "written. The calls go through Blastoff's own decisions and residency, on machine models: nothing is computed. Several files are "
        "the processes of one job.",
    )
    result.add_argument("files", metavar="FILE", nargs="*", help="the trace of a process, or a directory with the traces of one run")
    named = "machine models by name, or by path; simulated:RATES is the simulated device. Default: all that come with Blastoff and that it can use"
    result.add_argument("--machine", metavar="NAME[,NAME...]", help=named)
    result.add_argument("--gpus", metavar="N", help="GPUs of each process: a call goes to the one that has its matrices. Default: 1")
    result.add_argument("--ranks-per-gpu", metavar="N", help="processes that share a GPU, its memory and its link. Default: 1")
    add_nodes(result)
    for option in options.read_table(library.find_library()):
        if option.name in SETTINGS:
            result.add_argument(
                option.flag, metavar=option.metavar, help=f"as for blastoff run. Default: {option.default or 'none'}".replace("%", "%%")
            )
    result.add_argument("--html", metavar="FILE", help="write one self-contained page instead")
    result.add_argument("--json", action="store_true", help="print JSON (share/prediction.schema.json)")
    return result


def add_nodes(result: Parser) -> None:
    """The options of a job on many nodes."""
    several = "a job on so many nodes, for each number: the traced ranks' work is shared out among more of them"
    result.add_argument("--nodes", metavar="N[,N...]", help=several)
    result.add_argument("--ranks-per-node", metavar="N", help="with --nodes. Default: as traced")
    result.add_argument("--gpus-per-node", metavar="N", help="with --nodes: ranks of a node share them. Default: 1")
    result.add_argument("--units", metavar="N", help="with --nodes: equal pieces of work that ranks share out. Default: any share is possible")
    result.add_argument("--scaling", metavar="strong|weak", help="with --nodes: the same job, or the same work for each rank. Default: strong")
    result.add_argument(
        "--job",
        metavar="FILE",
        help="with --nodes: what traces do not tell, or published times (share/job.schema.json); must-lsms and parsec come with Blastoff",
    )


def number(text: str, flag: str, most: int = 64) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= most):
        raise CommandError(f"predict: invalid value {flag}={text}; accepted: a number from 1 to {most}")
    return int(text)


MAX_NODES = 1_000_000


def asked_nodes(parsed: Any) -> Nodes:
    """The values of --nodes and the options that go with it."""
    if parsed.gpus is not None or parsed.ranks_per_gpu is not None:
        raise CommandError("predict: with --nodes, give --ranks-per-node and --gpus-per-node instead of --gpus and --ranks-per-gpu")
    if parsed.scaling not in (None, "strong", "weak"):
        raise CommandError(f"predict: invalid value --scaling={parsed.scaling}; accepted: strong, weak")
    return Nodes(
        counts=sorted({number(text, "--nodes", MAX_NODES) for text in parsed.nodes.split(",")}),
        ranks=number(parsed.ranks_per_node, "--ranks-per-node", 1024) if parsed.ranks_per_node is not None else None,
        gpus=number(parsed.gpus_per_node, "--gpus-per-node") if parsed.gpus_per_node is not None else 1,
        weak=parsed.scaling == "weak",
    )


def on_nodes(parsed: Any, settings: dict[str, str]) -> dict[str, Any]:
    """A prediction in the form of share/scale.schema.json."""
    asked = asked_nodes(parsed)
    described = jobs.read(parsed.job) if parsed.job is not None else jobs.Job()
    described = nodes.with_units(described, number(parsed.units, "--units", 10**12) if parsed.units is not None else None)
    if parsed.files:
        return nodes.of_traces(parsed.files, machines.chosen(parsed.machine), described, asked, settings)
    if parsed.job is None:
        raise CommandError("predict: no trace is given; accepted: traces, or with --nodes a --job with published times")
    if parsed.machine is not None:
        raise CommandError("predict: published times are those of their machine; accepted with them: no --machine")
    if replayed := sorted(settings.keys() - {"BLASTOFF_POLICY"}):
        flags = ", ".join("--" + name.removeprefix("BLASTOFF_").lower().replace("_", "-") for name in replayed)
        raise CommandError(f"predict: {flags}: published times are not replayed; accepted with them: --policy")
    return nodes.of_published(described, asked, settings.get("BLASTOFF_POLICY", "first-use"))


def on_one(parsed: Any, settings: dict[str, str]) -> dict[str, Any]:
    """A prediction in the form of share/prediction.schema.json."""
    for flag in NODES_ONLY:
        if getattr(parsed, flag.removeprefix("--").replace("-", "_")) is not None:
            raise CommandError(f"predict: {flag} is for --nodes, which is missing")
    if not parsed.files:
        raise CommandError("predict: no trace is given; blastoff run --trace FILE writes one")
    layout = prediction.Layout(number(parsed.gpus or "1", "--gpus"), number(parsed.ranks_per_gpu or "1", "--ranks-per-gpu"))
    return prediction.predict(parsed.files, machines.chosen(parsed.machine), layout, settings)


def run(arguments: Sequence[str]) -> int:
    parsed = parser().parse_args(arguments)
    parsed.files = traces.named(parsed.files)
    settings = {}
    for option in options.read_table(library.find_library()):
        value = getattr(parsed, option.name.replace("-", "_"), None) if option.name in SETTINGS else None
        if value is not None:
            options.check(option, value, option.flag)
            settings[option.environment] = value
    many = parsed.nodes is not None
    result = on_nodes(parsed, settings) if many else on_one(parsed, settings)
    if parsed.json:
        print(json.dumps(result, indent=2))
    elif parsed.html is None:
        from blastoff.predict.view import text

        (text.show_nodes if many else text.show)(printable.values(result))
    else:
        from blastoff.predict.view import page

        files.write(parsed.html, (page.render_nodes if many else page.render)(result))
    return 0


def attempt(arguments: Sequence[str]) -> int:
    """`blastoff try`."""
    parsed = trial.parser().parse_args(arguments)
    program = parsed.command[1:] if parsed.command[:1] == ["--"] else parsed.command
    if not program:
        raise CommandError("try: no program is given; blastoff try -- PROGRAM")
    chosen = machines.chosen(parsed.machine)
    rank = ranks.join()
    with tempfile.TemporaryDirectory(prefix="blastoff-try-") as temporary:
        own = rank.folder if rank else Path(temporary)
        folder = trial.folder_for_traces(parsed.trace, is_rank=rank is not None) if parsed.trace else own
        status = trial.traced(program, folder)
        if rank and not rank.is_last():
            return status
        try:
            result = trial.answer(folder, chosen)
        finally:
            if rank:
                rank.remove()
    from blastoff.predict.view import trial_words

    print(trial_words.text(printable.values(result), program, status), file=sys.stderr)
    return status

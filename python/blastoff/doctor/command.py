"""`blastoff doctor`: what works on this machine, what does not and why, and how to fix it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from blastoff import printable
from blastoff.doctor import machine, offload, pages, probe
from blastoff.parser import Parser


def run(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="blastoff doctor",
        description="Shows what works on this machine, what does not and why, and how to fix it.",
        epilog="Exit status: 0 if calls can be offloaded to a GPU with the policy first-use, else 1.",
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parsed = parser.parse_args(arguments)
    return show(as_json=parsed.json)


def show(as_json: bool) -> int:
    """Prints the findings; 0 if calls can be offloaded to a GPU with first-use, else 1."""
    probed = probe.probe()
    findings = [find(probed) for find in offload.PROBED]
    findings += [pages.base_pages(probed["memory"]["page_size"]), pages.access_counters(), *machine.findings()]
    works = offload.offloads_with_first_use(probed)
    if as_json:
        rows = [asdict(finding) for finding in findings]
        print(json.dumps({"works": works, "verdict": offload.verdict(probed), "findings": rows, "probe": probed}, indent=2))
    else:
        from blastoff.doctor import view

        shown = [replace(finding, **printable.values(asdict(finding))) for finding in findings]
        view.print_findings(shown, printable.printable(offload.verdict(probed)))
    return 0 if works else 1

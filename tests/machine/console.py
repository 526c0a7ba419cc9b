"""Reads the output of an emulated machine on its serial console, which tests/machine/guest/init has written."""

import json
from dataclasses import dataclass, field

from offload import Outcome

MARK = "@@ "


@dataclass
class Console:
    boot_seconds: float | None = None  # None: the machine has not booted
    kernel: str = ""
    outcomes: dict[str, tuple[Outcome, float]] = field(default_factory=dict)  # outcome and seconds of each check
    ended: bool = False  # whether the machine switched itself off after the last check


def read_report(text: str) -> dict:
    return json.loads(text) if text.strip() else {}


def parse(text: str) -> Console:
    console = Console()
    check, section = "", ""
    sections: dict[str, list[str]] = {}
    for line in text.splitlines():
        # Control sequences of the firmware may precede the first line.
        position = line.find(MARK) if not section else (0 if line.startswith(MARK) else -1)
        if position < 0:
            sections.setdefault(section, []).append(line)
            continue
        word, *values = line[position + len(MARK) :].split()
        if word == "booted":
            console.boot_seconds, console.kernel = float(values[0]), values[1]
        elif word == "check":
            check, sections = values[0], {}
        elif word == "status":
            status, began, ended = int(values[0]), float(values[1]), float(values[2])
            stdout, stderr, report = ("\n".join(sections.get(name, [])).strip("\n") for name in ("stdout", "stderr", "report"))
            console.outcomes[check] = Outcome(status, stdout, stderr, read_report(report)), ended - began
        elif word == "end":
            console.ended = True
        section = word if word in ("stdout", "stderr", "report") else ""
    return console

"""What an emulated machine said on its serial console (tests/machine/guest/init wrote it)."""

import json
from dataclasses import dataclass, field

from offload import Outcome

MARK = "@@ "


@dataclass
class Console:
    boot_seconds: float | None = None  # None: it never came up
    kernel: str = ""
    outcomes: dict[str, tuple[Outcome, float]] = field(default_factory=dict)  # by check, with its seconds
    ended: bool = False  # after the last check, by itself


def read_report(text: str) -> dict:
    return json.loads(text) if text.strip() else {}


def parse(text: str) -> Console:
    console = Console()
    check, section = "", ""
    sections: dict[str, list[str]] = {}
    for line in text.splitlines():
        # A firmware's control sequences may stand before the first line.
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

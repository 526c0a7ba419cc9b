"""One check on an emulated machine: a command, its environment there, and the judgement here of what it printed and reported."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from offload import Outcome

PROGRAMS = PurePosixPath("/programs")
LIBRARY = "/lib/libblastoff.so"
ALLOCATOR = "/lib/libblastoff-allocator.so"
BOTH_LIBRARIES = {"LD_PRELOAD": f"{LIBRARY} {ALLOCATOR}"}
REPORT = "/tmp/report.json"

Complaints = list[str]  # empty: passed
Command = tuple[str, ...]
Judge = Callable[[Outcome], Complaints]


def program(name: str, *arguments: object) -> Command:
    """A program of the build: it is taken along with the libraries that it needs."""
    return (str(PROGRAMS / name), *map(str, arguments))


@dataclass(frozen=True)
class Check:
    name: str
    command: Command
    judge: Judge
    settings: dict[str, str] = field(default_factory=dict)  # environment variables of the command
    before: str = ""  # shell lines: what the machine is to be like
    seconds: int = 200  # it is killed after that

    def script(self) -> str:
        variables = [f"{name}={value}" for name, value in self.settings.items()]
        return f"{self.before}\nexec timeout -s KILL {self.seconds} env {shlex.join([*variables, *self.command])}\n"

    def programs(self) -> list[str]:
        return [PurePosixPath(word).name for word in self.command if PurePosixPath(word).parent == PROGRAMS]


def huge_pages(mode: str) -> str:
    """Transparent ones: always, madvise, never."""
    return f"echo {mode} >/sys/kernel/mm/transparent_hugepage/enabled"


def offloaded(**settings: str) -> dict[str, str]:
    """The variables of a program that runs on the simulated device, every call checked. `settings`: min_size="100"."""
    wanted = {"device": "simulated", "min_size": "0", "verify": "abort", "summary": "never", "report": REPORT} | settings
    preloaded = BOTH_LIBRARIES if wanted.keys() & {"place", "align"} else {"LD_PRELOAD": LIBRARY}
    return preloaded | {f"BLASTOFF_{name.upper()}": value for name, value in wanted.items()}


# --- judgements


def complaints_if(**facts: bool) -> Complaints:
    """The names of what is true, as words."""
    return [name.replace("_", " ") for name, true in facts.items() if true]


def unharmed(outcome: Outcome) -> Complaints:
    """The program found all its results right and printed nothing that Blastoff did not mean it to."""
    complaints = [line for line in outcome.stdout.splitlines() if "WRONG" in line]
    if outcome.status != 0:
        complaints.append(f"status {outcome.status}")
    if "right" not in outcome.stdout:
        complaints.append("no verdict")
    return complaints


def offloads(outcome: Outcome) -> Complaints:
    """Unharmed, on the device, and nothing stale."""
    if not outcome.report:
        return [*unharmed(outcome), "no report"]
    verification = outcome.report["verification"]
    return unharmed(outcome) + complaints_if(
        nothing_offloaded=outcome.report["totals"]["offloaded"] == 0,
        nothing_verified=verification["checked"] == 0,
        stale_pages=verification["stale_pages"] != 0,
    )


def under(policy: str, tracker: str | None = None, reason: str | None = None, judge: Judge = offloads) -> Judge:
    """That, with this policy in force by this tracker, and where it is not the one asked for, with a reason that matches."""

    def judged(outcome: Outcome) -> Complaints:
        complaints = judge(outcome)
        if not outcome.report:
            return complaints
        found = outcome.report["policy"]
        if found["in_force"] != policy:
            complaints.append(f"policy {found['in_force']} ({found['reason']})")
        if tracker is not None and found["tracker"] != tracker:
            complaints.append(f"tracker {found['tracker']}")
        if reason is not None and not re.search(reason, found["reason"]):
            complaints.append(f"the reason given is: {found['reason']}")
        return complaints

    return judged


def unit_tests(at_least: int) -> Judge:
    """A GoogleTest program of which so many tests passed, not skipped."""

    def judged(outcome: Outcome) -> Complaints:
        failed = re.findall(r"^\[  FAILED  \] (\S+) \(", outcome.stdout, re.MULTILINE)
        passed = re.search(r"^\[  PASSED  \] (\d+) test", outcome.stdout, re.MULTILINE)
        skipped = set(re.findall(r"^\[  SKIPPED \] (\S+)$", outcome.stdout, re.MULTILINE))
        ran = int(passed[1]) if passed else 0
        complaints = [f"FAILED {name}" for name in failed]
        if outcome.status != 0:
            complaints.append(f"status {outcome.status}")
        if ran < at_least:
            complaints += [f"only {ran} tests passed", *(f"skipped {name}" for name in sorted(skipped))]
        return complaints

    return judged

"""One check on an emulated machine: a command, its environment on the machine, and a function that judges its output and its report here."""

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
    """The command for a program of the build, which is copied to the machine with the libraries that it needs."""
    return (str(PROGRAMS / name), *map(str, arguments))


@dataclass(frozen=True)
class Check:
    name: str
    command: Command
    judge: Judge
    settings: dict[str, str] = field(default_factory=dict)  # environment variables of the command
    before: str = ""  # shell lines that prepare the machine
    seconds: int = 200  # the command is killed after this time

    def script(self) -> str:
        variables = [f"{name}={value}" for name, value in self.settings.items()]
        return f"{self.before}\nexec timeout -s KILL {self.seconds} env {shlex.join([*variables, *self.command])}\n"

    def programs(self) -> list[str]:
        return [PurePosixPath(word).name for word in self.command if PurePosixPath(word).parent == PROGRAMS]


def huge_pages(mode: str) -> str:
    """A shell line that sets transparent huge pages to always, madvise or never."""
    return f"echo {mode} >/sys/kernel/mm/transparent_hugepage/enabled"


def offloaded(**settings: str) -> dict[str, str]:
    """The variables of a program on the simulated device that checks every call. `settings`: settings such as min_size="100"."""
    wanted = {"device": "simulated", "min_size": "0", "verify": "abort", "summary": "never", "report": REPORT} | settings
    preloaded = BOTH_LIBRARIES if wanted.keys() & {"place", "align"} else {"LD_PRELOAD": LIBRARY}
    return preloaded | {f"BLASTOFF_{name.upper()}": value for name, value in wanted.items()}


# --- judgements


def complaints_if(**facts: bool) -> Complaints:
    """The names of the facts that are true, in words."""
    return [name.replace("_", " ") for name, true in facts.items() if true]


def unharmed(outcome: Outcome) -> Complaints:
    """Complains unless the program found all its results right and Blastoff printed nothing unexpected."""
    complaints = [line for line in outcome.stdout.splitlines() if "WRONG" in line]
    if outcome.status != 0:
        complaints.append(f"status {outcome.status}")
    if "right" not in outcome.stdout:
        complaints.append("no verdict")
    return complaints


def offloads(outcome: Outcome) -> Complaints:
    """Complains unless the program is unharmed, its calls ran on the device, and no page was stale."""
    if not outcome.report:
        return [*unharmed(outcome), "no report"]
    verification = outcome.report["verification"]
    return unharmed(outcome) + complaints_if(
        nothing_offloaded=outcome.report["totals"]["offloaded"] == 0,
        nothing_verified=verification["checked"] == 0,
        stale_pages=verification["stale_pages"] != 0,
    )


def under(policy: str, tracker: str | None = None, reason: str | None = None, judge: Judge = offloads) -> Judge:
    """Judges by `judge`, and also complains unless this policy is in force with this tracker, and its reason matches."""

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
    """Judges a GoogleTest program, of which at least this number of tests must have passed without being skipped."""

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

"""`pytest -p blastoff`: runs a test-suite with its BLAS calls offloaded and every result on the device compared with the CPU's, and says which
tests were offloaded. A test during which a result differs fails."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from blastoff import columns, drivers, quantities
from blastoff.errors import CommandError
from blastoff.session import attached, switch
from blastoff.session.counts import Counts

PROPERTY = "blastoff"
"""Name of the property of a test's report, which pytest-xdist brings to the process that reports."""
DEFAULTS = {"verify": "report", "summary": "never"}
MAX_TESTS = 20
"""Most tests that are listed without -v."""
MAX_REASONS = 4
WRONG = {"violations": "violation", "stale_pages": "stale page"}
"""What verification counts that must stay zero, and one of it in words."""


@dataclass
class Moment:
    """What has been counted in this process so far."""

    counts: Counts
    verification: dict[str, float]

    @classmethod
    def now(cls) -> "Moment":
        active = attached.in_process()
        found = active.counts() if active is not None else None
        return cls(Counts(), {}) if found is None else cls(Counts.from_report(found, 0), found["verification"])

    def since(self, before: "Moment") -> dict[str, Any]:
        """What a test has done: plain data, which travels between processes."""
        grown = self.counts.since(before.counts)
        checked = {name: self.verification.get(name, 0) - before.verification.get(name, 0) for name in ("checked", *WRONG)}
        return {"calls": grown.totals.calls, "offloaded": grown.totals.offloaded, "reasons": grown.reasons, **checked}


@dataclass
class Tests:
    """What each test has done."""

    done: dict[str, dict[str, Any]] = field(default_factory=dict)
    before: Moment | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.before = Moment.now()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
        outcome = yield
        if call.when != "teardown" or self.before is None:
            return
        report: pytest.TestReport = outcome.get_result()
        did = Moment.now().since(self.before)
        self.before = None
        report.user_properties.append((PROPERTY, did))
        wrong = [counted(did[name], one) for name, one in WRONG.items() if did[name]]
        if wrong and report.passed:
            report.outcome = "failed"
            report.longrepr = f"blastoff: results on the device differ from the CPU's during this test: {', '.join(wrong)}"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == PROPERTY and report.when == "teardown":
                self.done[report.nodeid] = value

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        terminalreporter.section("blastoff")
        for line in lines(self.done, terminalreporter._tw.fullwidth, config.get_verbosity() > 0):
            terminalreporter.write_line(line)


def counted(number: int, one: str) -> str:
    return f"{quantities.count(number)} {one}{'s' * (number != 1)}"


def lines(done: dict[str, dict[str, Any]], width: int, everything: bool) -> list[str]:
    """Which tests were offloaded, and why calls of the others were not."""
    calling = {name: did for name, did in done.items() if did["calls"]}
    offloaded = sorted((name for name, did in calling.items() if did["offloaded"]), key=lambda name: -done[name]["offloaded"])
    sums = {key: sum(did[key] for did in done.values()) for key in ("calls", "offloaded", "checked", *WRONG)}
    count = quantities.count
    shown = [
        f"{len(offloaded)} of {len(done)} tests were offloaded, {len(calling)} called BLAS, LAPACK or FFTW: "
        f"{count(sums['offloaded'])} of {counted(sums['calls'], 'call')}",
        f"{counted(sums['checked'], 'result')} compared with the CPU's: {', '.join(counted(sums[name], one) for name, one in WRONG.items())}",
    ]
    listed = offloaded if everything else offloaded[:MAX_TESTS]
    if listed:
        rows = [[name, *(count(done[name][key]) for key in ("calls", "offloaded", "checked"))] for name in listed]
        shown += ["", *columns.table(["offloaded test", "calls", "offloaded", "compared"], rows, (), width)]
    if len(listed) < len(offloaded):
        shown.append(f"... and {len(offloaded) - len(listed)} more: -v lists them")
    reasons: Counter[str] = Counter()
    for did in done.values():
        reasons.update(did["reasons"])
    if reasons:
        hints = {drivers.NO_DRIVER: "; BLASTOFF_DEVICE=simulated compares results without one"}
        told = [("on the CPU", f"{counted(calls, 'call')}: {reason}{hints.get(reason, '')}") for reason, calls in reasons.most_common(MAX_REASONS)]
        shown += ["", *columns.pairs(told, width)]
    return shown


def pytest_configure(config: pytest.Config) -> None:
    """Switches Blastoff on in the process that runs the tests."""
    others_run_tests = getattr(config.option, "dist", "no") != "no" and not hasattr(config, "workerinput")
    try:
        if not others_run_tests and not switch.is_enabled():
            switch.enable(**{name: value for name, value in DEFAULTS.items() if not os.environ.get(f"BLASTOFF_{name.upper()}")})
    except CommandError as error:
        raise pytest.UsageError(f"blastoff: {error}") from error
    config.pluginmanager.register(Tests(), "blastoff-tests")

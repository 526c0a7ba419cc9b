"""Findings as a table on the terminal."""

from collections.abc import Iterator

from blastoff import terminal
from blastoff.columns import GAP
from blastoff.doctor.finding import Finding, State

STYLES = {State.GOOD: "green", State.NOTE: "dim", State.WARNING: "yellow", State.BAD: "red"}
STATE_WIDTH = max(len(state.value) for state in State)


def rows(findings: list[Finding]) -> Iterator[tuple[str, str]]:
    """The state and the subject of each finding, with its text, then its advice."""
    for finding in findings:
        label = f"{finding.state.value:<{STATE_WIDTH}}{GAP}{finding.subject}"
        yield label, finding.text
        if finding.advice:
            yield label, finding.advice


def with_style(line: str) -> str:
    """The line with its state in its style; lines that go on below a finding begin with blanks."""
    word = line[:STATE_WIDTH].rstrip()
    return terminal.styled(word, STYLES[State(word)]) + line[len(word) :] if word else line


def print_findings(findings: list[Finding], conclusion: str) -> None:
    """All findings, then the sentence that sums them up."""
    lines = [with_style(line) for line in terminal.pairs(list(rows(findings)))]
    terminal.show([*lines, "", *(terminal.styled(line, "bold") for line in terminal.wrapped(conclusion))])

"""Findings as a table on the terminal."""

from rich.table import Table
from rich.text import Text

from blastoff.doctor.finding import Finding, State
from blastoff.terminal import show


def print_findings(findings: list[Finding], conclusion: str) -> None:
    """All findings, then the sentence that sums them up."""
    styles = {State.GOOD: "green", State.NOTE: "dim", State.WARNING: "yellow", State.BAD: "red"}
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        table.add_row(Text(finding.state.value, styles[finding.state]), finding.subject, Text(finding.text))
        if finding.advice:
            table.add_row("", "", Text(finding.advice, "italic"))
    show(table, "", f"[bold]{conclusion}[/]")

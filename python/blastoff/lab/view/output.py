"""Writes the results to files and to the terminal. Neither needs a package besides the standard library; the HTML page does."""

import json
import sys
from pathlib import Path
from typing import Any

from blastoff.errors import CommandError
from blastoff.lab.view import words


def make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"{directory}: {error.strerror}") from error


def aligned(table: words.Table) -> list[str]:
    """A table as lines of text: words to the left, times to the right."""
    headings, body = table
    widths = [max(len(row[column]) for row in [headings, *body]) for column in range(len(headings))]
    left = [all(not row[column][:1].isdigit() for row in body) for column in range(len(headings))]

    def line(cells: list[str]) -> str:
        placed = [cell.ljust(width) if to_left else cell.rjust(width) for cell, width, to_left in zip(cells, widths, left, strict=True)]
        return "  ".join(placed).rstrip()

    return [line(row) for row in [headings, *body]]


def text(document: dict[str, Any]) -> str:
    """The results for a terminal."""
    lines = [f"{label:8} {value}" for label, value in words.facts(document)]
    for name, part in document["sets"].items():
        title, explanation = words.TITLES[name]
        lines += ["", f"{title}. {explanation}", ""]
        lines += aligned(words.TABLES[name](part["rows"])) if part["rows"] else ["nothing was measured"]
        if part["rules"]:
            lines += ["", *part["rules"]]
    if document["findings"]:
        lines += ["", "Findings"]
        for finding in document["findings"]:
            lines += ["", f"{finding['claim']} ({finding['source']})", f"  {finding['verdict']}: {finding['here']}"]
    unable = words.unable(document)
    if unable:
        lines += ["", "Not measured", *[f"  {reason}: {subjects}" for reason, subjects in unable]]
    return "\n".join(lines)


def findings_page(document: dict[str, Any]) -> str:
    """The findings here beside those of the sources, as Markdown."""
    lines = ["# Findings", ""]
    lines += [f"* {label}: {value}" for label, value in words.facts(document)]
    lines += ["", "| finding | source | this machine | |", "| --- | --- | --- | --- |"]
    lines += [f"| {finding['claim']} | {finding['source']} | {finding['here']} | {finding['verdict']} |" for finding in document["findings"]]
    for name, part in document["sets"].items():
        if part["rules"]:
            lines += ["", f"## {words.TITLES[name][0]}", "", *[f"* {rule}" for rule in part["rules"]]]
    unable = words.unable(document)
    if unable:
        lines += ["", "## Not measured", "", *[f"* {reason}: {subjects}" for reason, subjects in unable]]
    return "\n".join(lines) + "\n"


def html_page(document: dict[str, Any]) -> str | None:
    """The page with figures. If a package is missing, prints a line that names it and returns None."""
    try:
        from blastoff.lab.view import page
    except ImportError as error:
        print(f"blastoff lab: no HTML page: the Python package {error.name} is missing (pip install jinja2 matplotlib)", file=sys.stderr)
        return None
    return page.render(document)


def write(document: dict[str, Any], directory: Path) -> None:
    """Writes lab.json and findings.md, and lab.html if its packages are installed."""
    files = {"lab.json": json.dumps(document, indent=1) + "\n", "findings.md": findings_page(document), "lab.html": html_page(document)}
    for name, contents in files.items():
        if contents is not None:
            try:
                (directory / name).write_text(contents, encoding="utf-8")
            except OSError as error:
                raise CommandError(f"{directory / name}: {error.strerror}") from error
    print(f"blastoff lab: wrote {', '.join(str(directory / name) for name, contents in files.items() if contents is not None)}", file=sys.stderr)


def show(document: dict[str, Any], as_json: bool) -> None:
    print(json.dumps(document, indent=1) if as_json else text(document))

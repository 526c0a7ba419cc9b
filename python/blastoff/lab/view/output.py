"""Writes the results to files and to the terminal. Neither needs a package besides the standard library; the HTML page does."""

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

from blastoff.columns import GAP, LEAST_TEXT, pairs, terminal_width
from blastoff.errors import CommandError
from blastoff.lab.view import words


def make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"{directory}: {error.strerror}") from error


def _heading(column: list[str]) -> list[str]:
    """A column's heading in lines that are hardly wider than its cells."""
    heading, *cells = column
    return textwrap.wrap(heading, max(map(len, [*cells, *heading.split()])))


def _width(column: list[str]) -> int:
    return max(map(len, [*_heading(column), *column[1:]]))


def _length(table: list[list[str]]) -> int:
    return sum(map(_width, table)) + len(GAP) * (len(table) - 1)


def fitting(table: list[list[str]], width: int) -> list[list[str]]:
    """The columns of a table without those that do not fit."""
    kept = table
    for leaving in words.DROPPED:
        if _length(kept) <= width:
            break
        kept = [column for column in kept if column[0] != leaving]
    return kept


def lined_up(table: list[list[str]]) -> list[str]:
    """Columns as lines: the heading's lines, then one for each row."""
    high = max(len(_heading(column)) for column in table)
    lines = []
    for column in table:
        above = _heading(column)
        cells = [""] * (high - len(above)) + above + column[1:]
        to_left = all(not cell[:1].isdigit() for cell in column[1:])
        lines.append([cell.ljust(_width(column)) if to_left else cell.rjust(_width(column)) for cell in cells])
    return [GAP.join(row).rstrip() for row in zip(*lines, strict=True)]


def aligned(table: words.Table, width: int | None = None) -> list[str]:
    """A table as lines of text: words to the left, times to the right. `width`: characters in a line, if they are limited. Where columns would be
    left out, the problem is a line above its rows instead of a column."""
    headings, body = table
    kept = [[heading, *[row[place] for row in body]] for place, heading in enumerate(headings)]
    if width is None or _length(kept) <= width:
        return lined_up(kept)
    if words.PROBLEM not in headings:
        return lined_up(fitting(kept, width))
    named, rest = kept[: headings.index(words.PROBLEM) + 1], kept[headings.index(words.PROBLEM) + 1 :]
    problems = [", ".join(names) for names in zip(*[column[1:] for column in named], strict=True)]
    lines = lined_up(fitting(rest, width - len(GAP)))
    rows = lines[len(lines) - len(body) :]
    found = [GAP + line for line in lines[: len(lines) - len(body)]]
    for place, (problem, row) in enumerate(zip(problems, rows, strict=True)):
        if place == 0 or problem != problems[place - 1]:
            found += textwrap.wrap(problem, max(LEAST_TEXT, width))
        found.append(GAP + row)
    return found


def text(document: dict[str, Any], width: int | None = None) -> str:
    """The results for a terminal. `width`: characters in a line, if they are limited."""

    def wrapped(line: str, indent: str = "") -> list[str]:
        return [line] if width is None else textwrap.wrap(line, max(LEAST_TEXT, width), subsequent_indent=indent, break_on_hyphens=False)

    lines = pairs(words.facts(document), width)
    for name, part in document["sets"].items():
        title, explanation = words.TITLES[name]
        lines += ["", *wrapped(f"{title}. {explanation}"), ""]
        lines += aligned(words.TABLES[name](part["rows"]), width) if part["rows"] else ["nothing was measured"]
        if part["rules"]:
            lines += ["", *[piece for rule in part["rules"] for piece in wrapped(rule, "  ")]]
    if document["findings"]:
        lines += ["", "Findings"]
        for finding in document["findings"]:
            lines += ["", *wrapped(f"{finding['claim']} ({finding['source']})"), *wrapped(f"  {finding['verdict']}: {finding['here']}", "  ")]
    unable = words.unable(document)
    if unable:
        lines += ["", "Not measured", *[piece for reason, subjects in unable for piece in wrapped(f"  {reason}: {subjects}", "    ")]]
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
    print(json.dumps(document, indent=1) if as_json else text(document, terminal_width()))

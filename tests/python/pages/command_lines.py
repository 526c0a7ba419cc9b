"""The command lines in the indented blocks of a page, and what the page says that they need."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMMANDS = re.compile(
    r"blastoff|cmake|du|eval|export|gcc|make|man|mkdir|module|mpicxx|mpirun|pip|pytest|python3?|rm|scp|spack|srun"
    r"|(?:~/\w+|\.venv|bench|bin|build|tests|tools)/[\w./-]+"
)
ASSIGNMENT = re.compile(r"[A-Z_]+=\S*$")
NEEDS = ("a GPU", "two GPUs", "root", "a cluster", "an installation", "internet", "a C shell", "a fish shell", "a network", "emulation")
MARK = re.compile(rf"\bneeds? (?:{'|'.join(NEEDS)})\b|\btakes? (?:\w+ )?(?:minutes|hours)\b", re.IGNORECASE)
PLACEHOLDER = re.compile(r"\.\.\.|\[\w|(?<![\w$/_{.-])[A-Z]{3,}\b(?![\w_=])")
"""A word that the reader replaces by one of his own: FILE, [arguments], ..."""


@dataclass(frozen=True)
class Line:
    """A command line of a page. `mark`: what the page says that it needs, beside the line or in the paragraph before the block."""

    number: int
    text: str
    mark: str

    @property
    def is_pattern(self) -> bool:
        return bool(PLACEHOLDER.search(self.text))


def _is_command(line: str) -> bool:
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        words = line.split()
    while words and ASSIGNMENT.match(words[0]):
        words.pop(0)
    return bool(words) and bool(COMMANDS.fullmatch(words[0]))


def _command(line: str, marked: bool) -> str:
    """The command in a line of a block; empty if the line is output or code. `marked`: commands of the block begin with "$ "."""
    text = line.strip()
    if marked or text.startswith("$ "):
        return text[2:] if text.startswith("$ ") else ""
    return text if _is_command(text) and not re.match(r"[\w.]+:|blastoff \d", text) else ""


def _mark(text: str) -> str:
    found = MARK.search(text)
    return found[0] if found else ""


def _indented(page: str) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """The indented blocks of a page: the paragraph before each, and its lines with their numbers. Continued lines of a list are text."""
    before: list[str] = []
    block: list[tuple[int, str]] = []
    after_gap = True
    for number, line in enumerate([*page.splitlines(), "end"], 1):
        if not line.strip():
            after_gap = True
            continue
        if line.startswith("    ") and (block or after_gap):
            block.append((number, line))
        else:
            if block:
                yield " ".join(before), block
                before, block = [], []
            before = [line] if after_gap else [*before, line]
        after_gap = False


def blocks(page: Path) -> list[list[Line]]:
    """The command lines of each block that has some."""
    found = []
    for before, block in _indented(page.read_text(encoding="utf-8")):
        marked = any(line.lstrip().startswith("$ ") for _, line in block)
        lines = []
        for number, line in block:
            if text := _command(line, marked):
                command, _, comment = text.partition("  #")
                lines.append(Line(number, command.rstrip(), _mark(comment) or _mark(before)))
        if lines:
            found.append(lines)
    return found

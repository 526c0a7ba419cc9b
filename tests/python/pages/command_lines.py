"""The command lines in the indented blocks of a page, and what the page says that they need."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMMANDS = re.compile(
    r"blastoff|cmake|du|eval|export|g\+\+|gcc|make|man|mkdir|module|mpicxx|mpirun|pip|pytest|python3?|rm|scp|spack|srun"
    r"|(?:~/\w+|\.|\.venv|bench|bin|build|tests|tools)/[\w./-]+"
)
LIKE_A_COMMAND = re.compile(r"[./~]*[a-z][\w+./-]*(?: \S|$)")
"""How a command begins: a word in small letters, and one blank. Output has colons or columns there, and code has brackets."""
NO_COMMANDS = re.compile(r"import \w+$|interface$|call \S+$|const ")
"""What begins so in Python, Fortran and C++."""
ASSIGNMENT = re.compile(r"[A-Z_]+=\S*$")
NEEDS = ("a GPU", "two GPUs", "root", "a cluster", "an installation", "internet", "a C shell", "a fish shell", "a network", "emulation")
MARK = re.compile(rf"\bneeds? (?:{'|'.join(NEEDS)})\b|\btakes? (?:\w+ )?(?:minutes|hours)\b", re.IGNORECASE)
PLACEHOLDER = re.compile(r"\.\.\.|\[\w|(?<![\w$/_{.-])[A-Z]{3,}\b(?![\w_=])")
"""A word that the reader replaces by one of his own: FILE, [arguments], ..."""
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True)
class Line:
    """A command line of a page. `mark`: what the page says that it needs: beside the line, or, if no line of the block has that, in the paragraph
    before the block."""

    number: int
    text: str
    mark: str

    @property
    def is_pattern(self) -> bool:
        return bool(PLACEHOLDER.search(QUOTED.sub("", self.text)))


def _is_command(line: str) -> bool:
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        words = line.split()
    while words and ASSIGNMENT.match(words[0]):
        words.pop(0)
    return bool(words) and bool(COMMANDS.fullmatch(words[0]))


def unknown(page: Path) -> list[str]:
    """Lines of a page that look like a command, but begin with no command that is known here."""
    found = []
    for _, block in _indented(page.read_text(encoding="utf-8")):
        if any(line.lstrip().startswith("$ ") for _, line in block):
            continue
        texts = [(number, line[4:].partition("  #")[0].rstrip()) for number, line in block]
        first = [number for number, line in texts if line][:1]
        is_script = any(_command(line, False) for _, line in texts)
        for number, line in texts:
            looks = (is_script or [number] == first) and LIKE_A_COMMAND.match(line) and not NO_COMMANDS.match(line)
            if looks and "  " not in line.strip() and not line.startswith("blastoff ") and not _is_command(line):
                found.append(f"{page.name}:{number}: {line}")
    return found


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
        commands = [(number, *text.partition("  #")[::2]) for number, line in block if (text := _command(line, marked))]
        whole = "" if any(_mark(comment) for _, _, comment in commands) else _mark(before)
        lines = [Line(number, command.rstrip(), _mark(comment) or whole) for number, command, comment in commands]
        if lines:
            found.append(lines)
    return found

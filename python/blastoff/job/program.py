"""What people call a program: an interpreter's programs by their script."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

INTERPRETER = re.compile(r"(python|pypy)[\d.]*|R|julia|octave(-cli)?|perl", re.ASCII)
WITH_VALUE = {"-X", "-W", "-J", "-t", "-p"}
"""Options of interpreters whose value is a word of its own."""
R_SCRIPT = "--file="
IN_A_WORD = ("-c", "-e")
"""Options of interpreters whose value is the program."""


def script_of(words: Sequence[str]) -> str:
    """The script or the module in the arguments of an interpreter, or the option whose value is the program; "" where there is none of these."""
    skipped = False
    for place, word in enumerate(words):
        if skipped:
            skipped = False
        elif word.startswith(R_SCRIPT):
            return PurePath(word.removeprefix(R_SCRIPT)).name
        elif word == "-m":
            return " ".join(words[place + 1 : place + 2])
        elif word in IN_A_WORD:
            return word
        elif word == "-":
            return ""
        elif word in WITH_VALUE:
            skipped = True
        elif not word.startswith("-"):
            return PurePath(word).name
    return ""


def words_of(command_line: str) -> list[str]:
    """The words of a line as a shell splits it, or at its blanks if it is no such line."""
    try:
        return shlex.split(command_line)
    except ValueError:
        return command_line.split()


def name(process: Mapping[str, Any]) -> str:
    """The name for a report's `process`: that of the script if an interpreter runs one, else the program's."""
    program = PurePath(process["program"]).name
    script = script_of(words_of(process["command_line"])[1:]) if INTERPRETER.fullmatch(program) else ""
    return f"{program} {script}" if script in IN_A_WORD else script or program

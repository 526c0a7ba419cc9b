"""Types of the scripts' options. A value that cannot be used ends the script with one line, before anything is measured."""

from __future__ import annotations

import json
import os
import pathlib
import shlex
import shutil
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable
from typing import Any


def count(text: str) -> int:
    """A whole number above 0."""
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def numbers(text: str) -> list[int]:
    """Whole numbers above 0, separated by commas."""
    return [count(part) for part in text.split(",")]


def positive(text: str) -> float:
    """A number above 0."""
    try:
        given = float(text)
    except ValueError:
        given = 0
    if not given > 0:
        raise ArgumentTypeError(f"{text!r} is no number above 0")
    return given


def fractions(text: str) -> list[float]:
    """Numbers above 0, separated by commas."""
    return [positive(part) for part in text.split(",")]


def words(accepted: Iterable[str]) -> Callable[[str], list[str]]:
    """The type of an option whose value is a list of accepted words."""

    def read(text: str) -> list[str]:
        given = text.split(",")
        if unknown := set(given) - set(accepted):
            raise ArgumentTypeError(f"unknown {', '.join(map(repr, sorted(unknown)))}; accepted: {', '.join(accepted)}")
        return given

    return read


def file(text: str) -> pathlib.Path:
    """A file that exists. The path is absolute, so that the search path plays no part when the file is started or loaded."""
    path = pathlib.Path(text).absolute()
    if not path.is_file():
        raise ArgumentTypeError(f"no file {text}")
    return path


def program(text: str) -> pathlib.Path:
    """A program that can be started."""
    path = file(text)
    if not os.access(path, os.X_OK):
        raise ArgumentTypeError(f"{text} is no program: it cannot be executed")
    return path


def command(text: str) -> list[str]:
    """A command with arguments, whose program is installed."""
    try:
        parts = shlex.split(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text}: {error}") from error
    if not parts or shutil.which(parts[0]) is None:
        raise ArgumentTypeError(f"no command {parts[0] if parts else text!r}")
    return parts


def output(text: str) -> pathlib.Path:
    """A file that can be written."""
    path = pathlib.Path(text)
    if path.is_dir():
        raise ArgumentTypeError(f"{text} is a folder; the name of a file is accepted")
    if not path.parent.is_dir():
        raise ArgumentTypeError(f"no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ArgumentTypeError(f"{text} cannot be written")
    return path


def folder(text: str) -> pathlib.Path:
    """A folder, which is made if it is missing."""
    path = pathlib.Path(text)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentTypeError(f"{text}: {error.strerror}") from error
    return path


def lines_of(program: pathlib.Path, printed: str) -> list[Any]:
    """The JSON values that a benchmark program printed, one a line. Another program, which prints anything else, ends the script."""
    try:
        found = [json.loads(line) for line in printed.splitlines()]
    except ValueError:
        found = []
    if not found:
        raise SystemExit(f"{program} is another program: it printed no measurements")
    return found


def results(text: str) -> tuple[pathlib.Path, dict]:
    """A file of results, and what it contains."""
    path = file(text)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArgumentTypeError(f"{text} is no file of results: {error}") from error
    if not isinstance(found, dict):
        raise ArgumentTypeError(f"{text} is no file of results: no JSON object")
    return path, found

"""Parses command lines. A mistake is reported in one line, as all errors are."""

import argparse
import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NoReturn

from blastoff.errors import CommandError

LONGEST_ID = 18
"""More digits than any id has."""


def hint(word: str, known: Iterable[str], otherwise: str) -> str:
    """The hint after "unknown ...": a known word that resembles it, else where to look."""
    import difflib  # only for a wrong command line

    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else f"; {otherwise}"


def process_id(text: str) -> int:
    """The id of a process, as an option's value."""
    if not text.isascii() or not text.isdecimal() or len(text) > LONGEST_ID or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no id of a process")
    return int(text)


class Parser(argparse.ArgumentParser):
    """Raises CommandError for a wrong command line; `prog` is "blastoff COMMAND"."""

    asked: ClassVar[list["Parser"] | None] = None
    """A list that collects parsers, which then do not print their help: see parser_of."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog=prog, allow_abbrev=False, **options)
        self.command = prog.split()[-1]

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{self.command}: {message}")

    def unknown_option(self, word: str) -> CommandError:
        """The message about an option that the command does not have, or about a word too many."""
        if not word.startswith("-"):
            return CommandError(f"{self.command}: unexpected argument {word}; {self.prog} --help shows the usage")
        name = word.split("=")[0]
        suggestion = hint(name, self._option_string_actions, f"{self.prog} --help lists the options")
        return CommandError(f"{self.command}: unknown option {name}{suggestion}")

    def parse_args(self, arguments: Sequence[str], namespace: Any = None) -> argparse.Namespace:
        parsed, unknown = self.parse_known_args(arguments, namespace)
        if unknown:
            raise self.unknown_option(unknown[0])
        return parsed

    def print_help(self, file: Any = None) -> None:
        if Parser.asked is None:
            print(self.format_help(), end="", file=file)  # argparse would ignore that it cannot be written
        else:
            Parser.asked.append(self)


def parser_of(command: Callable[[Sequence[str]], object]) -> Parser:
    """The parser with which a command reads its arguments. Calls the command with `--help` and catches the parser."""
    Parser.asked = []
    with contextlib.suppress(SystemExit):
        command(["--help"])
    try:
        return Parser.asked[0]
    finally:
        Parser.asked = None

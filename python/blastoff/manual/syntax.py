"""What a command accepts on its line, read from its parser."""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from blastoff.options import summary
from blastoff.parser import Parser, parser_of

FILES = ("PATH", "FILE")
PLACEHOLDER = re.compile(r"(?:N|LIST|SIZE|PERCENT|FILE)$")
"""The end of a choice that takes a number, numbers or a file, as in cuda:N."""

Commands = Mapping[str, Callable[[Sequence[str]], object]]


@dataclass(frozen=True)
class Argument:
    """An option of a command."""

    names: tuple[str, ...]
    value: str
    """The placeholder of its value; "" if it takes none."""
    optional: bool
    """Whether the option may be given without its value. If it may, a value follows an equals sign."""
    group: str
    help: str

    @property
    def choices(self) -> list[str]:
        """The words that it accepts, without the numbers that some words take; none if it accepts any text."""
        words = [PLACEHOLDER.sub("", choice) for choice in self.value.split("|")] if "|" in self.value else []
        return list(dict.fromkeys(words))

    @property
    def is_file(self) -> bool:
        return self.value in FILES

    @property
    def summary(self) -> str:
        """The first sentence of its help."""
        return summary(self.help)


@dataclass(frozen=True)
class Command:
    """A command of `blastoff`."""

    name: str
    summary: str
    usage: list[str]
    description: str
    epilog: str
    arguments: list[Argument]
    operands: str
    """What follows the options: PROGRAM, FILE or nothing."""


def is_option(action: argparse.Action) -> bool:
    return bool(action.option_strings)


def placeholder(action: argparse.Action) -> str:
    """The placeholder of the option's value: [=VALUE] if the option may be given without one (Option.metavar)."""
    return str(action.metavar or action.dest.upper())


def value_of(placeholder: str) -> str:
    """The value alone: TIME of [=TIME]."""
    return placeholder[2:-1] if placeholder.startswith("[=") else placeholder


def arguments_of(parser: Parser) -> list[Argument]:
    formatter = parser._get_formatter()
    return [
        Argument(
            names=tuple(action.option_strings),
            value="" if action.nargs == 0 else value_of(placeholder(action)),
            optional=action.nargs != 0 and placeholder(action).startswith("[="),
            group=group.title or "options",
            help=formatter._expand_help(action) if action.help else "",
        )
        for group in parser._action_groups
        for action in group._group_actions
        if is_option(action)
    ]


def operands_of(parser: Parser) -> str:
    named = [str(action.metavar) for action in parser._actions if not is_option(action)]
    # `blastoff run` splits its line itself, before the parser sees it.
    return named[0] if named else "PROGRAM" if "PROGRAM" in (parser.usage or "") else ""


def read_command(name: str, summary: str, command: Callable[[Sequence[str]], object]) -> Command:
    parser = parser_of(command)
    words = parser.format_usage().removeprefix("usage: ").split()
    lines = [f"{parser.prog} {line.strip()}" for line in " ".join(words).split(parser.prog)[1:]]  # each form begins with the name
    return Command(
        name=name,
        summary=summary,
        usage=lines,
        description=parser.description or "",
        epilog=parser.epilog or "",
        arguments=arguments_of(parser),
        operands=operands_of(parser),
    )


def read_commands(commands: Commands, usage: str) -> list[Command]:
    """All commands, each with its line in `blastoff --help`."""
    summaries = dict(re.findall(r"^  (\w+) +(.*)$", usage, re.MULTILINE))
    return [read_command(name, summaries[name], command) for name, command in commands.items()]

"""The command line of `blastoff run`."""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

from blastoff import options
from blastoff.errors import NOT_FOUND, CommandError
from blastoff.options import Option
from blastoff.parser import Parser


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Writes an option that may be given without its value as --verify[=VALUE]."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return super()._format_action_invocation(action).replace(" [=", "[=")


def parser(table: Sequence[Option]) -> Parser:
    """The options of `blastoff run`, from the option table."""
    result = Parser(
        prog="blastoff run",
        usage="blastoff run [options] [--] PROGRAM [ARGUMENT...]",
        description="Runs PROGRAM and offloads its BLAS calls. Exit status, output and signals are those of PROGRAM.\n"
        "Each option can also be set by the environment variable in parentheses.",
        formatter_class=HelpFormatter,
    )
    add_options(result, table)
    return result


def add_options(accepting: Parser, table: Sequence[Option]) -> None:
    """Makes a parser accept the options of the table."""
    accepting._optionals.title = "options"
    tests = accepting.add_argument_group("options for tests")
    for option in table:
        if not option.on_command_line:
            continue
        group = accepting if option.audience == "user" else tests
        default = f"Default: {option.default}. " if option.default else ""
        group.add_argument(
            option.flag,
            metavar=option.metavar,
            help=f"{option.help} {default}({option.environment})".replace("%", "%%"),
        )


def split(arguments: Sequence[str], table: Sequence[Option]) -> tuple[list[str], list[str]]:
    """Options, each with its value as --name=value, and the program with its own arguments.

    The program is the first word that is neither an option nor the value of one. An option that may be given without a value
    takes one only after "=", so that `--verify ./a.out` runs ./a.out.
    """
    bare = {option.flag: option.bare for option in table if option.bare is not None}
    valued = {option.flag for option in table if option.bare is None}
    ours: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        if word in bare:
            word = f"{word}={bare[word]}"
        elif word in valued and rest and not rest[0].startswith("--"):
            word = f"{word}={rest.pop(0)}"
        ours.append(word)
    return ours, rest


def check_program(command: Sequence[str], before: str, table: Sequence[Option]) -> None:
    """Raises CommandError if there is no such program and the option `before` it would accept the word as its value, as in `--verify off`."""
    word = command[0]
    if shutil.which(word) is not None or Path(word).exists():
        return
    for option in table:
        if option.flag == before and option.bare is not None and option.accepts(word):
            raise CommandError(f"{word}: no such program; the value of {before} follows after an equals sign: {before}={word}", NOT_FOUND)


def parse(arguments: Sequence[str], table: Sequence[Option]) -> tuple[dict[str, str], list[str]]:
    """The options given, by name and checked, and the program with its arguments."""
    ours, command = split(arguments, table)
    accepting = parser(table)
    parsed, unknown = accepting.parse_known_args(ours)
    if unknown:
        raise accepting.unknown_option(unknown[0])
    given = checked(parsed, table)
    if not command:
        raise CommandError("run: no program given; usage: blastoff run [options] [--] PROGRAM [ARGUMENT...]")
    before = len(arguments) - len(command) - 1
    check_program(command, arguments[before] if before >= 0 else "", table)
    return given, command


def checked(parsed: argparse.Namespace, table: Sequence[Option]) -> dict[str, str]:
    """The options given, by name; raises CommandError for a value that is not accepted."""
    given = {}
    for option in table:
        value = getattr(parsed, option.name.replace("-", "_"), None)
        if value is not None:
            options.check(option, value, option.flag)
            given[option.name] = value
    return given

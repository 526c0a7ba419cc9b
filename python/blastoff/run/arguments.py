"""The command line of `blastoff run`."""

import argparse
from collections.abc import Sequence

from blastoff import options
from blastoff.errors import CommandError
from blastoff.options import Option
from blastoff.parser import Parser


def parser(table: Sequence[Option]) -> Parser:
    """The options of `blastoff run`, from the option table."""
    result = Parser(
        prog="blastoff run",
        usage="blastoff run [options] [--] PROGRAM [ARGUMENT...]",
        description="Runs PROGRAM and offloads its BLAS calls. Exit status, output and signals are those of PROGRAM.\n"
        "Each option can also be set by the environment variable in parentheses.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result._optionals.title = "options"
    tests = result.add_argument_group("options for tests")
    for option in table:
        if not option.on_command_line:
            continue
        group = result if option.audience == "user" else tests
        default = f"Default: {option.default}. " if option.default else ""
        group.add_argument(
            option.flag,
            metavar=option.metavar,
            help=f"{option.help} {default}({option.environment})".replace("%", "%%"),
        )
    return result


def split(arguments: Sequence[str], table: Sequence[Option]) -> tuple[list[str], list[str]]:
    """Options, each with its value as --name=value, and the program with its own arguments.

    The program is the first word that is neither an option nor the value of one. An option that may stand without a value
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


def parse(arguments: Sequence[str], table: Sequence[Option]) -> tuple[dict[str, str], list[str]]:
    """The options given, by name and checked, and the program with its arguments."""
    ours, command = split(arguments, table)
    accepting = parser(table)
    parsed, unknown = accepting.parse_known_args(ours)
    if unknown:
        raise accepting.unknown_option(unknown[0])
    given = {}
    for option in table:
        value = getattr(parsed, option.name.replace("-", "_"), None)
        if value is not None:
            options.check(option, value, option.flag)
            given[option.name] = value
    if not command:
        raise CommandError("run: no program given; usage: blastoff run [options] [--] PROGRAM [ARGUMENT...]")
    return given, command

"""The options of `blastoff run`, for its help, its manual page, and `blastoff env`. The launcher reads them itself (src/launcher)."""

import argparse
import re
from collections.abc import Sequence

from blastoff.options import Option, paragraphs
from blastoff.parser import Parser


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Writes an option that may be given without its value as --verify[=VALUE], and breaks lines of many accepted values."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        lines, room = [""], self._width - self._current_indent
        for value in re.split(r"(?<=[|])", super()._format_action_invocation(action).replace(" [=", "[=")):
            if len(lines[-1] + value) > room:
                lines.append(" " * (self._current_indent + 4))
            lines[-1] += value
        return "\n".join(lines)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Keeps the lines of a description apart, and wraps each."""
        return "\n".join(super(argparse.RawDescriptionHelpFormatter, self)._fill_text(line, width, indent) for line in text.splitlines())

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Gives each value a line of its own."""
        return [line for part in paragraphs(text) for line in super(HelpFormatter, self)._split_lines(part, width)]


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
            help=f"{option.help}\n{default}({option.environment})".replace("%", "%%"),
        )

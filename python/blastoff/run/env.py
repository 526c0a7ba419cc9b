"""`blastoff env`: the environment of `blastoff run`, as lines for a shell."""

import argparse
import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from blastoff import glibc, launcher, library, options
from blastoff.errors import CommandError
from blastoff.options import Option
from blastoff.parser import Parser
from blastoff.run import arguments as command_line

OF_ONE_RUN = "BLASTOFF_RUN"
"""The variable that names one run of the launcher. It is left out, since a shell starts many programs."""

SHELLS = ("sh", "csh", "fish")
DIALECTS = {"csh": "csh", "tcsh": "csh", "fish": "fish"}
"""The languages of shells by name; all others have the language of sh."""

Changes = dict[str, str | None]
"""The new values of variables; None: the variable is unset."""


def parser(table: Sequence[Option]) -> Parser:
    result = Parser(
        prog="blastoff env",
        usage="blastoff env [options] [--shell sh|csh|fish] [--unset] [--json]",
        description="Prints the lines that give a shell the environment of `blastoff run` with the same options, so that every program "
        'started there offloads its BLAS calls: eval "$(blastoff env)". What is set already is not printed. blastoff env --unset '
        "prints the lines that take it back.",
        formatter_class=command_line.HelpFormatter,
    )
    result.add_argument("--shell", choices=SHELLS, metavar="|".join(SHELLS), help="the shell that reads the lines. Default: that of $SHELL")
    result.add_argument("--unset", action="store_true", help="take Blastoff out of LD_PRELOAD and GLIBC_TUNABLES, and unset all its settings")
    result.add_argument("--json", action="store_true", help="print an object of variables and values instead; null means unset")
    command_line.add_options(result, table)
    return result


def own_shell() -> str:
    """The language of the user's shell."""
    return DIALECTS.get(Path(os.environ.get("SHELL", "")).name, "sh")


def quoted(value: str, shell: str) -> str:
    """The value as one word of the shell's language."""
    if shell == "fish":
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if shell == "csh":
        # csh substitutes history within quotes too, and ends a quoted word at the end of the line unless that is escaped.
        return "'" + value.replace("'", "'\\''").replace("!", "\\!").replace("\n", "\\\n") + "'"
    return shlex.quote(value)


def line(name: str, value: str | None, shell: str) -> str:
    """One statement. It ends with a semicolon, since csh evaluates all statements as one line."""
    if value is None:
        return {"sh": f"unset {name};", "csh": f"unsetenv {name};", "fish": f"set -e {name};"}[shell]
    word = quoted(value, shell)
    return {"sh": f"export {name}={word};", "csh": f"setenv {name} {word};", "fish": f"set -gx {name} {word};"}[shell]


def words(parsed: argparse.Namespace, table: Sequence[Option]) -> list[str]:
    """The options of the table that were given, for the launcher."""
    given = {option.flag: getattr(parsed, option.name.replace("-", "_"), None) for option in table}
    return [f"{flag}={value}" for flag, value in given.items() if value is not None]


def changes(given: Sequence[str]) -> Changes:
    """The differences between the shell's environment and the environment of a program under `blastoff run`."""
    wanted = dict(entry.split("=", 1) for entry in launcher.ask("--environment", *given))
    wanted["LD_PRELOAD"] = ":".join(dict.fromkeys(wanted["LD_PRELOAD"].replace(" ", ":").split(":")))
    return {name: value for name, value in wanted.items() if name != OF_ONE_RUN and os.environ.get(name) != value}


def taken_back(table: Sequence[Option], library_path: Path) -> Changes:
    """The changes that remove Blastoff from the shell's environment."""
    before = os.environ
    ours = {str(library_path), str(library.allocator_beside(library_path))}
    preloaded = [entry for entry in before.get("LD_PRELOAD", "").replace(" ", ":").split(":") if entry and entry not in ours]
    tunables = [entry for entry in before.get("GLIBC_TUNABLES", "").split(":") if entry and entry != f"{glibc.HUGE_PAGES}=1"]
    wanted: Changes = {"LD_PRELOAD": ":".join(preloaded) or None, "GLIBC_TUNABLES": ":".join(tunables) or None}
    wanted |= {option.environment: None for option in table if option.on_command_line}
    return {name: value for name, value in wanted.items() if name in before and before[name] != value}


def run(arguments: Sequence[str]) -> int:
    path = library.find_library()
    table = options.read_table(path)
    accepting = parser(table)
    bare = {option.flag: f"{option.flag}={option.bare}" for option in table if option.bare is not None}
    parsed, unknown = accepting.parse_known_args([bare.get(word, word) for word in arguments])
    if unknown and not unknown[0].startswith("-"):
        raise CommandError(f"env: {unknown[0]}: no program is started; blastoff run starts one")
    if unknown:
        raise accepting.unknown_option(unknown[0])
    changed = taken_back(table, path) if parsed.unset else changes(words(parsed, table))
    if parsed.json:
        print(json.dumps(changed, indent=2))
        return 0
    for name, value in changed.items():
        print(line(name, value, parsed.shell or own_shell()))
    return 0

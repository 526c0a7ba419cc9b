"""Manual pages, in the man macros of roff."""

import re
from collections.abc import Sequence

from blastoff.manual.examples import EXAMPLES, FILES, FIRST, RUN_STATUS, STATUS
from blastoff.manual.syntax import Argument, Command
from blastoff.options import Option, paragraphs


def escaped(text: str) -> str:
    """Text for a page. Hyphens become the hyphens of options, and no line begins with a character that starts a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.splitlines())


def prose(text: str) -> str:
    """A paragraph; text between backquotes is set in bold."""
    return re.sub(r"`([^`]*)`", r"\\fB\1\\fR", escaped(text))


def heading(name: str, version: str) -> str:
    return f'.TH {name.upper()} 1 "" "blastoff {version}" "User Commands"'


def section(title: str, *lines: str) -> list[str]:
    return [f".SH {title}", *lines]


def synopsis(lines: Sequence[str]) -> list[str]:
    """Usage lines, with the command in bold."""
    result = []
    for line in lines:
        words = re.match(r"(blastoff(?: [a-z]+)?)(.*)", line)
        result += [f"\\fB{escaped(words[1])}\\fR{escaped(words[2])}" if words else escaped(line), ".br"]
    return result[:-1]


def spelled(argument: Argument) -> str:
    """The option's names, and its value in italics."""
    names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in argument.names)
    if not argument.value:
        return names
    value = f"\\fI{escaped(argument.value)}\\fR"
    return f"{names}[={value}]" if argument.optional else f"{names} {value}"


def options_of(command: Command) -> list[str]:
    lines = []
    for group in dict.fromkeys(argument.group for argument in command.arguments):
        lines += section(group.upper())
        for argument in command.arguments:
            if argument.group == group:
                lines += [".TP", spelled(argument), "\n.br\n".join(map(prose, paragraphs(argument.help)))]
    return lines


def variables(table: Sequence[Option]) -> list[str]:
    """The variables that have no option. The variables of options are described with the options."""
    lines = ["Each option names its variable in parentheses. An empty variable counts as unset."]
    for option in table:
        if not option.on_command_line:
            lines += [".TP", f"\\fB{escaped(option.environment)}\\fR", prose(option.help)]
    return lines


def examples(chosen: Sequence[tuple[str, str]]) -> list[str]:
    """Command lines, and what they do."""
    lines = [line for command, what in chosen for line in (".TP", f"\\fB{escaped(command)}\\fR", prose(what))]
    return section("EXAMPLES", *lines) if lines else []


def files(*first: tuple[str, str]) -> list[str]:
    return section("FILES", *(line for path, what in (*first, *FILES) for line in (".TP", f"\\fI{escaped(path)}\\fR", prose(what))))


def command_page(command: Command, table: Sequence[Option], version: str) -> str:
    """blastoff-COMMAND(1)."""
    name = f"blastoff-{command.name}"
    lines = [heading(name, version), *section("NAME", f"{escaped(name)} \\- {escaped(command.summary)}")]
    lines += section("SYNOPSIS", *synopsis(command.usage))
    lines += section("DESCRIPTION", prose(command.description))
    lines += options_of(command)
    if command.name in ("run", "env"):
        lines += section("ENVIRONMENT", *variables(table))
    title, _, text = command.epilog.partition(": ")
    if not title:
        title, text = "Exit status", RUN_STATUS if command.name == "run" else STATUS
    lines += section(title.upper(), prose(text[:1].upper() + text[1:]))
    lines += [*examples(EXAMPLES.get(command.name, ())), *files()]
    lines += section("SEE ALSO", "\\fBblastoff\\fR(1)")
    return "\n".join(lines) + "\n"


def overview(commands: Sequence[Command], usage: str, version: str) -> str:
    """blastoff(1)."""
    lines = [heading("blastoff", version), *section("NAME", "blastoff \\- run the dense linear algebra of unmodified programs on the GPU")]
    head, about, *_ = usage.split("\n\n")
    lines += section("SYNOPSIS", *synopsis([line.removeprefix("usage: ").strip() for line in head.splitlines()]))
    lines += section("DESCRIPTION", prose(about))
    lines += section("COMMANDS")
    for command in commands:
        lines += [".TP", f"\\fB{command.name}\\fR", prose(command.summary)]
    lines += examples(FIRST)
    lines += files(("libblastoff.so", "The library that is preloaded."))
    lines += section("SEE ALSO", ", ".join(f"\\fBblastoff\\-{command.name}\\fR(1)" for command in commands))
    return "\n".join(lines) + "\n"

"""`blastoff completion SHELL` and `blastoff help --man [COMMAND]`."""

from collections.abc import Sequence
from pathlib import Path

from blastoff import library, options
from blastoff.errors import CommandError
from blastoff.manual import completion, page, syntax
from blastoff.manual.syntax import Commands
from blastoff.parser import Parser, hint

FILES = {
    "bash": "bash-completion/completions/blastoff",
    "zsh": "zsh/site-functions/_blastoff",
    "fish": "fish/vendor_completions.d/blastoff.fish",
}
"""The folders below share/ in which shells look for completions."""


def print_completion(arguments: Sequence[str], commands: Commands, usage: str) -> int:
    parser = Parser(
        prog="blastoff completion",
        description='Prints the completion of this command for a shell. In bash: eval "$(blastoff completion bash)".',
    )
    parser.add_argument("shell", metavar="|".join(completion.SHELLS), choices=list(completion.SHELLS), help="the shell")
    parsed = parser.parse_args(arguments)
    print(completion.SHELLS[parsed.shell](syntax.read_commands(commands, usage)), end="")
    return 0


def pages(commands: Commands, usage: str) -> dict[str, str]:
    """The text of each page, by the page's name."""
    path = library.find_library()
    table, version = options.read_table(path), library.version()
    read = syntax.read_commands(commands, usage)
    return {"blastoff": page.overview(read, usage, version)} | {
        f"blastoff-{command.name}": page.command_page(command, table, version) for command in read
    }


def print_page(words: Sequence[str], commands: Commands, usage: str) -> int:
    """Prints the manual page of a command, or of all."""
    name = words[0] if words else ""
    if name and name not in commands:
        raise CommandError(f"unknown command {name}{hint(name, commands, 'blastoff --help lists the commands')}")
    print(pages(commands, usage)[f"blastoff-{name}" if name else "blastoff"], end="")
    return 0


def write(directory: Path, commands: Commands, usage: str) -> None:
    """Writes all pages and completions into their folders below share/."""
    read = syntax.read_commands(commands, usage)
    texts = {f"man/man1/{name}.1": text for name, text in pages(commands, usage).items()}
    texts |= {file: completion.SHELLS[shell](read) for shell, file in FILES.items()}
    for name, text in texts.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

"""The option table, as the library publishes it, and what each option accepts."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blastoff import library
from blastoff.errors import CommandError

MEMORY = re.compile(r"([0-9]{1,40})([KMGT]?)", re.ASCII | re.IGNORECASE)
PERCENT = re.compile(r"([0-9]{1,3})%", re.ASCII)
LARGEST_SIZE = 2**64 - 1
PATHS = ("report", "cuda-path")
"""Options that name files."""
METAVARS = {"place": "auto|huge-pages|at-malloc[=SIZE]|none"}
"""Of options whose values are neither choices nor of one simple kind."""


@dataclass(frozen=True)
class Option:
    """One row of the option table (src/config/options.def)."""

    name: str
    environment: str
    kind: str
    values: str
    default: str
    help: str
    audience: str
    scope: str
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int | None = None
    percent: bool = False
    pattern: str | None = None
    form: str | None = None
    bare: str | None = None

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Option":
        return cls(**{**row, "choices": tuple(row.get("choices", ()))})

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--{self.name}"

    @property
    def on_command_line(self) -> bool:
        """Whether `blastoff run` takes it; the others are environment variables only."""
        return self.scope != "environment"

    @property
    def is_path(self) -> bool:
        """Whether its value names a file, which is made absolute since the program may change its directory."""
        return self.name in PATHS

    @property
    def metavar(self) -> str:
        """What stands for the value in the help."""
        if self.choices:
            return "|".join(self.choices)
        if self.form:
            return self.form
        if self.name in METAVARS:
            return METAVARS[self.name]
        return {"integer": "N", "memory": "SIZE"}.get(self.kind, "PATH" if self.is_path else "TEXT")

    def accepts(self, value: str) -> bool:
        """Whether the library will take the value: the equal of src/config/option_value.cpp."""
        match self.kind:
            case "choice":
                return value in self.choices
            case "integer":
                return self._accepts_integer(value)
            case "memory":
                return self._accepts_memory(value)
            case _:
                return self.pattern is None or re.fullmatch(self.pattern, value) is not None

    def _accepts_integer(self, value: str) -> bool:
        if not re.fullmatch("-?[0-9]{1,40}", value, re.ASCII):
            return False
        largest = 2**63 - 1 if self.maximum is None else self.maximum
        return self.minimum <= int(value) <= largest

    def _accepts_memory(self, value: str) -> bool:
        if share := PERCENT.fullmatch(value):
            return self.percent and 1 <= int(share[1]) <= 100
        size = MEMORY.fullmatch(value)
        return size is not None and 0 < int(size[1]) << 10 * " KMGT".index(size[2].upper() or " ") <= LARGEST_SIZE


def read_table(path: Path) -> list[Option]:
    """The options of the library at `path`."""
    return [Option.from_json(row) for row in json.loads(library.ask(path, "blastoff_options_json"))]


def check(option: Option, value: str, named: str) -> None:
    """Raises the one line for a value that is not accepted; `named` is how the user wrote the option."""
    if not option.accepts(value):
        raise CommandError(f"invalid value {named}={value}; accepted: {option.values}")


def check_environment(table: list[Option], environment: Mapping[str, str]) -> None:
    """Checks the BLASTOFF_* variables that are set; an empty one counts as not set."""
    for option in table:
        value = environment.get(option.environment, "")
        if value:
            check(option, value, option.environment)

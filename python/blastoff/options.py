"""The option table, as the library publishes it, and what each option accepts."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from blastoff import library
from blastoff.errors import CommandError

DURATION = re.compile(r"([0-9]+)(ms|s)", re.ASCII)
SIZE = re.compile(r"([0-9]+)([KMGT]?)", re.ASCII | re.IGNORECASE)
PERCENT = re.compile(r"([0-9]+)%", re.ASCII)
DECIMAL_PERCENT = re.compile(r"([0-9]+)(\.[0-9]{1,4})?%", re.ASCII)
LARGEST_INTEGER = 2**63 - 1
LARGEST_SIZE = 2**64 - 1
MAX_DIGITS = 20
"""Number of digits of LARGEST_SIZE. Longer numbers are not converted, since Python refuses numbers with thousands of digits."""


VALUE = re.compile(r"(?<=[.)]) (?=[a-z][\w-]*(?:[:=][A-Za-z]+)?: )")
"""Before "VALUE: ...", which says what a value does, in the help of an option."""


def paragraphs(help: str) -> list[str]:
    """The help of an option: what it does, then what each value does. A line of its own is a paragraph, too."""
    return [part for line in help.split("\n") for part in VALUE.split(line)]


def summary(help: str) -> str:
    """The first sentence of a help, without its full stop."""
    return re.split(r"(?<=[^.])\.(?:\s|$)", help)[0].strip()


def decimal(digits: str) -> int:
    """A number without a sign. With very many digits it becomes a number larger than any option accepts."""
    significant = digits.lstrip("0")
    return int(significant or "0") if len(significant) <= MAX_DIGITS else 10**MAX_DIGITS


def is_size(value: str) -> bool:
    size = SIZE.fullmatch(value)
    return size is not None and 0 < decimal(size[1]) << 10 * " KMGT".index(size[2].upper() or " ") <= LARGEST_SIZE


def milliseconds(value: str) -> int | None:
    """A duration as the library reads it: "10ms", "2s"."""
    duration = DURATION.fullmatch(value)
    return duration and decimal(duration[1]) * (1 if duration[2] == "ms" else 1000)


def is_percent(value: str) -> bool:
    share = PERCENT.fullmatch(value)
    return share is not None and 1 <= decimal(share[1]) <= 100


def is_decimal_percent(value: str) -> bool:
    share = DECIMAL_PERCENT.fullmatch(value)
    return share is not None and 0 < decimal(share[1]) + float(share[2] or 0) <= 100


class Option(NamedTuple):
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
    bare: str | None = None
    path: bool = False
    """Whether its value names a file, which is made absolute since the program may change its directory."""

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
    def metavar(self) -> str:
        """The value's placeholder in the help."""
        return f"[={self._placeholder}]" if self.bare is not None else self._placeholder

    @property
    def _placeholder(self) -> str:
        if self.choices:
            return "|".join(self.choices)
        return {"integer": "N", "memory": "SIZE", "duration": "TIME"}.get(self.kind, "PATH" if self.path else "TEXT")

    def accepts(self, value: str) -> bool:
        """Whether the library accepts the value, according to the table (src/config/accepted.h)."""
        match self.kind:
            case "choice":
                return any(self._accepts_by(choice, value) for choice in self.choices)
            case "integer":
                return self._accepts_integer(value)
            case "memory":
                return is_size(value) or (self.percent and is_percent(value))
            case "duration":
                duration = milliseconds(value)
                return duration is not None and self.minimum <= duration <= (self.maximum or LARGEST_INTEGER)
            case _:
                return True

    def _accepts_by(self, choice: str, value: str) -> bool:
        """Whether one choice accepts the value: a word, or a word that ends with a placeholder."""
        placeholders = {"N": self._accepts_integer, "LIST": self._accepts_list, "SIZE": is_size, "PERCENT": is_decimal_percent, "FILE": bool}
        for placeholder, accepts in placeholders.items():
            if choice.endswith(placeholder):
                prefix = choice.removesuffix(placeholder)
                return value.startswith(prefix) and accepts(value.removeprefix(prefix))
        return value == choice

    def _accepts_list(self, value: str) -> bool:
        """Different integers, separated by commas."""
        numbers = value.split(",")
        return all(map(self._accepts_integer, numbers)) and len({decimal(number) for number in numbers}) == len(numbers)

    def _accepts_integer(self, value: str) -> bool:
        sign = "-?" if self.minimum < 0 else ""
        if not re.fullmatch(sign + "[0-9]+", value, re.ASCII):
            return False
        size = decimal(value.lstrip("-"))
        largest = LARGEST_INTEGER if self.maximum is None else self.maximum
        return self.minimum <= (-size if value.startswith("-") else size) <= largest


def read_table(path: Path) -> list[Option]:
    """The options of the library at `path`."""
    return [Option.from_json(row) for row in json.loads(library.ask(path, "blastoff_options_json"))]


def check(option: Option, value: str, named: str) -> None:
    """Raises CommandError for a value that is not accepted; `named` is how the user wrote the option."""
    if not option.accepts(value):
        raise CommandError(f"invalid value {named}={value}; accepted: {option.values}")


def check_environment(table: list[Option], environment: Mapping[str, str]) -> None:
    """Checks the BLASTOFF_* variables that are set; an empty one counts as not set."""
    for option in table:
        value = environment.get(option.environment, "")
        if value:
            check(option, value, option.environment)

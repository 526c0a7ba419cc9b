"""Names that others have chosen, as text for a terminal. src/platform/printable.h does the same in the library."""

import codecs
import re
from enum import Enum
from typing import Any

UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, characters that change the direction of writing, and bytes that were not UTF-8."""

PLAIN_ERRORS = "blastoff-plain"
"""How a stream writes characters that its encoding lacks: as the nearest plain one."""
PLAIN = {"\u202f": " ", "\u2026": "...", "\u2500": "-", "\u2502": "|"}


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(PLAIN.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


codecs.register_error(PLAIN_ERRORS, _plain)


def printable(text: str) -> str:
    """The text in one line, with a question mark for each unprintable character."""
    return UNPRINTABLE.sub("?", text)


def lines(text: str) -> str:
    """The same for a text of several lines."""
    return "\n".join(map(printable, text.split("\n")))


def values(value: Any) -> Any:
    """Data with all its texts made printable."""
    match value:
        case Enum():  # our own words are printable
            return value
        case str():
            return printable(value)
        case dict():
            return {values(key): values(part) for key, part in value.items()}
        case list() | tuple():
            return [values(part) for part in value]
    return value

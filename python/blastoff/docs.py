"""`python -m blastoff.docs`: generates docs/settings.md from the option table, so that the two cannot differ."""

import sys
from collections.abc import Sequence

from blastoff import library
from blastoff.options import Option, read_table

INTRODUCTION = """# Settings

<!-- Made by `python -m blastoff.docs` from src/config/options.def. Edit that, not this. -->

Every setting is an environment variable and an option of `blastoff run`, which sets the variable. The library reads its variables
at the first BLAS call, and `BLASTOFF_INTERCEPT` when it is loaded. `blastoff run` checks all values: an invalid one ends it with
status 2 before the program starts. The library reports an invalid value in one line and uses the default. It also reports every
variable that begins with `BLASTOFF_` and is not listed here.

Sizes take the suffixes K, M, G and T, powers of 1024. An empty variable counts as unset.
"""

SECTIONS = (
    ("For programs", lambda option: option.audience == "user" and option.on_command_line),
    ("For the command itself", lambda option: not option.on_command_line),
    ("For tests", lambda option: option.audience == "test"),
)


def code(text: str) -> str:
    return f"`{text}`"


def accepted(option: Option) -> str:
    """What the option accepts: choices as code, everything else in words."""
    return ", ".join(code(choice) for choice in option.choices) or option.values


def entry(option: Option) -> str:
    """The section about one option."""
    spelled = f"`--{option.name} {option.metavar}`" if option.on_command_line else code(option.environment)
    lines = [f"### {spelled}", "", option.help, ""]
    if option.on_command_line:
        launcher = " (used by `blastoff run` and libblastoff-allocator.so)" if option.scope == "launcher" else ""
        lines.append(f"- Variable: {code(option.environment)}{launcher}")
    lines.append(f"- Accepted: {accepted(option)}")
    lines.append(f"- Default: {code(option.default) if option.default else 'none'}")
    if option.bare is not None:
        lines.append(f"- {code(option.flag)} alone means {code(f'{option.flag}={option.bare}')}")
    return "\n".join(lines)


def settings_page(table: Sequence[Option]) -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for title, belongs in SECTIONS:
        parts.append(f"## {title}\n")
        parts.extend(entry(option) + "\n" for option in table if belongs(option))
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(settings_page(read_table(library.find_library())))

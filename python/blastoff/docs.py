"""`python -m blastoff.docs`: docs/settings.md out of the option table, so that the two cannot differ."""

import sys
from collections.abc import Sequence

from blastoff import library
from blastoff.options import Option, read_table

INTRODUCTION = """# Settings

<!-- Made by `python -m blastoff.docs` from src/runtime/options.def. Edit that, not this. -->

Every setting is an environment variable that the library reads at the first BLAS call (`BLASTOFF_INTERCEPT` when it is
loaded), and an option of `blastoff run`, which sets the variable. On the command line a value that is not accepted ends
`blastoff run` with status 2 before the program starts. The library, when it meets one, says so in one line and goes on with
the default; so it does for a variable that begins with `BLASTOFF_` and is none of these.

Sizes take the suffixes K, M, G and T, powers of 1024. An empty variable counts as not set.
"""

SECTIONS = (
    ("For programs", lambda option: option.audience == "user" and option.on_command_line),
    ("For the command itself", lambda option: not option.on_command_line),
    ("For tests", lambda option: option.audience == "test"),
)


def code(text: str) -> str:
    return f"`{text}`"


def accepted(option: Option) -> str:
    """What the option takes: choices as code, the rest in words."""
    return ", ".join(code(choice) for choice in option.choices) or option.values


def entry(option: Option) -> str:
    """One option."""
    spelled = f"`--{option.name} {option.metavar}`" if option.on_command_line else code(option.environment)
    lines = [f"### {spelled}", "", option.help, ""]
    if option.on_command_line:
        launcher = " (acted on by `blastoff run` and libblastoff-allocator.so)" if option.scope == "launcher" else ""
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

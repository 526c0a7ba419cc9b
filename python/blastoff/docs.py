"""`python -m blastoff.docs`: generates docs/settings.md from the option table, so that the two cannot differ."""

import re
import sys
from collections.abc import Sequence

from blastoff import library
from blastoff.options import Option, paragraphs, read_table, summary

INTRODUCTION = """# Settings

<!-- Made by `python -m blastoff.docs` from src/config/options.def. Edit that, not this. -->

This page lists every setting: what it does, what it accepts, and its default. Most programs need none of them.

    blastoff run --policy copy -- ./a.out                # an option of `blastoff run`
    BLASTOFF_POLICY=copy blastoff run -- ./a.out         # the same as a variable

`blastoff run` checks all values before the program starts. It ends with status 2 if one is invalid:

    $ blastoff run --policy cpy -- ./a.out
    blastoff: invalid value --policy=cpy; accepted: auto, first-use, coherent or copy

Each option of `blastoff run` sets its variable. The library reads `BLASTOFF_INTERCEPT`, `BLASTOFF_TRUST` and `BLASTOFF_COUNT` when it is loaded,
and the other variables at the first BLAS call. It reports an invalid value in one line and uses the default. It also reports variables that begin
with `BLASTOFF_` and are not listed here. An empty variable counts as unset. Sizes take the suffixes K, M, G and T, which are powers of 1024. A
site may have [other defaults](installing.md#defaults-of-a-site).
"""

SECTIONS = (
    ("For programs", lambda option: option.audience == "user" and option.on_command_line),
    ("For the command itself", lambda option: not option.on_command_line),
    ("For tests", lambda option: option.audience == "test"),
)


def code(text: str) -> str:
    return f"`{text}`"


def spelled(option: Option) -> str:
    return f"--{option.name}" if option.on_command_line else option.environment


def overview(options: Sequence[Option]) -> list[str]:
    """A table of options, each with the first sentence of its help."""
    rows = [f"| [{code(spelled(option))}](#{anchor(option)}) | {summary(option.help)} | {option.default} |" for option in options]
    return ["| setting | what it does | default |", "| --- | --- | --- |", *rows, ""]


def anchor(option: Option) -> str:
    """The anchor that GitHub gives the heading of an option."""
    return re.sub(r"[^\w -]", "", heading(option).lower()).replace(" ", "-")


def heading(option: Option) -> str:
    return code(f"{spelled(option)} {option.metavar}") if option.on_command_line else code(spelled(option))


def entry(option: Option) -> str:
    """The section about one option."""
    first, *values = paragraphs(option.help)
    lines = [f"### {heading(option)}", "", first, ""]
    lines += [f"- `{value}`: {what}" for value, what in (each.split(": ", 1) for each in values)]
    facts = [f"Variable: {code(option.environment)}."] if option.on_command_line else []
    if not option.choices:
        facts.append(f"Accepted: {option.values}.")
    facts.append(f"Default: {code(option.default) if option.default else 'none'}.")
    if option.bare is not None:
        facts.append(f"{code(option.flag)} alone means {code(f'{option.flag}={option.bare}')}.")
    return "\n".join([*lines, *([""] if values else []), " ".join(facts)])


def settings_page(table: Sequence[Option]) -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for title, belongs in SECTIONS:
        options = [option for option in table if belongs(option)]
        parts += [f"## {title}\n", "\n".join(overview(options)), *(entry(option) + "\n" for option in options)]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(settings_page(read_table(library.find_library())))

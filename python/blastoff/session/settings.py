"""Options as Python keywords: enable(min_size=500)."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from blastoff import documents, options
from blastoff.errors import CommandError
from blastoff.options import Option
from blastoff.parser import hint
from blastoff.session.attached import Library


def spelling(option: Option) -> str:
    """The option as a keyword."""
    return option.name.replace("-", "_")


def by_keyword(table: Iterable[Option]) -> dict[str, Option]:
    return {spelling(option): option for option in table}


def refuse_early_options(keyword: str, option: Option) -> None:
    """Raises CommandError for an option that has no effect in a process that already runs."""
    if option.scope == "launcher":
        raise CommandError(f"enable: {keyword} takes effect before a program starts; give {option.flag} to blastoff run")
    if option.scope == "environment":
        raise CommandError(f"enable: {keyword} is no option of a session; set {option.environment} before")
    if option.name == "intercept":
        raise CommandError("enable: intercept is always patch in a session, since exported names come too late")


def path(option: Option, value: str, active: Library) -> str:
    """The path made absolute, since the program may change its directory. Raises CommandError if no report can be written there."""
    if option.name != "report":
        return value if value in ("", "none") else str(Path(value).expanduser().absolute())
    pattern, obstacle = active.report_path(value)
    if obstacle:
        raise CommandError(f"enable: no report can be written to {value}: {obstacle}")
    return str(Path(pattern).absolute())


def text(option: Option, keyword: str, value: Any, active: Library) -> str:
    """The value as text for the library. True stands for the option without a value (verify=True is --verify)."""
    written = option.bare if value is True and option.bare is not None else os.fspath(value) if isinstance(value, os.PathLike) else str(value)
    if isinstance(value, bool) and option.bare is None:
        raise CommandError(f"enable: invalid value {keyword}={value}; accepted: {option.values}")
    options.check(option, written, keyword)
    return path(option, written, active) if option.path else written


def texts(table: Sequence[Option], given: Mapping[str, Any], active: Library) -> dict[str, str]:
    """The environment variables for these options, with checked values. An option that is None counts as not given."""
    known = by_keyword(table)
    result = {}
    for keyword, value in given.items():
        if keyword not in known:
            accepted = [name for name, option in known.items() if option.scope == "library"]
            raise CommandError(f"enable: unknown option {keyword}{hint(keyword, accepted, documents.page('sessions.md') + ' lists the options')}")
        if value is not None:
            option = known[keyword]
            refuse_early_options(keyword, option)
            result[option.environment] = text(option, keyword, value, active)
    return result


def conflict(table: Sequence[Option], given: Iterable[str], in_force: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    """Why the process cannot have these options while others are in force; "" if they are equal. `given`: names of variables."""
    for option in table:
        if option.environment in given and in_force[option.name] != wanted[option.name]:
            now, then = (values[option.name] or "not set" for values in (in_force, wanted))
            return (
                f"enable: {spelling(option)} is {now} and cannot become {then}: a process reads its settings once, when Blastoff starts to work; "
                "start a new process for that"
            )
    return ""

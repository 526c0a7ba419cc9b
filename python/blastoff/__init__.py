"""The `blastoff` command: runs BLAS programs on a GPU, says what works here, shows reports. `blastoff.enable()` does the same in a Python
session that already runs (docs/sessions.md).

It does not depend on the library's internals: the two communicate through environment variables, JSON and a few C functions.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blastoff.marks import mark
    from blastoff.session.command import disable, enable, is_enabled, load_ipython_extension, region, stats

__all__ = ["disable", "enable", "is_enabled", "load_ipython_extension", "mark", "region", "stats"]

pytest_plugins = ("blastoff.session.pytest_plugin",)
"""`pytest -p blastoff` loads it (docs/sessions.md)."""

ELSEWHERE = {"mark": "blastoff.marks"}
"""Modules of the names that blastoff.session.command does not define."""


def __getattr__(name: str) -> Any:
    """Imports one of the names above at its first use, so that `import blastoff` stays quick."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(ELSEWHERE.get(name, "blastoff.session.command")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

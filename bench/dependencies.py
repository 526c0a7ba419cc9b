"""Packages that the benchmarks need besides the standard library."""

from __future__ import annotations

import importlib.util
import pathlib
import sys


def require(*names: str) -> None:
    """Ends the program with one line if a package is missing, before anything is measured."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        program = pathlib.Path(sys.argv[0]).name
        raise SystemExit(f"{program}: the Python package {missing[0]} is missing: {sys.executable} -m pip install {' '.join(missing)}")

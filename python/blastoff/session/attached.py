"""The library in this process, and its C functions for sessions (include/blastoff.h)."""

import ctypes
import functools
import json
import os
import threading
from pathlib import Path
from typing import Any

from blastoff import glibc, library
from blastoff.environment import variables
from blastoff.errors import CommandError
from blastoff.options import Option

FUNCTIONS = ("blastoff_enable", "blastoff_disable", "blastoff_enabled", "blastoff_counts_json", "blastoff_report_json", "blastoff_settings_json")
MAPS = Path("/proc/self/maps")
PAUSE = 5000
"""Microseconds within which a thread that has released the interpreter's lock gets past the first instructions of its call."""


class Library:
    """A libblastoff.so that is loaded in this process."""

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self._loaded = loaded
        for name in FUNCTIONS:
            if not hasattr(loaded, name):
                raise CommandError("the libblastoff.so in this process is of an earlier version, which cannot be switched on and off")
        for name in ("blastoff_counts_json", "blastoff_report_json", "blastoff_settings_json"):
            getattr(loaded, name).restype = ctypes.c_void_p
        for name in ("blastoff_options_json", "blastoff_report_path_json"):
            getattr(loaded, name).restype = ctypes.c_char_p
        self._holding = ctypes.PyDLL(None, handle=loaded._handle)
        """The same library; calls through this handle keep the interpreter's lock, so that no other thread runs Python."""
        loaded.free = ctypes.CDLL(None).free
        loaded.free.argtypes = [ctypes.c_void_p]

    def _text(self, function: str, *arguments: int) -> str | None:
        text = getattr(self._loaded, function)(*arguments)
        if text is None:
            return None
        try:
            return ctypes.string_at(text).decode()
        finally:
            self._loaded.free(text)

    def _json(self, function: str) -> dict[str, Any]:
        text = self._text(function)
        if text is None:
            raise MemoryError(function)
        return json.loads(text)

    def switch_on(self) -> bool:
        """Switches Blastoff on. Returns False if this copy of the library must not act here.

        This patches code, and a thread that has just entered that code would crash. So no other thread may run Python meanwhile. A thread that
        calls BLAS has released the interpreter's lock, and after the pause it is past the patched instructions.
        """
        if threading.active_count() > 1:
            ctypes.PyDLL(None).usleep(PAUSE)
        return self._holding.blastoff_enable() == 0

    def switch_off(self) -> None:
        self._loaded.blastoff_disable()

    @property
    def is_on(self) -> bool:
        return self._loaded.blastoff_enabled() == 1

    def options(self) -> list[Option]:
        """The option table."""
        return [Option.from_json(row) for row in json.loads(self._loaded.blastoff_options_json())]

    def report_path(self, given: str) -> tuple[str, str]:
        """The value of BLASTOFF_REPORT for a report path, and why no report can be written there ("" if it can)."""
        answer = json.loads(self._loaded.blastoff_report_path_json(os.fsencode(given)))
        return answer["pattern"], answer["obstacle"]

    def settings(self, in_force: bool) -> dict[str, str] | None:
        """Names and values of all settings. `in_force`: the values in force, or None if the settings have not been read yet; otherwise the values
        that the environment gives."""
        text = self._text("blastoff_settings_json", int(in_force))
        return None if text is None else json.loads(text)

    def counts(self) -> dict[str, Any]:
        """The keys `totals`, `routines`, `refusals` and `verification` of a report."""
        return self._json("blastoff_counts_json")

    def report(self) -> dict[str, Any]:
        """The report of this process as it is now."""
        return self._json("blastoff_report_json")


def other_copies(path: Path) -> list[str]:
    """Paths of other copies of the library in this process."""
    mapped = {line.split(maxsplit=5)[5] for line in MAPS.read_text(encoding="utf-8").splitlines() if line.endswith("/libblastoff.so")}
    return sorted(mapped - {str(path.resolve()), str(path)})


@functools.cache
def preloaded() -> Library | None:
    """The library that was loaded when the program started: `blastoff run` preloaded it, or the program is linked with it."""
    program = ctypes.CDLL(None)
    return Library(program) if hasattr(program, "blastoff_version") and not library.does_nothing(program) else None


def load(path: Path) -> Library:
    """Loads the library without switching it on; it patches nothing before that. A copy that was loaded before keeps its state."""
    if glibc.version() < glibc.SUPPORTED_SINCE:
        raise CommandError(f"{path} needs {glibc.SUPPORTED}, on which this Python does not run")
    with variables({"BLASTOFF_INTERCEPT": "preload"}):
        try:
            was_there = str(path.resolve()) in MAPS.read_text(encoding="utf-8")
            # Not RTLD_GLOBAL: its BLAS names would replace those of libraries that are loaded later.
            loaded = Library(ctypes.CDLL(str(path), mode=os.RTLD_LOCAL | os.RTLD_NOW))
        except OSError as error:
            raise CommandError(f"{path} cannot be loaded into this process: {error}; blastoff run can start the program with it") from error
    if not was_there:
        loaded.switch_off()
    return loaded


_loaded: Library | None = None


def in_process() -> Library | None:
    """The library that a session uses, if it is loaded already; None otherwise."""
    return _loaded or preloaded()


def attach() -> Library:
    """The library that a session uses. Loads it if necessary."""
    global _loaded
    found = in_process()
    if found is None:
        found = _loaded = load(library.find_library())
    return found

"""Places of a program in words: function, file and line, from the debug information where there is any."""

import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

UNKNOWN = "??"
LONGEST_SEARCH = 30
"""Seconds that reading the debug information of one object may take."""


COMPILERS_SUFFIX = re.compile(r"(\.(\d+|constprop|part|isra|cold))+$")
"""Suffixes that compilers give to nested functions and to parts of functions."""

FORTRAN_MAIN = {"MAIN__": "main program", "MAIN_": "main program"}


class Place(NamedTuple):
    """A return address as an offset in an object, by link-time addresses."""

    object: str
    offset: int


def default_name(place: Place) -> str:
    """The name of a place without debug information: object and offset."""
    return f"{Path(place.object).name or 'program'}+{place.offset:#x}"


def short(path: str) -> str:
    """The end of a source path, which is what people recognise."""
    return Path(path).name


def name(place: Place, function: str, line: str) -> str:
    """The name of a place. `function` and `line` ("path:12") are "??" where they are not known."""
    path, _, number = line.rpartition(":")
    number = number.partition(" ")[0]
    function = COMPILERS_SUFFIX.sub("", FORTRAN_MAIN.get(function, function))
    known = bool(path) and path != UNKNOWN and number.isdigit() and int(number) > 0
    source = f"{short(path)}:{number}" if known else ""
    if function == UNKNOWN:
        return source or default_name(place)
    return f"{source} in {function}" if source else f"{function} in {Path(place.object).name}"


def _names_in(tool: str, path: str, places: list[Place]) -> dict[Place, str]:
    """The names of places in one object. A return address is the byte after the call, so the byte before it is looked up."""
    command = [tool, "-C", "-f", "-e", path, *(hex(max(place.offset - 1, 0)) for place in places)]
    try:
        said = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=LONGEST_SEARCH, check=False
        ).stdout.splitlines()
    except (OSError, subprocess.TimeoutExpired):
        return {}
    if len(said) != 2 * len(places):
        return {}
    return {place: name(place, said[2 * i], said[2 * i + 1]) for i, place in enumerate(places)}


def names(places: Iterable[Place]) -> Mapping[Place, str]:
    """Each place in words. Binutils' addr2line looks them up, if it is installed and the object's file still exists."""
    found = {place: default_name(place) for place in places}
    tool = shutil.which("addr2line")
    by_object: dict[str, list[Place]] = defaultdict(list)
    for place in found:
        by_object[place.object].append(place)
    for path, inside in by_object.items():
        if tool is not None and Path(path).is_file():
            found |= _names_in(tool, path, inside)
    return found

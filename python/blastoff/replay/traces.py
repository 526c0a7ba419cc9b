"""What a trace says of its process, and which traces of a job matter."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from blastoff import files
from blastoff.errors import CommandError

TO_MAKE_ONE = "blastoff run --trace FILE writes one"

LONGEST_HEADER = 1 << 20
"""Characters of the first line of a trace, at most: a file that is no trace may be one line."""

LEAST_SHARE = 0.05
"""A process with a smaller share of the longest process's seconds in calls is left out."""
MOST_PROCESSES = 64
"""Ranks that may share a GPU in a prediction."""


@contextlib.contextmanager
def in_utf_8(paths: Sequence[str]) -> Iterator[list[str]]:
    """Paths of the same files that JSON can hold: links to those whose names are not UTF-8."""
    with tempfile.TemporaryDirectory() as folder:
        links = list(paths)
        for place, path in enumerate(paths):
            if path.encode(errors="replace").decode() != path:
                links[place] = f"{folder}/{place}.trace"
                os.symlink(os.path.abspath(path), links[place])
        yield links


def what_it_is(path: str) -> str:
    """What a file is that is no trace, or how to make a trace."""
    try:
        return files.other_kind(files.read(path), files.TRACE) or TO_MAKE_ONE
    except (OSError, ValueError):
        return TO_MAKE_ONE


def header(path: str) -> dict[str, Any]:
    """The first line of a trace."""
    try:
        with files.opened(path) as file:
            first = files.parsed(file.readline(LONGEST_HEADER))
    except OSError as error:
        raise CommandError(f"predict: {path} cannot be read: {error.strerror}") from error
    except ValueError:
        first = None
    if not isinstance(first, dict) or "blastoff_trace" not in first:
        raise CommandError(f"predict: {path} is not a trace; {what_it_is(path)}")
    return first


def seconds_in_calls(path: Path) -> float:
    """Seconds of all calls that a trace tells of."""
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = file.readlines()
    try:
        end = json.loads(lines[-1])
        if "routines" in end:
            return sum(routine["seconds"] for routine in end["routines"].values())
        return sum(json.loads(line).get("seconds") or 0.0 for line in lines[1:-1])
    except (ValueError, LookupError):
        return 0.0


def that_matter(paths: Sequence[Path]) -> list[str]:
    """The traces of the processes that spend noticeable time in calls, at most as many as may share a GPU."""
    seconds = {path: seconds_in_calls(path) for path in paths}
    ordered = sorted(paths, key=lambda path: -seconds[path])
    return [str(path) for path in ordered if seconds[path] >= LEAST_SHARE * seconds[ordered[0]]][:MOST_PROCESSES]


def named(paths: Sequence[str]) -> list[str]:
    """The traces that these paths name: files, and those in directories. CommandError if a directory has none, or traces of several runs."""
    found: list[str] = []
    for path in paths:
        folder = Path(path)
        if not folder.is_dir():
            found.append(path)
            continue
        os.scandir(folder).close()  # raises an error if it cannot be read; glob() would find nothing
        inside = sorted(folder.glob("*.trace"))
        if not inside:
            raise CommandError(f"predict: no trace in {path}; blastoff run --trace {path}/ writes them there")
        heads = [header(str(each)) for each in inside]
        if len({head.get("run") for head in heads if head.get("rank") is None}) > 1:
            raise CommandError(f"predict: {path} has traces of several runs; name the files of one: {', '.join(each.name for each in inside)}")
        found += that_matter(inside)
    return found

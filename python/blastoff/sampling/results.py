"""The documents about a run's memory (share/memory.schema.json). Each launcher leaves one, the last launcher merges them, and commands read them."""

import itertools
import json
import os
from pathlib import Path
from typing import Any

from blastoff import files, library
from blastoff.errors import CommandError
from blastoff.job import runs
from blastoff.job.check import Compiler, explain
from blastoff.sampling import own, timeline

FILE = "memory-{}.json"
"""The file that each launcher leaves in the run's directory for the last launcher."""

SCHEMAS = (library.PACKAGE / "memory.schema.json", library.PACKAGE.parent.parent / "share" / "memory.schema.json")


def schema() -> dict[str, Any]:
    return json.loads(next(path for path in SCHEMAS if path.is_file()).read_text(encoding="utf-8"))


def leave(document: dict[str, Any], directory: Path) -> None:
    """Leaves the document for the last launcher of the run."""
    (runs.bulk(directory) / FILE.format(document["process"]["pid"])).write_text(json.dumps(document), encoding="utf-8")


def collect(directory: Path) -> dict[str, Any] | None:
    """The documents of all launchers merged into one, with the marks of all processes; None if there is no document."""
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(runs.bulk(directory).glob(FILE.format("*")))]
    if not documents:
        return None
    whole = timeline.merged(documents)
    marks, whole["marks_dropped"] = own.marks(directory)
    whole["marks"] = [{"time": round(moment - whole["started_at"], 4), "pid": pid, "name": name} for moment, pid, name in marks]
    return whole


def beside(pattern: str) -> str:
    """The path of the time line for a pattern of report paths: run.json gives run.memory.json."""
    return pattern.removesuffix(".json") + runs.MEMORY_SUFFIX


def find(path: str) -> Path:
    """The file of a time line. `path` is the file itself, the report beside it, or the directory of both."""
    if not Path(path).is_dir():
        return Path(beside(path)) if not path.endswith(runs.MEMORY_SUFFIX) and Path(beside(path)).is_file() else Path(path)
    os.scandir(path).close()  # raises an error if it cannot be read; glob() would find nothing
    found = sorted(Path(path).glob(f"*{runs.MEMORY_SUFFIX}"))
    if len(found) != 1:
        names = f" ({', '.join(file.name for file in found)}); name one of them" if found else ""
        raise CommandError(f"{path}: {len(found) or 'no'} time lines of `blastoff run --memory`{names}")
    return found[0]


def inconsistency(document: dict[str, Any]) -> str:
    """What is wrong with a document that fits the schema; "" if nothing is: each list has a value for each sample, and samples are in order."""
    lists = dict(document["timeline"])
    by_node = {f"resident_by_node/{node}": values for node, values in lists.pop("resident_by_node").items()}
    samples = len(lists["time"])
    for name, values in (lists | by_node).items():
        if len(values) != samples:
            return f"timeline/{name}: {len(values)} values instead of {samples}"
    for name, times in (("timeline/time", lists["time"]), ("marks", [mark["time"] for mark in document["marks"]])):
        if any(late < early for early, late in itertools.pairwise(times)):
            return f"{name}: not in order"
    return "peaks: 'resident' is missing" if samples and "resident" not in document["peaks"] else ""


def read(path: str) -> dict[str, Any]:
    """Reads one document, and checks it against the published schema."""
    text = ""
    try:
        text = files.read(find(path))
        document = files.parsed(text)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise CommandError(
            f"{path} is not a time line of `blastoff run --memory`: {files.other_kind(text, files.TIME_LINE) or f'not JSON ({error})'}"
        ) from error
    fits = Compiler(schema()).compile(schema())(document)
    if wrong := (not fits and explain(document, schema())) or inconsistency(document):
        raise CommandError(f"{path} is not a time line of `blastoff run --memory`: {files.other_kind(text, files.TIME_LINE) or wrong}")
    return document

"""Reading the JSON reports of a job."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from blastoff import library
from blastoff.errors import CommandError
from blastoff.job import runs
from blastoff.job.processes import Job, Process, in_order
from blastoff.job.schema import report_schema


@cache
def _validator() -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(report_schema())


def read_report(path: str) -> Process:
    """One file, checked against the published schema."""
    try:
        report = json.loads(Path(path).read_text())
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise CommandError(f"{path} is not a Blastoff report: not JSON ({error})") from error
    misfit = next(iter(_validator().iter_errors(report)), None)
    if misfit is not None:
        where = "/".join(str(part) for part in misfit.absolute_path)
        message = misfit.message if len(misfit.message) < 200 else f"does not fit the schema's {misfit.validator}"
        raise CommandError(f"{path} is not a Blastoff report: {f'{where}: ' if where else ''}{message}")
    return Process(path, report)


def read_run(directory: Path, known: Mapping[int, str] | None = None) -> Iterator[Process]:
    """The processes of a run as they are now. `known`: how the processes with these ids ended, as far as their parent knows."""
    path = library.find_library()
    files = runs.counter_files(directory)
    last = {file.pid: file for file in files}
    for file in files:
        report = library.counters(path, file.path)
        if report is None:
            continue
        process = report["process"]
        if process["ended"] == "":
            if last[file.pid] is not file:
                process["ended"] = runs.EXEC
            elif file.alive:
                process["ended"] = runs.RUNNING
            else:
                process["ended"] = (known or {}).get(file.pid, runs.UNKNOWN)
        yield Process(str(file.path), report)


def read_directory(directory: Path) -> list[Process]:
    """The processes of a run that keep their counters there and have made calls, or else the reports there."""
    if runs.counter_files(directory):
        return [process for process in read_run(directory) if process.totals.calls]
    return [read_report(str(path)) for path in sorted(directory.glob("*.json")) if not path.name.endswith(runs.MEMORY_SUFFIX)]


def read_job(paths: Sequence[str]) -> Job:
    """All files and directories, in the order of their ranks."""
    processes: list[Process] = []
    for path in paths:
        processes += read_directory(Path(path)) if Path(path).is_dir() else [read_report(path)]
    if not processes:
        raise CommandError(f"{', '.join(paths)}: no report, and no counters of a process that made calls")
    return in_order(processes)

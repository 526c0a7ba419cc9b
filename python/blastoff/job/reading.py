"""Reading the JSON reports of a job."""

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from blastoff import files, library, printable
from blastoff.errors import CommandError
from blastoff.job import folding, runs
from blastoff.job.check import Check, Compiler, explain
from blastoff.job.processes import Job, Process, in_order
from blastoff.job.schema import report_schema


@cache
def _fits() -> Check:
    return Compiler(report_schema()).compile(report_schema())


def misfit(report: Any) -> str:
    """What is wrong with a report by the published schema; "" where it fits."""
    return "" if _fits()(report) else explain(report, report_schema())


TIMELINE, END = '\n  "timeline": [\n', "\n  ]"
"""The lines before and after the time line in a report of the library: deeper lines begin with more spaces."""


def without_timeline(text: str) -> str:
    """The report with an empty time line. A text without a time line, or one that the library did not format, stays as it is."""
    begin = text.find(TIMELINE)
    end = text.find(END, begin + len(TIMELINE) - 1)
    return text[: begin + len(TIMELINE)] + text[end:] if 0 <= begin < end else text


def read_report(path: str, with_timeline: bool = False) -> Process:
    """Reads one file and checks it against the published schema. The time line is not read until somebody asks for it."""
    text = ""
    try:
        text = files.read(path)
        shortened = text if with_timeline else without_timeline(text)
        report = files.parsed(shortened.replace('"least_size":', '"min_size":'))  # the name of the key in earlier versions
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise CommandError(f"{path} is not a Blastoff report: {files.other_kind(text, files.REPORT) or f'not JSON ({error})'}") from error
    if wrong := misfit(report):
        raise CommandError(f"{path} is not a Blastoff report: {files.other_kind(text, files.REPORT) or wrong}")
    return Process(path, report, None if shortened is text else lambda: read_report(path, with_timeline=True).timeline)


def read_counters(files: Sequence[runs.CounterFile], known: Mapping[int, str]) -> Iterator[tuple[runs.CounterFile, Process]]:
    """The processes of these counter files as they are now. `known`: by process id, how processes ended, as far as their parent knows."""
    path = library.find_library()
    last = {file.pid: file for file in files}
    for file in files:
        running = last[file.pid] is file and file.alive  # asked before the counters are read, so that they are final if it has ended
        report = library.counters(path, file.path)
        if report is None:
            continue
        process = report["process"]
        if process["ended"] == "":
            if last[file.pid] is not file:
                process["ended"] = runs.EXEC
            elif running and (process["host"] == os.uname().nodename or runs.is_elsewhere(file.namespace)):
                process["ended"] = runs.RUNNING
            else:
                process["ended"] = known.get(file.pid, runs.UNKNOWN)
        yield file, Process(str(file.path), report)


def read_run(directory: Path, known: Mapping[int, str] | None = None) -> Iterator[Process]:
    """The processes of a run as they are now, with those that have been folded. `known`: see read_counters()."""
    for number, report in enumerate(folding.read(directory)):
        yield Process(f"{directory}/{folding.ENDED}/{number}", report)
    for _, process in read_counters(runs.counter_files(directory), known or {}):
        yield process


def fold(directory: Path, spared: Collection[int], write: Callable[[Process], object] | None) -> None:
    """Folds the processes of a run that have ended, except those with the ids `spared`. `write` is called for each process that has made calls
    and has written no report itself."""
    folded, gone = folding.read(directory), []
    for file, process in read_counters(runs.counter_files(directory), {}):
        if process.ended == runs.RUNNING or file.pid in spared or (process.ended == "exit" and file.alive):
            continue
        if write is not None and process.worked and process.ended != "exit":
            write(process)
        folding.add(folded, process.report)
        gone.append(file)
    if gone:
        folding.keep(directory, folded)
    for file in gone:
        library.remove_counters(library.find_library(), file.path)


def read_beside(directory: Path) -> list[Process]:
    """Processes without a launcher that have left counters beside a report because they could not write a report."""
    return [process for process in read_run(directory) if process.worked]


def of_host(processes: Sequence[Process], one: Process) -> list[Process]:
    return [process for process in processes if process.report["process"]["host"] == one.report["process"]["host"]]


def read_file(path: str) -> list[Process]:
    """The process of a report, and the processes that have left counters beside it or instead of it: its children, or itself before exec.
    Counters from another host belong to another run and are left out."""
    beside = Path(path + runs.BESIDE)
    left = read_beside(beside) if beside.is_dir() else []
    if left and not Path(path).exists():
        return of_host(left, max(left, key=lambda process: process.started))
    report = read_report(path)
    left = of_host(left, report)
    ended = report.started + report.report["process"]["elapsed_seconds"]
    if any(process.started > ended for process in left):
        return left  # the report is of an earlier run
    written = report.report["process"]["pid"]
    return [report, *(process for process in left if process.ended != "exit" or process.report["process"]["pid"] != written)]


def read_directory(directory: Path) -> list[Process]:
    """The processes of a run that keep their counters there and have made calls or used blocks, or else the reports there."""
    os.scandir(directory).close()  # raises an error if it cannot be read; glob() would find nothing
    if directory.name.endswith(runs.BESIDE):
        return read_beside(directory)
    if runs.counter_files(directory) or folding.read(directory):
        return [process for process in read_run(directory) if process.worked]
    reports = {str(path) for path in directory.glob("*.json") if not path.name.endswith(runs.MEMORY_SUFFIX)}
    left = {str(path).removesuffix(runs.BESIDE) for path in directory.glob(f"*{runs.BESIDE}") if path.is_dir()}
    return read_files(sorted(reports | left))


def read_files(paths: Sequence[str]) -> list[Process]:
    """The processes of several reports. A damaged one is left out, and one line on stderr says so, if others can be read."""
    processes: list[Process] = []
    damaged: list[CommandError] = []
    for path in paths:
        try:
            processes += read_file(path)
        except CommandError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise
            damaged.append(error)
    if damaged and not processes:
        raise damaged[0]
    for error in damaged:
        print(f"blastoff: left out: {printable.lines(str(error))}", file=sys.stderr)
    return processes


def read_job(paths: Sequence[str]) -> Job:
    """All files and directories, in the order of their ranks."""
    apart = [path for path in paths if not (path.endswith(runs.BESIDE) and path.removesuffix(runs.BESIDE) in paths)]  # others: with their reports
    directories = [path for path in apart if Path(path).is_dir()]
    processes = [process for path in directories for process in read_directory(Path(path))]
    processes += read_files([path for path in apart if path not in directories])
    if not processes:
        raise CommandError(f"{', '.join(paths)}: no report, and no counters of a process that made calls")
    return in_order(processes)

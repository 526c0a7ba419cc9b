"""Reading the JSON reports of a job."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from blastoff.errors import CommandError
from blastoff.report.job import Job, Process
from blastoff.report.schema import report_schema


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


def read_job(paths: Sequence[str]) -> Job:
    """All files, in the order of their ranks."""
    processes = [read_report(path) for path in paths]
    return Job(sorted(processes, key=lambda process: (process.report["process"]["rank"] or 0, process.report["process"]["pid"])))

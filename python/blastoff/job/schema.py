"""The published schema of reports."""

import json
from functools import cache
from typing import Any

from blastoff import library

SCHEMAS = (library.PACKAGE / "report.schema.json", library.PACKAGE.parent.parent / "share" / "report.schema.json")


@cache
def report_schema() -> dict[str, Any]:
    return json.loads(next(path for path in SCHEMAS if path.is_file()).read_text(encoding="utf-8"))


def sums() -> tuple[str, ...]:
    """The keys of the sums over all calls and over each routine: the counters of src/report/counters.def, and values computed from them."""
    return tuple(report_schema()["$defs"]["sums"]["properties"])

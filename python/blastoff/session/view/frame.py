"""Rows as a pandas DataFrame, or as our own table if pandas is not installed."""

import html
import math
from typing import Any

from blastoff import quantities
from blastoff.session.rows import Row

WORDS = {
    "offloaded_share": "share",
    "seconds": "wall s",
    "cpu_seconds": "CPU s",
    "device_seconds": "device s",
    "transfer_seconds": "moving s",
    "saved_seconds": "saved s",
    "flops": "GFLOP",
    "offloaded_flops": "on device",
}


def cell(name: str, value: Any) -> str:
    """A value as people read it."""
    if isinstance(value, str):
        return value
    if name.endswith("share"):
        return f"{100 * value:.0f} %"
    if name.endswith("seconds"):
        return "" if math.isnan(value) else quantities.seconds(value)
    if name.startswith("bytes"):
        return quantities.size(value)
    return quantities.number(value / 1e9) if name.endswith("flops") else quantities.count(value)


def heading(name: str) -> str:
    return WORDS.get(name, name.replace("bytes_", "").replace("_", " "))


class Rows(list[Row]):
    """A list of dicts that is displayed as a table."""

    def _cells(self) -> list[list[str]]:
        names = list(self[0])
        return [[heading(name) for name in names], *([cell(name, value) for name, value in row.items()] for row in self)]

    def __repr__(self) -> str:
        if not self:
            return "no calls so far"
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = []
        for row in cells:
            numbers = "".join(f"  {text:>{width}}" for text, width in zip(row[1:], widths[1:], strict=True))
            lines.append(f"{row[0]:<{widths[0]}}{numbers}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        if not self:
            return "<p>no calls so far</p>"
        head, *body = self._cells()
        headings = "".join(f"<th>{html.escape(text)}</th>" for text in head)
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in body)
        return f"<div style='overflow-x:auto'><table><thead><tr>{headings}</tr></thead><tbody>{rows}</tbody></table></div>"


def of(rows: list[Row]) -> Any:
    """The rows as a DataFrame if pandas can be imported, otherwise as Rows."""
    try:
        import pandas
    except ImportError:
        return Rows(rows)
    return pandas.DataFrame(rows)

"""The samples as comma-separated values."""

import csv
import io
from typing import Any

from blastoff.sampling import timeline

UNITS = dict.fromkeys(("processes", "minor_faults", "major_faults", "migrated_pages"), "") | dict.fromkeys(timeline.RATES, "_bytes_per_second")
UNITS["device_age"] = "_seconds"


def csv_text(document: dict[str, Any]) -> str:
    """A line for each sample: seconds since the start, the marked phase, then all values. Unknown values are empty."""
    lists = document["timeline"]
    names = [name for name in timeline.VALUES if name in lists]
    nodes = lists["resident_by_node"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["seconds", "phase", *(name + UNITS.get(name, "_bytes") for name in names), *(f"resident_node{node}_bytes" for node in nodes)])
    marks = list(document["marks"])
    phase = ""
    for place, time in enumerate(lists["time"]):
        while marks and marks[0]["time"] <= time:
            phase = marks.pop(0)["name"]
        writer.writerow([time, phase, *(lists[name][place] for name in names), *(nodes[node][place] for node in nodes)])
    return text.getvalue()

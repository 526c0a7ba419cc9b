"""Folds the processes of a run that have ended into one file, since a run may have any number of processes.

The first processes that did work keep reports of their own. Later ones are added up with processes of the same program that ended in the
same way on the same device.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from blastoff.job import runs
from blastoff.job.reuse import operand_reuse

ENDED = "ended"
"""The file's name; it lies in the directory for the larger files of a run."""
MAX_SINGLE, MAX_KINDS, MAX_SITES = 24, 48, 256
"""Most processes that keep reports of their own, most kinds of the further ones, and most call sites of a kind."""

Report = dict[str, Any]


def read(directory: Path) -> list[Report]:
    """The reports in the file. In a report that stands for several processes, `process.count` is their number."""
    try:
        return json.loads((runs.bulk(directory) / ENDED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []


def keep(directory: Path, folded: Iterable[Report]) -> None:
    """Replaces the file in one step."""
    path = runs.bulk(directory) / ENDED
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        unfinished.write_text(json.dumps(list(folded), separators=(",", ":")), encoding="utf-8")
        unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _kind(report: Mapping[str, Any]) -> tuple[Any, ...]:
    """The properties that two processes must share to be added up."""
    process, device, policy = report["process"], report["device"], report["policy"]
    if not report["totals"]["calls"] and not report.get("blocks"):
        return (process["ended"],)
    words = ("program", "command_line", "rank", "ended", "host")
    return (*(process[word] for word in words), device["kind"], device["name"], device["state"], policy["in_force"], policy["reason"])


def _number(report: Mapping[str, Any]) -> int:
    return report["process"].get("count", 1)


def add(folded: list[Report], report: Report) -> None:
    """Adds the report of a process."""
    worked = bool(report["totals"]["calls"] or report.get("blocks"))
    if worked and sum("count" not in one["process"] for one in folded) < MAX_SINGLE:
        folded.append(report)
        return
    report["process"]["count"] = 1
    kinds = [one for one in folded if "count" in one["process"]]
    same = next((one for one in kinds if _kind(one) == _kind(report)), None)
    if same is None and len(kinds) >= MAX_KINDS:
        same = next((one for one in kinds if one["process"]["ended"] == report["process"]["ended"]), kinds[0])
    if same is None:
        folded.append(report)
    else:
        _add_to(same, report)


def _sum(sums: Report, more: Mapping[str, Any], largest: Iterable[str] = ()) -> None:
    """Adds the numbers of `more` to `sums`, in nested dicts too. For the keys in `largest`, the larger number stays instead."""
    for key, value in more.items():
        if isinstance(value, dict):
            _sum(sums.setdefault(key, {}), value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            before = sums.get(key) or 0
            sums[key] = max(before, value) if key in largest else before + value


def _sum_each(parts: list[Report], more: Iterable[Report], keys: tuple[str, ...], add_up: Callable[[Report, Report], None] = _sum) -> None:
    """Adds each part of `more` to the part with the same values of `keys`, and appends parts that have no counterpart."""
    known = {tuple(part[key] for key in keys): part for part in parts}
    for part in more:
        name = tuple(part[key] for key in keys)
        if name in known:
            kept = {key: known[name][key] for key in keys}
            add_up(known[name], part)
            known[name].update(kept)
        else:
            parts.append(part)
            known[name] = part


def _add_sums(sums: Report, more: Report) -> None:
    _sum(sums, more)
    sums["operand_reuse"] = operand_reuse(sums)


def _add_site(site: Report, more: Report) -> None:
    volume = sum(one["mean_size"] ** 3 * one["calls"] for one in (site, more))
    threads = max(site["threads"], more["threads"])
    _sum_each(site["refusals"], more["refusals"], ("reason",))
    _add_sums(site, {key: value for key, value in more.items() if key != "refusals"})
    site |= {"mean_size": math.cbrt(volume / site["calls"]) if site["calls"] else 0, "threads": threads}


def _add_wall(sums: Report, more: Mapping[str, Any]) -> None:
    """Adds up wall times. Whether the processes called at the same time or not, blastoff/job/wall.py finds out from the spans. Earlier runs of one
    process are none of several."""
    one, other = ({**wall, "cpu_run": None} if wall else None for wall in (sums.get("wall"), more.get("wall")))
    sums["wall"] = one or other
    if not one or not other:
        return
    began, ended = min(one["began"], other["began"]), max(one["ended"], other["ended"])
    _sum(one, {name: value for name, value in other.items() if name != "cpu_run"})
    one |= {"began": began, "ended": ended}


def _add_to(sums: Report, more: Report) -> None:
    """Adds up what can be added up. All other values of `sums` stay as they are."""
    process, other = sums["process"], more["process"]
    process["count"] = _number(sums) + _number(more)
    process["elapsed_seconds"] = max(process["elapsed_seconds"], other["elapsed_seconds"])
    process["incomplete"] = process.get("incomplete", False) or other.get("incomplete", False)
    _add_wall(sums, more)
    _add_sums(sums["totals"], more["totals"])
    _sum_each(sums["routines"], more["routines"], ("name",), _add_sums)
    _sum_each(sums["sizes"], more["sizes"], ("min_size",))
    _sum_each(sums["refusals"], more["refusals"], ("reason",))
    for fate in ("bytes_overwritten", "bytes_touched", "bytes_brought_home"):
        sums["policy"][fate] = sums["policy"].get(fate, 0) + more["policy"].get(fate, 0)
    _sum_each(sums["policy"]["copied_operands"], more["policy"]["copied_operands"], ("reason",))
    _sum_each(sums["call_sites"], more["call_sites"], ("routine", "object", "offset", "python"), _add_site)
    sums["call_sites"] = sorted(sums["call_sites"], key=lambda site: -site["cpu_seconds"] - site["device_seconds"])[:MAX_SITES]
    _sum_each(sums["devices"], more["devices"], ("name", "index", "memory", "memory_budget", "memory_peak"))
    _sum(sums["verification"], more["verification"], largest=("worst_relative_error",))
    _sum(sums["interception"], more["interception"], largest=("objects_seen", "functions_found", "seconds"))
    unseen = sums["interception"].setdefault("unseen", [])
    _sum_each(unseen, more["interception"].get("unseen", []), ("family", "function", "object"))
    counted = sums["interception"].setdefault("counted", [])
    _sum_each(counted, more["interception"].get("counted", []), ("family", "routine"))
    sums["largest_small_size"] = max(sums["largest_small_size"], more["largest_small_size"])
    for part in ("blocks", "allocation", "placement"):
        if more.get(part) and sums.get(part):
            _sum(sums[part], more[part], largest=("node",))
        elif more.get(part):
            sums[part] = more[part]

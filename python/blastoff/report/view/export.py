"""A job for other programs: JSON, CSV, and a trace for the viewers of Chrome's format."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from blastoff.job import metering
from blastoff.job.call_sites import CallSite, call_sites
from blastoff.job.processes import Job, Sums
from blastoff.job.view import words

MICROSECONDS = 1e6


def sums_of(sums: Sums) -> dict[str, float]:
    """All counters, summed over processes, and the operand reuse, which is computed from them."""
    return sums.counters | {"operand_reuse": sums.operand_reuse}


def verdict_of(job: Job) -> dict[str, Any]:
    """The verdict in seconds of the job's wall time; null: not known. `at_least`: the saving may be larger."""
    unknown = job.has_own_clock
    return {
        "text": words.verdict(job),
        "saved_seconds": job.verdict.saved,
        "at_least": not job.verdict.alike,
        "known_share": job.verdict.known_share,
        "seconds": job.wall.seconds,
        "seconds_outside_calls": None if unknown else job.wall.outside,
    }


def site_of(site: CallSite) -> dict[str, Any]:
    return {
        "place": site.name,
        "object": site.place.object,
        "offset": site.place.offset,
        "python": site.python,
        "routine": site.routine,
        "threads": site.threads,
        "mean_size": site.mean_size,
        **sums_of(site.sums),
        "refusals": dict(site.refusals),
    }


def energy_of(job: Job) -> dict[str, Any] | None:
    """Joules by kind, for the job and its phases; null if no energy was read."""
    sums = metering.energy_of(job)
    if sums is None:
        return None
    return {
        "joules": sums.joules,
        "seconds": sums.seconds,
        "gpus": sums.gpus,
        "unreadable": sums.unreadable,
        "phases": [{"name": name, "seconds": seconds, "joules": joules} for name, (seconds, joules) in sums.phases.items()],
    }


def as_json(job: Job) -> str:
    """The job's sums as one JSON object."""
    document = {
        "processes": [process.report["process"] | {"totals": sums_of(process.totals)} for process in job.processes],
        "verdict": verdict_of(job),
        "totals": sums_of(job.totals),
        "routines": [{"name": name, **sums_of(sums)} for name, sums in job.routines.items()],
        "call_sites": [site_of(site) for site in call_sites(job)],
        "sizes": [{"min_size": size, **sums_of(sums)} for size, sums in job.sizes().items()],
        "refusals": job.refusals(),
        "copied": job.copied(),
        "verification": job.verification(),
        "energy": energy_of(job),
    }
    return json.dumps(document, indent=2) + "\n"


def as_csv(job: Job) -> str:
    """A row for each routine of each process, with all counters."""
    out = io.StringIO()
    names = list(sums_of(Sums()))
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["host", "pid", "rank", "program", "routine", *names])
    for process in job.processes:
        about = process.report["process"]
        for routine in process.report["routines"]:
            sums = sums_of(Sums(routine))
            rank = "" if about["rank"] is None else about["rank"]
            rows.writerow([about["host"], about["pid"], rank, about["program"], routine["name"], *(sums[name] for name in names)])
    return out.getvalue()


def _trace_events(job: Job) -> Iterator[dict[str, Any]]:
    begin = min((process.started for process in job.processes), default=0)
    for number, process in enumerate(job.processes):
        yield {"name": "process_name", "ph": "M", "pid": number, "args": {"name": process.label}}
        for call in process.timeline:
            yield {
                "name": call["routine"],
                "cat": "device" if call["on_device"] else "CPU",
                "ph": "X",
                "pid": number,
                "tid": call["thread"],
                "ts": MICROSECONDS * (process.started - begin + call["start"]),
                "dur": MICROSECONDS * call["seconds"],
                "args": {"where": "device" if call["on_device"] else "CPU", "size": call["size"], "waiting for data, s": call["transfer_seconds"]},
            }


def as_trace(job: Job) -> str:
    """The time line in the Trace Event Format, which chrome://tracing and Perfetto read."""
    return json.dumps({"displayTimeUnit": "ms", "traceEvents": list(_trace_events(job))}) + "\n"

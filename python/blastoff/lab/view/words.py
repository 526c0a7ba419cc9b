"""Results in words, for the terminal, the page of findings and the HTML page."""

from typing import Any

from blastoff import quantities

MODES = (
    "explicit",
    "managed",
    "managed prefetch",
    "managed prefetch back",
    "managed remote",
    "system",
    "system prefetch",
    "system prefetch back",
    "system base pages",
    "system huge pages",
    "page-locked",
    "blocks",
    "blocks over malloc",
    "chunks",
    "Qiskit Aer, CPU",
    "Qiskit Aer, GPU",
)
Table = tuple[list[str], list[list[str]]]
"""Headings and rows."""


def time(seconds: float | None) -> str:
    return "-" if seconds is None else quantities.duration(seconds)


def facts(document: dict[str, Any]) -> list[tuple[str, str]]:
    """The device, the machine and the run."""
    device, machine = document["device"], document["machine"]
    memory = device["memory_bytes"]
    size = "" if memory is None else f", {quantities.size(memory)}, {quantities.size(device['memory_free_bytes'])} free"
    kinds = f"pages of {machine['page_bytes'] // 1024} KiB, huge pages {machine['huge_pages']}, 64 KiB pages {machine['huge_pages_64k']}"
    right = f"{document['wrong']} wrong" if document["wrong"] else "every result agrees with the CPU's"
    simulated = "; the times of the simulated device say nothing about a GPU" if device["kind"] == "simulated" else ""
    request = document["request"]
    command = request.get("command") or f"{request['set']}{', quick' if request['quick'] else ''}"
    lines = [
        ("device", f"{device['name']} ({device['software']}){size}"),
        ("context", f"{time(device['context_seconds'])}, compiling the kernels {time(device['compile_seconds'])}"),
        ("machine", f"{machine['processor']}, {machine['cpus']} CPUs, Linux {machine['kernel']}, {kinds}"),
        ("run", f"{command}: {quantities.seconds(document['seconds'])} s"),
        ("results", right + simulated),
    ]
    if document["problem"]:
        lines.append(("ended", document["problem"]))
    return lines


def daxpy(rows: list[dict[str, Any]]) -> Table:
    """The time of one round after the first, by mode."""
    modes = [mode for mode in MODES if any(row["mode"] == mode for row in rows)]
    cells = {(row["bytes"], row["inner"], row["mode"]): time(row["total_later"]) for row in rows}
    body = []
    for size, inner in sorted({key[:2] for key in cells}):
        body.append([quantities.size(size), str(inner), *[cells.get((size, inner, mode), "-") for mode in modes]])
    return ["size", "launches per touch", *modes], body


def pages(rows: list[dict[str, Any]]) -> Table:
    body = []
    for row in rows:
        first, later = row.get("first"), row.get("second", row.get("used_later", row.get("late")))
        if row["experiment"] == "granularity":
            moved = "nothing moved" if row["distance"] is None else f"{row['distance'] // 1024} KiB"
            body.append([row["experiment"], row["mode"], row["by"], quantities.size(row["bytes"]), time(row["move_seconds"]), moved])
        else:
            detail = row.get("by", row.get("pages", ""))
            body.append([row["experiment"], row["mode"], detail, quantities.size(row["bytes"]), time(first), time(later)])
    return ["experiment", "memory", "by", "size", "first", "later"], body


def stream(rows: list[dict[str, Any]]) -> Table:
    """The rates, one line for each side and memory."""
    lines: dict[tuple[str, str, str, int], dict[str, str]] = {}
    for row in rows:
        key = row["by"], row["memory"], row["mode"], row["bytes"]
        lines.setdefault(key, {})[row["operation"]] = f"{quantities.size(row['rate'])}/s"
    loops = ("copy", "mul", "add", "triad")
    body = [[by, memory, mode, quantities.size(size), *[rates[loop] for loop in loops]] for (by, memory, mode, size), rates in lines.items()]
    return ["by", "memory", "kind", "array", *loops], body


def oversubscription(rows: list[dict[str, Any]]) -> Table:
    body = []
    for row in sorted(rows, key=lambda row: (row["ratio"], MODES.index(row["mode"]))):
        passes = [time(row[key]) for key in ("pass_first", "pass_later", "total")]
        body.append([row["mode"], f"{row['ratio']:g}", quantities.size(row["bytes"]), *passes])
    return ["memory", "data / free", "size", "first pass", "later pass", "total"], body


def applications(rows: list[dict[str, Any]]) -> Table:
    phases = ("allocation", "initialisation", "moving", "computation", "reading", "release", "total")
    body = [[row["application"], row["problem"], row["mode"], *[time(row[phase] or None) for phase in phases]] for row in rows]
    return ["application", PROBLEM, "memory", *phases], body


def oversubscribed(rows: list[dict[str, Any]]) -> Table:
    """The smallest and the largest ratio are measured first; the table has them in order."""
    problems = list(dict.fromkeys((row["application"], row["problem"]) for row in rows))
    in_order = sorted(rows, key=lambda row: (problems.index((row["application"], row["problem"])), row["ratio"]))
    headings, body = applications(in_order)
    ratios = [f"{row['ratio']:.3g}" for row in in_order]
    return [*headings[:3], "data / free", *headings[3:]], [[*cells[:3], ratio, *cells[3:]] for cells, ratio in zip(body, ratios, strict=True)]


PROBLEM = "problem"
DROPPED = ("release", "allocation", "initialisation", "reading", "moving")
"""Columns that are left out on a narrow terminal, the first one first."""

TABLES = {"daxpy": daxpy, "pages": pages, "stream": stream, "oversubscription": oversubscription, "applications": applications}
TABLES |= {"oversubscribed": oversubscribed}

TITLES = {
    "daxpy": ("DAXPY", "One round: the CPU touches an array, then kernels use it. Rounds after the first; medians."),
    "pages": ("Pages", "What the first touch costs, how far a touch moves its neighbours, and what page sizes change."),
    "stream": ("STREAM", "Best rates of loops over large arrays; the CPU uses all its cores."),
    "oversubscription": ("Oversubscription", "Kernels pass over data; a ballast leaves less or more than its size free on the device."),
    "applications": ("Applications", "Each phase timed apart. Moving: copies or prefetch. Reading: the CPU reads the result."),
    "oversubscribed": ("Applications that do not fit", "The same, where the arrays take more or less than what the device has free."),
}


def unable(document: dict[str, Any]) -> list[tuple[str, str]]:
    """What this machine cannot do, and what there was no time for: each with its reason and the cases."""
    concerned: dict[str, list[str]] = {}
    for entry in document["cannot"]:
        concerned.setdefault(entry["why"], []).append(f"{entry['set']}: {entry['what']}")
    lines = [(reason, shorten(subjects)) for reason, subjects in concerned.items()]
    if document["skipped"]:
        lines.append(("no time (--minutes gives more)", shorten([f"{entry['set']}: {entry['what']}" for entry in document["skipped"]])))
    return lines


def shorten(subjects: list[str]) -> str:
    rest = len(subjects) - 4
    return "; ".join(subjects[:4]) + (f"; and {rest} more" if rest > 0 else "")

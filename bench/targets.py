"""Makes the rows of the table from recorded runs: one function per kind of row. Each row is a ratio within one set of results."""

from __future__ import annotations

import dataclasses
import json
import statistics

import cases

COLUMNS = ("cpu", "cpu-own", "cpu-wheel", "nvblas", "nvblas-autopin", "copy", "first-use", "limit")


@dataclasses.dataclass
class Row:
    case: str
    unit: str  # unit of the columns: "ms", "1/s", "ns"
    columns: dict[str, float]
    what: str  # the figure that has a target, in words
    figure: float | None
    figure_unit: str
    target: float
    at_least: bool

    @property
    def met(self) -> bool | None:
        if self.figure is None:
            return None
        return self.figure >= self.target if self.at_least else self.figure <= self.target

    def to_json(self) -> dict:
        return dataclasses.asdict(self) | {"met": self.met}

    @classmethod
    def from_json(cls, row: dict) -> Row:
        return cls(**{field.name: row[field.name] for field in dataclasses.fields(cls)})


class Runs:
    """Looks up figures in the recorded runs."""

    def __init__(self, results: dict):
        self.results = results
        self.suite = cases.suite(results["quick"])

    def lines(self, case: str, mode: str, operation: str | None = None) -> list[dict]:
        return [
            line
            for run in self.results["runs"]
            if run["case"] == case and run["mode"] == mode
            for line in run["lines"]
            if operation is None or line.get("operation") == operation
        ]

    def modes(self, case: str) -> list[str]:
        return [mode for mode in COLUMNS if self.lines(case, mode)]

    def per_call(self, case: str, operation: str) -> dict[str, float]:
        """Milliseconds per call after the first, as the median over calls and then over processes; and the limit."""
        columns = {}
        for mode in self.modes(case):
            values = [1e3 * line["seconds"]["median"] for line in self.lines(case, mode, operation) if "seconds" in line]
            if values:
                columns[mode] = statistics.median(values)
        limit = self.limit(operation)
        if limit is not None:
            columns["limit"] = 1e3 * limit
        return columns

    def limit(self, operation: str) -> float | None:
        """Seconds of the call on resident matrices."""
        return next((line["seconds"]["median"] for line in self.lines("limit", "limit", operation)), None)

    def bandwidth(self, way: str) -> float | None:
        return next((line["bandwidth"][way] for line in self.lines("limit", "limit") if "bandwidth" in line), None)

    def write_back(self, operation: str) -> float | None:
        """Seconds to copy the result back at the measured bandwidth of page-locked memory."""
        bandwidth = self.bandwidth("from_device")
        return cases.result_bytes(operation) / bandwidth if bandwidth else None


def _ratio(numerator: float | None, denominator: float | None) -> float | None:
    return numerator / denominator if numerator is not None and denominator else None


def _sum(*parts: float | None) -> float | None:
    return None if any(part is None for part in parts) else sum(parts)


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _parsec_rows(runs: Runs) -> list[Row]:
    operation = runs.suite.parsec
    columns = runs.per_call("parsec", operation)
    nvblas = [columns[mode] for mode in ("nvblas", "nvblas-autopin") if mode in columns]
    best = min(nvblas) if nvblas else None
    first_use = columns.get("first-use")
    firsts: dict[str, float] = {}
    for mode in runs.modes("parsec"):
        firsts[mode] = 1e3 * statistics.median(line["first_seconds"] for line in runs.lines("parsec", mode, operation))
    bytes_in = next((line["bytes"]["a"] + line["bytes"]["b"] for line in runs.lines("parsec", "first-use", operation)), None)
    speed = _scaled(_ratio(bytes_in, firsts.get("first-use")), 1e-6)
    return [
        Row(operation, "ms", columns, "first-use / limit", _ratio(first_use, columns.get("limit")), "", 1.5, False),
        Row(operation, "ms", columns, "best NVBLAS / first-use", _ratio(best, first_use), "", 150, True),
        Row(operation, "ms", columns, "NVBLAS / copy", _ratio(columns.get("nvblas"), columns.get("copy")), "", 4, True),
        Row(operation + " first call", "ms", firsts, "first-use, uploaded bytes", speed, "GB/s", 25, True),
    ]


def _square_rows(runs: Runs) -> list[Row]:
    operation = runs.suite.square
    columns = runs.per_call("square", operation)
    bound = _scaled(_sum(runs.limit(operation), runs.write_back(operation)), 1e3)
    return [
        Row(
            operation,
            "ms",
            columns,
            "first-use / (limit + C back)",
            _ratio(columns.get("first-use"), bound),
            "",
            1.15,
            False,
        ),
        Row(operation, "ms", columns, "NVBLAS / copy", _ratio(columns.get("nvblas"), columns.get("copy")), "", 4, True),
    ]


def _rewrite_row(runs: Runs) -> Row:
    operation = runs.suite.square
    columns = {}
    for mode in ("copy", "first-use"):
        totals = [line["calling_seconds"] + line["rewriting_seconds"] for line in runs.lines("rewrite", mode, operation)]
        if totals:
            columns[mode] = 1e3 * statistics.median(totals)
    ratio = _ratio(columns.get("first-use"), columns.get("copy"))
    return Row(operation + " A rewritten, 20 calls", "ms", columns, "first-use / copy", ratio, "", 1.1, False)


def _level3_row(runs: Runs, operation: str) -> Row:
    columns = runs.per_call("level3", operation)
    bound = _scaled(_sum(runs.limit(operation), runs.write_back(operation)), 1e3)
    ratio = _ratio(columns.get("first-use"), bound)
    return Row(operation, "ms", columns, "first-use / (limit + write-back)", ratio, "", 1.3, False)


def _thread_rows(runs: Runs) -> list[Row]:
    operation, count = runs.suite.threads, runs.suite.thread_count

    def rates(case: str) -> dict[str, float]:
        return {mode: runs.lines(case, mode, operation)[0]["rate"] for mode in runs.modes(case) if mode != "limit"}

    one, many = rates("one-thread"), rates("threads")
    back = runs.write_back(operation)
    arithmetic = next((line["rate"] for line in runs.lines("limit-rate", "limit", operation)), None)
    allowed = min(1 / back, arithmetic) if back and arithmetic else None
    if allowed:
        many = many | {"limit": allowed}
    label = f"{operation} x {count} threads"
    return [
        Row(operation + " x 1 thread", "1/s", one, f"{count} threads / 1 thread",
            _ratio(many.get("first-use"), one.get("first-use")), "", 1.0, True),
        Row(label, "1/s", many, "first-use / allowed by link or arithmetic",
            _ratio(many.get("first-use"), allowed), "", 0.8, True),
    ]  # fmt: skip


def _small_row(runs: Runs) -> Row:
    operation = runs.suite.small
    columns = {}
    for mode in ("cpu", "copy", "first-use"):
        values = [line["nanoseconds"]["min"] for line in runs.lines("small", mode, operation)]
        if values:
            columns[mode] = min(values)  # other programs on the machine can only make a call slower
    overhead = columns["first-use"] - columns["cpu"] if {"cpu", "first-use"} <= columns.keys() else None
    return Row(operation + " small", "ns", columns, "over the direct call", overhead, "ns", 50, False)


def _startup_row(runs: Runs) -> Row:
    startup = runs.results.get("startup")
    columns = {}
    if startup:
        columns = {"cpu": 1e3 * startup["plain_seconds"], "first-use": 1e3 * startup["preloaded_seconds"]}
    difference = 1e3 * startup["difference_seconds"] if startup else None
    return Row("/bin/true", "ms", columns, "over not preloading", difference, "ms", 1, False)


def rows(results: dict) -> list[Row]:
    """The rows of the table: computed from the runs, or taken from a summary, which has no runs."""
    if "runs" not in results:
        return [Row.from_json(row) for row in results["rows"]]
    runs = Runs(results)
    return [
        *_parsec_rows(runs),
        *_square_rows(runs),
        _rewrite_row(runs),
        *(_level3_row(runs, operation) for operation in runs.suite.level3),
        *_thread_rows(runs),
        _small_row(runs),
        _startup_row(runs),
    ]


def _not_as_asked(run: dict) -> list[str]:
    """How the run differs from the intended one, according to Blastoff's own report."""
    report = run.get("report")
    if report is None:
        return ["no report: was the library loaded?"]
    problems = []
    if report["totals"]["offloaded"] == 0:
        reasons = ", ".join(f"{refusal['reason']} ({refusal['calls']})" for refusal in report["refusals"])
        problems.append(f"nothing was offloaded: {reasons}")
    policy = report["policy"]
    if policy["in_force"] not in (run["mode"], ""):
        problems.append(f"policy in force: {policy['in_force']}: {policy['reason']}")
    copied = policy["copied_operands"] if run["mode"] == "first-use" else []
    return problems + [f"operands copied: {json.dumps(copied)}"] * bool(copied)


def complaints(results: dict) -> list[str]:
    """Reasons to doubt the figures: failed runs, results that differ between modes, calls that stayed on the CPU."""
    if "runs" not in results:
        return results["doubtful"]
    found = []
    reference: dict[tuple, tuple[str, dict]] = {}
    for run in results["runs"]:
        where = f"{run['case']} under {run['mode']}"
        if "failure" in run:
            found.append(f"{where}: {run['failure']}: " + " | ".join(run.get("stderr", [])[-2:]))
        if run["mode"] in ("copy", "first-use") and run["case"] != "small":
            found += [f"{where}: {problem}" for problem in _not_as_asked(run)]
        for line in run["lines"]:
            for kind in ("checksum", "final_checksum"):
                if kind not in line:
                    continue
                value = line[kind]
                key = (run["case"], line["operation"], value["calls"])
                other_mode, other = reference.setdefault(key, (run["mode"], value))
                tolerance = 1e-5 if line["operation"][0] in "sc" else 1e-11
                if not abs(value["sum"] - other["sum"]) <= tolerance * other["magnitude"]:
                    found.append(f"{where}: {line['operation']}: result after {value['calls']} calls is not that of {other_mode}")
    return found

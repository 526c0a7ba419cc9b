"""Runs the programs, and records each run as one entry of the results."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import statistics
import subprocess
import time

import cases
import modes

ROOT = pathlib.Path(__file__).resolve().parent.parent


def within_checkout(argument: str) -> str:
    """The path of a file relative to this checkout, so that results do not contain the checkout's place."""
    path = pathlib.Path(argument)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else argument


def _run(command: list[str], environment: dict[str, str], limit: float) -> tuple[int | None, str, str]:
    """Runs a program and returns its exit status (None: killed after `limit` seconds), stdout and stderr. Leaves no process of it running."""
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=limit)
            return process.returncode, output, errors
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            return None, output, errors
        except BaseException:  # after an interruption, the program must not go on measuring
            os.killpg(process.pid, signal.SIGKILL)
            raise


def _json_lines(text: str) -> list[dict]:
    """The program's JSON lines. NVBLAS and other libraries may print further lines between them."""
    lines = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            lines.append(value)
    return lines


def _failure(status: int | None, limit: float) -> str:
    if status is None:
        return f"killed after {limit:g} s"
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"


class Recorder:
    """The list of runs. It is saved after each run, so that an interrupted benchmark keeps its results."""

    def __init__(self, results: dict, path: pathlib.Path, scratch: pathlib.Path, programs: pathlib.Path, limit: float):
        self.results, self.path, self.scratch, self.programs, self.limit = results, path, scratch, programs, limit
        results.setdefault("runs", [])

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps(self.results, indent=1) + "\n")
        temporary.replace(self.path)

    def run(self, case: str, mode: modes.Mode, command: list[str], **settings: str) -> dict:
        report = self.scratch / "report.json"
        report.unlink(missing_ok=True)
        if mode.name in modes.BLASTOFF:
            settings["BLASTOFF_REPORT"] = str(report)
        started = time.monotonic()
        status, output, errors = _run(command, mode.environment(**settings), self.limit)
        entry = {
            "case": case,
            "mode": mode.name,
            "command": [pathlib.Path(command[0]).name, *map(within_checkout, command[1:])],
            "wall_seconds": round(time.monotonic() - started, 3),
            "lines": _json_lines(output),
        }
        if status != 0:
            entry["failure"] = _failure(status, self.limit)
        if errors.strip():
            entry["stderr"] = errors.strip().splitlines()[-8:]
        if report.exists():
            entry["report"] = _read_report(report)
        self.results["runs"].append(entry)
        self.save()
        return entry

    def run_case(self, case: cases.Case, mode: modes.Mode) -> list[dict]:
        command = case.command(str(self.programs), mode.name)
        return [self.run(case.name, mode, command) for _ in range(case.processes.get(mode.name, 1))]


def _read_report(path: pathlib.Path) -> dict:
    """The parts of Blastoff's report that explain a figure."""
    try:
        report = json.loads(path.read_text())
    except ValueError:
        return {"unreadable": True}
    kept = ("blastoff", "device", "policy", "interception", "totals", "refusals", "verification")
    return {key: report[key] for key in kept if key in report}


def startup(command: list[str], plain: dict[str, str], preloaded: dict[str, str], pairs: int) -> dict:
    """Median wall times of a program that does nothing, run in turns with and without preloading."""
    times: dict[str, list[float]] = {"plain": [], "preloaded": []}
    for _ in range(pairs):
        for name, environment in (("plain", plain), ("preloaded", preloaded)):
            started = time.perf_counter()
            process = os.posix_spawn(command[0], command, environment)
            _, status = os.waitpid(process, 0)
            times[name].append(time.perf_counter() - started)
            if status != 0:
                raise SystemExit(f"{command[0]} ended with wait status {status}")
    differences = [b - a for a, b in zip(times["plain"], times["preloaded"], strict=True)]
    return {
        "pairs": pairs,
        "plain_seconds": statistics.median(times["plain"]),
        "preloaded_seconds": statistics.median(times["preloaded"]),
        "difference_seconds": statistics.median(differences),
    }

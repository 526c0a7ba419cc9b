"""A machine model from measurements: its content, its place, and whether it is valid (share/machine.schema.json)."""

import datetime
import json
import os
import platform
import re
from pathlib import Path
from typing import Any

from blastoff import files, library
from blastoff.errors import CommandError

SCHEMAS = (library.PACKAGE / "machine.schema.json", library.PACKAGE.parent.parent / "share" / "machine.schema.json")
SITE = Path("/etc/blastoff/machines")
READING = 4
"""Bytes that a product of a real matrix and a vector reads for each operation."""


def cpu_name() -> str:
    """The CPU's name, read as the library reads it (platform::cpu_name)."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(r"^model name[^:\n]*:[ \t]*(.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def rounded(value: Any) -> Any:
    """Rounds all numbers to four significant digits, since the further ones are noise."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return {key: rounded(each) for key, each in value.items()} if isinstance(value, dict) else value


def host_part(blas: Path | None, measured: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """The model's part about the CPU; `measured` holds the rates by number of threads."""
    cores = len(os.sched_getaffinity(0))
    host: dict[str, Any] = {"name": platform.node(), "cpu": cpu_name(), "cores": cores}
    if blas is None or not measured:
        return host
    host["blas"] = {"file": str(blas), "description": next(iter(measured.values()))["description"]}
    host["rates"] = [
        {"family": row["family"], "precision": row["precision"], "threads": threads, "points": row["points"]}
        for threads, of_threads in sorted(measured.items())
        for row in of_threads["rates"]
    ]
    reading = [row["points"][-1][1] for row in host["rates"] if (row["family"], row["precision"], row["threads"]) == ("gemv", "d", cores)]
    if reading:
        host["memory_rate"] = READING * reading[0]
    return host


def assemble(device: dict[str, Any], blas: Path | None, measured: dict[int, dict[str, Any]], quick: bool) -> dict[str, Any]:
    """The whole model."""
    host = host_part(blas, measured)
    if "cpu_device_memory_rate" in device:
        host["device_memory_rate"] = device["cpu_device_memory_rate"]
    properties = device["device"]
    gpu = {"names": [properties["name"]], "software": properties["software"], "memory": properties["memory"]}
    gpu |= {key: device[key] for key in ("memory_rate", "open_seconds", "close_seconds", "launch_seconds", "call_seconds", "rates") if key in device}
    source = {"kind": "measured", "date": datetime.date.today().isoformat(), "version": library.version()} | ({"quick": True} if quick else {})
    model = {"blastoff_machine": 1, "name": f"{properties['name']} on {host['name']}, {host['cores']} cores", "source": source, "gpu": gpu}
    model |= {key: device[key] for key in ("link", "pinning", "tracking") if key in device}
    return rounded(model | {"host": host})


def validate(model: dict[str, Any]) -> bool:
    """Checks the model against the schema and raises CommandError if it does not fit. Returns False if Python's jsonschema is not installed."""
    try:
        import jsonschema
    except ImportError:
        return False
    schema = json.loads(next(path for path in SCHEMAS if path.is_file()).read_text(encoding="utf-8"))
    try:
        jsonschema.validate(model, schema)
    except jsonschema.ValidationError as error:
        raise CommandError(f"calibrate: the model is not valid: {error.message}", 1) from error
    return True


def text_of(model: dict[str, Any]) -> str:
    """JSON with a line for each row of rates."""
    rows: list[str] = []

    def as_line(match: re.Match[str]) -> str:
        return rows[int(match[1])]

    def marked(value: Any) -> Any:
        if isinstance(value, dict) and "points" in value:
            rows.append(json.dumps(value))
            return f"row {len(rows) - 1}"
        if isinstance(value, list):
            return [marked(each) for each in value]
        return {key: marked(each) for key, each in value.items()} if isinstance(value, dict) else value

    return re.sub(r'"row (\d+)"', as_line, json.dumps(marked(model), indent=2)) + "\n"


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def place(kind: str, gpu: str, system: bool) -> Path:
    """The path where the library looks for the model (src/runtime/models.h)."""
    if system:
        return SITE / f"{slug(gpu)}.json"
    cache = files.user_cache()
    if cache is None:
        raise CommandError("calibrate: neither HOME nor XDG_CACHE_HOME names a folder; --output FILE says where the model goes", 1)
    return cache / "machines" / (f"{platform.node()}.json" if kind == "cuda" else f"{platform.node()}-{kind}.json")


def check_place(path: Path) -> None:
    """Raises CommandError if the file cannot be written, before minutes are spent on what goes there."""
    if path.exists() and not path.is_file():
        raise CommandError(f"calibrate: {path} is {'a directory' if path.is_dir() else 'a device or a pipe'}; --output takes a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.touch()
        beside.unlink()
    except OSError as error:
        raise CommandError(f"calibrate: cannot write {path}: {error.strerror}", 1) from error


def write(path: Path, text: str) -> None:
    """Replaces the file in one step, since programs may read it at any time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise CommandError(f"calibrate: cannot write {path}: {error.strerror}", 1) from error

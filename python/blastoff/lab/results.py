"""The results as one JSON document (share/lab.schema.json)."""

from typing import Any

from blastoff.lab import host
from blastoff.lab.device import Device
from blastoff.lab.failures import Cannot, DeviceFailed
from blastoff.lab.findings import findings
from blastoff.lab.session import Session


def describe_device(device: Device) -> dict[str, Any]:
    """The device; its memory is not known if it has failed."""
    try:
        free, total = device.memory()
    except (Cannot, DeviceFailed):
        free = total = None
    return {
        "kind": device.kind,
        "name": device.name,
        "software": device.software,
        "memory_bytes": total,
        "memory_free_bytes": free,
        "context_seconds": device.context_seconds,
        "compile_seconds": device.compile_seconds,
        "attributes": device.attributes() | device.opened_blocks(),
    }


def describe(session: Session) -> dict[str, Any]:
    """What the session measured."""
    rows = {name: part.rows for name, part in session.sets.items()}
    return {
        "machine": host.facts(),
        "largest_bytes": session.largest,
        "sets": {name: {"rules": part.rules, "rows": part.rows} for name, part in session.sets.items()},
        "wrong": sum(not row["right"] for part in rows.values() for row in part),
        "cannot": session.cannot,
        "skipped": session.skipped,
        "findings": findings(rows, session.device.kind == "simulated", session.device.why_not("system")),
    }

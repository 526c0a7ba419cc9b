"""What moving and placing cost on a coherent machine: written to bench/results/, and held against the targets."""

import datetime
import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import offload
from check import REPORT, Check, Complaints, program
from offload import Outcome

from checks import platform
from checks.coherent import kernel

NODES = (3072, 2560)  # MiB
MATRIX = 2048  # MiB
RESULTS = offload.ROOT / "bench" / "results"


def without_emulation() -> dict:
    """The part that needs no second node, on this machine itself."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        figures = offload.BUILD / "tests" / "machine" / "figures"
        subprocess.run([figures, "0", "0", "0", str(MATRIX), report], check=True, stdout=subprocess.DEVNULL)
        return json.loads(report.read_text())


def rate(report: dict, what: str, pages: str) -> float:
    return next(entry["best_gb_per_second"] for entry in report["moving"] if entry["what"] == what and entry["pages"] == pages)


def judged(outcome: Outcome) -> Complaints:
    if outcome.status != 0 or not outcome.report:
        return [f"status {outcome.status}", "no figures"]
    version = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    machine = {"emulator": version, "nodes_mib": NODES, "note": "software emulation: rates hold against each other, not against hardware"}
    native = without_emulation()
    kept = {"machine": machine, **outcome.report, "in_place_without_emulation": native["in_place"]}
    (RESULTS / f"gh-x86-emulated-{datetime.date.today()}.json").write_text(json.dumps(kept, indent=1) + "\n")
    complaints = []
    for pages in ("small", "huge"):
        raw = max(rate(outcome.report, f"move_pages, {way}", pages) for way in ("one call", "two threads"))
        share = rate(outcome.report, "first use", pages) / raw
        if share < 0.9:
            complaints.append(f"first use moves {pages} pages at {share:.2f} of move_pages itself")
    for place, uses in (("emulated", outcome.report["in_place"]), ("on this machine", native["in_place"])):
        slow = [use for use in uses if use["best_nanoseconds"] >= 1000]
        complaints += [f"{place}: a use in place of {use['what']} takes {use['best_nanoseconds']:.0f} ns" for use in slow]
    return complaints


def checks() -> Sequence[Check]:
    measured = program("figures", 1, 256, 5, MATRIX, REPORT)
    return [Check("moving, placing and using in place", measured, judged, before=kernel(), seconds=800), platform.cost_of_tracking(MATRIX)]

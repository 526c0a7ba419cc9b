"""The cost of moving and placing matrices on a coherent machine. Writes it to bench/results/, and compares it with the targets."""

import datetime
import json
import statistics
import subprocess
import sys
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

sys.path.append(str(offload.ROOT / "bench"))
import summary  # noqa: E402


def without_emulation() -> dict:
    """Measures the part that needs no second node on this machine itself."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        figures = offload.BUILD / "tests" / "machine" / "figures"
        subprocess.run([figures, "0", "0", "0", str(MATRIX), report], check=True, stdout=subprocess.DEVNULL)
        return json.loads(report.read_text())


def shares_of_raw(report: dict, pages: str) -> dict[str, float]:
    """The rates of first use divided by those of move_pages: medians over the rounds. In each round, all ways took turns."""
    rates = {entry["what"]: entry["gb_per_second"] for entry in report["moving"] if entry["pages"] == pages}
    return {
        raw: round(statistics.median(moved / of_raw for moved, of_raw in zip(rates["first use"], rates[raw], strict=True)), 3)
        for raw in ("move_pages, one call", "move_pages, two threads")
    }


def judged(outcome: Outcome) -> Complaints:
    if outcome.status != 0 or not outcome.report:
        return [f"status {outcome.status}", "no figures"]
    version = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    machine = {"emulator": version, "nodes_mib": NODES, "note": "software emulation: rates hold against each other, not against hardware"}
    native = without_emulation()
    shares = {pages: shares_of_raw(outcome.report, pages) for pages in ("small", "huge")}
    moving = [entry | {"gb_per_second": summary.spread(entry["gb_per_second"])} for entry in outcome.report["moving"]]
    kept = {"machine": machine, **outcome.report, "moving": moving, "first_use_against": shares, "in_place_without_emulation": native["in_place"]}
    (summary.RESULTS / f"gh-x86-emulated-{datetime.date.today()}.json").write_text(summary.text(kept))
    complaints = [
        f"first use moves {pages} pages at {share} of {raw}" for pages, found in shares.items() for raw, share in found.items() if share < 0.9
    ]
    for place, uses in (("emulated", outcome.report["in_place"]), ("on this machine", native["in_place"])):
        slow = [use for use in uses if use["best_nanoseconds"] >= 1000]
        complaints += [f"{place}: a use in place of {use['what']} takes {use['best_nanoseconds']:.0f} ns" for use in slow]
    return complaints


def checks() -> Sequence[Check]:
    measured = program("figures", 1, 128, 11, MATRIX, REPORT)
    return [Check("moving, placing and using in place", measured, judged, before=kernel(), seconds=800), platform.cost_of_tracking(MATRIX)]

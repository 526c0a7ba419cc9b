"""Pages in a browser, as people see them: nothing is cut, nothing lies over something else, everything can be seen on its ground.

Needs Chromium (a package of the distribution) and the Python package playwright, which drives it; is skipped without them.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import offload
import pytest
from blastoff.command import main
from blastoff.job import processes
from blastoff.lab.view import page as lab
from blastoff.memory.view import page as memory
from blastoff.report.view import page as report_page
from command_rig import clean_environment
from test_memory import document as memory_document
from test_memory import point

playwright = pytest.importorskip("playwright.sync_api", reason="needs the Python package playwright")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

LOOK = (Path(__file__).parent / "pages" / "look.js").read_text()
WIDE = 1200
"""Pixels at which all parts of a page fit without scrolling."""


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def complaints(chromium):
    """What is wrong with a page, by width and colour scheme."""

    def look(html: str) -> dict[str, list[str]]:
        found = {}
        for scheme in ("light", "dark"):
            context = chromium.new_context(viewport={"width": WIDE, "height": 900}, color_scheme=scheme)
            tab = context.new_page()
            tab.set_content(html)
            for width in (WIDE, 420):
                tab.set_viewport_size({"width": width, "height": 900})
                if said := tab.evaluate(LOOK, width >= WIDE):
                    found[f"{width} pixels, {scheme}"] = said
            context.close()
        return found

    return look


NAMES = ("dgemm", "zgemm", "ztrsm", "cublas_gemm_batch_strided_", "pdgetrf", "fftw_execute_dft_r2c", *(f"routine{number}" for number in range(10)))
REASONS = (
    "average size below the threshold",
    "a narrow product whose matrices do not stay on the device",
    "the CPU is expected to be faster: matrices that are not on the device yet would have to be brought there",
    "nothing to compute (alpha or k is 0, or the result is empty)",
)
PLACES = ("", "/opt/a/long/path/solver_of_the_poisson_equation.py:1234 in assemble_all_matrices_of_the_self_consistent_field_at_once")


def rank_of(report: dict, rank: int, offloads: bool) -> dict:
    """A report with many rows and long names."""
    sums = report["totals"] | {"bytes_to_device": 123456789 * (rank + 1), "calls": 4812345, "cpu_seconds": 1 + rank % 5, "wall_seconds": 2.5}
    if not offloads:
        sums |= {name: 0 for name in sums if name.startswith(("bytes", "offloaded", "device", "transfer", "operand"))}
    sites = [
        {"routine": name, "object": "/usr/lib/libscientific_computations.so.12", "offset": 1 << 24, "python": PLACES[place % 2], "threads": 4}
        | {"mean_size": 1234.5, **sums, "cpu_seconds": 0.1 + place, "refusals": [{"reason": REASONS[place % 4], "calls": 1000 + place}]}
        for place, name in enumerate(NAMES)
    ]
    calls = [
        {"start": 2.0 * each, "seconds": 0.8, "transfer_seconds": 0.1, "routine": "dgemm", "on_device": bool(each % 3), "thread": 1, "size": 500.0}
        for each in range(30)
    ]
    return report | {
        "process": report["process"]
        | {"rank": rank, "pid": 1000000 + rank, "host": f"a-node-of-a-cluster-{rank // 8}", "command_line": "./scf " + "input.dat " * 30},
        "totals": sums,
        "routines": [{"name": name, **sums} for name in NAMES],
        "refusals": [{"reason": reason, "calls": 1000000 + place} for place, reason in enumerate(REASONS)],
        "sizes": [{"min_size": 2 ** (each / 2), **sums, "cpu_seconds": float(each)} for each in range(6, 27)],
        "call_sites": sites,
        "timeline": calls,
        "wall": {"began": 1.0, "ended": 61.0, "span_seconds": 60.0, "small_seconds": 0.5, "cost_seconds": 0.2, "busiest_cpu_seconds": 20.0},
    }


@pytest.mark.parametrize(("ranks", "offloads"), [(1, True), (1, False), (8, True), (64, True)])
def test_reports(complaints, report, ranks, offloads):
    job = processes.Job([processes.Process("", rank_of(report, rank, offloads)) for rank in range(ranks)])
    assert complaints(report_page.render(job)) == {}


LABORATORY = ("2026-11-23-lab", "2026-11-27-lab-daxpy", "2026-11-27-lab-applications")


def test_the_laboratory(complaints):
    """With the sets that have most kinds of memory."""
    whole, *newer = [json.loads((offload.ROOT / "bench" / "results" / f"h200-{name}.json").read_text()) for name in LABORATORY]
    for found in newer:
        whole["sets"] |= found["sets"]
    assert complaints(lab.render(whole)) == {}


def test_memory(complaints):
    whole = memory_document([point(each / 10, resident=each * 10**7, held=each * 10**6, to_device=each) for each in range(200)])
    whole["marks"] = [{"time": 1.0 + 2 * each, "pid": 1, "name": f"a phase with the number {each}"} for each in range(9)]
    assert complaints(memory.render(whole)) == {}


@pytest.fixture(scope="module")
def trace(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "t.trace"
    program = "import numpy; a = numpy.ones((300, 300)); [a @ a for i in range(9)]; numpy.linalg.eigh(a)"
    command = [sys.executable, "-m", "blastoff", "run", "--device=none", "--summary=never", f"--trace={path}", "--", sys.executable, "-c", program]
    subprocess.run(command, env=clean_environment(), check=True)
    return path


@pytest.mark.parametrize("words", ["{trace}", "--job must-lsms --nodes 25,50,100,200"], ids=["one node", "many nodes"])
def test_predictions(complaints, tmp_path, trace, words):
    page = tmp_path / "page.html"
    assert main(["predict", *words.format(trace=trace).split(), "--html", str(page)]) == 0
    assert complaints(page.read_text(encoding="utf-8")) == {}


def test_a_check_that_can_fail(complaints):
    svg = '<svg width="90" height="40"><text x="0" y="20">hidden</text><text x="2" y="22">behind</text><text x="70" y="20">outside</text></svg>'
    body = f'<div style="width: 30px; overflow: hidden; white-space: nowrap">a text that is cut</div><section>{svg}</section>'
    (said,) = {tuple(each) for each in complaints(f"<body style='background: #fff'>{body}</body>").values()}
    assert [each.split(":")[0] for each in said] == ["cut", "overlap in a figure", "outside its figure"]

"""Blastoff in IPython: magics, and the notebook of examples/."""

import subprocess
import sys
import textwrap

import offload
import pytest
from blastoff.session.counts import Counts
from blastoff.session.view import page, text
from command_rig import clean_environment

IPython = pytest.importorskip("IPython", reason="IPython is not installed")
SIMULATED = {"BLASTOFF_DEVICE": "simulated", "BLASTOFF_MIN_SIZE": "100", "BLASTOFF_VERIFY": "abort", "OPENBLAS_NUM_THREADS": "1"}
SHELL = """
import os, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor", display_page=False)
shell.history_manager.enabled = False
def cell(source):
    return shell.run_cell(source, store_history=False)
cell("%load_ext blastoff")
"""


@pytest.fixture
def ipython(tmp_path):
    """Runs cells one after the other in IPython on a terminal, and returns its output."""

    def run(*cells: str) -> str:
        path = tmp_path / "cells.py"
        path.write_text(SHELL + "".join(f"cell({textwrap.dedent(source)!r})\n" for source in cells))
        done = subprocess.run(
            [sys.executable, str(path)],
            env=clean_environment() | SIMULATED | {"IPYTHONDIR": str(tmp_path), "BLASTOFF_SUMMARY": "never"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    return run


def test_a_cell(ipython):
    shown = ipython(
        "%%blastoff\nimport numpy\na = numpy.ones((200, 200))\nb = a @ a\nc = numpy.ones((9, 9)) @ numpy.ones((9, 9))\nb[0, 0]",
        "print('after', b.sum())",
    )
    assert "200.0" in shown and "after 8000000.0" in shown
    assert "blastoff: 1 of 2 calls offloaded, 100 % of the arithmetic seen" in shown
    assert next(line for line in shown.splitlines() if line.startswith("line 4")).split()[2:4] == ["1", "1"]  # calls, offloaded
    assert "dgemm" in shown and "on the CPU  1 call: average size below the threshold" in shown


def test_reasons_by_line(ipython):
    """On a busy machine, lines are looked up for only some calls, but always for the first one."""
    shown = ipython("%%blastoff\nimport numpy\nsmall = numpy.ones((80, 80))\nfor _ in range(3): small @ small")
    heading, _, line = shown[shown.index("\nline ") + 1 :].splitlines()[:3]
    assert heading.endswith("  stayed on the CPU")
    assert line.startswith("line 4 ") and line.endswith("  3 calls: average size below the threshold")
    shown = ipython("%%blastoff\nimport numpy\na = numpy.ones((200, 200))\nb = a @ a")
    assert "stayed on the CPU" not in shown


def test_each_line_has_reasons_of_its_own():
    def report(calls):
        def part(reason):
            counts = {"calls": calls, "offloaded": 0, "cpu_seconds": 0.5, "flops": 1e6}
            counts |= {"offloaded_flops": calls - 2, "known_flops": calls - 2, "known_seconds": 0.1 * calls}
            counts |= {"known_cpu_seconds": (0.15 if reason == "it is <3>" else 0.02) * calls}
            return counts | {"refusals": [{"reason": reason, "calls": calls}]}

        sites = [{"python": f"/tmp/ipykernel_1/2.py:{number} in <module>"} | part(f"it is <{number}>") for number in (3, 4)]
        return {"routines": [{"name": "dgemm"} | part("")], "refusals": [], "call_sites": [*sites, {"python": ""} | part("of no line")]}

    before, after = (Counts.from_report(report(calls), seconds=1) for calls in (2, 7))
    difference = after.since(before)
    assert difference.reasons_by_line == {"line 3": {"it is <3>": 5}, "line 4": {"it is <4>": 5}}
    told = text.describe("cell", difference).splitlines()
    for number, saved in ((3, "250 ms"), (4, "-400 ms")):
        assert next(line for line in told if line.startswith(f"line {number} ")).endswith(f"  5 calls: it is <{number}>")
        assert f"  {saved}  " in next(line for line in told if line.startswith(f"line {number} "))
    shown = page.render("cell", difference)
    assert "5 calls: it is &lt;3&gt;" in shown and "5 calls: it is &lt;4&gt;" in shown and "of no line" not in shown
    assert "<th>saved</th>" in shown and "<td>250 ms</td>" in shown and "<td>-400 ms</td>" in shown
    assert "saved" not in text.describe("cell", before)  # no saving is known for it
    assert (after + before).reasons_by_line["line 3"] == {"it is <3>": 9}
    assert after.since(after).reasons_by_line == {}


def test_a_cell_that_fails(ipython):
    shown = ipython("%%blastoff\nimport numpy\na = numpy.ones((200, 200))\na @ a\nraise ValueError('as it is')", "print('and on')")
    assert "ValueError: as it is" in shown and "1 of 1 call offloaded" in shown and "and on" in shown


def test_a_statement(ipython):
    shown = ipython("import numpy\na = numpy.ones((200, 200))", "%blastoff b = a @ a; d = {'{a}': 1}", "print(b[0, 0], d)")
    assert "1 of 1 call offloaded" in shown and "200.0 {'{a}': 1}" in shown


def test_switches(ipython):
    shown = ipython(
        "import blastoff, numpy\na = numpy.ones((200, 200))",
        "%blastoff on policy=copy verify=True",
        "b = a @ a\nprint('on', blastoff.is_enabled())",
        "%blastoff off",
        "b = a @ a\nprint('on', blastoff.is_enabled())",
        "%blastoff stats",
        "%blastoff on policy=first-use",
        "%blastoff on policy",
        "%blastoff",
    )
    assert "on True" in shown and "on False" in shown
    row = next(line for line in shown.splitlines() if line.startswith("dgemm"))
    assert row.split()[:3] == ["dgemm", "2", "1"]
    assert "policy is copy and cannot become first-use" in shown
    assert "policy: options are written OPTION=VALUE, as in min_size=500" in shown
    assert "usage: %blastoff on [OPTION=VALUE ...] | off | stats | STATEMENT" in shown


def test_the_example(tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    for name, value in (clean_environment() | SIMULATED | {"IPYTHONDIR": str(tmp_path)}).items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.read(offload.ROOT / "examples" / "session.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "commit it without outputs"
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    printed = "".join(output["text"] for output in outputs if output["output_type"] == "stream")
    assert "[591. 592. 593. 594. 595. 596. 597. 598. 599. 600.]" in printed
    pages = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert len(pages) == 5  # a cell, a region, three tables
    assert "calls offloaded" in pages[0] and 'class="bar"' in pages[0] and "dgemm" in pages[0]
    assert all(name in pages[2] for name in ("multiply", "orthogonalize"))
    assert outputs[-1]["data"]["text/plain"] == "False"

"""Tables on narrow terminals, what programs are called, and the columns of runs without a device."""

import json
import os

import offload
import pytest
from blastoff import columns
from blastoff.job import processes, program, runs
from blastoff.job.view import table, words
from blastoff.lab.view import output
from blastoff.lab.view import words as laboratory
from blastoff.top import frame, view

HEADINGS = ["routine", "calls", "seconds", "moved"]
ROWS = [["dgemm", "4 812 345", "6.130", "410 MB"], ["a_routine_with_a_long_name_that_ends_in_two", "640", "0.050", "80.0 MB"]]


@pytest.mark.parametrize("width", range(20, 90))
def test_a_table_fits_or_overflows_but_never_cuts_a_number(width):
    heading, _, *rows = columns.table(HEADINGS, ROWS, ("moved", "calls"), width)
    kept = heading.split()
    for row, given in zip(rows, ROWS, strict=True):
        for name, cell in zip(HEADINGS[1:], given[1:], strict=True):
            assert (cell in row) is (name in kept), (name, row)
    assert len({len(row) for row in rows}) == 1
    assert len(rows[0]) <= width or kept == ["routine", "seconds"]
    assert ("moved" not in kept) or "calls" in kept, "the first heading is dropped first"
    assert columns.table(HEADINGS, ROWS)[3].startswith(ROWS[1][0]), "a file takes lines of any length"


@pytest.mark.parametrize("width", range(20, 60))
def test_columns_of_a_pair_go_together(width):
    heading, *_ = columns.table(["routine", "calls 1", "calls 2", "seconds"], [["dgemm", "10", "200", "6.1"]], (("calls 1", "calls 2"),), width)
    assert ("calls 1" in heading) is ("calls 2" in heading) is (width >= len("routine  calls 1  calls 2  seconds"))


def test_names_keep_their_beginning_and_their_end():
    assert columns.shortened("solver.f90:4711 in a_module::assemble_matrix", 20) == "solver.f...le_matrix"
    assert columns.shortened("short", 5) == "short"


def test_texts_go_on_below_their_beginning():
    assert columns.pairs([("on", "a b c"), ("on", "d")]) == ["on  a b c", "    d"]
    lines = columns.pairs([("device", "word " * 20)], 40)
    assert len(lines) > 2 and all(len(line) <= 40 for line in lines) and all(line.startswith(" " * 8) for line in lines[1:])


def test_the_width_is_that_of_the_terminal(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    with open(os.devnull) as file:
        assert columns.terminal_width(file.fileno()) is None
    monkeypatch.setenv("COLUMNS", "63")
    assert columns.terminal_width() == 63


@pytest.mark.parametrize("width", [80, 118])
def test_the_laboratory_fits_the_terminal(width):
    """Problems, which have numbers, are whole, and so are times."""
    found = json.loads((offload.ROOT / "bench" / "results" / "h200-2026-11-23-lab.json").read_text())
    whole, lines = output.text(found).splitlines(), output.text(found, width).splitlines()
    assert max(map(len, lines)) <= width < max(map(len, whole))
    bfs = next(place for place, line in enumerate(lines) if line.startswith("bfs, "))
    assert lines[bfs] in {f"{row['application']}, {row['problem']}" for row in found["sets"]["applications"]["rows"]}
    assert "..." not in "".join(lines) and any("remote" in line and line.endswith("2.79 ms") for line in lines[bfs + 1 : bfs + 9])


def test_the_laboratory_sorts_by_how_much_does_not_fit():
    times = dict.fromkeys(("allocation", "initialisation", "moving", "computation", "reading", "release", "total"), 1.0)
    rows = [{"application": "bfs", "problem": "4 nodes", "mode": "system", "ratio": ratio, **times} for ratio in (0.8, 1.5, 1.2)]
    assert [row[3] for row in laboratory.oversubscribed(rows)[1]] == ["0.8", "1.2", "1.5"]


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("ranks", [1, 64])
def test_a_summary_fits_the_terminal(report, ranks, width):
    job = processes.Job([processes.Process("", ranked(report, rank)) for rank in range(ranks)])
    lines = table.text(job, width).splitlines()
    assert max(map(len, lines)) <= width, max(lines, key=len)
    assert any(line.startswith("dgemm") for line in lines)


def ranked(report: dict, rank: int) -> dict:
    about = {"rank": rank, "pid": 100000 + rank, "host": "a-node-with-a-long-name", "command_line": "./scf " + "input " * 40}
    return report | {"process": report["process"] | about}


def without_device(report: dict) -> dict:
    sums = report["totals"] | {name: 0 for name in report["totals"] if name.startswith(("bytes", "offloaded", "device", "transfer", "operand"))}
    sums |= {"wall_seconds": 15.0, "cpu_seconds": 16.0, "flops": 32e9}
    wall = {"began": 1.0, "ended": 61.0, "span_seconds": 60.0, "small_seconds": 0.0, "cost_seconds": 0.0}
    sites = [
        {"routine": "dgemm", "object": "", "offset": place, "python": f"scf.py:{place} in f", "threads": 1, "mean_size": 50.0}
        | sums
        | {"cpu_seconds": seconds, "calls": calls, "refusals": [{"reason": reason, "calls": calls}]}
        for place, (seconds, calls, reason) in enumerate([(15.5, 2, "no usable device"), (0.5, 28, "average size below the threshold")])
    ]
    refusals = [{"reason": "average size below the threshold", "calls": 28}, {"reason": "no usable device", "calls": 2}]
    process = report["process"] | {"elapsed_seconds": 60.0}
    changed = {"process": process, "totals": sums, "routines": [{"name": "dgemm", **sums}], "wall": wall, "call_sites": sites, "refusals": refusals}
    return report | changed


def test_a_run_without_a_device_shows_rates_and_shares_instead_of_zeros(report):
    lines = table.text(processes.Job([processes.Process("", without_device(report))])).splitlines()
    place = next(place for place, line in enumerate(lines) if line.startswith("routine"))
    assert lines[place].split("  ")[-1] == "of wall time" and "device" not in lines[place]
    assert lines[place + 2].split() == ["dgemm", "30", "16.00", "2.00", "25", "%"]


def test_reasons_are_ranked_by_seconds(report):
    job = processes.Job([processes.Process("", without_device(report))])
    assert list(job.refusals()) == ["average size below the threshold", "no usable device"], "by calls"
    assert words.refusals(job) == {"no usable device": (2, 15.5), "average size below the threshold": (28, 0.5)}
    told = [text for label, text in words.conclusions(job) if label == "on the CPU"]
    assert told == ["2 calls, 15.5 s: no usable device", "28 calls, 500 ms: average size below the threshold"]


@pytest.mark.parametrize(
    ("ran", "command_line", "name"),
    [
        ("python3.11", "/usr/bin/python3 -u train.py --epochs 3", "train.py"),
        ("python3", "python3 -X dev -m pyscf.scf x", "pyscf.scf"),
        ("python3", "python3 -c import(numpy)", "python3 -c"),
        ("python3", "python3", "python3"),
        ("python3", "python3 'first steps/my fit.py' --name \"it's\"", "my fit.py"),
        ("python3", "python3 it's.py", "it's.py"),
        ("R", "/usr/lib/R/bin/exec/R --no-echo --no-restore --file=/home/me/fit.R --args 3", "fit.R"),
        ("julia", "julia -t 4 scf.jl", "scf.jl"),
        ("scf", "./scf input.py", "scf"),
    ],
)
def test_interpreters_are_named_by_their_script(ran, command_line, name):
    assert program.name({"program": ran, "command_line": command_line}) == name


@pytest.mark.parametrize(("width", "height"), [(79, 23), (159, 49)])
@pytest.mark.parametrize("ranks", [1, 64])
def test_top_fits_the_screen(report, ranks, width, height):
    many = [{"name": f"routine{number}", **report["totals"]} for number in range(30)]
    refused = [{"reason": f"reason {number} in words that are rather long, as some of them are", "calls": 5} for number in range(9)]
    shown = [ranked(report, rank) | {"routines": many, "refusals": refused} for rank in range(ranks)]
    now = frame.Frame("run", 1.0, [processes.Process(str(rank), one) for rank, one in enumerate(shown)])
    lines = view.lines(now, width, height)
    assert len(lines) <= height and max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert f"{ranks} process" in text and "routine0" in text and "reason 0" in text and "rank 0" in text
    assert "share" in text and "now" in text and ("... and" in text) is (len(lines) == height)


def test_the_run_that_started_last_is_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "bases", lambda: [tmp_path])
    for moment, name in enumerate(("first", "second")):
        directory = tmp_path / f"{runs.prefix()}{name}"
        directory.mkdir(mode=0o700)
        link = directory / f"{runs.LAUNCHER}{moment}"
        link.symlink_to("1 2")
        os.utime(link, (1000 + moment, 1000 + moment), follow_symlinks=False)
    os.utime(tmp_path / f"{runs.prefix()}first", (9000, 9000))  # a process of it has just begun
    assert [directory.name.rpartition(".")[2] for directory in runs.find()] == ["second", "first"]

"""The benchmark's summaries of its results, and its message if a package is missing."""

import argparse
import json
import os
import subprocess
import sys

import offload
import pytest

BENCH = offload.ROOT / "bench"
KEPT = sorted((BENCH / "results").glob("*.json"))

sys.path.append(str(BENCH))

import arguments  # noqa: E402
import ccsd  # noqa: E402
import dependencies  # noqa: E402
import kernels  # noqa: E402
import summary  # noqa: E402
import targets  # noqa: E402
import verdict  # noqa: E402

import blocks  # noqa: E402

MATRIX = "dgemm,N,N,4,4,4"


def run(case: str, mode: str, *lines: dict, **more) -> dict:
    return {"case": case, "mode": mode, "command": ["x"], "wall_seconds": 1.5, "lines": list(lines), **more}


def seconds(minimum: float, median: float, maximum: float, count: int = 10) -> dict:
    return {"operation": MATRIX, "seconds": {"count": count, "min": minimum, "median": median, "mean": 9, "max": maximum}, "checksum": {}}


def test_several_runs_become_one_measurement():
    (found,) = summary.measurements([run("a", "copy", seconds(2, 3, 4)), run("a", "copy", seconds(1, 5, 9))])
    assert found == {"case": "a", "mode": "copy", "operation": MATRIX, "quantity": "seconds", "runs": 2} | {
        "count": 20,
        "min": 1,
        "median": 4,
        "max": 9,
    }


def test_what_a_program_prints_counts_else_its_wall_time():
    rounds = {"operation": "svd", "seconds": [3.0, 1.0, 2.0]}
    printed, silent = summary.measurements([run("numpy", "cpu", rounds), run("scf", "cpu"), run("scf", "copy", failure="killed")])
    assert (printed["count"], printed["min"], printed["median"], printed["max"]) == (3, 1.0, 2.0, 3.0)
    assert (silent["case"], silent["operation"], silent["median"]) == ("scf", "", 1.5)


def test_a_summary_gives_the_same_table_as_its_results():
    results = {"kind": "speed", "machine": {}, "device": "cuda", "quick": False, "runs": [run("x", "cpu", seconds(1, 2, 3))]}
    results["startup"] = {"plain_seconds": 0.5, "preloaded_seconds": 0.75, "difference_seconds": 0.25}
    results["rows"] = [row.to_json() for row in targets.rows(results)]
    results["doubtful"] = ["one"]
    kept = json.loads(summary.text(summary.summarise(results)))
    assert "runs" not in kept and kept["measurements"][0]["count"] == 10
    assert targets.rows(kept) == targets.rows(results)
    assert targets.complaints(kept) == ["one"]


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_only_summaries_are_kept(path):
    assert "runs" not in json.loads(path.read_text()), "run: bench/summary.py"


def test_a_missing_package_is_one_line(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["bench/run.py"])
    dependencies.require("json")
    with pytest.raises(SystemExit, match=r"^run.py: the Python package no_such_package is missing: .* -m pip install no_such_package$"):
        dependencies.require("no_such_package")


def test_programs_that_cannot_be_built_are_one_line(monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["bench/run.py"])
    dependencies.build(["true"])
    with pytest.raises(SystemExit, match=r"^run.py: the measured programs were not built: false --build ended with status 1$"):
        dependencies.build(["false", "--build"])
    with pytest.raises(SystemExit, match=r"^run.py: cannot run no_such_compiler: No such file or directory$"):
        dependencies.build(["no_such_compiler", "-O2"])


@pytest.mark.parametrize(
    ("read", "given", "message"),
    [
        (arguments.count, "0", "'0' is no whole number above 0"),
        (arguments.numbers, "8,x", "'x' is no whole number above 0"),
        (arguments.positive, "nan", "'nan' is no number above 0"),
        (arguments.fractions, "1,-2", "'-2' is no number above 0"),
        (arguments.words(["a", "b"]), "a,c", "unknown 'c'; accepted: a, b"),
        (arguments.file, "none", "no file none"),
        (arguments.program, "data", "data is no program: it cannot be executed"),
        (arguments.command, "none -n 2", "no command 'none'"),
        (arguments.command, "'", "': No closing quotation"),
        (arguments.command, "", "no command ''"),
        (arguments.output, "folder", "folder is a folder; the name of a file is accepted"),
        (arguments.output, "none/out.json", "no folder none"),
        (arguments.folder, "data/below", "data/below: Not a directory"),
        (arguments.results, "data", "data is no file of results: Expecting value"),
        (arguments.results, "list", "list is no file of results: no JSON object"),
    ],
)
def test_values_that_cannot_be_used_are_one_line(tmp_path, monkeypatch, read, given, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "data").write_text("x")
    (tmp_path / "list").write_text("[]")
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        read(given)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_a_program_in_the_present_folder_is_found_and_must_print_measurements(tmp_path):
    (tmp_path / "x").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "x").chmod(0o755)
    command = [sys.executable, str(BENCH / "blocks.py"), "--program", "./x", "--library", os.devnull]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr.splitlines()[-1] == f"blocks.py: error: argument --library: no file {os.devnull}"
    (tmp_path / "library").touch()
    done = subprocess.run([*command[:-1], "library"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == f"{tmp_path / 'x'} is another program: it printed no measurements"


@pytest.mark.parametrize("name", ["run.py", "minsize.py", "interception.py", "table.py"])
def test_scripts_say_what_they_lack_before_they_measure(name):
    script = [str(BENCH / name), *([str(KEPT[0])] if name == "table.py" else [])]
    done = subprocess.run([sys.executable, "-S", *script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "the Python package rich is missing" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def cpuinfo(tmp_path, vendor: str, flags: str) -> str:
    path = tmp_path / f"cpuinfo-{vendor}-{len(flags)}"
    path.write_text(f"vendor_id\t: {vendor}\nmodel name\t: one\nflags\t\t: fpu sse2 {flags}\n")
    return str(path)


def test_the_kernels_that_a_processor_can_run(tmp_path):
    wide = "avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd"
    assert kernels.processor(cpuinfo(tmp_path, "GenuineIntel", wide)) == "SkylakeX"
    assert kernels.processor(cpuinfo(tmp_path, "GenuineIntel", "avx2 fma avx512f")) == "Haswell"
    assert kernels.processor(cpuinfo(tmp_path, "AuthenticAMD", "avx2 fma")) == "Zen"
    assert kernels.processor(cpuinfo(tmp_path, "GenuineIntel", "avx")) == ""
    assert kernels.processor(str(tmp_path / "none")) == ""


def test_kernels_are_chosen_only_for_a_library_that_runs_old_ones(monkeypatch):
    """Kernels are chosen if OpenBLAS has old ones and names others once it is told the processor. Its own choice may be as good already."""
    monkeypatch.setattr(kernels, "processor", lambda: "SkylakeX")
    for shipped, better, variables in (
        ({"libblas.so.3": "Prescott"}, {"libblas.so.3": "SkylakeX"}, {kernels.VARIABLE: "SkylakeX"}),
        ({"libblas.so.3": "Prescott"}, {"libblas.so.3": "Prescott"}, {}),
        ({"libblas.so.3": "Cooperlake"}, {"libblas.so.3": "SkylakeX"}, {}),
        ({}, {}, {}),
    ):
        monkeypatch.setattr(kernels, "in_use", lambda _, environment=None, pair=(shipped, better): pair[bool(environment)])
        assert kernels.own("") == variables


def test_a_library_is_asked_for_its_kernels():
    library = offload.OPENBLAS / "libblas.so.3"
    if not library.exists():
        pytest.skip("no OpenBLAS")
    assert set(kernels.in_use(kernels.of_library(library), {kernels.VARIABLE: "Prescott"}).values()) == {"Prescott"}
    assert kernels.in_use(kernels.of_library("libc.so.6")) == {}


def test_a_library_that_runs_old_kernels_is_told_the_processor(monkeypatch):
    """An OpenBLAS that is told an old processor stands for one that does not recognise this processor."""
    library = offload.OPENBLAS / "libblas.so.3"
    if not library.exists() or not kernels.processor():
        pytest.skip("no kernels to choose")
    monkeypatch.setenv(kernels.VARIABLE, "Prescott")
    assert kernels.own(kernels.of_library(library)) == {kernels.VARIABLE: kernels.processor()}


@pytest.mark.parametrize("name", ["application_runs", "calls", "modes", "lapack", "level2", "never_slower", "ranks", "scalapack", "sparse"])
def test_every_comparison_with_a_cpu_has_its_kernels(name):
    assert "kernels.own(" in (BENCH / f"{name}.py").read_text()


def turns(cpu: list[float], blastoff: list[float], claimed: list[float | None], at_least: bool = False) -> dict:
    counts = {"known_share": [0.5] * len(cpu), "at_least": [at_least] * len(cpu)}
    return {"cpu_seconds": cpu, "blastoff_seconds": blastoff, "claimed_seconds": claimed} | counts


@pytest.mark.parametrize(
    ("claimed", "said"),
    [([4.4, 4.5, 4.6], "agrees"), ([6.0, 6.2, 6.1], "differs"), ([-1.0, -1.0, -1.0], "WRONG SIGN"), ([4.5, None, None], "not known (50 %)")],
)
def test_a_claim_is_held_against_what_was_measured(claimed, said):
    found = verdict.figures(turns([5.0, 5.1, 5.0], [1.0, 1.0, 1.1], claimed))
    assert found["verdict"] == said and found["measured"] == pytest.approx(4)


@pytest.mark.parametrize(("claimed", "said"), [(2.0, "agrees: it says at least"), (6.0, "differs"), (-1.0, "WRONG SIGN")])
def test_a_lower_bound_may_be_low(claimed, said):
    found = verdict.figures(turns([5.0, 5.1, 5.0], [1.0, 1.0, 1.1], [claimed] * 3, at_least=True))
    assert found["verdict"] == said


def test_a_claim_may_be_off_by_what_is_uncertain():
    found = verdict.figures(turns([2.0, 2.5, 3.0], [2.0, 2.4, 3.1], [0.3, 0.3, 0.3]))
    assert found["verdict"] == "agrees, as far as is certain"


def test_lines_of_the_coupled_cluster_program():
    figures = "".join(f"{value:11.4f}" for value in range(1, 10))
    text = f"1 ranks\n      seconds  norm of T\nall features        {figures}   0.0256\nwithout pool  x\n"
    (row,) = ccsd.rows_of(text)
    assert row["run"] == "all features" and row["hits_percent"] == 8 and row["norm"] == 0.0256


def test_from_which_size_page_locking_pays():
    def row(doubles: int, pinned: bool, there: float, back: float) -> dict:
        return {"table": "copies", "doubles": doubles, "pinned": pinned, "to_device": there, "from_device": back}

    rows = [
        row(225, False, 1, 1),
        row(400, False, 2, 2),
        row(900, False, 3, 3),
        row(225, True, 0.9, 0.9),
        row(400, True, 1.9, 2.1),
        row(900, True, 1, 1),
    ]
    assert blocks.pays_from(rows) == 900
    kept = json.loads((BENCH / "results" / "h200-2026-11-22-blocks.json").read_text())
    assert blocks.pays_from(kept["rows"]) == 225
    assert blocks.pays_from([row(225, False, 1, 1), row(225, True, 2, 2)]) is None


def test_tables_of_blocks_on_the_simulated_device(tmp_path):
    chosen = ["--device", "simulated", "--quick", "--library", str(offload.LIBRARY)]

    def rows(script: str, *options: str) -> list[dict]:
        command = [sys.executable, str(BENCH / script), *chosen, *options, "--output", str(tmp_path / "rows")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads((tmp_path / "rows").read_text())["rows"]

    found = rows("blocks.py")
    sizes = [row["doubles"] for row in found if row["table"] == "files"]
    assert sizes and [row["doubles"] for row in found if row["table"] == "fills" and row["there"]] == sizes
    overall = {row["name"]: row for row in found if row["table"] == "overall"}
    assert {"as they are", "one stream", "four streams", "as they are, again"} < set(overall)
    assert overall["without intents"]["bytes_from_device"] > overall["as they are"]["bytes_from_device"] > 0
    names = [row["run"] for row in rows("ccsd.py", "--features") if row["tile"] == 8]
    assert names[0] == names[-1] == "all features" and "without streams" in names

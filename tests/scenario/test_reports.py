"""The destinations of the report and of printed lines, also where they cannot be written."""

import itertools
import json
import os
import re
import subprocess

import offload
import pytest


@pytest.mark.parametrize("path", ["/proc/no/such/folder/run.json", "/proc/run.json", "/dev/full"])
def test_an_unwritable_report(device, path):
    command = offload.program("products")
    plain = offload.plain(command)
    outcome = offload.preloaded(
        command,
        env={"BLASTOFF_DEVICE": device, "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_SUMMARY": "never", "BLASTOFF_REPORT": path},
    )
    assert (outcome.status, outcome.stdout) == (plain.status, plain.stdout)
    assert len(outcome.lines) == 1 and path in outcome.lines[0], outcome.stderr


def test_an_old_report_survives_a_failed_write(device, tmp_path):
    """A report is written to a temporary file and then renamed, so a full disk leaves the old report in place."""
    (tmp_path / "run.json").write_text("old")
    outcome = offload.preloaded(
        ["/bin/sh", "-c", f"ulimit -f 0; {offload.program('products')[0]}"],
        env={
            "BLASTOFF_DEVICE": device,
            "BLASTOFF_MIN_SIZE": "0",
            "BLASTOFF_SUMMARY": "never",
            "BLASTOFF_REPORT": f"{tmp_path}/run.json",
        },
    )
    assert outcome.status == 0, outcome.stderr
    assert (tmp_path / "run.json").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json"]
    assert len(outcome.lines) == 1, outcome.stderr


def test_an_end_waits_for_no_lock(device, tmp_path):
    """`flock DIR PROGRAM` with the report in DIR; in the second run there is an old report to replace."""
    env = offload.environment(LD_PRELOAD=str(offload.LIBRARY), BLASTOFF_DEVICE=device, BLASTOFF_MIN_SIZE="0", BLASTOFF_SUMMARY="never")
    for run in ("first", "second"):
        env |= {"BLASTOFF_REPORT": f"{tmp_path}/run.json", "BLASTOFF_RUN": run}
        outcome = offload.run(["flock", tmp_path, *offload.program("products")], env=env, timeout=20)
        assert (outcome.status, outcome.lines) == (0, [])
        assert offload.read_report(tmp_path / "run.json")["process"]["run"] == run


def test_an_end_waits_for_no_reader(device, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    outcome = offload.preloaded(
        offload.program("products"),
        env={"BLASTOFF_DEVICE": device, "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_SUMMARY": "never", "BLASTOFF_REPORT": str(pipe)},
        timeout=20,
    )
    assert outcome.status == 0
    assert outcome.lines == [f"cannot write the report {pipe}: the pipe has no reader"]


def run_with_stderr_closed(command, env):
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.close(2))


def test_closed_stderr(device):
    command = offload.program("products")
    plain = offload.plain(command)
    env = offload.environment(
        LD_PRELOAD=str(offload.LIBRARY), BLASTOFF_DEVICE=device, BLASTOFF_MIN_SIZE="0", BLASTOFF_SUMMARY="always", BLASTOFF_LOG="calls"
    )
    outcome = run_with_stderr_closed(command, env)
    assert (outcome.returncode, outcome.stdout) == (plain.status, plain.stdout)


def test_full_stderr(device):
    command = offload.program("products")
    plain = offload.plain(command)
    env = offload.environment(LD_PRELOAD=str(offload.LIBRARY), BLASTOFF_DEVICE=device, BLASTOFF_MIN_SIZE="0", BLASTOFF_LOG="calls")
    with open("/dev/full", "w") as full:
        outcome = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=full, text=True)
    assert (outcome.returncode, outcome.stdout) == (plain.status, plain.stdout)


def test_a_file_that_took_the_place_of_stderr(tmp_path, device):
    """A program that starts with stderr closed gets its descriptor for one of its own files, to which we must not write."""
    file = tmp_path / "data"
    env = offload.environment(LD_PRELOAD=str(offload.LIBRARY), BLASTOFF_DEVICE=device, BLASTOFF_MIN_SIZE="0", BLASTOFF_SUMMARY="always")
    outcome = run_with_stderr_closed(offload.program("environment", "file-as-stderr", file), env)
    assert outcome.returncode == 0
    assert file.read_text() == "mine\n"


def test_a_line_for_every_call(device):
    outcome = offload.preloaded(
        offload.program("products"),
        env={"BLASTOFF_DEVICE": device, "BLASTOFF_MIN_SIZE": "90", "BLASTOFF_LOG": "calls", "BLASTOFF_SUMMARY": "never"},
    )
    calls = [line for line in outcome.lines if "dgemm" in line]
    assert len(calls) == 6
    assert all("96" in line for line in calls)


def test_lines_of_calls_name_process_rank_and_time(device, tmp_path):
    settings = {"BLASTOFF_DEVICE": device, "BLASTOFF_MIN_SIZE": "90", "BLASTOFF_SUMMARY": "never"}
    for name in ("stderr", "file"):
        env = settings | {"BLASTOFF_LOG": "calls" if name == "stderr" else f"calls={tmp_path}/lines", "PMI_RANK": "3"}
        outcome = offload.preloaded(offload.program("products"), env=env)
        lines = outcome.lines if name == "stderr" else (tmp_path / "lines.3").read_text().splitlines()
        calls = [re.fullmatch(r"(\d+) rank 3 (\d+\.\d{6}) s: dgemm_ .*", line) for line in lines if "dgemm" in line]
        assert len(calls) == 6 and all(calls), lines
        assert len({call[1] for call in calls}) == 1
        times = [float(call[2]) for call in calls]
        assert times == sorted(times) and times[0] > 0
    assert outcome.lines == []


RATES = "--simulated-rates=link=2e10,device=1e12,launch=1e-5,cpu=1e9,start=0.5"


def figures(device, *settings):
    """The report of a run whose decisions follow a simulated clock, so that nothing in it depends on chance."""
    if device != "simulated":
        pytest.skip("only the simulated device has a clock of its own")
    settings = ("--decide=time", "--model=none", RATES, *settings)
    report = offload.offloaded(offload.program("figures"), min_size=100, verify="off", settings=settings).report
    assert report
    return report


COUNTS = ("totals", "routines", "refusals", "sizes", "call_sites", "timeline", "largest_small_size")


def flat(value, path=()):
    """The leaves of a JSON value, each with the names and indices that lead to it."""
    if not isinstance(value, (dict, list)):
        return {path: value}
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    return {leaf: found for name, part in parts for leaf, found in flat(part, (*path, name)).items()}


def without_real_time(report):
    """The figures without the thread's number and the start times of its calls, which depend on the program's own time between calls."""
    for call in report["timeline"]:
        del call["start"], call["thread"]
    return flat({name: report[name] for name in COUNTS})


@pytest.mark.parametrize("log", ["calls", "calls=FILE"])
def test_a_log_changes_no_figure(device, tmp_path, log):
    with_log = figures(device, f"--log={log.replace('FILE', str(tmp_path / 'lines'))}")
    assert without_real_time(with_log) == pytest.approx(without_real_time(figures(device)))
    if log != "calls":
        assert len((tmp_path / "lines").read_text().splitlines()) == with_log["totals"]["calls"]


def test_a_log_says_where_the_matrices_were(unharmed, tmp_path):
    unharmed("products", 300, 3, settings=["--results=home", f"--log=calls={tmp_path / 'lines'}"], verify="off")
    places = [line.partition(", matrices ")[2] for line in (tmp_path / "lines").read_text().splitlines()]
    assert places[0].startswith("host > both, host > both, ")
    assert places[2] == "both, both, both"


def test_a_log_leaves_small_calls_on_their_short_path(device):
    """Small calls are sampled and no rates are learned from them; they count as calls with too little work even if other reasons apply too."""
    plain, logged = (
        offload.offloaded(offload.program("figures"), device=device, min_size=100, verify="off", settings=settings).refused()
        for settings in ((), ("--log=calls",))
    )
    assert plain == logged


def test_one_clock_tells_all_figures(device):
    """The CPU takes 1 ns per operation, the link 50 ps per byte. Calls with nothing to compute and invalid calls take no time."""
    report = figures(device)
    totals, routines = report["totals"], {routine["name"]: routine for routine in report["routines"]}
    moved = totals["bytes_to_device"] + totals["bytes_from_device"]
    assert 0 < totals["transfer_seconds"] <= totals["device_seconds"]
    assert totals["transfer_seconds"] == pytest.approx(moved / 2e10, rel=0.2), "whole pages, and vectors"
    gemv, invalid = routines["dgemv"], 80 * 2 * 12 * 12
    assert gemv["cpu_seconds"] == pytest.approx((gemv["flops"] - invalid) / 1e9)
    assert totals["cpu_seconds"] <= (totals["flops"] - totals["offloaded_flops"]) / 1e9
    assert report["device"]["opening"]["seconds"] == 0.5
    process = report["process"]["elapsed_seconds"]
    assert totals["cpu_seconds"] + totals["device_seconds"] + 0.5 <= process, "a thread's calls, one after the other"
    ends = [(call["start"], call["start"] + call["seconds"]) for call in report["timeline"] if call["routine"] != "dpotrf"]
    assert all(end <= start + 1e-9 for (_, end), (start, _) in itertools.pairwise(ends))
    assert ends[-1][1] <= process


@pytest.mark.parametrize(("what", "matrices", "products"), [("reuse", 2, 4), ("square", 1, 9)])
@pytest.mark.parametrize(
    ("policy", "settings"),
    [("copy", ()), ("first-use", ()), ("auto", ("--simulated-form=coherent", "--device-node=0", "--place=at-malloc=64K"))],
    ids=["copy", "first-use", "placed-at-malloc"],
)
def test_reuse(unharmed, device, policy, settings, what, matrices, products):
    """Matrices in N products are used N times, unless they are copied anew for each. (test_in_place.py tests the other policies.)"""
    if settings and device != "simulated":
        pytest.skip("the simulated device takes this form")
    outcome = unharmed("figures", what, products, policy=policy, settings=settings)
    kept = outcome.report["policy"]["in_force"] != "copy"
    assert outcome.total("operand_reuse") == (products if kept else 1)
    assert outcome.total("bytes_read") == products * matrices * 160 * 160 * 8
    assert outcome.routine("dgemm")["operand_reuse"] == outcome.total("operand_reuse")
    assert kept or policy != "auto"


def test_the_report_follows_its_schema(unharmed):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((offload.ROOT / "share" / "report.schema.json").read_text())
    outcome = unharmed("products")
    jsonschema.validate(outcome.report, schema)
    totals = outcome.report["totals"]
    for name in ("calls", "offloaded", "bytes_to_device", "bytes_from_device", "bytes_reused"):
        assert totals[name] == sum(routine[name] for routine in outcome.report["routines"]), name


def test_the_schema_describes_every_counter(unharmed):
    """The library writes the counters that src/report/counters.def lists; the schema describes exactly these."""
    schema = json.loads((offload.ROOT / "share" / "report.schema.json").read_text())
    outcome = unharmed("products")
    for part, described in (
        (outcome.report["totals"], schema["$defs"]["sums"]),
        (outcome.report["verification"], schema["properties"]["verification"]),
    ):
        assert set(part) == set(described["properties"]) >= set(described["required"])  # earlier versions had fewer counters


def test_bytes_are_counted_exactly(unharmed):
    """Under the policy copy, a 96 x 96 product moves A and B in and C out; C moves in too unless beta is 0."""
    matrix = 96 * 96 * 8
    outcome = unharmed("products", policy="copy")
    assert outcome.total("bytes_from_device") == 6 * matrix
    # beta 0: A, B; four times beta 0.5: A, B, C; the square of A: A (once or twice), C
    assert outcome.total("bytes_to_device") in (2 * matrix + 4 * 3 * matrix + 2 * matrix, 2 * matrix + 4 * 3 * matrix + 3 * matrix)


def test_first_use_moves_what_changed(unharmed):
    """After the first upload, only the page that the CPU wrote moves again."""
    outcome = unharmed("products", 160, 20)
    if outcome.tracks:
        matrix = 160 * 160 * 8
        # A, B and C once, then a page of A each round; pages at the edges are shared with their neighbours.
        assert outcome.total("bytes_to_device") <= 3 * matrix + 30 * 4 * 4096
        assert outcome.total("bytes_reused") > 20 * matrix


def test_summary_modes(device):
    base = {"BLASTOFF_DEVICE": device, "BLASTOFF_MIN_SIZE": "0"}
    assert offload.preloaded(offload.program("products"), env=base | {"BLASTOFF_SUMMARY": "never"}).stderr == ""
    assert "dgemm" in offload.preloaded(offload.program("products"), env=base | {"BLASTOFF_SUMMARY": "auto"}).stderr
    unused = base | {"BLASTOFF_MIN_SIZE": "1000"}
    assert offload.preloaded(offload.program("products"), env=unused).stderr == ""
    assert offload.preloaded(offload.program("products"), env=unused | {"BLASTOFF_SUMMARY": "always"}).stderr != ""


@pytest.mark.parametrize("share", ["100%", "0.0001%"])
def test_a_share_of_the_calls_is_verified(unharmed, share):
    outcome = unharmed("products", verify=f"sample={share}")
    assert outcome.report["settings"]["verify"] == f"sample={share}"
    offloaded = outcome.total("offloaded")
    assert offloaded > 0
    assert outcome.report["verification"]["checked"] == (offloaded if share == "100%" else 0)
    assert outcome.report["verification"]["worst_relative_error"] < 1e-13


def test_a_log_leaves_settled_calls_settled(device, tmp_path):
    """Decisions on calls that the CPU computes as fast are reviewed now and then; each call has a log line, and causes no other work."""
    if device != "simulated":
        pytest.skip("the CPU is as fast as the simulated device, which is the CPU")
    settings = ("--decide=time", "--model=none", f"--log=calls={tmp_path / 'lines'}")
    report = offload.offloaded(offload.program("small", 20000, 1), min_size=8, verify="off", settings=settings).report
    lines = (tmp_path / "lines").read_text().splitlines()
    assert len(lines) == report["totals"]["calls"] == 20000


SOLVE = "not taken and not counted here, if called: PARDISO (pardiso from the program)"


@pytest.mark.parametrize(
    ("summary", "products", "solves", "said"),
    [
        ("always", 1, 1, f"unseen {SOLVE}"),
        ("each", 1, 1, f"unseen {SOLVE}"),
        ("auto", 0, 1, f"no call was seen that Blastoff takes; {SOLVE}"),
        ("always", 1, 0, ""),
    ],
)
def test_calls_that_are_not_taken_are_named(device, summary, products, solves, said):
    """The program binds functions when it calls them, so a function that is not called is not named."""
    command = offload.program("unseen", products, solves)
    outcome = offload.offloaded(command, device=device, settings=[f"--summary={summary}"])
    assert outcome.status == 0 and (" ".join(said.split()) in " ".join(outcome.stderr.split()) if said else SOLVE not in outcome.stderr)
    assert "of the operations seen ran on the device" in outcome.stderr or not products
    if products:
        assert [one["function"] for one in outcome.report["interception"]["unseen"]] == ["pardiso"] * solves


def test_routines_of_lapack_that_are_not_taken_are_named(device):
    outcome = offload.offloaded(offload.program("unseen_lapack", 1, 1), device=device, settings=["--summary=always"])
    assert "further LAPACK routines (dgeqp3_ from the program)" in outcome.stderr


@pytest.mark.parametrize("blas", [offload.REFERENCE_BLAS, offload.OPENBLAS])
def test_functions_that_only_the_blas_has_are_not_named(device, blas):
    outcome = offload.offloaded(offload.program("products"), device=device, env=offload.environment(blas))
    assert outcome.report["interception"]["unseen"] == []

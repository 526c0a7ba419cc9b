"""`blastoff predict`: a replay gives the figures that a run on the simulated device measures by the device's own clock."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import offload
import pytest
from blastoff.predict.view import trial_words, words
from blastoff.replay import machines
from command_rig import clean_environment, command_line

SCHEMA = json.loads((offload.ROOT / "share" / "prediction.schema.json").read_text())
RATES = "link=2e9,device=1e12,cpu=1e10,launch=1e-5,start=0.1"
PROGRAMS = {
    "matrices that stay": ("products", 200, 12),
    "a factorisation": ("factorise", 480, 96),
    "a matrix that is rewritten": ("matrix_vector", "rewritten", 6),
    "LAPACK": ("one_of_each", "potrf"),
}
SETTINGS = ["--decide=size", "--min-size=48"]  # with these, the choice of offloaded calls does not depend on times
ALL = ["--decide=size", "--min-size=0"]

pytestmark = pytest.mark.skipif(not (offload.PROGRAMS / "products").exists(), reason="the scenario programs are not built: no BLAS to link against")


def environment():
    libraries = f"{offload.REFERENCE_BLAS}:{offload.REFERENCE_LAPACK}"
    return clean_environment() | {"LD_LIBRARY_PATH": libraries, "OPENBLAS_NUM_THREADS": "1"}


def blastoff(*arguments, status=0):
    done = subprocess.run(command_line(*arguments), env=environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done


def traced(path, name, *arguments, min_size=48):
    blastoff("run", "--device=none", f"--min-size={min_size}", "--summary=never", f"--trace={path}", "--", offload.PROGRAMS / name, *arguments)
    return path


def predicted(path, *arguments):
    result = json.loads(blastoff("predict", path, "--json", *arguments).stdout)
    jsonschema.validate(result, SCHEMA)
    return result


@pytest.fixture(scope="module")
def products(tmp_path_factory):
    """A trace of products of matrices of order 200."""
    return traced(tmp_path_factory.mktemp("trace") / "products.trace", "products", 200, 12)


def on_clock(tmp_path, program, *settings):
    """The report of a run on the simulated device, with seconds by the device's clock."""
    report = tmp_path / "report.json"
    blastoff("run", "--device=simulated", f"--simulated-rates={RATES}", "--summary=never", f"--report={report}", *settings, "--", *program)
    return json.loads(report.read_text())


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("policy", ["first-use", "copy"])
def test_a_run_by_the_simulated_clock(tmp_path, program, policy):
    name, *arguments = program
    path = traced(tmp_path / "a.trace", name, *arguments, min_size=0)
    report = on_clock(tmp_path, [offload.PROGRAMS / name, *arguments], f"--policy={policy}", *ALL)
    if policy == "first-use" and report["policy"]["in_force"] != "first-use":
        pytest.skip("writes cannot be tracked here")
    (machine,) = predicted(path, f"--machine=simulated:{RATES}", f"--policy={policy}", *ALL)["machines"]
    assert machine["policy"] == policy
    offloaded = [routine for routine in report["routines"] if routine["offloaded"]]
    assert offloaded
    by_name = {routine["name"]: routine for routine in machine["routines"]}
    for routine in offloaded:
        replayed = by_name[routine["name"]]
        assert replayed["on_device"] == routine["offloaded"]
        # The library does not round bytes, but the matrices of the two runs lie at different offsets in a page.
        for key in ("device_seconds", "bytes_to_device", "bytes_from_device"):
            assert replayed[key] == pytest.approx(routine[key], rel=0.2, abs=1e-5 if key == "device_seconds" else 40960), (routine["name"], key)


def test_seconds_of_the_cpu_by_the_simulated_clock(tmp_path, products):
    rates = RATES.replace("device=1e12", "device=1e9").replace("cpu=1e10", "cpu=1e12")  # makes the CPU faster
    settings = ["--decide=time", "--min-size=48", "--model=none"]
    report = tmp_path / "report.json"
    program = [offload.PROGRAMS / "products", 200, 12]
    blastoff("run", "--device=simulated", f"--simulated-rates={rates}", "--summary=never", f"--report={report}", *settings, "--", *program)
    found = json.loads(report.read_text())["totals"]
    (machine,) = predicted(products, f"--machine=simulated:{rates}", "--decide=time", "--min-size=48")["machines"]
    totals = machine["totals"]
    assert 0 < found["offloaded"] < found["calls"], "both sides are tried"
    assert totals["on_device"] == found["offloaded"]
    assert totals["cpu_seconds"] == pytest.approx(found["cpu_seconds"], rel=0.2)
    assert totals["device_seconds"] == pytest.approx(found["device_seconds"], rel=0.2)
    assert totals["traced_seconds"] == pytest.approx(14 * 2 * 200**3 / 1e12)


def test_the_machines_that_come_with_blastoff(products):
    result = predicted(products)
    known = {path.stem for path in (offload.ROOT / "share" / "machines").glob("*.json")}
    assert {machine["label"] for machine in result["machines"]} == known - {"mi300a"}, "Blastoff has no device for AMD's GPUs"
    bases = {machine["label"]: machine["model"] for machine in result["machines"]}
    assert bases["h100-sxm-pcie5"] == "measured" and bases["a100-pcie4"] == "data sheet"
    measured = [machine["model"] == "measured" for machine in result["machines"]]
    assert measured == sorted(measured, reverse=True), "measured models come first"
    seconds = [machine["later_seconds"] for machine, was in zip(result["machines"], measured, strict=True) if was]
    assert seconds == sorted(seconds) and min(seconds) > 0
    assert result["traces"][0]["program"] == "products" and result["traces"][0]["min_size"] == 48


def test_a_faster_device_and_a_slower_link(products):
    def totals(rates):
        return predicted(products, f"--machine=simulated:{rates}", *SETTINGS)["machines"][0]["totals"]

    base = totals("link=1e9,device=1e12,cpu=1e10,launch=0")
    assert totals("link=1e9,device=2e12,cpu=1e10,launch=0")["device_seconds"] - base["moving_seconds"] == pytest.approx(
        (base["device_seconds"] - base["moving_seconds"]) / 2
    )
    assert totals("link=5e8,device=1e12,cpu=1e10,launch=0")["moving_seconds"] == pytest.approx(2 * base["moving_seconds"])


def test_ranks_share_a_gpu(products):
    rates = "link=1e9,device=1e12,cpu=1e10,launch=0,start=0"

    def seconds(*arguments):
        (machine,) = predicted(products, f"--machine=simulated:{rates}", *SETTINGS, *arguments)["machines"]
        return machine["totals"]["device_seconds"]

    alone = seconds()
    assert alone < seconds("--ranks-per-gpu=4") < 4.5 * alone


def test_a_job_of_two_processes(products):
    arguments = [f"--machine=simulated:{RATES}", *SETTINGS]
    one = predicted(products, *arguments)["machines"][0]
    two = json.loads(blastoff("predict", products, products, "--json", *arguments).stdout)["machines"][0]
    assert two["totals"]["calls"] == 2 * one["totals"]["calls"]
    assert two["predicted_seconds"] == pytest.approx(one["predicted_seconds"]), "each has a GPU of its own"


def test_routines_that_are_left_to_the_cpu(products):
    arguments = [f"--machine=simulated:{RATES}", *SETTINGS]
    (machine,) = predicted(products, *arguments, "--routines=-dgemm")["machines"]
    assert machine["totals"]["calls"] > machine["totals"]["on_device"] == 0
    assert predicted(products, *arguments, "--routines=dgemm")["machines"][0]["totals"]["on_device"] > 0
    wrong = blastoff("predict", products, *arguments, "--routines=dgem", status=1).stderr
    assert "invalid value --routines=dgem: no routine is called dgem (did you mean dgemm?)" in wrong and wrong.count("\n") == 1


def test_several_gpus(products):
    (machine,) = predicted(products, f"--machine=simulated:{RATES}", *SETTINGS, "--gpus=2")["machines"]
    used = [bytes for bytes in machine["peak_memory"] if bytes]
    assert len(machine["peak_memory"]) == 2 and len(used) == 1, "one thread's matrices stay together"


def test_memory_that_is_too_small(products):
    """The matrices of 320 kB do not all fit, so evicted ones must be uploaded again."""
    arguments = [f"--machine=simulated:{RATES}", *SETTINGS]
    ample = predicted(products, *arguments)["machines"][0]["totals"]
    little = predicted(products, *arguments, "--simulated-memory=1M")["machines"][0]["totals"]
    assert little["bytes_to_device"] > 2 * ample["bytes_to_device"]


def test_a_trace_that_was_cut_off(tmp_path, products):
    cut = tmp_path / "cut.trace"
    cut.write_text(products.read_text()[:-200])
    whole, part = (predicted(path, f"--machine=simulated:{RATES}", *SETTINGS)["machines"][0]["totals"]["calls"] for path in (products, cut))
    assert 0 < part < whole
    assert not predicted(cut, f"--machine=simulated:{RATES}")["machines"][0]["complete"]
    assert "a process was killed" in blastoff("predict", cut, f"--machine=simulated:{RATES}").stdout


def test_small_calls_stay_as_they_were(tmp_path):
    path = traced(tmp_path / "mixed.trace", "factorise", 320, 48, min_size=120)
    (machine,) = predicted(path, f"--machine=simulated:{RATES}", *SETTINGS)["machines"]
    assert machine["totals"]["calls"] + machine["small_calls"] == 12
    assert machine["totals"]["calls"] > 0 and machine["small_calls"] > 0


def test_distributed_calls_that_are_only_counted_are_not_predicted_as_wholes(tmp_path, products):
    *calls, end = products.read_text().splitlines()
    ended = json.loads(end)
    ended["routines"]["pdpotrf"] = {"calls": 3, "seconds": 2.5, "flops": 0.0}
    path = tmp_path / "distributed.trace"
    path.write_text("\n".join([*calls, json.dumps(ended)]) + "\n")
    (machine,) = predicted(path, f"--machine=simulated:{RATES}", *SETTINGS)["machines"]
    assert (machine["distributed_calls"], machine["distributed_seconds"], machine["small_calls"]) == (3, 2.5, 0)
    said = " ".join(blastoff("predict", path, f"--machine=simulated:{RATES}").stdout.split())
    assert "the distributed calls as wholes that a trace only counts is not predicted" in said
    assert "3 calls of ScaLAPACK or the PBLAS, which the traces only count: replayed as" in said


def test_what_the_trace_does_not_tell(tmp_path, products):
    lines = [json.loads(line) for line in products.read_text().splitlines()]
    calls = [line for line in lines if "routine" in line]
    calls[3]["written"] = None
    calls[5]["routine"] = "dnone"
    path = tmp_path / "part.trace"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    (machine,) = predicted(path, f"--machine=simulated:{RATES}", *SETTINGS)["machines"]
    assert (machine["unknown_writes"], machine["unread_calls"], machine["complete"]) == (1, 1, True)
    assert machine["totals"]["calls"] == len(calls) - 1


def test_pages_written_in_between_are_brought_again(tmp_path, products):
    """The same trace, changed to say that the program rewrites the first matrix before each call."""
    lines = [json.loads(line) for line in products.read_text().splitlines()]
    for line in lines:
        if "routine" in line:
            begin = line["operands"][0][0] & ~4095
            line["written"] = [[begin, 200 * 200 * 8 + 4096]]
    rewritten = tmp_path / "rewritten.trace"
    rewritten.write_text("\n".join(map(json.dumps, lines)) + "\n")
    arguments = [f"--machine=simulated:{RATES}", *SETTINGS]
    before, after = (predicted(path, *arguments)["machines"][0]["totals"] for path in (products, rewritten))
    assert after["bytes_to_device"] - before["bytes_to_device"] == pytest.approx(13 * 320000, rel=0.1)


@pytest.mark.parametrize(("told", "bytes"), [("written", 160000), ("gone", 320000)])
def test_calls_that_were_not_asked_about_are_like_others_at_their_place(tmp_path, products, told, bytes):
    """The program rewrites half of the second matrix, or all of it in new memory, before each call. Tracing asks before every call or some calls."""
    lines = [json.loads(line) for line in products.read_text().splitlines()]
    calls = [line for line in lines if "routine" in line]
    for line in calls[1:]:
        address = line["operands"][1][0]
        begin, end = address & ~4095, (address + bytes + 4095) & ~4095  # whole pages around these bytes of the matrix
        line |= {"written": [], told: [[begin, end - begin]]}
    everywhere, somewhere = tmp_path / "everywhere.trace", tmp_path / "somewhere.trace"
    everywhere.write_text("\n".join(map(json.dumps, lines)) + "\n")
    for line in calls[5:10] + calls[11:12]:
        del line[told]
        line["written"] = None
    somewhere.write_text("\n".join(map(json.dumps, lines)) + "\n")
    arguments = [f"--machine=simulated:{RATES}", *SETTINGS]
    all_asked, some_asked, never = (predicted(path, *arguments)["machines"][0]["totals"] for path in (everywhere, somewhere, products))
    assert all_asked["bytes_to_device"] > never["bytes_to_device"] + 10 * 160000
    assert some_asked["bytes_to_device"] == pytest.approx(all_asked["bytes_to_device"], rel=0.02)


def test_a_routine_is_judged_with_the_calls_inside_it(tmp_path):
    """dpotrs spends its time in two calls of dtrsm, which the trace counts separately. The device computes dpotrs as a whole."""
    factor, right = [1 << 40, 3000, 3000, 3000, 8, 2, 0, 0], [1 << 41, 3000, 3000, 3000, 8, 0, 2, 0]
    common = {"thread": 0, "site": "a+0x1", "volume": 2.7e10, "depth": 3000, "operands": [factor, right]}
    lines: list[dict] = [{"blastoff_trace": 1, "cores": 16, "threads": 16, "min_size": 250, "writes": "uffd"}]
    for start in (0.5 * call for call in range(20)):
        for inner in (0.001, 0.054):
            times = {"start": start + inner, "seconds": 0.053, "elapsed": 0.053}
            lines.append(common | times | {"routine": "dtrsm", "arguments": "L L N N m=3000 n=3000", "flops": 2.7e10})
        times = {"start": start, "seconds": 0.001, "elapsed": 0.107}
        lines.append(common | times | {"routine": "dpotrs", "arguments": "L n=3000 nrhs=3000", "flops": 5.4e10, "may_fail": 1})
    path = tmp_path / "solve.trace"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    (machine,) = predicted(path, "--machine=h200-pcie5")["machines"]
    on_device = {routine["name"]: routine["on_device"] for routine in machine["routines"]}
    assert on_device["dpotrs"] >= 15 and on_device["dtrsm"] == 0


def one_matrix_calls(routine: str, arguments: str, flops: float, starts: list[float], threads: list[int], seconds: float) -> list[dict]:
    """Trace lines of calls, each on a separate matrix of order 3000."""
    common = {"routine": routine, "arguments": arguments, "site": "a+0x1", "seconds": seconds, "elapsed": seconds}
    common |= {"flops": flops, "volume": 2.7e10, "depth": 3000, "may_fail": 1}
    operands = [[[(1 << 40) + (call << 30), 3000, 3000, 3000, 8, 0, 2, 0]] for call in range(len(starts))]
    return [common | {"start": start, "thread": thread, "operands": each} for start, thread, each in zip(starts, threads, operands, strict=True)]


def on_machine(machine, path, calls: list[dict], *arguments) -> dict:
    header = {"blastoff_trace": 1, "cores": 16, "threads": 1, "min_size": 250, "writes": "uffd"}
    path.write_text("\n".join(map(json.dumps, [header, *calls])) + "\n")
    return predicted(path, f"--machine={machine}", *arguments)["machines"][0]


def on_h200(path, calls: list[dict]) -> dict:
    return on_machine("h200-pcie5", path, calls)


@pytest.mark.parametrize(("apart", "opens"), [(0.0, False), (1.0, True)])
def test_what_a_call_takes_is_known_when_it_is_over(tmp_path, apart, opens):
    """Each call takes a fifth of a second on the CPU. The device opens when calls of 0.29 s have ended, not when they have begun."""
    starts = [1 + apart * call for call in range(6)]
    machine = on_h200(tmp_path / "six.trace", one_matrix_calls("dpotrf", "L n=3000", 9e9, starts, list(range(6)), 0.2))
    assert (machine["opening_seconds"] > 0) == opens


@pytest.mark.parametrize(("routine", "loads"), [("dpotrf", 0.09), ("dgesdd", 0.15)])
def test_the_kernels_of_a_decomposition_take_longer_to_load(tmp_path, routine, loads):
    arguments = {"dpotrf": "L n=3000", "dgesdd": "N m=3000 n=3000"}[routine]

    def seconds(count: int) -> float:
        starts = [30.0 * call for call in range(count)]
        machine = on_h200(tmp_path / f"{count}.trace", one_matrix_calls(routine, arguments, 1e12, starts, [0] * count, 20))
        assert machine["totals"]["on_device"] == count
        return machine["totals"]["device_seconds"]

    first, two = seconds(1), seconds(2)
    assert first - (two - first) == pytest.approx(loads, abs=0.005)


@pytest.mark.parametrize(("arguments", "moves"), [([], True), (["--policy=coherent"], False), (["--policy=copy"], False)])
def test_a_cpu_that_reads_what_has_moved_to_the_device(tmp_path, arguments, moves):
    """Calls of dtrsm bring two matrices to the device. Those of dtrmm on them are left on the CPU, which reads them there at 0.1 GB/s."""
    first = one_matrix_calls("dtrsm", "L L N N m=3000 n=3000", 2.7e10, [float(start) for start in range(10)], [0] * 10, 0.9)
    later = one_matrix_calls("dtrmm", "L L N N m=3000 n=3000", 2.7e10, [10.0 + start for start in range(10)], [0] * 10, 0.1)
    for call in first + later:
        call |= {"may_fail": 0, "written": [], "operands": [[1 << 40, 3000, 3000, 3000, 8, 2, 0, 0], [1 << 41, 3000, 3000, 3000, 8, 0, 2, 0]]}
    model = json.loads((offload.ROOT / "share" / "machines" / "grace-hopper.json").read_text())

    def seconds_of_the_cpu(rate: float | None) -> float:
        model["host"].pop("device_memory_rate", None)
        model["host"] |= {"device_memory_rate": rate} if rate else {}
        path = tmp_path / "model.json"
        path.write_text(json.dumps(model))
        machine = on_machine(path, tmp_path / "moved.trace", first + later, "--routines=-dtrmm", "--start=now", *arguments)
        by_name = {routine["name"]: routine for routine in machine["routines"]}
        assert by_name["dtrsm"]["on_device"] >= 8 and by_name["dtrmm"]["on_device"] == 0
        return by_name["dtrmm"]["cpu_seconds"]

    known, moved = seconds_of_the_cpu(1e8), 8 * (3000 * 3001 // 2 + 3000**2)
    assert seconds_of_the_cpu(None) == seconds_of_the_cpu(1e12) == pytest.approx(1.0), "as traced"
    assert known == pytest.approx(10 * moved / 1e8 if moves else 1.0, rel=1e-3)


def test_a_rate_that_is_none(tmp_path, products):
    model = json.loads((offload.ROOT / "share" / "machines" / "h200-pcie5.json").read_text())
    model["link"]["first_touch_from_device"] = 0
    path = tmp_path / "none.json"
    path.write_text(json.dumps(model))
    assert "first_touch_from_device" in blastoff("predict", products, f"--machine={path}", status=1).stderr


def test_memory_that_cannot_be_tracked_is_copied(tmp_path, products):
    lines = [json.loads(line) for line in products.read_text().splitlines()]
    for line in lines:
        if "routine" in line:
            line["untracked"] = [[line["operands"][0][0] & ~4095, 4096, "shared memory"]]
    path = tmp_path / "untracked.trace"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    (machine,) = predicted(path, f"--machine=simulated:{RATES}", *SETTINGS)["machines"]
    assert machine["copied"] == [{"reason": "shared memory", "calls": machine["totals"]["on_device"]}]


def test_what_is_printed(products):
    text = blastoff("predict", products, f"--machine=h200,simulated:{RATES}", *SETTINGS).stdout
    first = text.splitlines()[0]
    assert ("would become" in first and "best of 2 machines" in first) or first.startswith("none of 2 machines would help")
    assert "h200-pcie5" in text and "simulated" in text and "dgemm" in text and "…" not in text


def test_a_page(tmp_path, products):
    path = tmp_path / "page.html"
    blastoff("predict", products, "--machine=h200", f"--html={path}")
    page = path.read_text()
    assert "<svg" in page and "H200 on PCIe gen5" in page and "src=" not in page and "<link" not in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--machine=h300"], "machine h300 is not known; known: a100-pcie4, grace-hopper"),
        (["--machine=h"], "machine h is the beginning of several names; known: "),
        (["--machine=/nowhere.json"], "/nowhere.json cannot be read: No such file or directory"),
        (["--gpus=0"], "invalid value --gpus=0; accepted: a number from 1 to 64"),
        (["--policy=none"], "invalid value --policy=none; accepted: "),
    ],
)
def test_mistakes(products, arguments, said):
    done = blastoff("predict", products, *arguments, status=2)
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_files_that_are_no_traces(tmp_path):
    (tmp_path / "report.json").write_text("{}")
    assert "is not a trace" in blastoff("predict", tmp_path / "report.json", status=2).stderr
    assert "cannot be read" in blastoff("predict", tmp_path / "missing", status=2).stderr
    (tmp_path / "later.trace").write_text('{"blastoff_trace": 3}\n')
    assert "another version" in blastoff("predict", tmp_path / "later.trace", "--machine=h200", status=1).stderr
    (tmp_path / "wrong.trace").write_text('{"blastoff_trace": 1}\n{"routine": "dgemm"}\n')
    assert "not understood" in blastoff("predict", tmp_path / "wrong.trace", "--machine=h200", status=1).stderr


def test_seconds_are_scaled_between_known_cpus(tmp_path, products):
    """Both the CPU of the trace and the machine's CPU were measured, and the latter is three times as fast."""
    lines = products.read_text().splitlines()
    header = json.loads(lines[0]) | {"cpu": "a CPU"}
    path = tmp_path / "known.trace"
    path.write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")

    def model(cpu, rate):
        rates = [{"family": "gemm", "precision": "d", "threads": 1, "points": [[1, rate]]}]
        gpu = {"names": ["no such device"], "rates": []}
        link = {"to_device": 1e9, "from_device": 1e9}
        return {"blastoff_machine": 1, "name": cpu, "source": {"kind": "published", "references": ["a test"]}, "gpu": gpu, "link": link} | {
            "host": {"cpu": cpu, "cores": 1, "rates": rates}
        }

    cache = tmp_path / "cache" / "blastoff" / "machines"
    cache.mkdir(parents=True)
    (cache / "here.json").write_text(json.dumps(model("a CPU", 1e10)))
    (cache / "there.json").write_text(json.dumps(model("another CPU", 3e10)))
    command = [sys.executable, "-m", "blastoff", "predict", str(path), "--machine=there", "--min-size=100000", "--json"]
    done = subprocess.run(command, env=environment() | {"XDG_CACHE_HOME": str(tmp_path / "cache")}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (machine,) = json.loads(done.stdout)["machines"]
    assert machine["cpu"] == "scaled"
    assert machine["totals"]["cpu_seconds"] == pytest.approx(machine["totals"]["traced_seconds"] / 3, rel=1e-3)


def test_names():
    assert machines.split("h200,simulated:link=1e9,cpu=1e10,a100") == ["h200", "simulated:link=1e9,cpu=1e10", "a100"]
    assert machines.find("h200").label == "h200-pcie5"
    assert Path(machines.shipped()) == offload.ROOT / "share" / "machines"


def test_the_answer():
    def machine(label, before, after, moving, later=None):
        seconds = {"traced_seconds": before, "predicted_seconds": after, "later_seconds": later or after}
        gains = {"speedup": before / after, "later_speedup": before / (later or after)}
        return {"label": label, "totals": {"calls": 9, "moving_seconds": moving}, "distributed_calls": 0} | seconds | gains

    several = {"machines": [machine("h200", 124.0, 49.0, 3.1), machine("a100", 124.0, 60.0, 3.1), machine("b", 124.0, 62.0, 3.1)]}
    assert words.answer(several) == "h200: 124 s would become 49.0 s (2.5x), of which 3.10 s moving; best of 3 machines"
    assert words.answer({"machines": several["machines"][:1]}) == "h200: 124 s would become 49.0 s (2.5x), of which 3.10 s moving"
    again = {"machines": [machine("h200", 124.0, 49.0, 3.1, later=31.0)]}
    assert words.answer(again) == "h200: 124 s would become 49.0 s (2.5x), of which 3.10 s moving, 31.0 s in later runs (4.0x)"
    none = {"machines": [machine("h200", 124.0, 124.0, 0.0), machine("a100", 124.0, 125.0, 0.0)]}
    assert words.answer(none) == "none of 2 machines would help: 124 s would be 124 s (1.00x) on h200"
    assert words.answer({"machines": none["machines"][:1]}) == "h200 would not help: 124 s would be 124 s (1.00x)"


def test_later_runs_open_the_device_at_once(tmp_path):
    """The CPU takes 1.6 ms for a product, and opening the device 20 ms: a first run opens it after some calls."""
    path = traced(tmp_path / "many.trace", "products", 200, 100)
    arguments = ["--decide=size", "--min-size=48", "--policy=copy", "--start=background"]
    rates = "link=1e11,device=1e13,cpu=1e10,launch=0,start=0.02"
    (machine,) = predicted(path, f"--machine=simulated:{rates}", *arguments)["machines"]
    assert machine["opens_at_once"] and machine["later_seconds"] < machine["predicted_seconds"] - 0.005
    dear = rates.replace("start=0.02", "start=2")  # more than all calls take
    (machine,) = predicted(path, f"--machine=simulated:{dear}", *arguments)["machines"]
    assert not machine["opens_at_once"] and machine["later_seconds"] == machine["predicted_seconds"]


def attempt(*arguments, status=0):
    return blastoff("try", "--machine=h200", *arguments, status=status).stderr.splitlines()


def test_try_answers_in_a_few_lines():
    lines = attempt("--", offload.PROGRAMS / "products", 320, 10)
    assert lines[0].startswith("blastoff: A GPU would ") and len(lines) < 12
    assert any("h200-pcie5" in line and "(measured)" in line for line in lines[1:])
    assert lines[-1].lstrip().startswith("basis")


def test_the_answer_of_try():
    totals = {"calls": 50, "on_device": 46, "traced_seconds": 60.0, "moving_seconds": 0.5}
    seconds = {"traced_seconds": 100.0, "predicted_seconds": 50.0, "later_seconds": 45.0, "opening_seconds": 0.35, "small_seconds": 0.0}
    seconds |= {"distributed_calls": 0, "distributed_seconds": 0.0}
    refusals = [{"calls": 4, "reason": words.NOT_READY}]
    best = {"label": "h200", "name": "H200", "model": "measured", "speedup": 2.0, "later_speedup": 100 / 45, "cpu": "as traced"}
    best |= seconds | {"totals": totals, "refusals": refusals, "copied": []}
    other = best | {"label": "a100", "model": "data sheet", "later_speedup": 1.5}
    text = trial_words.text({"machines": [best, other], "traces": [{"cpu": "EPYC", "threads": 2}]}, ["./a.out"], 0)
    assert text.startswith("blastoff: A GPU would help: 100 s would become 50.0 s (2.0x) in the first run, 45.0 s (2.2x) in later ones.\n")
    for told in (
        "46 of 50 calls",
        "a100 1.5x (data sheet)",
        "40.0 s (40 %) are outside",
        "4 calls: made before the GPU was open, which takes 350 ms",
    ):
        assert told in text
    none = best | {"predicted_seconds": 100.0, "later_seconds": 100.0, "speedup": 1.0, "later_speedup": 1.0}
    assert "A GPU would not help: 100 s would be 100 s (1.00x) on h200." in trial_words.headline(none)
    little = best | {"predicted_seconds": 100.0, "later_seconds": 96.0, "speedup": 1.0, "later_speedup": 100 / 96}
    assert trial_words.headline(little).startswith("A GPU would hardly help: 100 s would become 100 s (1.00x) in the first run, 96.0 s (1.04x)")


def test_try_calls_that_are_too_small(tmp_path):
    folder = tmp_path / "kept"
    (line,) = attempt(f"--trace={folder}", "--", offload.PROGRAMS / "products", 32, 4)
    assert line.startswith("blastoff: Too small for a GPU: all 6 calls (")
    (path,) = folder.iterdir()
    assert blastoff("predict", path).stdout.startswith("too small for a GPU: all 6 calls")
    path.write_text(path.read_text().splitlines()[0] + '\n{"routine"')
    assert blastoff("predict", path).stdout.startswith("nothing to predict: the trace holds no call\n")
    (line,) = attempt(f"--trace={path}", "--", "true", status=2)
    assert line.endswith(f"{path}: not a directory")
    (line,) = attempt(f"--trace={folder}", "--", "true", status=2)
    assert line.endswith("holds traces already; accepted: an empty or a new directory")


def test_no_package_is_needed_but_the_standard_library(tmp_path, products):
    """-S leaves out the installed packages."""
    for arguments in (["doctor"], ["inspect", "/bin/true"], ["predict", "--machine=h200", str(products)], ["--version"], ["run", "--help"]):
        done = subprocess.run([sys.executable, "-S", "-m", "blastoff", *arguments], env=environment(), capture_output=True, text=True, timeout=60)
        assert done.stdout and "Traceback" not in done.stderr and "needs the Python package" not in done.stderr, (arguments, done.stderr)


def test_try_a_program_without_calls():
    assert attempt("--", "true") == ["blastoff: no call of BLAS, LAPACK or FFTW was seen, so a GPU would not help: try blastoff inspect true"]
    assert "ended with status 3" in attempt("--", "sh", "-c", "exit 3", status=3)[0]
    assert attempt(status=2) == ["blastoff: try: no program is given; blastoff try -- PROGRAM"]

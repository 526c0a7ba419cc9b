"""`blastoff predict --nodes`: a job on more nodes than it was traced on, and the published figures of another job."""

import json
import subprocess
import sys

import jsonschema
import offload
import pytest
from blastoff.predict import nodes, scale
from blastoff.predict.job import Communication, Job
from blastoff.predict.scale import Basis, Nodes
from blastoff.predict.view import nodes_words
from command_rig import clean_environment

SCHEMA = json.loads((offload.ROOT / "share" / "scale.schema.json").read_text())
JOB_SCHEMA = json.loads((offload.ROOT / "share" / "job.schema.json").read_text())
MUST = offload.ROOT / "share" / "jobs" / "must-lsms.json"
RATES = "link=1e9,device=1e12,cpu=1e10,launch=0,start=0"


def blastoff(*arguments, status=0):
    environment = clean_environment() | {
        "LD_LIBRARY_PATH": f"{offload.REFERENCE_BLAS}:{offload.REFERENCE_LAPACK}",
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run([sys.executable, "-m", "blastoff", *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done


def predicted(*arguments):
    result = json.loads(blastoff("predict", "--json", *arguments).stdout)
    jsonschema.validate(result, SCHEMA)
    return result


def rows(*arguments):
    (machine,) = predicted(*arguments)["machines"]
    return {row["nodes"]: row for row in machine["rows"]}


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """Four equal ranks on one node."""
    if not (offload.PROGRAMS / "products").exists():
        pytest.skip("the scenario programs are not built: no BLAS to link against")
    folder = tmp_path_factory.mktemp("trace")
    command = ["--device=none", "--min-size=48", "--summary=never", f"--trace={folder}/0.trace", "--", offload.PROGRAMS / "products", 200, 12]
    blastoff("run", *command)
    lines = (folder / "0.trace").read_text().splitlines()
    for rank in range(4):
        header = json.loads(lines[0]) | {"rank": rank}
        (folder / f"{rank}.trace").write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    return [folder / f"{rank}.trace" for rank in range(4)]


SETTINGS = [f"--machine=simulated:{RATES}", "--decide=size", "--min-size=48", "--start=now"]


def test_published_figures():
    """50 nodes: CPUs 2318 s, first-use 824 s; from 25 to 200 nodes almost linear, and 2.6 to 3.0 times as fast as CPUs."""
    result = predicted("--job=must-lsms", "--nodes=25,50,100,200")
    compared = {(each["nodes"], each["policy"], each["source"]): each for each in result["comparison"]}
    of_slides = [key for key in compared if key[2] == "slides"]
    assert len(of_slides) == 17 and {key for key in compared if key[2] == "paper"} == {(50, "none", "paper"), (150, "none", "paper")}
    for (nodes_, policy, _), each in compared.items():
        if policy == "native":
            assert each["computed_seconds"] is each["deviation"] is None, nodes_
        else:
            assert each["computed_seconds"] == pytest.approx(each["published_seconds"], rel=0.23), (nodes_, policy)
    assert compared[150, "none", "paper"]["published_seconds"] == 947 and compared[150, "none", "slides"]["published_seconds"] == 997
    assert [key for key, each in compared.items() if each["given"]] == [(50, "none", "paper")], "only this one went into the computation"
    (machine,) = result["machines"]
    assert [row["nodes"] for row in machine["rows"]] == [25, 50, 100, 200]
    assert all(2.6 <= row["gain"] <= 3.0 and row["efficiency"] > 0.95 for row in machine["rows"])
    jsonschema.validate(json.loads(MUST.read_text()), JOB_SCHEMA)


def test_published_figures_of_parsec_and_of_copying():
    """PARSEC on one node: CPU 415 s, first-use 220.3 s. MuST on 150 nodes, copying: 435 s."""
    parsec = json.loads((offload.ROOT / "share" / "jobs" / "parsec.json").read_text())
    jsonschema.validate(parsec, JOB_SCHEMA)
    off = {}
    for job, policy in (("parsec", "first-use"), ("must-lsms", "copy")):
        for each in predicted(f"--job={job}", "--nodes=1", f"--policy={policy}")["comparison"]:
            off[job, each["nodes"], each["policy"]] = each["deviation"]
    assert off["parsec", 1, "first-use"] == pytest.approx(-0.064, abs=0.001) and off["parsec", 1, "none"] == 0
    assert off["must-lsms", 150, "copy"] == pytest.approx(0.262, abs=0.001)
    assert blastoff("predict", "--job=parsec", "--nodes=1").stdout.startswith("1 node: ")


def test_published_times_with_four_gpus():
    one, four = (rows("--job", MUST, "--nodes=50", f"--gpus-per-node={gpus}")[50] for gpus in (1, 4))
    assert four["device_seconds"] == pytest.approx(one["device_seconds"] / 4)
    assert four["program_seconds"] == one["program_seconds"] and four["cpu_seconds"] == one["cpu_seconds"]


def test_nothing_of_a_published_time_is_lost():
    """The parts add up to the total, and doubling the seconds of moving adds these seconds to the total."""
    row = rows("--job", MUST, "--nodes=50")[50]
    parts = [row[f"{part}_seconds"] for part in ("program", "device", "moving", "serial", "communication")]
    assert sum(parts) == pytest.approx(row["seconds"])
    assert parts[:3] == pytest.approx([2318 - 2079, 1098 - 292 - (2318 - 2079), 4.8])


def test_a_traced_job_on_more_nodes(traces):
    found = rows(*traces, *SETTINGS, "--nodes=1,2,4")
    assert [found[nodes_]["ranks"] for nodes_ in (1, 2, 4)] == [4, 8, 16]
    for nodes_ in (2, 4):
        assert found[nodes_]["cpu_seconds"] == pytest.approx(found[1]["cpu_seconds"] / nodes_)
        assert found[nodes_]["seconds"] == pytest.approx(found[1]["seconds"] / nodes_, rel=1e-6)
    whole = json.loads(blastoff("predict", *traces, *SETTINGS, "--ranks-per-gpu=4", "--json").stdout)["machines"][0]
    assert found[1]["seconds"] == pytest.approx(whole["predicted_seconds"]), "one node is the replay"
    assert found[1]["cpu_seconds"] == pytest.approx(whole["traced_seconds"])
    assert found[1]["device_seconds"] + found[1]["moving_seconds"] == pytest.approx(whole["totals"]["device_seconds"] / 4, rel=1e-6)


def test_gpus_of_a_node_are_shared(traces):
    one, four = (rows(*traces, *SETTINGS, "--nodes=1", f"--gpus-per-node={gpus}")[1] for gpus in (1, 4))
    assert four["seconds"] < one["seconds"]
    alone = json.loads(blastoff("predict", traces[0], *SETTINGS, "--json").stdout)["machines"][0]
    assert four["seconds"] == pytest.approx(alone["predicted_seconds"])


def test_units_are_not_cut(traces):
    found = rows(*traces, *SETTINGS, "--nodes=1,2,3,4", "--units=12")
    assert [found[nodes_]["units"] for nodes_ in (1, 2, 3, 4)] == [3, 2, 1, 1]
    assert found[2]["cpu_seconds"] == pytest.approx(found[1]["cpu_seconds"] * 2 / 3)
    assert found[4]["cpu_seconds"] == found[3]["cpu_seconds"] and found[4]["efficiency"] < found[3]["efficiency"]


def test_weak_scaling(traces):
    found = rows(*traces, *SETTINGS, "--nodes=1,8", "--scaling=weak")
    assert found[8]["seconds"] == found[1]["seconds"] and found[8]["efficiency"] == 1


def described(tmp_path, **parts):
    path = tmp_path / "job.json"
    whole = {"blastoff_job": 1, "name": "a job"} | parts
    jsonschema.validate(whole, JOB_SCHEMA)
    path.write_text(json.dumps(whole))
    return path


def test_serial_seconds_and_communication_do_not_shrink(tmp_path, traces):
    plain = rows(*traces, *SETTINGS, "--nodes=1,4")
    serial = plain[1]["seconds"] / 2
    network = {"collectives": 100, "bytes": 1e6, "latency": 1e-6, "bandwidth": 1e9, "source": "a test"}
    job = described(tmp_path, serial={"seconds": serial, "source": "a test"}, communication=network)
    result = predicted(*traces, *SETTINGS, "--nodes=1,4", "--job", job)
    found = {row["nodes"]: row for row in result["machines"][0]["rows"]}
    assert found[1]["seconds"] == pytest.approx(plain[1]["seconds"])
    communication = 2 * (100 * 2 * 1e-6 + 3 / 4 * 1e6 / 1e9)
    assert found[4]["communication_seconds"] == pytest.approx(communication)
    assert found[4]["seconds"] == pytest.approx((plain[1]["seconds"] - serial) / 4 + serial + communication)
    assert [each["source"] for each in result["parameters"]] == ["a test", "a test"]


def test_opening_takes_as_long_however_little_work_there_is():
    """All work takes 10 s on CPUs. The device is open after 1 s, and the other nine tenths of the work take 3 s with it."""
    assert scale.opened(1.0, 10.0, 4.0, 1.0) == (4.0, 1.0)
    assert scale.opened(0.05, 10.0, 4.0, 1.0) == (0.5, 0.5), "it ends before"
    seconds, before = scale.opened(0.5, 10.0, 4.0, 1.0)
    assert (seconds, before) == (pytest.approx(1 + 0.4 * 3 / 0.9), 1.0)
    assert scale.opened(2.0, 10.0, 4.0, 0.0) == (8.0, 0.0)


def test_ranks_without_a_trace(tmp_path, traces):
    job = described(tmp_path, ranks=8)
    result = predicted(traces[0], *SETTINGS, "--nodes=1", "--job", job)
    assert result["measured"]["ranks"] == 8 and result["machines"][0]["rows"][0]["share"] == 1
    said = blastoff("predict", traces[3], *SETTINGS, "--nodes=1", status=2).stderr
    assert "rank 3 was traced, and 1 trace(s) are given" in said


def test_gpus_and_ranks():
    assert (nodes.layout_of(16, 4).ranks_per_gpu, nodes.layout_of(16, 4).gpus) == (4, 1)
    assert (nodes.layout_of(6, 4).ranks_per_gpu, nodes.layout_of(2, 4).gpus) == (2, 2)


def test_a_cpu_that_is_faster_than_the_traced_one():
    """Without a device, its programs take the time of the replay without a device."""
    machine = {"traced_seconds": 10.0, "predicted_seconds": 4.0, "opening_seconds": 1.0, "without_device_seconds": 5.0}
    machine |= {"totals": {"device_seconds": 0.0, "moving_seconds": 0.0}}
    (row,) = scale.replayed(Basis(1, 1, Job()), machine, Nodes([10]), 1)
    assert row["cpu_seconds"] == 1.0 and row["seconds"] == 0.5


def test_communication_on_one_node_is_none():
    assert Communication(1000, 1e9, 1e-6, 1e10).seconds(1) == 0


def test_what_is_printed(tmp_path, traces):
    text = blastoff("predict", "--job", MUST, "--nodes=50,200").stdout
    measured, computed = text.index("measured\n"), text.index("computed: ")
    assert measured < computed < text.index("computed beside published")
    assert "arXiv:2501.00279" in text and "given" in text and "…" not in text
    text = blastoff("predict", *traces, *SETTINGS, "--nodes=1,2").stdout
    assert text.splitlines()[0].startswith("2 nodes of simulated: ") and "4 ranks; 4 traces" in text


def test_a_page(tmp_path):
    path = tmp_path / "page.html"
    blastoff("predict", "--job", MUST, "--nodes=25,50", f"--html={path}")
    page = path.read_text()
    assert ">published, own GPU port</text>" in page
    assert "<svg" in page and "Measured" in page and "Computed" in page and "src=" not in page and "<link" not in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nodes=0"], "invalid value --nodes=0; accepted: a number from 1 to 1000000"),
        (["--nodes=1", "--gpus=2"], "--ranks-per-node and --gpus-per-node instead"),
        (["--units=4"], "--units is for --nodes, which is missing"),
        (["--nodes=1", "--scaling=some"], "accepted: strong, weak"),
        (["--nodes=1"], "no trace is given"),
        (["--nodes=1", "--job", MUST, "--machine=h200"], "accepted with them: no --machine"),
        (
            ["--nodes=1", "--job", MUST, "--min-size=1", "--start=now"],
            "--min-size, --start: published times are not replayed; accepted with them: --policy",
        ),
        (["--nodes=1", "--job", MUST, "--ranks-per-node=4"], "the published runs had 28"),
        (["--nodes=1", "--job", MUST, "--policy=coherent"], "no published run with --policy=coherent; accepted: copy, first-use"),
        (["--nodes=1", "--job", "/nowhere.json"], "cannot be read"),
        (["--nodes=1", "--job", "must"], "job must is not known; known: must-lsms, parsec, or the path of a file"),
    ],
)
def test_mistakes(arguments, said):
    done = blastoff("predict", *arguments, status=2)
    assert said in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "the file; accepted: an object"),
        ("{", "is not JSON"),
        ('{"blastoff_job": 2}', "blastoff_job; accepted: 1"),
        ('{"blastoff_job": 1, "name": "a", "units": {"count": 0.5, "source": "b"}}', "units.count; accepted: a number from 1 on"),
        ('{"blastoff_job": 1, "name": "a", "serial": {"seconds": 1}}', "serial.source; accepted: text"),
        ('{"blastoff_job": 1, "name": "a", "serial": {"seconds": -1, "source": "b"}}', "serial.seconds; accepted: a number from 0 on"),
        ('{"blastoff_job": 1, "name": "a"}', "has no `published` runs"),
    ],
)
def test_wrong_descriptions(tmp_path, content, said):
    path = tmp_path / "job.json"
    path.write_text(content)
    done = blastoff("predict", "--nodes=1", "--job", path, status=2)
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_more_serial_seconds_than_there_are(tmp_path, traces):
    job = described(tmp_path, serial={"seconds": 1e6, "source": "a test"})
    assert "accepted: less than the whole run" in blastoff("predict", *traces, *SETTINGS, "--nodes=1", "--job", job, status=2).stderr


def test_the_headline_is_about_nodes_on_which_gpus_gain():
    def machine(label, *seconds):
        rows = [{"nodes": nodes, "seconds": after, "gain": 8 / nodes / after} for nodes, after in zip((1, 2, 4), seconds, strict=True)]
        return {"label": label, "rows": rows}

    best, row = nodes.headline({"machines": [machine("one", 3, 3, 2), machine("other", 4, 2, 2)]})
    assert best["label"] == "other" and row["nodes"] == 2
    best, row = nodes.headline({"machines": [machine("one", 9, 9, 9)]})
    assert row["nodes"] == 4, "without any gain, the largest number"


@pytest.mark.parametrize(("machines", "answer"), [(1, "h200 would not help"), (2, "none of 2 machines would help")])
def test_the_headline_of_a_job_without_a_gain(machines, answer):
    rows = [{"nodes": nodes, "cpu_seconds": 8 / nodes, "seconds": 8 / nodes, "gain": 1.0} for nodes in (1, 4)]
    result = {"measured": {"from": "traces"}, "machines": [{"label": "h200", "rows": rows}] * machines}
    assert nodes_words.answer(result) == f"{answer}: on 4 nodes, 2.00 s would be 2.00 s (1.00x){' on h200' * (machines > 1)}. Computed"

"""`blastoff report`: reading, refusing and merging reports, and the page."""

import copy
import json
import re
from html.parser import HTMLParser

import jsonschema
import offload
import pytest
from blastoff import quantities
from blastoff.errors import CommandError
from blastoff.job import call_sites, check, reading, schema
from blastoff.job import processes as job
from blastoff.job.processes import Job
from blastoff.job.view import words
from blastoff.report.view import page as view


def job_of(write, *contents) -> Job:
    return reading.read_job(write(*contents))


def ranked(report: dict, rank: int) -> dict:
    return report | {"process": report["process"] | {"rank": rank, "pid": 100 + rank}}


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(json.loads((offload.ROOT / "share" / "report.schema.json").read_text()))


def test_sizes_of_earlier_versions_have_another_key(report, write):
    report["sizes"] = [{"least_size": 64.0, "calls": 5, "offloaded": 2, "cpu_seconds": 1.0, "device_seconds": 0.5}]
    assert job_of(write, report).sizes()[64.0].calls == 5


def test_each_of_several_devices_has_a_line(blastoff, report, write):
    one = {"name": "NVIDIA H100", "index": 0, "state": "working", "memory": 85_000_000_000, "memory_budget": 68_000_000_000}
    one |= {"memory_peak": 1, "calls": 3, "flops": 1e9, "seconds": 1.5, "bytes_to_device": 2_000_000, "bytes_from_device": 1_000_000}
    other = one | {"index": 1, "calls": 1, "parts": 7, "state": "the GPU fell off the bus"}
    ranks = [ranked(report | {"devices": [one, other]}, rank) for rank in (0, 1)]
    done = blastoff("report", *write(*ranks))
    assert done.returncode == 0, done.stderr
    assert "2 x NVIDIA H100" in done.stdout
    assert "0: 6 calls, 3.00 s, 4.00 MB to it, 2.00 MB from it" in done.stdout
    assert "1: 2 calls, 14 parts of calls" in done.stdout and "the GPU fell off the bus" in done.stdout


def test_the_table_shows_the_sums(blastoff, report, write):
    done = blastoff("report", *write(report))
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if line.startswith("dgemm")).split()
    assert row == ["dgemm", "30", "20", "1.000", "2.000", "0.500", "2.50", "1.00", "kB", "500", "B", "9.00", "kB", "10.0x"]
    assert "used 10.0 times" in done.stdout
    assert "10 calls: average size below the threshold" in done.stdout
    assert "NVIDIA H100" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_a_job_is_the_sum_of_its_processes(report, write):
    other = ranked(report, 1)
    other["routines"] = [*report["routines"], {"name": "zgemm", **report["totals"]}]
    merged = job_of(write, other, ranked(report, 0))
    assert [process.report["process"]["rank"] for process in merged.processes] == [0, 1]
    assert merged.totals.calls == 60
    assert merged.totals.operand_reuse == 10
    assert merged.routines["dgemm"].bytes_to_device == 2000
    assert merged.routines["zgemm"].calls == 30
    assert merged.refusals() == {"average size below the threshold": 20}


def test_a_call_of_all_ranks_counts_once_in_a_job(report, write):
    row, why = {"name": "pdgemm", **report["totals"], "calls": 4}, {"reason": "solved by all ranks together", "calls": 4}
    first = ranked(report, 0) | {"routines": [row], "refusals": [why]}
    others = [ranked(report, rank) | {"routines": [row | {"followed": 4}], "refusals": [why | {"followed": 4}]} for rank in (1, 2)]
    job = job_of(write, first, *others)
    assert job.routines["pdgemm"].calls == 4 and job.refusals() == {"solved by all ranks together": 4}
    assert job_of(write, others[0]).routines["pdgemm"].calls == 4, "a rank's own report"


def test_the_calls_of_all_ranks_count_once_at_their_place_and_waiting_is_no_work(report, write):
    sums = report["totals"] | {"calls": 6, "offloaded": 0, "cpu_seconds": 5.0}
    row = {"name": "pdgemm", **sums}
    place = {"routine": "pdgemm", "object": "/a.out", "offset": 64, "python": "", "threads": 1, "mean_size": 0, **sums}
    reasons = [{"reason": "solved by one rank for all, on its device", "calls": 4}, {"reason": "solved by all ranks together", "calls": 2}]
    waited = {"followed": 6, "waited_seconds": 4.0}
    first = ranked(report, 0) | {"routines": [row], "call_sites": [place | {"refusals": reasons}]}
    other = ranked(report, 1) | {"routines": [row | waited], "call_sites": [place | waited | {"refusals": reasons}]}
    job = job_of(write, first, other)
    assert (job.routines["pdgemm"].calls, job.routines["pdgemm"].cpu_seconds) == (6, 6.0)
    [site] = call_sites.merged(job)
    assert (site.sums.calls, site.sums.cpu_seconds) == (6, 6.0)
    assert site.refusals == {entry["reason"]: entry["calls"] for entry in reasons}
    [alone] = call_sites.merged(job_of(write, other))
    assert (alone.sums.calls, alone.sums.cpu_seconds) == (6, 5.0)


def test_every_counter_of_the_schema_is_added_up(report, write):
    counted = {name: 3 + place for place, name in enumerate(job.counters())}
    assert set(report["totals"]) - set(counted) == {"operand_reuse"}
    counted["cpu_seconds"] = counted["waited_seconds"] + 2
    parts = [ranked(report, rank) | {"totals": report["totals"] | counted} for rank in (0, 1)]
    totals = job_of(write, *parts).totals
    once = {"calls": 2 * (counted["calls"] - counted["followed"]), "followed": 0, "cpu_seconds": 4, "waited_seconds": 0}
    assert {name: getattr(totals, name) for name in counted} == {name: 2 * value for name, value in counted.items()} | once
    with pytest.raises(AttributeError, match="no counter no_such"):
        _ = totals.no_such


def test_a_job_is_shown_by_process(blastoff, report, write):
    done = blastoff("report", *write(ranked(report, 0), ranked(report, 1)))
    assert "node17:100 rank 0" in done.stdout and "node17:101 rank 1" in done.stdout


def test_verification_takes_the_worst(report, write):
    worse = ranked(report, 1) | {"verification": {"checked": 5, "violations": 1, "worst_relative_error": 0.5, "stale_pages": 2}}
    assert job_of(write, report, worse).verification() == {"checked": 5, "violations": 1, "worst_relative_error": 0.5, "stale_pages": 2}


def placed(report: dict, rank: int, bytes_placed: int, bytes_left: int) -> dict:
    left = [{"reason": "the device's memory is full", "bytes": bytes_left}]
    sums = {"bytes_placed": bytes_placed, "bytes_moved": bytes_placed, "bytes_left": bytes_left, "left": left}
    policy = report["policy"] | {"mechanism": "moves", "tracker": "userfaultfd"}
    return ranked(report, rank) | {"policy": policy, "placement": {"node": 1, "seconds": 0.5} | sums}


def test_pages_that_were_moved(blastoff, report, write):
    done = blastoff("report", *write(placed(report, 0, 3_000_000, 1_000_000), placed(report, 1, 4_000_000, 1_000_000)))
    assert done.returncode == 0
    assert "first-use by moving pages to NUMA node 1" in done.stdout and "tracked" not in done.stdout
    assert "7.00 MB on the device's NUMA node" in done.stdout
    assert "2.00 MB stay elsewhere: the device's memory is full" in done.stdout


def test_no_calls(blastoff, report, write):
    empty = report | {"routines": [], "refusals": [], "totals": dict.fromkeys(report["totals"], 0)}
    done = blastoff("report", *write(empty))
    assert done.returncode == 0 and "no call of BLAS, LAPACK or FFTW was seen" in done.stdout


@pytest.mark.parametrize("content", ["", "hello", "{}", "[]", "null", '{"blastoff": "1.2.3"}', "\u0000"])
def test_what_is_no_report(blastoff, write, content):
    done = blastoff("report", *write(content))
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and "not a Blastoff report" in done.stderr


def test_bytes_that_are_no_text(blastoff, tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    done = blastoff("report", "binary")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("path", ["missing.json", "."])
def test_what_cannot_be_read(blastoff, path):
    done = blastoff("report", path)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and path in done.stderr


@pytest.mark.parametrize(
    ("keys", "value"),
    [(("totals", "calls"), -1), (("totals", "calls"), "many"), (("process", "pid"), None), (("device", "used"), "yes"), (("routines",), {})],
)
def test_the_schema_is_enforced(report, write, keys, value):
    part = report
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    with pytest.raises(CommandError, match="/".join(keys)):
        reading.read_job(write(report))


class References(HTMLParser):
    """The text of a page, and everything on it that would be fetched from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.outside: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "link", "iframe", "img")
        for name, value in attributes:
            if name in ("src", "href", "xlink:href") and not value.startswith("#"):
                self.outside.append(value)

    def handle_data(self, data):
        self.text += data


def page(blastoff, tmp_path, *paths) -> References:
    done = blastoff("report", *paths, "--html", "page.html")
    assert done.returncode == 0, done.stderr
    parsed = References()
    parsed.feed((tmp_path / "page.html").read_text())
    return parsed


def test_the_page_is_self_contained_and_complete(blastoff, report, write, tmp_path):
    parsed = page(blastoff, tmp_path, *write(ranked(report, 0), ranked(report, 1)))
    assert parsed.outside == []
    assert not re.search(r"url\((?!#)", (tmp_path / "page.html").read_text())
    for text in ("Time by routine", "Time by process", "Bytes by routine", "Why calls stayed on the CPU", "dgemm", "first-use", "min-size"):
        assert text in parsed.text, text


def test_the_page_says_first_where_the_wall_time_went(report, write):
    wall = {"began": 1.0, "ended": 61.0, "span_seconds": 60.0, "small_seconds": 0.0, "cost_seconds": 0.5, "busiest_cpu_seconds": 12.0}
    known = {"wall_seconds": 3.0, "known_seconds": 3.0, "known_cpu_seconds": 12.0, "known_flops": 5e9}
    report |= {"wall": wall, "totals": report["totals"] | known}
    shown = job_of(write, report)
    assert view.headline(shown)[0] == ("8.50 s", "of wall time saved; the run took 61.5 s")
    parts = {part.style: part.duration for part in view.parts_of_wall_time(shown)}
    assert parts == {"computing": "1.50 s", "moving": "500 ms", "cpu": "1.00 s", "own": "500 ms", "outside": "58.0 s"}
    assert sum(part.percent for part in view.parts_of_wall_time(shown)) == pytest.approx(100)


def test_the_page_shows_the_settings_that_differ(report, write):
    report["settings"] = {"policy": "copy", "decide": "auto", "device-memory": "80%"}
    assert view.settings(job_of(write, report)) == [("policy", "copy")]
    other = ranked(report, 1) | {"settings": report["settings"] | {"decide": "size"}}
    assert view.settings(job_of(write, ranked(report, 0), other)) == [("policy", "copy"), ("decide", "auto, size")]


def test_the_page_escapes_what_it_shows(blastoff, report, write, tmp_path):
    report["process"]["command_line"] = "<script>alert(1)</script>"
    report["refusals"][0]["reason"] = "a & b <script> $x$ $\\frac"
    parsed = page(blastoff, tmp_path, *write(report))
    assert "<script>alert(1)</script>" in parsed.text
    assert "a & b <script> $x$ $\\frac" in parsed.text


def test_a_page_without_calls(blastoff, report, write, tmp_path):
    empty = report | {"routines": [], "refusals": [], "totals": dict.fromkeys(report["totals"], 0)}
    assert "Settings that differ from the default" in page(blastoff, tmp_path, *write(empty)).text


def test_many_processes_fit_a_plot(blastoff, report, write, tmp_path):
    text = page(blastoff, tmp_path, *write(*(ranked(report, rank) for rank in range(40)))).text
    assert "40 processes, by rank" in text and "others" not in text


def test_the_title_names_all_programs_of_a_job(blastoff, report, write, tmp_path):
    reports = [ranked(report, rank) for rank in range(4)]
    for each, program in zip(reports, ("scf", "phonons", "scf", "bands"), strict=True):
        each["process"] = each["process"] | {"program": program}
    assert "scf, phonons, bands" in page(blastoff, tmp_path, *write(*reports)).text


def test_the_page_cannot_be_written(blastoff, report, write):
    done = blastoff("report", *write(report), "--html", "/no/such/folder/page.html")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


MUTATIONS = (
    lambda report: report["process"].update(pid=-1),
    lambda report: report["process"].update(rank="0"),
    lambda report: report["process"].pop("host"),
    lambda report: report.update(policy=None),
    lambda report: report.pop("totals"),
    lambda report: report["totals"].update(calls=True),
    lambda report: report["totals"].update(calls=2.0),
    lambda report: report["totals"].update(calls=2.5),
    lambda report: report["settings"].update(policy=1),
    lambda report: report["refusals"].append({"reason": "none", "calls": -1}),
    lambda report: report["routines"].append({}),
    lambda report: report.update(placement={}),
    lambda report: report.update(anything="else"),
    lambda report: report["process"].update(anything="else"),
    lambda report: report.update(timeline=[{"start": 0}]),
)


@pytest.mark.parametrize("change", range(len(MUTATIONS)))
def test_the_quick_check_agrees_with_the_slow_one(report, change):
    assert check.Compiler(schema.report_schema()).compile(schema.report_schema())(report)
    MUTATIONS[change](report)
    fits = jsonschema.Draft202012Validator(schema.report_schema()).is_valid(report)
    assert check.Compiler(schema.report_schema()).compile(schema.report_schema())(report) is fits
    assert (reading.misfit(report) == "") is fits


def test_a_keyword_that_the_quick_check_does_not_know():
    with pytest.raises(KeyError, match="maximum"):
        check.Compiler({"maximum": 1}).compile({"maximum": 1})


CALL = {"start": 0.5, "seconds": 0.1, "transfer_seconds": 0.01, "routine": "dgemm", "on_device": True, "thread": 7, "size": 300.0}


def with_timeline(report: dict, calls: int) -> str:
    """A report with a time line in the library's format: each call in a line."""
    text = json.dumps(report, indent=2).removesuffix("\n}")
    lines = ",\n".join(f"    {json.dumps(CALL | {'start': 0.5 * call}, separators=(',', ':'))}" for call in range(calls))
    return f'{text},\n  "timeline": [\n{lines}\n  ]\n}}\n'


def test_a_time_line_is_read_when_it_is_asked_for(report, write):
    (path,) = write(with_timeline(report, 3))
    process = reading.read_report(path)
    assert process.report["timeline"] == []
    assert [call["start"] for call in process.timeline] == [0.0, 0.5, 1.0]
    (compact,) = write(json.dumps(report | {"timeline": [CALL]}))
    assert reading.read_report(compact).timeline == [CALL]
    (wrong,) = write(with_timeline(report, 2).replace('"routine":"dgemm"', '"routine":1'))
    with pytest.raises(CommandError, match="timeline/0/routine"):
        _ = reading.read_report(wrong).timeline


def test_a_page_of_many_processes_draws_the_time_lines_of_some(blastoff, report, write, tmp_path):
    files = write(*(with_timeline(ranked(report, rank), 2) for rank in range(70)))
    assert "on average. Small" in page(blastoff, tmp_path, *files[:3]).text
    assert "on average, of 24 of the 70 processes." in page(blastoff, tmp_path, *files).text


def test_nearly_equal_devices_of_ranks_have_one_line(report, write):
    ranks = []
    for rank in range(16):
        one = copy.deepcopy(ranked(report, rank))
        one["device"]["opening"] = {"after_seconds": 1 + rank / 100, "seconds": 0.3 + rank / 1000}
        one["device"]["memory_budget"] = 4_000_000_000 + rank * 10_000_000
        one["device"]["state"] = "the GPU fell off the bus" if rank == 5 else "working"
        ranks.append(one)
    lines = [text for label, text in words.facts(job_of(write, *ranks)) if label == "device"]
    assert lines == [
        "NVIDIA H100 (driver 580), 4.00 GB to 4.15 GB of 85.0 GB for matrices, opened after 1.00 s to 1.15 s in 300 ms to 315 ms"
        "  (15 of 16 processes)",
        "NVIDIA H100 (driver 580), 4.05 GB of 85.0 GB for matrices, opened after 1.05 s in 305 ms, the GPU fell off the bus  (1 of 16 processes)",
    ]


def test_one_of_a_thing_is_singular():
    assert [quantities.counted(number, "call") for number in (0, 1, 2)] == ["0 calls", "1 call", "2 calls"]

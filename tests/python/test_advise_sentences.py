"""Each sentence that `blastoff advise` can say, with a record of which it is true and one, nearly the same, of which it is false."""

import ast
import inspect
import sys

import pytest
from advise_rig import ranks_of, site
from blastoff.advise import advice
from blastoff.job import reading
from blastoff.job.places import Place

WALL = {"began": 10.0, "ended": 70.0, "span_seconds": 60.0, "small_seconds": 0.0, "cost_seconds": 0.5}
KNOWN = {"known_flops": 5e9, "known_seconds": 2.0, "known_cpu_seconds": 4.0}
MOVING = {"calls": 100, "offloaded": 100, "device_seconds": 2, "transfer_seconds": 1, "bytes_to_device": 3_200_000_000}
AS_FAST = "measured: the CPU is as fast"


class Record:
    """What the reports of a job tell: how they differ from the report of a good run, and the places that call."""

    def __init__(self, *sites, totals: dict | None = None, ranks: tuple[dict, ...] = (), **changes):
        self.sites, self.ranks, self.changes = list(sites), ranks, changes | {"totals": KNOWN | (totals or {})}

    def reports(self, report: dict) -> list[dict]:
        changed = {name: report[name] | change if isinstance(report.get(name), dict) else change for name, change in self.changes.items()}
        return ranks_of(report | changed, *self.ranks) if self.ranks else [report | changed]


def by(place: str, **counters):
    result = site(**counters)
    result.place = Place(place, 1)
    return result


def left(reason: str, calls: int, **more):
    """A place whose calls stayed on the CPU for this reason."""
    return site(refusals={reason: calls}, **{"calls": calls, "cpu_seconds": 9} | more)


def of_process(reason: str) -> dict:
    return {"refusals": [{"reason": reason, "calls": 3}]}


def unpatched(name: str) -> dict:
    found = {"path": "libx.so", "seconds": 0.0, "patched": [], "refused": [{"name": name, "reason": "its code is too short"}], "left_alone": []}
    return {"interception": {"objects": [found]}}


SCALAPACK = {"calls": 50_000, "cpu_seconds": 9, "refusals": {advice.SHALLOW: 50_000}}
CASES: dict[str, tuple[Record, Record]] = {
    "most of the run is outside": (Record(totals={"wall_seconds": 10.0}, wall=WALL), Record(totals={"wall_seconds": 59.0}, wall=WALL)),
    "written between calls": (Record(site(**MOVING, bytes_rewritten=2_000_000_000)), Record(site(**MOVING, bytes_rewritten=1_000_000_000))),
    "brought for few uses": (Record(site(**MOVING)), Record(site(**MOVING, bytes_reused=9_000_000_000))),
    "cannot be tracked": (Record(policy={"copied_operands": [{"reason": "a mapped file", "calls": 20}]}), Record()),
    "the device is slower": (
        Record(site(calls=10, offloaded=10, device_seconds=2, lost=4, lost_seconds=0.5)),
        Record(site(calls=10, offloaded=10, device_seconds=2, judged_seconds=2, expected_cpu_seconds=1)),
    ),
    "threads cut a product": (Record(left(advice.SMALL, 1600, threads=16, size=200)), Record(left(advice.SMALL, 1600, threads=1, size=200))),
    "many small calls": (Record(left(advice.SMALL, 20_000)), Record(left(AS_FAST, 20_000))),
    "blocks of ScaLAPACK": (Record(by("/usr/lib/libscalapack-openmpi.so.2.2", **SCALAPACK)), Record(by("/opt/scf", **SCALAPACK))),
    "ranks need the same vectors": (Record(left(advice.VECTORS, 30)), Record(left(AS_FAST, 30))),
    "no room": (Record(left(advice.MEMORY, 4)), Record(left("the process was out of memory", 4))),
    "the device came late": (Record(left(advice.NOT_READY, 2)), Record(left(advice.NOT_READY, 2), device={"opening": None})),
    "the device never came": (Record(left(advice.NOT_READY, 2), device={"opening": None}), Record(left(advice.NOT_READY, 2))),
    "others wait for a rank": (Record(ranks=tuple({"wall_seconds": seconds} for seconds in (10, 2, 3))), Record(ranks=3 * ({"wall_seconds": 10},))),
    "no device": (Record(left(advice.NO_DEVICE, 3), **of_process(advice.NO_DEVICE)), Record(left(advice.LOST, 3), **of_process(advice.LOST))),
    "the device failed": (Record(left(advice.LOST, 3), **of_process(advice.LOST)), Record(left(advice.NO_DEVICE, 3), **of_process(advice.NO_DEVICE))),
    "no huge pages": (Record(process={"huge_pages": "never"}), Record(process={"huge_pages": "madvise"})),
    "not patched": (Record(**unpatched("zherk_")), Record(**unpatched("dgemm_64_"))),
    "the saving is not known": (Record(totals={"known_flops": 1e9}), Record(totals={"known_flops": 4.9e9})),
    "computed twice": (Record(verification={"checked": 20}), Record(verification={"checked": 20}, settings={"verify": "sample:1"})),
}


def sentences() -> dict[int, str]:
    """The places in the rules that make a piece of advice, by their lines."""
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(advice))) if isinstance(node, ast.Call)]
    found = [node for node in calls if getattr(node.func, "id", "") == "Advice"]
    return {line: ast.unparse(node.args[1]) for node in found for line in range(node.lineno, node.end_lineno + 1)}


@pytest.fixture
def said(monkeypatch, report, write):
    """The sentences that are said of a record, as they stand in the rules."""
    made: list[tuple[advice.Advice, str]] = []
    places, original = sentences(), advice.Advice

    def make(*arguments):
        made.append((original(*arguments), places[sys._getframe(1).f_lineno]))
        return made[-1][0]

    def said_of(record: Record) -> list[str]:
        found = advice.advise(reading.read_job(write(*record.reports(report))), record.sites)
        return [sentence for one in found for other, sentence in made if other is one]

    monkeypatch.setattr(advice, "Advice", make)
    return said_of


@pytest.mark.parametrize("name", CASES)
def test_a_sentence_is_said_where_it_is_true_and_nowhere_else(said, name):
    holds, fails = CASES[name]
    (sentence,) = said(holds)
    assert sentence not in said(fails)


def test_every_sentence_has_a_case(said):
    assert {sentence for holds, _ in CASES.values() for sentence in said(holds)} == set(sentences().values())


def test_nothing_is_said_of_a_good_run(said):
    assert said(Record()) == []

"""DAXPY of `blastoff lab`: rules, the crossover, the sweeps and the ways back to the CPU."""

import pytest

pytest.importorskip("numpy")

from blastoff.lab import daxpy, findings
from blastoff.lab.simulated import SimulatedDevice
from lab_rig import round_row, session_on


def test_the_rule_names_the_mode_from_which_on_it_is_best():
    rows = [round_row("explicit", 1, 3.0), round_row("managed", 1, 1.0), round_row("explicit", 4, 1.0), round_row("managed", 4, 0.97)]
    rows += [round_row("explicit", 16, 1.0), round_row("managed", 16, 2.0), round_row("managed", 64, 1.0)]
    assert daxpy.rules(rows) == ["1.00 kB: managed from 1 launch per touch, explicit from 16 launches per touch"]


def test_a_tie_changes_no_rule():
    rows = [round_row("explicit", 1, 1.0), round_row("managed", 1, 2.0), round_row("explicit", 4, 1.02), round_row("managed", 4, 1.0)]
    assert daxpy.rules(rows) == ["1.00 kB: explicit from 1 launch per touch"]


def test_what_holds_for_one_number_of_launches_only_changes_no_rule():
    seconds = {"managed": (1.0, 2.0, 1.0, 2.0, 2.0), "explicit": (2.0, 1.0, 2.0, 1.0, 1.0)}
    rows = [round_row(mode, inner, total) for mode, totals in seconds.items() for inner, total in enumerate(totals, start=1)]
    assert daxpy.rules(rows) == ["1.00 kB: managed from 1 launch per touch, explicit from 4 launches per touch"]


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([(1, 1.0, 3.0), (4, 4.0, 4.0), (8, 8.0, 6.0)], "moving pays from 4 launches per touch on"),
        ([(1, 1.0, 3.0), (9, 9.0, 7.0)], "moving pays from 5 launches per touch on"),
        ([(1, 3.0, 1.0), (4, 9.0, 1.0)], "moving pays from 1 or fewer launches per touch on"),
        ([(1, 1.0, 3.0), (4, 2.0, 3.0)], "moving does not pay up to 4 launches per touch"),
        ([(1, 1.0, 3.0), (2, 3.0, 1.0), (3, 1.0, 3.0), (4, 3.0, 1.0), (5, 3.0, 1.0)], "moving pays from 3.5 launches per touch on"),
    ],
)
def test_the_crossover_is_a_number(rows, line):
    measured = [
        round_row(mode, inner, seconds) for inner, stay, move in rows for mode, seconds in (("page-locked", stay), ("managed prefetch", move))
    ]
    assert daxpy.crossovers([*measured, round_row("managed", 1, 9.0)]) == [f"1.00 kB: {line} (Gayatri et al.: 6 to 8)"]
    assert daxpy.crossovers(measured[1::2]) == daxpy.crossovers(measured[:2]) == []


def test_x_is_written_once_and_all_sweeps_are_asked_for():
    with SimulatedDevice() as device:
        session = session_on(device, largest=1 << 13, inners=(1, 2, 3), outer=4)
        daxpy.run(session)
        rows = session.results().rows
        assert {row["inner"] for row in rows} == {1, 2, 3} and {(row["outer"], len(row["totals"])) for row in rows} == {(4, 4)}
        assert all(row["right"] and row["whole"] >= row["totals"][-1] + row["allocation"] for row in rows)
        assert all(row["block_bytes"] == 16 * (row["bytes"] // 16) / device.blocks_for(row["bytes"] // 16)[0] for row in rows)
    assert daxpy.expected(3, inner=2, turns=4) == 2 * 3 * 2 * 4 + 3


def test_the_ways_back_to_the_cpu_are_compared():
    def way(mode: str, back: float, touched: float) -> dict:
        return round_row(mode, 1, 9.0) | {"back": back, "touch_later": touched}

    rows = [way("managed", 0, 4.0), way("managed prefetch back", 1.0, 1.0), way("system prefetch", 0, 3.0)]
    assert findings.fastest_back(rows) == (
        "back to the CPU and its touch, system prefetch against managed prefetch back, 1.00 kB: 3.00 s against 2.00 s",
        "agrees",
    )
    assert findings.fastest_back([*rows, way("system", 0, 1.0)])[1] == "differs" and findings.fastest_back(rows[:2])[1] == "cannot tell"

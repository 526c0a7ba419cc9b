"""Closing the device at the end of the process, also in the background."""

import offload
import orphans
import pytest


@pytest.fixture
def left_behind(device):
    """Runs a program whose devices are closed in the background; returns its messages and the processes that it leaves."""

    def run(*program: object, **settings: str) -> str:
        env = {"BLASTOFF_DEVICE": device, "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_SUMMARY": "never", "BLASTOFF_END": "background"} | settings
        outcome = offload.preloaded(orphans.collecting(offload.program(*program)), env=env)
        assert (outcome.status, outcome.stderr) == (0, "")
        return outcome.stdout

    return run


def test_after_its_end(left_behind):
    said = left_behind("products")
    assert said.endswith(orphans.CLOSER) and said.count("left behind") == 1 and "WRONG" not in said


def test_by_the_program_itself(left_behind):
    assert "left behind" not in left_behind("products", BLASTOFF_END="wait")


def test_a_program_without_a_device(left_behind):
    assert "left behind" not in left_behind("products", BLASTOFF_DEVICE="none")


def test_a_forked_child_closes_nothing(left_behind):
    assert left_behind("process", "fork-and-exit").count("left behind") == 1


def test_what_needs_no_time_is_not_left_behind(left_behind, device):
    assert ("left behind" in left_behind("products", BLASTOFF_END="auto")) == device.startswith("cuda")

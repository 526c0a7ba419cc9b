"""Descriptors are the program's: it closes and reuses any number, ours too, and stderr is what it was at the start or nobody's."""

import offload
import pytest


@pytest.mark.parametrize("case", ["closed", "closed-low", "reused", "inherited"])
def test_the_programs_own_numbers(unharmed, policy, device, case):
    """munmap() ends, and what happens to memory is still noticed; nothing of the program's is read."""
    outcome = unharmed("descriptors", case, policy=policy, verify="off", timeout=30)
    if device.startswith("cuda") and outcome.refused():  # who closes all descriptors closes the driver's: the GPU is lost
        assert "GPU lost" in outcome.stderr
        return
    assert outcome.total("offloaded") == outcome.total("calls")
    if outcome.tracks:
        assert outcome.report["policy"]["copied_operands"] == []  # tracking goes on


def test_locks_and_ends_of_pipes(unharmed, policy, tmp_path):
    unharmed("descriptors", "locks-and-pipes", tmp_path / "locked", policy=policy)


@pytest.mark.parametrize("case", ["stderr-closed", "stderr-redirected"])
def test_a_file_that_took_the_number_of_stderr(device, tmp_path, case):
    """The summary, and the line that --log calls prints, go to the stream that the process was given or nowhere."""
    path = tmp_path / "mine"
    outcome = offload.preloaded(
        offload.program("descriptors", case, path),
        env={"BLASTOFF_DEVICE": device, "BLASTOFF_MIN_SIZE": "0", "BLASTOFF_SUMMARY": "always", "BLASTOFF_LOG": "calls"},
    )
    assert outcome.status == 0 and "WRONG" not in outcome.stdout
    assert path.read_bytes() == b"mine\n"

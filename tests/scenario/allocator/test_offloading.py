"""libblastoff.so together with the interposer: placed matrices are used in place, and the library is told about freed memory."""

from collections.abc import Sequence
from pathlib import Path

import offload
import pytest
from interposer import ALLOCATOR
from sandbox import refusing

CASES = ["free", "free-mmap", "munmap", "map-over", "realloc", "mremap", "heap", "madvise", "huge"]
AT_MALLOC = ["--place=at-malloc=64K", "--device-node=0"]  # node 0 stands for a device's node


def offloaded(directory: Path, case: str, *settings: str, sandbox: Sequence[Path] = ()) -> offload.Outcome:
    """Runs the program; in the first case by the launcher, which chooses the libraries that it preloads."""
    command = offload.program("memory", case)
    plain = offload.plain(command)
    report = directory / "report.json"
    settings = ("--device=simulated", "--min-size=0", "--verify=abort", "--summary=never", f"--report={report}", *settings)
    env = offload.environment(BLASTOFF_LIBRARY=str(offload.LIBRARY))
    if case == CASES[0]:
        # The launcher runs in the sandbox too, so that it sees the same limits as the program.
        command = [str(offload.COMMAND), "run", *settings, "--", *command]
    else:
        env |= offload.preloading(env, settings) | {"LD_PRELOAD": f"{offload.LIBRARY}:{ALLOCATOR}"}
    outcome = offload.run([*sandbox, *command], env=env)
    assert (outcome.status, outcome.stdout) == (0, plain.stdout), outcome.stderr
    outcome.report = offload.read_report(report)
    assert outcome.report["verification"]["stale_pages"] == 0
    assert outcome.total("offloaded") > 0
    return outcome


@pytest.mark.parametrize("case", CASES)
def test_placed_matrices_stay_where_they_are(tmp_path, case):
    """On a device that reaches the program's memory, blocks that malloc has bound need not be moved."""
    outcome = offloaded(tmp_path, case, *AT_MALLOC, "--simulated-form=coherent")
    assert outcome.report["allocation"]["bound_blocks"] > 0
    assert outcome.report["placement"]["bytes_moved"] == 0
    assert outcome.lines == []


@pytest.mark.parametrize("case", CASES)
def test_mirrors_of_aligned_matrices(tmp_path, case):
    outcome = offloaded(tmp_path, case, "--align=64K")
    assert outcome.report["allocation"]["placed_blocks"] > 0 and outcome.report["allocation"]["bound_blocks"] == 0


@pytest.mark.parametrize("settings", [[], AT_MALLOC], ids=["glibc's memory", "placed memory"])
@pytest.mark.parametrize("case", CASES)
def test_memory_that_goes_away_where_the_kernel_does_not_tell(tmp_path, workshop, case, settings):
    sandbox = [refusing(workshop, "userfaultfd")]
    outcome = offloaded(tmp_path, case, *settings, "--simulated-form=coherent", "--device-node=0", sandbox=sandbox)
    assert outcome.report["policy"]["tracker"] == "interposed calls"

"""What the launcher's Python process does while the program runs, so that nobody waits for it afterwards."""

import json
import subprocess
import sys

import pytest
from command_rig import changed_helper, clean_environment

SHOWN_WHEN_PREPARED = """
import blastoff.run.helper as helper
idle = helper.Preparation.idle
def shown(self):
    pause = idle(self)
    if not self.left:
        open("prepared", "w").close()
    return pause
helper.Preparation.idle = shown
"""
IMPORTS_AFTER_THE_END = """
end, report = helper.Helper.end, helper.Helper.report
def remember(self):
    self.seen = set(sys.modules)
    end(self)
def tell(self, known):
    report(self, known)
    print("late", sorted(name for name in set(sys.modules) - self.seen if name.startswith("blastoff")), file=sys.stderr)
helper.Helper.end, helper.Helper.report = remember, tell
"""
SLOW_IMPORT = "helper.PREPARED = ['slow']\n"
UNTIL_PREPARED = "for i in $(seq 300); do [ -e prepared ] && exit; sleep 0.1; done"


@pytest.fixture
def run(tmp_path):
    """Runs a program that ends when all imports are made, with a changed helper."""

    def run(changes: str, *options: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "blastoff", "run", "--device=none", "--summary=always", *options, "--", "sh", "-c", UNTIL_PREPARED]
        environment = clean_environment() | changed_helper(tmp_path, SHOWN_WHEN_PREPARED + changes)
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.mark.parametrize("options", [[], ["--memory"]])
def test_nothing_is_imported_after_the_end(run, options):
    """Whether or not memory is sampled: these imports take ten times as long as the summary itself."""
    assert "late []" in run(IMPORTS_AFTER_THE_END, *options).stderr.splitlines()


def test_imports_are_no_cost_of_the_samples(run, tmp_path):
    (tmp_path / "slow.py").write_text("import time\nbegin = time.thread_time()\nwhile time.thread_time() < begin + 0.3: pass\n")
    run(SLOW_IMPORT, "--memory", "--report=r.json")
    sampling = json.loads((tmp_path / "r.memory.json").read_text())["sampling"]
    assert sampling["cpu_seconds"] + sampling["start_cpu_seconds"] < 0.2

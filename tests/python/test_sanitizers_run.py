"""tests/sanitizers/run: a test that hangs counts as failed, and leaves no process behind."""

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import offload
import pytest


@pytest.fixture
def sanitizers(monkeypatch):
    loader = importlib.machinery.SourceFileLoader("sanitizers_run", str(offload.ROOT / "tests" / "sanitizers" / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    monkeypatch.setitem(sys.modules, loader.name, module)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    return module


def is_gone(pid: int) -> bool:
    """Whether the process has ended, even if its new parent has not yet waited for it."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("ending", ["wait", "exit 3"])
def test_nothing_goes_on_after_a_command(sanitizers, ending):
    outcome = sanitizers.run(["sh", "-c", f"sleep 1000 & echo $!; {ending}"], dict(os.environ), timeout=1)
    assert outcome.status == (None if ending == "wait" else 3)
    assert is_gone(int(outcome.output))


def test_a_case_that_hangs_fails_and_the_others_run(sanitizers, tmp_path, monkeypatch):
    """The stand-in for the random coherence program hangs for one of the two seeds."""
    program = tmp_path / "tests" / "scenario" / "random_coherence"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\n[ "$2" = 1 ] && sleep 1000\necho 10 calls right\n')
    program.chmod(0o755)
    run = sanitizers.run
    monkeypatch.setattr(sanitizers, "run", lambda command, env, timeout: run(command, env | {"LD_PRELOAD": ""}, 0.5))
    outcomes = list(sanitizers.coherence(sanitizers.ASAN, tmp_path))
    assert outcomes and [right for _, right in outcomes] == [False, True] * (len(outcomes) // 2)


def test_the_arguments_choose_sanitizers_and_programs(sanitizers, capsys):
    asan, tsan = sanitizers.SANITIZERS
    assert sanitizers.targets_of(asan, []) == asan.short and sanitizers.targets_of(tsan, []) == tsan.short
    assert sanitizers.targets_of(asan, ["tsan"]) == () and sanitizers.targets_of(asan, ["asan", "all"]) == asan.targets
    assert sanitizers.targets_of(asan, ["asan", "unit_tracking", "unit_config"]) == ("unit_tracking", "unit_config")
    assert sanitizers.main(["asan", "unit_tracker"]) == 2
    assert "unknown argument unit_tracker" in capsys.readouterr().err


def test_each_program_has_tests_that_are_run(sanitizers, monkeypatch):
    """What CTest selects for all of them, in the ordinary build."""
    listed = []

    def list_tests(command, env, timeout):
        done = subprocess.run([*map(str, command), "-N"], capture_output=True, text=True)
        listed.extend(re.findall(r"Test +#\d+: (\w+/\w+)\b", done.stdout))
        return sanitizers.Outcome(0, done.stdout)

    monkeypatch.setattr(sanitizers, "run", list_tests)
    for sanitizer in sanitizers.SANITIZERS:
        listed.clear()
        programs = set(sanitizer.targets) - set(sanitizers.COHERENCE)
        list(sanitizers.unit_tests(sanitizer, offload.BUILD, tuple(programs)))
        assert set(listed) == {program.replace("_", "/", 1) for program in programs}


def test_a_ctest_that_fails_without_a_failed_test_is_one(sanitizers, tmp_path, monkeypatch):
    monkeypatch.setattr(sanitizers, "run", lambda command, env, timeout: sanitizers.Outcome(8, "No tests were found!!!"))
    (tmp_path / "ctest.xml").write_text("<testsuite/>")
    assert list(sanitizers.unit_tests(sanitizers.TSAN, tmp_path, ("unit_fft",))) == [("ctest", False)]

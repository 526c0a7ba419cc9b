"""tools/test: the turns of the long test sets name existing scripts and tests."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import offload
import pytest


def script(monkeypatch, path: Path) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader(f"script_{path.parent.name}_{path.name}", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    monkeypatch.setitem(sys.modules, loader.name, module)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    return module


@pytest.fixture
def stages(monkeypatch):
    return script(monkeypatch, offload.ROOT / "tools" / "test")


def test_every_turn_can_be_run(stages, monkeypatch):
    sanitizers = script(monkeypatch, offload.ROOT / "tests" / "sanitizers" / "run")
    turns = stages.turns(seed=7)
    for command in turns:
        built = any(word.startswith("build/tests/") for word in command)
        assert built or any((offload.ROOT / word).is_file() for word in command[:2]), command
    for _, name, *programs in (command for command in turns if command[0] == "tests/sanitizers/run"):
        sanitizer = next(sanitizer for sanitizer in sanitizers.SANITIZERS if sanitizer.name == name)
        assert set(sanitizers.targets_of(sanitizer, [name, *programs])) == set(programs or sanitizer.short)


def test_each_day_and_each_commit_has_its_turn(stages, monkeypatch):
    taken = []
    monkeypatch.setattr(stages, "summed_up", lambda *command: taken.append(command[:1] + command[2:]) or stages.Counts(1))
    monkeypatch.setattr(stages, "commit", lambda: 5)
    count = len(stages.turns(seed=0))
    for day in range(count):
        monkeypatch.setattr(stages.time, "time", lambda day=day: 86400 * (20000 + day))
        stages.turn()
    assert len(taken) == count
    first = taken[0]
    monkeypatch.setattr(stages, "commit", lambda: 7)
    monkeypatch.setattr(stages.time, "time", lambda: 86400 * 20000)
    stages.turn()
    assert taken[-1] == taken[2] != first


def test_ci_ends_in_time(stages, monkeypatch):
    taken = []
    monkeypatch.setattr(stages, "summed_up", lambda *command: taken.append(command) or stages.Counts(1))
    monkeypatch.setattr(stages, "commit", lambda: 2)
    now = 86400 * 20000 + 30000
    monkeypatch.setattr(stages.time, "time", lambda: now)
    for elapsed in (600, stages.CI_LIMIT - stages.LONGEST_TURN + 1):
        monkeypatch.setenv("CI_STARTED", str(now - elapsed))
        stages.turn()
    assert taken[0] == tuple(stages.turns(seed=0)[2])
    assert "--count" in taken[1] and taken[1][-1] == "20"

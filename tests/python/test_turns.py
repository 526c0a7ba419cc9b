"""tools/test and tools/check: the turns of the long test sets name existing scripts and tests, and clang-tidy reads the sources as they are."""

import importlib.machinery
import importlib.util
import json
import shutil
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


def test_what_failed_is_named(stages, tmp_path):
    results = tmp_path / "pytest.xml"
    results.write_text(
        "<testsuites><testsuite><testcase classname='a.b' name='right'/><testcase classname='a.b' name='skips'><skipped/></testcase>"
        "<testcase classname='a.b' name='wrong'><failure message='assert 2 == 3&#10;more'/></testcase>"
        "<testcase classname='unit/C.D' name='unit/C.D' status='fail'><failure message='Failed'/></testcase></testsuite></testsuites>"
    )
    counts = stages.junit(results, 1)
    assert counts == stages.Counts(1, 2, 1, ("a.b::wrong: assert 2 == 3", "unit/C.D: Failed"))
    added = stages.add([stages.Counts(3), counts])
    assert added == counts._replace(passed=4) and str(added) == "4 passed, 2 failed, 1 skipped"


def test_a_stage_that_failed_without_naming_a_test_is_named(stages, tmp_path):
    results = tmp_path / "pytest.xml"
    assert stages.junit(results, 2).failures == ("pytest: nothing ran, exit status 2",)
    results.write_text("<testsuites><testsuite><testcase classname='a' name='right'/></testsuite></testsuites>")
    assert stages.junit(results, 3).failures == ("pytest: exit status 3",)
    assert stages.summed_up("sh", "-c", "echo 5 passed, 1 failed; exit 1").failures == ("sh: 5 passed, 1 failed",)
    assert stages.summed_up("sh", "-c", "echo 5 passed, 0 failed").failures == ()


@pytest.mark.skipif(not shutil.which("clang-tidy"), reason="no clang-tidy here")
@pytest.mark.parametrize(("source", "status"), [("int answer() { return 42; }", 0), ("int *answer() { return 0; }", 1)])
def test_clang_tidy_does_not_read_headers_that_gcc_compiled(monkeypatch, tmp_path, source, status):
    tidy = script(monkeypatch, offload.ROOT / "tools" / "check" / "tidy")
    for directory in ("src", "build"):
        (tmp_path / directory).mkdir()
    shutil.copy(offload.ROOT / ".clang-tidy", tmp_path)
    file = tmp_path / "src" / "answer.cpp"
    file.write_text(source + "\n")
    (tmp_path / "build" / "cmake_pch.hxx").write_text("")
    (tmp_path / "build" / "cmake_pch.hxx.gch").write_text("gpch.014")
    command = f"c++ --param=ggc-min-heapsize=1000000 -Winvalid-pch -include {tmp_path}/build/cmake_pch.hxx -o answer.o -c {file}"
    entry = {"directory": str(tmp_path), "file": str(file), "command": command}
    (tmp_path / "build" / "compile_commands.json").write_text(json.dumps([entry]))
    monkeypatch.setattr(tidy, "ROOT", tmp_path)
    monkeypatch.setattr(tidy, "MARKS", tmp_path / "build" / "tidy")
    assert tidy.main(only_changed=False) == status

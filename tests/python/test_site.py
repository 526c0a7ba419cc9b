"""The site's defaults, and values that cannot be used: the launcher checks them before the program starts."""

import json

import pytest

CONF = "# of this site\n\npolicy = copy\nmin-size=300\nfoo = 1\ndevice = bogus\ntrust\n"


@pytest.fixture
def site(tmp_path):
    path = tmp_path / "site.conf"
    path.write_text(CONF)
    return {"BLASTOFF_SITE_FILE": str(path)}


def settings_of(blastoff, *options, env):
    return json.loads(blastoff("env", "--json", *options, env=env).stdout)


def test_the_command_line_and_the_environment_override_the_site(blastoff, site):
    variables = settings_of(blastoff, env=site)
    assert (variables["BLASTOFF_POLICY"], variables["BLASTOFF_MIN_SIZE"]) == ("copy", "300")
    assert "BLASTOFF_DEVICE" not in variables
    variables = settings_of(blastoff, "--policy=first-use", env=site | {"BLASTOFF_MIN_SIZE": "7"})
    assert variables["BLASTOFF_POLICY"] == "first-use" and "BLASTOFF_MIN_SIZE" not in variables


@pytest.mark.parametrize(("path", "why"), [("/nonexistent", "No such file or directory"), ("/tmp", "Is a directory")])
def test_a_file_that_is_named_must_be_one(blastoff, path, why):
    done = blastoff("env", "--json", env={"BLASTOFF_SITE_FILE": path})
    assert done.stderr == f"blastoff: {path}: {why}\n" and "BLASTOFF_POLICY" not in json.loads(done.stdout)


def test_lines_that_do_not_count_are_named(blastoff, site):
    path = site["BLASTOFF_SITE_FILE"]
    done = blastoff("run", "--device=none", "--summary=never", "true", env=site)
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert lines[0] == f"blastoff: {path}:5: unknown setting foo"
    assert lines[1].startswith(f"blastoff: {path}:6: invalid value device=bogus; accepted: cuda")
    assert lines[2:] == [f"blastoff: {path}:7: trust needs a value: trust = VALUE"]


def test_doctor_shows_them(monkeypatch, site):
    from blastoff.doctor import machine

    monkeypatch.setenv("BLASTOFF_SITE_FILE", site["BLASTOFF_SITE_FILE"])
    found = machine.site_defaults()
    assert found.state.value == "warn" and found.text.startswith("policy=copy; min-size=300; ") and "unknown setting foo" in found.text
    monkeypatch.setenv("BLASTOFF_SITE_FILE", "/nonexistent")
    assert machine.site_defaults().text == "/nonexistent: No such file or directory"


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("--cuda-path=/nonexistent", "No such file or directory; accepted: a directory"),
        ("--cuda-path=/etc/passwd", "Not a directory; accepted: a directory"),
        ("--model=nosuch.json", "No such file or directory; accepted: a file path, or none"),
        ("--model=/", "Is a directory; accepted: a file path, or none"),
        ("--model=/etc/passwd", "not a machine model; accepted: a file path, or none"),
        ("--simulated-rates=foo=1", "not understood; NAME is one of link, device, cpu, launch and start; accepted: default, or NAME=NUMBER[,...]"),
        ("--simulated-rates=cpu=0", "not understood; NAME is one of"),
        ("--simulated-fault=bogus", "not understood; OPERATION is one of allocate, "),
        ("--simulated-fault=record:1:wrong", "not understood; OPERATION is one of allocate, "),
        ("--simulated-fault=1/execute", "not understood; OPERATION is one of allocate, "),
        ("--log=calls=/proc/x/y", "/proc/x/: No such file or directory; accepted: none, calls or calls=FILE"),
    ],
)
def test_values_that_cannot_be_used(blastoff, option, why):
    flag, _, value = option.partition("=")
    done = blastoff("run", option, "--device=none", "--", "echo", "started")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"blastoff: invalid value {option}: {why}") and done.stderr.count("\n") == 1
    variable = "BLASTOFF_" + flag[2:].upper().replace("-", "_")
    assert f"invalid value {variable}={value}: " in blastoff("env", env={variable: value}).stderr

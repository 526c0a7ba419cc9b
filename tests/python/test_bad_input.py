"""Whatever a command is given to read or to write to: one clear line and an exit status, never a traceback."""

import json
import os
import signal
import subprocess
import sys

import pytest
from blastoff import command, files
from command_rig import clean_environment

BAD = {
    "empty": b"",
    "binary": bytes(range(256)) * 8,
    "truncated": b'{"blastoff": "1.2.3", "process": {"run": "no',
    "of another kind": b"[1, 2]",
    "nested": b"[" * 100_000,
    "long number": b"1" * 10_000,
    "no number": b'{"blastoff": NaN}',
    "in UTF-16": '{"blastoff": 1}'.encode("utf-16"),
}
READERS = ("report", "report --json", "report --compare {} {}", "advise", "memory", "predict", "try --machine {} true", "top")


def said(capsys, *words: object) -> str:
    """The line on stderr with which a command refuses its input."""
    assert command.main([str(word) for word in words]) == 2
    out, error = capsys.readouterr()
    assert out == "" and error.startswith("blastoff: ") and error.count("\n") == 1, error
    return error


@pytest.mark.parametrize("line", READERS)
def test_files_that_cannot_be_used(capsys, tmp_path, line):
    def refused(path: object) -> bool:
        words = line if "{}" in line else f"{line} {{}}"
        return str(path) in said(capsys, *(str(path) if word == "{}" else word for word in words.split()))

    file = tmp_path / "given.json"
    for content in BAD.values():
        file.write_bytes(content)
        assert refused(file)
    for path in (tmp_path / "missing.json", "/dev/zero", file / "below", tmp_path / ("x" * 300)):
        assert refused(path)


@pytest.mark.parametrize("words", [["report"], ["advise"], ["memory"], ["predict"], ["site"]], ids=" ".join)
def test_directories_without_anything(capsys, tmp_path, words):
    assert str(tmp_path) in said(capsys, *words, tmp_path)


def test_a_report_that_does_not_fit_without_jsonschema(capsys, monkeypatch, write, report):
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    del report["process"]
    assert said(capsys, "report", *write(report)).endswith("is not a Blastoff report: it does not fit the schema\n")


def trace(**changes: object) -> str:
    first = {"blastoff_trace": 1, "run": "node:1:1", "host": "node", "rank": None, "program": "scf"}
    return json.dumps(first | changes) + '\n{"end": 1.0, "routines": {"dgemm": {"seconds": 1.0}}}\n'


def test_a_directory_of_traces(capsys, tmp_path):
    from blastoff.replay import traces

    for name, changes in {"a": {"rank": 0}, "b": {"rank": 1, "run": "node:2:2"}}.items():
        (tmp_path / f"{name}.trace").write_text(trace(**changes))
    assert traces.named([str(tmp_path), "c"]) == [f"{tmp_path}/a.trace", f"{tmp_path}/b.trace", "c"]
    for name in "ab":
        (tmp_path / f"{name}.trace").write_text(trace(run=name))
    assert "traces of several runs; name the files of one: a.trace, b.trace" in said(capsys, "predict", tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads and writes everything")
def test_directories_without_permission(capsys, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    for words in (["report"], ["advise"], ["memory"], ["predict"], ["site"], ["try", "--trace"]):
        assert str(closed) in said(capsys, *words, closed, *(["true"] if words[0] == "try" else []))
    assert command.main(["run", f"{closed}/program"]) == 126
    assert "program: Permission denied" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text", "told"),
    [
        ("report", '{"blastoff_trace": 1}\n{"routine": "dgemm"}', "it is a trace, which blastoff predict reads"),
        ("advise", '{"mean_interval_seconds": 1}', "it is a time line of memory, which blastoff memory reads"),
        ("memory", '{"interception": 1}', "it is a report, which blastoff report reads"),
        ("predict", '{\n"interception": 1}', "it is a report, which blastoff report reads"),
        ("predict", '{"blastoff_machine": 1}', "it is a machine model, which blastoff predict --machine takes"),
        ("report", "", "it is empty"),
        ("memory", "\n", "it is empty"),
        ("predict", "", "it is empty"),
        ("site", "", "not a directory"),
    ],
)
def test_files_that_another_command_reads(capsys, write, words, text, told):
    assert said(capsys, words, *write(text)).endswith(f"{told}\n")


@pytest.mark.parametrize("words", ["report", "memory", "predict"])
def test_a_file_that_is_larger_than_memory(tmp_path, words):
    file = tmp_path / "large.json"
    file.touch()
    os.truncate(file, 1 << 40)
    limited = f"ulimit -v 4000000; exec {sys.executable} -m blastoff {words} {file}"
    done = subprocess.run(["sh", "-c", limited], env=clean_environment(), capture_output=True, text=True)
    assert done.returncode in (1, 2) and done.stderr.startswith("blastoff: ") and done.stderr.count("\n") == 1, done.stderr


def test_a_simulated_machine_without_rates(capsys, tmp_path):
    (tmp_path / "a.trace").write_text(trace())
    told = said(capsys, "predict", tmp_path / "a.trace", "--machine", "simulated:")
    assert "machine simulated: has no rates; accepted: simulated:NAME=NUMBER" in told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("top --interval=nan", "'nan' is no number of seconds from 0.05 to 86400"),
        ("top --interval fast", "'fast' is no number of seconds"),
        ("top --pid x", "'x' is no id of a process"),
        ("inspect --pid 0", "'0' is no id of a process"),
        ("inspect --pid " + "9" * 30, " is no id of a process"),
    ],
)
def test_values_that_are_none(capsys, line, told):
    assert told in said(capsys, *line.split())


def test_words_too_many_and_a_blas_that_is_none(capsys):
    assert said(capsys, "doctor", "x") == "blastoff: doctor: unexpected argument x; blastoff doctor --help shows the usage\n"
    assert said(capsys, "calibrate", "--blas", "/etc/passwd") == "blastoff: calibrate: /etc/passwd is not a library\n"


@pytest.mark.parametrize("words", ["report", "advise", "memory", "predict"])
def test_an_interrupt(tmp_path, words):
    """Ctrl-C ends a command as it ends other programs, without a traceback."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "blastoff", words, str(pipe)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment())
    with pipe.open("w"):  # waits until the command reads
        running.send_signal(signal.SIGINT)
        assert running.communicate(timeout=30) == ("", "")
    assert running.returncode == -signal.SIGINT


CLOSED = {"stdout": ">&-", "stdin and stdout": "<&- >&-", "full": ">/dev/full"}


@pytest.mark.parametrize("how", CLOSED)
def test_output_that_cannot_be_written(blastoff_shell, how):
    for words in ("--help", "inspect /bin/true", "report --csv - {report}"):
        done = blastoff_shell(words, CLOSED[how])
        why = "No space left on device" if how == "full" else "Bad file descriptor"
        assert (done.returncode, done.stderr) == (1, f"blastoff: standard output: {why}\n"), words


def test_messages_do_not_come_to_standard_output_if_standard_error_is_closed(tmp_path):
    for redirection in ("2>&-", "2>&- <&-"):
        line = f"{sys.executable} -m blastoff report {tmp_path}/missing.json {redirection}"
        done = subprocess.run(["sh", "-c", line], stdout=subprocess.PIPE, env=clean_environment())
        assert (done.returncode, done.stdout) == (2, b"")


@pytest.fixture
def blastoff_shell(write, report):
    """Runs the command in a shell that redirects its standard streams."""
    path = write(report)[0]

    def run(words: str, redirection: str) -> subprocess.CompletedProcess:
        line = f"'{sys.executable}' -m blastoff {words.format(report=path)} {redirection}"
        return subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True, env=clean_environment())

    return run


def test_what_other_programs_say_in_the_encoding_of_the_locale(monkeypatch, tmp_path):
    from blastoff.blas_libraries import system_blas

    listing = tmp_path / "ldconfig"
    listing.write_text("#!/bin/sh\nprintf '2 Eintr\\344ge in \\273/etc/ld.so.cache\\253\\n\\tlibblas.so.3 (libc6) => /nowhere/libblas.so.3\\n'\n")
    listing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert system_blas() == "/nowhere/libblas.so.3"


def test_names_that_the_encoding_of_the_locale_lacks(monkeypatch):
    def encoding(path: str, **_: object) -> None:
        raise UnicodeEncodeError("euc_jp", str(path), 0, 1, "illegal multibyte sequence")

    monkeypatch.setattr(files.os, "stat", encoding)
    with pytest.raises(OSError, match="its name does not fit the encoding of the locale"):
        files.read("\x9c.trace")

"""`blastoff run`: what it refuses and what it sets. Otherwise it leaves the program unchanged."""

import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time

import offload
import pytest
from blastoff import glibc, launcher
from blastoff.doctor.probe import PROBE
from blastoff.errors import CommandError
from blastoff.options import Option, check
from blastoff.printable import printable
from command_rig import clean_environment

PRINT_ENVIRONMENT = ["/usr/bin/env"]


def lines(text: str) -> list[str]:
    return text.splitlines()


def printed_environment(done) -> dict[str, str]:
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in lines(done.stdout) if "=" in line)


@pytest.mark.parametrize(
    ("options", "accepted"),
    [
        (["--policy", "fast"], "auto, first-use, coherent or copy"),
        (["--policy=fast"], "auto, first-use, coherent or copy"),
        (["--device=gpu"], "simulated:LIST, simulated:all or none"),
        (["--min-size=-1"], "an integer, 0 or more"),
        (["--min-size", "1.5"], "an integer, 0 or more"),
        (["--copy-threads=257"], "from 0 to 256"),
        (["--device-memory=0"], "1% to 100%"),
        (["--device-memory=101%"], "1% to 100%"),
        (["--simulated-memory=50%"], "suffix K, M, G or T"),
        (["--verify=maybe"], "off, report, abort, sample or sample=PERCENT"),
        (["--verify=sample=0%"], "sample=PERCENT"),
        (["--verify=sample=0.00001%"], "sample=PERCENT"),
        (["--place=here"], "auto, huge-pages, at-malloc, at-malloc=SIZE or none"),
        (["--place=at-malloc=0"], "at-malloc=SIZE"),
        (["--log=calls="], "calls=FILE"),
        (["--summary=all"], "auto, always, each or never"),
        (["--align=0"], "suffix K, M, G or T"),
        (["--polcy=copy"], "--policy"),
        (["--policy"], "--policy"),
        (["-x"], "--help"),
    ],
)
def test_a_bad_option_is_one_line_and_nothing_starts(blastoff, tmp_path, options, accepted):
    done = blastoff("run", *options, "--", "touch", "started")
    assert done.returncode == 2
    assert len(lines(done.stderr)) == 1 and accepted in done.stderr, done.stderr
    assert options[0].split("=")[0] in done.stderr
    assert not (tmp_path / "started").exists()


def test_a_bad_variable_is_refused_too(blastoff, tmp_path):
    done = blastoff("run", "touch", "started", env={"BLASTOFF_POLICY": "fast"})
    assert (done.returncode, lines(done.stderr)) == (
        2,
        ["blastoff: invalid value BLASTOFF_POLICY=fast; accepted: auto, first-use, coherent or copy"],
    )
    assert not (tmp_path / "started").exists()


def test_an_option_replaces_a_bad_variable(blastoff):
    done = blastoff("run", "--policy=copy", *PRINT_ENVIRONMENT, env={"BLASTOFF_POLICY": "fast"})
    assert printed_environment(done)["BLASTOFF_POLICY"] == "copy"


def test_every_default_is_accepted(table):
    for option in table:
        assert option.default == "" or option.accepts(option.default), option.name


VALUES = ["0", "1", "256", "257", "007", "80%", "100%", "0%", "101%", "4G", "4g", "4GB", "16777215T", "16777216T", "18446744073709551615"]
VALUES += ["18446744073709551616", "9223372036854775807", "9223372036854775808", "copy", "Copy", "auto", "cuda:1", "cuda:", "cuda:01234"]
VALUES += ["none", "+1", "-1", "-2", "-0", "--1", "-", "1023", "1024", " 1", "1 ", "\u0663", "1\n", "copy\n", "cuda\n"]


VALUES += ["calls", "calls=", "calls=file", "calls=/a/%p.log", "each"]
VALUES += ["at-malloc", "at-malloc=", "at-malloc=3M", "at-malloc=0", "at-malloc=16777216T", "huge-pages", "simulated", "1" * 5000, "0" * 50 + "1"]


def invalid_values(done: subprocess.CompletedProcess) -> set[str]:
    """The libraries' messages about invalid values."""
    assert done.returncode == 0, done.stderr
    return {said.removesuffix("\n") for said in done.stderr.split("blastoff: ")[1:] if said.startswith("invalid value")}


def refused_here(checked: list[Option], value: str) -> set[str]:
    """The command's message for each of these options with this value. Long values are cut as the library cuts them, in one line."""
    said = set()
    for option in checked:
        try:
            check(option, value, option.environment)
        except CommandError as error:
            said.add(printable(str(error).replace(value, value[:200])))
    return said


@pytest.mark.parametrize("value", VALUES)
def test_command_and_library_say_the_same(table, value):
    """Python and C++ read the same description: the library must complain about a value if and only if the command does."""
    checked = [option for option in table if option.scope == "library"]
    environment = clean_environment() | {option.environment: value for option in checked}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(offload.ROOT / "python"), str(offload.LIBRARY)], env=environment, capture_output=True, text=True
    )
    with_default = {f"{option.environment}=" for option in checked if option.default}
    said = invalid_values(done)
    assert {line.rsplit("; using ", 1)[0] for line in said} == refused_here(checked, value)
    assert all("; using " in line for line in said if any(name in line for name in with_default))


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", ["place", "align"])
def test_command_and_allocator_say_the_same(table, name, value):
    option = next(option for option in table if option.name == name)
    environment = clean_environment() | {option.environment: value, "LD_PRELOAD": str(offload.BUILD / "libblastoff-allocator.so")}
    done = subprocess.run([sys.executable, "-c", "b'x' * (2 << 20)"], env=environment, capture_output=True, text=True)
    assert invalid_values(done) == {f"{line}; ignored" for line in refused_here([option], value)}


def test_help_lists_every_option(blastoff, table):
    done = blastoff("run", "--help", env={"COLUMNS": "200"})
    assert done.returncode == 0
    for option in table:
        if option.on_command_line:
            assert f"{option.flag}{' ' if option.bare is None else '[='}" in done.stdout and option.environment in done.stdout, option.name


def test_variables_and_preload(blastoff):
    environment = printed_environment(blastoff("run", "--policy", "copy", "--min-size=7", "--verify", *PRINT_ENVIRONMENT))
    assert environment["LD_PRELOAD"] == str(offload.LIBRARY)
    assert environment["BLASTOFF_POLICY"] == "copy"
    assert environment["BLASTOFF_MIN_SIZE"] == "7"
    assert environment["BLASTOFF_VERIFY"] == "report"
    assert "BLASTOFF_DEVICE" not in environment


def test_an_existing_preload_stays(blastoff):
    environment = printed_environment(blastoff("run", *PRINT_ENVIRONMENT, env={"LD_PRELOAD": "libm.so.6"}))
    assert environment["LD_PRELOAD"] == f"{offload.LIBRARY}:libm.so.6"


@pytest.mark.skipif(glibc.version() < (2, 35), reason="this glibc cannot ask for huge pages")
def test_huge_pages(blastoff):
    def tunables(*options: str, **env: str) -> str | None:
        return printed_environment(blastoff("run", *options, *PRINT_ENVIRONMENT, env=env)).get("GLIBC_TUNABLES")

    assert tunables() == "glibc.malloc.hugetlb=1"
    assert tunables(GLIBC_TUNABLES="glibc.malloc.check=0") == "glibc.malloc.check=0:glibc.malloc.hugetlb=1"
    assert tunables(GLIBC_TUNABLES="glibc.malloc.hugetlb=2") == "glibc.malloc.hugetlb=2"
    assert tunables("--place=none") is None
    assert tunables(BLASTOFF_PLACE="none") is None


def test_paths_are_made_absolute(blastoff, tmp_path):
    """The directory of a report is made before the program starts, too."""

    def variable(name: str, *options: str, **env: str) -> str:
        return printed_environment(blastoff("run", *options, *PRINT_ENVIRONMENT, env=env))[name]

    assert variable("BLASTOFF_REPORT", "--report", "out/%p.json") == f"{tmp_path}/out/%p.json"
    assert (tmp_path / "out").is_dir()
    assert variable("BLASTOFF_REPORT", "--report", "out") == f"{tmp_path}/out/%h-%p.json"
    assert variable("BLASTOFF_REPORT", "--report", "new/") == f"{tmp_path}/new/%h-%p.json"
    assert variable("BLASTOFF_REPORT", "--report=-") == "/dev/stdout"
    assert variable("BLASTOFF_REPORT", BLASTOFF_REPORT="~/run.json", HOME=f"{tmp_path}/home") == f"{tmp_path}/home/run.json"
    assert variable("BLASTOFF_LOG", "--log=calls=lines") == f"calls={tmp_path}/lines"


def test_a_report_that_cannot_be_written_is_refused(blastoff, tmp_path):
    (tmp_path / "file").write_text("")
    for path, cause in (("/proc/no/such/run.json", "No such file"), ("file/run.json", "Not a directory")):
        done = blastoff("run", "--report", path, "touch", "started")
        assert done.returncode == 2 and len(lines(done.stderr)) == 1, done.stderr
        assert f"no report can be written to {path}: " in done.stderr and cause in done.stderr
    assert not (tmp_path / "started").exists()


def test_the_rest_of_the_environment_is_untouched(blastoff):
    """In particular, LC_CTYPE is not set, which Python sets for itself in the C locale."""
    given = {"LANG": "C", "MINE": "a=b\\n", "EMPTY": ""}
    environment = printed_environment(blastoff("run", *PRINT_ENVIRONMENT, env=given))
    assert {name: environment[name] for name in given} == given
    assert "LC_CTYPE" not in environment or "LC_CTYPE" in os.environ


def test_exit_status_and_output_are_the_programs(blastoff):
    done = blastoff("run", "--", "sh", "-c", "echo out; echo err >&2; exit 41")
    assert (done.returncode, done.stdout, lines(done.stderr)[0]) == (41, "out\n", "err")


def test_signals_are_the_programs(blastoff):
    assert blastoff("run", "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM
    assert blastoff("run", "sh", "-c", "kill -PIPE $$").returncode == -signal.SIGPIPE


def test_arguments_reach_the_program(blastoff):
    done = blastoff("run", "--verify", "printf", "%s|", "--policy", "x y", "--", "")
    assert done.stdout == "--policy|x y|--||"


def test_it_is_a_child_in_the_same_process_group(blastoff):
    done = blastoff("run", "sh", "-c", "echo $PPID $BLASTOFF_RUN; ps -o pgid= -p $$,$PPID | sort -u | wc -l")
    parent, run, groups = done.stdout.split()
    assert run.split(":")[-2] == parent and groups == "1"


@pytest.mark.parametrize(("program", "status"), [("no-such-program", 127), ("./no-such-program", 127), ("/", 126), ("./plain", 126)])
def test_a_program_that_cannot_be_started(blastoff, tmp_path, program, status):
    (tmp_path / "plain").write_text("echo hello")
    done = blastoff("run", program)
    assert done.returncode == status
    assert len(lines(done.stderr)) == 1 and program in done.stderr


@pytest.mark.parametrize(("option", "value"), [("--verify", "off"), ("--align", "1M")])
def test_a_value_where_only_an_equals_sign_gives_one(blastoff, option, value):
    done = blastoff("run", option, value, "true")
    assert done.returncode == 127
    assert done.stderr == f"blastoff: {value}: no such program; the value of {option} follows after an equals sign: {option}={value}\n"
    assert f"{option}[=" in blastoff("run", "--help").stdout


def test_a_missing_interpreter(blastoff, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = blastoff("run", "./script")
    assert done.returncode == 127 and "interpreter" in done.stderr


def test_no_program(blastoff):
    assert blastoff("run").returncode == 2
    assert blastoff("run", "--policy=copy", "--").returncode == 2


@pytest.mark.parametrize("options", [["-static"], ["-static-pie"]])
def test_a_static_program_is_refused(blastoff, compiled, options):
    done = blastoff("run", compiled("int main(void) { return 0; }", *options))
    assert done.returncode == 2
    assert len(lines(done.stderr)) == 1 and "statically linked" in done.stderr


def test_blastoff_itself_is_not(blastoff, tmp_path):
    """It is linked statically, and starts programs that are not."""
    report = tmp_path / "report.json"
    done = blastoff("run", "--device=none", "--memory", f"--report={report}", offload.COMMAND, "--version")
    assert done.returncode == 0 and done.stdout.startswith("blastoff "), done.stderr


def test_a_dynamic_program_is_not(blastoff, compiled):
    assert blastoff("run", compiled("int main(void) { return 5; }")).returncode == 5


def test_a_setuid_program_is_refused(blastoff, compiled, tmp_path):
    program = compiled("int main(void) { return 0; }")
    if os.geteuid() != 0:
        pytest.skip("needs root to make a setuid program of someone else's")
    os.chown(program, 65534, 65534)
    program.chmod(0o755 | stat.S_ISUID)
    done = blastoff("run", program)
    assert done.returncode == 2 and "setuid" in done.stderr


def test_a_broken_executable(blastoff, tmp_path):
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF\x02\x01")
    broken.chmod(0o755)
    assert blastoff("run", broken).returncode == 126


def test_a_library_path_that_cannot_be_preloaded(blastoff, tmp_path):
    spaced = tmp_path / "with space"
    spaced.mkdir()
    shutil.copy(offload.LIBRARY, spaced / "libblastoff.so")
    done = blastoff("run", "true", env={"BLASTOFF_LIBRARY": str(spaced / "libblastoff.so")})
    assert done.returncode == 2 and "space" in done.stderr


def test_no_library(blastoff):
    done = blastoff("run", "true", env={"BLASTOFF_LIBRARY": "/no/such/library.so"})
    assert done.returncode == 2
    assert lines(done.stderr) == ["blastoff: libblastoff.so was not found at /no/such/library.so; set BLASTOFF_LIBRARY to its path"]


@pytest.mark.parametrize("command", [[offload.COMMAND], [sys.executable, "-m", "blastoff"]], ids=["program", "module"])
def test_the_program_is_started_by_the_launcher(command, tmp_path):
    """Python takes ten times as long to start, and may start once for every rank of a job."""
    done = subprocess.run([*command, "run", "sh", "-c", "readlink /proc/$PPID/exe"], env=clean_environment(), capture_output=True, text=True)
    assert done.stdout == f"{launcher.find().resolve()}\n", done.stderr


def test_python_starts_after_the_program():
    """If the program cannot be started, neither is Python."""
    command = [launcher.find(), "--python", "/no/python", "/no/package", "run"]
    done = subprocess.run([*command, "/"], env=clean_environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (126, "blastoff: /: is a directory\n")
    done = subprocess.run([*command, "sh", "-c", "echo ran; exit 3"], env=clean_environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "ran\n") and done.stderr.startswith("blastoff: this run cannot be summed up: ")


def test_without_a_summary_or_a_report_there_is_no_python(tmp_path):
    env = clean_environment() | {"XDG_RUNTIME_DIR": str(tmp_path)}
    command = [launcher.find(), "--python", "/no/python", "/no/package", "run", "--summary=never", "sh", "-c", "exit 3"]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")
    assert list(tmp_path.iterdir()) == []


def test_modules_in_the_current_directory_are_not_imported(tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('mine')\n")
    for words, status in ((["run", "sh", "-c", "exit 3"], 3), (["--version"], 0)):
        done = subprocess.run([offload.COMMAND, *words], env=clean_environment(), cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == status and "mine" not in done.stderr


def test_a_rank_that_does_not_report_needs_no_python(tmp_path):
    """Only the last launcher of a job reports."""
    env = clean_environment() | {"XDG_RUNTIME_DIR": str(tmp_path), "PMIX_NAMESPACE": "job@1"}
    first = [sys.executable, "-m", "blastoff", "run", "--energy=off", "--summary=never", "cat"]
    with subprocess.Popen(first, env=env | {"PMIX_RANK": "0"}, stdin=subprocess.PIPE) as waiting:
        while not list(tmp_path.glob("*/launcher-*")):
            time.sleep(0.01)
        second = [launcher.find(), "--python", "/no/python", "/no/package", "run", "--energy=off", "sh", "-c", "exit 3"]
        done = subprocess.run(second, env=env | {"PMIX_RANK": "1"}, capture_output=True, text=True)
        waiting.stdin.close()
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")
    assert list(tmp_path.iterdir()) == [] and waiting.returncode == 0


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_closed_descriptor_changes_no_status(closed):
    """Python has no stream for a closed descriptor."""
    command = f"exec {shlex.quote(sys.executable)} -m blastoff run sh -c"
    for program, status in (("exit 7", 7), ("kill -TERM $$", -signal.SIGTERM)):
        words = ["sh", "-c", f"{command} '{program}' {closed}>&-"]
        assert subprocess.run(words, env=clean_environment(), capture_output=True).returncode == status


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no command given; blastoff --help lists the commands"),
        (["frobnicate"], "unknown command frobnicate; blastoff --help lists the commands"),
        (["reprot", "run.json"], "unknown command reprot (did you mean report?)"),
        (["help", "docter"], "unknown command docter (did you mean doctor?)"),
        (["--versoin"], "unknown option --versoin (did you mean --version?)"),
        (["run", "--polcy=copy", "true"], "run: unknown option --polcy (did you mean --policy?)"),
        (["run", "--polcy", "copy", "true"], "run: unknown option --polcy (did you mean --policy?)"),
        (["doctor", "--jsn"], "doctor: unknown option --jsn (did you mean --json?)"),
        (["report", "--htlm=x", "run.json"], "report: unknown option --htlm (did you mean --html?)"),
        (["report"], "report: the following arguments are required: FILE"),
        (["top", "--onec"], "top: unknown option --onec (did you mean --once?)"),
        (["inspect", "--jsn", "true"], "inspect: unknown option --jsn (did you mean --json?)"),
        (["run", "--frobnicate", "true"], "run: unknown option --frobnicate; blastoff run --help lists the options"),
    ],
)
def test_no_or_a_misspelled_word(blastoff, arguments, message):
    done = blastoff(*arguments)
    assert (done.returncode, lines(done.stderr)) == (2, [f"blastoff: {message}"])


@pytest.mark.parametrize("spelling", ["-V", "--version"])
def test_version(blastoff, spelling):
    done = blastoff(spelling)
    assert done.returncode == 0 and done.stdout.startswith("blastoff ")


@pytest.mark.parametrize("command", ["run", "inspect", "doctor", "top", "report"])
def test_help_of_a_command(blastoff, command):
    """`blastoff help run` is `blastoff run --help`."""
    done, other = blastoff("help", command), blastoff(command, "--help")
    assert (done.returncode, done.stdout) == (0, other.stdout)
    assert done.stdout.startswith(f"usage: blastoff {command}")


@pytest.mark.parametrize("spelling", ["-h", "--help", "help"])
def test_help(blastoff, spelling):
    done = blastoff(spelling)
    assert done.returncode == 0 and done.stdout.startswith("usage: blastoff run")


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["env", "--help"], ["try", "--help"], ["predict", "--help"]], ids=" ".join)
def test_help_fits_the_terminal(blastoff, words):
    whole, narrow = blastoff(*words).stdout, blastoff(*words, env={"COLUMNS": "80"}).stdout
    assert [line for line in narrow.splitlines() if len(line) > 80] == []
    assert words != ["--help"] or narrow.split() == whole.split()


def test_version_and_help_without_the_library(tmp_path):
    """As in a checkout before the build."""
    environment = clean_environment() | {"BLASTOFF_LIBRARY": str(tmp_path / "none.so")}

    def said(*arguments):
        return subprocess.run([sys.executable, "-m", "blastoff", *arguments], env=environment, capture_output=True, text=True, timeout=60)

    version, help_text = said("--version"), said("run", "--help")
    assert version.returncode == 0 and re.match(r"blastoff [0-9.]+ \(libblastoff.so was not found at ", version.stdout), version.stderr
    assert help_text.returncode == 0 and "usage: blastoff run" in help_text.stdout and "docs/settings.md" in help_text.stdout
    assert said("doctor").returncode == 2


def test_a_checkout_before_the_build(tmp_path):
    shutil.copytree(offload.ROOT / "python", tmp_path / "python", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(offload.ROOT / "CMakeLists.txt", tmp_path)
    environment = clean_environment() | {"BLASTOFF_LIBRARY": "", "PYTHONPATH": str(tmp_path / "python")}
    done = subprocess.run([sys.executable, "-m", "blastoff", "doctor"], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (2, f"blastoff: libblastoff.so is not built yet: make build, in {tmp_path}, builds it\n")

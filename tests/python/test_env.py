"""`blastoff env`: its lines give a shell the environment that `blastoff run` gives a program, and remove it again."""

import json
import shutil
import subprocess
import sys

import offload
import pytest
from command_rig import clean_environment

RUN_ONLY = {"BLASTOFF_RUN", "BLASTOFF_RUN_DIRECTORY"}
OPTIONS = ["--policy=copy", "--min-size", "7", "--verify", "--report", 'it\'s a "file" of $HOME & more; `x` \\ .json']
SHELLS = {
    "sh": (["sh"], 'eval "$({command})"'),
    "bash": (["bash", "--norc"], 'eval "$({command})"'),
    "zsh": (["zsh", "-f"], 'eval "$({command})"'),
    "csh": (["tcsh", "-f"], 'eval "`{command}`"'),
    "fish": (["fish", "--no-config"], "{command} | source"),
}

SHELL_OF = {"sh": "sh", "bash": "sh", "zsh": "sh", "csh": "csh", "fish": "fish"}


def environment_after(tmp_path, shell: str, *commands: str, env: dict[str, str] | None = None) -> dict[str, str]:
    """The environment of a program of the shell after the shell has read the output of the commands."""
    start, evaluates = SHELLS[shell]
    if not shutil.which(start[0]):
        pytest.skip(f"no {start[0]} here")
    lines = [evaluates.format(command=command) for command in commands]
    script = "\n".join([*lines, f"{sys.executable} -c 'import json, os; print(json.dumps(dict(os.environ)))'"])
    (tmp_path / "script").write_text(script + "\n")
    done = subprocess.run([*start, tmp_path / "script"], env=clean_environment() | (env or {}), cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), script
    return json.loads(done.stdout)


def differing(left: dict[str, str], right: dict[str, str]) -> dict[str, tuple[str | None, str | None]]:
    # Shells set further variables.
    ours = ("BLASTOFF_", "LD_", "GLIBC_")
    return {
        name: (left.get(name), right.get(name))
        for name in sorted({*left, *right} - RUN_ONLY)
        if name.startswith(ours) and left.get(name) != right.get(name)
    }


def command_line(*words: str) -> str:
    return " ".join([f"{sys.executable} -m blastoff env", *words])


@pytest.mark.parametrize("shell", SHELLS)
def test_a_program_of_the_shell_gets_what_run_gives_it(blastoff, tmp_path, shell):
    run = blastoff("run", *OPTIONS, sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))")
    # The shell under test does not quote them; it reads values that are quoted for it.
    (tmp_path / "options.py").write_text(
        f"import sys\nfrom blastoff.command import main\nsys.exit(main(['env', '--shell', {SHELL_OF[shell]!r}, *{OPTIONS!r}]))\n"
    )
    got = environment_after(tmp_path, shell, f"{sys.executable} options.py")
    assert differing(json.loads(run.stdout), got) == {}
    assert got["BLASTOFF_REPORT"] == str(tmp_path / OPTIONS[-1])


@pytest.mark.parametrize("shell", ["sh", "csh", "fish"])
def test_unset_takes_all_back(tmp_path, shell):
    before = {"LD_PRELOAD": "", "GLIBC_TUNABLES": "glibc.malloc.arena_max=1"}
    word = f"--shell={shell}"
    got = environment_after(tmp_path, shell, command_line(word, "--policy=copy"), command_line(word, "--unset"), env=before)
    assert got["GLIBC_TUNABLES"] == before["GLIBC_TUNABLES"]
    assert not got.get("LD_PRELOAD")
    assert {name for name in got if name.startswith("BLASTOFF_")} == {"BLASTOFF_LIBRARY"}


def test_only_changes_are_printed(blastoff):
    first = json.loads(blastoff("env", "--json", "--policy=copy").stdout)
    assert first["BLASTOFF_POLICY"] == "copy" and first["LD_PRELOAD"] == str(offload.LIBRARY)
    assert not RUN_ONLY & set(first)
    again = blastoff("env", "--policy=copy", env=first)
    assert (again.returncode, again.stdout) == (0, "")
    assert blastoff("env", "--unset").stdout == ""


def test_what_others_preload_stays(blastoff):
    other = blastoff("env", "--json", env={"LD_PRELOAD": "/lib/other.so"})
    # The dynamic linker prints in these processes that there is no such library.
    assert json.loads(other.stdout)["LD_PRELOAD"] == f"{offload.LIBRARY}:/lib/other.so"
    back = blastoff("env", "--unset", "--json", env=json.loads(other.stdout))
    assert json.loads(back.stdout)["LD_PRELOAD"] == "/lib/other.so"


@pytest.mark.parametrize(
    ("login", "line"),
    [
        ("/bin/tcsh", "setenv BLASTOFF_LOG 'calls';"),
        ("/usr/bin/fish", "set -gx BLASTOFF_LOG 'calls';"),
        ("/bin/zsh", "export BLASTOFF_LOG=calls;"),
        ("", "export BLASTOFF_LOG=calls;"),
    ],
)
def test_the_shell_of_the_user(blastoff, login, line):
    assert line in blastoff("env", "--log=calls", env={"SHELL": login}).stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["./a.out"], "env: ./a.out: no program is started; blastoff run starts one"),
        (["--polcy=copy"], "env: unknown option --polcy (did you mean --policy?)"),
        (["--policy=fast"], "invalid value --policy=fast; accepted: auto, first-use, coherent or copy"),
    ],
)
def test_mistakes_are_one_line(blastoff, words, message):
    done = blastoff("env", *words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"blastoff: {message}\n")

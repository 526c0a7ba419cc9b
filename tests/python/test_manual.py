"""Manual pages render without a warning, shells complete all accepted words, and both have every option."""

import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest
from blastoff.command import COMMANDS, USAGE
from blastoff.manual import completion, examples, syntax
from blastoff.manual.command import write
from blastoff.options import paragraphs


@pytest.fixture(scope="module")
def share(tmp_path_factory):
    """The files that an installation has below share/."""
    directory = tmp_path_factory.mktemp("share")
    write(directory, COMMANDS, USAGE)
    return directory


@pytest.fixture(scope="module")
def commands():
    return syntax.read_commands(COMMANDS, USAGE)


def needs(program: str) -> None:
    if not shutil.which(program):
        pytest.skip(f"no {program} here")


def test_every_command_has_a_page(share):
    assert {path.stem for path in (share / "man" / "man1").iterdir()} == {"blastoff", *(f"blastoff-{name}" for name in COMMANDS)}


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_pages_render_without_a_warning(share, name):
    needs("groff")
    page = share / "man" / "man1" / (f"blastoff-{name}.1" if name else "blastoff.1")
    done = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-P-cbou", page], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"BLASTOFF{'-' if name else ''}{name.upper()}(1)" in done.stdout


def test_the_page_of_run_has_every_option_and_its_help(share, table):
    text = (share / "man" / "man1" / "blastoff-run.1").read_text().replace("\\-", "-")
    for option in table:
        name = f"\\fB{option.flag}\\fR" if option.on_command_line else f"\\fB{option.environment}\\fR"
        assert name in text and option.environment in text
        for part in paragraphs(option.help):
            assert part.replace("\\", "\\e") in re.sub(r"\\f[BR]", "`", text), part


def test_help_prints_the_page(blastoff, share):
    for name in ("run", ""):
        page = share / "man" / "man1" / (f"blastoff-{name}.1" if name else "blastoff.1")
        assert blastoff("help", "--man", *filter(None, [name])).stdout == page.read_text()
    assert blastoff("help", "--man", "rnu").stderr == "blastoff: unknown command rnu (did you mean run?)\n"


def test_lines_of_roff_are_text():
    from blastoff.manual import page

    assert page.escaped(".so file\n'tis \\fB -x") == "\\&.so file\n\\&'tis \\efB \\-x"


def test_summaries_and_choices(commands):
    run = next(command for command in commands if command.name == "run")
    arguments = {argument.names[-1]: argument for argument in run.arguments}
    assert arguments["--policy"].summary == "How matrices get to the device"
    assert arguments["--device"].choices == ["cuda", "cuda:", "cuda:all", "simulated", "simulated:", "simulated:all", "none"]
    assert (arguments["--verify"].optional, arguments["--min-size"].choices, arguments["--report"].is_file) == (True, [], True)


# A line as typed, and the words that may follow.
COMPLETED = [
    ("", list(COMMANDS)),
    ("inspe", ["inspect"]),
    ("run --pol", ["--policy"]),
    ("run --policy c", ["coherent", "copy"]),
    ("run --min-size 3 --policy f", ["first-use"]),
    ("run --policy=c", ["coherent", "copy"]),
    ("run --verify=rep", ["report"]),
    ("env --shell ", ["csh", "fish", "sh"]),
    ("completion ", ["bash", "fish", "zsh"]),
    ("doctor --j", ["--json"]),
    ("inspect --p", ["--pid"]),
]
BEHIND_THE_PROGRAM = ["run ls --pol", "run --verify ls --pol", "run --policy copy ls --pol", "run -- ls --pol"]


def in_bash(share, line: str) -> list[str]:
    words = re.findall(r"=|[^\s=]+", f"blastoff {line}")
    if line == "" or line.endswith(" "):
        words.append("")
    script = f"""
        compopt() {{ :; }}  # only while a line is edited
        source {share}/bash-completion/completions/blastoff
        COMP_WORDS=({" ".join(f"'{word}'" for word in words)})
        COMP_CWORD={len(words) - 1}
        _blastoff
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return sorted(filter(None, done.stdout.splitlines()))


@pytest.mark.parametrize(("line", "expected"), COMPLETED)
def test_bash(share, line, expected):
    needs("bash")
    found = in_bash(share, line)
    assert [word for word in found if word not in ("help", "--help", "--version")] == sorted(expected)


@pytest.mark.parametrize("line", BEHIND_THE_PROGRAM)
def test_bash_leaves_the_program_alone(share, line):
    needs("bash")
    assert in_bash(share, line) == []


def test_bash_completes_programs(share):
    needs("bash")
    assert "env" in in_bash(share, "run --verify en")


@pytest.mark.parametrize(("line", "expected"), COMPLETED)
def test_fish(share, line, expected):
    needs("fish")
    script = f"source {share}/fish/vendor_completions.d/blastoff.fish; complete -C 'blastoff {line}'"
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    words = [row.split("\t")[0] for row in done.stdout.splitlines()]
    assert sorted(word.split("=")[-1] for word in words) == sorted(expected)


def typed_into_zsh(share, line: str, until: str) -> str:
    """The output of an interactive zsh after the line and a tab have been typed."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(TERM="dumb", PS1="> ")
        os.execvp("zsh", ["zsh", "-f", "-i"])
    shown = ""

    def read_until(text: str) -> None:
        nonlocal shown
        deadline = time.monotonic() + 20
        while text not in shown and time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.1)[0]:
                shown += os.read(terminal, 4096).decode(errors="replace")

    try:
        setup = f"fpath=({share}/zsh/site-functions); autoload -Uz compinit; compinit -D -u; autoload -Uz _blastoff; compdef _blastoff blastoff"
        standard = "fpath=($fpath $saved)"
        os.write(terminal, f"saved=($fpath); {setup.replace('; autoload', f'; {standard}; autoload', 1)}; echo re''ady\n".encode())
        read_until("ready")
        shown = ""
        os.write(terminal, f"blastoff {line}\t".encode())
        read_until(until)
        return shown
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


@pytest.mark.parametrize(
    ("line", "shown"),
    [("inspe", "inspect "), ("run --pol", "--policy"), ("run --policy fi", "first-use "), ("run --verify=rep", "report"), ("env --she", "--shell")],
)
def test_zsh(share, line, shown):
    needs("zsh")
    assert shown in typed_into_zsh(share, line, shown)


def test_completion_is_printed(blastoff, share):
    for shell in completion.SHELLS:
        printed = blastoff("completion", shell).stdout
        assert printed and printed in [path.read_text() for path in share.rglob("*blastoff*") if path.is_file()]
    assert blastoff("completion", "tcsh").returncode == 2


def test_examples_name_options_that_exist():
    commands = {command.name: command for command in syntax.read_commands(COMMANDS, USAGE)}
    assert examples.EXAMPLES.keys() == commands.keys()
    for name, lines in examples.EXAMPLES.items():
        known = {spelled for argument in commands[name].arguments for spelled in argument.names}
        words = [word for line, _ in lines for word in re.split(r"[ )\"]+", line.partition(f"blastoff {name}")[2].partition(" -- ")[0])]
        assert {word.split("=")[0] for word in words if word.startswith("--")} - {"--"} <= known, name


def test_pages_show_examples_and_files(blastoff):
    for name in ((), ("top",)):
        page = blastoff("help", "--man", *name).stdout
        assert ".SH EXAMPLES" in page and ".SH FILES" in page and "/etc/blastoff.conf" in page


def test_pages_say_exit_statuses_and_whole_placeholders(blastoff):
    page = blastoff("help", "--man", "predict").stdout
    assert ".SH EXIT STATUS\n0 if it worked" in page and "\\fINAME[,NAME...]\\fR" in page
    assert blastoff("help", "--man", "doctor").stdout.count(".SH EXIT STATUS\n0 if calls can be offloaded") == 1

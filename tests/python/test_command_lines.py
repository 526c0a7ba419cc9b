"""Each command line of the pages names options that exist. It runs here, or its page says what it needs."""

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import offload
import pytest
from blastoff.command import COMMANDS, USAGE
from blastoff.manual import syntax
from command_rig import clean_environment
from pages.command_lines import Line, blocks, unknown

PAGES = [offload.ROOT / "README.md", *sorted((offload.ROOT / "docs").rglob("*.md"))]
PROGRAMS = Path(__file__).parent / "pages"
EVERY = "BLASTOFF_TEST_EVERY_COMMAND" in os.environ
LONG = ("blastoff lab", "blastoff calibrate")
"""Commands that take more than a second or two: only in the long set."""
ANSWERS = {"blastoff doctor": 1, "blastoff inspect": 1, "blastoff top": 2, "blastoff run --policy cpy": 2}
"""Their status for an answer that is no failure, such as: there is no GPU, the run has ended, or a value is wrong."""


def spans(page: Path) -> list[Line]:
    """The command lines in the text of a page, such as `blastoff doctor --json`."""
    numbered = enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
    return [Line(number, span, "") for number, line in numbered for span in re.findall(r"`(blastoff [a-z][^`]*)`", line)]


def test_the_options_exist():
    commands = {command.name: command for command in syntax.read_commands(COMMANDS, USAGE)}
    seen, wrong = 0, []
    for page in PAGES:
        for line in [*itertools.chain(*blocks(page)), *spans(page)]:
            for name, rest in re.findall(r"(?:^|[ (/`])(?<!-p )blastoff ([a-z]+)(?![\w.])((?: [^|#;)`]*)?)", line.text):
                if name not in commands:
                    wrong += [f"{page.name}:{line.number}: {name}"] if name != "help" else []
                    continue
                seen += 1
                known = {spelled for argument in commands[name].arguments for spelled in argument.names} | {"--help"}
                options = [word.split("=")[0] for word in rest.partition(" -- ")[0].split() if re.match(r"--[a-z]", word)]
                wrong += [f"{page.name}:{line.number}: {option}" for option in options if option not in known]
    assert seen >= 200 and wrong == []


def test_the_commands_exist():
    """Also those that need a GPU: their names are known, and a script of the checkout is there and knows its options."""
    wrong = [line for page in PAGES for line in unknown(page)]
    for page in PAGES:
        for line in (line for line in itertools.chain(*blocks(page)) if re.match(r"(bench|tools|tests)/", line.text)):
            name, *words = line.text.split()
            code = (offload.ROOT / name).read_text(encoding="utf-8") if (offload.ROOT / name).is_file() else ""
            wrong += [f"{page.name}:{line.number}: {line.text}"] if not code else []
            wrong += [f"{page.name}:{line.number}: {word}" for word in words if word.startswith("--") and word.split("=")[0] not in code]
    assert wrong == []


def runs(line: Line) -> bool:
    return not (line.mark or line.is_pattern) and (EVERY or not any(words in line.text for words in LONG))


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Path:
    """The folder of the programs that the pages name."""
    folder = tmp_path_factory.mktemp("programs")
    subprocess.run(["gcc", "-g", PROGRAMS / "scf.c", "-o", folder / "scf", "-lblas"], check=True)
    for name in ("a.out", "app"):
        shutil.copy(folder / "scf", folder / name)
    for name in ("scf.py", "train.py", "script.py", "workflow.py"):
        shutil.copy(PROGRAMS / "scf.py", folder / name)
    (folder / "input.dat").touch()
    (folder / "tests").mkdir()
    (folder / "tests" / "test_a.py").write_text(
        "import numpy\n\n\ndef test_product():\n    assert (numpy.ones((200, 200)) @ numpy.ones(200))[0] == 200\n"
    )
    for name in ("bench", "build", "examples", "python", "share"):
        (folder / name).symlink_to(offload.ROOT / name)
    return folder


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    home = tmp_path / "home"
    (home / ".cache" / "blastoff").mkdir(parents=True)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    launcher = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    variables = {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_RUNTIME_DIR": str(home),
        "PATH": path,
        "BLASTOFF_DEVICE": "simulated",
    }
    return clean_environment() | launcher | variables


PAGES_THAT_RUN = [page for page in PAGES if any(runs(line) for block in blocks(page) for line in block)]


@pytest.mark.parametrize("page", PAGES_THAT_RUN, ids=lambda page: page.stem)
def test_the_commands_run(page, programs, environment, tmp_path):
    """A block is one script; the files that its commands write are there for the next blocks of the page."""
    folder = shutil.copytree(programs, tmp_path / "here", symlinks=True)
    for block in blocks(page):
        lines = [line for line in block if runs(line)]
        if any("mpirun" in line.text for line in lines) and not shutil.which("mpirun"):
            continue
        told = [line.text + next((f" || [ $? = {status} ]" for name, status in ANSWERS.items() if line.text.startswith(name)), "") for line in lines]
        script = "\n".join(["trap 'echo failed: $BASH_COMMAND >&2' ERR", *told])
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, f"{page.name}:{lines[0].number}: {done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("line", ["blastof run", "nosuch --option x", "gxx a.c", "cd x && make"])
@pytest.mark.parametrize("place", ["    {}\n", "    blastoff doctor\n    {}    # needs a GPU\n"])
def test_a_command_that_is_not_known_is_noticed(tmp_path, line, place):
    page = tmp_path / "page.md"
    page.write_text("Text:\n\n" + place.format(line))
    assert [found.rpartition(": ")[2] for found in unknown(page)] == [line]


def test_what_is_recognised(tmp_path):
    """As a command, an answer, a pattern, or something that needs what is not here."""
    page = tmp_path / "page.md"
    page.write_text(
        "A list:\n\n* one\n    blastoff run -- x\n\nText.\n\n    $ blastoff doctor\n    blastoff lab\n\nThis needs a GPU:\n\n    blastoff lab\n\n"
        "Text.\n\n    blastoff lab    # takes minutes\n    bench/table.py FILE\n    int main();\n"
    )
    found = [(line.text, line.mark, line.is_pattern) for block in blocks(page) for line in block]
    assert found == [
        ("blastoff doctor", "", False),
        ("blastoff lab", "needs a GPU", False),
        ("blastoff lab", "takes minutes", False),
        ("bench/table.py FILE", "", True),
    ]

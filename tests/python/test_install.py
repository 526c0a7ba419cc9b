"""The files that `cmake --install` installs, and the command, which works wherever they are moved."""

import ast
import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path

import installing
import mpi
import offload
import pytest
from pages.command_lines import blocks

pytestmark = pytest.mark.skipif(bool(installing.why_not()), reason=installing.why_not())

FILES = """
bin/blastoff
include/blastoff.h
include/blastoff/blocks.hpp
include/blastoff/blocks_mpi.hpp
include/blastoff_allocator.h
include/blastoff_blocks.f90
include/blastoff_blocks.h
include/blastoff_blocks_mpi.h
LIB/libblastoff.so
LIB/libblastoff-allocator.so
LIB/blastoff/libblastoff.so
LIB/blastoff/python/blastoff/build-id.txt
LIB/blastoff/python/blastoff/command.py
LIB/blastoff/python/blastoff/report.schema.json
LIB/blastoff/python/blastoff/inspect.schema.json
LIB/pkgconfig/blastoff.pc
share/bash-completion/completions/blastoff
share/blastoff/inspect.schema.json
share/blastoff/job.schema.json
share/blastoff/jobs/must-lsms.json
share/blastoff/jobs/parsec.json
share/blastoff/lab.schema.json
share/blastoff/machine.schema.json
share/blastoff/memory.schema.json
share/blastoff/prediction.schema.json
share/blastoff/report.schema.json
share/blastoff/scale.schema.json
share/doc/blastoff/CITATION.cff
share/doc/blastoff/LICENSE
share/doc/blastoff/THIRD_PARTY_NOTICES
share/fish/vendor_completions.d/blastoff.fish
share/man/man1/blastoff.1
share/man/man1/blastoff-run.1
share/modulefiles/blastoff-preload/VERSION
share/modulefiles/blastoff-sample/VERSION
share/modulefiles/blastoff/VERSION
share/zsh/site-functions/_blastoff
"""


def version() -> str:
    return re.search(r"project\(blastoff VERSION ([0-9.]+)", (offload.ROOT / "CMakeLists.txt").read_text())[1]


@pytest.fixture(scope="module")
def moved(tmp_path_factory) -> Path:
    """An installation that was moved to another directory."""
    directory = tmp_path_factory.mktemp("site")
    return installing.install(directory / "first").rename(directory / "second place")


def bare_environment() -> dict[str, str]:
    environment = {name: value for name, value in offload.environment().items() if not name.startswith("PYTHON")}
    return environment | {"PATH": "/usr/bin:/bin"}


def run(*command: object, **env: str) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], env=bare_environment() | env, capture_output=True, text=True, timeout=60)


def test_files(moved):
    library = str(installing.folder_of_libraries(moved).relative_to(moved))
    expected = FILES.replace("LIB", library).replace("VERSION\n", f"{version()}\n").split()
    assert [name for name in expected if not (moved / name).is_file()] == []
    everything = {str(path.relative_to(moved)) for path in moved.rglob("*") if path.is_file()}
    assert [name for name in everything if str(offload.ROOT) in name] == []
    # All other files must be of these kinds.
    package = f"{library}/blastoff/python"
    kinds = (f"{package}/blastoff/", "share/man/man1/blastoff-", "share/blastoff/machines/", "share/doc/blastoff/")
    assert [name for name in sorted(everything - set(expected)) if not name.startswith(kinds)] == []


def test_the_package_is_compiled(moved, tmp_path):
    """Users could not write compiled files, so Python would compile at each start. The compiled files stay valid in a copy with other file times."""
    package = installing.folder_of_libraries(moved) / "blastoff" / "python"
    shutil.copytree(package, tmp_path / "python", copy_function=shutil.copyfile)
    done = run("python3", "-v", "-B", "-m", "blastoff", "--help", PYTHONPATH=str(tmp_path / "python"))
    command = tmp_path / "python" / "blastoff" / "command.py"
    assert done.returncode == 0 and f"matches {command}" in done.stderr, done.stderr
    assert "bytecode is stale" not in done.stderr


def test_a_staged_installation_lists_compiled_files(tmp_path):
    """The list has the paths of the files after the installation is moved to its place."""
    said = installing.stage(Path("/opt/site"), tmp_path)
    manifest = (offload.BUILD / "install_manifest.txt").read_text().splitlines()
    compiled = [line for line in manifest if line.endswith(".pyc")]
    assert "Compiled for Python" in said and compiled
    assert [line for line in compiled if not line.startswith("/opt/site/") or not (tmp_path / line[1:]).is_file()] == []


def test_no_file_names_the_checkout(moved):
    """No text file contains the path of the checkout. Debug information may."""
    files = [path for path in moved.rglob("*") if path.is_file()]
    texts = [path for path in files if not path.read_bytes().startswith(b"\x7fELF")]
    assert texts and [path for path in texts if str(offload.ROOT).encode() in path.read_bytes()] == []


def test_the_command_works_where_it_is_moved_to(moved, tmp_path):
    """The command works through a symbolic link. Its path has no spaces, which LD_PRELOAD does not allow."""
    site = tmp_path / "site"
    shutil.copytree(moved, site)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "blastoff").symlink_to(site / "bin" / "blastoff")
    build = (installing.folder_of_libraries(site) / "blastoff" / "python" / "blastoff" / "build-id.txt").read_text().strip()
    assert run(tmp_path / "bin" / "blastoff", "--version").stdout == f"blastoff {version()} (build {build})\n"
    assert run(site / "bin" / "blastoff", "--build").stdout == f"{build}\0"
    done = run(tmp_path / "bin" / "blastoff", "run", "/usr/bin/env")
    assert done.returncode == 0, done.stderr
    assert f"LD_PRELOAD={installing.folder_of_libraries(site)}/libblastoff.so" in done.stdout.splitlines()
    assert "PYTHONPATH" not in done.stdout


def test_a_path_with_a_space_is_refused(moved):
    done = run(moved / "bin" / "blastoff", "run", "/bin/true")
    assert done.returncode == 2 and "cannot contain a space" in done.stderr


def test_a_missing_python_package_is_one_line(moved, report, write, tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ModuleNotFoundError(name='matplotlib')\n")
    page = tmp_path / "page.html"
    done = run(moved / "bin" / "blastoff", "report", *write(report), "--html", page, PYTHONPATH=str(tmp_path))
    assert done.returncode == 2 and re.fullmatch(r"blastoff: this command needs the Python package matplotlib, which \S+ lacks\n", done.stderr), (
        done.stderr
    )


def test_no_python_is_one_line(moved, tmp_path):
    if not Path("/usr/bin/python3").exists() or not shutil.which("unshare"):
        pytest.skip("no /usr/bin/python3 to hide here, or it cannot be hidden")
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    hide = 'mount --bind "$0" "$(readlink -f /usr/bin/python3)" && PATH= && exec "$@"'
    done = run("unshare", "-rm", "sh", "-c", hide, tmp_path / "python3", moved / "bin" / "blastoff", "--version")
    if done.returncode == 1:
        pytest.skip("a namespace of its own is not allowed here")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "needs Python 3.10" in done.stderr


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config here")
def test_pkg_config_follows(moved):
    directory = installing.folder_of_libraries(moved) / "pkgconfig"
    assert run("pkg-config", "--modversion", "blastoff", PKG_CONFIG_PATH=str(directory)).stdout.strip() == version()
    asked = run("pkg-config", "--variable=libdir", "blastoff", PKG_CONFIG_PATH=str(directory)).stdout.strip().replace("\\ ", " ")
    assert Path(asked).resolve() == directory.parent


@pytest.mark.skipif(not all(map(shutil.which, ("pkg-config", "mpicxx", "mpirun"))), reason="no MPI or no pkg-config here")
@pytest.mark.parametrize("page", ["blocks.md", "installing.md", "placement.md"])
def test_programs_are_compiled_as_the_pages_say(moved, tmp_path, page):
    """The lines of a page that compile programs and start them, with less work. The path of the installation has no blank."""
    (tmp_path / "site").symlink_to(moved)
    (tmp_path / "examples").symlink_to(offload.ROOT / "examples")
    shutil.copy(offload.ROOT / "tests" / "program" / "programs" / "water.fcidump", tmp_path)
    (tmp_path / "main.c").write_text("void dgemm_(void);\nint main(int count, char **words) { if (count > 1) dgemm_(); return words == 0; }\n")
    subprocess.run(["gcc", "-c", "main.c"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "main.o", "-lblas"], cwd=tmp_path, check=True)
    libraries = tmp_path / "site" / installing.folder_of_libraries(moved).relative_to(moved)
    texts = [line.text for line in itertools.chain(*blocks(offload.ROOT / "docs" / page)) if line.mark == "needs an installation"]
    lines = [text for text in texts if re.match(r"(export PKG|g\+\+|gcc|mpicxx|mpirun|LD_PRELOAD|\./)", text)]
    assert len(lines) == {"blocks.md": 5, "installing.md": 2, "placement.md": 1}[page]
    script = "\n".join(lines).replace("/opt/blastoff/lib", str(libraries)).replace("-O2", "-O0")
    for much, little in (("=40 ", "=4 "), ("=160 ", "=8 ")):
        script = script.replace(much, little)
    environment = bare_environment() | dict(mpi.OPENMPI.settings) | {"PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "BLASTOFF_DEVICE": "simulated"}
    done = subprocess.run(["bash", "-euc", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "cannot be preloaded" not in done.stderr, done.stderr
    assert page != "blocks.md" or ("without intents" in done.stdout and "CCSD correlation" in done.stdout)


def modules() -> list[str]:
    """The command of Environment Modules or, without it, of Lmod."""
    for path in (*Path("/usr/lib").glob("*/modulecmd.tcl"), Path("/usr/share/lmod/lmod/libexec/lmod")):
        if path.exists():
            return [str(path), "sh"]
    return []


def after_loading(directory: Path, *names: str, **env: str) -> dict[str, str]:
    """The environment of a shell after it has loaded the modules."""
    changes = run(*modules(), "load", *names, MODULEPATH=str(directory), **env)
    assert changes.returncode == 0, changes.stderr
    show = "\npython3 -c 'import json, os; print(json.dumps(dict(os.environ)))'"
    done = run("sh", "-c", changes.stdout + show, MODULEPATH=str(directory), **env)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(not modules(), reason="neither Environment Modules nor Lmod here")
def test_modulefiles(moved, tmp_path):
    site = tmp_path / "site"
    shutil.copytree(moved, site)
    got = after_loading(site / "share" / "modulefiles", "blastoff")
    assert got["PATH"].split(":")[0] == f"{site}/bin"
    assert got["MANPATH"].split(":")[0] == f"{site}/share/man"
    assert got["PKG_CONFIG_PATH"].split(":")[0] == f"{installing.folder_of_libraries(site)}/pkgconfig"
    assert "LD_PRELOAD" not in got
    preloading = after_loading(site / "share" / "modulefiles", "blastoff", "blastoff-preload")
    assert preloading["LD_PRELOAD"] == f"{installing.folder_of_libraries(site)}/libblastoff.so"
    assert preloading["GLIBC_TUNABLES"] == "glibc.malloc.hugetlb=1"
    assert "blastoff run" in run(*modules(), "help", "blastoff", MODULEPATH=str(site / "share" / "modulefiles")).stderr


@pytest.mark.skipif(not modules(), reason="neither Environment Modules nor Lmod here")
@pytest.mark.parametrize(("job", "sampled"), [("20014", True), ("20015.server", False), ("", False)])
def test_the_module_that_samples_jobs(moved, job, sampled):
    """A job is sampled if its number times 7919 is small modulo 10007."""
    got = after_loading(moved / "share" / "modulefiles", "blastoff-sample", PBS_JOBID=job)
    assert ("LD_PRELOAD" in got) is sampled
    assert got.get("BLASTOFF_REPORT") == (f"/var/spool/blastoff/{job}/%h-%r-%p.json" if sampled else None)
    assert not sampled or (got["BLASTOFF_DEVICE"], got["BLASTOFF_ARGUMENTS"]) == ("none", "drop")


@pytest.mark.skipif(not modules(), reason="neither Environment Modules nor Lmod here")
def test_a_copied_modulefile_names_the_prefix(tmp_path):
    """A site may copy its modulefiles to a common place."""
    prefix = installing.install(tmp_path / "prefix")
    shutil.copytree(prefix / "share" / "modulefiles", tmp_path / "a" / "b" / "c" / "modules")
    got = after_loading(tmp_path / "a" / "b" / "c" / "modules", "blastoff")
    assert got["PATH"].split(":")[0] == f"{prefix}/bin"


# The recipe cannot be run without Spack, but everything that it names must exist.


def recipe() -> list[ast.Call]:
    """The directives of the Spack recipe."""
    tree = ast.parse((offload.ROOT / "share" / "spack" / "package.py").read_text())
    [package] = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert (package.name, [base.id for base in package.bases]) == ("Blastoff", ["CMakePackage"])
    return [node.value for node in package.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]


def test_the_spack_recipe_names_our_version_and_options():
    assert [call.args[0].value for call in recipe() if call.func.id == "version"] == [version()]
    options = re.findall(r'define\("(\w+)"', (offload.ROOT / "share" / "spack" / "package.py").read_text())
    lists = (offload.ROOT / "CMakeLists.txt").read_text()
    assert options and all(f"option({name} " in lists for name in options)


def test_the_spack_recipe_needs_what_the_build_needs():
    spack = {
        "g++": "cxx",
        "cmake": "cmake",
        "ninja-build": "ninja",
        "libfmt-dev": "fmt",
        "nlohmann-json3-dev": "nlohmann-json",
        "libexpected-dev": "tl-expected",
        "libcapstone-dev": "capstone",
        "liblzma-dev": "xz",
        "python3-venv": "python",
    }
    listed = re.search(r"build\) cat <<END\n(.*?)\nEND", (offload.ROOT / "tools" / "install").read_text(), re.DOTALL)[1]
    debian = {line.split("|")[2] for line in listed.splitlines()}
    named = [call.args[0].value for call in recipe() if call.func.id == "depends_on"]
    assert {spack[package] for package in debian} | {"c"} == {re.split(r"[@ ]", name)[0] for name in named if not name.startswith("py-")}
    python = re.search(r"^dependencies = \[(.*?)\]", (offload.ROOT / "pyproject.toml").read_text(), re.DOTALL | re.MULTILINE)[1]
    required = {f"py-{name}@{least}:" for name, least in re.findall(r'"(\w+)>=([0-9.]+)"', python)}
    assert required == {name for name in named if name.startswith("py-")}

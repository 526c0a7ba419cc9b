"""The wheel tells on which systems it runs, and runs on a system with nothing but Python and the C library."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import installing
import offload
import pytest

PYTHON = str(Path("/usr/bin/python3").resolve())
# The program for the bare system: a product by the Fortran interface, compared with one in Python.
PROGRAM = """
import ctypes, random
n = 64
a, b = ([random.uniform(-1, 1) for _ in range(n * n)] for _ in "ab")
vector = ctypes.c_double * (n * n)
c, size, one, zero = vector(), ctypes.c_int(n), ctypes.c_double(1), ctypes.c_double(0)
by = ctypes.byref
dgemm = ctypes.CDLL("libblas.so.3").dgemm_
dgemm(b"N", b"N", by(size), by(size), by(size), by(one), vector(*a), by(size), vector(*b), by(size), by(zero), c, by(size))
worst = max(abs(c[i + n * j] - sum(a[i + n * k] * b[k + n * j] for k in range(n))) for i in range(n) for j in range(n))
print("right" if worst < 1e-12 else "wrong")
"""


LIBRARIES = ("libblastoff.so", "libblastoff-allocator.so", "blastoff")


def clean_clone(directory: Path) -> Path:
    """Makes a folder with the files of a clone of this checkout, as if all changes to its files were committed."""
    settings = ("user.name=test", "user.email=test", "safe.directory=*")
    git = ["git", "-C", offload.ROOT, *(word for setting in settings for word in ("-c", setting))]
    changed = subprocess.run([*git, "stash", "create"], check=True, capture_output=True, text=True).stdout.strip()
    archive = subprocess.run([*git, "archive", changed or "HEAD"], check=True, capture_output=True).stdout
    directory.mkdir()
    subprocess.run(["tar", "x", "-C", directory], input=archive, check=True)
    return directory


def as_compiled_here(clone: Path) -> dict[str, str]:
    """An environment in which the clone is compiled in the same way as this checkout, so that results come from the cache."""
    here = dict(re.findall(r"^(CMAKE_\w+):\w+=(.*)$", (offload.BUILD / "CMakeCache.txt").read_text(), re.MULTILINE))
    launcher = here.get("CMAKE_CXX_COMPILER_LAUNCHER", "")
    if Path(launcher).name != "ccache" or not shutil.which("ccache"):
        pytest.skip("compiling the library anew would take minutes: this build does not use ccache")
    return {
        "CXX": here["CMAKE_CXX_COMPILER"],
        "CMAKE_CXX_COMPILER_LAUNCHER": launcher.replace(str(offload.ROOT), str(clone)),
        "CMAKE_ARGS": f"-DCMAKE_CXX_FLAGS_RELWITHDEBINFO='{here['CMAKE_CXX_FLAGS_RELWITHDEBINFO']}'",
        "CCACHE_BASEDIR": str(clone),
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_DIR": os.environ.get("CCACHE_DIR", f"{offload.BUILD}/ccache"),
        "SKBUILD_CMAKE_BUILD_TYPE": here["CMAKE_BUILD_TYPE"],
        "SKBUILD_BUILD_DIR": "build",
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel that tools/wheel makes from a clean clone."""
    if installing.why_not() or not shutil.which("git") or not (offload.ROOT / ".git").exists():
        pytest.skip("no build here that was made of a git repository")
    folder = tmp_path_factory.mktemp("wheel")
    clone = clean_clone(folder / "clone")
    made = subprocess.run(
        [sys.executable, clone / "tools" / "wheel", folder], env=os.environ | as_compiled_here(clone), capture_output=True, text=True
    )
    if "Could not find a version" in made.stderr or "Temporary failure" in made.stderr:
        pytest.skip("no package index here")
    assert made.returncode == 0, made.stderr
    return Path(made.stdout.strip())


def run_product(*launcher: str | Path, program: Path, report: Path, env: dict[str, str]) -> subprocess.CompletedProcess:
    """Runs a product on the simulated device."""
    options = ["--device=simulated", "--min-size=0", "--verify=abort", f"--report={report}", "--summary=never"]
    return subprocess.run([*launcher, "run", *options, "--", PYTHON, program], env=env, capture_output=True, text=True, timeout=60)


def test_its_tag_is_the_c_library_that_it_needs_and_it_is_complete(wheel):
    tag = re.fullmatch(rf"blastoff-[\d.]+-py3-none-manylinux_2_(\d+)_{os.uname().machine}\.whl", wheel.name)
    assert tag, wheel.name
    assert int(tag[1]) == 28, "libblastoff.so does nothing on an older C library, and no library asks for a newer one"
    with zipfile.ZipFile(wheel) as archive:
        names = {name.partition("/")[2] if ".dist-info" in name or ".data" in name else name for name in archive.namelist()}
    assert {
        *(f"blastoff/lib/{name}" for name in LIBRARIES),
        "blastoff/report.schema.json",
        "blastoff/inspect.schema.json",
        "licenses/LICENSE",
        "licenses/THIRD_PARTY_NOTICES",
        "scripts/blastoff",
        "data/share/man/man1/blastoff-run.1",
        "data/share/bash-completion/completions/blastoff",
    } <= names


@pytest.mark.parametrize("left_out", LIBRARIES)
def test_a_wheel_that_lacks_a_library_is_refused(wheel, tmp_path, left_out):
    incomplete = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(incomplete, "w") as archive:
        for name in whole.namelist():
            if Path(name).name != left_out:
                archive.writestr(name, whole.read(name))
    tool = runpy.run_path(str(offload.ROOT / "tools" / "wheel"))
    with pytest.raises(SystemExit, match=rf"{wheel.name} lacks blastoff/lib/{left_out}$"):
        tool["c_library"](incomplete)


def test_in_a_new_environment(wheel, tmp_path):
    """After installation by pip, the command finds the library of the wheel."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    pip = [sys.executable, "-m", "pip", "--python", environment, "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", wheel], check=True)
    program = tmp_path / "product.py"
    program.write_text(PROGRAM)
    command = environment / "bin" / "blastoff"
    done = run_product(command, program=program, report=tmp_path / "report.json", env=offload.environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")
    report = offload.read_report(tmp_path / "report.json")
    assert report["totals"]["offloaded"] == 1
    said = subprocess.run([command, "--version"], env=offload.environment(), capture_output=True, text=True)
    assert re.fullmatch(rf"blastoff {report['blastoff']} \(build \S+\)\n", said.stdout), said.stderr
    tried = subprocess.run([command, "try", "--", PYTHON, program], env=offload.environment(), capture_output=True, text=True, timeout=60)
    assert (tried.returncode, tried.stdout) == (0, "right\n") and "oo small for a GPU" in tried.stderr, tried.stderr


def libraries_of(*files: Path) -> set[Path]:
    """The shared libraries that the dynamic linker loads for programs and libraries."""
    found = set()
    for file in files:
        listed = subprocess.run(["ldd", file], capture_output=True, text=True).stdout
        found |= {Path(path) for path in re.findall(r"(/\S+) \(0x", listed)}
    return found


def make_bare_system(root: Path) -> None:
    """Copies Python, its libraries and a BLAS to `root`."""
    asked = "import ctypes, _ctypes, json; print(json.dumps([json.__file__, _ctypes.__file__]))"
    module, extension = json.loads(subprocess.run([PYTHON, "-c", asked], check=True, capture_output=True, text=True).stdout)
    standard = Path(module).parents[1]
    ignored = shutil.ignore_patterns("__pycache__", "test", "idlelib", "lib2to3", "tkinter", "ensurepip", "config-*")
    shutil.copytree(standard, root / standard.relative_to("/"), ignore=ignored, symlinks=True, ignore_dangling_symlinks=True)
    blas = offload.REFERENCE_BLAS / "libblas.so.3"
    interpreter = Path(PYTHON).resolve()
    for file in {interpreter, blas, *libraries_of(interpreter, Path(extension), blas)}:
        # Libraries go to the directory that the dynamic linker searches first, and the linker itself to the path that programs name.
        place = file if file == interpreter or file.name.startswith("ld-") else Path("/lib64") / file.name
        target = root / place.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file.resolve(), target)
    for folder in ("proc", "dev", "tmp", "wheel"):
        (root / folder).mkdir()


def test_in_a_system_without_compilers(wheel, tmp_path):
    if not (offload.REFERENCE_BLAS / "libblas.so.3").exists() or not Path(PYTHON).exists() or not shutil.which("unshare"):
        pytest.skip("no BLAS, Python or unshare here to make a small system of")
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode != 0:
        pytest.skip("a namespace of its own is not allowed here")
    root = tmp_path / "root"
    make_bare_system(root)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", root / "wheel", wheel]
    subprocess.run(pip, check=True)
    (root / "product.py").write_text(PROGRAM)
    enter = 'for place in proc dev; do mount --rbind "/$place" "$1/$place" || exit; done; root=$1; shift; exec chroot "$root" "$@"'
    done = run_product(
        *("unshare", "-rm", "sh", "-c", enter, "sh", root, PYTHON, "-m", "blastoff"),
        program=Path("/product.py"),
        report=Path("/tmp/report.json"),
        env={"PATH": f"/usr/bin:/bin:{os.environ['PATH']}", "PYTHONPATH": "/wheel", "LD_LIBRARY_PATH": "/lib64"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")
    assert offload.read_report(root / "tmp" / "report.json")["totals"]["offloaded"] == 1
    assert not [path for path in root.rglob("*") if re.fullmatch(r"(gcc|g\+\+|cc|ld|as|make|cmake)(-\d+)?", path.name)]

"""Makes the file system of an emulated machine: busybox, programs of the build with the libraries that they need, and checks."""

import functools
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packages import asked

INIT = Path(__file__).resolve().parent / "guest" / "init"


def place(program: str) -> str:
    """The folder in which a build puts this program (tests/machine/CMakeLists.txt)."""
    if program.startswith(("unit_", "contract_")):
        return f"tests/{program}"
    of_scenarios = ("factorise", "random_coherence", "results")
    return f"tests/scenario/{program}" if program in of_scenarios else f"tests/machine/{program}"


@dataclass(frozen=True)
class Toolset:
    """The build and the tools from which a machine's programs come."""

    build: Path
    searched: tuple[Path, ...]
    prefix: str = ""  # prefix of the names of binutils

    def shared_object(self, name: str) -> Path:
        for directory in self.searched:
            if (directory / name).exists():
                return (directory / name).resolve()
        raise FileNotFoundError(f"{name} is in none of {', '.join(map(str, self.searched))}")


@functools.cache
def needed(binary: Path, prefix: str) -> tuple[tuple[str, ...], str | None]:
    """The names of the libraries that a file needs, and the path of its dynamic linker."""
    text = asked(f"{prefix}readelf", "--wide", "--dynamic", "--program-headers", binary)
    interpreter = re.search(r"\[Requesting program interpreter: (.*)\]", text)
    return tuple(re.findall(r"\(NEEDED\).*\[(.*)\]", text)), interpreter[1] if interpreter else None


def install(source: Path, target: Path, tools: Toolset) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([f"{tools.prefix}strip", "--strip-debug", "-o", target, source], check=True)


def with_libraries(source: Path, target: Path, root: Path, tools: Toolset) -> None:
    """Installs a file, and the libraries that it needs under /lib."""
    install(source, target, tools)
    names, interpreter = needed(source, tools.prefix)
    if interpreter and not (root / interpreter[1:]).exists():
        install(tools.shared_object(Path(interpreter).name), root / interpreter[1:], tools)
    for name in names:
        if not (root / "lib" / name).exists():
            with_libraries(tools.shared_object(name), root / "lib" / name, root, tools)


def pack(root: Path, archive: Path) -> None:
    names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    with open(archive, "wb") as output:
        command = ["cpio", "--create", "--quiet", "--format=newc", "--owner=0:0"]
        subprocess.run(command, cwd=root, input=names.encode(), stdout=output, check=True)


def create(root: Path, archive: Path, busybox: Path, tools: Toolset, programs: Iterable[str], scripts: dict[str, str]) -> None:
    """Empties and fills `root`, and packs it into `archive`. `scripts` are the checks, in order."""
    shutil.rmtree(root, ignore_errors=True)
    for directory in ("bin", "lib", "dev", "proc", "sys", "tmp", "checks"):
        (root / directory).mkdir(parents=True)
    shutil.copy(INIT, root / "init")
    shutil.copy(busybox, root / "bin" / "busybox")
    for name in programs:
        with_libraries(tools.build / place(name), root / "programs" / name, root, tools)
    for library in sorted(tools.build.glob("libblastoff*.so")):
        with_libraries(library, root / "lib" / library.name, root, tools)
    # libblastoff.so opens this library itself, so no file names it.
    if not (root / "lib" / "libm.so.6").exists():
        with_libraries(tools.shared_object("libm.so.6"), root / "lib" / "libm.so.6", root, tools)
    for name, script in scripts.items():
        (root / "checks" / name).write_text(script)
    pack(root, archive)

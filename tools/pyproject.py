"""Puts the `blastoff` command into the virtual environment that runs this script, without building or copying anything.

pyproject.py dependencies: prints the project's run-time dependencies, one a line.
pyproject.py install:      writes the .pth file, and a link to the program in build/.
"""

import os
import sys
import sysconfig
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10 has no tomllib, but pip contains the same parser
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def install() -> None:
    site_packages = Path(sysconfig.get_path("purelib"))
    (site_packages / "blastoff-in-place.pth").write_text(f"{ROOT / 'python'}\n")
    command = Path(sysconfig.get_path("scripts")) / "blastoff"
    command.unlink(missing_ok=True)
    command.symlink_to(ROOT / "build" / "bin" / "blastoff")


if __name__ == "__main__":
    if sys.argv[1] == "dependencies":
        print(os.linesep.join(project().get("dependencies", [])))
    else:
        install()

"""Puts the `blastoff` command into the virtual environment that runs this script, without building or copying anything.

pyproject.py dependencies: prints the project's run-time dependencies, one a line.
pyproject.py install:      writes the .pth file and the scripts.
"""

import os
import stat
import sys
import sysconfig
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10 has no tomllib, but pip contains the same parser
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = """#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
import sys
from {module} import {function}
sys.exit({function}())
"""


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def install() -> None:
    site_packages = Path(sysconfig.get_path("purelib"))
    (site_packages / "blastoff-in-place.pth").write_text(f"{ROOT / 'python'}\n")
    for name, entry in project()["scripts"].items():
        module, function = entry.split(":")
        script = Path(sysconfig.get_path("scripts")) / name
        script.write_text(SCRIPT.format(python=sys.executable, module=module, function=function))
        script.chmod(script.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


if __name__ == "__main__":
    if sys.argv[1] == "dependencies":
        print(os.linesep.join(project().get("dependencies", [])))
    else:
        install()

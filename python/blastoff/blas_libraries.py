"""The BLAS libraries of this machine, which programs use without Blastoff."""

import os
import re
import shutil
import subprocess
from pathlib import Path


def system_blas() -> str:
    """The file that the dynamic linker finds as libblas.so.3; "" if none."""
    for directory in filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")):
        path = Path(directory, "libblas.so.3")
        if path.exists():
            return str(path.resolve())
    ldconfig = shutil.which("ldconfig", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin")
    listing = subprocess.run([ldconfig, "-p"], capture_output=True, encoding="utf-8", errors="surrogateescape").stdout if ldconfig else ""
    found = re.search(r"libblas\.so\.3 .*=> (\S+)", listing)
    return str(Path(found[1]).resolve()) if found else ""


def is_reference(path: str) -> bool:
    """Whether the file is the reference BLAS as Debian installs it, which is slow."""
    return re.search(r"/blas/libblas\.so", path) is not None


def wheel_blas() -> list[tuple[str, Path]]:
    """The BLAS libraries inside the NumPy and SciPy wheels of the `python3` that a user would run, each with its package."""
    python = shutil.which("python3")
    if python is None:
        return []
    code = "import sysconfig; print(sysconfig.get_path('platlib'))"
    done = subprocess.run([python, "-X", "utf8", "-c", code], capture_output=True, encoding="utf-8", errors="surrogateescape")
    site = Path(done.stdout.strip() or "/nonexistent")
    return [(package, path) for package in ("numpy", "scipy") for path in sorted(site.glob(f"{package}.libs/lib*openblas*.so*"))]


def usual_blas() -> str:
    """The library that most programs here would use if they were set up for speed: the system's, unless that is the reference BLAS and a wheel
    has a better one; "" if there is none."""
    system = system_blas()
    wheels = [str(path) for _, path in wheel_blas()]
    if system and not is_reference(system):
        return system
    return wheels[0] if wheels else system

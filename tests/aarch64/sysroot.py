"""Fetches Debian's arm64 packages and unpacks them below build-aarch64/, without changing the machine itself."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "support"))

import packages  # noqa: E402

DIRECTORY = ROOT / "build-aarch64"
SYSROOT = DIRECTORY / "sysroot"
LIBRARIES = SYSROOT / "usr/lib/aarch64-linux-gnu"

RUNTIME = ["libc6", "libgcc-s1", "libstdc++6", "libgfortran5"]
BLAS = ["libblas3", "libblas-dev", "libblas-test", "libopenblas0-pthread", "libopenblas-pthread-dev"]
BUILD = ["libcapstone-dev", "liblzma-dev", "libgtest-dev", "libgmock-dev", "libfmt-dev", "nlohmann-json3-dev", "libexpected-dev"]
PACKAGES = [*RUNTIME, *BLAS, *BUILD]


NVPL = DIRECTORY / "nvpl" / "nvpl" / "lib"


def fetch_nvpl() -> None:
    """Unpacks NVIDIA's BLAS, whose wheel pip takes from its usual index."""
    if NVPL.exists():
        return
    folder = DIRECTORY / "nvpl"
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--platform=manylinux_2_26_aarch64"]
    subprocess.run([*command, "-d", folder, "nvpl-blas"], check=True)
    for wheel in folder.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(folder)


def fetch() -> None:
    """Fills SYSROOT unless it is filled already. Takes packages of this machine's release, so that programs of its cross-compiler run with them."""
    DIRECTORY.mkdir(exist_ok=True)
    stamp = DIRECTORY / "packages"
    wanted = "\n".join(PACKAGES)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if packages.release().get("ID") != "debian":
        raise SystemExit("this takes Debian's arm64 packages and works on Debian alone")
    for directory in (DIRECTORY / "apt", SYSROOT):
        shutil.rmtree(directory, ignore_errors=True)
    apt = packages.Apt(DIRECTORY / "apt", "arm64")
    apt.update()
    apt.fetch(PACKAGES, SYSROOT)
    stamp.write_text(wanted)

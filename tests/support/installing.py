"""An installation of what was built, as a site makes it."""

import os
import shutil
import subprocess
from pathlib import Path

import offload


def why_not() -> str:
    """Why nothing can be installed from this build; "" if it can."""
    if not shutil.which("cmake"):
        return "no CMake here"
    return "" if (offload.BUILD / "cmake_install.cmake").exists() else "no CMake build here"


def install(prefix: Path) -> Path:
    subprocess.run(["cmake", "--install", offload.BUILD, "--prefix", prefix], check=True, capture_output=True)
    return prefix


def stage(prefix: Path, directory: Path) -> str:
    """As for a package: below that directory. Returns what CMake says."""
    command = ["cmake", "--install", offload.BUILD, "--prefix", prefix]
    return subprocess.run(command, env=os.environ | {"DESTDIR": str(directory)}, check=True, capture_output=True, text=True).stdout


def folder_of_libraries(prefix: Path) -> Path:
    """The one that holds libblastoff.so: lib, lib64 or that of Debian's architecture."""
    return next(path.parent for path in sorted(prefix.rglob("libblastoff.so")) if path.parent.name != "blastoff")


def link_flags(prefix: Path) -> list[str]:
    """pkg-config --libs blastoff"""
    environment = os.environ | {"PKG_CONFIG_PATH": str(folder_of_libraries(prefix) / "pkgconfig")}
    asked = subprocess.run(["pkg-config", "--libs", "blastoff"], env=environment, check=True, capture_output=True, text=True)
    return asked.stdout.split()

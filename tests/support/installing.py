"""Installs the build, as a site does."""

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
    """Installs below `directory`, as for a package. Returns CMake's output."""
    command = ["cmake", "--install", offload.BUILD, "--prefix", prefix]
    return subprocess.run(command, env=os.environ | {"DESTDIR": str(directory)}, check=True, capture_output=True, text=True).stdout


def folder_of_libraries(prefix: Path) -> Path:
    """The folder that holds libblastoff.so: lib, lib64 or Debian's folder for the architecture."""
    return next(path.parent for path in sorted(prefix.rglob("libblastoff.so")) if path.parent.name != "blastoff")


def link_flags(prefix: Path) -> list[str]:
    """The output of `pkg-config --libs blastoff`."""
    environment = os.environ | {"PKG_CONFIG_PATH": str(folder_of_libraries(prefix) / "pkgconfig")}
    asked = subprocess.run(["pkg-config", "--libs", "blastoff"], env=environment, check=True, capture_output=True, text=True)
    return asked.stdout.split()

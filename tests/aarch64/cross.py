"""The build for aarch64, with this machine's cross-compilers and the packages of sysroot.py."""

import subprocess
from collections.abc import Sequence

from sysroot import DIRECTORY, ROOT

BUILD = DIRECTORY / "cmake"
FAST_BUILD = "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1 -DNDEBUG"


def build(targets: Sequence[str]) -> None:
    if not (BUILD / "build.ninja").exists():
        toolchain = f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/tests/aarch64/toolchain.cmake"
        options = ["-DBLASTOFF_TESTS=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", FAST_BUILD]
        with open(DIRECTORY / "configure.log", "w") as log:
            command = ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", toolchain, *options]
            subprocess.run(command, check=True, stdout=log, stderr=log)
    built = subprocess.run(["ninja", "-C", BUILD, *targets], capture_output=True, text=True)
    if built.returncode != 0:
        print(built.stdout, built.stderr, flush=True)
    built.check_returncode()

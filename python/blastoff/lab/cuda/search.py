"""Where NVRTC may lie on this machine: the places of src/device/gpu/cuda/search_path.cpp, and the packages of this Python."""

import glob
import os
import sys
from collections.abc import Iterator

BELOW = ("", "/lib64", "/lib", "/targets/*/lib", "/nvidia/cu13/lib", "/nvidia/cuda_nvrtc/lib", "/nvidia/cu12/lib")
SONAMES = ("libnvrtc.so.13", "libnvrtc.so.12")


def roots(cuda_path: str = "") -> Iterator[str]:
    """Folders of CUDA installations, the best first."""
    yield from filter(None, (cuda_path, os.environ.get("BLASTOFF_CUDA_PATH"), *map(os.environ.get, ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"))))
    yield "/usr/local/cuda"
    yield from sorted(glob.glob("/usr/local/cuda-*"), reverse=True)
    yield from filter(os.path.isdir, sys.path)
    for prefix in (sys.prefix, os.path.expanduser("~/.local"), "/usr/local", "/usr"):
        yield from sorted(glob.glob(f"{prefix}/lib/python3*/*-packages"), reverse=True)


def compilers(cuda_path: str = "") -> list[str]:
    """Files and names of NVRTC to try, in order: paths first, then names that the dynamic linker looks up."""
    found = []
    for root in roots(cuda_path):
        for below in BELOW:
            for soname in SONAMES:
                found += sorted(glob.glob(f"{root}{below}/{soname}"))
    return [*dict.fromkeys(found), *SONAMES]

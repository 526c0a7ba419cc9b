"""The machine of a measurement: hardware, kernel, and the versions of all software that takes part."""

from __future__ import annotations

import datetime
import functools
import importlib.util
import os
import pathlib
import platform
import re
import subprocess
import sys


def _read(path: str) -> str:
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return ""


def _output(*command: str, environment: dict[str, str] | None = None) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def cpu_model() -> str:
    match = re.search(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return match.group(1) if match else platform.machine()


def openblas_version(library: pathlib.Path | None) -> str:
    """The configuration line of an OpenBLAS; "" for another library. A separate process asks, since OpenBLAS starts threads."""
    if library is None:
        return ""
    script = (
        "import ctypes, sys\n"
        "library = ctypes.CDLL(sys.argv[1])\n"
        "for name in ('openblas_get_config', 'scipy_openblas_get_config'):\n"
        "    if hasattr(library, name):\n"
        "        function = getattr(library, name)\n"
        "        function.restype = ctypes.c_char_p\n"
        "        print(function().decode())\n"
    )
    searched = [str(library.parent), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]  # its Fortran runtime may lie beside it
    environment = os.environ | {"LD_LIBRARY_PATH": ":".join(searched)}
    return _output(sys.executable, "-c", script, str(library), environment=environment)


def library_folders() -> list[pathlib.Path]:
    """Folders in which CUDA's libraries usually lie: the search path, toolkits, NVIDIA's wheels for this Python."""
    folders = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    if os.environ.get("BLASTOFF_CUDA_PATH"):
        folders += [os.environ["BLASTOFF_CUDA_PATH"], os.environ["BLASTOFF_CUDA_PATH"] + "/lib64"]
    for toolkit in ["/usr/local/cuda", *sorted(map(str, pathlib.Path("/usr/local").glob("cuda-*")), reverse=True)]:
        folders += [toolkit + "/lib64", toolkit + "/targets/x86_64-linux/lib", toolkit + "/lib"]
    for entry in filter(None, sys.path):
        folders += map(str, [*pathlib.Path(entry).glob("nvidia/cu*/lib"), *pathlib.Path(entry).glob("nvidia/cublas/lib")])
    folders += sorted(set(re.findall(r"=> (/\S+)/libcublas\.so", _output("ldconfig", "-p"))))
    return [pathlib.Path(folder) for folder in folders if pathlib.Path(folder).is_dir()]


def find_library(*patterns: str) -> pathlib.Path | None:
    """The first file that matches one of the patterns, in the order of library_folders()."""
    for folder in library_folders():
        for pattern in patterns:
            for path in sorted(folder.glob(pattern), reverse=True):
                return path
    return None


def find_wheel_blas() -> pathlib.Path | None:
    """The OpenBLAS (32-bit integers) inside the installed SciPy wheel."""
    spec = importlib.util.find_spec("scipy")
    if spec is None or not spec.origin:
        return None
    folder = pathlib.Path(spec.origin).parent.parent / "scipy.libs"
    return next(iter(sorted(folder.glob("libscipy_openblas-*.so"))), None)


def find_cpu_blas() -> pathlib.Path | None:
    """The folder of the distribution's threaded OpenBLAS, as libblas.so.3."""
    places = ["/usr/lib/x86_64-linux-gnu/openblas-pthread", "/usr/lib/aarch64-linux-gnu/openblas-pthread", "/usr/lib64"]
    return next((pathlib.Path(place) for place in places if (pathlib.Path(place) / "libblas.so.3").exists()), None)


@functools.cache
def gpus() -> list[str]:
    """The names of the GPUs that nvidia-smi sees."""
    return _output("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").splitlines()


@functools.cache
def gpu() -> dict[str, str]:
    """What nvidia-smi says about the first GPU; {} without a GPU."""
    fields = ["name", "driver_version", "memory.total", "pcie.link.gen.current", "pcie.link.width.current"]
    line = _output("nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader").splitlines()
    return dict(zip(fields, (field.strip() for field in line[0].split(",")), strict=True)) if line else {}


def describe() -> dict:
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "gpu": gpu(),
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "kernel": platform.release(),
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        "glibc": platform.libc_ver()[1],
        "huge_pages": _read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "python": platform.python_version(),
    }


def slug(description: dict) -> str:
    """A file name for this machine, from the GPU's name or, without a GPU, the processor's."""
    name = description["gpu"].get("name") or "no-gpu-" + description["cpu"]
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")

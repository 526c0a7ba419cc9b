"""The modes in which the same program runs: CPU library alone, NVBLAS, Blastoff. A mode is an environment."""

from __future__ import annotations

import dataclasses
import os
import pathlib

import kernels
import machine

# The launcher sets this too. All modes get it, so that a ratio compares tools and not page sizes.
MEMORY = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}

LABELS = {
    "cpu": "CPU (distribution)",
    "cpu-own": "CPU (distribution, own kernels)",
    "cpu-wheel": "CPU (wheel)",
    "nvblas": "NVBLAS",
    "nvblas-autopin": "NVBLAS autopin",
    "copy": "copy",
    "first-use": "first-use",
}
BLASTOFF = ("copy", "first-use")


@dataclasses.dataclass(frozen=True)
class Mode:
    name: str
    settings: dict[str, str]  # added to the environment
    search_path: tuple[str, ...]  # folders to put before the existing LD_LIBRARY_PATH

    def environment(self, **more: str) -> dict[str, str]:
        result = {key: value for key, value in os.environ.items() if not key.startswith(("BLASTOFF_", "NVBLAS_"))}
        result.pop("LD_PRELOAD", None)
        if "BLASTOFF_CUDA_PATH" in os.environ:
            result["BLASTOFF_CUDA_PATH"] = os.environ["BLASTOFF_CUDA_PATH"]
        inherited = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
        result["LD_LIBRARY_PATH"] = ":".join([*self.search_path, *inherited])
        return result | MEMORY | self.settings | more


@dataclasses.dataclass
class Available:
    """The modes that can run here, and why the others cannot."""

    modes: dict[str, Mode]
    missing: dict[str, str]
    cublas: pathlib.Path | None
    libraries: dict[str, str]


def _gpu_list(device: str) -> str:
    """Blastoff's --device in NVBLAS's form: cuda:0,1 becomes "0 1"."""
    numbers = device.partition(":")[2]
    return "ALL" if numbers == "all" else numbers.replace(",", " ") or "0"


def _nvblas(scratch: pathlib.Path, library: pathlib.Path, cpu_blas: pathlib.Path, autopin: bool, gpus: str) -> Mode:
    name = "nvblas-autopin" if autopin else "nvblas"
    configuration = scratch / f"{name}.conf"
    configuration.write_text(
        f"NVBLAS_LOGFILE {scratch / name}.log\n"
        f"NVBLAS_CPU_BLAS_LIB {cpu_blas / 'libblas.so.3'}\n"
        f"NVBLAS_GPU_LIST {gpus}\n" + ("NVBLAS_AUTOPIN_MEM_ENABLED\n" if autopin else "")
    )
    settings = {"LD_PRELOAD": str(library), "NVBLAS_CONFIG_FILE": str(configuration)}
    return Mode(name, settings, (str(cpu_blas), str(library.parent)))


def available(
    *,
    blastoff: pathlib.Path,
    device: str,
    cpu_blas: pathlib.Path | None,
    wheel_blas: pathlib.Path | None,
    wheel_shim: pathlib.Path,
    scratch: pathlib.Path,
) -> Available:
    """`device`: Blastoff's --device. `wheel_shim`: the folder of the libblas.so.3 that calls `wheel_blas`."""
    found = Available({}, {}, machine.find_library("libcublas.so.13", "libcublas.so.12"), {})
    if cpu_blas is None:
        raise SystemExit("no CPU library: name the folder of a libblas.so.3 by --cpu-blas")
    found.modes["cpu"] = Mode("cpu", {}, (str(cpu_blas),))
    found.libraries["cpu"] = machine.openblas_version((cpu_blas / "libblas.so.3").resolve()) or str(cpu_blas)

    program = kernels.of_library(cpu_blas / "libblas.so.3")
    if own := kernels.own(program):
        found.modes["cpu-own"] = Mode("cpu-own", own, (str(cpu_blas),))
        found.libraries["cpu-own"] = ", ".join(f"{name}={value}" for name, value in own.items())
    else:
        found.missing["cpu-own"] = "the distribution's library runs the processor's kernels unasked, or has no others"

    if wheel_blas and (wheel_shim / "libblas.so.3").exists():
        found.modes["cpu-wheel"] = Mode("cpu-wheel", {"WHEEL_BLAS": str(wheel_blas)}, (str(wheel_shim),))
        found.libraries["cpu-wheel"] = machine.openblas_version(wheel_blas)
    else:
        found.missing["cpu-wheel"] = "no SciPy wheel for this Python"

    nvblas = machine.find_library("libnvblas.so.13", "libnvblas.so.12")
    for autopin in (False, True):
        name = "nvblas-autopin" if autopin else "nvblas"
        if nvblas is None:
            found.missing[name] = "no libnvblas.so.13 or .12 in a toolkit or among NVIDIA's wheels"
        elif not machine.gpu():
            found.missing[name] = "no GPU"
        else:
            found.modes[name] = _nvblas(scratch, nvblas, cpu_blas, autopin, _gpu_list(device))
            found.libraries[name] = str(nvblas.resolve().name)

    for policy in BLASTOFF:
        if blastoff.exists():
            settings = {
                "LD_PRELOAD": str(blastoff),
                "BLASTOFF_POLICY": policy,
                "BLASTOFF_DEVICE": device,
                "BLASTOFF_START": "now",
                "BLASTOFF_SUMMARY": "never",
            }
            found.modes[policy] = Mode(policy, settings, (str(cpu_blas),))
        else:
            found.missing[policy] = f"no {blastoff}"
    return found

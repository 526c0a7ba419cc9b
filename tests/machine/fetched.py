"""Kernels and busybox for the machines, from the distribution's packages. They are fetched once into build/machines."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import packages
from offload import ROOT

DIRECTORY = ROOT / "build" / "machines"
NEWEST = (1000, 0)


class Unavailable(Exception):
    """This distribution does not have the package."""


@dataclass(frozen=True)
class Kernel:
    """A kernel: the first of these packages that the distribution has in a version below `before`."""

    name: str
    choices: tuple[str, ...]
    before: tuple[int, int] = NEWEST


def version(package: str) -> tuple[int, int] | None:
    """The kernel version in a package's name; None for meta packages, whose names have none or only a part."""
    found = re.match(r"linux-image-(\d+)\.(\d+)[.-]", package)
    return (int(found[1]), int(found[2])) if found else None


def resolved(apt: packages.Apt, kernel: Kernel) -> str:
    """The package with the kernel image, on which a meta package depends."""
    for choice in kernel.choices:
        for package in apt.dependencies(choice) or []:
            found = version(package)
            if package.startswith("linux-image-") and found and found < kernel.before:
                return package
    older = "" if kernel.before == NEWEST else " older than {}.{}".format(*kernel.before)
    raise Unavailable(f"{packages.release().get('PRETTY_NAME', 'this system')} has no kernel{older} among {', '.join(kernel.choices)}")


def opened(architecture: str) -> packages.Apt:
    if not shutil.which("apt-get"):
        raise Unavailable("kernels come from Debian's or Ubuntu's packages, and there is no apt here")
    apt = packages.Apt(DIRECTORY / f"apt-{architecture}", architecture, security=True)
    try:
        apt.update()
    except subprocess.CalledProcessError:
        raise Unavailable("the distribution's packages cannot be reached") from None
    return apt


def only(directory: Path, pattern: str) -> Path | None:
    return next(directory.glob(pattern), None)


def kernel_image(kernel: Kernel, architecture: str) -> Path:
    directory = DIRECTORY / f"{kernel.name}-{architecture}"
    image = only(directory, "boot/vmlinuz-*")
    if image is None:
        apt = opened(architecture)
        package = resolved(apt, kernel)
        apt.fetch([package], directory)
        shutil.rmtree(directory / "lib", ignore_errors=True)  # kernel modules, which the machines do not need
        image = only(directory, "boot/vmlinuz-*")
    return image


def busybox(architecture: str) -> Path:
    directory = DIRECTORY / f"busybox-{architecture}"
    program = only(directory, "**/bin/busybox")
    if program is None:
        opened(architecture).fetch(["busybox-static"], directory)
        program = only(directory, "**/bin/busybox")
    return program

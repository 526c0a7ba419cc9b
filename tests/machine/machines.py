"""The emulated machines. docs/machines.md says how to add one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from check import Check
from checks import coherent, figures, older
from fetched import Kernel


@dataclass(frozen=True)
class Machine:
    name: str
    what: str
    kernel: Kernel
    checks: Callable[[], Sequence[Check]]
    architecture: str = "amd64"  # Debian's name
    nodes: tuple[int, ...] = (768,)  # MiB of memory on each NUMA node; the first node has all CPUs
    seconds: int = 300  # the machine is switched off after this time


def recent(architecture: str) -> Kernel:
    return Kernel("recent", (f"linux-image-6.12-cloud-{architecture}", f"linux-image-cloud-{architecture}", "linux-image-virtual"))


# Debian 12's own kernel is 6.1, Ubuntu 22.04's is 5.15. Asynchronous write protection came with 6.7.
BEFORE_WRITE_TRACKING = Kernel("old", ("linux-image-cloud-amd64", "linux-image-virtual"), before=(6, 7))

SIXTEEN_KIBIBYTES = Kernel("recent-16k", ("linux-image-6.12-arm64-16k", "linux-image-arm64-16k"))

GRACE_HOPPER = (512, 256)  # the second node stands for the device's memory

MACHINES = (
    Machine("gh-x86", "coherent, like Grace-Hopper: a NUMA node without CPUs", recent("amd64"), coherent.checks_with_mirrors, nodes=GRACE_HOPPER),
    Machine("gh-arm", "the same on aarch64", recent("arm64"), coherent.checks, "arm64", GRACE_HOPPER),
    Machine("gh-arm-16k", "the same with pages of 16 KiB", SIXTEEN_KIBIBYTES, coherent.checks, "arm64", GRACE_HOPPER),
    Machine("old-kernel", "soft-dirty bits, no asynchronous write protection", BEFORE_WRITE_TRACKING, older.checks),
    Machine("old-plain", "neither: a container that forbids both", BEFORE_WRITE_TRACKING, older.checks_in_container),
    Machine("figures", "gh-x86 with more memory, to measure on", recent("amd64"), figures.checks, nodes=figures.NODES, seconds=900),
)

IN_CI = ("gh-x86", "old-kernel", "old-plain")

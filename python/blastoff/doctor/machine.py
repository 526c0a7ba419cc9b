"""What doctor finds out about the machine itself: huge pages, container limits, CPUs, BLAS libraries, energy counters."""

import os
import platform
import re
from pathlib import Path

from blastoff import glibc, kernels, launcher
from blastoff.blas_libraries import system_blas, wheel_blas
from blastoff.doctor.finding import Finding, State
from blastoff.page_settings import read
from blastoff.sampling import energy


def kernel() -> Finding:
    return Finding("kernel", State.NOTE, f"Linux {platform.release()} {platform.machine()}")


def huge_pages(root: Path = Path("/")) -> Finding:
    """Whether --place huge-pages has an effect."""
    enabled = read(root / "sys/kernel/mm/transparent_hugepage/enabled")
    chosen = re.search(r"\[(\w+)\]", enabled)
    version = ".".join(str(part) for part in glibc.version())
    if chosen is None or chosen[1] == "never":
        return Finding(
            "huge pages",
            State.WARNING,
            "the kernel has no transparent huge pages" if chosen is None else "transparent huge pages are switched off (never)",
            "Tracking writes is about 30 times faster with huge pages. As root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled.",
        )
    if chosen[1] != "always" and glibc.version() < glibc.HUGE_PAGES_SINCE:
        return Finding(
            "huge pages",
            State.WARNING,
            f"transparent huge pages: {chosen[1]}; glibc {version} cannot request them",
            "glibc 2.35 or newer can. With an older one, only programs that request huge pages themselves get them.",
        )
    return Finding("huge pages", State.GOOD, f"transparent huge pages: {chosen[1]}; glibc {version}")


def container_kind(root: Path) -> str:
    """The kind of container that this process runs in; "" if none is recognised."""
    if (root / ".dockerenv").exists():
        return "Docker"
    if (root / "run/.containerenv").exists():
        return "Podman"
    return "Apptainer" if (root / ".singularity.d").exists() else ""


def container(root: Path = Path("/")) -> Finding:
    """Limits that a container or control group sets."""
    limits = []
    if re.search(r"^Seccomp:\s*2", read(root / "proc/self/status"), re.MULTILINE):
        limits.append("system calls are filtered")
    memory = read(root / "sys/fs/cgroup/memory.max")
    if memory.isdigit():
        limits.append(f"memory limited to {int(memory) / 1e9:.1f} GB (page-locked buffers count)")
    quota = read(root / "sys/fs/cgroup/cpu.max").split()
    if len(quota) == 2 and quota[0].isdigit():
        limits.append(f"CPU time limited to {int(quota[0]) / int(quota[1]):.1f} CPUs")
    kind = container_kind(root)
    where = f"{kind} container" if kind else "none detected"
    return Finding("container", State.NOTE, "; ".join([where, *limits]))


def cpus() -> Finding:
    """The CPU set, which limits the number of copying threads."""
    usable, present = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    text = f"{usable} of {present} usable"
    if usable == 1 < present:
        return Finding(
            "CPUs", State.WARNING, text, "Copies and the CPU's BLAS share one core. Check taskset, numactl and the CPU binding of the batch system."
        )
    return Finding("CPUs", State.NOTE, text)


def blas_libraries() -> Finding:
    """The BLAS libraries that programs use without Blastoff; they also compute the calls that stay on the CPU."""
    system = system_blas()
    found = [(f"libblas.so.3 is {system}", Path(system))] if system else []
    found += [(f"{package}: {path.name}", path) for package, path in wheel_blas()]
    if not found:
        return Finding("BLAS", State.NOTE, "no libblas.so.3 and no NumPy found: programs must bring their own BLAS")
    told = [(name, kernels.of_library(path)) for name, path in found]
    texts = [f"{name} ({', '.join(one.text for one in those)})" if those else name for name, those in told]
    advice = list(dict.fromkeys(one.advice for _, those in told for one in those if one.advice))
    return Finding("BLAS", State.WARNING if advice else State.GOOD, "; ".join(texts), " ".join(advice))


def energy_counters() -> Finding:
    """What `blastoff run` can tell of energy."""
    told = []
    powercap = Path(os.environ.get("BLASTOFF_POWERCAP") or energy.POWERCAP)
    for name, source in (("processors", lambda: energy.processors(powercap)), ("GPUs", energy.Gpus)):
        try:
            told.append(f"{name}: {', '.join(counter.name for counter in source().counters)}")
        except energy.UnreadableError as error:
            told.append(f"{name}: not readable: {error}")
    return Finding("energy", State.NOTE, "; ".join(told))


def site_defaults() -> Finding:
    """The site's defaults for `blastoff run`, as the launcher reads them (src/launcher/site.h)."""
    path, *texts = launcher.ask("--site")
    values, problems = texts[: texts.index("")], texts[texts.index("") + 1 :]
    if problems:
        return Finding("site defaults", State.WARNING, "; ".join([*values, *problems]), f"correct {path or 'the file'}: these lines do not count")
    if not path:
        return Finding("site defaults", State.NOTE, "none: there is no /etc/blastoff.conf")
    return Finding("site defaults", State.NOTE, f"{', '.join(values) or 'none'} ({path})")


def findings() -> list[Finding]:
    """All findings that need no device."""
    return [kernel(), huge_pages(), container(), cpus(), blas_libraries(), energy_counters(), site_defaults()]

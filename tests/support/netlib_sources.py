"""The sources of netlib's BLAS testers, from the distribution's source package of LAPACK, fetched once into the build folder."""

import fcntl
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

# Options with which an ordinary user can run apt, in folders of its own. It shares only the mirror and the keys with the system's apt.
APT = """\
Dir::State "{apt}";
Dir::State::status "{apt}/status";
Dir::Cache "{apt}/cache";
Dir::Etc::sourcelist "{apt}/sources.list";
Dir::Etc::sourceparts "/dev/null";
APT::Sandbox::User "";
Acquire::Retries "1";
Acquire::http::Timeout "20";
"""
KEPT = ("BLAS/TESTING/", "CBLAS/testing/", "CBLAS/include/")


class NoSources(Exception):
    """The sources cannot be fetched; the text gives the reason."""


def asked(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def origins() -> set[str]:
    """The sources of this machine's packages, as "URI suite component"."""
    formatted = "$(REPO_URI) $(SUITE) $(COMPONENT) $(LABEL)"
    lines = asked("apt-get", "indextargets", "--format", formatted, "Created-By: Packages").splitlines()
    return {" ".join(line.split()[:3]) for line in lines if line.split()[3:] in (["Debian"], ["Ubuntu"])}


def download(apt: Path) -> Path:
    """The archive of the original sources."""
    for needed in ("lists/partial", "cache/archives/partial"):
        (apt / needed).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "sources.list").write_text("".join(f"deb-src {' '.join(origin.split())}\n" for origin in sorted(origins())))
    (apt / "apt.conf").write_text(APT.format(apt=apt))
    environment = os.environ | {"APT_CONFIG": str(apt / "apt.conf")}
    for arguments in (["update"], ["source", "--download-only", "lapack"]):
        subprocess.run(["apt-get", "-qq", *arguments], cwd=apt, env=environment, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return next(apt.glob("lapack_*.orig.tar.*"))


def unpack(archive: Path, directory: Path) -> None:
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            member.name = member.name.partition("/")[2]
            if member.name.startswith(KEPT):
                tar.extract(member, directory)
    # The package's CMake does this.
    include = directory / "CBLAS" / "include"
    shutil.copy(include / "cblas_mangling_with_flags.h.in", include / "cblas_mangling.h")


def fetch(directory: Path) -> Path:
    """The folder that holds BLAS/TESTING, CBLAS/testing and CBLAS/include: `directory`, filled at the first call."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with open(directory.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if directory.exists():
            return directory
        apt, unpacked = directory.with_suffix(".apt"), directory.with_suffix(".part")
        for scratch in (apt, unpacked):
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir(parents=True)
        try:
            unpack(download(apt), unpacked)
        except (OSError, subprocess.CalledProcessError, StopIteration, tarfile.TarError) as problem:
            raise NoSources(f"the source package of LAPACK cannot be fetched: {problem}") from problem
        unpacked.rename(directory)
        shutil.rmtree(apt)
    return directory

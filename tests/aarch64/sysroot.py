"""Debian's arm64 packages, fetched and unpacked below build-aarch64/: the machine itself stays as it is."""

import os
import shutil
import subprocess
from pathlib import Path

DIRECTORY = Path(__file__).resolve().parents[2] / "build-aarch64"
SYSROOT = DIRECTORY / "sysroot"
LIBRARIES = SYSROOT / "usr/lib/aarch64-linux-gnu"

RUNTIME = ["libc6", "libgcc-s1", "libstdc++6", "libgfortran5"]
BLAS = ["libblas3", "libblas-dev", "libblas-test", "libopenblas0-pthread", "libopenblas-pthread-dev"]
BUILD = ["libcapstone-dev", "liblzma-dev", "libgtest-dev", "libgmock-dev", "libfmt-dev", "nlohmann-json3-dev", "libexpected-dev"]
PACKAGES = [*RUNTIME, *BLAS, *BUILD]

# apt as another machine would have it. It shares the keys with this one, nothing else.
APT = """\
Dir::State "{apt}";
Dir::State::status "{apt}/status";
Dir::Cache "{apt}/cache";
Dir::Etc::sourcelist "{apt}/sources.list";
Dir::Etc::sourceparts "/dev/null";
APT::Architecture "arm64";
APT::Architectures "arm64";
APT::Sandbox::User "root";
"""


def asked(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def release() -> str:
    """This machine's, so that what its cross-compiler builds runs with these packages."""
    fields = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    if fields.get("ID") != "debian":
        raise SystemExit("this takes Debian's arm64 packages and works on Debian alone")
    return fields["VERSION_CODENAME"]


def mirror(codename: str) -> str:
    """The one that this machine uses."""
    origins = asked("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(LABEL)", "Created-By: Packages")
    found = (line.split() for line in origins.splitlines())
    for fields in found:
        if fields[1:] == [codename, "Debian"]:
            return fields[0]
    raise SystemExit(f"apt knows no mirror of Debian {codename} on this machine")


def apt_get(*arguments: str, cwd: Path) -> None:
    environment = os.environ | {"APT_CONFIG": str(DIRECTORY / "apt" / "apt.conf")}
    subprocess.run(["apt-get", "-qq", *arguments], cwd=cwd, env=environment, check=True, stdin=subprocess.DEVNULL)


def configure_apt(apt: Path) -> None:
    for needed in ("lists/partial", "cache/archives/partial"):
        (apt / needed).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    codename = release()
    (apt / "sources.list").write_text(f"deb {mirror(codename)} {codename} main\n")
    (apt / "apt.conf").write_text(APT.format(apt=apt))


def fetch() -> None:
    """Fills SYSROOT, unless that is done."""
    DIRECTORY.mkdir(exist_ok=True)
    stamp = DIRECTORY / "packages"
    wanted = "\n".join(PACKAGES)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    apt = DIRECTORY / "apt"
    for directory in (apt, SYSROOT):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
    configure_apt(apt)
    apt_get("update", cwd=apt)
    apt_get("download", *PACKAGES, cwd=apt)
    for package in sorted(apt.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, SYSROOT], check=True)
    stamp.write_text(wanted)

"""Fetches the distribution's packages, of this or another architecture, and unpacks them in a directory; the machine itself is unchanged."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

# The configuration of apt as on another machine. It shares only the keys with this machine.
CONFIGURATION = """\
Dir::State "{directory}";
Dir::State::status "{directory}/status";
Dir::Cache "{directory}/cache";
Dir::Etc::sourcelist "{directory}/sources.list";
Dir::Etc::sourceparts "/dev/null";
APT::Architecture "{architecture}";
APT::Architectures "{architecture}";
APT::Sandbox::User "root";
"""

DISTRIBUTIONS = ("Debian", "Ubuntu")


def asked(*command: str | Path, **options) -> str:
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, **options).stdout


def release() -> dict[str, str]:
    """The fields of /etc/os-release."""
    lines = Path("/etc/os-release").read_text().splitlines()
    return {name: value.strip('"') for name, _, value in (line.partition("=") for line in lines)}


def sources(security: bool) -> list[str]:
    """This machine's sources of packages, as lines of sources.list, with or without the sources of updates and security updates."""
    codename = release().get("VERSION_CODENAME", "")
    wanted = {codename} | ({f"{codename}-updates", f"{codename}-security"} if security else set())
    fields = "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(CODENAME)|$(COMPONENT)"
    found = set()
    for line in asked("apt-get", "indextargets", "--format", fields, "Created-By: Packages").splitlines():
        origin, address, suite, of_release, component = line.split("|")
        # Debian's security archive has the suite's name, Ubuntu's the release's name.
        if origin in DISTRIBUTIONS and wanted & {suite, of_release}:
            found.add(f"deb {address} {suite if suite in wanted else of_release} {component}")
    return sorted(found)


class Apt:
    """A private apt in `directory`."""

    def __init__(self, directory: Path, architecture: str, security: bool = False):
        self.directory = directory
        for needed in ("lists/partial", "cache/archives/partial"):
            (directory / needed).mkdir(parents=True, exist_ok=True)
        (directory / "status").touch()
        lines = sources(security)
        if not lines:
            raise SystemExit(f"apt knows no mirror of {release().get('PRETTY_NAME', 'this system')} on this machine")
        (directory / "sources.list").write_text("\n".join(lines) + "\n")
        (directory / "apt.conf").write_text(CONFIGURATION.format(directory=directory, architecture=architecture))
        self.environment = os.environ | {"APT_CONFIG": str(directory / "apt.conf")}

    def get(self, *arguments: str) -> None:
        subprocess.run(["apt-get", "-qq", *arguments], cwd=self.directory, env=self.environment, check=True, stdin=subprocess.DEVNULL)

    def update(self) -> None:
        self.get("update")

    def dependencies(self, package: str) -> list[str] | None:
        """None if there is no such package."""
        try:
            lines = asked("apt-cache", "depends", "--no-recommends", "--no-suggests", package, env=self.environment).splitlines()
        except subprocess.CalledProcessError:
            return None
        return [line.split(":", 1)[1].strip() for line in lines if line.strip().startswith("Depends:")]

    def fetch(self, packages: Sequence[str], into: Path) -> None:
        """Downloads the packages, without their dependencies, and unpacks them."""
        into.mkdir(parents=True, exist_ok=True)
        for old in self.directory.glob("*.deb"):
            old.unlink()
        self.get("download", *packages)
        for package in sorted(self.directory.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", package, into], check=True)
            package.unlink()

"""The pages of the project name files that exist, and one version."""

import itertools
import re
from pathlib import Path

import offload
import pytest

ROOT = offload.ROOT
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), ROOT / "bench" / "README.md"]
FOLDERS = ("src", "tests", "tools", "bench", "python", "cmake", "share", "examples", "include", "docs")
PLACEHOLDER = re.compile(r"[A-Z]{3,}|<")


def version() -> str:
    return re.search(r"project\(blastoff VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def anchor(heading: str) -> str:
    """What GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {anchor(line.lstrip("#")) for line in page.read_text().splitlines() if line.startswith("#")}


def expanded(path: str) -> list[str]:
    """a/{b,c} as a/b and a/c."""
    parts = [part[1:-1].split(",") if part.startswith("{") else [part] for part in re.split(r"(\{[^}]*\})", path)]
    return ["".join(choice) for choice in itertools.product(*parts)]


def named_files(text: str) -> list[str]:
    """Paths within the checkout that stand in code, without arguments."""
    words = re.findall(rf"(?<![\w./])(?:{'|'.join(FOLDERS)})/[\w./*{{}},<>-]*", " ".join(re.findall(r"`([^`\n]+)`", text)))
    return [name for word in words if not PLACEHOLDER.search(word) for name in expanded(word.rstrip(".,"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        path, _, part = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        assert not part or part in anchors(file), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page):
    missing = [name for name in named_files(page.read_text()) if not any(ROOT.glob(name.rstrip("/")))]
    assert missing == []


def test_one_version():
    assert f"\nversion: {version()}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^## {re.escape(version())} - \d{{4}}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

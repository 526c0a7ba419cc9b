"""The pages of the project name existing files, messages that the sources print, and the same version."""

import errno
import fnmatch
import itertools
import os
import re
from pathlib import Path

import offload
import pytest

ROOT = offload.ROOT
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "bench" / "README.md"]
FOLDERS = ("src", "tests", "tools", "bench", "python", "cmake", "share", "examples", "include", "docs")
PLACEHOLDER = re.compile(r"[A-Z]{3,}|<")

# Tables whose first column quotes messages of the library: page, and heading of that column. In a cell, "..." and "X" stand for text
# that varies. A cell in italics describes a message instead of quoting it.
QUOTING_TABLES = [
    ("troubleshooting.md", "what the summary says"),
    ("troubleshooting.md", "message"),
    ("troubleshooting.md", "reason"),
    ("reading-the-report.md", "reason"),
    ("placement.md", "line"),
    ("inspect.md", "reason"),
]


def version() -> str:
    return re.search(r"project\(blastoff VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def anchor(heading: str) -> str:
    """The anchor that GitHub makes from a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {anchor(line.lstrip("#")) for line in page.read_text().splitlines() if line.startswith("#")}


def expanded(path: str) -> list[str]:
    """Expands a/{b,c} to a/b and a/c."""
    parts = [part[1:-1].split(",") if part.startswith("{") else [part] for part in re.split(r"(\{[^}]*\})", path)]
    return ["".join(choice) for choice in itertools.product(*parts)]


def named_files(text: str) -> list[str]:
    """Paths within the checkout in the page's code spans, without arguments."""
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


def test_scripts_can_be_run():
    """As pages name them: bench/applications.py, without python3 before it."""
    scripts = [file for folder in ("bench", "tests", "tools", "python") for file in (ROOT / folder).rglob("*.py") if file.read_bytes()[:2] == b"#!"]
    assert scripts and [str(file) for file in scripts if not os.access(file, os.X_OK)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page):
    missing = [name for name in named_files(page.read_text()) if not any(ROOT.glob(name.rstrip("/")))]
    assert missing == []


def test_the_first_page_is_two_screens():
    """Its prose fits 100 columns, and a reader has few links to choose from. The page of all pages has the rest."""
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 110 and [line for line in lines if len(line) > 100 and not line.startswith(("    ", "|"))] == []
    assert "\n".join(lines).count("](") <= 20


def test_each_page_is_on_the_page_of_all_pages():
    listed = re.findall(r"\]\(([^)]+)\)", (ROOT / "docs" / "README.md").read_text())
    pages = [str(page.relative_to(ROOT / "docs")) for page in PAGES if ROOT / "docs" in page.parents]
    assert sorted([*listed, "README.md"]) == sorted(pages)


def test_each_stored_result_is_named():
    """By a page or a machine model: figures that nobody reads are not kept."""
    text = "".join(page.read_text() for page in [*PAGES, *sorted((ROOT / "share" / "machines").iterdir())])
    patterns = re.findall(r"[\w*-]+-[\w*-]+(?:\.json|\.txt)", text)
    results = sorted(path.name for path in (ROOT / "bench" / "results").iterdir())
    assert results and [name for name in results if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns)] == []


def quoted(page: Path, heading: str) -> list[str]:
    """First cells of the page's tables under that heading."""
    cells = []
    inside = False
    for line in page.read_text().splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        first = line.split("|")[1].strip().strip("`")
        if inside and not re.fullmatch("-+|[*].*[*]", first):
            cells.append(first)
        inside = inside or first == heading
    return cells


def printed() -> str:
    """The string literals of the sources, with adjacent ones joined."""
    sources = [file.read_text() for ending in ("cpp", "h", "def") for file in sorted((ROOT / "src").rglob(f"*.{ending}"))]
    literals = re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'"\s*\n\s*"', "", "\n".join(sources)))
    return "\n".join(literals) + "\n" + "\n".join(os.strerror(number) for number in errno.errorcode)


@pytest.mark.parametrize(("page", "heading"), QUOTING_TABLES)
def test_messages_that_are_quoted_exist(page, heading):
    quotations = quoted(ROOT / "docs" / page, heading)
    assert quotations
    text = printed()
    fragments = [part.strip() for quotation in quotations for part in re.split(r"\.\.\.|\bX\b", quotation) if part.strip()]
    assert [fragment for fragment in fragments if fragment not in text] == []


def test_one_version():
    """CMakeLists.txt has the version; where else it is written, it is the same. CHANGELOG.md and stored results name earlier ones."""
    assert f"\nversion: {version()}\n" in (ROOT / "CITATION.cff").read_text()
    assert f'version("{version()}")' in (ROOT / "share" / "spack" / "package.py").read_text()
    pages = "".join(page.read_text() for page in PAGES if page.name != "CHANGELOG.md")
    assert set(re.findall(r"\bblastoff[-@ ](\d+\.\d+\.\d+)", pages)) == {version()}
    assert re.search(rf"^## {re.escape(version())} - \d{{4}}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

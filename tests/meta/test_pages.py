"""What pages say about code is there: a proof that names a function which moved proves nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if DOCS / "_made" not in page.parents)
FILE = re.compile(r"`([\w/.]+\.py)`")
LINK = re.compile(r"\]\((?![a-z]+:)([^)\s#]*\.md)?(?:#([^)\s]+))?\)")
NAME = re.compile(r"`([A-Za-z_][\w.]*)(?:\([^`]*\))?`")


def cells_with_files(text: str) -> Iterator[tuple[int, str, list[str]]]:
    """Each cell of a table, or line of prose, that names files of code."""
    for number, line in enumerate(text.splitlines(), 1):
        for cell in line.split("|"):
            if named := FILE.findall(cell):
                yield number, cell, named


def find_file(name: str, sources: list[Path]) -> list[Path]:
    """The files that a page can mean: a path's end, so that pages need not repeat their package."""
    return [path for path in sources if path.as_posix().endswith(f"/{name}")]


def stale_names(text: str, sources: list[Path]) -> list[str]:
    """Files that are not there; in tables, also names that the files beside them don't have."""
    lines = text.splitlines()
    found = []
    for number, cell, named in cells_with_files(text):
        files = [path for name in named for path in find_file(name, sources)]
        found += [f"{number}: {n} is not there" for n in named if not find_file(n, sources)]
        if not files or not lines[number - 1].startswith("|") or "<name>" in cell:
            continue
        words = {word for path in files for word in re.findall(r"\w+", path.read_text("utf-8"))}
        for name in NAME.findall(cell):
            if not name.endswith(".py") and name.split(".")[-1] not in words:
                found.append(f"{number}: {name} is not in {', '.join(named)}")
    return found


@pytest.fixture(scope="module")
def sources() -> list[Path]:
    folders = [ROOT / name for name in ("src", "tests", "benchmarks", "tools", "papers")]
    return [path for folder in folders for path in folder.rglob("*.py")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_name_code_that_is_there(page: Path, sources: list[Path]) -> None:
    assert stale_names(page.read_text("utf-8"), sources) == []


def test_code_that_moved_is_noticed(sources: list[Path]) -> None:
    page = "| noise | `noise/laplace.py`: `discrete_laplace`, `gone` |\n`noise/laws.py` draws it.\n"
    assert stale_names(page, sources) == [
        "1: gone is not in noise/laplace.py",
        "2: noise/laws.py is not there",
    ]


def sections(text: str) -> set[str]:
    """The names under which a page's headings can be linked to, as the site makes them."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#{1,4} (.+)$", prose, flags=re.MULTILINE)
    plain = [re.sub(r"[`*]|\]\([^)]*\)", "", title).strip().lower() for title in titles]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain} | set(
        re.findall(r"^\(([\w-]+)\)=$", prose, flags=re.MULTILINE)
    )


def dead_links(page: Path, text: str) -> list[str]:
    """Links to pages, or to headings of pages, that are not there."""
    found = []
    for target, section in LINK.findall(re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)):
        goal = (page.parent / target).resolve() if target else page
        if not goal.exists():
            found.append(target)
        elif section and section not in sections(goal.read_text("utf-8") if target else text):
            found.append(f"{target}#{section}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    assert dead_links(page, page.read_text("utf-8")) == []


def test_a_section_that_went_away_is_noticed() -> None:
    page = DOCS / "guides" / "deep.md"
    text = (
        "# Here\n[a](#here) [b](#gone) [c](deep.md#stop-early) [d](deep.md#late) [e](nowhere.md)\n"
    )
    assert dead_links(page, text) == ["#gone", "deep.md#late", "nowhere.md"]

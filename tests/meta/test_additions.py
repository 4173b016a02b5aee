"""To add something is to touch few files, and the map of the architecture names them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMITS = {"query": 8, "mechanism": 11, "estimator": 9, "engine": 10, "ledger store": 8}


def files_to_touch() -> dict[str, list[str]]:
    """The paths that the table of additions names, by what is added."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = text.split("## To add")[1].split("## ")[0]
    rows = re.findall(r"^\| ([a-z ]+) \| (.*) \|$", table, re.MULTILINE)
    found = {kind: re.findall(r"`([\w<>./-]+\.\w+)`", files) for kind, files in rows}
    return {kind: files for kind, files in found.items() if files}


@pytest.mark.parametrize("kind", LIMITS)
def test_an_addition_touches_few_files(kind: str) -> None:
    files = files_to_touch()[kind]
    assert 0 < len(files) == len(set(files)) <= LIMITS[kind]
    for path in files:
        if "<name>" not in path:
            assert (ROOT / path).is_file(), path
        else:  # its folder is there, or is the new one
            folder = path.split("<name>")[0].rpartition("/")[0]
            assert (ROOT / folder).is_dir(), path


#: What was added last of each kind, and what else had to know it.
LATEST = {
    "query": ("KeyCounts", "src/discreet"),
    "mechanism": ("PermuteAndFlip", "src/discreet"),
    "estimator": ("SimpleLinearRegression", "src/discreet"),
}


@pytest.mark.parametrize("kind", LATEST)
def test_few_files_of_the_code_know_one_addition(kind: str) -> None:
    name, folder = LATEST[kind]
    code = (path for ending in ("py", "pyi") for path in (ROOT / folder).rglob(f"*.{ending}"))
    knowing = [path for path in code if re.search(rf"\b{name}\b", path.read_text("utf-8"))]
    assert 0 < len(knowing) <= LIMITS[kind] + 1, knowing

"""Plans that pages show as output are those that their programs print: they follow from public facts."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
#: How what is printed about a plan begins.
_PLAN = re.compile(r"Plan: |\d+ questions?, one charge of |in all .*, one charge")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def read_blocks(page: Path) -> list[tuple[str, str]]:
    return [(found["kind"], found["text"]) for found in _BLOCK.finditer(page.read_text("utf-8"))]


def is_plan(kind: str, text: str) -> bool:
    return kind in ("", "text") and _PLAN.match(text) is not None


def list_pages() -> list[Path]:
    return [page for page in PAGES if any(is_plan(*block) for block in read_blocks(page))]


def stands_in(shown: str, printed: str) -> bool:
    """Whether the lines that are shown stand among those printed, in this order; ``...`` leaves some out."""
    lines = iter(printed.splitlines())
    return all(
        any(line.rstrip() == wanted.rstrip() for line in lines)
        for wanted in shown.splitlines()
        if wanted.strip() != "..."
    )


def test_pages_with_plans_are_found() -> None:
    assert {page.name for page in list_pages()} >= {"results.md", "tutorial.md"}


# of the oldest matplotlib, whose parser has moved on
@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
@pytest.mark.parametrize("page", list_pages(), ids=lambda page: page.name)
def test_a_plan_on_a_page_is_the_one_that_its_program_prints(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = read_blocks(page)
    last = max(at for at, block in enumerate(blocks) if is_plan(*block))
    printed, names = io.StringIO(), dict[str, Any]()
    for kind, text in blocks[:last]:
        if kind == "python":
            with contextlib.redirect_stdout(printed):
                exec(compile(text, page.name, "exec"), names)
    for kind, text in blocks:
        if is_plan(kind, text):
            assert stands_in(text, printed.getvalue()), text


def test_another_number_is_noticed() -> None:
    printed = "Plan: Count()\n  event   Laplace\n  stderr  1.41\n  and more"
    assert stands_in("Plan: Count()\n  ...\n  stderr  1.41\n", printed)
    assert not stands_in("Plan: Count()\n  stderr  1.42\n", printed)
    assert not stands_in("  stderr  1.41\nPlan: Count()\n", printed)

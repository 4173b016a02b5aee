"""The site's long tables are sorted by their headings, with a mouse or with keys alone, in a real browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sphinx")
pytest.importorskip("playwright")
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

from browsers import chromium  # noqa: E402, F401

pytestmark = pytest.mark.long

#: The look of the site, without the pages that are made for it.
CONFIGURATION = f"""
import runpy
theirs = runpy.run_path({str(DOCS / "conf.py")!r})
globals().update({{name: value for name, value in theirs.items() if name.startswith("html_")}})
html_static_path = [{str(DOCS / "_static")!r}]
extensions = ["myst_parser"]
suppress_warnings = ["myst.xref_missing"]
"""

WORDS = """
# Words

| name | size | share |
| --- | --- | --- |
| b | 10 (ε) | 5 of 9 |
| a | 9 (ε at δ = 1e-05) | |
| d | 1e-05 | 12 of 12 |
| c | inf | |
| e | −2 | none |
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: Any) -> Path:
    """The page of audits and a small one, built as the site is."""
    source = tmp_path_factory.mktemp("source")
    built = tmp_path_factory.mktemp("site")
    (source / "conf.py").write_text(CONFIGURATION)
    (source / "index.md").write_text((DOCS / "audits.md").read_text())
    (source / "words.md").write_text("---\norphan: true\n---\n" + WORDS)
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(source), str(built)]
    subprocess.run(command, check=True, timeout=300)
    return built


def column(page: Any, heading: str) -> list[str]:
    """The cells below a heading, in the order in which the page shows them."""
    found: list[str] = page.evaluate(
        """heading => {
            const cells = [...document.querySelectorAll("th")];
            const th = cells.find(cell => cell.textContent.trim() === heading);
            return [...th.closest("table").tBodies[0].rows].map(
                row => row.cells[th.cellIndex].textContent.trim());
        }""",
        heading,
    )
    return found


def test_numbers_words_and_gaps_are_put_in_order(site, chromium):  # noqa: F811
    page = chromium.new_page()
    page.goto((site / "words.html").as_uri())
    for heading, up, down in (
        ("name", "abcde", "edcba"),
        ("size", "edabc", "cbade"),
        ("share", "bdeca", "edbca"),  # empty cells keep the order they had
    ):
        button = page.get_by_role("button", name=heading)
        button.click()
        assert "".join(column(page, "name")) == up, heading
        assert button.locator("xpath=..").get_attribute("aria-sort") == "ascending"
        button.click()
        assert "".join(column(page, "name")) == down, heading
        assert page.locator("[aria-sort]").count() == 1
    page.close()


def test_the_page_of_audits_is_sorted_with_keys_alone(site, chromium):  # noqa: F811
    page = chromium.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((site / "index.html").as_uri())
    before = column(page, "claim")
    page.get_by_role("button", name="floor/claim").first.focus()
    page.keyboard.press("Enter")
    shares = [float(cell) for cell in column(page, "floor/claim") if cell]
    assert shares == sorted(shares)
    assert len(shares) > 100
    page.keyboard.press("Shift+Tab")  # to the heading before: floors
    page.keyboard.press("Space")
    floors = [float(cell) for cell in column(page, "floor") if cell]
    assert floors == sorted(floors) != shares
    assert sorted(column(page, "claim")) == sorted(before)
    assert said == []
    page.close()

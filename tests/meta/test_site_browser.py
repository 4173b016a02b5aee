"""The documentation as `make docs` builds it: each page loads without a word, and asks nobody for a thing."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("playwright")

from browsers import Reader, chromium  # noqa: F401

pytestmark = pytest.mark.long

SITE = Path(__file__).parents[2] / "site"


def test_every_page_of_the_site_is_quiet_and_whole(chromium):  # noqa: F811
    pages = [page for page in sorted(SITE.rglob("*.html")) if "_static" not in page.parts]
    if not pages:
        pytest.skip("the site is not here; `make docs` builds it")
    assert len(pages) > 100
    reader = Reader(chromium)
    broken: dict[str, list[str]] = {}
    for page in pages:
        reader.open(page)
        wrong = [*reader.complaints, *reader.outside, *reader.broken_images]
        reader.complaints.clear()
        reader.outside.clear()
        if wrong:
            broken[str(page.relative_to(SITE))] = wrong
    reader.close()
    assert broken == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index.html", "tutorial.html", "audits.html", "benchmarks.html"])
def test_pages_fit_a_phone(chromium, name, theme):  # noqa: F811
    if not (SITE / name).exists():
        pytest.skip("the site is not here; `make docs` builds it")
    reader = Reader(chromium, theme, 390)
    reader.open(SITE / name)
    overhang = reader.overhang
    reader.close()
    assert overhang <= 0

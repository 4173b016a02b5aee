"""The report in a real browser: it loads alone and without a word, stands on every screen, and prints."""

from __future__ import annotations

import itertools

import pytest
from axe_playwright_python.sync_playwright import Axe
from test_report import everything, people

import discreet as dp
from browsers import LOOKS, RULES, Reader, chromium  # noqa: F401
from discreet.testing import fixed_noise

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report of everything that can be in one."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    with fixed_noise(1):
        data = people(4000)
        dp.write_report(path, *everything(data), ledger=data.ledger)
    return path


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_a_report_is_quiet_and_accessible_on_every_screen(chromium, page, theme, width):  # noqa: F811
    reader = Reader(chromium, theme, width)
    reader.open(page)
    found = Axe().run(reader.page, options=RULES)
    assert [each["id"] for each in found.response["violations"]] == []
    assert reader.overhang <= 0
    assert reader.broken_images == []
    levels = [
        int(name[1])
        for name in reader.page.evaluate(
            "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => h.tagName)"
        )
    ]
    assert levels[0] == 1
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    reader.close()
    assert reader.complaints == []
    assert reader.outside == []


def test_a_report_prints(chromium, page):  # noqa: F811
    reader = Reader(chromium)
    reader.open(page)
    pages = reader.page.pdf(format="A4").count(b"/Type /Page\n")
    reader.close()
    assert pages >= 2


def test_a_page_that_complains_and_goes_elsewhere_would_be_noticed(chromium, tmp_path):  # noqa: F811
    page = tmp_path / "page.html"
    page.write_text(
        "<!DOCTYPE html><html><body><div style='width:3000px'>x</div><img src='none.png'>"
        "<script src='http://127.0.0.1:9/x.js'></script><script>console.error('no')</script>"
    )
    reader = Reader(chromium)
    reader.open(page)
    overhang, broken = reader.overhang, reader.broken_images
    found = Axe().run(reader.page, options=RULES)
    reader.close()
    assert overhang > 1000
    assert len(broken) == 1
    assert reader.outside == ["http://127.0.0.1:9/x.js"]
    assert "no" in reader.complaints
    assert found.response["violations"]

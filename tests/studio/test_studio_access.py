"""Everybody can use the studio: axe finds nothing on any page, in any theme or width; nothing sticks out."""

from __future__ import annotations

from itertools import pairwise

import pytest
from axe_playwright_python.sync_playwright import Axe
from chromium import Person, serve
from clinic_studio import open_clinic

from browsers import LOOKS, RULES
from discreet.studio.studio import Studio

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A studio with results of several kinds, and the places of all its pages."""
    folder = tmp_path_factory.mktemp("access")
    browser = open_clinic(folder, epsilon="10")
    browser.press("/ask/add", kind="mean", column="cost", by="ward")
    browser.press("/ask/add", kind="count", by="month(day)")
    answers = browser.release("questions")
    browser.press("/release/check/price", epsilon="0.1")
    check = browser.release("check")
    browser.press("/ask/table", name="synthetic", settings="rows=20", epsilon="1")
    table = browser.release("table")
    browser.press("/ask/add", kind="sum", column="cost")
    browser.press("/ask/share", epsilon="100", rows="400")
    refused = browser.release("questions")
    browser.press("/ask/share", epsilon="0.5", rows="400")
    browser.press("/ask/select", text="SELECT COUNT(*) FROM visits", epsilon="0.1")
    browser.press("/ledger/account", name="research", epsilon="1")
    places = [
        "/facts",
        "/protect",
        "/ask",
        "/ask/select",
        "/ask/describe",
        "/ask/model",
        "/ask/table",
    ]
    places += [
        "/release",
        "/release/questions",
        answers,
        check,
        table,
        refused,
        "/ledger",
        "/trust",
    ]
    places += [
        "/trust/claim/discrete-laplace",
        "/trust/page/guides/sql",
        "/words",
        "/start",
        "/gone",
    ]
    return Studio(folder, "visits.csv"), places


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_axe_finds_nothing_and_nothing_sticks_out(chromium, pages, scheme, width):
    studio, places = pages
    violations, wide = [], []
    with serve(studio) as home:
        person = Person(
            chromium, home, color_scheme=scheme, viewport={"width": width, "height": 900}
        ).enter()
        for place in places:
            person.open(place)
            found = Axe().run(person.page, options=RULES).response["violations"]
            violations += [(place, one["id"], one["nodes"][0]["html"]) for one in found]
            if person.page.evaluate("document.documentElement.scrollWidth > innerWidth + 1"):
                wide.append(place)
        complaints = [text for text in person.complaints if "404" not in text]  # /gone is gone
        outside = person.outside
        person.close()
    assert violations == []
    assert wide == []
    assert complaints == []
    assert outside == []


def test_wrong_input_has_a_sentence_beside_its_field_that_is_read_aloud(chromium, pages):
    studio, _ = pages
    with serve(studio) as home:
        person = Person(chromium, home).enter()
        person.open("/ask")
        person.choose("What", "mean")
        person.click("button", "Add the question")
        field = person.page.get_by_label("Column", exact=True)
        assert field.get_attribute("aria-invalid") == "true"
        beside = person.page.locator(f"#{field.get_attribute('aria-describedby')}")
        assert "Choose the column" in beside.inner_text()
        assert beside.get_attribute("role") == "alert"
        assert Axe().run(person.page, options=RULES).response["violations"] == []
        person.complaints = [text for text in person.complaints if "422" not in text]
        person.check_quiet()
        person.close()


def test_axe_would_notice_a_field_without_a_label(chromium, pages):
    studio, _ = pages
    with serve(studio) as home:
        person = Person(chromium, home).enter()
        person.open("/ask")
        person.page.evaluate("document.querySelector('label[for=kind]').remove()")
        found = Axe().run(person.page, options=RULES).response["violations"]
        assert [one["id"] for one in found] == ["select-name"]
        person.close()


def test_headings_are_in_order(chromium, pages):
    studio, places = pages
    with serve(studio) as home:
        person = Person(chromium, home).enter()
        for place in places:
            person.open(place)
            levels = person.page.evaluate(
                "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => Number(h.tagName[1]))"
            )
            assert levels[0] == 1, place
            assert all(b <= a + 1 for a, b in pairwise(levels)), (
                place,
                levels,
            )
        person.close()

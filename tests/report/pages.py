"""What a browser would find in a page, for tests: elements, ids, headings, text."""

from __future__ import annotations

from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

VOID = {"meta", "line", "rect", "circle", "polygon", "polyline", "br"}


class Page(HTMLParser):
    """A page that was parsed strictly: every element is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), "an attribute is given twice"
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        assert tag in VOID
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"nothing to close for {tag}"
        assert self._open.pop() == tag, f"{tag} closes another element"

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self._open[-1] if self._open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def inside(self, tag: str) -> list[str]:
        """The texts directly inside elements of a kind."""
        return [text for name, text in self.texts if name == tag]


def check_page(text: str) -> Page:
    """Parse a page and check what holds for every report."""
    page = Page(text)
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(set(ids)) == len(ids), "an id occurs twice"
    links = [str(a.get("href")) for a in page.all("a")]
    assert links
    assert all(link.startswith("#") and link[1:] in ids for link in links)
    assert "//" not in text.replace("<!--", ""), "an address"
    names = {name for name, _ in page.elements}
    assert not names & {"script", "img", "iframe", "link", "object", "embed", "form", "base"}
    assert not [
        a for _, a in page.elements if any(key.startswith("on") or key == "style" for key in a)
    ]
    levels = [
        int(tag[1]) for tag, _ in page.elements if tag in ("h1", "h2", "h3", "h4", "h5", "h6")
    ]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.all("html") == [{"lang": "en"}]
    for picture in page.all("svg"):
        assert picture["role"] == "img"
        assert all(name in ids for name in str(picture["aria-labelledby"]).split())
    assert all("scope" in cell for cell in page.all("th"))
    assert len(page.all("figure")) == len(page.all("svg")) == len(page.all("desc"))
    return page

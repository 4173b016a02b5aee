"""A real browser for tests: Debian's Chromium, driven by Playwright; what it complains about is noted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packages import install

#: WCAG 2.2, levels A and AA.
RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
}
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-gpu",
    "--disable-dev-shm-usage",
]
#: Light and dark, on a desk and on a phone.
LOOKS = [("light", 1200), ("dark", 1200), ("light", 390), ("dark", 390)]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser; tests open pages of their own in it."""
    from playwright.sync_api import sync_playwright

    if not install("chromium", lambda: shutil.which("chromium") is not None):
        pytest.skip("Chromium is not installed; install the package chromium to run this test")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=ARGUMENTS
        )
        yield browser
        browser.close()


class Reader:
    """Somebody who opens pages that lie on the disk; what the browser says is noted."""

    def __init__(self, chromium: Any, theme: str = "light", width: int = 1200) -> None:
        self.context = chromium.new_context(
            color_scheme=theme, viewport={"width": width, "height": 900}
        )
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.outside: list[str] = []
        self.page.on("console", self._note_words)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("requestfailed", lambda request: self.complaints.append(f"no {request.url}"))
        self.page.on("request", self._note_request)

    def _note_words(self, said: Any) -> None:
        self.complaints.append(said.text)

    def _note_request(self, request: Any) -> None:
        if not request.url.startswith(("file://", "data:")):
            self.outside.append(request.url)

    def open(self, path: Path) -> None:
        """Open a file, and wait until all of it is there."""
        self.page.goto(path.as_uri(), wait_until="load")

    @property
    def overhang(self) -> int:
        """By how many pixels the page is wider than its window."""
        found: int = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return found

    @property
    def broken_images(self) -> list[str]:
        """Pictures that the page names and doesn't show."""
        found: list[str] = self.page.evaluate(
            "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        )
        return found

    def close(self) -> None:
        self.context.close()

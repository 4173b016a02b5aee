"""A real browser for the studio's tests: Debian's Chromium, driven by Playwright; all it says is noted."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from discreet.studio.application import build_app
from discreet.studio.serving import open_socket
from discreet.studio.studio import Studio

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
KEY = "key"


def _install() -> None:
    """As root, try once per machine to install Chromium."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    mark = Path(tempfile.gettempdir()) / "discreet-chromium-install"
    with mark.open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # workers that run side by side
        lock.seek(0)
        if lock.read() or shutil.which("chromium"):
            return
        lock.write("tried\n")
        for words in (["update", "-qq"], ["install", "-y", "-qq", "chromium"]):
            subprocess.run(
                ["apt-get", *words],
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=900,
                check=False,
            )


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser; tests open pages of their own in it."""
    from playwright.sync_api import sync_playwright

    if shutil.which("chromium") is None:
        _install()
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("Chromium is not installed; install the package chromium to run this test")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def serve(studio: Studio) -> Iterator[str]:
    """A studio on a port of its own; its address."""
    here = open_socket(0)
    port = here.getsockname()[1]
    config = uvicorn.Config(
        build_app(studio, port, KEY), access_log=False, log_config=None, lifespan="off"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: server.run(sockets=[here]), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(20)


class Person:
    """Somebody who clicks and types; clicks are counted, and what the browser complains about is noted."""

    def __init__(self, chromium: Any, home: str, **looks: Any) -> None:
        looks.setdefault("viewport", {"width": 1200, "height": 900})
        self.context = chromium.new_context(accept_downloads=True, **looks)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.origin = self.home = home
        self.clicks = 0
        self.complaints: list[str] = []
        self.outside: list[str] = []
        self.watch(self.page)

    def watch(self, page: Any) -> None:
        """Note what the browser says about a page, and where it goes."""
        page.on("console", lambda said: self.complaints.append(said.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(self.origin) else self.outside.append(request.url)
            ),
        )

    def enter(self) -> Person:
        """Open the address that the terminal shows."""
        self.page.goto(f"{self.home}/enter?token={KEY}")
        self.page.wait_for_url(lambda url: "/enter" not in url)
        self.home = "/".join(self.page.url.split("/")[:4])
        return self

    def open(self, place: str) -> None:
        """Go to a page by its address."""
        self.page.goto(self.home + place)

    def click(self, role: str, name: str) -> None:
        """Click something by what it is called."""
        self.clicks += 1
        self.page.get_by_role(role, name=name).first.click()

    def choose(self, label: str, value: str, within: str | None = None) -> None:
        """Choose from a list: two clicks, to open it and on what is chosen."""
        self.clicks += 2
        self._place(within).get_by_label(label, exact=True).select_option(value)

    def type(self, label: str, value: str, within: str | None = None) -> None:
        """Type into a field: one click into it."""
        self.clicks += 1
        self._place(within).get_by_label(label, exact=True).fill(value)

    def _place(self, within: str | None) -> Any:
        if within is None:
            return self.page
        # a legend has the name of a column, and the type that a database declares for it
        return self.page.get_by_role("group", name=re.compile(rf"^{re.escape(within)}( \S+)*$"))

    def check_quiet(self) -> None:
        """Nothing was complained about, and nothing left this machine."""
        assert self.complaints == []
        assert self.outside == []

    def close(self) -> None:
        self.context.close()

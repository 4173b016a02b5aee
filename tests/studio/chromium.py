"""A studio that is served, and somebody who goes through it in a real browser; all it says is noted."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from discreet.studio.application import build_app
from discreet.studio.serving import make_server, open_socket
from discreet.studio.studio import Studio
from discreet.studio.tidying import keep_tidy

KEY = "key"


@contextmanager
def serve(studio: Studio) -> Iterator[str]:
    """A studio on a port of its own; its address."""
    here = open_socket(0)
    port = here.getsockname()[1]
    server = make_server(build_app(studio, port, KEY))
    thread = threading.Thread(target=lambda: server.run(sockets=[here]), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    with keep_tidy():
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

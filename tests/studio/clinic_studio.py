"""A studio beside the table of a clinic, asked as its own pages ask, without a browser."""

from __future__ import annotations

import asyncio
import csv
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import discreet as dp
from discreet.studio.application import build_app
from discreet.studio.jobs import Jobs
from discreet.studio.studio import Studio

PORT = 8765
TOKEN = "the-key-in-the-address"
HOME = f"http://127.0.0.1:{PORT}"
WARDS = ("children", "medicine", "surgery")
#: A name that stands in every row: no page, file or log of ours may ever show it.
SECRET = "Wilhelmine-Secret"
HEADER = ("patient", "ward", "age", "cost", "day", "name")


def write_visits(path: Path, rows: int = 400) -> None:
    """Write a table of visits."""
    draw = np.random.default_rng(7)
    first = np.datetime64("2024-01-01")
    with path.open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file)
        write.writerow(HEADER)
        for at in range(rows):
            cost = round(float(draw.gamma(2, 200)), 2)
            day = str(first + int(draw.integers(366)))
            ward = WARDS[draw.integers(3)]
            write.writerow((f"p{at // 2}", ward, int(draw.integers(0, 100)), cost, day, SECRET))


def run_at_once(act: Callable[[], None]) -> None:
    """Work on a release before its page answers."""
    act()


class Client:
    """Sends single requests to an application, as an HTTP client on some machine does."""

    def __init__(self, app: Any, home: str, address: str = "127.0.0.1") -> None:
        self._app, self._home, self._address = app, home, address
        self.cookies = httpx.Cookies()

    def send(self, method: str, place: str, **more: Any) -> httpx.Response:
        """One request, and its answer; redirects aren't followed. Whoever asks knows where pages are."""
        if not place.startswith("/enter"):
            place = self._app.base + place
        return self.send_exactly(method, place, **more)

    def send_exactly(self, method: str, place: str, **more: Any) -> httpx.Response:
        """A request to this very address."""
        with ThreadPoolExecutor(1) as aside:  # where no other loop runs, such as Playwright's
            return aside.submit(lambda: asyncio.run(self._send(method, place, more))).result()

    async def _send(self, method: str, place: str, more: dict[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(self._app, client=(self._address, 50000))
        async with httpx.AsyncClient(
            transport=transport, base_url=self._home, cookies=self.cookies
        ) as client:
            answer = await client.request(method, place, **more)
        self.cookies.update(answer.cookies)
        return answer


class Browser:
    """Asks as the studio's own pages do: with its cookie, and from its own address."""

    def __init__(self, studio: Studio, port: int = PORT, **settings: Any) -> None:
        self.studio = studio
        self.app = build_app(studio, port, TOKEN, **settings)
        self.client = Client(self.app, f"http://127.0.0.1:{port}")

    def enter(self) -> Browser:
        """Follow the address that the terminal shows."""
        answer = self.client.send("GET", f"/enter?token={TOKEN}")
        assert answer.status_code == 200, answer.text
        return self

    def get(self, place: str, /, **headers: str) -> httpx.Response:
        """Open a page."""
        return self.client.send("GET", place, headers=headers)

    def post(
        self, place: str, /, *pairs: tuple[str, str], part: bool = False, **fields: str
    ) -> httpx.Response:
        """Send a form of a page."""
        desk = self.studio.desk
        given = [("desk", "" if desk is None else desk.id), *pairs, *fields.items()]
        headers = {"origin": HOME, "content-type": "application/x-www-form-urlencoded"}
        if part:
            headers["x-part"] = "1"
        body = str(httpx.QueryParams(given))
        return self.client.send("POST", place, content=body, headers=headers)

    def see(self, place: str) -> str:
        """The text of a page that must open."""
        answer = self.get(place)
        assert answer.status_code == 200, (place, answer.status_code, answer.text[:2000])
        return answer.text

    def press(self, place: str, /, *pairs: tuple[str, str], **fields: str) -> str:
        """Send a form that must be taken; where it leads."""
        answer = self.post(place, *pairs, **fields)
        assert answer.status_code == 303, (place, answer.status_code, find_errors(answer.text))
        return str(answer.headers["location"]).removeprefix(self.studio.base)

    def release(self, kind: str) -> str:
        """Confirm the charge of a draft; the page of the result."""
        page = self.see(f"/release/{kind}")
        return self.press(f"/release/{kind}", token=find_token(page))


def find_token(page: str) -> str:
    """The token of a release in its confirmation."""
    found = re.search(r'name="token" value="([0-9a-f]{32})"', page)
    assert found is not None, find_errors(page)
    return found[1]


def find_errors(page: str) -> list[str]:
    """The sentences that a page shows beside its fields and above its forms."""
    pattern = r'<p class="(?:wrong|alarm|notice)[^>]*>(.*?)</p>'
    return [unescape(text) for text in re.findall(pattern, page, re.DOTALL)]


FACTS = {
    "kind-1": "categorical",
    "values-1": "children\nmedicine\nsurgery",
    "kind-2": "integer",
    "lower-2": "0",
    "upper-2": "99",
    "kind-3": "real",
    "lower-3": "0",
    "upper-3": "2000",
    "kind-4": "date",
    "lower-4": "2024-01-01",
    "upper-4": "2024-12-31",
    "rows": "400",
}


def open_clinic(folder: Path, epsilon: str = "4", **settings: Any) -> Browser:
    """A studio beside visits.csv, with its facts declared and its budget set."""
    write_visits(folder / "visits.csv")
    studio = Studio(folder, "visits.csv", jobs=Jobs(run_at_once))
    browser = Browser(studio, **settings).enter()
    browser.press("/facts/header")
    browser.press("/facts", **FACTS)
    person = {"who": "person", "id_column": "patient", "max_rows": "3", "relation": "add_remove"}
    browser.press("/protect", **person, epsilon=epsilon, ledger="visits.db")
    return browser


@pytest.fixture
def clinic(tmp_path: Path) -> Browser:
    """A studio that is ready to be asked."""
    return open_clinic(tmp_path)


def open_ledger(folder: Path) -> dp.Ledger:
    """The ledger that releases charged."""
    return dp.Ledger(f"sqlite:///{folder / 'visits.db'}", read_only=True)

"""Draw the studio's pages for its guide: light and dark, on a desk and on a phone, each page as one sheet.

Needs Chromium (Debian's package) and Playwright; writes docs/figures/studio_*.png.
"""

from __future__ import annotations

import io
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from discreet.studio.application import build_app
from discreet.studio.serving import open_socket
from discreet.studio.studio import Studio

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-background-networking", "--disable-gpu"]
#: The widths of a desk and of a phone, and the height of both.
DESK, PHONE, HEIGHT = 1200, 390, 1000
SCALE, GAP, COLOURS = 0.6, 12, 128


def walk(page: Page, home: str) -> Iterator[tuple[str, str]]:
    """Go the whole way on the sample, and stop where a page is worth a picture: its name and address."""
    page.goto(f"{home}/enter?token=key")
    page.wait_for_url(lambda url: "/enter" not in url)
    home = "/".join(page.url.split("/")[:4])
    yield "start", f"{home}/start"
    page.get_by_role("button", name="Play with a sample").click()
    page.wait_for_url("**/facts")
    yield "facts", f"{home}/facts"
    page.goto(f"{home}/protect")
    yield "protect", f"{home}/protect"
    page.get_by_label("Budget ε for everything", exact=True).fill("3")
    page.get_by_role("button", name="Set the budget").click()
    for kind, column, group in (("mean", "cost", "ward"), ("count", "", "month(day)")):
        page.get_by_label("What", exact=True).select_option(kind)
        page.get_by_label("Column", exact=True).select_option(column)
        page.get_by_label("For each", exact=True).select_option(group)
        page.get_by_role("button", name="Add the question").click()
    yield "ask", f"{home}/ask"
    page.get_by_role("button", name="Go on to the charge").click()
    page.wait_for_url("**/release/questions")
    yield "release", f"{home}/release/questions"
    page.get_by_role("button", name="Charge").click()
    page.wait_for_selector("text=To keep and to hand over")
    yield "result", page.url
    yield "ledger", f"{home}/ledger"
    yield "trust", f"{home}/trust"


def photograph(browser: Browser, state: Any, place: str, width: int, look: str) -> Any:
    """A page as somebody sees it who opens it."""
    with browser.new_context(
        storage_state=state,
        color_scheme="dark" if look == "dark" else "light",
        viewport={"width": width, "height": HEIGHT},
    ) as context:
        page = context.new_page()
        page.goto(place)
        return Image.open(io.BytesIO(page.screenshot()))


def join(pictures: list[list[Any]]) -> Any:
    """Rows of pictures on one sheet."""
    small = [
        [one.resize((round(one.width * SCALE), round(one.height * SCALE))) for one in row]
        for row in pictures
    ]
    width = sum(one.width for one in small[0]) + GAP * (len(small[0]) - 1)
    height = sum(row[0].height for row in small) + GAP * (len(small) - 1)
    sheet = Image.new("RGB", (width, height), "#808080")
    top = 0
    for row in small:
        left = 0
        for one in row:
            sheet.paste(one, (left, top))
            left += one.width + GAP
        top += row[0].height + GAP
    return sheet.quantize(COLOURS, dither=Image.Dither.NONE)


def main() -> None:
    """Serve a studio on the sample, go the whole way, and photograph it."""
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("Chromium is not installed: apt-get install chromium.")
    here = open_socket(0)
    port = here.getsockname()[1]
    home = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        app = build_app(Studio(Path(folder)), port, "key")
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        threading.Thread(target=lambda: server.run(sockets=[here]), daemon=True).start()
        while not server.started:
            time.sleep(0.05)
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        context = browser.new_context()
        for name, place in walk(context.new_page(), home):
            state = context.storage_state()
            rows = [
                [photograph(browser, state, place, width, look) for width in (DESK, PHONE)]
                for look in ("light", "dark")
            ]
            join(rows).save(FIGURES / f"studio_{name}.png", optimize=True)
        browser.close()
        server.should_exit = True


if __name__ == "__main__":
    main()

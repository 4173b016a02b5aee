"""Large things: many columns, many groups, a long ledger, five million rows."""

from __future__ import annotations

import re
import statistics
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from chromium import KEY, Person, serve
from clinic_studio import Browser, run_at_once

import discreet as dp
from browsers import RULES
from discreet.studio import drafts, results
from discreet.studio.drafts import KINDS
from discreet.studio.jobs import Jobs
from discreet.studio.studio import Studio

#: Seconds in which a page answers when no data is read.
MAX_PAGE = 0.2


def write_wide(folder: Path, columns: int, groups: int = 3) -> None:
    """A table of many columns, declared, with a budget."""
    names = [f"c{at:03}" for at in range(columns)]
    (folder / "wide.csv").write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    values = [f"group {at}" for at in range(groups)]
    kinds = [
        dp.Real(0, 10),
        dp.Integer(0, 99),
        dp.Categorical(*values),
        dp.Date("2024-01-01", "2024-12-31"),
    ]
    schema = dp.Schema({name: kinds[at % 4] for at, name in enumerate(names)})
    schema.write(folder / "wide.toml", dp.Unit(dp.ADD_REMOVE))
    dp.Ledger(f"sqlite:///{folder / 'wide.db'}", limit=dp.PureDP(100_000))


class Wire:
    """Sends requests to a studio that is served, over one connection, as browsers do."""

    def __init__(self, home: str, base: str) -> None:
        self.client = httpx.Client(base_url=home, headers={"origin": home}, timeout=60)
        self._base = base
        assert self.client.get(f"/enter?token={KEY}").status_code == 200

    def send(self, method: str, place: str, **more: Any) -> httpx.Response:
        """One request, and its answer."""
        headers = {
            name: value for name, value in more.pop("headers", {}).items() if name != "origin"
        }
        return self.client.request(method, self._base + place, headers=headers, **more)


def open_wide(folder: Path, jobs: Jobs | None = None) -> Browser:
    browser = Browser(Studio(folder, "wide.csv", jobs=jobs or Jobs(run_at_once))).enter()
    browser.press("/facts/header")
    return browser


@pytest.mark.slow
def test_pages_answer_at_once_with_a_long_ledger_and_many_columns(tmp_path, capsys):
    write_wide(tmp_path, 200)
    ledger = dp.Ledger(f"sqlite:///{tmp_path / 'wide.db'}")
    event = dp.events.DiscreteLaplace(1000, 1)
    for _ in range(10_000):
        ledger.charge(event, dp.PureDP("0.001"), note="Count()")
    assert ledger.head[1] == 10_001
    browser = open_wide(tmp_path)
    with serve(browser.studio) as home:
        browser.client = Wire(home, browser.studio.base)
        with closing(browser.client.client):
            slowest = time_pages(browser, capsys)
    assert {page: taken for page, taken in slowest.items() if taken >= MAX_PAGE} == {}


def time_pages(browser: Browser, capsys: Any) -> dict[str, float]:
    """The processor's seconds for the most costly visit of each page; what the clock says is printed."""
    browser.press("/ask/add", kind="mean", column="c000", by="c002")
    browser.press("/ask/add", kind="count")
    browser.post("/ask/model", name="logistic-regression", target="c002", epsilon="1", part=True)
    browser.post("/ask/table", name="synthetic", epsilon="1", part=True)
    browser.post("/ask/select", text="SELECT AVG(c000) FROM wide", epsilon="1", part=True)
    browser.see("/release/describe?wait=1")
    result = browser.release("describe")
    browser.press("/release/describe/again")
    known = [f"/release/{kind}" for kind in KINDS]
    pages = ["/start", "/facts", "/protect", "/protect/meaning?epsilon=1"]
    pages += ["/ask", "/ask/select", "/ask/describe", "/ask/model", "/ask/table"]
    pages += ["/release", *known, result, "/ledger", "/ledger?before=5000"]
    pages += ["/trust", "/trust/claim/discrete-laplace", "/trust/page/guides/sql", "/words"]
    slowest = {}
    for page in pages:
        kinds = [False, True] if page.startswith("/ask") or page in (*known, result) else [False]
        for is_new in kinds:
            taken, worked = time_page(browser, page, is_new=is_new)
            title = page + is_new * ", never planned"
            slowest[title] = max(worked)
            middle, worst = 1000 * statistics.median(taken), 1000 * max(taken)
            with capsys.disabled():
                print(  # noqa: T201
                    f"\n{title:36} {middle:5.0f} ms, at worst {worst:5.0f}; "
                    f"processor {1000 * statistics.median(worked):5.0f}, at worst {1000 * max(worked):5.0f}",
                    end="",
                )
    return slowest


def time_page(browser: Browser, page: str, *, is_new: bool) -> tuple[list[float], list[float]]:
    """Seconds of ten visits, by the clock and by the processor: others may run beside."""
    for kind in KINDS:
        browser.see(f"/release/{kind}?wait=1")
    browser.see(page)  # imports, and what is computed once
    taken, worked = [], []
    for _ in range(10):
        if is_new:
            drafts._known.clear()
            results._drawn.clear()
        start, busy = time.perf_counter(), time.process_time()
        browser.see(page)
        taken.append(time.perf_counter() - start)
        worked.append(time.process_time() - busy)
    return taken, worked


def test_a_page_of_many_columns_does_not_wait_for_its_plan(tmp_path):
    write_wide(tmp_path, 40)
    browser = open_wide(tmp_path)
    page = browser.see("/ask/describe")
    assert f'data-load="{browser.studio.base}/ask/describe/plan"' in page
    assert "Nothing was read yet" not in page
    assert "Nothing was read yet" in browser.see("/ask/describe/plan")
    again = browser.see("/ask/describe")  # planned by now
    assert "data-load" not in again
    assert "Nothing was read yet" in again
    browser.press("/ask/describe", epsilon="0.7", delta="", rows="1000")
    assert "0.7" in browser.see("/release/describe")


def test_a_charge_for_many_columns_is_shown_without_waiting_for_its_plan(tmp_path):
    write_wide(tmp_path, 40)
    browser = open_wide(tmp_path)
    browser.press("/release/check/price", epsilon="0.1")
    page = browser.see("/release/check")
    place = re.search(rf'data-load="{browser.studio.base}(/release/check/charge[^"]*)"', page)
    assert place is not None
    assert 'name="token"' not in page
    assert "Another table was opened" in browser.see("/release/check/charge?desk=other")
    assert "data-load" in browser.see("/release/check")  # not planned for another table either
    assert "This will be charged" in browser.see(place[1])
    again = browser.see("/release/check")  # planned by now
    assert "data-load" not in again
    browser.press("/ask/add", kind="count")
    assert "data-load" in browser.see("/release/questions")
    assert 'name="token"' in browser.see("/release/questions?wait=1")  # without scripts
    browser.release("questions")


def test_a_result_of_many_answers_is_shown_without_waiting_for_them(tmp_path):
    write_wide(tmp_path, 80)
    browser = open_wide(tmp_path)
    browser.see("/release/describe?wait=1")
    place = browser.release("describe")
    page = browser.see(place)
    assert f'data-load="{browser.studio.base}{place}/answers"' in page
    assert "To keep and to hand over" not in page
    assert "The same elsewhere" in page
    part = browser.see(f"{place}/answers")
    assert "To keep and to hand over" in part
    again = browser.see(place)  # drawn by now
    assert "data-load" not in again
    assert "To keep and to hand over" in again
    assert browser.get(f"{place[:-1]}x/answers").status_code == 404


def test_a_hundred_columns_are_declared_on_one_page(tmp_path):
    write_wide(tmp_path, 100)
    (tmp_path / "wide.toml").unlink()
    browser = open_wide(tmp_path)
    page = browser.see("/facts")
    assert page.count("<fieldset") == 100
    fields = {f"kind-{at}": "real" for at in range(100)}
    fields |= {f"lower-{at}": "0" for at in range(100)} | {f"upper-{at}": "5" for at in range(100)}
    answer = browser.post("/facts", **{**fields, "upper-57": "-1", "lower-99": "x"})
    assert answer.status_code == 422
    assert answer.text.count('aria-invalid="true"') == 2
    assert not (tmp_path / "wide.toml").exists()
    browser.press("/facts", **fields)
    assert len(dp.Schema.read(tmp_path / "wide.toml")) == 100


def test_a_thousand_groups_are_released_and_shown(tmp_path):
    write_wide(tmp_path, 4, groups=1000)
    browser = open_wide(tmp_path)
    browser.press("/ask/add", kind="histogram", column="c002")
    page = browser.see(browser.release("questions"))
    assert "the 40 largest of 1000 groups" in page
    assert page.count("<tr>") > 1000
    assert "histogram c002" in browser.see("/release")


@pytest.mark.long
def test_a_thousand_groups_and_a_hundred_columns_in_the_browser(chromium, tmp_path):
    write_wide(tmp_path, 100, groups=1000)
    with serve(Studio(tmp_path, "wide.csv")) as home:
        person = Person(chromium, home).enter()
        person.click("button", "Yes, it holds names")
        person.page.locator("fieldset.fact").nth(99).wait_for()
        assert person.page.locator("fieldset.fact").count() == 100
        person.open("/ask")
        person.choose("What", "mean")
        person.choose("Column", "c000")
        person.choose("For each", "c002")
        person.click("button", "Add the question")
        person.click("button", "Go on to the charge")
        person.click("button", "Charge")
        person.page.wait_for_selector("text=To keep and to hand over", timeout=120_000)
        person.check_quiet()
        person.close()


@pytest.mark.long
def test_what_comes_behind_a_page_is_whole_for_everybody(chromium, tmp_path):
    write_wide(tmp_path, 60)
    with serve(Studio(tmp_path, "wide.csv")) as home:
        person = Person(chromium, home).enter()
        person.click("button", "Yes, it holds names")
        person.click("button", "See the price and check")  # its plan comes behind the page
        person.page.get_by_role("button", name="Charge").wait_for()
        assert Axe().run(person.page, options=RULES).response["violations"] == []
        person.open("/ask/describe")
        person.click("button", "Go on to the charge")
        person.click("button", "Charge")
        person.page.wait_for_selector("text=To keep and to hand over", timeout=120_000)
        assert Axe().run(person.page, options=RULES).response["violations"] == []
        person.check_quiet()
        person.close()


@pytest.mark.slow
def test_five_million_rows_are_answered_while_pages_open(chromium, tmp_path, capsys):
    draw = np.random.default_rng(1)
    with (tmp_path / "many.csv").open("w") as file:
        file.write("ward,cost\n")
        for _ in range(50):
            wards = draw.integers(0, 3, 100_000)
            costs = draw.gamma(2, 200, 100_000)
            file.writelines(f"w{w},{c:.2f}\n" for w, c in zip(wards, costs, strict=True))
    schema = dp.Schema(ward=dp.Categorical("w0", "w1", "w2"), cost=dp.Real(0, 2000))
    schema.write(tmp_path / "many.toml", dp.Unit(dp.ADD_REMOVE))
    dp.Ledger(f"sqlite:///{tmp_path / 'many.db'}", limit=dp.PureDP(1))
    ask_while_pages_open(chromium, tmp_path, "many.csv", "5 million rows of CSV", capsys)


@pytest.mark.slow
def test_five_million_rows_a_hundred_columns_and_a_thousand_groups(chromium, tmp_path, capsys):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    draw = np.random.default_rng(1)
    rows, names = 100_000, [f"c{at:02}" for at in range(98)]
    cells = {name: draw.integers(0, 100, rows, np.int16) for name in names}
    cells |= {
        "ward": np.array([f"w{at:03}" for at in range(1000)])[draw.integers(0, 1000, rows)],
        "cost": draw.gamma(2, 200, rows),
    }
    block = arrow.table(cells)
    with parquet.ParquetWriter(tmp_path / "many.parquet", block.schema) as file:
        for _ in range(50):
            file.write_table(block)
    schema = dp.Schema(
        {name: dp.Integer(0, 99) for name in names}
        | {"ward": dp.Categorical(*(f"w{at:03}" for at in range(1000))), "cost": dp.Real(0, 2000)}
    )
    schema.write(tmp_path / "many.toml", dp.Unit(dp.ADD_REMOVE))
    dp.Ledger(f"sqlite:///{tmp_path / 'many.db'}", limit=dp.PureDP(1))
    page = ask_while_pages_open(chromium, tmp_path, "many.parquet", "100 columns", capsys)
    assert "of 1000 groups" in page


def ask_while_pages_open(
    chromium: Any, folder: Path, name: str, title: str, capsys: pytest.CaptureFixture[str]
) -> str:
    """Ask for the mean cost by ward in the browser, look at other pages meanwhile; the page of the result."""
    with serve(Studio(folder, name)) as home:
        person = Person(chromium, home).enter()
        person.open("/ask")
        person.choose("Column", "cost")
        person.choose("For each", "ward")
        person.click("button", "Add the question")
        person.click("button", "Go on to the charge")
        start = time.monotonic()
        person.click("button", "Charge")
        person.page.wait_for_url("**/result/*")
        place = person.page.url.removeprefix(person.home)
        person.open("/ledger")
        person.open(place)
        person.page.wait_for_selector("text=To keep and to hand over", timeout=500_000)
        with capsys.disabled():
            print(f"\n{title}: {time.monotonic() - start:.0f} s")  # noqa: T201
        found = str(person.page.content())
        person.check_quiet()
        person.close()
        return found

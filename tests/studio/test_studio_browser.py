"""The studio in a real browser: the whole way, and what people do to it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import duckdb
import pytest
from chromium import Person, serve
from clinic_studio import open_ledger, write_visits
from playwright.sync_api import expect

import discreet as dp
from discreet.studio.studio import Studio

pytestmark = pytest.mark.long

#: As counted: 22. At most 25 are wanted.
MAX_CLICKS = 22
MAX_SECONDS = 300


def declare(person: Person) -> None:
    """Say what ward and cost are."""
    person.choose("It is a", "categorical", "ward")
    person.type("Values, one on each line", "children\nmedicine\nsurgery", "ward")
    person.choose("It is a", "real", "cost")
    person.type("From", "0", "cost")
    person.type("To", "2000", "cost")


def protect(person: Person, epsilon: str) -> None:
    """Protect patients with up to three rows each."""
    person.choose("Column that tells people apart", "patient")
    expect(person.page.get_by_label("A person may have several rows")).to_be_checked()
    person.type("Rows that count per person", "3")
    person.type("Budget ε for everything", epsilon)
    person.click("button", "Set the budget")


def ask_for_mean(person: Person) -> None:
    """Ask for the mean cost by ward."""
    person.choose("Column", "cost")
    expect(person.page.get_by_label("What", exact=True)).to_have_value("mean")
    person.choose("For each", "ward")
    person.click("button", "Add the question")


def release(person: Person) -> None:
    """Confirm the charge, and wait for the answer."""
    person.click("button", "Go on to the charge")
    person.click("button", "Charge")
    person.page.wait_for_selector("text=To keep and to hand over", timeout=120_000)


def keep_report(person: Person, folder: Path) -> str:
    """Download the report; its text."""
    with person.page.expect_download() as found:
        person.click("link", "Report (HTML)")
    path = folder / "kept.html"
    found.value.save_as(path)
    return path.read_text("utf-8")


def test_a_new_user_reaches_a_report_in_few_clicks(chromium, tmp_path, capsys):
    write_visits(tmp_path / "visits.csv", 2000)
    with serve(Studio(tmp_path, "visits.csv")) as home:
        person = Person(chromium, home)
        start = time.monotonic()
        person.enter()
        person.click("button", "Yes, it holds names")
        declare(person)
        person.click("button", "Save and go on")
        protect(person, "2")
        ask_for_mean(person)
        release(person)
        report = keep_report(person, tmp_path)
        seconds = time.monotonic() - start
        person.check_quiet()
        person.close()
    with capsys.disabled():
        print(f"\n{person.clicks} clicks, {seconds:.1f} s")  # noqa: T201
    assert "mean cost by ward" in report
    assert "What is not covered" in report
    assert person.clicks <= MAX_CLICKS
    assert seconds <= MAX_SECONDS
    assert len(open_ledger(tmp_path).entries()) == 2


def fill_database(server: Any, name: str, path: Path) -> None:
    """Copy visits.csv into a table of PostgreSQL."""
    import csv

    server.execute(
        "CREATE TABLE visits (patient text, ward text, age int, cost double precision, day date)",
        database=name,
    )
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row[:5] for row in csv.reader(file)][1:]
    values = ", ".join("('{}', '{}', {}, {}, '{}')".format(*row) for row in rows)
    server.execute(f"INSERT INTO visits VALUES {values}", database=name)


def test_the_whole_way_on_postgresql(chromium, tmp_path, postgres_server):
    write_visits(tmp_path / "visits.csv")
    name = postgres_server.new_database("studio")
    fill_database(postgres_server, name, tmp_path / "visits.csv")
    with serve(Studio(tmp_path)) as home:
        person = Person(chromium, home).enter()
        person.type("Address of a table", f"{postgres_server.url(name)}?table=visits")
        person.page.get_by_role("region", name="A database").get_by_role("button").click()
        person.page.wait_for_selector("fieldset.fact legend span")  # names and types are offered
        declare(person)
        person.click("button", "Save and go on")
        protect(person, "2")
        ask_for_mean(person)
        release(person)
        assert "mean cost by ward" in keep_report(person, tmp_path)
        person.check_quiet()
        person.close()
    assert len(open_ledger(tmp_path).entries()) == 2


def test_the_whole_way_on_duckdb(chromium, tmp_path):
    write_visits(tmp_path / "visits.csv")
    with duckdb.connect(str(tmp_path / "clinic.db")) as database:
        database.execute(f"CREATE TABLE visits AS FROM read_csv('{tmp_path / 'visits.csv'}')")
    source = f"duckdb:///{tmp_path / 'clinic.db'}?table=visits"
    with serve(Studio(tmp_path, source)) as home:
        person = Person(chromium, home).enter()
        declare(person)
        person.click("button", "Save and go on")
        protect(person, "2")
        ask_for_mean(person)
        release(person)
        person.check_quiet()
        person.close()


@pytest.fixture
def ready(chromium, tmp_path):
    """A person at a studio whose table is declared, with a budget of ε = 1."""
    write_visits(tmp_path / "visits.csv")
    schema = dp.Schema(
        ward=dp.Categorical("children", "medicine", "surgery"),
        age=dp.Integer(0, 99),
        cost=dp.Real(0, 2000),
    )
    unit = dp.Unit(dp.ADD_REMOVE, "patient", 3)
    schema.write(tmp_path / "visits.toml", unit)
    dp.Ledger(f"sqlite:///{tmp_path / 'visits.db'}", limit=dp.PureDP(1), unit=unit)
    with serve(Studio(tmp_path, "visits.csv")) as home:
        person = Person(chromium, home).enter()
        person.click("button", "Yes, it holds names")
        yield person
        person.check_quiet()
        person.close()


def test_a_spent_budget_is_refused_in_words(ready, tmp_path):
    ready.open("/ask")
    ready.choose("What", "count")
    ready.click("button", "Add the question")
    ready.type("Budget ε for this release", "0.8")
    release(ready)
    ready.open("/ask")
    ready.choose("What", "mean")
    ready.choose("Column", "cost")
    ready.click("button", "Add the question")
    ready.click("button", "Go on to the charge")
    ready.click("button", "Charge")
    ready.page.wait_for_selector("text=Refused")
    assert "Nothing was charged" in ready.page.inner_text("main")
    assert len(open_ledger(tmp_path).entries()) == 2


def test_sliders_move_price_and_error_at_once(ready):
    ready.open("/ask")
    for kind in ("count", "mean"):
        ready.choose("What", kind)
        if kind == "mean":
            ready.choose("Column", "cost")
        ready.click("button", "Add the question")
    plan = ready.page.locator("#plan")
    before = plan.inner_text()
    ready.page.get_by_label("Weight of count", exact=True).fill("8")
    ready.page.wait_for_function(
        "before => document.getElementById('plan').innerText !== before", arg=before
    )
    between = plan.inner_text()
    ready.page.get_by_label("Budget ε for this release, as a slider").press("ArrowLeft")
    ready.page.wait_for_function(
        "before => document.getElementById('plan').innerText !== before", arg=between
    )
    assert "±" in plan.inner_text()
    assert ready.page.locator("#plan svg").count() == 2


def test_the_picture_of_two_answers_follows_the_slider(chromium, tmp_path):
    write_visits(tmp_path / "visits.csv")
    dp.Schema(cost=dp.Real(0, 2000)).write(tmp_path / "visits.toml")
    with serve(Studio(tmp_path, "visits.csv")) as home:
        person = Person(chromium, home).enter()
        person.open("/protect")
        curve = person.page.locator("#meaning svg").first
        before = curve.inner_html()
        person.page.get_by_label("Budget ε for everything, as a slider").press("ArrowRight")
        person.page.wait_for_function(
            "before => document.querySelector('#meaning svg').innerHTML !== before", arg=before
        )
        person.check_quiet()
        person.close()


def test_a_fit_goes_on_through_a_reload(ready, tmp_path):
    ready.open("/ask/model")
    ready.choose("Model", "random-decision-forest")
    ready.choose("Target: the column to learn", "ward")
    ready.page.wait_for_selector("#plan dl")
    ready.click("button", "Go on to the charge")
    ready.click("button", "Charge")
    ready.page.wait_for_url("**/result/*")
    for _ in range(3):
        ready.page.reload()
    ready.page.wait_for_selector("text=To keep and to hand over", timeout=300_000)
    assert ready.page.get_by_role("link", name="Model (JSON)").count() == 1
    assert len(open_ledger(tmp_path).entries()) == 2


def test_a_double_click_and_two_tabs_charge_once(ready, tmp_path):
    ready.open("/ask")
    ready.choose("What", "count")
    ready.click("button", "Add the question")
    ready.click("button", "Go on to the charge")
    other = ready.context.new_page()
    ready.watch(other)
    other.goto(ready.page.url)
    ready.page.get_by_role("button", name="Charge").dblclick()
    ready.page.wait_for_selector("text=To keep and to hand over")
    other.get_by_role("button", name="Charge").click()
    other.wait_for_selector("text=To keep and to hand over")
    assert other.url == ready.page.url
    assert len(open_ledger(tmp_path).entries()) == 2


def test_the_enter_key_in_a_field_updates_the_price_and_removes_nothing(ready):
    ready.open("/ask")
    ready.choose("What", "count")
    ready.click("button", "Add the question")
    field = ready.page.get_by_label("Budget ε for this release", exact=True)
    field.fill("0.25")
    field.press("Enter")
    ready.page.wait_for_selector("#plan >> text=ε = 0.25")
    assert ready.page.locator(".questions li").count() == 1


def test_the_keyboard_suffices(ready, tmp_path):
    ready.open("/ask")
    press = ready.page.keyboard.press

    def is_at(name: str) -> bool:
        look = (
            "name => document.activeElement.matches('button') && document.activeElement.textContent"
        )
        return bool(ready.page.evaluate(f"{look}.includes(name)", name))

    press("Tab")
    assert ready.page.evaluate("document.activeElement.className") == "skip"
    press("Enter")
    for _ in range(20):
        press("Tab")
        if ready.page.evaluate("document.activeElement.id") == "kind":
            break
    assert ready.page.evaluate("document.activeElement.id") == "kind"
    for _ in range(12):
        press("Tab")
        if is_at("Add the question"):
            break
    press("Enter")
    ready.page.wait_for_selector("text=Share the budget")
    assert ready.page.get_by_text("count", exact=True).count() >= 1
    for button, place in (
        ("Go on to the charge", "**/release/questions"),
        ("Charge", "**/result/*"),
    ):
        for _ in range(60):
            press("Tab")
            if is_at(button):
                break
        press("Enter")
        ready.page.wait_for_url(place)
    ready.page.wait_for_selector("text=To keep and to hand over")
    assert len(open_ledger(tmp_path).entries()) == 2


def test_an_upload_and_the_sample_are_opened_by_hand(chromium, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    write_visits(tmp_path / "else where.csv", 50)
    with serve(Studio(folder)) as home:
        person = Person(chromium, home).enter()
        person.page.set_input_files("#file", tmp_path / "else where.csv")
        person.click("button", "Copy and open")
        person.page.wait_for_url("**/facts")
        assert len(list((folder / "discreet-uploads").glob("*.csv"))) == 1
        person.open("/start")
        person.click("button", "Play with a sample")
        person.page.wait_for_url("**/facts")
        assert person.page.locator("fieldset.fact").count() == 5
        person.check_quiet()
        person.close()


def test_an_audit_is_watched(ready):
    ready.open("/trust/claim/classic-gaussian-formula")
    ready.choose("Effort", "0.1")
    ready.click("button", "Run the audit")
    ready.page.wait_for_selector("#audit td >> text=violated", timeout=240_000)


def test_what_is_chosen_before_the_script_comes_counts(ready):
    held: list[Any] = []
    ready.page.route("**/static/studio.js", lambda route: held.append(route))
    ready.page.goto(f"{ready.home}/ask", wait_until="commit")
    ready.choose("Column", "cost")
    kind = ready.page.get_by_label("What", exact=True)
    assert kind.input_value() == "count"
    held[0].continue_()
    expect(kind).to_have_value("mean")

"""Releases: equal to the shown program, refused when the budget is spent, honest after a crash."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from html import unescape
from pathlib import Path

import pytest
from clinic_studio import (
    SECRET,
    Browser,
    find_errors,
    find_token,
    open_clinic,
    open_ledger,
    write_visits,
)

import discreet as dp
from discreet.cli.documents import read_results
from discreet.models import from_json, to_json
from discreet.studio.jobs import Jobs
from discreet.studio.studio import Studio
from discreet.testing import fixed_noise


def prepare(browser: Browser, kind: str) -> None:
    """Compose an order of each kind."""
    match kind:
        case "questions":
            browser.press("/ask/add", kind="mean", column="cost", by="ward")
            browser.press(
                "/ask/add", kind="count", by="month(day)", where_column="age", where_sign=">=",
                where_value="18",
            )  # fmt: skip
            browser.press("/ask/add", kind="quantile", column="cost", ranks="0.25, 0.75", by="ward")
            browser.press("/ask/add", kind="people", where="ward = 'surgery' OR age < 18")
            browser.press(
                "/ask/share",
                **{"weight-0": "4", "weight-2": "0.25", "epsilon": "1.5", "rows": "400"},
            )
        case "select":
            text = "SELECT ward, AVG(cost) AS mean FROM visits WHERE age < 60 GROUP BY ward"
            browser.press("/ask/select", text=text, epsilon="0.5", delta="1e-6")
        case "describe":
            browser.press("/ask/describe", epsilon="1")
        case "model":
            browser.press("/ask/model", name="gaussian-nb", target="ward", epsilon="1")
        case "table":
            fields = {"name": "synthetic", "settings": "rows=50\nrandom_state=3"}
            browser.press("/ask/table", **fields, epsilon="1")
        case "check":
            browser.press("/release/check/price", epsilon="0.1")


def run_fixed(act) -> None:
    with fixed_noise(5):
        act()


KINDS = ("questions", "select", "describe", "check", "model", "table")


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_releases_bit_for_bit_what_the_shown_python_releases(tmp_path, monkeypatch, kind):
    epsilon = "100" if kind == "select" else "4"
    browser = open_clinic(tmp_path, epsilon)
    if kind == "select":  # a limit that takes δ, too
        (tmp_path / "visits.db").unlink()
        limit, unit = dp.ApproxDP(4, 1e-5), dp.Unit(dp.ADD_REMOVE, "patient", 3)
        dp.Ledger(f"sqlite:///{tmp_path / 'visits.db'}", limit=limit, unit=unit)
    browser.studio.jobs = Jobs(run_fixed)
    prepare(browser, kind)
    place = browser.release(kind)
    assert "To keep and to hand over" in browser.see(place), find_errors(browser.see(place))
    program = browser.get(f"{place}/program.py").text
    shown = re.search(r'aria-label="Python">(.*?)</pre>', browser.see(place), re.DOTALL)
    assert shown is not None
    assert unescape(shown[1]) == program
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    program = program.replace("print(answers)\n", "")
    with fixed_noise(5):
        exec(program, space)
    compare(browser, place, kind, space)


def compare(browser: Browser, place: str, kind: str, space: dict[str, object]) -> None:
    document = browser.get(f"{place}/result.json").text
    if kind == "table":
        table = browser.get(f"{place}/table.csv").text.splitlines()
        columns = space["table"]
        assert table[0].split(",") == list(columns)
        assert [line.split(",")[1] for line in table[1:]] == [
            str(v) for v in list(columns.values())[1]
        ]
        return
    if kind == "model":
        ours = from_json(browser.get(f"{place}/model.json").text)
        assert (ours.theta_ == space["model"].theta_).all()
        assert (
            json.loads(to_json(ours))["learned"] == json.loads(to_json(space["model"]))["learned"]
        )
        return
    answers = space["answers"]
    if kind == "check":
        assert json.loads(document)["rows"] == answers.to_plain()["rows"]
        return
    releases = [one for item in read_results(document) for one in item.values()]
    theirs = answers.releases if kind == "select" else None
    if theirs is None:
        theirs = (answers.answers if kind == "describe" else answers).values()
    values = [json.loads(one.to_json())["value"] for one in releases]
    assert values == [json.loads(one.to_json())["value"] for one in theirs]
    assert len(values) >= 1


def test_the_shown_command_asks_the_same(clinic, tmp_path, monkeypatch):
    prepare(clinic, "questions")
    place = clinic.release("questions")
    shown = re.search(r'aria-label="Command line">(.*?)</pre>', clinic.see(place), re.DOTALL)
    assert shown is not None
    import shlex

    from typer.testing import CliRunner

    from discreet.cli import app

    monkeypatch.chdir(tmp_path)
    words = shlex.split(unescape(shown[1]))
    assert words[0] == "discreet"
    done = CliRunner().invoke(app, [*words[1:], "--out", "again.json"])
    assert done.exit_code == 0, done.stderr
    first = json.loads((tmp_path / "again.json").read_text())
    second = json.loads(clinic.get(f"{place}/result.json").text)
    names = [[one["name"] for one in body["answers"]] for body in (first, second)]
    assert names[0] == names[1]
    entries = open_ledger(tmp_path).entries()
    assert entries[1].event == entries[2].event


@pytest.mark.parametrize("kind", KINDS)
def test_every_result_can_be_kept_in_every_form(clinic, kind):
    prepare(clinic, kind) if kind != "select" else clinic.press(
        "/ask/select", text="SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon="0.5"
    )
    place = clinic.release(kind)
    page = clinic.see(place)
    links = re.findall(rf'href="{clinic.studio.base}({place}/[^"]+)"', page)
    assert {link.rpartition("/")[2] for link in links} >= {
        "report.html",
        "result.csv",
        "result.json",
    }
    for link in links:
        answer = clinic.get(link)
        assert answer.status_code == 200, link
        assert SECRET not in answer.text
        if link.endswith(".png"):
            assert answer.content.startswith(b"\x89PNG")
        if link.endswith(".svg"):
            assert answer.text.startswith("<svg")


def test_a_release_beyond_the_budget_is_refused_and_says_that_nothing_was_charged(tmp_path):
    browser = open_clinic(tmp_path, epsilon="0.3")
    browser.press("/ask/add", kind="count")
    browser.press("/ask/share", epsilon="0.5", rows="400")
    page = browser.see(browser.release("questions"))
    assert "Refused" in page
    assert "Nothing was charged" in page
    assert len(open_ledger(tmp_path).entries()) == 1


def test_the_same_release_again_is_a_new_charge_that_is_named(clinic, tmp_path):
    clinic.press("/ask/add", kind="count")
    first = clinic.release("questions")
    page = clinic.see("/release/questions")
    assert "made already" in page
    assert 'name="token"' not in page
    clinic.press("/release/questions/again")
    assert clinic.release("questions") != first
    assert len(open_ledger(tmp_path).entries()) == 3


def test_work_goes_on_while_pages_are_opened_and_survives_a_reload(tmp_path):
    browser = open_clinic(tmp_path)
    gate = threading.Event()

    def hold(act) -> None:
        threading.Thread(target=lambda: (gate.wait(60), act()), daemon=True).start()

    browser.studio.jobs = Jobs(hold)
    browser.press("/ask/add", kind="count")
    place = browser.release("questions")
    for _ in range(2):
        assert "goes on" in browser.see(place)
        assert browser.get(f"{place}/state").json()["goes_on"] is True
    assert browser.get(f"{place}/report.html").status_code == 404
    gate.set()
    deadline = time.monotonic() + 60
    while browser.get(f"{place}/state").json()["goes_on"] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "To keep and to hand over" in browser.see(place)


#: A studio that dies at a point of a release, as by a power cut.
_DYING = """
import os, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from clinic_studio import Browser, find_token, run_at_once
from discreet.studio.jobs import Jobs
from discreet.studio.studio import Studio
from discreet.ledger import Book
browser = Browser(Studio(Path({folder!r}), "visits.csv", jobs=Jobs(run_at_once))).enter()
whole = Book.charge
def charge(self, *given, **more):
    if {before}:
        os.kill(os.getpid(), 9)
    whole(self, *given, **more)
    os.kill(os.getpid(), 9)
Book.charge = charge
browser.post("/release/questions", token=find_token(browser.see("/release/questions")))
"""


@pytest.mark.parametrize("before", [False, True])
def test_a_crash_around_the_charge_is_told_as_what_the_ledger_knows(tmp_path, before):
    browser = open_clinic(tmp_path)
    browser.press("/ask/add", kind="count")
    token = find_token(browser.see("/release/questions"))
    code = _DYING.format(tests=str(Path(__file__).parent), folder=str(tmp_path), before=before)
    done = subprocess.run([sys.executable, "-c", code], env=dict(os.environ), timeout=120)
    assert done.returncode == -signal.SIGKILL
    again = Browser(Studio(tmp_path, "visits.csv")).enter()
    page = again.see(f"/result/{token}")
    entries = open_ledger(tmp_path).entries()
    if before:
        assert "Nothing was charged" in page
        assert len(entries) == 1
    else:
        assert "Charged, and no answer" in page
        assert "entry 1" in page
        assert len(entries) == 2
        assert "charged, no answer" in again.see("/release")
    place = again.press("/release/questions", token=token)
    assert place == f"/result/{token}"
    assert len(open_ledger(tmp_path).entries()) == len(entries)


def test_a_table_that_cannot_be_read_after_the_charge_is_told_as_charged(
    clinic, tmp_path, monkeypatch
):
    clinic.press("/ask/add", kind="count")

    def fail(*_: object, **__: object) -> None:
        raise OSError(f"disk of {SECRET}")

    page = clinic.see("/release/questions")
    monkeypatch.setattr("discreet.release.Release.from_answer", fail)
    place = clinic.press("/release/questions", token=find_token(page))
    text = clinic.see(place)
    assert "Charged, and no answer" in text
    assert len(open_ledger(tmp_path).entries()) == 2


def test_results_are_files_that_the_command_line_reads(clinic, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from discreet.cli import app

    prepare(clinic, "questions")
    clinic.release("questions")
    monkeypatch.chdir(tmp_path)
    files = [str(path) for path in sorted((tmp_path / "visits.releases").glob("*.json"))]
    ours = ["--ledger", "visits.db", "--schema", "visits.toml", "--out", "report.html"]
    done = CliRunner().invoke(app, ["report", *files, *ours])
    assert done.exit_code == 0, done.stderr
    assert "mean cost by ward" in (tmp_path / "report.html").read_text("utf-8")
    for path in (tmp_path / "visits.releases").iterdir():
        assert path.stat().st_mode & 0o077 == 0


def test_an_account_pays_where_one_was_chosen(clinic, tmp_path):
    clinic.press("/ledger/account", name="research", epsilon="1")
    clinic.press("/ledger/pay", account="research")
    clinic.press("/ask/add", kind="count")
    clinic.release("questions")
    assert open_ledger(tmp_path).latest(1)[0].account == "/research"
    assert "--account research" in clinic.see("/release/questions")
    answer = clinic.post("/ledger/pay", account="nobody")
    assert answer.status_code == 404


def test_a_table_under_replace_one_needs_its_public_number_of_rows(tmp_path):
    write_visits(tmp_path / "visits.csv")
    browser = Browser(Studio(tmp_path, "visits.csv", jobs=Jobs(lambda act: act()))).enter()
    browser.press("/facts/header")
    from clinic_studio import FACTS

    browser.press("/facts", **{**FACTS, "rows": ""})
    fields = {"who": "row", "relation": "replace_one", "epsilon": "2", "ledger": "visits.db"}
    answer = browser.post("/protect", **fields)
    assert answer.status_code == 422
    assert "public number of rows" in " ".join(find_errors(answer.text))
    browser.press("/protect", **fields, rows="400")
    browser.press("/ask/add", kind="mean", column="cost")
    page = browser.see(browser.release("questions"))
    assert "rows=400" in page
    browser.press("/ask/table", name="perturbed", target="ward", epsilon="0.5")
    assert "table.csv" in browser.see(browser.release("table"))

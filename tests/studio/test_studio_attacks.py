"""Attacks on the studio: other sites, other machines, other paths, too much, too often. Each is refused.

Every attack has a control: the same request as the studio's own pages make it is answered.
"""

from __future__ import annotations

import logging
import os
import re

import httpx
import pytest
from clinic_studio import (
    FACTS,
    HOME,
    PORT,
    SECRET,
    TOKEN,
    Browser,
    Client,
    find_errors,
    find_token,
    open_clinic,
    open_ledger,
    run_at_once,
    write_visits,
)

from discreet.studio.jobs import Jobs
from discreet.studio.security import HEADERS, MAX_FORM
from discreet.studio.serving import LOOPBACK, open_socket
from discreet.studio.studio import Studio

EVIL = "http://evil.example"


def send(browser: Browser, method: str, place: str, **headers: str) -> httpx.Response:
    """A request with the person's own cookie and whatever headers an attacker brings about."""
    desk = browser.studio.desk
    body = "" if desk is None else f"desk={desk.id}"
    given = {"content-type": "application/x-www-form-urlencoded", **headers}
    return browser.client.send(
        method, place, headers=given, content=body if method != "GET" else ""
    )


def test_the_controls_are_answered(clinic):
    assert clinic.get("/facts").status_code == 200
    own = {"origin": HOME, "sec-fetch-site": "same-origin"}
    assert send(clinic, "POST", "/facts/header", **own).status_code == 303


def test_the_server_listens_on_loopback_alone():
    with open_socket(0) as found:
        assert found.getsockname()[0] == LOOPBACK == "127.0.0.1"


def test_another_machine_is_refused(clinic):
    stranger = Client(clinic.app, HOME, address="192.168.1.7")
    stranger.cookies = clinic.client.cookies
    assert stranger.send("GET", "/facts").status_code == 403


def test_without_the_key_nothing_is_shown(clinic):
    stranger = Client(clinic.app, HOME)
    for place in ("/", "/facts", "/ledger", "/static/studio.css", "/release/report.html"):
        answer = stranger.send("GET", place)
        assert answer.status_code == 403
        assert "visits" not in answer.text
    stranger.cookies.set(f"discreet-studio-{PORT}", "guessed", domain="127.0.0.1")
    assert stranger.send("GET", "/facts").status_code == 403


@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", f"?token={TOKEN}&token={TOKEN}"])
def test_a_wrong_key_opens_nothing(clinic, query):
    answer = Client(clinic.app, HOME).send("GET", f"/enter{query}")
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_the_key_opens_the_entrance_alone(clinic):
    assert Client(clinic.app, HOME).send("GET", f"/facts?token={TOKEN}").status_code == 403


def test_the_key_becomes_a_strict_cookie_that_scripts_cannot_read(clinic):
    answer = Client(clinic.app, HOME).send("GET", f"/enter?token={TOKEN}")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    assert TOKEN not in answer.text


@pytest.mark.parametrize(
    "host",
    ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1.evil.example:{PORT}", ""],
)
def test_a_name_that_was_bound_to_this_machine_later_is_refused(clinic, host):
    assert clinic.get("/facts", host=host).status_code == 421
    assert clinic.get("/facts", host=f"localhost:{PORT}").status_code == 200


@pytest.mark.parametrize(
    "origin", [EVIL, "null", f"https://127.0.0.1:{PORT}", f"http://127.0.0.1:{PORT + 1}", ""]
)
def test_a_form_on_another_page_changes_nothing(clinic, tmp_path, origin):
    before = (tmp_path / "visits.studio.json").read_text()
    assert send(clinic, "POST", "/sample", origin=origin).status_code == 403
    assert (tmp_path / "visits.studio.json").read_text() == before
    assert clinic.studio.desk.name == "visits"


def test_a_form_that_does_not_say_where_it_comes_from_changes_nothing(clinic):
    assert send(clinic, "POST", "/sample").status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_pages_can_neither_read_nor_embed(clinic, site):
    for mode in ("cors", "no-cors", "navigate"):
        answer = send(clinic, "GET", "/facts", **{"sec-fetch-site": site, "sec-fetch-mode": mode})
        assert answer.status_code == 403
    assert send(clinic, "GET", "/facts", origin=EVIL).status_code == 403


@pytest.mark.parametrize("place", ["/", "/facts", "/gone", "/static/studio.js", "/enter"])
def test_every_answer_forbids_foreign_script_frames_and_caches(clinic, place):
    answer = clinic.get(place)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "access-control-allow-origin" not in answer.headers


def test_no_page_holds_inline_script_or_style(clinic):
    clinic.press("/ask/add", kind="count", by="ward")
    place = clinic.release("questions")
    pages = [
        "/facts",
        "/protect",
        "/ask",
        "/ask/model",
        "/release",
        place,
        "/ledger",
        "/trust",
        "/start",
    ]
    for page in pages:
        text = clinic.see(page)
        assert not re.search(r"<script(?![^>]*\bsrc=)", text), page
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text), page


@pytest.mark.parametrize("method", ["DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused(clinic, method):
    assert send(clinic, method, "/facts", origin=HOME).status_code == 405


@pytest.mark.parametrize(
    "place",
    [
        "../secret.csv",
        "/etc/passwd",
        "/etc/hosts.csv",
        "sub/../../secret.csv",
        "link.csv",
        "folder/secret.csv",
        "visits.csv\0.csv",
        ".",
        "",
        "duckdb:///../secret.db?table=a",
        "file:///etc/passwd",
        "sqlite:///visits.db?table=a",
        "http://evil.example/a.csv?table=a",
        "postgresql://me:word@localhost/a?table=b",
        "postgresql://me@localhost/a?table=b&password=word",
    ],
)
def test_only_files_below_the_folder_can_be_opened(tmp_path, place):
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "secret.csv").write_text("a\n1\n")
    (tmp_path / "secret.db").write_text("")
    os.symlink(tmp_path / "secret.csv", folder / "link.csv")
    os.symlink(tmp_path, folder / "folder")
    write_visits(folder / "visits.csv")
    browser = Browser(Studio(folder)).enter()
    answer = browser.post("/open", place=place)
    assert answer.status_code == 422
    assert find_errors(answer.text)
    assert browser.studio.desk is None
    assert browser.press("/open", place="visits.csv") == "/facts"


@pytest.mark.parametrize(
    "ledger", ["../budget.db", "/tmp/x.db", "visits.csv", "mysql://a/b", "x.txt"]
)
def test_ledgers_stay_below_the_folder_too(tmp_path, ledger):
    folder = tmp_path / "work"
    folder.mkdir()
    write_visits(folder / "visits.csv")
    browser = Browser(Studio(folder, "visits.csv")).enter()
    browser.press("/facts/header")
    browser.press("/facts", **FACTS)
    answer = browser.post("/protect", who="row", epsilon="1", ledger=ledger)
    assert answer.status_code == 422
    assert not (tmp_path / "budget.db").exists()
    assert browser.press("/protect", who="row", epsilon="1", ledger="fine.db") == "/ask"


@pytest.mark.parametrize(
    "file", ["..%2f..%2fvisits.csv", "visits.studio.json", "x.claim", "model.json"]
)
def test_downloads_are_what_a_release_made_and_nothing_else(clinic, file):
    clinic.press("/ask/add", kind="count")
    place = clinic.release("questions")
    assert clinic.get(f"{place}/{file}").status_code == 404
    assert clinic.get(f"{place}/result.csv").status_code == 200
    assert clinic.get("/result/..%2f..%2fvisits/result.csv").status_code == 404
    assert clinic.get(f"/result/{'0' * 32}").status_code == 404


def test_static_files_are_those_of_the_package(clinic):
    for name in ("..%2fdesk.py", "%2e%2e/desk.py", "desk.py", "/etc/passwd"):
        assert clinic.get(f"/static/{name}").status_code == 404


def put(browser: Browser, name: str, body: bytes, origin: str = HOME) -> httpx.Response:
    place = "/upload?" + str(httpx.QueryParams({"name": name}))
    return browser.client.send("PUT", place, content=body, headers={"origin": origin})


def test_an_upload_that_is_too_large_leaves_nothing_behind(tmp_path):
    browser = Browser(Studio(tmp_path), max_upload=1000).enter()
    assert put(browser, "big.csv", b"a\n" + b"1\n" * 1000).status_code == 413
    assert list((tmp_path / "discreet-uploads").iterdir()) == []
    assert put(browser, "fine.csv", b"a\n1\n").json() == {"place": f"{browser.studio.base}/facts"}


@pytest.mark.parametrize(
    "name", ["../../x.csv", "/etc/x.csv", "a/b.csv", "<b>.csv", "\0.csv", "=1+1.csv"]
)
def test_an_upload_stays_in_its_folder_whatever_it_is_called(tmp_path, name):
    browser = Browser(Studio(tmp_path)).enter()
    assert put(browser, name, b"a\n1\n").status_code == 200
    (found,) = (tmp_path / "discreet-uploads").iterdir()
    assert re.fullmatch(r"[A-Za-z0-9_-]+\.csv", found.name)
    assert found.stat().st_mode & 0o077 == 0
    assert found.parent.stat().st_mode & 0o077 == 0


def test_an_upload_is_a_table_and_comes_from_our_own_page(tmp_path):
    browser = Browser(Studio(tmp_path)).enter()
    assert "error" in put(browser, "x.exe", b"MZ").json()
    assert put(browser, "x.csv", b"a\n", origin=EVIL).status_code == 403
    assert not (tmp_path / "discreet-uploads").exists()


def test_a_form_that_is_too_large_is_refused(clinic):
    assert clinic.post("/ask/add", kind="x" * (MAX_FORM + 1)).status_code == 413
    fields = [(f"f{at}", "1") for at in range(30_000)]
    assert clinic.post("/facts", *fields).status_code == 400


def test_a_form_for_a_table_that_was_closed_is_refused(clinic, tmp_path):
    write_visits(tmp_path / "other.csv")
    stale = clinic.studio.desk.id
    clinic.press("/open", place="other.csv")
    answer = clinic.client.send(
        "POST",
        "/facts/header",
        content=f"desk={stale}",
        headers={"origin": HOME, "content-type": "application/x-www-form-urlencoded"},
    )
    assert answer.status_code == 400
    assert "Another table was opened" in answer.text


def test_a_second_click_charges_nothing(clinic, tmp_path):
    clinic.press("/ask/add", kind="count")
    token = find_token(clinic.see("/release/questions"))
    first = clinic.press("/release/questions", token=token)
    assert clinic.press("/release/questions", token=token) == first
    assert len(open_ledger(tmp_path).entries()) == 2


def test_two_tabs_charge_once(clinic, tmp_path):
    clinic.press("/ask/add", kind="count")
    tabs = [find_token(clinic.see("/release/questions")) for _ in range(2)]
    places = {clinic.press("/release/questions", token=token) for token in tabs}
    assert len(places) == 1
    assert len(open_ledger(tmp_path).entries()) == 2


def test_a_tab_whose_questions_changed_elsewhere_charges_nothing(clinic, tmp_path):
    clinic.press("/ask/add", kind="count")
    stale = find_token(clinic.see("/release/questions"))
    clinic.press("/ask/add", kind="mean", column="cost")
    answer = clinic.post("/release/questions", token=stale)
    assert answer.status_code == 422
    assert "Nothing was charged" in answer.text
    assert len(open_ledger(tmp_path).entries()) == 1


@pytest.mark.parametrize("token", ["", "x", "0" * 32, "../" * 10, "0" * 31 + "/"])
def test_a_made_up_token_charges_nothing(clinic, tmp_path, token):
    clinic.press("/ask/add", kind="count")
    assert clinic.post("/release/questions", token=token).status_code == 422
    assert len(open_ledger(tmp_path).entries()) == 1


def test_a_release_whose_record_was_deleted_is_not_read_again(clinic, tmp_path):
    clinic.press("/ask/add", kind="count")
    page = clinic.see("/release/questions")
    clinic.press("/release/questions", token=find_token(page))
    for file in (tmp_path / "visits.releases").iterdir():
        file.unlink()
    place = clinic.press("/release/questions", token=find_token(page))
    assert "charged before" in clinic.see(place)
    assert len(open_ledger(tmp_path).entries()) == 2


def test_nothing_is_logged_and_no_error_tells_a_row(clinic, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    clinic.press("/ask/add", kind="count")
    header = b"patient,ward,age,cost,day,name\n"
    (tmp_path / "visits.csv").write_bytes(header + b"\xff\xfe" + SECRET.encode() + b"\n\0\0")
    clinic.press("/facts/header")
    page = clinic.see("/release/questions")
    place = clinic.press("/release/questions", token=find_token(page))
    texts = [clinic.see(place), clinic.get("/facts").text]
    (tmp_path / "visits.csv").unlink()
    texts += [clinic.get("/facts").text, clinic.get("/gone/visits.csv").text]
    captured = capfd.readouterr()
    ours = [record for record in caplog.records if record.name not in ("httpx", "asyncio")]
    logged = captured.out + captured.err + " ".join(record.getMessage() for record in ours)
    for text in (*texts, logged):
        assert SECRET not in text
    assert "visits" not in logged


def test_an_error_of_our_own_withholds_its_message(clinic, monkeypatch, capfd):
    def fail(*_: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr("discreet.studio.desk.Desk.questions", fail)
    answer = clinic.get("/ask")
    assert answer.status_code == 400
    assert SECRET not in answer.text
    monkeypatch.setattr("discreet.studio.application.list_steps", fail)
    answer = clinic.get("/ask")
    assert answer.status_code == 500
    assert SECRET not in answer.text + "".join(capfd.readouterr())


def test_hostile_names_are_shown_as_text(tmp_path):
    names = [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "=cmd|' /C calc'!A0",
        "a\u202eb",
    ]
    lines = [",".join('"' + name.replace('"', '""') + '"' for name in names), "a,b,c,d"]
    (tmp_path / "hostile.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    browser = Browser(Studio(tmp_path, "hostile.csv", jobs=Jobs(run_at_once))).enter()
    browser.press("/facts/header")
    fields = {f"kind-{at}": "categorical" for at in range(4)}
    values = {f"values-{at}": "<b>x</b>\n=1+1\n{{7*7}}" for at in range(4)}
    browser.press("/facts", **fields, **values)
    browser.press("/protect", who="row", epsilon="10", ledger="h.db")
    for name in names:
        browser.press("/ask/add", kind="histogram", column=name)
    browser.press("/ask/share", epsilon="2", rows="10")
    place = browser.release("questions")
    for page in ("/facts", "/ask", "/release", place, "/ledger"):
        text = browser.see(page)
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "<b>x</b>" not in text
        assert "49" not in re.findall(r">([^<]*)<", text)
        assert "\u202e" not in re.sub(r"<[^>]*>", "", text)
    table = browser.get(f"{place}/result.csv").text
    assert not re.search(r"(^|,)=", table, re.MULTILINE)


def test_cookies_of_another_studio_do_not_open_this_one(tmp_path):
    first = open_clinic(tmp_path)
    second = Browser(Studio(tmp_path)).enter()
    first.client.cookies = second.client.cookies
    assert first.get("/facts").status_code == 403

"""The way through the studio, page by page, as its own forms ask."""

from __future__ import annotations

import pytest
from clinic_studio import FACTS, SECRET, Browser, find_errors, open_ledger, write_visits

import discreet as dp
from discreet.studio.studio import Studio


def test_from_a_table_to_a_report(clinic, tmp_path):
    assert clinic.press("/ask/add", kind="mean", column="cost", by="ward") == "/ask#plan"
    page = clinic.see("/ask")
    assert "mean cost by ward" in page
    assert "±" in page
    place = clinic.release("questions")
    result = clinic.see(place)
    assert "children" in result
    assert "Charged: <strong>ε = 0.5</strong>" in result
    report = clinic.get(f"{place}/report.html")
    assert report.status_code == 200
    assert "attachment" in report.headers["content-disposition"]
    assert "mean cost by ward" in report.text
    assert len(open_ledger(tmp_path).entries()) == 2
    for text in (page, result, report.text):
        assert SECRET not in text


def test_every_page_opens_at_every_stage(clinic, tmp_path):
    for place in (
        "/",
        "/start",
        "/facts",
        "/protect",
        "/ask",
        "/release",
        "/ledger",
        "/trust",
        "/words",
    ):
        assert clinic.get(place).status_code in (200, 303)
    clinic.press("/open", place="visits.csv")
    for kind in ("select", "describe", "model", "table"):
        clinic.see(f"/ask/{kind}")
        clinic.see(f"/release/{kind}")
    assert clinic.get("/ask/nothing").status_code == 404
    assert clinic.get("/release/nothing").status_code == 404


def test_a_budget_that_hides_nothing_is_told_as_such(clinic):
    page = clinic.see("/protect/meaning?epsilon=900")
    assert "hides nothing" in page
    page = clinic.see("/protect/meaning?epsilon=1")
    assert "73.2 %" in page
    assert page.count("<svg") == 2
    assert "must be" in clinic.see("/protect/meaning?epsilon=-1")


def test_names_are_shown_only_after_a_person_said_that_the_first_line_holds_some(tmp_path):
    write_visits(tmp_path / "visits.csv")
    browser = Browser(Studio(tmp_path, "visits.csv")).enter()
    assert "patient" not in browser.see("/facts")
    browser.press("/facts/header")
    assert "patient" in browser.see("/facts")
    (tmp_path / "visits.csv").write_text(f"p1,{SECRET}\n")  # another file of that name
    assert SECRET not in browser.see("/facts")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("lower-2", "x", "as a number"),
        ("lower-2", "0.5", "whole number"),
        ("upper-3", "-1", "upper"),
        ("upper-3", "1e999", "as a number"),
        ("values-1", "", "List the values"),
        ("lower-4", "yesterday", "2024"),
        ("upper-4", "", "2024-01-31"),
        ("fill-2", "many", "number"),
        ("kind-2", "colour", "Choose"),
        ("rows", "-3", "whole number of rows"),
        ("typical-3", "dear", "number"),
    ],
)
def test_a_wrong_fact_has_a_sentence_and_nothing_is_written(clinic, tmp_path, field, value, words):
    before = (tmp_path / "visits.toml").read_text()
    answer = clinic.post("/facts", **{**FACTS, field: value})
    assert answer.status_code == 422
    assert any(words in text for text in find_errors(answer.text)), find_errors(answer.text)
    assert value in answer.text or not value
    assert (tmp_path / "visits.toml").read_text() == before


@pytest.mark.parametrize(
    ("place", "fields", "words"),
    [
        ("/ask/add", {"kind": "mean"}, "Choose the column"),
        ("/ask/add", {"kind": "mean", "column": "ward"}, "numbers"),
        ("/ask/add", {"kind": "mode"}, "Choose what"),
        ("/ask/add", {"kind": "quantile", "column": "cost"}, "ranks"),
        ("/ask/add", {"kind": "quantile", "column": "cost", "ranks": "7"}, "between 0 and 1"),
        ("/ask/add", {"kind": "count", "where": "nonsense ("}, "condition"),
        ("/ask/add", {"kind": "count", "where": "age > (SELECT 1)"}, "where"),
        ("/ask/add", {"kind": "count", "where_column": "age"}, "value to compare"),
        ("/ask/select", {"text": "DROP TABLE visits", "epsilon": "1"}, "SELECT"),
        ("/ask/select", {"text": "", "epsilon": "1"}, "SELECT"),
        ("/ask/model", {"name": "oracle", "epsilon": "1"}, "choose a model"),
        ("/ask/model", {"name": "gaussian-nb", "settings": "wings=2", "epsilon": "1"}, "wings"),
        ("/ask/table", {"name": "perturbed", "epsilon": "1"}, "number must be public"),
        ("/ask/table", {"name": "synthetic", "epsilon": "0"}, "above 0"),
        ("/ask/describe", {"epsilon": "much"}, "number"),
        ("/ask/describe", {"epsilon": "1", "delta": "0.5"}, "at most 0.01"),
        ("/ledger/account", {"name": "a/b", "epsilon": "1"}, "slash"),
        ("/ledger/account", {"name": "a", "epsilon": "nan"}, "number"),
        ("/ledger/verify", {"count": "many"}, "number of entries"),
        (
            "/facts/derive",
            {"derived_name": "ward", "derived_kind": "month", "source": "day"},
            "name",
        ),
        (
            "/facts/derive",
            {"derived_name": "b", "derived_kind": "bins", "source": "age"},
            "increasing",
        ),
        ("/facts/derive", {"derived_name": "m", "derived_kind": "month", "source": "age"}, "dates"),
        ("/protect/open", {"existing": "gone.db"}, "no ledger"),
    ],
)
def test_bad_input_is_answered_with_a_sentence(clinic, tmp_path, place, fields, words):
    answer = clinic.post(place, **fields)
    assert answer.status_code == 422, answer.text
    assert any(words in text for text in find_errors(answer.text)), find_errors(answer.text)
    assert len(open_ledger(tmp_path).entries()) == 1


def test_bounds_that_are_far_too_wide_are_told(clinic):
    wide = {**FACTS, "upper-3": "1000000000"}
    clinic.press("/facts", **wide)
    assert "Are bounds this wide meant?" in clinic.see("/facts")
    clinic.press("/facts", **{**FACTS, "rows": "1000000", "typical-3": "400"})
    assert "far too wide" not in clinic.see("/facts")
    clinic.press("/facts", **{**FACTS, "rows": "1000000", "upper-3": "2000000", "typical-3": "1"})
    assert "far too wide" in clinic.see("/facts")


def test_derived_columns_are_added_asked_and_removed(clinic, tmp_path):
    bands = {"derived_name": "band", "derived_kind": "bins", "source": "age", "cuts": "18, 65"}
    clinic.press("/facts/derive", **bands)
    clinic.press("/ask/add", kind="mean", column="cost", by="band")
    assert "[18, 65)" in clinic.see(clinic.release("questions"))
    clinic.press("/facts", **FACTS)  # facts that are saved again keep what was derived
    assert "band" in dp.Schema.read(tmp_path / "visits.toml")
    clinic.press("/facts/remove", derived_name="band")
    assert "band" not in dp.Schema.read(tmp_path / "visits.toml")


def test_a_rehearsal_charges_and_reads_nothing(clinic, tmp_path):
    clinic.press("/ask/add", kind="mean", column="cost", by="ward")
    (tmp_path / "visits.csv").unlink()
    page = clinic.post("/rehearse/questions").text
    assert "NOT DATA" in page
    assert "mean cost by ward" in page
    assert len(open_ledger(tmp_path).entries()) == 1


def test_a_plan_reads_no_row(clinic, tmp_path):
    clinic.press("/ask/add", kind="mean", column="cost", by="ward")
    (tmp_path / "visits.csv").unlink()
    assert "±" in clinic.see("/ask")
    part = clinic.post("/ask/share", epsilon="0.25", rows="900", part=True)
    assert "ε = 0.25" in part.text
    assert "<html" not in part.text
    assert "ε = 0.25" in clinic.see("/release/questions")


def test_a_changed_ledger_is_not_whole_and_an_anchor_is_compared(clinic, tmp_path):
    head, count = open_ledger(tmp_path).head
    assert "It is whole" in clinic.post("/ledger/verify", head=head, count=str(count)).text
    assert "NOT whole" in clinic.post("/ledger/verify", head="0" * 64, count="1").text
    clinic.press("/ask/add", kind="count")
    clinic.release("questions")
    for name, start in (("html", "<!DOCTYPE"), ("json", "{"), ("csv", "entry,")):
        answer = clinic.get(f"/ledger/statement.{name}")
        assert answer.text.startswith(start)
    page = clinic.see("/ledger")
    assert "count" in page
    assert head not in page


def test_claims_are_shown_with_proofs_and_verdicts(clinic):
    page = clinic.see("/trust?status=refuted")
    assert "classic-gaussian-formula" in page
    assert "discrete-laplace" not in page
    page = clinic.see("/trust/claim/classic-gaussian-formula")
    assert "violated" in page
    assert page.count("<h1") == 1
    assert clinic.get("/trust/claim/nothing").status_code == 404
    assert clinic.get("/trust/page/..%2f..%2fpyproject").status_code == 404
    answer = clinic.post("/trust/claim/classic-gaussian-formula", effort="1000000")
    assert answer.status_code == 400


def test_an_existing_ledger_is_opened_with_its_unit(clinic, tmp_path):
    unit = dp.Unit(dp.ADD_REMOVE)
    dp.Ledger(f"sqlite:///{tmp_path / 'other.db'}", limit=dp.PureDP(7), unit=unit)
    clinic.press("/protect/open", existing="other.db")
    assert "ε = 7" in clinic.see("/protect")
    assert dp.Unit.read(tmp_path / "visits.toml") == unit

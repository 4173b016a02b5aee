"""The report: one page or one JSON file that says what was released and what that means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import Page, check_page

import discreet as dp
from discreet.audit.membership import MembershipReport
from discreet.audit.one_run import Guesses, OneRunAudit
from discreet.audit.results import AuditResult
from discreet.measures.meaning import bayes_risk
from discreet.models.naive_bayes import MixedNB
from discreet.report import Report, build_report
from discreet.report.guarantee import explain_guarantee, percent_above, percent_below
from discreet.testing import fixed_noise

SCHEMA = dp.Schema(
    age=dp.Integer(0, 99), cost=dp.Real(0, 20_000), ward=dp.Categorical("A", "B", "C")
).derive(band=dp.Bins("age", [18, 40, 65, 80]))


def people(rows: int, limit: Any = None, schema: dp.Schema = SCHEMA) -> dp.PrivateDataset:
    draw = np.random.default_rng(3)
    table = {
        "age": draw.integers(0, 100, rows),
        "cost": draw.gamma(2, 900, rows),
        "ward": draw.choice(["A", "B", "C"], rows),
    }
    return dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=limit or dp.PureDP(10)))


def attack_result() -> MembershipReport:
    draw = np.random.default_rng(0)
    included = draw.random((2, 300)) < 0.5
    return MembershipReport("made up", draw.normal(size=(2, 300)) + included, included)


def everything(data: dp.PrivateDataset) -> list[Any]:
    half = dp.PureDP("1/2")
    return [
        {"Costs": data.release(dp.Mean("cost", by="ward"), half)},
        data.release(dp.Histogram("band"), half),
        data.release(dp.Mean("cost", by=["ward", "band"]), half),
        data.release(dp.Median("age"), half),
        data.release(dp.Moments("age", "cost"), half),
        data.release(dp.Quantile("age", ["1/4", "3/4"], by="ward"), half),
        data.release_all({"rows": dp.Count(), "wards": dp.Histogram("ward")}, half),
        data.describe(half),
        data.sql("SELECT ward, COUNT(*) AS n FROM data GROUP BY ward", half),
        data.check(half),
        data.plan(dp.Histogram("ward"), half),
        MixedNB(epsilon=0.5).fit(data, features=["age", "cost", "band"]),
        (attack_result(), dp.PureDP(1)),
        OneRunAudit((Guesses(100, 50, 30),), 0.0, 0.95),
        AuditResult("a", dp.PureDP(1), 1.0, 2.0, "violated", 0.99, "x > 0", "probe", "code", 10),
    ]


def test_a_report_of_everything_is_a_page_and_the_same_as_json(tmp_path):
    with fixed_noise(1):
        data = people(500)
        items = everything(data)
    paths = [tmp_path / name for name in ("a.html", "a.json", "b.html")]
    for path in paths[:2]:
        dp.write_report(path, *items, ledger=data.ledger, schema=SCHEMA, title="All")
    page = check_page(paths[0].read_text("utf-8"))
    titles = page.inside("h2")
    for title in ("What this means", "The ledger", "What was released", "Checks", "Models"):
        assert title in titles
    assert titles[-1] == "What is not covered"
    assert len(page.all("svg")) > 10
    # the page from the JSON file is the page
    assert dp.write_report(paths[2], paths[1]) == paths[2]
    assert paths[2].read_bytes() == paths[0].read_bytes()
    report = Report.from_json(paths[1].read_text("utf-8"))
    assert report == build_report(*items, ledger=data.ledger, schema=SCHEMA, title="All")
    assert "the claim is violated" in paths[0].read_text("utf-8")


def test_the_same_items_give_the_same_bytes_and_paths_of_files_are_read(tmp_path):
    data = people(100)
    release = data.release(dp.Histogram("ward"), dp.PureDP(1))
    parts = {"release": release, "statement": data.ledger.statement(), "schema": SCHEMA}
    for name, part in parts.items():
        (tmp_path / f"{name}.json").write_text(part.to_json(), encoding="utf-8")
    files = [tmp_path / f"{name}.json" for name in parts]
    direct = build_report(release, ledger=data.ledger, schema=SCHEMA)
    assert build_report(*files) == direct
    assert build_report(str(files[0]), ledger=files[1], schema=files[2]) == direct
    assert direct.to_html() == build_report(release, ledger=data.ledger, schema=SCHEMA).to_html()
    SCHEMA.write(tmp_path / "schema.toml")
    assert build_report(release, ledger=data.ledger, schema=tmp_path / "schema.toml") == direct


def test_a_guarantee_is_told_as_odds_rounded_to_the_safe_side():
    blocks = explain_guarantee(dp.PureDP(1), dp.Unit())
    assert (
        "50 % likely that a certain person is in the data can reach at most 73.2 %"
        in blocks[0].text
    )
    assert "fall to 26.8 %" in blocks[0].text
    assert "e^ε = 2.72" in blocks[1].text
    told = explain_guarantee(dp.ApproxDP(1, "1e-6"), dp.Unit(dp.REPLACE_ONE))[0].text
    assert "one thing rather than another guesses right at most 73.2 %" in told
    assert percent_above(0.73101) == "73.2 %"
    assert percent_above(0.731) == "73.1 %"
    assert percent_below(0.26894) == "26.8 %"
    for measure in (dp.ApproxDP(1, "1e-6"), dp.ZCDP("1/8"), dp.GaussianDP(1)):
        told = explain_guarantee(measure, None)[0].text
        assert f"at most {percent_above(1 - bayes_risk(measure, 0.5))} of the time" in told
    for measure in (dp.ZCDP(1), dp.GaussianDP(1), dp.Renyi({2: 1, 8: 2})):
        assert "guesses right at most" in explain_guarantee(measure, None)[0].text


def test_an_empty_ledger_and_no_items_make_a_report():
    ledger = dp.Ledger(limit=dp.ApproxDP(1, 1e-6))
    page = check_page(build_report(ledger=ledger).to_html())
    assert any("Nothing was charged" in text for text in page.inside("p"))
    assert check_page(build_report().to_html()).inside("h1") == ["Privacy report"]


@pytest.mark.parametrize("limit", [dp.PureDP(1), dp.ApproxDP(1, 1e-6), dp.ZCDP(1)])
def test_answers_about_nobody_are_shown_like_any(limit):
    data = people(0, limit)
    cost = dp.ZCDP("1/4") if isinstance(limit, dp.ZCDP) else dp.PureDP("1/4")
    items = [
        data.release(dp.Histogram("ward"), cost),
        data.release(dp.Mean("cost", by="ward"), cost),
    ]
    check_page(build_report(*items, ledger=data.ledger).to_html())


def test_an_answer_without_groups_is_a_sentence():
    schema = dp.Schema(city=dp.Text())
    data = dp.PrivateDataset(
        {"city": ["x", "y"]}, schema, ledger=dp.Ledger(limit=dp.ApproxDP(1, 1e-6))
    )
    release = data.release(dp.KeyCounts("city", delta=1e-6), dp.PureDP("1/2"))
    assert release.labels == []
    text = build_report(release, ledger=data.ledger).to_html()
    check_page(text)
    assert "there are no rows" in text


def test_hundreds_of_groups_have_forty_bars_and_a_whole_table():
    names = [f"group {at}" for at in range(700)]
    schema = dp.Schema(place=dp.Categorical(*names))
    data = dp.PrivateDataset({"place": names * 2}, schema, ledger=dp.Ledger(limit=dp.PureDP(1)))
    release = data.release(dp.Histogram("place"), dp.PureDP(1))
    text = build_report(release).to_html()
    page = check_page(text)
    assert len([a for a in page.all("rect") if a["class"] == "bar"]) == 40
    assert "the 40 largest of 700 groups" in text
    assert len(page.all("tr")) > 700


HOSTILE = [
    "<script>alert(1)</script>",
    "</svg><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "=HYPERLINK(1)",
    "</style></title>",
    "{{7*7}}\u202e\u0000\u2028",
    "javascript:alert(1)",
    "&lt;b&gt;",
]


def test_names_and_categories_cannot_run_or_leave_their_place(tmp_path):
    schema = dp.Schema({f"{name}": dp.Categorical(*HOSTILE) for name in HOSTILE[:3]})
    table = dict.fromkeys(schema.base, HOSTILE)
    data = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    first, second = list(schema.base)[:2]
    items = [
        {HOSTILE[1]: data.release(dp.Histogram(first), dp.PureDP(1))},
        data.release(dp.Count(by=[first, second]), dp.PureDP(1)),
        data.describe(dp.PureDP(1)),
        data.plan(dp.Histogram(first), dp.PureDP(1)),
    ]
    data.ledger.external(dp.PureDP("1/10"), note=HOSTILE[0])
    report = build_report(*items, ledger=data.ledger, schema=schema, title=HOSTILE[0])
    text = report.to_html()
    page = check_page(text)
    assert page.inside("h1") == [HOSTILE[0]]
    assert "\u202e" not in text
    assert "\u2028" not in text
    assert "\x00" not in text
    assert Report.from_json(report.to_json()) == report


def test_marks_are_the_first_that_is_read():
    table = {"age": [1, 2], "cost": [1.0, 2.0], "ward": ["A", "B"]}
    public = dp.PrivateDataset(table, SCHEMA, unit=dp.Unit(dp.PUBLIC))
    release = public.release(dp.Histogram("ward"), dp.PureDP(1))
    page = check_page(build_report(release).to_html())
    alarms = [a for a in page.all("p") if a.get("class") == "alarm"]
    assert len(alarms) == 2
    assert any("This is NOT PRIVATE" in text for text in page.inside("p"))
    private = people(10).release(dp.Histogram("ward"), dp.PureDP(1))
    assert "Some of this is NOT PRIVATE" in build_report(release, private).to_html()


def test_charges_of_another_ledger_are_told_apart():
    data, other = people(10), people(10)
    release = data.release(dp.Histogram("ward"), dp.PureDP(1))
    own, foreign = (build_report(release, ledger=d.ledger).to_html() for d in (data, other))
    assert "another ledger" not in own
    assert "1 answer shown here and charged to another ledger" in foreign
    several = build_report(release, data.release(dp.Count(), dp.PureDP(1))).to_html()
    assert "No ledger was given" in several


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda at: dp.write_report(at / "a.pdf"), "path must end in .html or .json"),
        (lambda at: dp.write_report(at / "a.html", 3), "can't show an object of type int"),
        (lambda at: dp.write_report(at / "a.html", at / "none.json"), "is not there"),
        (lambda at: dp.write_report(at / "a.html", ledger=3), "ledger must be"),
        (lambda at: dp.write_report(at / "a.html", schema=3), "schema must be"),
        (lambda at: dp.write_report(at / "a.html", title=3), "title must be text"),
        (lambda at: dp.write_report(at / "a.html", {1: SCHEMA}), "titles of items"),
        (lambda at: dp.write_report(at / "a.html", SCHEMA, schema=SCHEMA), "one schema"),
    ],
)
def test_wrong_arguments_are_told_and_nothing_is_written(tmp_path: Path, call: Any, words: str):
    with pytest.raises((TypeError, ValueError, FileNotFoundError), match=words):
        call(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "discreet x"}', "{", '{"format": 3}'])
def test_files_that_are_no_items_are_refused_without_their_content(tmp_path: Path, text: str):
    path = tmp_path / "item.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="is not a JSON file of discreet that a report shows"):
        dp.write_report(tmp_path / "a.html", path)
    whole = build_report().to_json()
    changed = whole.replace('"Section"', '"Path"', 1)
    assert changed != whole
    with pytest.raises(ValueError, match="changed or cut"):
        Report.from_json(changed)


def test_a_file_that_begins_with_a_byte_order_mark_is_read(tmp_path: Path):
    path = tmp_path / "windows.json"
    path.write_text(people(20).release(dp.Count(), dp.PureDP(1)).to_json(), encoding="utf-8-sig")
    dp.write_report(tmp_path / "a.html", path)


def test_a_membership_attack_is_read_from_its_json(tmp_path):
    result, claim = attack_result(), dp.PureDP("1/2")
    path = tmp_path / "attack.json"
    path.write_text(result.to_json(), encoding="utf-8")
    assert build_report((str(path), claim)) == build_report((result, claim))
    assert build_report(path) == build_report(result)
    text = build_report((result, claim)).to_html()
    assert "The attack refutes the claim ε = 0.5" in text
    assert text.count("For the owner of the data") == 2, "at the head, and over the attack"
    check_page(text)
    with pytest.raises(ValueError, match="changed or cut"):
        MembershipReport.from_json(result.to_json().replace('"bool"', '"int64"'))


def test_an_audit_is_read_from_its_json(tmp_path):
    result = AuditResult("t", dp.PureDP(1), 1.0, float("inf"), "violated", 0.99, "e", "p", "c", 9)
    path = tmp_path / "audit.json"
    path.write_text(result.to_json(), encoding="utf-8")
    assert build_report(path) == build_report(result)
    path.write_text(result.to_json().replace("violated", "fine"), encoding="utf-8")
    with pytest.raises(ValueError, match="is not a JSON file"):
        build_report(path)


def test_a_page_that_is_broken_would_be_noticed():
    whole = build_report().to_html()
    for change in (
        lambda text: text.replace("</section>", "", 1),
        lambda text: text.replace('id="section-2"', 'id="section-1"'),
        lambda text: text.replace("<h2", "<h3").replace("</h2", "</h3"),
        lambda text: text.replace("<footer>", "<footer><script></script>"),
        lambda text: text.replace("<footer>", '<footer><a href="https://x">x</a>'),
        lambda text: text.replace("<footer>", '<footer><p style="color:red"></p>'),
    ):
        with pytest.raises(AssertionError):
            check_page(change(whole))
    assert json.loads(build_report().to_json())["format"] == "discreet report"
    assert isinstance(check_page(whole), Page)

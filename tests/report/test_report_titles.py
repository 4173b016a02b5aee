"""Headings of a report are plain words, also where only what was printed of a question is left."""

from __future__ import annotations

import pytest

import discreet as dp
from discreet.layout import Asked, Layout
from discreet.report import build_report
from discreet.report.blocks import Chart
from discreet.report.svg import draw_chart
from discreet.report.titles import title_of

WEEK = "hours-per-week"


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        (dp.Count(), "Number of rows"),
        (dp.Histogram("sex", "band"), "Number of rows by sex and band"),
        (dp.Mean(WEEK, by="sex"), f"Mean of {WEEK} by sex"),
        (dp.Median("age").per_person(1), "Median of age, 1 row of each person"),
        (dp.Quantile("age", [0.1, 0.9]), "Quantiles 1/10 and 9/10 of age"),
        (dp.Estimate(dp.Sum("age")), "Sum of age"),
        (dp.Count(where=dp.col(WEEK).is_present()), f"Number of rows, where {WEEK} is not missing"),
        (
            dp.Count(where="age is not None and age >= 18 and sex == 'F' or sex in ['M', 'X']"),
            "Number of rows, where (age ≥ 18 and sex is F) or sex is M or X",
        ),
    ],
)
def test_a_question_is_told_in_plain_words(asked, title):
    assert title_of(asked) == title
    assert title_of(Asked(repr(asked), Layout((), (), ()))) == title


@pytest.mark.parametrize(
    "text",
    ["", "Count(", "exit()", "Mean(x)", "Mean('a', other=1)", "(" * 4000, "Gram('a')", "9" * 9000],
)
def test_what_has_no_plain_words_is_shown_as_it_was_printed(text):
    assert title_of(Asked(text, Layout((), (), ()))) == text


def open_data() -> dp.PrivateDataset:
    schema = dp.Schema(month=dp.Integer(1, 12), ward=dp.Categorical("A", "B"), age=dp.Integer(0, 9))
    rows = {"month": [1, 2] * 50, "ward": ["A", "B"] * 50, "age": [3, 4] * 50}
    return dp.PrivateDataset(rows, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))


def test_headings_are_plain_and_the_question_stands_below():
    data = open_data()
    report = build_report(data.release(dp.Mean("age", by="ward"), dp.PureDP(1)))
    page = report.to_html()
    assert "Mean of age by ward" in page
    assert "Mean(&#x27;age&#x27;, by=&#x27;ward&#x27;)" in page


def test_a_heat_map_says_what_its_shades_stand_for():
    data = open_data()
    found = data.release(dp.Histogram("ward", "month"), dp.PureDP(1))
    released = next(one for one in build_report(found).sections if one.title == "What was released")
    (chart,) = [block for block in released.sections[0].blocks if isinstance(block, Chart)]
    assert chart.kind == "heat"
    numbers = [value for one in chart.series for value in one.y]
    drawn = draw_chart(chart, "here")
    for end in (min(numbers), max(numbers)):
        assert f">{end:,.0f}<".replace("-", "−") in drawn or f">{end:.0f}<" in drawn


def test_the_entries_of_a_ledger_begin_with_what_readers_look_for():
    data = open_data()
    data.release(dp.Count(), dp.PureDP(1))
    page = build_report(ledger=data.ledger).to_html()
    head = page[page.index("<caption>Entries") :]
    places = [
        head.index(f">{name}</th>") for name in ("entry", "what", "cost", "how", "time", "who")
    ]
    assert places == sorted(places)
    assert ">account</th>" not in head

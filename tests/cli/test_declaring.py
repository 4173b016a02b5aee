"""Columns as people type them: words as they are where that is clear, and errors that say how to quote."""

from __future__ import annotations

import pytest

import discreet as dp
from discreet.cli.declaring import parse_column, parse_columns, parse_derived
from discreet.cli.outcome import CommandError

VALUES = (
    "New York",
    "?",
    "<=50K",
    ">50K",
    "3a",
    "01",
    "E11.9",
    "State-gov",
    "if",
    "a==b",
    "#1",
    "0-10",
)


@pytest.mark.parametrize("value", VALUES)
def test_a_category_needs_no_quotes_where_it_is_clear_without(value):
    expected = dp.Categorical("a", value)
    assert parse_columns([f"w=categorical(a, {value})"]) == {"w": expected}
    assert parse_columns([f"w=categorical('a', '{value}')"]) == {"w": expected}
    assert parse_column(f"categorical({value}, a, unknown={value})") == dp.Categorical(
        value, "a", unknown=value
    )


def test_numbers_alone_are_numbers_and_among_words_text():
    assert parse_column("categorical(1, 2)") == dp.Categorical(1, 2)
    assert parse_column("categorical(1, 2, 3a)") == dp.Categorical("1", "2", "3a")
    assert parse_column("categorical(a, 3)") == dp.Categorical("a", "3")
    assert parse_column("categorical('a, b', c d)") == dp.Categorical("a, b", "c d")


def test_days_need_no_quotes():
    typed = parse_column("date(2024-01-01, 2024-12-31, fill=2024-10-11)")
    assert typed == dp.Date("2024-01-01", "2024-12-31", fill="2024-10-11")


def test_what_is_derived_may_come_from_a_column_whose_name_is_no_word():
    assert parse_derived(["b=bins(hours-per-week, [20, 40], labels=[low, so so, high])"])[
        "b"
    ].to_dict() == {
        "type": "bins",
        "column": "hours-per-week",
        "cuts": [20.0, 40.0],
        "labels": ["low", "so so", "high"],
    }
    assert parse_derived(["m=month(day of visit)"])["m"].column == "day of visit"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("w=categorical(O'Brien, x)", r"quotes around text, as in ward=categorical\('icu', 'er'\)"),
        ("w=categorical(f(x), y)", r"quotes around text, as in ward=categorical\('icu', 'er'\)"),
        ("w=categorical(a,, b)", r"as in ward=categorical\('icu', 'er'\)"),
        ("w=categorical(", r"as in ward=categorical\('icu', 'er'\)"),
        ("w=categorial(New York)", "'categorial' is none of real, integer, categorical"),
        ("d=date(2024-01-01", r"quotes around text, as in day=date\('2024-01-01', '2024-12-31'\)"),
        ("d=date(today, tomorrow)", "must be a day of the calendar"),
        ("r=real(0, inf)", "bounds must be finite numbers: real needs its bounds"),
        ("r=real(-inf, 0)", r"real needs its bounds, which anyone may know, as in real\(0, 5000\)"),
        (
            "i=integer(0 - 5)",
            r"integer needs its bounds, which anyone may know, as in integer\(0, 120\)",
        ),
    ],
)
def test_an_error_shows_an_example_of_the_kind_that_was_meant(typed, words):
    with pytest.raises(CommandError, match=words):
        parse_columns([typed])

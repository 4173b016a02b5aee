"""Mistakes that used to be answered without a word: the check names each, at ε = 0.1 on 10 000 rows."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet import events, testing
from discreet.matching import ColumnMismatch
from discreet.models.linear_model import LogisticRegression

ROWS = 10_000
BUDGET = dp.PureDP("0.1")
SCHEMA = dp.Schema(
    ward=dp.Categorical("icu", "surgery", "kinderärzte"),
    cost=dp.Real(0, 5000),
    age=dp.Integer(0, 120),
)
DAY = dp.Schema(day=dp.Date("2024-01-01", "2024-12-31"))


def visits(**changed):
    draw = np.random.default_rng(7)
    columns = {
        "ward": draw.choice(["icu", "surgery", "kinderärzte"], ROWS).astype(object),
        "cost": draw.lognormal(6, 1, ROWS).clip(0, 5000).round(2),
        "age": draw.integers(0, 100, ROWS),
    }
    return {**columns, **changed}


def open_data(source, schema=SCHEMA, limit=1):
    return dp.PrivateDataset(source, schema, ledger=dp.Ledger(limit=dp.PureDP(limit)))


def write(path, columns, encoding="utf-8", decimal="."):
    lines = [",".join(columns)]
    for row in zip(*columns.values(), strict=True):
        cells = (str(c).replace(".", decimal) if isinstance(c, float) else str(c) for c in row)
        lines.append(",".join(f'"{cell}"' for cell in cells))
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return path


def words(data):
    with testing.fixed_noise(4):
        return data.check(BUDGET).warnings


def test_a_table_that_is_as_declared_is_not_suspicious():
    assert words(open_data(visits())) == ()


def test_a_category_in_another_case_is_named():
    upper = np.array([ward.upper() for ward in visits()["ward"]], object)
    (text,) = words(open_data(visits(ward=upper)))
    assert text.startswith(("about 9", "about 100"))
    assert "of `ward` matches no declared category: spelt otherwise" in text
    assert "another case" in text


def test_a_latin_1_file_is_named(tmp_path):
    draw = np.random.default_rng(3)
    wards = draw.choice(["kinderärzte", "surgery"], ROWS, p=[0.7, 0.3]).astype(object)
    path = write(tmp_path / "visits.csv", visits(ward=wards), "latin-1")
    (text,) = words(open_data(path))
    assert "of `ward` matches no declared category" in text
    assert "UTF-8" in text
    assert words(open_data(write(tmp_path / "right.csv", visits(ward=wards)))) == ()


def test_decimal_commas_are_named(tmp_path):
    path = write(tmp_path / "visits.csv", {n: c.tolist() for n, c in visits().items()}, decimal=",")
    (text,) = words(open_data(path))
    assert "of `cost` is not a number: decimal commas" in text
    assert "count as 2500, the fill" in text


def test_bounds_that_cut_off_are_named():
    narrow = dp.Schema({**SCHEMA.base, "cost": dp.Real(0, 10)})
    (text,) = words(open_data(visits(), narrow))
    assert "of `cost` lies above its upper bound 10" in text
    low = dp.Schema({**SCHEMA.base, "age": dp.Integer(60, 120)})
    (text,) = words(open_data(visits(), low))
    assert "of `age` lies below its lower bound 60" in text


def test_dates_outside_their_days_and_in_another_form_are_named(tmp_path):
    schema = dp.Schema(
        birth=dp.Date("2000-01-01", "2020-12-31"), visit=dp.Date("2024-01-01", "2024-12-31")
    )
    columns = {
        "birth": ["1950-06-01"] * 2000 + ["2021-01-01"] * 1000 + ["2010-05-05"] * 7000,
        "visit": ["03/01/2024"] * ROWS,
    }
    found = open_data(write(tmp_path / "visits.csv", columns), schema).check(dp.PureDP(1))
    before, after, form = found.warnings
    assert "20 % of `birth` lies before its first day 2000-01-01, and counts as that day" in before
    assert "10 % of `birth` lies after its last day 2020-12-31" in after
    assert "`visit` is not a date: another form of dates? Such cells count" in form
    assert "2024-07-01, the fill" in form
    assert found.to_dict()["birth"]["within"] == pytest.approx(7000, abs=150)
    assert words(open_data({"day": np.full(ROWS, "2024-03-01", "M8[D]")}, DAY)) == ()
    empty = open_data({"day": np.full(ROWS, "NaT", "M8[D]")}, DAY)
    assert "`day` is missing: such cells count as 2024-07-01" in words(empty)[0]


def test_features_that_a_model_sees_on_a_logarithmic_scale_are_checked_too():
    amounts = np.random.default_rng(0).uniform(2e6, 3e6, ROWS)
    table = {"amount": amounts, "y": np.where(amounts > 2.5e6, "no", "yes")}
    schema = dp.Schema(amount=dp.Real(1, 1e6, scale="log"), y=dp.Categorical("no", "yes"))
    model = LogisticRegression(epsilon=2)
    with pytest.warns(UserWarning, match="of `amount` lies above its upper bound 1e\\+06"):
        model.fit(open_data(table, schema, limit=2), target="y", check=True)
    assert "amount" in model.checked_.to_dict()


def test_columns_behind_derived_features_are_checked_too():
    days = np.datetime64("2021-01-01") + np.arange(ROWS) % 365  # before the first declared one
    schema = dp.Schema({**DAY.base, "y": dp.Categorical("no", "yes")}).derive(month=dp.Month("day"))
    table = {"day": days, "y": np.where(np.arange(ROWS) % 2, "no", "yes")}
    model = LogisticRegression(epsilon=2)
    with pytest.warns(UserWarning, match="of `day` lies before its first day"):
        model.fit(open_data(table, schema, limit=2), target="y", features=["month"], check=True)
    assert set(model.checked_.to_dict()) == {"day", "y"}


def test_classes_in_another_case_are_named():
    draw = np.random.default_rng(1)
    X = draw.normal(size=(ROWS, 2)).clip(-3, 3)
    y = np.where(X[:, 0] > 0, "Yes", "No")
    wrong = LogisticRegression(epsilon=1, bounds=(-3, 3), classes=["yes", "no"])
    with testing.fixed_noise(2), pytest.warns(UserWarning, match="`target` matches no declared"):
        wrong.fit(X, y, check=True)  # a tenth: ε = 0.1
    assert wrong.checked_.is_suspicious
    assert wrong.checked_.measure == dp.PureDP("0.1")
    right = LogisticRegression(epsilon=1, bounds=(-3, 3), classes=["Yes", "No"])
    with testing.fixed_noise(2):
        assert not right.fit(X, y, check=True).checked_.is_suspicious


def test_too_many_rows_per_person_and_rows_without_id_are_named():
    unit = dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=2)
    draw = np.random.default_rng(2)
    who = draw.integers(0, 2000, ROWS).astype(object)
    who[:2000] = None
    ledger = dp.Ledger(limit=dp.PureDP(1), unit=unit)
    data = dp.PrivateDataset(visits(who=who), SCHEMA, ledger=ledger)
    with testing.fixed_noise(1):
        told = data.check(BUDGET)
    many, lost = told.warnings
    assert "of the persons have more than 2 rows: of each only 2 count" in many
    assert "rows have no id in `who`" in lost
    assert told.to_dict()[""]["rows without id"] == pytest.approx(2000, abs=told.half_width)


@pytest.mark.parametrize("rows", [0, 1, 30])
def test_few_rows_are_never_suspicious_by_noise_alone(rows):
    """All cells of the few rows are right: whatever is said comes of the noise."""
    data = open_data({n: c[:rows] for n, c in visits().items()}, limit=100)
    with testing.fixed_noise(5):
        reports = [data.check(dp.PureDP(1)) for _ in range(60)]
    assert sum(any(row.suspicious for row in told.rows) for told in reports) <= 3


def test_half_of_a_check_in_doubt_says_that_nothing_can_be_said():
    data = open_data({n: c[:20] for n, c in visits().items()})
    with testing.fixed_noise(5):
        told = data.check(BUDGET)
    assert "nothing can be said" in told.warnings[-1]


def test_counts_are_within_the_stated_distance_as_often_as_stated():
    data = open_data(visits(), limit=1000)
    missed = 0
    with testing.fixed_noise(8):
        for _ in range(200):
            told = data.check(dp.PureDP(1))
            counts = told.to_dict()
            wrong = [counts["ward"]["unknown"], counts["cost"]["above"], counts["age"]["below"]]
            missed += any(abs(c) > told.half_width for c in wrong)
    assert missed <= 6  # 1 % of 200, and some


def test_a_check_is_one_charge_and_is_refused_unread_beyond_the_limit():
    data = open_data(visits())
    told = data.check(dp.PureDP("3/4"))
    assert told.entry.number == 1
    assert told.event == events.DiscreteLaplace(4, 3)
    with pytest.raises(dp.BudgetExceeded):
        data.check(dp.PureDP("1/2"))


def test_columns_can_be_chosen_and_cost_less():
    data = open_data(visits())
    assert data.check(dp.PureDP("1/4"), "ward").event == events.DiscreteLaplace(4, 1)
    with pytest.raises(KeyError, match="nothing"):
        data.check(dp.PureDP("1/4"), "nothing")


@pytest.mark.parametrize(
    "budget", [dp.PureDP(1), dp.ApproxDP(1, 1e-6), dp.ZCDP("1/2")], ids=lambda b: type(b).__name__
)
def test_a_release_with_a_check_costs_what_was_given_for_both(budget):
    ledger = dp.Ledger(limit=budget)
    narrow = dp.Schema({**SCHEMA.base, "cost": dp.Real(0, 10)})
    data = dp.PrivateDataset(visits(), narrow, ledger=ledger)
    with testing.fixed_noise(4):
        told = data.release(dp.Mean("cost", where="age > 17"), budget, check=True)
    assert told.measure == budget
    assert "`cost` lies above" in told.checked.warnings[0]
    assert "check: about" in repr(told)
    # only the columns that the query uses: two, not three
    assert {row.column for row in told.checked.rows} == {"cost", "age"}
    assert dp.accounting.satisfies(told.event, budget)
    with pytest.raises(dp.BudgetExceeded):
        data.release(dp.Count(), dp.PureDP("1/1000") if budget == dp.PureDP(1) else budget)


def test_the_share_of_a_check_can_be_given():
    data = open_data(visits())
    told = data.release(dp.Sum("age"), dp.PureDP(1), check=Fraction(1, 4))
    assert told.checked.measure == dp.PureDP("1/4")
    assert told.event.events[0] == events.DiscreteLaplace(4, 1)


@pytest.mark.parametrize("check", [0, 1, -0.5, 2, math.nan, "all"])
def test_a_share_that_is_none_is_refused_before_the_charge(check):
    data = open_data(visits())
    with pytest.raises((ValueError, TypeError), match="check"):
        data.release(dp.Sum("age"), dp.PureDP(1), check=check)
    data.release(dp.Count(), dp.PureDP(1))  # all of it is left


def test_a_mechanism_has_no_share():
    with pytest.raises(TypeError, match=r"data\.check"):
        open_data(visits()).release(dp.Count(), dp.mechanisms.Laplace(1), check=True)


def test_a_query_without_columns_is_checked_with_all_of_them():
    told = open_data(visits()).release(dp.Count(), dp.PureDP(1), check=True)
    assert {row.column for row in told.checked.rows} == {"ward", "cost", "age"}


def test_a_report_is_shown_as_text_and_as_html_that_runs_nothing():
    schema = dp.Schema({"<b>&": dp.Real(0, 1)})
    told = open_data({"<b>&": np.full(ROWS, 9.0)}, schema).check(BUDGET)
    assert "<b>&" in str(told)
    assert "suspicious" in str(told)
    html = told._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;&amp;" in html
    assert told.to_dict()["<b>&"].keys() == {
        "missing",
        "not a number",
        "below",
        "within",
        "above",
    }


def test_no_row_shows_in_what_a_check_says():
    """The words are made of noised counts and of public facts alone."""
    secret = np.full(ROWS, "Kowalski", object)
    data = open_data(visits(ward=secret))
    told = data.check(BUDGET)
    assert "Kowalski" not in str(told) + told._repr_html_() + repr(told.to_dict())


@pytest.mark.parametrize(
    ("separator", "title"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")]
)
def test_another_separator_is_an_error_when_the_file_is_opened(tmp_path, separator, title):
    path = tmp_path / "visits.csv"
    path.write_text(separator.join(["Kowalski", "ward", "cost", "age"]) + "\n")
    with pytest.raises(ColumnMismatch, match=f"separated by .*{title}") as caught:
        open_data(path)
    assert "Kowalski" not in str(caught.value)


def test_a_first_line_of_other_names_is_not_called_a_separator(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("Kowalski;icu;17,50\n")
    with pytest.raises(ColumnMismatch, match="no column 'ward'") as caught:
        open_data(path)
    assert "Kowalski" not in str(caught.value)


@pytest.mark.parametrize("suffix", ["", "icu,1,2\n"])
def test_the_right_separator_passes_whatever_is_in_the_rows(tmp_path, suffix):
    path = tmp_path / "visits.csv"
    path.write_text("ward,cost,age,a;b\n" + suffix + "x;y;z\n" * 3)
    assert open_data(path).schema == SCHEMA


def test_declared_types_are_judged_without_a_row_and_objects_not_by_their_cells():
    empty = {"ward": np.array([], object), "cost": np.array([], np.str_), "age": np.array([])}
    with pytest.raises(ColumnMismatch, match="'cost' is declared as numbers"):
        open_data(empty)
    text = np.array(["1,5"] * 3, object)
    few = {"ward": np.array(["icu"] * 3, object), "cost": text, "age": np.arange(3)}
    open_data(few)  # an object column has no type to judge it by

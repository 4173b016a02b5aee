"""Columns of dates: what is declared, what is refused, and the calendar against Python's own."""

from __future__ import annotations

import datetime
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.coding import AnyOf, Between, Calendar, NoneOf, OneOf, leaves, sources
from discreet.coding.calendar import DATE_PARTS, STEPS, date_of, day_of, days_of
from discreet.coding.chunks import Chunk
from discreet.columns.dates import part_condition
from discreet.engines.arrays import Arrays
from discreet.expressions import parse
from discreet.testing import exact_totals
from payment import check_own_words
from profiles import max_examples

Day = datetime.date
SCHEMA = dp.Schema(day=dp.Date("2020-02-29", "2024-12-31"), x=dp.Real(0, 1)).derive(
    year=dp.Year("day"),
    quarter=dp.Quarter("day"),
    month=dp.Month("day"),
    weekday=dp.Weekday("day"),
    season=dp.Bins("day", ["2022-01-01", Day(2023, 1, 1)], labels=["early", "middle", "late"]),
)


def test_every_day_of_the_calendar_has_its_parts() -> None:
    ordinals = np.arange(1, Day.max.toordinal() + 1, 37)  # all weekdays, months and years occur
    for shift in (0, 3):
        days = [Day.fromordinal(int(at)) for at in np.minimum(ordinals + shift, ordinals[-1])]
        numbers = np.array([day_of(day) for day in days])
        wanted: dict[str, Any] = {
            "year": [day.year for day in days],
            "month": [day.month - 1 for day in days],
            "quarter": [(day.month - 1) // 3 for day in days],
            "weekday": [day.weekday() for day in days],
        }
        for name, part in DATE_PARTS.items():
            columns = {"day": numbers + part.offset(0)}
            for step in part.steps:
                columns[step] = STEPS[step](columns)
                assert columns[step].min() >= 0
            assert columns[part.steps[-1]].tolist() == wanted[name]


@max_examples(200)
@given(st.dates(), st.dates(), st.lists(st.dates(), min_size=1, max_size=5))
def test_codes_reach_from_the_first_to_the_last_and_no_further(
    one: Day, other: Day, cells: list[Day]
) -> None:
    first, last = sorted([one, other])
    if (last - first).days > 2**20:
        last = first + datetime.timedelta(2**20)
    schema = dp.Schema(day=dp.Date(first, last)).derive(
        year=dp.Year("day"), month=dp.Month("day"), weekday=dp.Weekday("day")
    )
    chunk = Chunk(Arrays({"day": np.array([*cells, first, last], "datetime64[D]")})._columns)
    for name, column in schema.items():
        code = column.code(name, schema)
        values = chunk.code(code)
        assert code.low == 0
        assert values.min() >= 0
        assert values.max() <= code.high
        if name in ("day", "year"):
            assert values[-2:].tolist() == [0, code.high]
        if name != "day":
            assert code.high + 1 == len(schema.labels(name))


@max_examples(60)
@given(
    st.dates(),
    st.one_of(st.integers(0, 800), st.integers(0, 2**20)),
    st.sampled_from(sorted(DATE_PARTS)),
    st.sets(st.integers(-1, 13), max_size=8),
)
def test_a_condition_on_a_part_is_one_on_the_day(
    first: Day, length: int, name: str, members: set[int]
) -> None:
    """Between ends so far apart that ranges are too many, and days, too."""
    last = date_of(min(day_of(first) + length, day_of(Day.max)))
    dates = dp.Date(first, last)
    code = Calendar(dates.code("day", dp.Schema(day=dates)), dates.lower, dates.upper, name)
    days = np.arange(dates.lower, dates.upper + 1).astype("datetime64[D]")
    chunk = Chunk(Arrays({"day": days})._columns)
    found = part_condition(code, tuple(members))
    assert chunk.holds(found).tolist() == np.isin(chunk.code(code), list(members)).tolist()
    if length <= 800 and name != "weekday":
        assert isinstance(found, AnyOf)
        assert all(isinstance(part, Between) and part.code == code.source for part in found.parts)


def test_years_of_births_are_compared_by_days() -> None:
    """Of 126 years the days of some months are listed, or those of the others where they are fewer."""
    schema = dp.Schema(born=dp.Date("1900-01-01", "2025-12-31")).derive(month=dp.Month("born"))
    day = schema.code("born")
    for where, kind in {"month == 3": OneOf, "month >= 3": NoneOf, "month >= 1": AnyOf}.items():
        condition = parse(where).condition(schema)
        assert isinstance(condition, kind)
        assert leaves(condition) == (day,)
        assert not any(isinstance(part, Calendar) for part in iter_codes(condition))


def iter_codes(item: Any) -> Iterator[Any]:
    yield item
    for part in sources(item):
        yield from iter_codes(part)


@max_examples(300)
@given(
    st.integers(-(2**63) + 1, 2**63 - 1), st.sampled_from(["D", "h", "m", "s", "ms", "us", "ns"])
)
def test_days_are_rounded_down_in_every_unit(tick: int, unit: str) -> None:
    found = days_of(np.array([tick], np.int64).view(f"datetime64[{unit}]"))[0]
    per_day = {"D": 1, "h": 24, "m": 1440, "s": 86_400, "ms": 864 * 10**5, "us": 864 * 10**8}
    if unit == "ns":
        day = tick // (864 * 10**11)
        assert found == (day if -106_751 <= day <= 106_750 else np.inf * np.sign(tick))
    else:
        assert found == float(tick // per_day[unit])


def test_schemas_with_dates_are_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    SCHEMA.write(path)
    assert 'first = "2020-02-29"' in path.read_text()
    assert dp.Schema.read(path) == SCHEMA == pickle.loads(pickle.dumps(SCHEMA))
    filled = dp.Schema(day=dp.Date("2020-01-01", "2020-12-31", fill="2020-06-01"))
    filled.write(path)
    assert dp.Schema.read(path) == filled
    assert repr(filled["day"]) == "Date('2020-01-01', '2020-12-31', fill='2020-06-01')"


def test_the_fill_is_the_middle_or_what_was_declared() -> None:
    cells = {"day": np.array(["NaT", "2020-01-03"], "datetime64[D]")}
    for declared, counts in [
        (dp.Date("2020-01-01", "2020-01-04"), [0, 1, 1, 0]),
        (dp.Date("2020-01-01", "2020-01-04", fill="2020-01-04"), [0, 0, 1, 1]),
    ]:
        data = dp.PrivateDataset(cells, dp.Schema(day=declared), unit=dp.PUBLIC)
        assert exact_totals(data, dp.Histogram("day")).ravel().tolist() == counts


def test_labels_are_what_people_write() -> None:
    assert SCHEMA.labels("year") == (2020, 2021, 2022, 2023, 2024)
    assert SCHEMA.labels("quarter") == (1, 2, 3, 4)
    assert SCHEMA.labels("weekday") == (1, 2, 3, 4, 5, 6, 7)
    assert SCHEMA.labels("season") == ("early", "middle", "late")
    assert SCHEMA.labels("day")[:2] == ("2020-02-29", "2020-03-01")
    spans = SCHEMA.derive(half=dp.Bins("day", ["2022-07-01"])).labels("half")
    assert spans == ("[2020-02-29, 2022-07-01)", "[2022-07-01, 2024-12-31]")


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("day >= '2024-03-01'", lambda day: day >= Day(2024, 3, 1)),
        ("'2021-01-01' <= day < '2022-01-01'", lambda day: day.year == 2021),
        ("day == '2024-02-29'", lambda day: day == Day(2024, 2, 29)),
        ("day in ['2024-02-29', '2020-02-29']", lambda day: (day.month, day.day) == (2, 29)),
        ("day > '2030-01-01'", lambda day: False),
        ("day > '2000-01-01'", lambda day: True),
        ("month >= 11 or month in (1, 2)", lambda day: day.month in (11, 12, 1, 2)),
        ("weekday > 5 and year == 2023", lambda day: day.isoweekday() > 5 and day.year == 2023),
        ("not quarter == 2", lambda day: day.month not in (4, 5, 6)),
        ("year < 2000", lambda day: False),
        (dp.col("day") >= Day(2024, 3, 1), lambda day: day >= Day(2024, 3, 1)),
        (dp.col("day").between("2021-01-01", Day(2021, 12, 31)), lambda day: day.year == 2021),
        ("season == 'late'", lambda day: day.year > 2022),
    ],
)
def test_conditions_compare_days(where: Any, wanted: Any) -> None:
    days = [Day(2020, 2, 29) + datetime.timedelta(at) for at in range(1768)]
    cells = {"day": np.array(days, "datetime64[D]"), "x": np.zeros(len(days))}
    data = dp.PrivateDataset(cells, SCHEMA, unit=dp.PUBLIC)
    query = dp.Count(where=where)
    assert exact_totals(data, query).item() == sum(map(wanted, days))
    again = dp.Count(where=str(query.where))  # a condition prints as text that means the same
    assert exact_totals(data, again).item() == sum(map(wanted, days))


def test_presence_is_asked_of_every_kind_of_column() -> None:
    schema = dp.Schema(
        r=dp.Real(5, 5), n=dp.Integer(-3, 9), d=dp.Date("2020-01-01", "2020-01-01"),
        c=dp.Categorical("a", "b"), u=dp.Categorical("a", "b", unknown="b"), z=dp.Real(),
    )  # fmt: skip
    cells = {
        "r": [None, 5.0, float("nan"), 1e300], "n": [None, 0, -9, "x"], "z": [1.5, None, 0.0, 1.0],
        "d": np.array(["NaT", "2020-01-01", "1999-01-01", "NaT"], "datetime64[D]"),
        "c": ["a", "x", None, "b"], "u": ["a", "x", None, "b"],
    }  # fmt: skip
    data = dp.PrivateDataset(cells, schema, unit=dp.PUBLIC)
    for name, count in {"r": 2, "n": 2, "d": 2, "c": 2, "u": 2, "z": 3}.items():
        found = [
            exact_totals(data, dp.Count(where=where)).item()
            for where in (f"{name} is not None", f"{name} is None", dp.col(name).is_present())
        ]
        assert found == [count, 4 - count, count], name
    assert str(dp.col("r").is_present()) == "r is not None"


BAD: dict[str, Any] = {
    "nothing": lambda: dp.Date(),
    "one": lambda: dp.Date("2020-01-01"),
    "a number": lambda: dp.Date(2020, 2024),
    "a moment": lambda: dp.Date(datetime.datetime(2020, 1, 1), "2021-01-01"),
    "no day": lambda: dp.Date("2023-02-29", "2024-01-01"),
    "a basic form": lambda: dp.Date("20230228", "2024-01-01"),
    "a week": lambda: dp.Date("2023-W01-1", "2024-01-01"),
    "the wrong way round": lambda: dp.Date("2024-01-02", "2024-01-01"),
    "too long": lambda: dp.Date("0001-01-01", "9999-12-31"),
    "fill outside": lambda: dp.Date("2020-01-01", "2020-12-31", fill="2021-01-01"),
    "a month of a number": lambda: SCHEMA.derive(other=dp.Month("x")),
    "a month of nothing": lambda: dp.Month(3),
    "a part in a schema": lambda: dp.Schema(month=dp.Month("day")),
    "a sum": lambda: dp.Sum("day").coded(SCHEMA, dp.Unit()),
    "cuts outside": lambda: SCHEMA.derive(other=dp.Bins("day", ["2019-01-01"])),
    "cuts that are no day": lambda: dp.Bins("day", ["2022-02-30"]),
    "compared with text": lambda: dp.Count(where="day >= 'March'").coded(SCHEMA, dp.Unit()),
    "compared with a number": lambda: dp.Count(where="day >= 19000").coded(SCHEMA, dp.Unit()),
    "a month compared with text": lambda: dp.Count(where="month == 'May'").coded(SCHEMA, dp.Unit()),
    "a moment compared": lambda: dp.col("day") >= datetime.datetime(2024, 1, 1),
    "presence of a part": lambda: dp.Count(where="month is None").coded(SCHEMA, dp.Unit()),
    "toml": lambda: dp.Schema.from_dict({"columns": {"d": {"type": "date", "first": "2020-01-01"}}}),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BAD))
def test_bad_declarations_are_told_in_a_sentence(name: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        BAD[name]()
    check_own_words(caught.value)


def test_dates_are_features_of_models_and_means_are_dates() -> None:
    from discreet.models.linear_model import LinearRegression

    draw = np.random.default_rng(0)
    numbers = draw.integers(day_of(Day(2020, 2, 29)), day_of(Day(2024, 12, 31)), 2000)
    days = numbers.astype("datetime64[D]")
    slope = (numbers - numbers.min()) / (numbers.max() - numbers.min())
    data = dp.PrivateDataset({"day": days, "x": slope}, SCHEMA, unit=dp.PUBLIC)
    model = LinearRegression(epsilon=100).fit(data, target="x", features=["day"])
    ends = np.array(["2020-02-29", "2024-12-31", "NaT"], "datetime64[D]")
    assert np.allclose(model.predict({"day": ends}), [0, 1, 0.5], atol=0.05)
    mean = data.release(dp.Mean("day"), dp.PureDP(10)).value
    assert abs(mean - numbers.mean()) < 3
    column = SCHEMA["day"]
    assert isinstance(column, dp.Date)
    assert column.to_date(mean) == date_of(int(mean // 1))

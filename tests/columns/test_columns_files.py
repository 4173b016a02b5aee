"""Schema files: every kind of column and every unit comes back from TOML as it was."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.columns import files
from discreet.schema import Parts, Tree
from profiles import max_examples

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
scales = st.sampled_from([None, "log", "linear"])


@st.composite
def reals(draw: Any) -> Any:
    bounds = st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-9)
    lower, fill, upper = sorted(draw(st.lists(bounds, min_size=3, max_size=3)))
    if lower == upper or upper - lower < 1e-9:
        return dp.Real()
    return dp.Real(lower, upper, fill=draw(st.sampled_from([None, fill])), scale=draw(scales))


@st.composite
def integers(draw: Any) -> Any:
    whole = st.integers(-(2**53), 2**53)
    lower, fill, upper = sorted(draw(st.lists(whole, min_size=3, max_size=3)))
    scale = (
        draw(scales) if max(abs(lower), abs(upper)) else None
    )  # nothing to take the logarithm of
    return dp.Integer(lower, upper, fill=draw(st.sampled_from([None, fill])), scale=scale)


@st.composite
def dates(draw: Any) -> Any:
    days = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))
    first, fill, last = sorted(draw(st.lists(days, min_size=3, max_size=3)))
    return dp.Date(first, last, fill=draw(st.sampled_from([None, fill])))


@st.composite
def categories(draw: Any) -> Any:
    numbers = st.integers(-(2**53), 2**53) | st.floats(-1e6, 1e6)
    kind = draw(st.sampled_from([words, numbers, st.booleans()]))
    values = draw(st.lists(kind, min_size=1, max_size=4, unique_by=lambda v: (type(v) is str, v)))
    return dp.Categorical(*values, unknown=draw(st.sampled_from([None, *values])))


columns = reals() | integers() | dates() | categories() | st.just(dp.Text())


@st.composite
def schemas(draw: Any) -> dp.Schema:
    """Any base columns, and each kind of derived column over some that are always there."""
    base = draw(st.dictionaries(words, columns, max_size=4))
    schema = dp.Schema(
        {
            **base,
            "%x": dp.Real(0, 10),
            "%day": dp.Date("2023-06-01", "2025-06-30"),
            "%sex": dp.Categorical("F", "M"),
        }
    )
    cut = draw(st.floats(0.5, 9.5))
    labels = draw(st.none() | st.lists(words, min_size=2, max_size=2, unique=True))
    derived: dict[str, Any] = {
        "%bins": dp.Bins("%x", [cut], labels=labels),
        "%nearest": dp.Nearest(["%x"], [(1.0,), (cut,)]),
        "%score": dp.Score({"%sex": [draw(st.integers(-5, 5)), 2]}, link=[3, 4], offset=-1),
        "%tree": Tree([("%x", cut)]),
        "%parts": Parts(["%sex"], 2),
        "%year": dp.Year("%day"),
        "%quarter": dp.Quarter("%day"),
        "%month": dp.Month("%day"),
        "%weekday": dp.Weekday("%day"),
    }
    for name in draw(st.sets(st.sampled_from(sorted(derived)))):
        schema = schema.derive(**{name: derived[name]})
    return schema


@st.composite
def units(draw: Any) -> dp.Unit | None:
    relation = draw(st.sampled_from([None, dp.ADD_REMOVE, dp.REPLACE_ONE, dp.PUBLIC]))
    if relation is None:
        return None
    if draw(st.booleans()):
        return dp.Unit(relation)
    return dp.Unit(relation, id_column=draw(words), max_rows=draw(st.integers(1, 10**6)))


@max_examples(120)
@given(schemas(), units())
def test_every_schema_and_unit_survives_a_file(
    tmp_path_factory: Any, schema: dp.Schema, unit: dp.Unit | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "facts.toml"
    schema.write(path, unit)
    again = dp.Schema.read(path)
    assert again == schema
    assert list(again) == list(schema)
    assert repr(again) == repr(schema)
    assert dp.Unit.read(path) == unit
    assert dp.Schema.from_toml(schema.to_toml(unit)) == schema
    assert dp.Unit.from_toml(schema.to_toml(unit)) == unit


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unit = 3", "the table .unit. has relation"),
        ("[unit]\nrelation = 'add_remove'\nrows = 3", "and nothing else"),
        (
            "[unit]\nid_column = 'p'\nmax_rows = 2",
            "relation = one of add_remove, replace_one, public",
        ),
        ("[unit]\nrelation = ['public']", "relation = one of"),
        ("[unit]\nrelation = 'add_remove'\nid_column = 'p'", "max_rows must be given"),
        ("[unit]\nrelation = 'add_remove'\nid_column = 'p'\nmax_rows = 0", "max_rows"),
        ("[unit]\nrelation = 'add_remove'\nid_column = 'p'\nmax_rows = 1.5", "max_rows"),
        ("[unit", "not a TOML file"),
    ],
)
def test_a_unit_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        dp.Unit.from_toml(text)


#: Each kind of column with all that a file can say of it.
EXAMPLES: dict[str, dict[str, Any]] = {
    "real": {"lower": 0.0, "upper": 9.0, "fill": 1.0, "scale": "log"},
    "integer": {"lower": 0, "upper": 9, "fill": 1, "scale": "log"},
    "categorical": {"values": ["m", "w"], "unknown": "m"},
    "text": {},
    "date": {"first": "2024-01-01", "last": "2024-12-31", "fill": "2024-05-01"},
    "logarithmic": {"source": {"type": "real", "lower": 0.0, "upper": 9000.0}},
    "bins": {"column": "x", "cuts": [1, 2], "labels": ["a", "b", "c"]},
    "nearest": {"columns": ["x"], "centres": [[1.0], [2.0]]},
    "score": {"tables": {"w": [0, 1]}, "link": [0, 1], "offset": 0},
    "tree": {"splits": [["x", 1.0]]},
    "parts": {"columns": ["x"], "parts": 2},
    "clamped": {"column": "x", "lower": 0.0, "upper": 1.0, "fill": 0.0},
    **{kind: {"column": "day"} for kind in ("year", "quarter", "month", "weekday")},
}
KINDS = {**files._BASE, **files._DERIVED}


def build(kind: str, options: dict[str, Any]) -> Any:
    read = files.base_column_from_dict if kind in files._BASE else files.derived_column_from_dict
    return read("c", {"type": kind, **options})


def test_the_examples_are_all_kinds_of_columns_with_all_their_options() -> None:
    assert {kind: set(options) for kind, options in EXAMPLES.items()} == {
        kind: allowed for kind, (_, allowed) in KINDS.items()
    }


@pytest.mark.parametrize("kind", EXAMPLES)
@pytest.mark.parametrize("wrong", ["ab", "abc", "m, w", "12", "2024-01-01", 5, {"a": 1}])
def test_text_is_never_taken_for_a_list_of_its_letters(kind: str, wrong: Any) -> None:
    build(kind, EXAMPLES[kind])
    for name, value in EXAMPLES[kind].items():
        if isinstance(value, list) and name != "columns":  # the name of one column is one
            with pytest.raises(ValueError, match="list"):
                build(kind, {**EXAMPLES[kind], name: wrong})


@pytest.mark.parametrize("kind", EXAMPLES)
def test_an_option_that_a_column_does_not_have_is_answered_with_those_it_has(kind: str) -> None:
    for wrong in ("max", "categories", "kind"):
        with pytest.raises(ValueError, match=f"can't have '{wrong}': a column of type '{kind}'"):
            build(kind, {**EXAMPLES[kind], wrong: 5})


def test_an_upper_bound_called_max_is_told_its_name() -> None:
    with pytest.raises(ValueError, match="Write 'upper' instead"):
        dp.Schema.from_toml("[columns.age]\ntype = 'integer'\nlower = 0\nmax = 5")


def test_a_file_that_begins_with_a_byte_order_mark_is_read(tmp_path: Any) -> None:
    path = tmp_path / "windows.toml"
    schema = dp.Schema(age=dp.Integer(0, 9))
    path.write_text(schema.to_toml(dp.Unit(dp.REPLACE_ONE)), encoding="utf-8-sig")
    assert dp.Schema.read(path) == schema
    assert dp.Unit.read(path) == dp.Unit(dp.REPLACE_ONE)


def test_a_schema_that_is_not_text_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "noise.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="isn't UTF-8"):
        dp.Schema.read(path)

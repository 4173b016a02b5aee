"""Schemas in files, and complaints about what was declared."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.schema import UnknownColumn
from profiles import max_examples

WEIRD = dp.Schema(
    {
        "education-num": dp.Integer(1, 16, fill=9),
        'quo"te': dp.Real(-0.1, 1e-5),
        "back\\slash": dp.Real(0, 1e20, fill=0.1),
        "日本 \t\n\x7f": dp.Categorical("Ä", 'a"b', "c\\d", "e\nf", "", "x = 1 # no", unknown=""),
        "a.b[c]": dp.Categorical(True, False),
        "number": dp.Categorical(1, 2.5, -(2**53), unknown=2.5),
        "self": dp.Integer(-(2**53), 2**53),
        "columns": dp.Real(4, 4),
    }
).derive(
    band=dp.Bins("education-num", [3, 9.5], labels=["low", "a 'middle'", "high"]),
    cluster=dp.Nearest(['quo"te', "education-num"], [(0, 1), (1e-6, 16)]),
    score=dp.Score({"band": [0, 1, -2], "a.b[c]": [5, 6]}, link=[3, 4], offset=-1),
    **{"of the score": dp.Bins("score", [3.5]), "self ": dp.Bins("self", [0])},
)


def test_weird_names_and_values_survive_a_file(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    WEIRD.write(path)
    again = dp.Schema.read(path)
    assert again == WEIRD
    assert list(again) == list(WEIRD)
    assert repr(again) == repr(WEIRD)
    assert [again.code(name) for name in again] == [WEIRD.code(name) for name in WEIRD]
    assert dp.Schema.from_dict(WEIRD.to_dict()) == WEIRD
    assert isinstance(again["a.b[c]"].values[0], bool)
    assert isinstance(again["education-num"].lower, int)


text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@max_examples(150)
@given(
    st.dictionaries(text, st.floats(-1e200, 1e200), min_size=1, max_size=4),
    st.lists(text, min_size=1, max_size=5, unique=True),
)
def test_any_names_and_numbers_survive_a_file(
    tmp_path_factory: Any, reals: dict[str, float], values: list[str]
) -> None:
    columns: dict[str, Any] = {
        name: dp.Real(min(0.0, v), max(0.0, v)) for name, v in reals.items() if abs(v) > 1e-200
    }
    schema = dp.Schema({**columns, "k": dp.Categorical(*values)})
    path = tmp_path_factory.getbasetemp() / "any.toml"
    schema.write(path)
    assert dp.Schema.read(path) == schema


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[columns", "not a TOML file"),
        ("x = 1", r"it can't have 'x'"),
        ("", r"tables \[columns.NAME\]"),
        ("columns = 3", r"needs tables such as \[columns.NAME\]"),
        ("[columns]", "at least one column"),
        ("[columns.a]\ntype = 'wavy'", "'a' needs type = one of real, integer, categorical"),
        ("[columns]\na = 3", "'a' needs type"),
        ("[columns.a]\ntype = 'real'\nupper = 3", "'a': dp.Real: lower must be given"),
        ("[columns.a]\ntype = 'real'\nlower = 1\nupper = 0", "lower must not exceed upper"),
        ("[columns.a]\ntype = 'real'\nlower = 'x'\nupper = 0", "lower must be a number"),
        ("[columns.a]\ntype = 'real'\nlowest = 1", "'a' can't have 'lowest'"),
        ("[columns.a]\ntype = 'categorical'", "needs its values"),
        ("[columns.a]\ntype = 'bins'", "'a' needs type"),
        (
            "[columns.a]\ntype = 'real'\nlower = 0\nupper = 9\n"
            "[derived.b]\ntype = 'bins'\ncolumn = 'c'\ncuts = [1]",
            "'c' is not in the schema",
        ),
        (
            "[columns.a]\ntype = 'real'\nlower = 0\nupper = 9\n[derived.b]\ntype = 'bins'",
            "schema: column 'b'",
        ),
    ],
)  # fmt: skip
def test_bad_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises((ValueError, KeyError), match=message):
        dp.Schema.read(path)


def test_bad_schemas() -> None:
    real = dp.Real(0, 1)
    with pytest.raises(ValueError, match="at least one column"):
        dp.Schema()
    with pytest.raises(ValueError, match="declared twice"):
        dp.Schema({"a": real}, a=real)
    for name in ("", 3, "\ud800"):
        with pytest.raises(TypeError, match="column names must be"):
            dp.Schema({name: real})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="column 'a' is derived"):
        dp.Schema(a=dp.Bins("x", [1]))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"column 'a' must be dp.Real.*never taken from the data"):
        dp.Schema(a=(0, 1))  # type: ignore[arg-type]
    schema = dp.Schema(a=real)
    with pytest.raises(ValueError, match="already a column 'a'"):
        schema.derive(a=dp.Bins("a", [0.5]))
    with pytest.raises(TypeError, match=r"'b' must be dp.Bins, dp.Nearest or dp.Score"):
        schema.derive(b=real)  # type: ignore[arg-type]
    with pytest.raises(UnknownColumn, match="column 'z' is not in the schema, which has: a"):
        schema["z"]
    assert schema.derive(self=dp.Bins("a", [0.5])).labels("self") == ("[0, 0.5)", "[0.5, 1]")
    assert "z" not in schema
    assert schema.get("z") is None
    assert len(schema) == 1


INF, NAN = float("inf"), float("nan")
BAD: list[tuple[Any, str]] = [
    (lambda: dp.Real(upper=3), "lower must be given"),
    (lambda: dp.Real(0), "upper must be given.*never taken from the data"),
    (lambda: dp.Real(0, INF), "upper must be finite"),
    (lambda: dp.Real(NAN, 1), "lower must be finite"),
    (lambda: dp.Real(0, 10**400), "upper must be finite"),
    (lambda: dp.Real("0", 1), "lower must be a number"),
    (lambda: dp.Real(False, 1), "lower must be a number"),
    (lambda: dp.Real(1, 0), "lower must not exceed upper"),
    (lambda: dp.Real(0, 1, fill=2), "fill must lie between"),
    (lambda: dp.Real(0, 1, fill=NAN), "fill must be finite"),
    (lambda: dp.Real(0, 1e-300), "upper - lower must lie between"),
    (lambda: dp.Real(0, 1e300), "upper - lower must lie between"),
    (lambda: dp.Real(1e-300, 1e-300), "bounds must be 0 or"),
    (lambda: dp.Integer(0, 1.5), "upper must be a whole number"),
    (lambda: dp.Integer(0, 2**53 + 1), "upper must be a whole number of at most 2"),
    (lambda: dp.Integer(0, 10**400), "upper must be finite"),
    (lambda: dp.Integer(3), "upper must be given"),
    (lambda: dp.Integer(2, 1), "lower must not exceed upper"),
    (lambda: dp.Integer(0, 3, fill=0.5), "fill must be a whole number"),
    (lambda: dp.Categorical(), "needs its values"),
    (lambda: dp.Categorical(["a", "b"]), r"dp.Categorical\(\*values\)"),
    (lambda: dp.Categorical("a", 1), "all text, or all numbers"),
    (lambda: dp.Categorical("a", None), "all text, or all numbers"),
    (lambda: dp.Categorical("a", "a"), "given twice"),
    (lambda: dp.Categorical(1, True), "given twice"),
    (lambda: dp.Categorical(NAN), "must be finite"),
    (lambda: dp.Categorical(2**53 + 1), r"at most 2\^53"),
    (lambda: dp.Categorical(10**400), r"at most 2\^53"),
    (lambda: dp.Categorical("\ud800"), "valid Unicode"),
    (lambda: dp.Categorical("a", unknown="b"), "unknown must be one of the values"),
    (lambda: dp.Bins("a", []), "cuts must be one or more increasing"),
    (lambda: dp.Bins("a", [2, 1]), "cuts must be one or more increasing"),
    (lambda: dp.Bins("a", [1, NAN]), "cuts must be finite"),
    (lambda: dp.Bins("a", ["1"]), "cuts must be a number"),
    (lambda: dp.Bins("a", [1], labels=["x"]), "labels must be 2 names"),
    (lambda: dp.Bins("a", [1], labels=["x", "x"]), "labels must be different"),
    (lambda: dp.Bins("a", [1], labels=["x", 3]), "labels must be different pieces of text"),
    (lambda: dp.Bins(3, [1]), "column must be the name"),
    (lambda: dp.Nearest([], [(1,)]), "at least one column and one centre"),
    (lambda: dp.Nearest(["a"], []), "at least one column and one centre"),
    (lambda: dp.Nearest(["a"], [(1, 2)]), "one value per column"),
    (lambda: dp.Nearest(["a"], [(NAN,)]), "centres must be finite"),
    (lambda: dp.Nearest([3], [(1,)]), "column must be the name"),
    (lambda: dp.Score({}, link=[1]), "at least one table"),
    (lambda: dp.Score({"a": [1]}, link=[]), "link with at least one value"),
    (lambda: dp.Score({"a": [1.5]}, link=[1]), "a table must be whole numbers"),
    (lambda: dp.Score({"a": [1]}, link=[0.5]), "link must be whole numbers"),
    (lambda: dp.Score({"a": [1]}, link=[1], offset=0.5), "offset must be whole"),
    (lambda: dp.Score([1], link=[1]), "tables must be a mapping"),
    (lambda: dp.Score({"a": [2**41]}, link=[1]), r"at most 2\^40"),
    (lambda: dp.Score({"a": [1]}, link=[2**21]), r"at most 2\^20"),
]


@pytest.mark.parametrize(("build", "message"), BAD, ids=itertools.count())
def test_bad_columns_name_their_argument(build: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        build()


BASE = dp.Schema(x=dp.Real(0, 10), n=dp.Integer(0, 5), s=dp.Categorical("a", "b"))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (dp.Bins("s", [1]), "column 's' must be numeric"),
        (dp.Bins("x", [0, 5]), "strictly between the bounds of 'x', 0 and 10"),
        (dp.Bins("x", [5, 10]), "strictly between"),
        (dp.Bins("x", [5, 5 + 1e-9]), "two cuts fall into one cell"),
        (dp.Bins("n", [1.5, 1.75]), "two cuts fall into one cell"),
        (dp.Nearest(["x", "s"], [(1, 1)]), "'s' must be dp.Real or dp.Integer"),
        (dp.Score({"s": [1]}, link=[1]), "table of 's' must have 2 entries"),
        (dp.Score({"x": [1]}, link=[1]), "column 'x' is real"),
        (dp.Bins("nothing", [1]), "'nothing' is not in the schema"),
    ],
)
def test_derived_columns_must_fit(column: Any, message: str) -> None:
    with pytest.raises((ValueError, KeyError), match=message):
        BASE.derive(new=column)


def test_what_is_derived_again_of_the_same_columns_is_the_same_schema() -> None:
    schema, old = dp.Schema(age=dp.Integer(0, 100)), dp.Bins("age", [65])
    young = dp.Bins("age", [18])
    larger = schema.derive(old=old)
    assert schema.derive(old=old) is larger
    assert schema.derive(elder=old) is not larger
    assert list(schema.derive(old=young).labels("old")) != list(larger.labels("old"))
    assert schema.derive(old=old, young=young).labels("young") == young.cells("young", schema)
    assert list(schema.derive()) == ["age"]
    for names in (("old", "young"), ("young", "old")):
        both = {name: {"old": old, "young": young}[name] for name in names}
        assert tuple(schema.derive(**both)) == ("age", *names)
    with pytest.raises(ValueError, match="already"):
        larger.derive(old=old)

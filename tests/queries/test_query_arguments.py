"""Complaints about queries name the argument; what is printed says what is asked."""

from __future__ import annotations

from typing import Any

import pytest

import discreet as dp

SCHEMA = dp.Schema(
    x=dp.Real(0, 10), n=dp.Integer(0, 5), s=dp.Categorical("a", "b"), wide=dp.Integer(0, 2**30)
).derive(points=dp.Score({"s": [0, 1]}, link=[-5, 10]))
UNIT = dp.Unit(dp.ADD_REMOVE)

BUILT_WRONG: list[tuple[Any, str]] = [
    (lambda: dp.Sum(3), "Sum: column must be the name"),
    (lambda: dp.Mean(None), "Mean: column must be the name"),
    (lambda: dp.Variance(["x"]), "Variance: column must be the name"),
    (lambda: dp.Quantile(3), "Quantile: column must be the name"),
    (lambda: dp.Moments(), "Moments needs the names"),
    (lambda: dp.Moments("x", "x"), "Moments needs the names of one or more different"),
    (lambda: dp.Moments(3), "Moments: column must be the name"),
    (lambda: dp.Gram(), "Gram needs the names"),
    (lambda: dp.Gram("x", "x"), "Gram needs the names of one or more different"),
    (lambda: dp.Gram(3), "Gram: column must be the name"),
    (lambda: dp.Histogram(), "Histogram needs the name"),
    (lambda: dp.Histogram("s", "s"), "by must be the names of different columns"),
    (lambda: dp.Count(by=["s", 3]), "by must be the names"),
    (lambda: dp.Count(by=["s", "s"]), "by must be the names of different"),
    (lambda: dp.Count(where=3), "where must be a condition"),
    (lambda: dp.Quantile("x", 1.5), "q must be between 0 and 1"),
    (lambda: dp.Quantile("x", -0.1), "q must be between 0 and 1"),
    (lambda: dp.Quantile("x", []), "q must be between 0 and 1"),
    (lambda: dp.Quantile("x", "half"), "q must be a finite number"),
    (lambda: dp.Quantile("x", float("nan")), "q must be a finite number"),
    (lambda: dp.Quantile("x", True), "q must be a number"),
]


@pytest.mark.parametrize(("build", "message"), BUILT_WRONG, ids=range(len(BUILT_WRONG)))
def test_bad_arguments(build: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        build()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (dp.Sum("s"), "Sum: column 's' must be dp.Real or dp.Integer"),
        (dp.Mean("s"), "Mean: column 's' must be"),
        (dp.Mean("points"), "Mean: column 'points' must be"),
        (dp.Variance("s"), "Variance: column 's' must be"),
        (dp.Moments("x", "s"), "Moments: column 's' must be"),
        (dp.Gram("s"), "Gram: column 's' must be"),
        (dp.Quantile("s"), "Quantile: column 's' must be"),
        (dp.Sum("nothing"), "'nothing' is not in the schema"),
        (dp.Count(by="nothing"), "'nothing' is not in the schema"),
        (dp.Count(by="x"), r"column 'x' is real.*dp.Bins\('x'"),
        (dp.Count(by="wide"), "column 'wide' has too many values"),
        (dp.Count(by="points"), "'points' is a score"),
        (dp.Count(by=[*"ns"], where="x > 'a'"), "'x' must be compared"),
    ],
)
def test_queries_that_do_not_fit_the_schema(query: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError, KeyError), match=message):
        query.coded(SCHEMA, UNIT)


def test_too_many_groups() -> None:
    schema = dp.Schema({f"n{i}": dp.Integer(0, 1000) for i in range(3)})
    with pytest.raises(ValueError, match="by: more than"):
        dp.Count(by=["n0", "n1", "n2"]).coded(schema, UNIT)


def test_repr_says_what_is_asked() -> None:
    assert repr(dp.Mean("x", by="s", where="n > 2")) == "Mean('x', by='s', where='n > 2')"
    assert repr(dp.Histogram("s", by="n")) == "Count(by=['n', 's'])"
    assert repr(dp.Quantile("x", [0.25, "1/3"])) == "Quantile('x', q=[1/4, 1/3])"
    assert repr(dp.Median("x")) == "Quantile('x', q=1/2)"


def test_labels_of_groups() -> None:
    assert dp.Count(by="s").labels(SCHEMA) == ["a", "b"]
    assert dp.Count(by=["s", "n"]).labels(SCHEMA)[:2] == [("a", 0), ("a", 1)]
    assert dp.Count().labels(SCHEMA) == [()]

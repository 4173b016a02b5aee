"""Edge cases of every estimator: predictions are finite, and no row makes anything raise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import answers, counts, features, schema_for, table_for

import discreet as dp
from discreet.testing import ESTIMATORS, Example

every = pytest.mark.parametrize("example", ESTIMATORS, ids=str)


def check(example: Example, x: Any, y: Any, schema: dp.Schema, **options: Any) -> None:
    estimator = example.build(schema=schema, **options).fit(x, y)
    width = len([name for name in schema.base if name != "y"])
    asked = features(table_for(example, 7, width=width, seed=9)).astype(object)
    asked[0] = None
    asked[1] = np.nan
    for found in (answers(estimator, asked), answers(estimator, asked[:1])):
        if example.target == "class":
            assert set(found.tolist()) <= {0, 1}
        else:
            assert np.all(np.isfinite(found.astype(float)))
    if hasattr(estimator, "predict_proba"):
        shares = estimator.predict_proba(asked)
        assert np.allclose(shares.sum(axis=1), 1)


@every
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows(example: Example, rows: int, delta: float) -> None:
    table = table_for(example, rows)
    check(example, features(table), table.get("y"), schema_for(example), delta=delta)


@pytest.mark.parametrize("example", [e for e in ESTIMATORS if e.target != "none"], ids=str)
def test_one_class_or_one_value_of_the_target(example: Example) -> None:
    table = table_for(example, 100)
    check(example, features(table), np.ones(100, np.int64), schema_for(example))


@every
def test_constant_columns(example: Example) -> None:
    table = table_for(example, 100)
    x = features(table)
    x[:, 1] = 0
    check(example, x, table.get("y"), schema_for(example), epsilon=100)
    x[:] = 0
    check(example, x, table.get("y"), schema_for(example), epsilon=100)


@every
def test_a_column_without_width(example: Example) -> None:
    table, schema = table_for(example, 100), schema_for(example)
    column: Any = dp.Categorical(0) if counts(example, 1) else dp.Real(0, 0)
    check(example, features(table), table.get("y"), schema.replace(x1=column))


#: No width, or a few doubles between the bounds.
NARROW = [dp.Real(2, 2), dp.Integer(3, 3), dp.Real(1e16, 1e16 + 4), dp.Real(1, 1 + 2**-52)]


@every
@pytest.mark.parametrize("column", NARROW, ids=str)
def test_narrow_columns(example: Example, column: dp.Real) -> None:
    if counts(example, 1):
        return  # categories have no width
    table, schema = table_for(example, 60), schema_for(example).replace(x1=column)
    check(example, features(table), table.get("y"), schema)


@pytest.mark.parametrize("example", [e for e in ESTIMATORS if e.target == "number"], ids=str)
@pytest.mark.parametrize("column", NARROW, ids=str)
def test_a_narrow_target(example: Example, column: dp.Real) -> None:
    table, schema = table_for(example, 60), schema_for(example).replace(y=column)
    for value in (column.lower, column.upper, 0):
        check(example, features(table), np.full(60, value), schema)


@every
def test_cells_of_any_kind(example: Example) -> None:
    table = table_for(example, 50)
    x = features(table).astype(object)
    schema = schema_for(example)
    x[:] = np.nan
    check(example, x, table.get("y"), schema)
    check(example, x.astype(float), table.get("y"), schema)
    x[::2] = None
    x[1, 0], x[3, 1], x[5, 2] = "text", 1e308, {"a": 1}
    x[7] = np.inf
    y: Any = table.get("y")
    if y is not None:
        y = y.astype(object)
        y[0], y[1], y[2] = None, "text", np.nan
    check(example, x, y, schema)


@every
@pytest.mark.parametrize("epsilon", [1e-4, 1e4])
@pytest.mark.parametrize("delta", [0, 1e-9])
def test_extreme_budgets(example: Example, epsilon: float, delta: float) -> None:
    table = table_for(example, 100)
    x, y = features(table), table.get("y")
    check(example, x, y, schema_for(example), epsilon=epsilon, delta=delta)


@every
@pytest.mark.parametrize("epsilon", [1e-4, pytest.param(1.0, marks=pytest.mark.slow)])
def test_five_hundred_columns(example: Example, epsilon: float) -> None:
    table = table_for(example, 40, width=500)
    if example.refuses:
        with pytest.raises(ValueError, match=example.refuses):
            example.build(schema=schema_for(example, width=500)).fit(
                features(table), table.get("y")
            )
        return
    check(example, features(table), table.get("y"), schema_for(example, width=500), epsilon=epsilon)


@pytest.mark.parametrize("example", [e for e in ESTIMATORS if e.features != "number"], ids=str)
def test_a_thousand_categories(example: Example) -> None:
    table = table_for(example, 300, categories=1000)
    check(example, features(table), table.get("y"), schema_for(example, categories=1000))


@every
@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_both_relations(example: Example, relation: Any) -> None:
    table = table_for(example, 100)
    check(example, features(table), table.get("y"), schema_for(example), unit=relation)

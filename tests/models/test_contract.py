"""What every estimator promises: its budget, its domain, its record, and scikit-learn's manners."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from examples import answers, features, schema_for, table_for
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import discreet as dp
from discreet import testing
from discreet.events import Compose
from discreet.testing import ESTIMATORS, Example

every = pytest.mark.parametrize("example", ESTIMATORS, ids=str)


def fitted(example: Example, rows: int = 200, **options: Any) -> Any:
    table = table_for(example, rows)
    estimator = example.build(schema=schema_for(example), **options)
    return estimator.fit(features(table), table.get("y"))


@every
def test_a_fit_costs_exactly_its_budget(example: Example) -> None:
    for epsilon, delta, limit in (
        ("1/3", 0, dp.PureDP("1/3")),
        (0.7, 1e-6, dp.ApproxDP(0.7, 1e-6)),
    ):
        ledger = dp.Ledger(limit=limit, accept_assumed=example.accept_assumed)
        estimator = fitted(example, epsilon=epsilon, delta=delta, ledger=ledger)
        assert estimator.privacy_.entry.event == estimator.privacy_.event
        assert len([e for e in ledger.entries() if e.kind == "charge"]) == 1
        assert ledger.entries()[-1].booked.epsilon <= limit.epsilon
        with pytest.raises(dp.BudgetExceeded):
            fitted(example, epsilon=epsilon, delta=delta, ledger=ledger)


@every
def test_the_plan_is_what_is_charged(example: Example) -> None:
    for delta in (0, 1e-6):
        estimator = fitted(example, epsilon=2, delta=delta)
        fresh = example.build(schema=schema_for(example), epsilon=2, delta=delta)
        plan = fresh.plan(rows=200)
        assert plan.event == estimator.privacy_.event
        assert plan.measure == estimator.privacy_.measure
        assert fresh.plan().event == plan.event
        for error in plan.noise.values():
            for part in error if isinstance(error, list) else [error]:
                assert np.all(np.isfinite(part))
                assert np.all(np.asarray(part) >= 0)


@every
def test_the_record_of_a_fit(example: Example) -> None:
    estimator = fitted(example)
    record = estimator.privacy_
    assert record.is_private
    assert record.unit == dp.Unit()
    assert record.claims
    assert "nothing adds up across such fits" in record.note
    assert record.certificate.splitlines()[0] == f"{record.measure!r} for: {record.unit}."
    with testing.fixed_noise(1):
        assert not fitted(example).privacy_.is_private
    table = table_for(example, 50)
    free = example.build(unit=dp.PUBLIC, epsilon=math.inf).fit(features(table), table.get("y"))
    assert not free.privacy_.is_private
    assert free.privacy_.entry is None
    assert free.privacy_.event == Compose()
    assert free.privacy_.certificate.startswith("NOT PRIVATE")


@every
def test_the_domain_is_declared_or_refused(example: Example) -> None:
    table = table_for(example, 20)
    x, y = features(table), table.get("y")
    with pytest.raises(ValueError, match="must be declared"):
        example.build().fit(x, y)
    with pytest.raises(ValueError, match=r"only with unit=dp.PUBLIC"):
        example.build(schema=schema_for(example), epsilon=math.inf).fit(x, y)
    for epsilon in (0, -1, "much"):
        with pytest.raises(ValueError, match="epsilon must be"):
            example.build(schema=schema_for(example), epsilon=epsilon).fit(x, y)
    with pytest.raises(ValueError, match="features"):
        example.build(schema=schema_for(example, width=5)).fit(x, y)


@every
def test_a_private_data_set_brings_everything(example: Example) -> None:
    table, schema = table_for(example, 100), schema_for(example)
    unit, accept = dp.Unit(dp.REPLACE_ONE), example.accept_assumed
    ledger = dp.Ledger(limit=dp.PureDP(3), unit=unit, accept_assumed=accept)
    data = dp.PrivateDataset(table, schema, ledger=ledger)
    estimator = example.build(epsilon=1).fit(data)
    assert estimator.privacy_.unit == dp.Unit(dp.REPLACE_ONE)
    assert not estimator.privacy_.note
    assert list(estimator.feature_names_in_) == ["x0", "x1", "x2"]
    frame = pd.DataFrame(table)[["x0", "x1", "x2"]]
    assert len(answers(estimator, frame)) == 100
    assert estimator.plan(data).event == estimator.privacy_.event
    for again in ({"schema": schema}, {"unit": dp.REPLACE_ONE}, {"ledger": ledger}):
        with pytest.raises(ValueError, match="must not be given with a PrivateDataset"):
            example.build(**again).fit(data)
    with pytest.raises(ValueError, match="y must not be given"):
        example.build().fit(data, np.zeros(100))
    with pytest.raises(ValueError, match="groups must not be given"):
        example.build().fit(data, groups=np.zeros(100))


@every
def test_groups_and_max_rows_belong_together(example: Example) -> None:
    table = table_for(example, 60)
    x, y, schema = features(table), table.get("y"), schema_for(example)
    unit = dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=2)
    with pytest.raises(ValueError, match="groups must be given"):
        example.build(schema=schema, unit=unit).fit(x, y)
    with pytest.raises(ValueError, match="groups needs a unit"):
        example.build(schema=schema).fit(x, y, groups=np.arange(60))
    with pytest.raises(ValueError, match="same number of rows"):
        example.build(schema=schema, unit=unit).fit(x, y, groups=np.arange(59))
    estimator = example.build(schema=schema, unit=unit).fit(x, y, groups=np.arange(60) // 3)
    assert estimator.privacy_.unit == unit
    assert estimator.privacy_.event == example.build(schema=schema, unit=unit).plan(rows=60).event


@every
def test_one_person_with_many_rows_counts_as_max_rows(example: Example) -> None:
    """Without noise, rows beyond those that count change nothing."""
    table, schema = table_for(example, 30), schema_for(example)
    unit = dp.Unit(dp.PUBLIC, "who", 1)
    ids = np.arange(30)
    x, y = features(table), table.get("y")
    one = example.build(schema=schema, unit=unit, epsilon=math.inf).fit(x, y, groups=ids)
    twice = example.build(schema=schema, unit=unit, epsilon=math.inf).fit(
        np.concatenate([x, x]), None if y is None else np.concatenate([y, y]), groups=[*ids, *ids]
    )
    assert np.array_equal(answers(one, x), answers(twice, x))


@every
def test_frames_name_their_target(example: Example) -> None:
    table, schema = table_for(example, 100), schema_for(example)
    frame = pd.DataFrame(table)
    frame["unused"] = "text that is never read"
    by_name = example.build(schema=schema, unit=dp.PUBLIC, epsilon=math.inf).fit(frame)
    only = frame[["x0", "x1", "x2"]]
    apart = example.build(schema=schema, unit=dp.PUBLIC, epsilon=math.inf).fit(only, table.get("y"))
    assert np.array_equal(answers(by_name, only), answers(apart, only))
    assert list(by_name.feature_names_in_) == ["x0", "x1", "x2"]
    with pytest.raises(ValueError, match="feature names should match"):
        answers(by_name, only[["x1", "x0", "x2"]])


@every
def test_parameters_are_never_written_to(example: Example) -> None:
    schema = schema_for(example)
    estimator = example.build(schema=schema, epsilon=2)
    before = {name: id(value) for name, value in estimator.get_params().items()}
    table = table_for(example, 50)
    estimator.fit(features(table), table.get("y"))
    assert {name: id(value) for name, value in estimator.get_params().items()} == before
    assert estimator.schema is schema


@every
def test_clone_and_copy_keep_the_ledger(example: Example) -> None:
    ledger = dp.Ledger(limit=dp.PureDP(1))
    estimator = example.build(schema=schema_for(example), ledger=ledger, epsilon="1/2")
    for other in (clone(estimator), copy.deepcopy(estimator)):
        assert other.ledger is ledger
        assert other.schema == estimator.schema


@every
def test_pickles(example: Example) -> None:
    estimator = fitted(example)
    x = features(table_for(example, 20, seed=5))
    again = pickle.loads(pickle.dumps(estimator))
    assert np.array_equal(answers(again, x), answers(estimator, x))
    assert again.privacy_ == estimator.privacy_


@every
def test_pipeline_and_grid_search(example: Example) -> None:
    table = table_for(example, 120)
    x, y = features(table), table.get("y")
    base = example.build(schema=schema_for(example))
    pipeline = make_pipeline(FunctionTransformer(), base).fit(x, y)
    assert len(answers(pipeline, x)) == 120
    search = GridSearchCV(
        pipeline,
        {f"{pipeline.steps[-1][0]}__epsilon": [1.0, 10.0]},
        cv=2,
        scoring=None if hasattr(base, "score") else lambda *_: 0.0,
        error_score="raise",
    )
    search.fit(x, y)
    assert len(answers(search.best_estimator_, x)) == 120


@pytest.mark.parametrize(
    "example", [e for e in ESTIMATORS if hasattr(e.kind, "transform")], ids=str
)
def test_set_output(example: Example) -> None:
    estimator = fitted(example)
    x = features(table_for(example, 20))
    frame = estimator.set_output(transform="pandas").transform(x)
    assert list(frame.columns) == list(estimator.get_feature_names_out())
    assert np.array_equal(frame.to_numpy(), fitted_output(estimator, x))


def fitted_output(estimator: Any, x: Any) -> Any:
    return estimator.set_output(transform="default").transform(x)


def test_bounds_are_numbers_or_one_for_each_feature() -> None:
    kinds = [example for example in ESTIMATORS if "bounds" in example.kind().get_params()]
    assert kinds
    for example in kinds:
        table = table_for(example, 40)
        x, y = features(table), table.get("y")
        domain: dict[str, Any] = {}
        if example.target == "class":
            domain = {"classes": [0, 1]}
        elif example.target == "number":
            domain = {"target_bounds": (0, 2)}
        wide = example.build(bounds=(0, 1), **domain)
        each = example.build(bounds=([0, 0, 0], [1, 1, 1]), **domain)
        assert each.plan().event == wide.plan(n_features=3).event
        assert wide.fit(x, y).privacy_.event == each.fit(x, y).privacy_.event
        with pytest.raises(ValueError, match="n_features must be given"):
            clone(wide).plan()
        for bounds in ((0,), 3, ([0, 0], [1, 1])):
            with pytest.raises(ValueError, match="bounds must"):
                example.build(bounds=bounds, **domain).fit(x, y)
        with pytest.raises(ValueError, match="must not both be given"):
            example.build(bounds=(0, 1), schema=schema_for(example)).fit(x, y)

"""What is planned is what is charged, and what is carried out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import features, learned, schema_for, table_for
from sklearn.base import clone

import discreet as dp
from discreet import testing
from discreet.models import FitPlan
from discreet.models.erm.features import FeatureMap
from discreet.models.inputs import open_input
from discreet.models.linear_model import LogisticRegression
from discreet.models.naive_bayes import GaussianNB
from discreet.models.svm import SVC
from discreet.testing import ESTIMATORS, Example

every = pytest.mark.parametrize("example", ESTIMATORS, ids=str)


def fit(example: Example, estimator: Any) -> dict[str, bytes]:
    """What a fit learns, with noise and public draws that are always the same."""
    table = table_for(example, 100)
    np.random.seed(0)
    with testing.fixed_noise(5):
        estimator.fit(features(table), table.get("y"))
    return learned(estimator)


@every
def test_a_plan_is_carried_out_as_it_was_made(
    example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Budgets are split once: whatever becomes of them after the plan changes nothing."""
    schema = schema_for(example)
    for delta in (0, 1e-6):
        undisturbed = fit(example, example.build(schema=schema, epsilon=2, delta=delta))
        estimator = example.build(schema=schema, epsilon=2, delta=delta)
        honest, made = type(estimator)._plan, []

        def plan(model: Any, *facts: Any, honest: Any = honest, made: Any = made) -> FitPlan:
            found: FitPlan = honest(model, *facts)
            made.append(found)
            model.epsilon, model.delta = 17, "1/3"
            return found

        with monkeypatch.context() as patch:
            patch.setattr(type(estimator), "_plan", plan)
            assert fit(example, estimator) == undisturbed
        assert len(made) == 1
        assert estimator.privacy_.event is made[0].event
        assert estimator.privacy_.measure is made[0].measure


@every
def test_a_plan_that_is_carried_out_again_leaves_the_first_model_as_it_was(
    example: Example,
) -> None:
    """Runs of a search share their plans: what one learned must not become another's."""
    table, first = table_for(example, 100), example.build(schema=schema_for(example), epsilon=2)
    second = clone(first)
    source = open_input(first, features(table), table.get("y"), None, None, None)
    plan = first._plan(source.facts, None)

    def carry_out(model: Any) -> None:
        again = open_input(model, features(table), table.get("y"), None, None, None)
        model._carry_out(plan, again)

    carry_out(first)
    before = learned(first)
    carry_out(second)
    assert learned(second) != before
    assert learned(first) == before


def test_a_plan_shows_what_is_asked_and_not_how_it_is_carried_out() -> None:
    plan = GaussianNB(bounds=(0, 1), classes=[0, 1], unit=dp.ADD_REMOVE).plan(n_features=2, rows=9)
    assert plan.unit == plan.facts.unit == dp.Unit()
    assert plan.recipe.query is plan.queries[0]
    assert plan.recipe.event == plan.event
    assert "recipe" not in repr(plan)
    assert "facts" not in repr(plan)
    assert str(plan.unit) in repr(plan)


def test_a_step_takes_other_features_of_the_same_bounds_alone() -> None:
    model = SVC(n_components=4, bounds=(0, 1), classes=[0, 1])
    plan = model.plan(n_features=2)
    step = plan.recipe
    assert not step.features.frequencies.any()  # none are drawn for a plan
    again = step.with_features(type(step.features)(step.features.inner, np.ones((2, 4)), True))
    assert again.event(plan.facts.schema, plan.unit) == plan.event
    for other in (FeatureMap(plan.facts.columns, True, 1), FeatureMap(plan.facts.columns, True, 2)):
        with pytest.raises(ValueError, match="features of other bounds"):
            step.with_features(other)
    flat = LogisticRegression(bounds=(0, 1), classes=[0, 1]).plan(n_features=2).recipe
    with pytest.raises(ValueError, match="features of other bounds"):
        flat.with_features(FeatureMap(plan.facts.columns, True, 100))

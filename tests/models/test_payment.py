"""Nothing is charged that can't be answered: every estimator, with extreme public parameters."""

from __future__ import annotations

import functools
import itertools
import random
from typing import Any

import numpy as np
import pytest
from examples import answers, counts, features, table_for

import discreet as dp
from discreet.models.linear_model import LogisticRegression
from discreet.models.svm import LinearSVC
from discreet.publish.perturb import perturb
from discreet.testing import ESTIMATORS, Example
from payment import BOUNDS, EPSILONS, answer_or_refusal, check_own_words, is_finite, open_ledger

every = pytest.mark.parametrize("example", ESTIMATORS, ids=str)
Pair = tuple[float, float]
#: Infinite by public choice: no ridge.
MAY_BE_INFINITE = {"C_"}


def declared(
    example: Example, width: int, bounds: Pair, rows: int = 30
) -> tuple[dp.Schema, dict[str, Any]] | None:
    """A schema with these bounds throughout, and rows that keep to it; None where they are refused."""
    low, high = bounds
    try:
        number = dp.Real(low, high)
    except ValueError as error:
        check_own_words(error)
        return None
    columns: dict[str, Any] = {
        f"x{j}": dp.Categorical(0, 1, 2) if counts(example, j) else number for j in range(width)
    }
    if example.target == "class":
        columns["y"] = dp.Categorical(0, 1)
    elif example.target == "number":
        columns["y"] = number
    table = table_for(example, rows, width)
    for name, column in columns.items():
        if column is number:
            share = np.clip(table[name] / (2 if name == "y" else 1), 0, 1)
            table[name] = low + (high - low) * share
    return dp.Schema(columns), table


def fit(
    example: Example, width: int, bounds: Pair, epsilon: float, delta: float, unit: dp.Relation
) -> Any:
    """A fitted estimator, or None: plan and fit agree, and a refused fit costs nothing."""
    found = declared(example, width, bounds)
    if found is None:
        return None
    schema, table = found
    ledger = open_ledger(unit, accept_assumed=True)
    estimator = example.build(schema=schema, epsilon=epsilon, delta=delta, ledger=ledger)
    plan = answer_or_refusal(lambda: dict(estimator.plan(rows=30).noise), ledger)

    def learn() -> Any:
        estimator.fit(features(table), table.get("y"))
        learned = {k: v for k, v in vars(estimator).items() if k.endswith("_")}
        kinds = np.ndarray | float | list
        return [v for k, v in learned.items() if isinstance(v, kinds) and k not in MAY_BE_INFINITE]

    learned = answer_or_refusal(learn, ledger)
    assert (plan is None) == (learned is None)
    if learned is None:
        return None
    assert is_finite(answers(estimator, features(table)))
    if hasattr(estimator, "predict_proba"):
        assert is_finite(estimator.predict_proba(features(table)))
    return estimator


@every
def test_a_fit_is_finite_or_refused_before_the_charge(example: Example) -> None:
    draw = random.Random(str(example))
    for epsilon, bounds in ((1e-9, (0.0, 1.0)), (1e30, (-1e100, 1e100))):
        unit = draw.choice([dp.ADD_REMOVE, dp.REPLACE_ONE])
        delta = draw.choice([0, 1e-6])
        found = fit(example, draw.choice([1, 2]), bounds, epsilon, delta, unit)
        assert epsilon < 1 or found is not None  # large budgets are not simply refused


@pytest.mark.slow
@every
def test_fits_are_finite_or_refused_before_the_charge(example: Example) -> None:
    draw = random.Random(str(example))
    answered = 0
    for _ in range(40):
        width = draw.choice([1, 3, 40])
        case = (width, draw.choice(BOUNDS), draw.choice(EPSILONS), draw.choice([0, 1e-6]))
        answered += fit(example, *case, draw.choice([dp.ADD_REMOVE, dp.REPLACE_ONE])) is not None
    assert answered  # not all is refused


#: They ask for the products of all pairs of columns: two million at 2000 columns, in gigabytes.
ALL_PAIRS = {
    "PCA(n_components=1)",
    "LinearRegression()",
    "LinearRegression(method='functional')",
    "LogisticRegression(method='functional')",
    "Ridge(alpha=0.5)",
}
WIDE = [(example, 500) for example in ESTIMATORS]
WIDER = [(example, 2000) for example in ESTIMATORS if str(example) not in ALL_PAIRS]


def test_all_but_those_that_ask_for_all_pairs_are_planned_for_2000_columns() -> None:
    assert len(WIDER) == len(WIDE) - len(ALL_PAIRS)


@pytest.mark.slow
@pytest.mark.parametrize(("example", "width"), [*WIDE, *WIDER], ids=str)
def test_plans_for_many_columns_are_made_or_refused(example: Example, width: int) -> None:
    found = declared(example, width, (0.0, 1.0), rows=2)
    assert found is not None
    plans = []
    for epsilon in (1e-7, 1e30):
        estimator = example.build(schema=found[0], epsilon=epsilon)
        plans.append(answer_or_refusal(lambda: dict(estimator.plan(rows=30).noise), None))  # noqa: B023
    # not all is refused, unless so many columns are by a public rule
    assert any(plan is not None for plan in plans) == (not example.refuses)


def test_objective_perturbation_with_a_tiny_budget_is_refused_before_the_charge() -> None:
    for epsilon, width in ((1e-9, 3), (1e-30, 1), (1e-7, 500)):
        names = {f"x{j}": dp.Real(0, 1) for j in range(width)}
        schema = dp.Schema({**names, "y": dp.Categorical(0, 1)})
        ledger = open_ledger(dp.ADD_REMOVE)
        model = LogisticRegression(epsilon=epsilon, schema=schema, ledger=ledger)
        x, y = np.zeros((4, width)), np.array([0, 1, 0, 1])
        for act in (lambda: model.fit(x, y), model.plan):  # noqa: B023
            with pytest.raises(ValueError, match=r"larger budget"):
                act()
        assert ledger.spent() == dp.ApproxDP(0, 0)


def test_objective_perturbation_with_a_huge_budget_is_answered() -> None:
    draw = np.random.default_rng(0)
    x = draw.random((400, 2))
    y = (x[:, 0] > 0.5).astype(int)
    for kind, delta in ((LogisticRegression, 0), (LinearSVC, 1e-6)):
        model = kind(epsilon=1e30, delta=delta, bounds=(0, 1), classes=[0, 1]).fit(x, y)
        assert np.isfinite(model.coef_).all()
        assert (model.predict(x) == y).mean() > 0.9


@pytest.mark.parametrize("noise", ["exact", "norm-gamma"])
@pytest.mark.parametrize("method", ["objective", "output"])
def test_risk_is_minimised_with_finite_weights_or_refused_before_the_charge(
    method: str, noise: str
) -> None:
    example = Example("linear_model.LogisticRegression", {"method": method, "noise": noise})
    found = [fit(example, 2, (0.0, 1.0), epsilon, 0, dp.ADD_REMOVE) for epsilon in EPSILONS]
    assert found[0] is None
    assert all(model is not None for model in found[4:])


@pytest.mark.parametrize("kind", ["grid", "norm-gamma"])
def test_published_rows_are_finite_or_refused_before_the_charge(kind: Any) -> None:
    table = {"x": np.linspace(0, 1, 5), "z": np.zeros(5), "y": [0, 1, 0, 1, 0]}
    ledger = open_ledger(dp.REPLACE_ONE, accept_assumed=True)
    answered = 0
    for epsilon, bounds, delta in itertools.product(EPSILONS, BOUNDS, (0, 1e-6)):
        try:
            number = dp.Real(*bounds)
        except ValueError:
            continue
        schema = dp.Schema(x=number, z=dp.Real(0, 1), y=dp.Categorical(0, 1))
        data = dp.PrivateDataset(table, schema, ledger=ledger)
        chosen = {"epsilon": epsilon, "delta": delta, "kind": kind}
        act = functools.partial(perturb, data, target="y", **chosen)
        answered += answer_or_refusal(act, ledger) is not None
    assert answered > 30
    many = dp.PrivateDataset(table, schema, ledger=ledger, rows=10**15)
    assert answer_or_refusal(lambda: perturb(many, epsilon=1), ledger) is None


def test_more_shrinkage_than_the_solver_can_follow_is_refused_before_the_charge() -> None:
    ledger = open_ledger(dp.ADD_REMOVE)
    x, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    model = LogisticRegression(epsilon=1, bounds=(0, 1), classes=[0, 1], alpha=1e30, ledger=ledger)
    with pytest.raises(ValueError, match="alpha must be at most"):
        model.fit(x, y)
    assert ledger.spent() == dp.ApproxDP(0, 0)

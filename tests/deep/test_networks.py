"""Networks for tables: scikit-learn's manners, and the door."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import discreet as dp
from discreet.deep import MLPClassifier, MLPRegressor
from discreet.models import PrivateEstimator

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[3] / "shared" / "data"))
SCHEMA = dp.Schema(a=dp.Real(-1, 1), b=dp.Categorical("x", "y"), y=dp.Categorical("no", "yes"))


def table(rows=2000):
    draw = np.random.default_rng(0)
    a, b = draw.uniform(-1, 1, rows), draw.choice(["x", "y"], rows)
    y = np.where(a + 0.5 * (b == "x") > 0.2, "yes", "no")
    return {"a": a, "b": b, "y": y}


@pytest.mark.long
@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
def test_scikit_learns_checks_pass(kind):
    model = kind(unit=dp.PUBLIC, epsilon=math.inf, steps=40, sampling_rate=1, learning_rate=0.1)
    check_estimator(model, on_skip=None)


def test_a_classifier_learns_and_charges_its_budget():
    rows = table()
    ledger = dp.Ledger(limit=dp.ApproxDP(2, 1e-6))
    data = dp.PrivateDataset(rows, SCHEMA, ledger=ledger)
    model = MLPClassifier(epsilon=2, delta=1e-6, steps=60, expected_rows=2000, learning_rate=0.05)
    assert isinstance(model, PrivateEstimator)
    model.fit(data)
    given = {name: rows[name] for name in ("a", "b")}
    assert (model.predict(given) == rows["y"]).mean() > 0.85
    assert model.predict_proba(given).sum(axis=1) == pytest.approx(1)
    assert model.privacy_.entry.event == model.plan(data).event
    with pytest.raises(dp.BudgetExceeded):
        model.fit(data)


def test_a_regressor_stays_between_its_bounds():
    rows = table()
    schema = dp.Schema(a=dp.Real(-1, 1), b=dp.Categorical("x", "y"), y=dp.Real(0, 3))
    rows["y"] = np.clip(1.5 + rows["a"], 0, 3)
    ledger = dp.Ledger(limit=dp.ApproxDP(2, 1e-6))
    model = MLPRegressor(epsilon=2, delta=1e-6, steps=60, learning_rate=0.05, hidden="wavelet")
    model.fit(dp.PrivateDataset(rows, schema, ledger=ledger))
    found = model.predict({name: rows[name] for name in ("a", "b")})
    assert found.min() >= 0
    assert found.max() <= 3
    assert np.corrcoef(found, rows["y"])[0, 1] > 0.8
    widths = [each.out_features for each in model.network_ if hasattr(each, "out_features")]
    assert widths == [16, 18, 20, 24, 1]


def test_a_plan_that_is_carried_out_again_begins_with_the_first_weights():
    """Whoever shares a plan, as runs of a search do, must not go on where another one ended."""
    data = dp.PrivateDataset(table(50), SCHEMA, ledger=dp.Ledger(limit=dp.ApproxDP(9, 1e-5)))
    first = MLPClassifier(epsilon=1, delta=1e-6, steps=3, hidden=[4])
    plan = first.plan(data)
    beginning = [each.detach().clone() for each in plan.recipe.network.parameters()]
    networks = []
    for _ in range(2):
        with data.prepaid(plan.event, plan.measure) as door:
            networks.append(plan.recipe.run(door))
    kept = zip(beginning, plan.recipe.network.parameters(), strict=True)
    assert all(bool((before == now).all()) for before, now in kept)
    pairs = zip(networks[0].parameters(), networks[1].parameters(), strict=True)
    assert not any(bool((one == other).all()) for one, other in pairs)


@pytest.mark.parametrize("rows", [0, 1])
def test_next_to_no_rows_give_a_network(rows):
    given = {name: values[:rows] for name, values in table().items()}
    data = dp.PrivateDataset(given, SCHEMA, ledger=dp.Ledger(limit=dp.ApproxDP(1, 1e-6)))
    model = MLPClassifier(epsilon=1, delta=1e-6, steps=3).fit(data)
    assert set(model.predict({"a": [0.5], "b": ["x"]})) <= {"no", "yes"}


def test_units_that_samples_do_not_protect_are_refused():
    ledger = dp.Ledger(limit=dp.ApproxDP(1, 1e-6), unit=dp.REPLACE_ONE)
    data = dp.PrivateDataset(table(20), SCHEMA, ledger=ledger)
    with pytest.raises(ValueError, match="ADD_REMOVE"):
        MLPClassifier(epsilon=1, delta=1e-6).fit(data)


#: Bounds that anyone knows.
NUMBERS = {
    "age": (17, 90),
    "fnlwgt": (0, 1_500_000),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 4_356),
    "hours-per-week": (1, 99),
}


@pytest.mark.slow
def test_adult_is_learned_as_well_as_was_promised():
    pd = pytest.importorskip("pandas")
    if not (DATA / "adult_train.csv.gz").exists():
        pytest.skip("the tables are not here; set DISCREET_DATA")
    train, test = (pd.read_csv(DATA / f"adult_{part}.csv.gz") for part in ("train", "test"))
    columns = {}
    for name in train:
        if name in NUMBERS:
            columns[name] = dp.Integer(*NUMBERS[name])
        else:  # the categories are in the census' own documentation
            values = set(train[name].dropna()) | set(test[name].dropna())
            columns[name] = dp.Categorical(*sorted(map(str, values)))
    ledger = dp.Ledger(limit=dp.ApproxDP(1, 1e-6))
    data = dp.PrivateDataset(train, dp.Schema(columns), ledger=ledger)
    model = MLPClassifier(epsilon=1, delta=1e-6, expected_rows=32_000).fit(data, target="income")
    right = model.predict(test.drop(columns=["income"])) == test["income"].astype(str)
    assert right.mean() >= 0.845

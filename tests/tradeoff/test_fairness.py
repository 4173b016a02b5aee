"""Fairness by group: exact for public rows, charged for private ones, and what privacy adds to a gap."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import discreet as dp
from discreet.models.naive_bayes import MixedNB
from discreet.testing import fixed_noise
from discreet.tradeoff import Fairness, fairness
from discreet.tradeoff.fairness import FIGURES, Counts

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[3] / "shared" / "data"))
SCHEMA = dp.Schema(x=dp.Integer(0, 9), g=dp.Categorical("a", "b"), y=dp.Categorical(0, 1))


def rows(count: int, seed: int = 0) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    x = draw.integers(0, 10, count)
    groups = draw.choice(["a", "b"], count, p=[0.7, 0.3]).astype(object)
    noise = np.where(groups == "a", 1.0, 3.0)
    return {"x": x, "g": groups, "y": (x + noise * draw.normal(size=count) > 5).astype(int)}


class Steps:
    """A public model: the share of x."""

    classes_ = np.array([0, 1])
    n_features_in_ = 1

    def predict(self, X: Any) -> Any:
        return (np.asarray(X, float)[:, 0] >= 4.5).astype(int)

    def predict_proba(self, X: Any) -> Any:
        share = np.asarray(X, float)[:, 0] / 9
        return np.column_stack([1 - share, share])


def test_figures_on_public_rows_are_those_of_a_slow_loop():
    table = rows(2000)
    found = fairness(Steps(), dp.PrivateDataset(table, SCHEMA, unit=dp.PUBLIC), "g")
    share = table["x"] / 9
    for at, label in enumerate("ab"):
        here = table["g"] == label
        y, p = table["y"][here], share[here]
        chosen = p >= 0.5
        centre = (np.minimum((p * 10).astype(int), 9) + 0.5) / 10
        wanted = {
            "accuracy": (chosen == y).mean(),
            "selection rate": chosen.mean(),
            "true positive rate": chosen[y == 1].mean(),
            "false positive rate": chosen[y == 0].mean(),
            "calibration": y.mean() - centre.mean(),
        }
        for figure in FIGURES:
            assert found.model.rate(at, figure).value == pytest.approx(wanted[figure]), figure
    values = [found.model.rate(at, "accuracy").value for at in range(2)]
    assert found.gap("accuracy").value == pytest.approx(abs(values[0] - values[1]))
    assert found.is_public
    assert "NOT PRIVATE" in str(found)


def test_private_rows_without_a_budget_are_refused_and_public_ones_cost_nothing():
    ledger = dp.Ledger(limit=dp.PureDP(1))
    data = dp.PrivateDataset(rows(100), SCHEMA, ledger=ledger)
    with pytest.raises(ValueError, match="budget must be given for private rows"):
        fairness(Steps(), data, "g")
    assert ledger.spent() == dp.PureDP(0)
    public = dp.PrivateDataset(rows(100), SCHEMA, unit=dp.PUBLIC)
    with pytest.raises(ValueError, match="budget is for private rows"):
        fairness(Steps(), public, "g", budget=dp.PureDP(1))
    with pytest.raises(TypeError, match=r"dp\.PrivateDataset"):
        fairness(Steps(), rows(10), "g")
    found = fairness(Steps(), data, "g", twin=Steps(), budget=dp.PureDP("1/4"))
    assert ledger.spent() == dp.PureDP("1/2")
    assert found.charged == (dp.PureDP("1/4"),) * 2
    assert not found.is_public
    assert "2 noised histogram(s), each charged" in found.origin
    with pytest.raises(
        ValueError, match=r"fairness would cost ε = 0\.6 in 2 charges, and ε = 0\.5 is left"
    ):
        fairness(Steps(), data, "g", twin=Steps(), budget=dp.PureDP("3/10"))
    assert ledger.spent() == dp.PureDP("1/2")  # the first alone would have fitted


def test_the_stated_error_is_that_of_noise_and_sampling():
    """Figures of private rows lie within two stated deviations of the truth about 95 of 100 times.

    Over ten other ranges of 60 seeds, between 0.94 and 0.962 of the 600 figures did, and between 0.662 and
    0.707 within half of that.
    """
    truth = fairness(Steps(), dp.PrivateDataset(rows(200_000, 99), SCHEMA, unit=dp.PUBLIC), "g")
    near = {1.96: 0, 0.98: 0}
    tried = 0
    ledger = dp.Ledger(limit=dp.PureDP(6))
    for seed in range(60):
        data = dp.PrivateDataset(rows(1500, seed), SCHEMA, ledger=ledger)
        with fixed_noise(seed):
            found = fairness(Steps(), data, "g", budget=dp.PureDP("1/10"))
        for at in range(2):
            for figure in FIGURES:
                rate = found.model.rate(at, figure)
                far = abs(rate.value - truth.model.rate(at, figure).value)
                tried += 1
                for deviations in near:
                    near[deviations] += far <= deviations * rate.stderr
    assert near[1.96] >= 0.91 * tried
    assert near[0.98] <= 0.78 * tried


def test_groups_that_noise_hides_have_no_figures_and_none_are_made_up():
    cells = np.zeros((2, 2, 10))
    cells[0] = 50
    cells[1] = 0.4
    noised = Counts(cells, 2.0)
    assert math.isnan(noised.rate(1, "accuracy").value)
    assert noised.rate(0, "accuracy").value == 0.5
    found = Fairness("g", ("a", "b"), "1", noised, None, False, (dp.PureDP(1),))
    assert math.isnan(found.gap("accuracy").value)
    assert [row[3] for row in found.to_table().rows if row[0] == "b"] == [None] * len(FIGURES)
    with pytest.raises(ValueError, match="there is no twin"):
        found.gap("accuracy", of_twin=True)
    with pytest.raises(KeyError, match="no figure"):
        noised.rate(0, "beauty")
    sure = Counts(np.eye(2)[None].repeat(2, 0) * 100, 0.0)
    assert sure.rate(0, "accuracy").value == 1
    assert sure.rate(0, "accuracy").stderr > 0, "a share of 1 is never certain"


def test_no_rows_and_json():
    data = dp.PrivateDataset(rows(0), SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(1)))
    empty = fairness(Steps(), data, "g", budget=dp.PureDP(1))
    public = dp.PrivateDataset(rows(50), SCHEMA, unit=dp.PUBLIC)
    for found in (empty, fairness(Steps(), public, "g", twin=Steps())):
        again = Fairness.from_json(found.to_json())
        assert again.to_json() == found.to_json()
        assert str(again.to_table()) == str(found.to_table())
        text = found.to_json().replace('"is_public": ', '"is_public": 1, "x": ')
        with pytest.raises(ValueError, match="changed or cut"):
            Fairness.from_json(text)


def adult() -> tuple[dict[str, Any], dict[str, Any], dp.Schema, str]:
    """Adult by race; its training part with 8000 rows."""
    pd = pytest.importorskip("pandas")
    parts = [pd.read_csv(DATA / f"adult_{part}.csv.gz") for part in ("train", "test")]
    bounds = {"age": (17, 90), "education-num": (1, 16), "hours-per-week": (1, 99)}
    names = [*bounds, "relationship", "race", "income"]
    columns = {
        name: dp.Integer(*bounds[name])
        if name in bounds
        else dp.Categorical(*sorted(set(parts[0][name]) | set(parts[1][name])))
        for name in names
    }
    train, test = (part[names] for part in parts)
    return train[:8000].to_dict("list"), test[:6000].to_dict("list"), dp.Schema(columns), "race"


def tumours() -> tuple[dict[str, Any], dict[str, Any], dp.Schema, str]:
    """Scikit-learn's tumours, with the tenth of the largest smoothness as a small group."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    edge = np.quantile(X[:, 4], 0.9)
    table = {f"x{j}": X[order, j] for j in (0, 1, 7)}
    table["g"] = np.where(X[order, 4] > edge, "small", "large").astype(object)
    table["y"] = y[order]
    columns: dict[str, Any] = {
        name: dp.Real(float(table[name].min()), float(table[name].max()))
        for name in ("x0", "x1", "x7")
    }
    schema = dp.Schema(
        {**columns, "g": dp.Categorical("large", "small"), "y": dp.Categorical(0, 1)}
    )
    parts = [
        {key: value[part] for key, value in table.items()}
        for part in (slice(300), slice(300, None))
    ]
    return parts[0], parts[1], schema, "g"


def losses(source: Any, epsilon: float, seeds: range) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Rows, mean loss of accuracy by group, and the gap that privacy added at each seed."""
    train, test, schema, group = source
    data = dp.PrivateDataset(train, schema, unit=dp.PUBLIC)
    held = dp.PrivateDataset(test, schema, unit=dp.PUBLIC)
    twin = MixedNB(epsilon=math.inf).fit(data)
    lost, added = [], []
    for seed in seeds:
        with fixed_noise(seed):
            model = MixedNB(epsilon=epsilon).fit(data)
        found = fairness(model, held, group, twin=twin)
        assert found.twin is not None
        groups = range(len(found.labels))
        before, after = (
            [c.rate(at, "accuracy").value for at in groups] for c in (found.twin, found.model)
        )
        lost.append(np.subtract(before, after))
        added.append(found.gap("accuracy").value - found.gap("accuracy", of_twin=True).value)
    return found.model.rows, np.mean(lost, axis=0), added


@pytest.mark.parametrize(("source", "epsilon"), [(adult, 0.02), (tumours, 0.3)])
def test_noise_takes_more_from_small_groups(source, epsilon):
    """The survey's section 5.2, shown: with little ε the accuracy of a small group falls furthest.

    Over four other ranges of eight seeds privacy added between 0.15 and 0.23 to the gap on Adult (0.18 and
    0.26 on tumours), and the small group that lost most lost 0.07 (0.16) more than the largest, or further.
    """
    if source is adult and not (DATA / "adult_train.csv.gz").exists():
        pytest.skip("the data set is not here; scikit-learn's stands in")
    rows_of_groups, lost, added = losses(source(), epsilon, range(400, 408))
    largest = int(np.argmax(rows_of_groups))
    assert max(np.delete(lost, largest)) > lost[largest] + 0.03
    assert np.mean(added) > 0.05

"""Noised scores: their values without noise, their sensitivity, their intervals, their price."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from examples import features, schema_for, table_for
from sklearn import metrics as others

import discreet as dp
from discreet import mechanisms
from discreet.guarantees.model_selection.attacks import METRICS as KINDS
from discreet.guarantees.model_selection.attacks import UNITS, moved
from discreet.models.linear_model import LogisticRegression, Ridge
from discreet.models.metrics import (
    AUC,
    METRICS,
    LogLoss,
    Metric,
    Precision,
    Recall,
    ScoredRows,
    private_score,
)
from discreet.models.metrics.scoring import BLOCK, blocks
from discreet.models.naive_bayes import GaussianNB, MixedNB
from discreet.step import CodedRows
from discreet.testing import ESTIMATORS, Example, fixed_noise

EXACT = dp.PureDP(math.inf)
SCHEMA = dp.Schema(x=dp.Real(0, 1), z=dp.Integer(0, 9), y=dp.Categorical("no", "yes"))


def logistic_answers(n: int = 4000, seed: int = 0) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    x, z = draw.random(n), draw.integers(0, 10, n)
    share = 1 / (1 + np.exp(-6 * (x - 0.5) - 0.3 * (z - 4.5)))
    y = np.where(draw.random(n) < share, "yes", "no").astype(object)
    return {"x": x, "z": z, "y": y}


@pytest.fixture(scope="module")
def model() -> Any:
    data = dp.PrivateDataset(logistic_answers(), SCHEMA, unit=dp.PUBLIC)
    return LogisticRegression(epsilon=math.inf).fit(data)


def public(table: Any, schema: dp.Schema = SCHEMA) -> dp.PrivateDataset:
    return dp.PrivateDataset(table, schema, unit=dp.PUBLIC)


def test_without_noise_they_are_the_usual_ones(model: Any) -> None:
    table = logistic_answers(seed=1)
    frame = pd.DataFrame(table)[["x", "z"]]
    shares = model.predict_proba(frame)
    truth, told = table["y"].astype(str), model.predict(frame).astype(str)
    wanted = {
        "accuracy": others.accuracy_score(truth, told),
        "log_loss": others.log_loss(truth, np.clip(shares, 0.001, 1)),
        "auc": others.roc_auc_score(truth, shares[:, 1]),
        "precision": others.precision_score(truth, told, pos_label="yes"),
        "recall": others.recall_score(truth, told, pos_label="yes"),
        "f1": others.f1_score(truth, told, pos_label="yes"),
    }
    data = public(table)
    for name, value in wanted.items():
        found = private_score(model, data, name, EXACT)
        assert found.value == pytest.approx(value, abs=2e-3 if name == "auc" else 1e-4)
        assert not found.is_private
        assert found.stderr == 0
    fine = private_score(model, data, AUC(4096), EXACT)
    assert fine.value == pytest.approx(wanted["auc"], abs=1e-5)
    assert private_score(model, data, LogLoss(0.3), EXACT).value < wanted["log_loss"]
    missed = private_score(model, data, Recall("no"), EXACT)
    assert missed.value == pytest.approx(others.recall_score(truth, told, pos_label="no"))
    assert missed.totals.sum() == len(truth)


def test_for_numbers_too() -> None:
    draw = np.random.default_rng(3)
    x = draw.random((3000, 2))
    y = x @ [1.0, 0.5] + 0.1 * draw.normal(size=3000)
    schema = dp.Schema(a=dp.Real(0, 1), b=dp.Real(0, 1), y=dp.Real(0, 2))
    table = {"a": x[:, 0], "b": x[:, 1], "y": y}
    model = Ridge(epsilon=math.inf).fit(public(table, schema))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1]})
    inside = np.clip(y, 0, 2)
    predicted = np.clip(model.predict(frame), 0, 2)
    for name, other in (
        ("mean_squared_error", others.mean_squared_error),
        ("mean_absolute_error", others.mean_absolute_error),
    ):
        found = private_score(model, public(table, schema), name, EXACT)
        assert found.value == pytest.approx(other(inside, predicted), rel=1e-4)
    flat = dp.Schema(a=dp.Real(0, 1), b=dp.Real(0, 1), y=dp.Real(1, 1))
    assert private_score(model, public(table, flat), "mean_squared_error", EXACT).value == 0


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("metric", KINDS, ids=repr)
def test_one_person_moves_the_sums_by_the_sensitivity_at_most(
    metric: Metric, unit: dp.Unit
) -> None:
    result = moved(metric, unit)
    assert not result.is_violated
    found, allowed = (int(word) for word in result.event.split() if word.isdigit())
    assert found > 0.5 * allowed  # and not by much less


@pytest.mark.parametrize("name", ["accuracy", "log_loss", "auc", "precision", "recall", "f1"])
def test_intervals_cover_as_often_as_they_say(model: Any, name: str) -> None:
    table = logistic_answers(800, seed=2)
    truth = private_score(model, public(table), name, EXACT).value
    ledger = dp.Ledger(limit=dp.PureDP(10**6))
    data = dp.PrivateDataset(table, SCHEMA, ledger=ledger)
    with fixed_noise(8):
        found = [private_score(model, data, name, dp.PureDP("1/10")) for _ in range(100)]
    inside = [i.lower <= truth <= i.upper for i in (s.noise_interval(0.9) for s in found)]
    assert np.mean(inside) >= 0.85
    spread = np.std([score.value for score in found])
    if name != "auc":  # whose histograms are clipped at 0
        assert spread == pytest.approx(np.mean([score.stderr for score in found]), rel=0.25)
        narrow = [abs(s.value - truth) <= 0.3 * s.stderr for s in found]
        assert np.mean(narrow) < 0.5  # the noise is really there
    wide = found[0].interval(0.95)
    assert wide.upper - wide.lower > 3.8 * found[0].stderr


@pytest.mark.parametrize("name", ["accuracy", "precision", "recall", "f1"])
def test_samples_of_rows_lie_in_the_whole_interval(model: Any, name: str) -> None:
    """The metric on many rows, against intervals from few."""
    truth = private_score(model, public(logistic_answers(60_000, seed=9)), name, EXACT).value
    inside, ledger = 0, dp.Ledger(limit=dp.PureDP(1000))
    with fixed_noise(3):
        for seed in range(100):
            data = dp.PrivateDataset(logistic_answers(500, seed=100 + seed), SCHEMA, ledger=ledger)
            low, high, *_ = private_score(model, data, name, dp.PureDP(1)).interval(0.9)
            inside += low <= truth <= high
    assert 80 <= inside <= 99


def test_a_score_is_charged_once_before_a_row_is_read(model: Any) -> None:
    ledger = dp.Ledger(limit=dp.PureDP("1/2"))
    data = dp.PrivateDataset(logistic_answers(), SCHEMA, ledger=ledger)
    score = private_score(model, data, "accuracy", dp.PureDP("1/2"))
    assert score.is_private
    assert score.entry.event == score.event
    assert dp.accounting.cost(score.event, dp.PureDP) == dp.PureDP("1/2")
    assert "Accuracy() of LogisticRegression" not in repr(score)
    assert "±" in repr(score)
    with pytest.raises(dp.BudgetExceeded):
        private_score(model, data, "accuracy", dp.PureDP("1/10"))
    gaussian = mechanisms.Gaussian(1, 1e-6)
    pair = dp.PrivateDataset(
        logistic_answers(), SCHEMA, ledger=dp.Ledger(limit=dp.ApproxDP(1, 1e-6))
    )
    assert private_score(model, pair, "log_loss", gaussian).measure == dp.ApproxDP(1, 1e-6)


def test_no_row_makes_a_score_raise(model: Any) -> None:
    for table in (
        {"x": [], "z": [], "y": []},
        {"x": [None, "text", math.nan], "z": [None, {}, -5], "y": ["maybe", None, 3]},
        {"x": [0.5, None], "z": [3, None], "y": ["yes", None]},
    ):
        for name in ("accuracy", "log_loss", "auc", "precision", "recall", "f1"):
            data = dp.PrivateDataset(table, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(1)))
            score = private_score(model, data, name, dp.PureDP(1))
            assert math.isfinite(score.value)
            assert 0 <= score.interval().lower <= score.interval().upper
            assert score.noise_interval().lower <= score.noise_interval().upper


def test_rows_of_no_declared_class_are_left_out(model: Any) -> None:
    table = logistic_answers(500)
    more = {name: [*cells, cells[0]] for name, cells in table.items()}
    more["y"][-1] = "maybe"
    whole = private_score(model, public(table), "accuracy", EXACT)
    assert private_score(model, public(more), "accuracy", EXACT).value == whole.value


def test_bad_arguments_are_named(model: Any) -> None:
    data = public(logistic_answers(50))
    cases: list[tuple[Any, str]] = [
        (lambda: private_score(model, logistic_answers(5), "accuracy", EXACT), "data must be"),  # type: ignore
        (lambda: private_score(model, data, "f2", EXACT), "metric must be one of"),
        (lambda: private_score(model, data, "accuracy", 1), "budget is a bare number"),  # type: ignore
        (lambda: private_score(model, data, "mean_squared_error", EXACT), "needs a target"),
        (lambda: private_score(model, data, "accuracy", EXACT, target="x"), "which data does not"),
        (lambda: private_score(model, data, "accuracy", EXACT, target="w"), "not in the schema"),
        (lambda: private_score(object(), data, "log_loss", EXACT), "needs probabilities"),
        (lambda: LogLoss(0), "floor"),
        (lambda: AUC(1), "bins"),
        (lambda: private_score(model, data, "accuracy", EXACT).interval(1), "level"),
        (lambda: private_score(model, data, "auc", mechanisms.Exponential(dp.PureDP(1))), "budget"),
    ]
    for call, message in cases:
        with pytest.raises((TypeError, ValueError, KeyError), match=message):
            call()
    private = dp.PrivateDataset(logistic_answers(5), SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(1)))
    with pytest.raises(ValueError, match="PUBLIC only"):
        private_score(model, private, "accuracy", EXACT)
    three = dp.Schema(x=dp.Real(0, 1), y=dp.Categorical(0, 1, 2))
    wide = GaussianNB(epsilon=math.inf).fit(public({"x": [0.1], "y": [1]}, three))
    with pytest.raises(ValueError, match="two classes"):
        private_score(wide, public({"x": [0.1], "y": [1]}, three), "auc", EXACT)
    with pytest.raises(ValueError, match="positive must be given"):
        private_score(wide, public({"x": [0.1], "y": [1]}, three), "f1", EXACT)
    with pytest.raises(ValueError, match="positive must be one of"):
        private_score(wide, public({"x": [0.1], "y": [1]}, three), Precision(9), EXACT)
    assert private_score(wide, public({"x": [0.1], "y": [1]}, three), Recall(2), EXACT).value == 0
    assert set(METRICS) >= {"accuracy", "log_loss", "auc"}


def test_engines_agree(model: Any) -> None:
    import duckdb

    table = logistic_answers(300)
    frame = pd.DataFrame(table)
    found = []
    for source in (table, frame, duckdb.sql("select * from frame")):
        data = dp.PrivateDataset(source, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(1)))
        with fixed_noise(4):
            found.append(private_score(model, data, "log_loss", dp.PureDP(1)).value)
    assert len(set(found)) == 1


def test_persons_count_with_max_rows(model: Any) -> None:
    table = logistic_answers(60)
    unit = dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=2)
    table["who"] = np.arange(60) // 6
    data = dp.PrivateDataset(table, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(1), unit=unit))
    score = private_score(model, data, "accuracy", dp.PureDP(1))
    assert score.event.sensitivity == 2  # type: ignore[attr-defined]
    assert score._totals.sum() < 60


@pytest.mark.parametrize("example", [e for e in ESTIMATORS if e.kind._target != "none"], ids=str)
def test_predictions_are_made_row_by_row(example: Example) -> None:
    """What a model says of a row does not depend on the rows beside it."""
    table = table_for(example, 120)
    model = example.build(schema=schema_for(example), unit=dp.PUBLIC, epsilon=100)
    model.fit(features(table), table["y"])
    x = features(table_for(example, 40, seed=4))
    asked = [name for name in ("predict", "predict_proba") if hasattr(model, name)]
    assert "predict" in asked
    for name in asked:
        together = getattr(model, name)(x)
        alone = np.concatenate([getattr(model, name)(x[i : i + 1]) for i in range(len(x))])
        back = getattr(model, name)(x[::-1])[::-1]
        for other in (alone, back):
            if name == "predict" and example.kind._target == "class":
                assert np.array_equal(together, other)
            else:
                assert np.allclose(together, other, rtol=1e-12, atol=1e-12)


class RoundsByPlace:
    """As float64 may do: what is said of a row depends on its place, and on how many there are."""

    classes_ = np.array(["no", "yes"])

    def predict(self, X: Any) -> Any:
        place = np.arange(len(X)) * 7 + len(X)
        return self.classes_[(place + (1000 * X[:, 0]).astype(int)) % 2]


def test_one_row_more_moves_the_sums_of_its_own_alone() -> None:
    """Even if the model rounds by place: rows stand where their codes put them."""
    table = logistic_answers(40, seed=5)
    table["x"][5], table["z"][5], table["y"][5] = table["x"][4], table["z"][4], table["y"][4]
    metric, model = METRICS["accuracy"](), RoundsByPlace()
    step = ScoredRows(metric, model, ("x", "z"), "y", mechanisms.NoNoise())
    codes = np.column_stack(
        [
            [SCHEMA.code("x").of(x) for x in table["x"]],
            table["z"],
            (table["y"] == "yes").astype(int),
        ]
    )

    def sums(some: Any) -> Any:
        return step.run(CodedRows(some, ("x", "z", "y"), SCHEMA))

    def plainly(some: Any) -> Any:
        x, y = some[:, :2] / [2**20, 1], model.classes_[some[:, 2]]
        return metric.totals(model, x, y, np.ones(len(some), np.int64))

    whole, apart = sums(codes), 0
    assert whole.sum() == 40
    for left_out in range(40):
        less = np.delete(codes, left_out, axis=0)
        assert np.abs(whole - sums(less)).sum() == 1
        assert np.array_equal(sums(less[::-1]), sums(less))
        apart = max(apart, int(np.abs(plainly(codes) - plainly(less)).sum()))
    assert apart > 5  # so it matters


def test_blocks_hold_every_row_as_often_as_it_is_there() -> None:
    draw = np.random.default_rng(2)
    codes = draw.integers(0, 30, (5000, 2))
    seen: Counter[tuple[int, ...]] = Counter()
    for block, counts in blocks(codes):
        assert len(block) == len(counts) == BLOCK
        for row, often in zip(block.tolist(), counts.tolist(), strict=True):
            if often:
                seen[tuple(row)] += often
    assert seen == Counter(map(tuple, codes.tolist()))
    ((block, counts),) = blocks(codes[:0])
    assert block.shape == (BLOCK, 2)
    assert counts.sum() == 0


def test_categories_are_decoded() -> None:
    schema = dp.Schema(a=dp.Categorical("u", "v"), b=dp.Real(0, 1), y=dp.Categorical(0, 1))
    draw = np.random.default_rng(0)
    a = draw.choice(["u", "v"], 500).astype(object)
    table = {"a": a, "b": draw.random(500), "y": (a == "v").astype(int)}
    model = MixedNB(epsilon=math.inf).fit(public(table, schema))
    for pair in itertools.permutations(("u", "v")):
        turned = dp.Schema(a=dp.Categorical(*pair), b=dp.Real(0, 1), y=dp.Categorical(1, 0))
        assert private_score(model, public(table, turned), "accuracy", EXACT).value == 1


def test_a_score_is_a_table_with_both_intervals():
    x = np.linspace(0, 1, 200)
    data = dp.PrivateDataset(
        {"x": x, "y": (x > 0.5).astype(int)},
        dp.Schema(x=dp.Real(0, 1), y=dp.Categorical(0, 1)),
        ledger=dp.Ledger(limit=dp.PureDP(9)),
    )
    model = GaussianNB(epsilon=1).fit(data, target="y")
    score = private_score(model, data, "accuracy", dp.PureDP(1), target="y")
    frame = score.to_frame(level=0.9)
    assert frame["lower"].item() == score.noise_interval(0.9).lower
    assert frame["wide_upper"].item() == score.interval(0.9).upper
    assert "Score" in score._repr_html_()

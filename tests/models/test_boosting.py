"""Additive boosting: what is learned, what is planned, and what becomes of the noise."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import discreet as dp
from discreet.models.boosting import AdditiveBoostingClassifier, AdditiveBoostingRegressor
from discreet.models.boosting.classifier import calibrate
from discreet.models.boosting.layout import cells_joined, join_cells
from discreet.testing import fixed_noise

DATA = Path(__file__).parents[3] / "shared" / "data"
SCHEMA = dp.Schema(
    age=dp.Integer(18, 90),
    wage=dp.Real(0, 1e6),
    town=dp.Categorical("a", "b", "c"),
    y=dp.Categorical("no", "yes"),
)


def bumps_and_steps(rows: int, seed: int = 0) -> tuple[dict[str, Any], Any]:
    """Shapes of different kinds: a bump over age, a skewed wage, one town apart."""
    draw = np.random.default_rng(seed)
    age = draw.integers(18, 91, rows)
    wage = np.exp(draw.normal(10, 1, rows)).clip(0, 1e6)
    town = draw.choice(np.array(["a", "b", "c"], dtype=object), rows)
    score = 2 - ((age - 50) / 16) ** 2 + (np.log(wage + 1) - 10) + 1.5 * (town == "b") - 1
    y = np.where(draw.random(rows) < 1 / (1 + np.exp(-score)), "yes", "no").astype(object)
    return {"age": age, "wage": wage, "town": town}, y


def auc(model: Any, x: Any, y: Any) -> float:
    return float(roc_auc_score(y == "yes", model.predict_proba(x)[:, 1]))


def test_shapes_are_found_and_noise_costs_little() -> None:
    x, y = bumps_and_steps(20_000)
    new, expected = bumps_and_steps(5_000, seed=1)
    plain = AdditiveBoostingClassifier(epsilon=math.inf, unit=dp.PUBLIC, schema=SCHEMA, rounds=12)
    best = auc(plain.fit(x, y), new, expected)
    assert best > 0.85
    with fixed_noise(1):
        for delta, slack in ((1e-6, 0.01), (0, 0.02)):
            model = AdditiveBoostingClassifier(epsilon=1, delta=delta, schema=SCHEMA).fit(x, y)
            assert auc(model, new, expected) > best - slack
            town = model.term_scores_[model.term_names_.index("town")][:, 0]
            assert town[1] > max(town[0], town[2]) + 0.5
            age = model.term_scores_[0][:, 0]
            assert age[len(age) // 2] > max(age[0], age[-1]) + 0.5
        noisy = AdditiveBoostingClassifier(epsilon=1e-3, delta=1e-6, schema=SCHEMA).fit(x, y)
        assert auc(noisy, new, expected) < best - 0.1  # the comparison can fail


def test_probabilities_are_calibrated() -> None:
    x, y = bumps_and_steps(30_000)
    with fixed_noise(2):
        model = AdditiveBoostingClassifier(epsilon=2, delta=1e-6, schema=SCHEMA).fit(x, y)
    new, expected = bumps_and_steps(20_000, seed=3)
    shares = model.predict_proba(new)[:, 1]
    for low in (0.1, 0.3, 0.5, 0.7, 0.85):
        here = (shares >= low) & (shares < low + 0.15)
        assert abs(float((expected[here] == "yes").mean() - shares[here].mean())) < 0.06


def test_the_calibrated_share_balances_clipped_residuals() -> None:
    scores = np.linspace(-8, 8, 33)
    q = 1 / (1 + np.exp(-scores))
    p = calibrate(scores)
    left = p * np.minimum(1 - q, 0.5) - (1 - p) * np.minimum(q, 0.5)
    assert np.allclose(left, 0, atol=1e-12)
    assert np.allclose(p + calibrate(-scores), 1)
    assert (np.diff(p) > 0).all()


def test_three_classes() -> None:
    draw = np.random.default_rng(0)
    y = draw.integers(0, 3, 6000)
    x = np.column_stack([y + draw.normal(0, 0.5, 6000), draw.random(6000)])
    options: dict[str, Any] = {"bounds": ([-2, 0], [4, 1]), "classes": [2, 0, 1]}
    with fixed_noise(3):
        model = AdditiveBoostingClassifier(epsilon=1, delta=1e-6, **options).fit(x, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(x, y) > 0.75
    assert model.decision_function(x).shape == (6000, 3)
    shares = model.predict_proba(x)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (model.classes_[shares.argmax(axis=1)] == model.predict(x)).all()


def test_a_number() -> None:
    draw = np.random.default_rng(0)
    x = draw.random((20_000, 2))
    y = 40 + 30 * (x[:, 0] - 0.5) ** 2 - 20 * (x[:, 1] > 0.7) + draw.normal(0, 3, 20_000)
    options: dict[str, Any] = {"bounds": (0, 1), "target_bounds": (0, 100)}
    with fixed_noise(4):
        model = AdditiveBoostingRegressor(epsilon=1, delta=1e-6, **options).fit(x, y)
        assert model.score(x, y) > 0.8
        assert model.intercept_[0] == pytest.approx(y.mean(), abs=0.5)
        pure = AdditiveBoostingRegressor(epsilon=1, **options).fit(x, y)
        assert pure.score(x, y) > 0.7
    assert model.predict(np.full((1, 2), 1e9)).max() <= 100


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_errors_are_those_of_the_noise(delta: float) -> None:
    """Shapes of repeated fits spread about as far as they say."""
    x, y = bumps_and_steps(6_000)
    kept: list[Any] = []
    with fixed_noise(5):
        for _ in range(40):
            model = AdditiveBoostingClassifier(epsilon=2, delta=delta, schema=SCHEMA, rounds=3)
            kept.append(model.fit(x, y))
    town = kept[0].term_names_.index("town")  # its cells are the same in every fit
    spread = np.std([model.term_scores_[town][:, 0] for model in kept], axis=0)
    told = np.mean([model.term_errors_[town][:, 0] for model in kept], axis=0)
    assert (0.5 * told < spread).all()
    assert (spread < 2.0 * told).all()


def test_a_plan_tells_the_noise() -> None:
    model = AdditiveBoostingClassifier(epsilon=1, delta=1e-6, schema=SCHEMA)
    plan = model.plan(rows=20_000)
    assert set(plan.noise) == {"first_answer", "residual_sums", "term_scores_"}
    assert all(value > 0 for value in plan.noise.values())
    assert not model.plan().noise
    more = AdditiveBoostingClassifier(epsilon=4, delta=1e-6, schema=SCHEMA).plan(rows=20_000)
    assert all(more.noise[name] < plan.noise[name] for name in plan.noise)
    with fixed_noise(6):
        fitted = model.fit(*bumps_and_steps(20_000))
    large = fitted.term_counts_[2] > 5_000
    assert fitted.term_errors_[2][large].max() < plan.noise["term_scores_"]
    assert fitted.privacy_.event == plan.event


def test_the_plan_knows_no_rows() -> None:
    few, many = bumps_and_steps(10), bumps_and_steps(3_000, seed=7)
    for kind, options in (
        (AdditiveBoostingClassifier, {"schema": SCHEMA}),
        (AdditiveBoostingClassifier, {"schema": SCHEMA, "delta": 1e-6, "unit": dp.REPLACE_ONE}),
    ):
        events = {repr(kind(**options).fit(*rows).privacy_.event) for rows in (few, many)}
        assert len(events) == 1


def test_no_rounds() -> None:
    x, y = bumps_and_steps(20_000)
    with fixed_noise(8):
        model = AdditiveBoostingClassifier(epsilon=1, schema=SCHEMA, rounds=0).fit(x, y)
    assert auc(model, x, y) > 0.8  # the first shapes alone rank rows well


def test_values_that_are_not_declared_add_nothing() -> None:
    x, y = bumps_and_steps(5_000)
    with fixed_noise(9):
        model = AdditiveBoostingClassifier(epsilon=1, schema=SCHEMA).fit(x, y)
    row = {"age": np.array([40]), "wage": np.array([2e4]), "town": np.array(["a"], dtype=object)}
    with_a = model.decision_function(row)[0]
    row["town"] = np.array([None], dtype=object)
    a = model.term_scores_[model.term_names_.index("town")][0, 0]
    assert model.decision_function(row)[0] == pytest.approx(with_a - a)


def crossed(rows: int) -> tuple[Any, Any]:
    """Neither of two columns tells anything alone."""
    draw = np.random.default_rng(0)
    x = draw.random((rows, 4))
    odds = 4 * ((x[:, 0] > 0.5) ^ (x[:, 2] > 0.5)) - 2
    return x, (draw.random(rows) < 1 / (1 + np.exp(-odds))).astype(int)


def test_pairs_are_found_where_they_matter() -> None:
    x, y = crossed(20_000)
    options: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "bounds": (0, 1), "classes": [0, 1]}
    with fixed_noise(13):
        alone = AdditiveBoostingClassifier(**options).fit(x, y)
        paired = AdditiveBoostingClassifier(**options, interactions=1).fit(x, y)
        number = AdditiveBoostingRegressor(
            epsilon=1, delta=1e-6, bounds=(0, 1), target_bounds=(0, 1), interactions=1
        ).fit(x, y)
    assert alone.score(x, y) < 0.6
    assert paired.score(x, y) > 0.8
    assert [(pair.first, pair.second) for pair in paired.pairs_] == [("x0", "x2")]
    assert number.score(x, y) > 0.3
    again = AdditiveBoostingClassifier.from_json(paired.to_json())
    assert np.array_equal(again.predict_proba(x), paired.predict_proba(x))
    unknown = np.array([[None, 0.2, 0.9, 0.1]], dtype=object)
    assert np.isfinite(paired.decision_function(unknown)).all()


@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_pairs_of_categories_and_of_three_classes(relation: Any) -> None:
    x, y = bumps_and_steps(2_000)
    schema = SCHEMA.replace(y=dp.Categorical("no", "yes", "never"))
    for delta in (0, 1e-6):
        model = AdditiveBoostingClassifier(
            epsilon=1, delta=delta, schema=schema, interactions=9, rounds=1, unit=relation
        ).fit(x, y)
        assert len(model.pairs_) == 3  # all there are
        x["town"][:3] = None
        assert np.isfinite(model.predict_proba(x)).all()
        assert model.plan().event == model.privacy_.event


def test_joined_cells_hold_enough_rows() -> None:
    draw = np.random.default_rng(0)
    for _ in range(50):
        counts = draw.integers(0, 300, draw.integers(2, 60)) + draw.normal(0, 5, 1)
        noise = float(draw.choice([0.0, 5.0, 50.0]))
        kept = join_cells(counts, noise, float(counts.sum()))
        places = cells_joined(kept, len(counts))
        sums = np.bincount(places, counts)
        assert places[0] == 0
        assert len(sums) == len(kept) + 1 >= 2
        if len(kept) > 1 and counts.sum() >= 10 * noise:
            assert sums.min() >= max(0.01 * counts.sum(), 5 * noise) - 1e-6
    assert join_cells(np.zeros(5), 1.0, 100.0)  # one cut always stays
    assert join_cells(np.full(4, -3.0), 1.0, 100.0)


def test_counts_that_are_all_noise_place_no_cuts() -> None:
    counts = np.random.default_rng(0).normal(3, 100, 128)
    assert join_cells(counts, 100.0, 800.0) == [15, 31, 47, 63, 79, 95, 111]
    assert join_cells(counts, 100.0, 400.0) == [31, 63, 95]
    assert join_cells(counts, 100.0, 1.0) == [63]
    assert join_cells(counts[:3], 100.0, 400.0) == [0, 1]
    assert (
        len(join_cells(counts, 100.0, 1e6)) <= 1
    )  # many rows, which these counts say little about


@pytest.mark.parametrize("kind", [AdditiveBoostingClassifier, AdditiveBoostingRegressor])
def test_json_keeps_the_model(kind: Any, tmp_path: Path) -> None:
    x, y = bumps_and_steps(2_000)
    schema = SCHEMA
    if kind is AdditiveBoostingRegressor:
        schema, y = SCHEMA.replace(y=dp.Real(0, 1)), (y == "yes").astype(float)  # type: ignore[arg-type]
    with fixed_noise(10):
        model = kind(epsilon=1, delta=1e-6, schema=schema).fit(x, y)
    text = model.to_json(tmp_path / "model.json")
    for source in (text, tmp_path / "model.json", str(tmp_path / "model.json")):
        again = kind.from_json(source)
        assert np.array_equal(again.predict(x), model.predict(x))
        assert again.to_json() == text
    assert again.privacy_.measure == model.privacy_.measure
    assert again.privacy_.event == model.privacy_.event
    data = json.loads(text)
    term = next(term for term in data["terms"] if term["column"] == "town")
    assert term["cells"] == ["a", "b", "c"]
    assert len(term["scores"]) == len(term["errors"]) == len(term["rows"]) == 3
    for wrong, match in (
        ("{", "not JSON"),
        ("{}", "not an additive boosting model"),
        (json.dumps({**data, "version": 2}), "version"),
        (json.dumps({**data, "model": "Other"}), "Other"),
        (json.dumps({k: v for k, v in data.items() if k != "terms"}), "incomplete"),
        (text.replace('"c"\n', '"c", "d"\n'), "must have 4 scores"),
    ):
        with pytest.raises(ValueError, match=match):
            kind.from_json(wrong)


def test_plots_show_shapes_and_bands(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    with fixed_noise(11):
        model = AdditiveBoostingClassifier(epsilon=1, schema=SCHEMA).fit(*bumps_and_steps(5_000))
    for feature in model.term_names_:
        ax = model.plot(feature)
        at = model.term_names_.index(feature)
        low, high = ax.get_ylim() if feature != "town" else ax.get_xlim()
        assert low <= model.term_scores_[at].min() <= model.term_scores_[at].max() <= high
        assert "yes" in (ax.get_ylabel() + ax.get_xlabel())
        ax.figure.savefig(tmp_path / f"{feature}.png")
        assert (tmp_path / f"{feature}.png").stat().st_size > 5_000
        pyplot.close(ax.figure)
    _, given = pyplot.subplots()
    assert model.plot("age", given) is given
    pyplot.close("all")
    with fixed_noise(14):
        paired = AdditiveBoostingClassifier(epsilon=1, schema=SCHEMA, interactions=1, rounds=1)
        name = paired.fit(*bumps_and_steps(2_000)).pairs_[0].name
    assert paired.plot(name).images
    pyplot.close("all")
    with pytest.raises(ValueError, match="feature must be one of age, wage, town"):
        model.plot("height")


def test_the_guide_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "guides" / "boosting.md"
    text = page.read_text("utf-8")
    names: dict[str, Any] = {}
    with fixed_noise(15):
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(compile(block, page.name, "exec"), names)
    matplotlib.pyplot.close("all")
    printed = capsys.readouterr().out
    assert "True" in printed
    assert "ApproxDP" in printed
    assert (tmp_path / "age.png").stat().st_size > 5_000
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (page.parent / link).exists(), link


def test_pictures_are_not_imported_before_they_are_drawn() -> None:
    code = "import sys, discreet.models.boosting; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"rounds": -1}, "rounds"),
        ({"rounds": 1.5}, "rounds"),
        ({"cells": 1}, "cells"),
        ({"interactions": -1}, "interactions"),
        ({"cells": 5000}, "cells"),
        ({"epsilon": 0}, "epsilon"),
    ],
)
def test_wrong_parameters_raise_before_a_row_is_read(options: Any, match: str) -> None:
    with pytest.raises((TypeError, ValueError), match=match):
        AdditiveBoostingClassifier(schema=SCHEMA, **options).plan()


@pytest.mark.skipif(not (DATA / "adult_train.csv.gz").exists(), reason="the data set is not here")
def test_adult() -> None:
    pd = pytest.importorskip("pandas")
    train, test = (pd.read_csv(DATA / f"adult_{part}.csv.gz") for part in ("train", "test"))
    bounds = {
        "age": (17, 90), "fnlwgt": (0, 1_500_000), "education-num": (1, 16),
        "capital-gain": (0, 100_000), "capital-loss": (0, 5000), "hours-per-week": (1, 99),
    }  # fmt: skip
    columns = {
        name: dp.Integer(*bounds[name])
        if name in bounds
        else dp.Categorical(*sorted(set(train[name]) | set(test[name])))
        for name in train.columns
    }
    with fixed_noise(12):
        model = AdditiveBoostingClassifier(epsilon=1, delta=1e-6, schema=dp.Schema(columns))
        model.fit(train)
    new = test.drop(columns="income")
    shares = model.predict_proba(new)[:, 1]
    assert roc_auc_score(test["income"] == ">50K", shares) > 0.895
    assert (model.predict(new) == test["income"].to_numpy()).mean() > 0.84

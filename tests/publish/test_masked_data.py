"""Masked rows: a logistic regression on them gives the private one, and nothing else is published."""

from __future__ import annotations

import csv
import math
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import discreet as dp
from discreet import testing
from discreet.publish import MaskedData
from discreet.publish import mask as masks
from discreet.publish.stationary import Goal, balance
from discreet.publish.true_labels import TrueLabels


def classes_by_direction(
    classes: int, width: int, rows: int = 600, seed: int = 0
) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    x = draw.uniform(-1, 1, (rows, width))
    scores = x @ draw.normal(0, 3, (width, classes)) + draw.gumbel(size=(rows, classes))
    return x, scores.argmax(axis=1)


def made(classes: int = 2, width: int = 3, rows: int = 600, **options: Any) -> Any:
    x, y = classes_by_direction(classes, width, rows)
    common = {"epsilon": 2, "bounds": (-1, 1), "classes": list(range(classes)), "random_state": 0}
    return MaskedData(**{**common, **options}).fit(x, y)


def gradient(x: Any, y: Any, coef: Any, intercept: Any, strength: float) -> float:
    """The length of scikit-learn's mean gradient, row by row: the slow obvious way."""
    classes = sorted(set(y.tolist()))
    if len(coef) == 1:
        coef, intercept = np.stack([0 * coef[0], coef[0]]), np.array([0, intercept[0]])
        ridge = np.stack([-coef[1], coef[1]])
    else:
        ridge = coef - coef.mean(axis=0)
    slopes, offsets = -ridge / strength, np.zeros(len(coef))
    for row, label in zip(x, y, strict=True):
        scores = coef @ row + intercept
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        for place, other in enumerate(classes):
            left = float(label == other) - shares[place]
            slopes[place] += left * row
            offsets[place] += left
    return float(np.linalg.norm(np.column_stack([slopes, offsets]))) / len(y)


def cosine(found: Any, told: Any) -> float:
    parts = [np.column_stack([m.coef_, m.intercept_]) for m in (found, told)]
    if len(parts[0]) > 1:
        parts = [part - part.mean(axis=0) for part in parts]
    one, other = (part.ravel() for part in parts)
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


@pytest.mark.parametrize(
    ("classes", "width", "epsilon"),
    [(2, 1, 2), (2, 5, 0.05), (2, 30, 1), (3, 4, 2), (3, 4, 0.01), (6, 12, 50)],
)
def test_scikit_learn_finds_the_private_weights(classes: int, width: int, epsilon: float) -> None:
    masked = made(classes, width, epsilon=epsilon)
    scaled = masked.scale_ * masked.coef_, masked.scale_ * masked.intercept_
    assert gradient(masked.X_, masked.y_, *scaled, masked.C_) <= 1e-8
    assert masked.gradient_ <= 1e-10
    assert cosine(masked.classifier().fit(*masked.masked_), masked) >= 0.9999
    plain = LogisticRegression(C=masked.C_, max_iter=10_000, tol=1e-8).fit(*masked.masked_)
    assert cosine(plain, masked) >= 0.9999
    x, _ = classes_by_direction(classes, width, seed=7)
    assert np.mean(plain.predict(x) == masked.predict(x)) > 0.995


def test_the_gradient_of_other_rows_does_not_vanish() -> None:
    """The check above can fail: the data themselves, or masks with one label changed, don't pass."""
    masked = made()
    scaled = masked.scale_ * masked.coef_, masked.scale_ * masked.intercept_
    labels = masked.y_.copy()
    labels[0] = 1 - labels[0]
    assert gradient(masked.X_, labels, *scaled, masked.C_) > 1e-4
    assert gradient(*classes_by_direction(2, 3), *scaled, masked.C_) > 1e-3


def test_columns_keep_their_units() -> None:
    draw = np.random.default_rng(1)
    low, high = np.array([-0.1, 1000, 17]), np.array([0.1, 1400, 90])
    x = draw.uniform(low, high, (500, 3))
    y = (x - (low + high) / 2) @ (2 / (high - low)) > 0
    masked = MaskedData(epsilon=5, bounds=(low, high), classes=[False, True], random_state=1)
    masked.fit(x, y)
    found = masked.classifier().fit(*masked.masked_)
    assert np.allclose(found.coef_, masked.scale_ * masked.coef_, rtol=1e-3)
    assert np.mean(found.predict(x) == masked.predict(x)) > 0.995
    places = (masked.X_ - low) / (high - low)
    assert np.mean((places > -0.2) & (places < 1.2)) > 0.99


def test_without_a_ridge_columns_may_be_rescaled() -> None:
    """Units so far apart that scikit-learn's solvers stumble over them."""
    draw = np.random.default_rng(1)
    low, high = np.array([-1e-5, 1e5, 17]), np.array([1e-5, 3e7, 90])
    x = draw.uniform(low, high, (500, 3))
    y = (x - (low + high) / 2) @ (2 / (high - low)) > 0
    masked = MaskedData(epsilon=5, bounds=(low, high), classes=[False, True], C=math.inf)
    masked.fit(x, y)
    assert math.isinf(masked.C_)
    assert masked.gradient_ < 1e-10
    found = make_pipeline(StandardScaler(), masked.classifier()).fit(*masked.masked_)
    scores = found.decision_function(x)
    assert np.corrcoef(scores, masked.decision_function(x))[0, 1] > 0.999999
    assert np.mean(found.predict(x) == masked.predict(x)) > 0.995


@pytest.mark.parametrize(
    ("x", "y", "options"),
    [
        (np.zeros((0, 2)), np.zeros(0, int), {}),
        (np.zeros((50, 2)), np.ones(50, int), {}),
        (np.ones((50, 2)), np.arange(50) % 2, {}),
        (np.linspace(-1, 1, 100).reshape(50, 2), np.repeat([0, 1], 25), {"epsilon": 1e4}),
        (np.repeat(np.linspace(-1, 1, 50), 2).reshape(50, 2), np.repeat([0, 1], 25), {}),
        (np.full((50, 2), np.nan), np.ones(50, int), {"labels": "noisy"}),
        (np.zeros((50, 2)), np.ones(50, int), {"labels": [0.999, 0.001]}),
        (np.zeros((50, 2)), np.ones(50, int), {"bounds": ([0, 0], [0, 1])}),
        (np.zeros((50, 2)), np.ones(50, int), {"bounds": (0, 0)}),
        (np.zeros((50, 2)), np.ones(50, int), {"bounds": ([1e12, -1e-9], [1e12 + 1, 1e-9])}),
        (np.zeros((50, 2)), np.ones(50, int), {"classes": [1]}),
    ],
)
@pytest.mark.parametrize("method", ["joint", "greedy"])
def test_edges_give_finite_rows(x: Any, y: Any, options: dict[str, Any], method: str) -> None:
    common: dict[str, Any] = {"bounds": (-1, 1), "classes": [0, 1], "method": method, "samples": 24}
    budgets = [(dp.ADD_REMOVE, 1), (dp.PUBLIC, math.inf)]
    for unit, epsilon in budgets if len(x) else budgets[:1]:
        masked = MaskedData(**{**common, "unit": unit, "epsilon": epsilon, **options}).fit(x, y)
        assert masked.X_.shape == (24, 2)
        assert np.isfinite(masked.X_).all()
        assert set(masked.y_.tolist()) <= set(masked.classes_.tolist())
        for value in (masked.C_, masked.scale_, masked.gradient_):
            assert math.isfinite(value)


def test_the_number_of_rows_is_public() -> None:
    for rows in (0, 60, 2500):
        x, y = classes_by_direction(2, 2, rows)
        options: dict[str, Any] = {"epsilon": 1, "bounds": (-1, 1), "classes": [0, 1]}
        assert len(MaskedData(**options).fit(x, y).X_) == 1000
        told = MaskedData(**options, unit=dp.REPLACE_ONE).fit(x, y)
        assert len(told.X_) == max(rows, 16)
    with pytest.raises(ValueError, match="samples must be at least 16"):
        MaskedData(**options, samples=15).fit(x, y)


def test_true_labels_are_published_of_public_rows_alone() -> None:
    x, y = classes_by_direction(2, 2, 300)
    for unit in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        ledger = dp.Ledger(limit=dp.PureDP(1), unit=dp.Unit(unit))
        masked = MaskedData(bounds=(-1, 1), classes=[0, 1], labels="true", ledger=ledger)
        with pytest.raises(ValueError, match=r"labels='true' publishes the labels of the data"):
            masked.fit(x, y)
        assert [entry.kind for entry in ledger.entries()].count("charge") == 0
        with pytest.raises(ValueError, match="only for rows declared public"):
            TrueLabels("y").event(dp.Schema(y=dp.Categorical(0, 1)), dp.Unit(unit))
    told = MaskedData(bounds=(-1, 1), classes=[0, 1], labels="true", unit=dp.PUBLIC).fit(x, y)
    assert np.array_equal(told.y_, y)
    assert told.gradient_ < 1e-10
    assert not told.privacy_.is_private
    begun = MaskedData(bounds=(-1, 1), classes=[0, 1], labels="true", unit=dp.PUBLIC)
    begun.set_params(start=(x[:9], y[:9])).fit(x, y)  # as the paper does: with real records too
    assert np.array_equal(begun.y_, np.concatenate([y[:9], y]))
    assert not np.array_equal(made(2, 2, 300, samples=300).y_, y)


def test_labels_follow_public_shares_or_noisy_counts() -> None:
    given = made(labels={0: 1, 1: 3}, samples=400)
    assert abs(given.y_.mean() - 0.75) < 0.01
    assert given.gradient_ < 1e-10
    assert abs(made(labels=[0.25, 0.75], samples=400).y_.mean() - 0.75) < 0.01
    x, _ = classes_by_direction(2, 3)
    few = (np.arange(600) % 10 == 0).astype(int)
    options: dict[str, Any] = {"bounds": (-1, 1), "classes": [0, 1], "samples": 400}
    noisy = MaskedData(epsilon=4, labels="noisy", **options).fit(x, few)
    assert abs(noisy.y_.mean() - 0.1) < 0.03
    plan = noisy.plan(n_features=3)
    assert plan.event.events[-1] == dp.events.DiscreteLaplace("5/2", 1)  # a tenth of 4
    with pytest.raises(ValueError, match="label_share must lie between 0 and 1"):
        MaskedData(labels="noisy", label_share=1, **options).fit(x, few)
    for wrong in ([1], [1, 0], [1, math.nan], {0: 1}, {0: 1, 1: 1, 2: 1}, "real"):
        with pytest.raises(ValueError, match="labels must"):
            MaskedData(labels=wrong, **options).fit(x, few)


def test_a_start_stays_as_it_is() -> None:
    draw = np.random.default_rng(3)
    start = draw.normal(0, 0.7, (100, 3)), draw.integers(0, 3, 100)
    masked = made(3, 3, start=start, samples=500)
    assert np.array_equal(masked.X_[:100], start[0])
    assert np.array_equal(masked.y_[:100], start[1])
    assert len(masked.X_) == 500
    assert masked.gradient_ < 1e-10
    assert cosine(masked.classifier().fit(*masked.masked_), masked) >= 0.9999
    for wrong in (
        (start[0][:, :2], start[1]),
        (start[0], start[1] + 9),
        (start[0] * np.nan, start[1]),
    ):
        with pytest.raises(ValueError, match="start must hold"):
            made(3, 3, start=wrong)
    with pytest.raises(TypeError, match="start must be a pair"):
        made(3, 3, start=[["a"], [0]])


def test_a_given_ridge_scales_the_weights() -> None:
    loose = made(C=1e6, samples=200)
    assert (loose.C_, loose.scale_) == (1e6, 1.0)
    tight = made(C=1e-3, samples=200)
    assert tight.C_ == 1e-3
    assert tight.scale_ < 0.5
    assert tight.gradient_ < 1e-10
    assert cosine(tight.classifier().fit(*tight.masked_), tight) >= 0.9999


def test_other_rows_of_the_same_weights() -> None:
    masked = made()
    one, again, other = (masked.sample(200, seed) for seed in (1, 1, 2))
    assert np.array_equal(one[0], again[0])
    assert not np.array_equal(one[0], other[0])
    assert np.array_equal(masked.sample(random_state=0)[0], masked.X_)
    for rows in (16, 5000):
        assert cosine(masked.classifier().fit(*masked.sample(rows, 3)), masked) >= 0.9999


def test_files_and_frames(tmp_path: Any) -> None:
    x, y = classes_by_direction(2, 2)
    schema = dp.Schema(a=dp.Real(-1, 1), b=dp.Integer(-1, 1), ill=dp.Categorical(0, 1))
    data = dp.PrivateDataset(
        {"a": x[:, 0], "b": x[:, 1], "ill": y}, schema, ledger=dp.Ledger(limit=dp.PureDP(1))
    )
    masked = MaskedData(epsilon=1, samples=50).fit(data)
    masked.to_csv(tmp_path / "masked.csv")
    with (tmp_path / "masked.csv").open(newline="") as file:
        header, *lines = csv.reader(file)
    assert header == ["a", "b", "ill"]
    assert np.array_equal(np.array(lines, float)[:, :2], masked.X_)
    for backend in ("pandas", "polars", "pyarrow"):
        frame = masked.to_frame(backend)
        assert np.array_equal(np.asarray(frame["a"]), masked.X_[:, 0])
        assert np.array_equal(np.asarray(frame["ill"]), masked.y_)


def test_public_mistakes_raise_before_anything_is_charged() -> None:
    x, y = classes_by_direction(2, 2)
    for options, words in (
        ({"method": "fast"}, "method must be"),
        ({"perturbation": "functional"}, "perturbation must be"),
        ({"C": 0}, "C must be"),
    ):
        ledger = dp.Ledger(limit=dp.PureDP(1))
        with pytest.raises(ValueError, match=words):
            MaskedData(bounds=(-1, 1), classes=[0, 1], ledger=ledger, **options).fit(x, y)
        assert [entry.kind for entry in ledger.entries()].count("charge") == 0
    schema = dp.Schema(c=dp.Categorical("a", "b"), y=dp.Categorical(0, 1))
    with pytest.raises(ValueError, match="MaskedData takes numbers only"):
        MaskedData(schema=schema).fit({"c": ["a"] * 9, "y": [0] * 9})


def test_masks_depend_on_the_data_through_weights_alone() -> None:
    """With the same noise, other rows give other masks only if they give other weights."""
    x, y = classes_by_direction(2, 2, 200)
    options: dict[str, Any] = {"bounds": (-1, 1), "classes": [0, 1], "random_state": 0}
    with testing.fixed_noise(5):
        one = MaskedData(**options).fit(x, y)
    with testing.fixed_noise(5):
        turned = MaskedData(**options).fit(x[::-1], y[::-1])
    assert np.array_equal(one.X_, turned.X_)
    with testing.fixed_noise(5):
        other = MaskedData(**options).fit(x, 1 - y)
    assert not np.array_equal(one.X_, other.X_)


def test_greedy_is_the_published_descent() -> None:
    masked = made(method="greedy", samples=60, fit_intercept=False, alpha=60)
    assert 1e-10 < masked.gradient_ < 0.02
    assert cosine(masked.classifier().fit(*masked.masked_), masked) > 0.99
    three = made(3, 3, method="greedy", samples=60)
    assert three.gradient_ < 0.1


def test_least_steps_against_a_dense_pseudo_inverse() -> None:
    draw = np.random.default_rng(2)
    goal = Goal(draw.normal(size=(3, 2)), draw.normal(size=3), draw.normal(size=(3, 2)))
    z, y = draw.uniform(-1, 1, (7, 2)), np.array([0, 1, 2, 0, 1, 2, 1])
    from discreet.publish.stationary import _minimum_step

    gap, width = goal.gap(z, y), 1e-6
    jacobian = np.empty((gap.size, z.size))
    for place in range(z.size):
        moved = z.copy()
        moved.ravel()[place] += width
        back = z.copy()
        back.ravel()[place] -= width
        jacobian[:, place] = (goal.gap(moved, y) - goal.gap(back, y)).ravel() / (2 * width)
    expected = -np.linalg.pinv(jacobian) @ gap.ravel()
    assert np.allclose(_minimum_step(goal, z, y, gap).ravel(), expected, atol=1e-6)


def test_rows_can_hold_no_more_ridge_than_the_bound() -> None:
    """Σ r·m <= 0.2785 for each row: beyond, no rows exist, and nothing pretends to have found some."""
    draw = np.random.default_rng(4)
    weights = np.array([[-0.5, 0.0], [0.5, 0.0]])
    z, y = draw.uniform(-1, 1, (100, 2)), np.arange(100) % 2
    for load, good in ((0.2, True), (0.3, False)):
        pull = load * 100 * weights * 2
        goal = Goal(weights, np.zeros(2), pull)
        length = np.linalg.norm(goal.gap(balance(goal, z, y), y)) / 100
        assert (length < 1e-10) == good


def test_drawn_labels_have_the_numbers_they_should() -> None:
    draw = np.random.default_rng(6)
    chances = draw.dirichlet([1, 2, 3], 500)
    for seed in range(20):
        labels = masks.draw_labels(chances, np.random.default_rng(seed))
        assert np.all(np.abs(np.bincount(labels, minlength=3) - chances.sum(axis=0)) < 12)
    many = np.mean(
        [masks.draw_labels(chances, np.random.default_rng(seed)) == 2 for seed in range(400)],
        axis=0,
    )
    assert np.abs(many - chances[:, 2]).max() < 0.15


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t'=1"),
        ("\r=1", "'\r'=1"),
        ("\uff1d1", "'\uff1d1"),
        ("x;=1", "x;'=1"),  # where the semicolon separates cells
        ("a\n=1", "a\n'=1"),
        ("-1", "-1"),
        ("+1e5", "+1e5"),
        ("a=b", "a=b"),
        ("plain", "plain"),
        (-1.5, -1.5),
    ],
)
def test_no_exported_cell_begins_with_a_formula(text: Any, cell: Any) -> None:
    from discreet.show import as_cell

    assert as_cell(text) == cell


def test_names_and_labels_are_exported_as_text(tmp_path: Any) -> None:
    x, y = classes_by_direction(2, 2)
    labels = np.array(["=HYPERLINK(A1)", "@no"])
    schema = dp.Schema(
        **{"=a": dp.Real(-1, 1), "b": dp.Real(-1, 1), "+y": dp.Categorical(*labels.tolist())}
    )
    rows = {"=a": x[:, 0], "b": x[:, 1], "+y": labels[y]}
    data = dp.PrivateDataset(rows, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    masked = MaskedData(epsilon=2, random_state=0).fit(data, target="+y")
    masked.to_csv(tmp_path / "masked.csv")
    with (tmp_path / "masked.csv").open(newline="") as file:
        header, *lines = csv.reader(file)
    assert header == ["'=a", "b", "'+y"]
    assert {line[2] for line in lines} == {"'=HYPERLINK(A1)", "'@no"}
    assert [float(line[0]) for line in lines] == masked.X_[:, 0].tolist()

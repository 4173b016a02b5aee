"""Risk minimisation: its solver, its plans, and what it learns."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn import linear_model as others
from test_erm_losses import IDS, LOSSES, UNITS, targets

import discreet as dp
from discreet import events
from discreet.accounting import satisfies
from discreet.models.erm import (
    FeatureMap,
    Logistic,
    Loss,
    ObjectivePerturbation,
    OutputPerturbation,
    SmoothHinge,
    Task,
)
from discreet.models.erm.features import ONE
from discreet.models.erm.objective import WEIGHT_STEP, Objective
from discreet.models.erm.solver import maximum_steps, minimise
from discreet.models.linear_model import LogisticRegression
from discreet.models.svm import LinearSVC, LinearSVR
from discreet.testing import fixed_noise

HARD = {
    "empty": (0, "plain"), "one row": (1, "plain"), "separable": (200, "separable"),
    "constant feature": (200, "constant"), "ill-conditioned": (500, "equal"), "one class": (50, "one"),
    "equal rows": (300, "same"), "zeros": (100, "zero"), "one class in every 16th row": (40_000, "sixteenth"),
}  # fmt: skip


COUNTED: list[int] = []


class Counted(Objective):
    """It counts its exact gradients."""

    def __init__(self, *fields: Any) -> None:
        super().__init__(*fields)
        COUNTED.clear()

    def gradient(self, weights: list[int]) -> Any:
        COUNTED.append(1)
        return super().gradient(weights)

    def thin(self, every: int) -> Objective:
        return Objective(*(getattr(self, name) for name in Objective.__dataclass_fields__)).thin(
            every
        )


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
@pytest.mark.parametrize("ridge", [Fraction(1, 1000), Fraction(1, 8), Fraction(10**7)])
def test_the_solver_meets_its_tolerance(loss: Loss, ridge: Fraction, kind: str) -> None:
    draw = np.random.default_rng(4)
    count, shape = HARD[kind]
    x = draw.integers(-ONE, ONE, (count, 3)).astype(float)
    t = targets(loss, draw, count)
    if shape == "separable" and count:
        t = (x[:, 0] > 0).astype(float)
    if shape == "constant":
        x[:, 1] = ONE
    if shape == "equal":
        x[:, 1] = x[:, 0] + 1
    if shape == "one" and loss.has_zero:
        t[:] = 1.0
    if shape == "same":
        x[:], t[:] = x[0], t[0]
    if shape == "zero":
        x[:] = 0.0
    if shape == "sixteenth" and loss.has_zero:  # the rows that the start sees
        t[::16] = 1.0
        t[1::2] = 0.0
    task = Task(loss, 3, 2 * ONE, 3 * ONE, dp.PureDP(1), UNITS[0])
    for scale in (0, 10, 10**9):
        tilt = [int(v) for v in draw.integers(-scale, scale + 1, loss.outputs * 3)]
        objective = Counted(x, t, loss, ridge, tilt, Fraction(1, 16))
        weights = minimise(objective, task.tolerance)
        assert len(COUNTED) < 1000 < maximum_steps(objective, task.tolerance)
        assert np.linalg.norm(objective.gradient(weights)) <= task.tolerance
        assert np.isfinite([float(w) for w in weights]).all()
    assert task.tolerance < 1e-3


def test_the_minimum_is_that_of_another_optimiser() -> None:
    draw = np.random.default_rng(5)
    x = np.trunc(draw.uniform(-1, 1, (300, 2)) * ONE)
    t = (draw.random(300) < 0.5).astype(float)
    tilt, step = [37, -11], Fraction(1, 4)
    found = minimise(Objective(x, t, Logistic(), Fraction(2), tilt, step), 1e-9)
    s = 2 * t - 1

    def value(w: Any) -> float:
        return float(
            np.logaddexp(0, -s * (x / ONE @ w)).sum() + w @ w + np.array([37, -11]) / 4 @ w
        )

    other = minimize(value, np.zeros(2), tol=1e-12)
    np.testing.assert_allclose(np.array(found) * float(WEIGHT_STEP), other.x, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_plans_cost_what_they_claim(loss: Loss, unit: dp.Unit) -> None:
    measures = [dp.PureDP("0.0001"), dp.PureDP(1), dp.PureDP(10**4), dp.ApproxDP(1, "1e-6")]
    for measure in measures:
        for alpha in (None, Fraction(1, 10), Fraction(100)):
            task = Task(loss, 5, 2 * ONE, 4 * ONE, measure, unit, alpha)
            for kind in (ObjectivePerturbation, OutputPerturbation):
                plan = kind(task)
                assert satisfies(plan.event(), measure)
                tighter = type(measure)(measure.epsilon * Fraction(9, 10), *(
                    [measure.delta / 2] if isinstance(measure, dp.ApproxDP) else []))  # fmt: skip
                assert not satisfies(plan.event(), tighter)


def test_too_many_vertices_leave_laplace_noise() -> None:
    unit = dp.Unit(dp.REPLACE_ONE, id_column="i", max_rows=100)
    measure = dp.ApproxDP(1, "1e-6")
    plan = ObjectivePerturbation(Task(SmoothHinge(1, classes=20), 3, ONE, 2 * ONE, measure, unit))
    assert isinstance(plan.inner, events.LaplaceObjective)
    assert satisfies(plan.event(), measure)


def test_half_of_epsilon_is_left_for_noise_however_small_alpha_is() -> None:
    task = Task(Logistic(), 3, ONE, 2 * ONE, dp.PureDP("1/10"), UNITS[0], Fraction(1, 100))
    plan = ObjectivePerturbation(task)
    assert isinstance(plan.inner, events.LaplaceObjective)
    assert plan.regulariser > 1
    assert plan.inner.jacobian <= Fraction(49, 1000)
    strong = ObjectivePerturbation(
        Task(Logistic(), 3, ONE, 2 * ONE, dp.PureDP("1/10"), UNITS[0], Fraction(1000))
    )
    assert strong.regulariser == 1000
    assert strong.inner.jacobian < Fraction(1, 1000)


def test_what_float64_cannot_do_is_refused_before_a_row_is_read() -> None:
    ledger = dp.Ledger(limit=dp.PureDP(5))
    model = LogisticRegression(
        method="output", alpha=1e-9, bounds=(0, 1), classes=[0, 1], ledger=ledger
    )
    with pytest.raises(ValueError, match="alpha must be at least"):
        model.plan(n_features=2)
    with pytest.raises(ValueError, match="alpha must be at least"):
        model.fit(np.zeros((3, 2)), [0, 1, 0])
    assert [entry.kind for entry in ledger.entries()] == ["ledger"]


def test_features_are_bounded_integers() -> None:
    columns = (dp.Real(-3, 5), dp.Integer(0, 7), dp.Categorical("a", "b", "c"), dp.Real(2, 2))
    features = FeatureMap(columns, True)
    draw = np.random.default_rng(6)
    codes = np.column_stack(
        [
            draw.integers(0, 2**20 + 1, 500),
            draw.integers(0, 8, 500),
            draw.integers(-1, 3, 500),
            np.zeros(500, int),
        ]
    )
    z = features.block(codes)
    assert features.width == 7
    assert (z**2).sum(axis=1).max() <= features.radius**2
    assert np.abs(z).sum(axis=1).max() <= features.length
    assert features.radius == math.isqrt(ONE**2 * 9 // 3)
    wide = FeatureMap(columns, True, norm=10)
    assert wide.radius == math.isqrt(5 * ONE**2)
    assert (z == np.stack([features.block(row[None])[0] for row in codes])).all()
    assert (wide.block(codes)[:, -1] == ONE).all()


def blobs_on_a_circle(classes: int, count: int = 6000) -> tuple[Any, Any]:
    draw = np.random.default_rng(classes)
    y = draw.integers(0, classes, count)
    angle = 2 * np.pi * y / classes
    x = np.column_stack([np.cos(angle), np.sin(angle)]) * 0.5 + draw.normal(0, 0.15, (count, 2))
    return np.clip(x, -1, 1), y


@pytest.mark.parametrize("classes", [2, 3])
def test_without_noise_it_is_scikit_learns(classes: int) -> None:
    x, y = blobs_on_a_circle(classes)
    ours = LogisticRegression(
        epsilon=math.inf, unit=dp.PUBLIC, bounds=(-1, 1), alpha=2, norm=9
    ).fit(x, y)
    augmented = np.column_stack([x, np.ones(len(x))])  # the constant is penalised too
    theirs = others.LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=1000).fit(
        augmented, y
    )
    coef = theirs.coef_
    np.testing.assert_allclose(ours.coef_, coef[:, :2], atol=2e-3)
    np.testing.assert_allclose(ours.intercept_, coef[:, 2], atol=2e-3)
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(augmented), atol=1e-3)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("method", ["objective", "output"])
@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_three_classes_are_told_apart_with_noise(kind: Any, method: str, delta: float) -> None:
    x, y = blobs_on_a_circle(3)
    names = np.array(["c", "a", "b"])[y]
    schema = dp.Schema(u=dp.Real(-1, 1), v=dp.Real(-1, 1), y=dp.Categorical("c", "a", "b"))
    model = kind(epsilon=2, delta=delta, method=method, schema=schema, expected_rows=6000)
    with fixed_noise(1):
        model.fit(x, names)
    assert model.score(x, names) > 0.85
    assert list(model.classes_) == ["a", "b", "c"]
    assert model.coef_.shape == (3, 2)
    assert model.privacy_.claims == (f"{method}-perturbation",)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "huber"])
@pytest.mark.parametrize("method", ["objective", "output"])
def test_a_line_is_found_with_noise(loss: str, method: str) -> None:
    draw = np.random.default_rng(8)
    x = draw.uniform(0, 10, (5000, 2))
    y = 100 + 3 * x[:, 0] - 2 * x[:, 1] + draw.normal(0, 1, 5000)
    model = LinearSVR(
        epsilon=10,
        alpha=None if method == "objective" else 20,
        loss=loss,
        method=method,
        bounds=(0, 10),
        target_bounds=(80, 130),
        expected_rows=5000,
    )
    with fixed_noise(2):
        model.fit(x, y)
    assert model.score(x, y) > 0.9
    assert model.coef_.shape == (2,)


def test_categories_become_indicators() -> None:
    draw = np.random.default_rng(9)
    colour = np.array(["red", "green", "blue"])[draw.integers(0, 3, 4000)]
    y = (colour == "red").astype(int)
    schema = dp.Schema(
        colour=dp.Categorical("red", "green", "blue"), x=dp.Real(0, 1), y=dp.Categorical(0, 1)
    )
    model = LogisticRegression(epsilon=1, schema=schema)
    model.fit({"colour": colour, "x": draw.random(4000), "y": y}, target="y")
    assert model.coef_.shape == (1, 4)
    unknown = {"colour": np.array(["red", "blue", "mauve"]), "x": np.array([0.5, np.nan, 0.5])}
    assert model.predict(unknown)[:2].tolist() == [1, 0]


def test_bad_parameters() -> None:
    x, y = blobs_on_a_circle(2, 50)
    for parameters, words in (
        ({"alpha": 0}, "alpha"), ({"norm": 0}, "norm"), ({"expected_rows": -1}, "expected_rows"),
        ({"method": "input"}, "method must be"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            LogisticRegression(bounds=(-1, 1), classes=[0, 1], **parameters).fit(x, y)
    with pytest.raises(ValueError, match="width must be"):
        LinearSVC(bounds=(-1, 1), classes=[0, 1], width=2).fit(x, y)
    with pytest.raises(ValueError, match="margin must be"):
        LinearSVR(bounds=(-1, 1), target_bounds=(0, 1), margin=2).fit(x, y)
    with pytest.raises(ValueError, match="loss must be"):
        LinearSVR(bounds=(-1, 1), target_bounds=(0, 1), loss="square").fit(x, y)
    with pytest.raises(ValueError, match="method must be"):
        LinearSVC(bounds=(-1, 1), classes=[0, 1], method="functional").fit(x, y)

"""Support-vector machines with a kernel: features of bounded norm, kernels that are near, curves found."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

import discreet as dp
from discreet.models.erm import FeatureMap, FourierMap
from discreet.models.erm.features import ONE
from discreet.models.erm.fourier import CONSTANT, orthogonal_frequencies
from discreet.models.svm import SVC, SVR, LinearSVC, LinearSVR
from discreet.testing import fixed_noise

COLUMNS = (dp.Real(-1, 1), dp.Integer(0, 7), dp.Categorical("a", "b", "c"))


def codes(count: int, seed: int = 0) -> Any:
    draw = np.random.default_rng(seed)
    sizes = (2**20 + 1, 8, 3)
    found = np.column_stack([draw.integers(0, size, count) for size in sizes])
    found[: count // 5, 2] = -1
    return found


def fourier(count: int, constant: bool = True, gamma: float = 0.7) -> FourierMap:
    inner = FeatureMap(COLUMNS, False, 10)
    draw = np.random.RandomState(1)
    return FourierMap(inner, orthogonal_frequencies(inner.width, count, gamma, draw), constant)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("count", [1, 7, 64])
def test_features_have_the_norm_they_claim(count: int, constant: bool) -> None:
    features = fourier(count, constant)
    z = features.block(codes(4000))
    assert (z == np.rint(z)).all()
    squares = (z**2).sum(axis=1)
    assert squares.max() <= features.radius**2
    assert squares.min() >= 0.99 * features.radius**2
    assert np.abs(z).sum(axis=1).max() <= features.length
    assert features.width == 2 * count + constant
    if constant:
        assert (z[:, -1] == CONSTANT).all()
    # a row alone has the same features
    assert (features.block(codes(4000)[17:18]) == z[17:18]).all()


def test_a_row_has_the_same_features_in_every_company() -> None:
    """Blocks of one row go another way through the linear algebra than blocks of many."""
    columns = tuple(dp.Real(-1, 1) for _ in range(12))
    inner = FeatureMap(columns, False, 24)
    draw = np.random.default_rng(5)
    rows = draw.integers(0, 2**20 + 1, (4097, 12))
    for gamma in (0.3, 1e4, 1e34):  # the last is refused to users
        frequencies = orthogonal_frequencies(12, 50, gamma, np.random.RandomState(0))
        features = FourierMap(inner, frequencies, True)
        together = features.matrix(rows)
        assert (together[1:] == features.matrix(rows[1:])).all()
        assert (together[-1] == features.block(rows[-1:])[0]).all()
        assert (together[7] == features.block(rows[7:8])[0]).all()


@pytest.mark.parametrize("gamma", [1e5, 1.7e308, 0, -1])
@pytest.mark.parametrize("rows", [0, 3])
def test_kernels_that_are_too_sharp_are_refused_whatever_the_rows(gamma: float, rows: int) -> None:
    model = SVC(gamma=gamma, bounds=(-1, 1), classes=[0, 1])
    with pytest.raises(ValueError, match="gamma"):
        model.fit(np.zeros((rows, 2)), np.zeros(rows, int))


def test_frequencies_of_any_size_keep_the_norm() -> None:
    inner = FeatureMap(COLUMNS, False, 10)
    for size in (0.0, 1e-300, 1e15, 1e300):
        features = FourierMap(inner, np.full((inner.width, 3), size), True)
        with np.errstate(all="ignore"):
            z = features.block(codes(50))
        assert np.isfinite(z).all()
        assert (z**2).sum(axis=1).max() <= features.radius**2


def test_inner_products_are_near_the_kernel() -> None:
    rows = codes(60)
    inner = FeatureMap(COLUMNS, False, 10)
    wanted = rbf_kernel(inner.block(rows) / ONE, gamma=0.7)
    for count, error in ((64, 0.3), (2048, 0.06)):
        z = fourier(count, constant=False).block(rows) / ONE
        assert np.abs(z @ z.T - wanted).max() < error
    other = fourier(2048, constant=False, gamma=1.4).block(rows) / ONE
    assert np.abs(other @ other.T - wanted).max() > 0.1  # the check can tell


def disc(count: int = 3000) -> tuple[Any, Any]:
    draw = np.random.default_rng(2)
    x = draw.uniform(-1, 1, (count, 2))
    return x, ((x**2).sum(axis=1) < 0.6).astype(int)


@pytest.mark.parametrize("method", ["objective", "output"])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_disc_is_found_where_no_line_tells(method: str, delta: float) -> None:
    x, y = disc()
    epsilon = 1 if method == "objective" else 10
    options: dict[str, Any] = {"bounds": (-1, 1), "classes": [0, 1], "method": method}
    options |= {"epsilon": epsilon, "delta": delta, "expected_rows": len(x)}
    with fixed_noise(3):
        line = LinearSVC(**options).fit(x, y)
        curve = SVC(**options, n_components=20, random_state=0).fit(x, y)
    assert curve.score(x, y) > 0.85 > 0.65 > line.score(x, y)
    assert curve.privacy_.claims == (f"{method}-perturbation",)
    assert curve.coef_.shape == (1, 40)
    again = pickle.loads(pickle.dumps(curve))
    assert (again.decision_function(x) == curve.decision_function(x)).all()


def test_three_classes_groups_and_categories() -> None:
    draw = np.random.default_rng(4)
    x = draw.uniform(-1, 1, (4000, 2))
    y = np.array(["c", "a", "b"])[np.digitize((x**2).sum(axis=1), [0.4, 0.9])]
    unit = dp.Unit(dp.ADD_REMOVE, id_column="person", max_rows=2)
    schema = dp.Schema(u=dp.Real(-1, 1), v=dp.Real(-1, 1), y=dp.Categorical("c", "a", "b"))
    model = SVC(epsilon=8, delta=1e-6, schema=schema, unit=unit, n_components=20, random_state=0)
    with fixed_noise(5):
        model.fit(x, y, groups=np.arange(4000) // 2)
    assert list(model.classes_) == ["a", "b", "c"]
    assert model.decision_function(x).shape == (4000, 3)
    assert model.score(x, y) > 0.75


def test_a_wave_is_found() -> None:
    draw = np.random.default_rng(6)
    x = draw.uniform(0, 1, (4000, 1))
    y = 10 + np.sin(6 * x[:, 0])
    model = SVR(
        epsilon=4, bounds=(0, 1), target_bounds=(8, 12), n_components=10, random_state=0, gamma=4
    )
    with fixed_noise(7):
        model.fit(x, y)
    assert model.score(x, y) > 0.9
    assert model.coef_.shape == (20,)
    assert isinstance(model.intercept_, float)


def test_the_seed_makes_directions_and_nothing_else() -> None:
    x, y = disc(200)
    one, same, other = (
        SVC(bounds=(-1, 1), classes=[0, 1], n_components=5, random_state=seed).fit(x, y)
        for seed in (0, 0, 1)
    )
    assert (one.frequencies_ == same.frequencies_).all()
    assert not (one.frequencies_ == other.frequencies_).any()
    assert not (one.coef_ == same.coef_).any()  # noise is not the seed's
    assert one.plan(n_features=2).event == clone(other).plan(n_features=2).event
    assert one.gamma_ == 2.0


def test_a_category_counts_as_three_columns_in_the_kernel() -> None:
    rows = {"age": [20, 60], "sex": ["f", "m"], "sick": [0, 1]}
    schema = dp.Schema(
        age=dp.Integer(0, 100), sex=dp.Categorical("f", "m"), sick=dp.Categorical(0, 1)
    )
    model = SVC(epsilon=1, schema=schema, n_components=4).fit(rows, target="sick")
    assert model.gamma_ == 1.0


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("epsilon", [1, 10])
def test_noise_moves_no_score_of_a_kernel_by_more_than_a_margin(epsilon: int, delta: Any) -> None:
    """Where rows say nothing, weights are -b/Λ; an `alpha` that is given may be smaller."""
    x, y = disc(50)
    model = SVC(epsilon=epsilon, delta=delta, bounds=(-1, 1), classes=[0, 1])
    noise = model.plan(n_features=2, rows=50).noise["objective"]
    assert model.fit(x, y).alpha_ >= noise > 0
    bold = clone(model).set_params(alpha=1e-3)
    assert bold.fit(x, y).alpha_ < bold.plan(n_features=2, rows=50).noise["objective"]


def test_without_noise_it_is_the_machine_on_those_features() -> None:
    x, y = disc(400)
    model = SVC(epsilon=math.inf, unit=dp.PUBLIC, bounds=(-1, 1), random_state=0, alpha=0.01)
    assert model.fit(x, y).score(x, y) > 0.97


@pytest.mark.parametrize(
    ("epsilon", "rows", "width"), [(1, 599, 0.25), (1, 600, 0.5), (0.1, 5999, 0.25), (10, 60, 0.5)]
)
def test_a_regression_has_a_wide_corner_where_there_is_little_noise(
    epsilon: float, rows: int, width: float
) -> None:
    options: dict[str, Any] = {"epsilon": epsilon, "expected_rows": rows, "n_components": 4}
    options |= {"bounds": (-1, 1), "target_bounds": (0, 1)}
    found = SVR(**options).plan(n_features=2)
    assert found.event == SVR(width=width, **options).plan(n_features=2).event
    assert found.event != SVR(width=0.75 - width, **options).plan(n_features=2).event


def test_bad_parameters() -> None:
    x, y = disc(50)
    for parameters, words in (
        ({"kernel": "poly"}, "kernel must be"), ({"gamma": 0}, "gamma"),
        ({"n_components": 0}, "n_components"),
        ({"n_components": 4096}, "n_components must be below"), ({"width": 2}, "width must be"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            SVC(bounds=(-1, 1), classes=[0, 1], **parameters).fit(x, y)
    with pytest.raises(ValueError, match="loss must be"):
        SVR(bounds=(-1, 1), target_bounds=(0, 1), loss="square").fit(x, y)


@pytest.mark.parametrize("method", ["objective", "output"])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "huber"])
def test_a_number_that_no_column_tells_is_predicted_by_about_its_mean(
    loss: str, method: str
) -> None:
    """Where rows say nothing, as between columns that tell the same, noise stays small.

    R² of eight fits each was at least -0.11; without a ridge of many deviations, at most -0.65.
    """
    draw = np.random.default_rng(0)
    X = draw.normal(0, 0.4, (300, 3)) @ draw.normal(0, 0.5, (3, 20))
    X = np.clip(X + draw.normal(0, 0.05, X.shape), -1, 1)
    y = np.clip(draw.normal(-0.3, 0.3, 300), -1, 1)
    model = LinearSVR(
        epsilon=10,
        bounds=(-1, 1),
        target_bounds=(-1, 1),
        expected_rows=300,
        loss=loss,
        method=method,
    )
    assert model.fit(X, y).score(X, y) > -0.3


def test_default_ridges_of_regressions_can_be_planned_however_small_epsilon_is() -> None:
    for method in ("objective", "output"):
        model = LinearSVR(epsilon="1e-7", bounds=(-1, 1), target_bounds=(0, 1), method=method)
        assert model.plan(n_features=3).recipe.regulariser > 1e3

"""Principal components: exact without noise, noisy as planned, canonical in sign."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import decomposition

import discreet as dp
from discreet import accounting, events
from discreet.models.decomposition import PCA, fix_signs
from discreet.testing import fixed_noise
from small_tables import CLOUD_BOUNDS, draw_cloud

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult_train.csv.gz"


def test_without_noise_it_is_the_plain_one() -> None:
    x = draw_cloud()
    ours = PCA(unit=dp.PUBLIC, epsilon=math.inf, bounds=CLOUD_BOUNDS).fit(x)
    plain = decomposition.PCA().fit(x)
    assert abs((ours.components_ * plain.components_).sum(axis=1)) == pytest.approx(1, abs=1e-6)
    shares = plain.explained_variance_ * (len(x) - 1) / len(x)
    assert ours.explained_variance_ == pytest.approx(shares, rel=1e-4)
    assert ours.explained_variance_ratio_ == pytest.approx(
        plain.explained_variance_ratio_, rel=1e-4
    )
    assert ours.mean_ == pytest.approx(x.mean(axis=0), abs=1e-4)
    signs = np.sign((ours.components_ * plain.components_).sum(axis=1))
    assert ours.transform(x) == pytest.approx(plain.transform(x) * signs, abs=1e-2)


def test_signs_are_canonical() -> None:
    vectors = np.array([[0.1, -0.9, 0.3], [-0.5, 0.5, 0.5], [0.0, 0.0, 0.0]])
    assert (fix_signs(vectors)[0] == -vectors[0]).all()
    assert (fix_signs(vectors)[1] == -vectors[1]).all()  # the first of equals decides
    assert (fix_signs(-vectors) == fix_signs(vectors)).all()
    for _ in range(5):
        found = PCA(bounds=CLOUD_BOUNDS, epsilon=1).fit(draw_cloud()).components_
        assert (found[np.arange(3), abs(found).argmax(axis=1)] > 0).all()
        assert found @ found.T == pytest.approx(np.eye(3), abs=1e-9)


def test_there_and_back() -> None:
    x = draw_cloud(50)
    for whiten in (False, True):
        model = PCA(bounds=CLOUD_BOUNDS, epsilon=1, whiten=whiten).fit(draw_cloud())
        assert model.inverse_transform(model.transform(x)) == pytest.approx(x, abs=1e-8)
    thin = PCA(1, bounds=CLOUD_BOUNDS, epsilon=5).fit(draw_cloud())
    assert thin.transform(x).shape == (50, 1)
    back = thin.inverse_transform(thin.transform(x))
    assert ((back - x) ** 2).sum() < 0.1 * ((x - x.mean(axis=0)) ** 2).sum()
    with pytest.raises(ValueError, match="X has 3 columns, but there are 1 components"):
        thin.inverse_transform(x)


def test_whitened_columns_have_variance_one() -> None:
    x = draw_cloud()
    model = PCA(2, bounds=CLOUD_BOUNDS, epsilon=1e4, whiten=True).fit(x)
    assert model.transform(x).var(axis=0) == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, events.DiscreteLaplace),
        ({"method": "sulq"}, events.DiscreteLaplace),
        ({"method": "sulq", "delta": 1e-6}, events.DiscreteLaplace),
        ({"delta": 1e-6}, events.Gaussian),
        ({"method": "analyze_gauss", "delta": 1e-6}, events.Gaussian),
    ],
)
def test_methods_are_noises(options: dict[str, Any], kind: type) -> None:
    plan = PCA(bounds=CLOUD_BOUNDS, epsilon=2, **options).plan(rows=1000)
    assert type(plan.event) is kind
    assert accounting.satisfies(plan.event, dp.ApproxDP(2, options.get("delta", 0)))
    assert not accounting.satisfies(plan.event, dp.ApproxDP(1.99, options.get("delta", 0)))


def test_sensitivities_of_the_two_norms() -> None:
    """1 + d + d(d+1)/2 coordinates of one size: L1 their number, squared L2 too."""
    pure = PCA(bounds=CLOUD_BOUNDS, epsilon=1).plan().event
    assert pure.sensitivity == 10 * 2**30
    gauss = PCA(bounds=CLOUD_BOUNDS, epsilon=1, delta=1e-6).plan().event
    assert gauss.sensitivity_squared == 10 * 2**60
    whole = {"bounds": CLOUD_BOUNDS, "method": "sulq"}
    replaced = PCA(epsilon=1, unit=dp.REPLACE_ONE, **whole).plan(rows=100).event
    # the count is public; of the six other products of (1, u) four can turn, and three squares move by 1
    assert replaced.sensitivity == (2 * 4 + 3) * 2**30


def test_the_diagonal_is_noised_when_a_bound_is_zero() -> None:
    """Equal rows: without noise on the diagonal a single column would have variance 0 every time."""
    with fixed_noise(0):
        fits = [PCA(bounds=(0, 1), epsilon=1).fit(np.full((3000, 1), 0.25)) for _ in range(20)]
    assert len({fit.explained_variance_.tobytes() for fit in fits}) > 5


def test_many_columns_and_little_budget_get_a_coarser_grid() -> None:
    whole = {"bounds": (0, 1), "method": "sulq"}
    assert PCA(epsilon=1, **whole).plan(n_features=30).queries[0].bits == 15
    assert PCA(epsilon=1e-4, **whole).plan(n_features=60).queries[0].bits < 15


def test_captured_variance_beside_noise() -> None:
    x = draw_cloud(20_000)
    covariance = np.cov(((x - CLOUD_BOUNDS[0]) / np.subtract(*CLOUD_BOUNDS[::-1])).T)
    best = np.linalg.eigvalsh(covariance)[-1]

    def captured(epsilon: float, **options: Any) -> float:
        found = []
        for seed in range(10):
            with fixed_noise(seed):
                scaled = (x - CLOUD_BOUNDS[0]) / np.subtract(*CLOUD_BOUNDS[::-1])
                (along,) = PCA(1, bounds=(0, 1), epsilon=epsilon, **options).fit(scaled).components_
            found.append(along @ covariance @ along / best)
        return float(np.mean(found))

    assert captured(1) > 0.98
    whole = captured(0.1, method="sulq")
    assert captured(0.1, delta=1e-6, method="analyze_gauss") > whole
    assert captured(0.1) > whole > captured(0.001, method="sulq")  # rows in a ball need less noise
    assert captured(0.001) < 0.9


@pytest.mark.skipif(not ADULT.exists(), reason="the data set is not here")
def test_adult_keeps_its_bars() -> None:
    table = pd.read_csv(ADULT)
    table.columns = [name.replace("-", "_") for name in table.columns]
    names = ["age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
    lower, upper = [17, 0, 1, 0, 0, 1], [90, 1.5e6, 16, 1e5, 5000, 99]
    x = np.clip((table[names].to_numpy(float) - lower) / np.subtract(upper, lower), 0, 1)
    covariance = np.cov(x.T, bias=True)
    for epsilon, bar in ((0.1, 0.435), (1, 0.576), (10, 0.593)):
        found = []
        for seed in range(10):
            with fixed_noise(seed):
                along = PCA(2, bounds=(0, 1), epsilon=epsilon).fit(x).components_
            found.append(np.trace(along @ covariance @ along.T) / np.trace(covariance))
        assert np.mean(found) > bar


def test_hardly_any_rows() -> None:
    schema = dp.Schema(x=dp.Real(0, 1), c=dp.Real(7, 7), n=dp.Integer(0, 5))
    tables: list[dict[str, Any]] = [
        {"x": [], "c": [], "n": []},
        {"x": [0.3], "c": [7.0], "n": [4]},
        {"x": [math.nan] * 3, "c": [None] * 3, "n": [None] * 3},
    ]
    for table in tables:
        for epsilon in (1e-4, 1, 1e4):
            model = PCA(epsilon=epsilon, schema=schema).fit(table)
            for value in (model.components_, model.explained_variance_ratio_, model.mean_):
                assert np.isfinite(value).all()
            assert (model.explained_variance_ >= 0).all()
            frame = pd.DataFrame({"x": [math.nan], "c": [0.0], "n": [99]})
            assert np.isfinite(model.transform(frame)).all()


def test_output_names() -> None:
    frame = pd.DataFrame(draw_cloud(100), columns=["a", "b", "c"])
    model = PCA(2, bounds=CLOUD_BOUNDS).set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame).columns) == ["pca0", "pca1"]
    assert model.fit_transform(frame).shape == (100, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 4}, "n_components must be at most the number of columns, 3, got 4"),
        ({"n_components": 0}, "n_components must be at least 1"),
        ({"n_components": 0.95}, "n_components must be a whole number"),
        ({"method": "ppca"}, "method must be 'auto', 'sulq', 'analyze_gauss', 'clipped' or"),
        ({"method": "analyze_gauss"}, "needs delta > 0"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        PCA(bounds=CLOUD_BOUNDS, **options).fit(draw_cloud(5))

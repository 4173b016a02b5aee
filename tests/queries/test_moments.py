"""Means and variances: noised in the coordinates that need the least noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet import testing
from discreet.queries import Additive, CentredSums
from discreet.queries.means import shrink_towards_mean

ROWS, EPSILON, TRIALS = 1000, dp.PureDP("1/10"), 1000
SCHEMA = dp.Schema(x=dp.Real(0, 1))


def rows_around(mean: float, seed: int = 0) -> Any:
    spread = np.random.default_rng(seed).beta(4 * mean, 4 * (1 - mean), ROWS)
    return dp.PrivateDataset({"x": spread}, SCHEMA, unit=dp.PUBLIC), spread


def rmse(data: Any, query: Any, truth: Any, pick: Any = lambda value: value) -> float:
    prepared = data._prepare(query, EPSILON)
    with testing.fixed_noise(7):
        found = [pick(prepared.answer(data._engine).value) for _ in range(TRIALS)]
    return float(np.sqrt(np.mean((np.array(found) - truth) ** 2)))


@pytest.mark.parametrize("mean", [0.05, 0.5])
def test_a_mean_errs_less_than_count_and_sum_would(mean: float, monkeypatch: Any) -> None:
    data, x = rows_around(mean)
    split = rmse(data, dp.Mean("x"), x.mean())
    # κ√(m² + (1 - m)²)/n, κ the deviation of Laplace noise of scale 1/ε (moments.md, 5)
    expected = np.sqrt(2) * 10 * np.hypot(mean, 1 - mean) / ROWS
    assert abs(split / expected - 1) < 0.1
    monkeypatch.setattr(dp.Mean, "in_basis", Additive.in_basis)  # count and centred sum
    assert 1.3 < rmse(data, dp.Mean("x"), x.mean()) / split < 1.55  # √2


@pytest.mark.parametrize("mean", [0.05, 0.5])
def test_a_variance_errs_less_than_count_sum_and_squares_would(mean: float) -> None:
    data, x = rows_around(mean)
    split = rmse(data, dp.Variance("x"), x.var())

    def plain(value: Any) -> float:
        count, sums, squares = np.ravel(value)[[0, 1, -1]]
        rows = max(count, 1.0)
        return float(np.clip(squares / rows - (sums / rows) ** 2, 0, 1) / 4)

    query = CentredSums("x", products="all")
    exact = data.release(query, dp.PureDP(float("inf"))).value
    assert plain(exact) == pytest.approx(x.var(), rel=1e-3)
    # to first order 1.9 at the middle of the bounds; near an end the clamp at 0 helps both
    assert rmse(data, query, x.var(), plain) > 1.5 * split


def test_group_means_err_less_when_shrunk() -> None:
    draw = np.random.default_rng(1)
    groups = [f"g{i}" for i in range(50)]
    where = draw.integers(0, 50, 50_000)
    centres = draw.normal(0.3, 0.01, 50)
    x = np.clip(draw.normal(centres[where], 0.1), 0, 1)
    schema = dp.Schema(x=dp.Real(0, 1), g=dp.Categorical(*groups))
    table = {"x": x, "g": np.array(groups, object)[where]}
    data = dp.PrivateDataset(table, schema, unit=dp.PUBLIC)
    truth = np.array([x[where == g].mean() for g in range(50)])

    def error(query: dp.Mean) -> tuple[float, float]:
        prepared = data._prepare(query, dp.PureDP("1/2"))
        with testing.fixed_noise(3):
            found = [prepared.answer(data._engine) for _ in range(40)]
        values = np.array([release.value for release in found])
        said = np.mean([np.mean(release.stderr**2) for release in found])
        return float(np.sqrt(np.mean((values - truth) ** 2))), float(np.sqrt(said))

    (plain, plain_said), (shrunk, said) = (
        error(dp.Mean("x", by="g")),
        error(dp.Mean("x", by="g", shrink=True)),
    )
    assert abs(plain_said / plain - 1) < 0.1
    assert abs(said / shrunk - 1) < 0.25  # what it says is what it errs
    assert shrunk < 1.02 * plain


def test_shrinkage_leaves_clear_differences_and_joins_what_noise_hides() -> None:
    values, errors = np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.full(5, 0.01)
    weights = np.ones(5)
    kept, said = shrink_towards_mean(values, errors, weights)
    np.testing.assert_allclose(kept, values, atol=1e-3)
    np.testing.assert_allclose(said, errors, rtol=1e-3)
    joined, said = shrink_towards_mean(values, np.full(5, 10.0), weights)
    np.testing.assert_allclose(joined, 2.0)
    assert np.all(said == 0)
    few = values[:3], errors[:3], weights[:3]
    assert shrink_towards_mean(*few)[0] is few[0]


def test_bad_shrinkage_is_refused() -> None:
    with pytest.raises(ValueError, match="shrink needs by"):
        dp.Mean("x", shrink=True)
    with pytest.raises(TypeError, match="shrink must be"):
        dp.Mean("x", by="g", shrink=1)  # type: ignore[arg-type]
    assert repr(dp.Mean("x", by="g", shrink=True)) == "Mean('x', by='g', shrink=True)"


@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_the_form_of_a_question_does_not_change_its_answer(relation: Any) -> None:
    """Split or centred, of integers or reals: without noise the same means and variances."""
    draw = np.random.default_rng(2)
    table = {
        "x": draw.uniform(0, 1, 300),
        "k": draw.integers(0, 9, 300),
        "c": ["a", "b", "b"] * 100,
    }
    schema = dp.Schema(x=dp.Real(0, 1), k=dp.Integer(0, 8), c=dp.Categorical("a", "b"))
    unit = dp.Unit(relation)
    for columns in (["x"], ["k"], ["x", "k"]):
        for by in (None, "c"):
            query = dp.Moments(*columns, by=by)
            for form in (query, query.for_budget(dp.PureDP(1))):
                shown = form.in_basis(schema, unit)
                engine = dp.PrivateDataset(table, schema, unit=dp.PUBLIC)._engine
                sums = engine.totals(form.coded(schema, unit))
                value = shown.estimate(shown.with_count(sums, schema, 300), schema)
                here = [np.array(table["c"]) == g for g in "ab"] if by else [np.ones(300, bool)]
                for group, mask in enumerate(here):
                    assert value.count[group] == pytest.approx(mask.sum())
                    for at, name in enumerate(columns):
                        cells = np.array(table[name])[mask]
                        assert value.mean[group, at] == pytest.approx(cells.mean(), abs=1e-4)
                        assert value.variance[group, at] == pytest.approx(cells.var(), abs=1e-3)

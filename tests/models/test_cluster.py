"""k-means by private Lloyd: what it finds, what it asks, what it costs."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import cluster

import discreet as dp
from discreet import accounting
from discreet.models.cluster import KMeans, elbow
from discreet.models.cluster.box import Box, cluster_weighted, nearest, spread
from discreet.models.cluster.lloyd import count_weight, move_centres
from discreet.models.cluster.starts import GridStart, Space
from discreet.models.facts import Facts
from discreet.testing import exact_totals, fixed_noise

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult_train.csv.gz"


def blobs_apart(rows: int, dimensions: int, clusters: int = 4, seed: int = 1) -> Any:
    draw = np.random.default_rng(seed)
    centres = spread(clusters, dimensions, draw) * 0.4 + 0.5
    where = draw.integers(0, clusters, rows)
    return np.clip(centres[where] + draw.normal(0, 0.04, (rows, dimensions)), 0, 1)


def ratio(x: Any, seeds: int = 5, **options: Any) -> float:
    """The median inertia over that of scikit-learn without noise, for fixed noise."""
    best = cluster.KMeans(4, n_init=5, random_state=0).fit(x).inertia_
    found = []
    for seed in range(seeds):
        with fixed_noise(seed):
            model = KMeans(4, bounds=(0, 1), random_state=seed, **options).fit(x)
        found.append(-model.score(x) / best)
    return float(np.median(found))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(
    ("init", "dimensions"), [("grid", 2), ("grid", 6), ("split", 6), ("auto", 15)]
)
def test_four_clusters_are_found(init: str, dimensions: int, delta: float) -> None:
    x = blobs_apart(8000 if dimensions < 12 else 25_000, dimensions)
    assert ratio(x, init=init, delta=delta, epsilon=1) < 1.15
    assert ratio(x, init=init, delta=delta, epsilon=0.001) > 1.5  # noise alone finds nothing


def test_public_points_are_found_out_of() -> None:
    x = blobs_apart(8000, 2)
    assert ratio(x, init="spread", epsilon=1) < 1.6
    good = [[0.2, 0.2], [0.8, 0.2], [0.2, 0.8], [0.8, 0.8]]
    assert ratio(x, init=good, epsilon=1) < 2


@pytest.mark.skipif(not ADULT.exists(), reason="the data set is not here")
def test_adult_within_fifteen_percent() -> None:
    table = pd.read_csv(ADULT)
    table.columns = [name.replace("-", "_") for name in table.columns]
    bounds = {
        "age": (17, 90),
        "fnlwgt": (0, 1.5e6),
        "education_num": (1, 16),
        "capital_gain": (0, 1e5),
        "capital_loss": (0, 5000),
        "hours_per_week": (1, 99),
    }
    sides = tuple(np.array(list(bounds.values())).T)
    x, found = table[list(bounds)].to_numpy(float), []
    for seed in range(10):
        with fixed_noise(seed):
            model = KMeans(4, epsilon=1, bounds=sides, random_state=seed).fit(x)
        found.append(-model.score(x))
    assert np.mean(found) < 1.15 * 1712.3  # scikit-learn without noise, ten starts


def planned(**options: Any) -> Any:
    return KMeans(5, bounds=(0, 1), **options).plan(n_features=3, rows=1000)


@pytest.mark.parametrize("init", ["grid", "split", "spread"])
@pytest.mark.parametrize("rounds", [None, 1, 4])
def test_the_parts_cost_together_what_is_charged(init: str, rounds: int | None) -> None:
    plan = planned(init=init, rounds=rounds, epsilon="7/3")
    assert accounting.cost(plan.event, dp.PureDP) == dp.PureDP("7/3")
    plan = planned(init=init, rounds=rounds, epsilon="7/3", delta=1e-6)
    assert accounting.satisfies(plan.event, dp.ApproxDP("7/3", 1e-6))
    assert not accounting.satisfies(plan.event, dp.ApproxDP("7/3", 0.99e-6))
    asked = {"grid": 1, "split": 3, "spread": 0}[init]
    default = {"grid": 4, "split": 3, "spread": 5}[init]
    assert len(plan.event.events) == asked + (default if rounds is None else rounds)
    assert plan.noise["cluster_centers_"].shape == (5, 3)


def test_few_rows_or_a_small_budget_get_fewer_rounds_after_a_grid() -> None:
    """By public facts alone: ε, and the number of rows where it is public."""

    def rounds(epsilon: float, rows: int | None = None) -> int:
        options: dict[str, Any] = {"epsilon": epsilon, "bounds": (0, 1), "init": "grid"}
        if rows is None:
            return len(KMeans(2, **options).plan(n_features=2, rows=50).event.events) - 1
        model = KMeans(2, unit=dp.REPLACE_ONE, **options).fit(np.zeros((rows, 2)))
        return int(model.n_iter_)

    assert [rounds(epsilon) for epsilon in (0.5, 1, 10)] == [2, 4, 4]
    assert [rounds(1, 100), rounds(10, 1000)] == [2, 4]
    guessed = planned(init="grid", epsilon=1, expected_rows=200)
    assert len(guessed.event.events) == len(planned(init="grid", epsilon="1/2").event.events)
    with pytest.raises(ValueError, match="expected_rows must be at least 1"):
        planned(init="grid", epsilon=1, expected_rows=0)


def test_a_start_alone_may_be_all() -> None:
    plan = planned(rounds=0, epsilon=2)
    assert len(plan.event.events) == 1
    assert accounting.cost(plan.event, dp.PureDP) == dp.PureDP(2)
    model = KMeans(4, rounds=0, bounds=(0, 1), epsilon=5).fit(blobs_apart(2000, 2))
    assert model.n_iter_ == 0
    assert (model.cluster_sizes_ == 0).all()


def test_the_noise_of_a_round_is_what_the_plan_says() -> None:
    """Expected noise of centres with all rows in equal clusters, against the spread of many fits."""
    x = np.repeat([[0.25, 0.25], [0.75, 0.75]], 2000, axis=0)
    options: dict[str, Any] = {"init": [[0.2, 0.2], [0.8, 0.8]], "rounds": 1, "bounds": (0, 1)}
    options["unit"] = dp.PUBLIC  # the noise is the same
    stated = KMeans(2, epsilon=0.5, **options).plan(n_features=2, rows=4000).noise
    with fixed_noise(0):
        fits = [KMeans(2, epsilon=0.5, **options).fit(x) for _ in range(120)]
    found = np.array([fit.cluster_centers_ for fit in fits])
    assert (abs(found.std(axis=0) / stated["cluster_centers_"] - 1) < 0.35).all()
    assert (abs(found.mean(axis=0) - [[0.25, 0.25], [0.75, 0.75]]) < 0.01).all()


def test_count_weights_are_optimal() -> None:
    """The weight minimises (w + d)²(d + A/w²) for Laplace, (w² + d)(d + A/w²) for Gaussian noise."""
    for d in (1, 2, 6, 40):
        a = 4 * d * 0.225**2
        grid = np.linspace(0.05, 6, 20_000)
        laplace = grid[((grid + d) ** 2 * (d + a / grid**2)).argmin()]
        gaussian = grid[((grid**2 + d) * (d + a / grid**2)).argmin()]
        assert float(count_weight(d, dp.PureDP(1))) == pytest.approx(laplace, abs=2e-3)
        assert float(count_weight(d, dp.ApproxDP(1, 1e-6))) == pytest.approx(gaussian, abs=2e-3)


def space_of(schema: dp.Schema, clusters: int = 3) -> Space:
    facts = Facts(schema, dp.Unit(dp.PUBLIC), tuple(schema.base))
    return Space(facts, facts.numeric("KMeans"), clusters, Fraction(1))


def test_cells_have_their_rows_about_their_middles() -> None:
    schema = dp.Schema(
        age=dp.Integer(17, 90), few=dp.Integer(0, 2), flag=dp.Integer(5, 6), x=dp.Real(-3, 7)
    )
    space = space_of(schema)
    start = GridStart()
    (query,) = start.queries(space)
    counts = [len(middles) for _, _, middles in start.cells(space)]
    assert counts == [8, 3, 2, 8]
    values = {
        "age": np.arange(17, 91).astype(float),
        "few": np.arange(3.0),
        "flag": np.array([5.0, 6.0]),
        "x": np.linspace(-3, 7, 4001)[:-1],
    }
    for axis, (name, cells) in enumerate(values.items()):
        table = {n: np.full(len(cells), v[0]) for n, v in values.items()} | {name: cells}
        totals = exact_totals(dp.PrivateDataset(table, schema, unit=dp.PUBLIC), query)
        there = totals.reshape(counts).sum(axis=tuple(i for i in range(4) if i != axis))
        middles = start.cells(space)[axis][2]
        box = Box.of((space.columns[axis],))
        edges = np.concatenate([[0], np.cumsum(there)])
        scaled = box.scale(cells[:, None])[:, 0]
        for cell in range(len(there)):
            inside = scaled[edges[cell] : edges[cell + 1]]
            assert inside.mean() == pytest.approx(middles[cell], abs=3e-3)


def test_predictions_follow_the_engine() -> None:
    """The label of a row is the cell that the fit itself would count it in."""
    x = blobs_apart(500, 3)
    model = KMeans(4, bounds=(0, 1), epsilon=2).fit(x)
    schema = dp.Schema({f"x{j}": dp.Real(0, 1) for j in range(3)})
    query = space_of(schema, 4).sums(2 * model.cluster_centers_ - 1)
    totals = exact_totals(dp.PrivateDataset(x, schema, unit=dp.PUBLIC), query)
    assert (np.bincount(model.predict(x), minlength=4) == totals[:, 0] // 2**20).all()
    distances = model.transform(x)
    assert (distances.argmin(axis=1) == model.predict(x)).all()
    assert -(distances.min(axis=1) ** 2).sum() == pytest.approx(model.score(x))


def test_bounds_set_the_units() -> None:
    """Columns in other units give the same clusters: distances are between scaled columns."""
    x = blobs_apart(3000, 2)
    wide = x * [1000, 0.01] + [5, -3]
    bounds = ([5, -3], [1005, -2.99])
    with fixed_noise(3):
        one = KMeans(4, epsilon=1, bounds=(0, 1)).fit(x)
    with fixed_noise(3):
        other = KMeans(4, epsilon=1, bounds=bounds).fit(wide)
    assert other.cluster_centers_ == pytest.approx(
        one.cluster_centers_ * [1000, 0.01] + [5, -3], rel=1e-4
    )
    assert (other.predict(wide) == one.predict(x)).mean() > 0.999


def test_a_round_moves_centres_as_far_as_noise_allows() -> None:
    draw = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [0.5, 0.5], [-0.9, 0.9]])
    answer = np.array([[100.0, 50.0, -50.0], [1e6, 9e5, 9e5], [-3.0, 40.0, 40.0]])
    quiet = move_centres(centres, answer, np.full((3, 3), 1e-9), draw)
    assert quiet[0] == pytest.approx([0.5, -0.5])
    assert quiet[1] == pytest.approx([0.9, 0.9])
    assert np.linalg.norm(quiet[2] - quiet[1]) <= 0.2 + 1e-9  # without rows: beside the fullest
    loud = move_centres(centres, answer, np.full((3, 3), 1e3), draw)
    assert abs(loud[1] - [0.9, 0.9]).max() < 1e-4  # a million rows still speak
    assert np.linalg.norm(loud[0] - loud[1]) <= 0.2 + 1e-9
    nothing = move_centres(centres, answer, np.full((3, 3), 1e9), draw)
    assert (nothing == centres).all()
    far = move_centres(centres, answer * [1, 100, 100], np.full((3, 3), 1.0), draw)
    assert (abs(far) <= 1).all()


@pytest.mark.parametrize("init", ["grid", "split", "spread"])
@pytest.mark.parametrize("rows", [[], [[0.5, 7.0]], [[math.nan, None]] * 3])
def test_hardly_any_rows(init: str, rows: list[Any]) -> None:
    table = {
        "x": np.array([row[0] for row in rows], object),
        "c": np.array([row[1] for row in rows], object),
    }
    schema = dp.Schema(x=dp.Real(0, 1), c=dp.Real(7, 7))
    for epsilon in (1e-4, 1, 1e4):
        model = KMeans(4, init=init, epsilon=epsilon, schema=schema).fit(table)
        assert np.isfinite(model.cluster_centers_).all()
        assert (abs(model.cluster_centers_ - [0.5, 7]) <= [0.5, 0]).all()
        here = pd.DataFrame({"x": [0.1, math.nan], "c": [7, math.nan]})
        assert set(model.predict(here)) <= set(range(4))


def test_more_clusters_than_cells() -> None:
    schema = dp.Schema(n=dp.Integer(0, 2))
    model = KMeans(6, epsilon=math.inf, schema=schema, unit=dp.PUBLIC).fit(
        {"n": np.array([0, 1, 2, 2])}
    )
    assert model.cluster_centers_.shape == (6, 1)
    assert -model.score(pd.DataFrame({"n": [0, 1, 2]})) < 0.1


def test_labels_are_for_public_rows_alone() -> None:
    x = blobs_apart(200, 2)
    private = KMeans(4, bounds=(0, 1)).fit(x)
    assert not hasattr(private, "labels_")
    assert not hasattr(
        KMeans(4, unit=dp.PUBLIC).fit(x).set_params(unit=None, bounds=(0, 1)).fit(x), "labels_"
    )
    public = KMeans(4, unit=dp.PUBLIC).fit(x)
    assert (public.labels_ == public.predict(x)).all()
    frame = pl.DataFrame({"a": x[:, 0], "more": ["text"] * 200, "b": x[:, 1]})
    schema = dp.Schema(a=dp.Real(0, 1), b=dp.Real(0, 1))
    model = KMeans(4, unit=dp.PUBLIC, schema=schema)
    assert (model.fit(frame).labels_ == model.predict(frame.select("a", "b"))).all()
    assert not hasattr(model.fit(frame.lazy()), "labels_")
    assert (private.fit_predict(x) == private.predict(x)).all()


def test_a_column_may_be_left_out() -> None:
    schema = dp.Schema(a=dp.Real(0, 1), b=dp.Real(0, 1), who=dp.Categorical("F", "M"))
    table = {"a": [0.1, 0.9], "b": [0.2, 0.8], "who": ["F", "M"]}
    data = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(1)))
    with pytest.raises(ValueError, match="KMeans takes numbers only: column 'who'"):
        KMeans(2).fit(data)
    model = KMeans(2).fit(data, target="who")
    assert list(model.feature_names_in_) == ["a", "b"]
    named = model.set_output(transform="pandas").transform(pd.DataFrame({"a": [0.5], "b": [0.5]}))
    assert list(named.columns) == ["kmeans0", "kmeans1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be at least 1"),
        ({"n_clusters": 2.5}, "n_clusters must be a whole number"),
        ({"method": "elkan"}, "method must be 'lloyd' or 'sample_aggregate'"),
        ({"init": "k-means++"}, "init must be 'auto', 'grid', 'split', 'spread'"),
        ({"init": [[0.1, 0.2]]}, r"init must be one of .* got an array of shape \(1, 2\)"),
        ({"init": [[0.1, math.nan]] * 2}, "finite"),
        ({"rounds": -1}, "rounds must be at least 0"),
        ({"rounds": 0, "init": "spread"}, "rounds must be at least 1"),
        ({"blocks": 0, "method": "sample_aggregate"}, "blocks must be at least 1"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        KMeans(**{"n_clusters": 2, **options}, bounds=(0, 1)).fit(np.zeros((3, 2)))


def test_a_grid_has_few_columns() -> None:
    with pytest.raises(ValueError, match="at most 12 columns, X has 13: use init='split'"):
        KMeans(2, init="grid", bounds=(0, 1)).fit(np.zeros((3, 13)))


def test_public_seeds_decide_public_parts() -> None:
    x = blobs_apart(1000, 2)
    with fixed_noise(5):
        one = KMeans(4, bounds=(0, 1), random_state=3).fit(x)
    with fixed_noise(5):
        same = KMeans(4, bounds=(0, 1), random_state=np.int64(3)).fit(x)
    assert (one.cluster_centers_ == same.cluster_centers_).all()
    KMeans(2, bounds=(0, 1), random_state=np.random.RandomState(0)).fit(x)


@pytest.mark.parametrize("dimensions", [2, 15])
def test_the_elbow_is_where_it_is(dimensions: int) -> None:
    x = blobs_apart(8000, dimensions)
    ledger = dp.Ledger(limit=dp.PureDP(2))
    with fixed_noise(1):
        found = elbow(KMeans(epsilon=2, bounds=(0, 1), ledger=ledger), x, range(1, 9))
    assert found.suggested == 4
    assert found.clusters == tuple(range(1, 9))
    assert found.inertia[0] > 3 * found.inertia[3] > 3 * found.inertia[7]
    assert accounting.cost(found.event, dp.PureDP) == dp.PureDP(2)
    with pytest.raises(dp.BudgetExceeded):
        elbow(KMeans(epsilon=0.1, bounds=(0, 1), ledger=ledger), x)


def test_more_numbers_cost_nothing_more() -> None:
    x = blobs_apart(500, 2)
    few = elbow(KMeans(bounds=(0, 1), delta=1e-6), x, [1, 8])
    many = elbow(KMeans(bounds=(0, 1), delta=1e-6), x, range(1, 9))
    assert few.event == many.event
    assert few.suggested is None
    assert accounting.satisfies(many.event, dp.ApproxDP(1, 1e-6))
    constant = elbow(KMeans(schema=dp.Schema(c=dp.Real(3, 3))), np.full((9, 1), 3.0), [1, 2, 3])
    assert (constant.inertia == 0).all()
    with pytest.raises(ValueError, match="clusters must hold at least one number"):
        elbow(KMeans(bounds=(0, 1)), x, [])


def test_points_of_a_spread_are_far_apart() -> None:
    draw = np.random.default_rng(0)
    random = min(_closest(draw.uniform(-1, 1, (8, 3))) for _ in range(20))
    assert min(_closest(spread(8, 3, draw)) for _ in range(20)) > max(random, 0.6)
    assert abs(spread(8, 3, draw)).max() < 1


def _closest(points: Any) -> float:
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    return float(apart[~np.eye(len(points), dtype=bool)].min())


def test_weighted_centres_against_repeated_points() -> None:
    draw = np.random.default_rng(0)
    points = blobs_apart(40, 2) * 2 - 1
    weights = draw.integers(1, 9, 40).astype(float)
    found = cluster_weighted(points, weights, 4, np.random.default_rng(1))
    inertia = (nearest(points, found)[1] * weights).sum()
    repeated = np.repeat(points, weights.astype(int), axis=0)
    best = cluster.KMeans(4, n_init=20, random_state=0).fit(repeated).inertia_
    assert inertia == pytest.approx(best, rel=1e-3)

"""Structure of public trees, and what their leaves say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from test_tree import COLUMNS, SCHEMA, private, two_steps

import discreet as dp
from discreet import testing
from discreet.models.tree import DecisionTreeClassifier, RandomDecisionForest
from discreet.models.tree.random_trees import random_tree
from discreet.models.tree.smoothing import (
    chosen_shares,
    class_prior,
    class_shares,
    kept_steps,
    leaf_means,
    levels,
    signal_share,
    split_blocks,
    whole_mean,
)
from discreet.models.tree.structure import (
    MAX_CANDIDATES,
    MAX_CUTS,
    candidates,
    class_depth,
    coverage,
    cut_points,
    forest_size,
    leaves_of,
    mean_depth,
    regression_forest,
    tree_of_trees,
)
from discreet.queries import BestSplit, WithColumns
from discreet.schema import Parts, Tree


@pytest.mark.parametrize(
    "column",
    [
        dp.Real(0, 1),
        dp.Real(0, 1e6),
        dp.Real(-5, -1),
        dp.Real(-3, 3),
        dp.Real(17, 90),
        dp.Integer(0, 1),
        dp.Integer(-3, 4),
        dp.Integer(0, 10**6),
        dp.Integer(0, 10**7),
    ],
    ids=repr,
)
@pytest.mark.parametrize("most", [2, 7, MAX_CUTS])
def test_cut_points_are_inside_the_bounds_and_different(column: Any, most: int) -> None:
    points = cut_points(column, most)
    assert 1 <= len(points) <= most
    schema = dp.Schema(v=column).derive(bins=dp.Bins("v", points))  # raises if two are one
    assert len(schema.labels("bins")) == len(points) + 1
    if isinstance(column, dp.Integer) and column.upper - column.lower <= most:
        assert len(points) == column.upper - column.lower  # every value can be told from the next


def test_constant_columns_have_none_and_many_columns_few() -> None:
    assert cut_points(dp.Real(4, 4)) == cut_points(dp.Integer(4, 4)) == ()
    assert candidates({"a": dp.Real(1, 1), "s": dp.Categorical("only")}) == {}
    many = candidates({f"x{i}": dp.Real(0, 1) for i in range(500)})
    assert sum(map(len, many.values())) <= MAX_CANDIDATES


def test_random_trees_never_ask_what_is_already_known() -> None:
    """Every node splits its own box: both sides can be reached, until nothing is left to split."""
    draw = np.random.default_rng(0)
    narrow = {"a": dp.Integer(0, 2), "c": COLUMNS["c"], "k": dp.Real(1, 1)}
    for columns in (COLUMNS, narrow):
        splits = random_tree(columns, 5, draw)
        schema = dp.Schema(columns).derive(leaf=Tree(splits))
        rows = {
            "a": np.tile(np.linspace(0, 2 if columns is narrow else 1, 3000), 3),
            "b": np.tile(np.arange(3000) % 10, 3),
            "c": np.repeat(["x", "y", "z"], 3000).astype(object),
            "k": np.ones(9000),
        }
        data = dp.PrivateDataset({n: rows[n] for n in columns}, schema, unit=dp.PUBLIC)
        counts = testing.exact_totals(data, dp.Count(by="leaf"))[:, 0]
        if columns is narrow:  # nine different rows
            assert (counts > 0).sum() == 9
    assert None in splits


@pytest.mark.parametrize(
    ("epsilon", "rows", "size"),
    [
        (1, 400, (4, 2)),
        (1, 250, (2, 2)),
        (1, 3000, (16, 5)),
        (1, 30_000, (32, 8)),
        (0.1, 400, (1, 2)),
    ],
)
def test_regression_forests_grow_with_what_rows_can_show(
    epsilon: float, rows: int, size: tuple[int, int]
) -> None:
    """The noise of all leaves together stays below a twentieth of the rows, from ε·rows of 100 on."""
    assert regression_forest(epsilon, rows) == size
    trees, depth = size
    if epsilon * rows >= 100:
        assert math.sqrt(2 * trees * 2**depth) / epsilon < rows / 20


def test_trees_of_one_seed_are_the_same_and_of_another_are_not() -> None:
    trees = [random_tree(COLUMNS, 4, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert trees[0] == trees[1] != trees[2]


def test_a_tree_of_trees_counts_each_row_in_its_own_part() -> None:
    draw = np.random.default_rng(3)
    trees = [random_tree(COLUMNS, 3, draw) for _ in range(4)]
    names = ["a", "b", "c", "t"]
    joined: dict[str, Any] = {"part": Parts(names, 4), "leaf": Tree(tree_of_trees("part", trees))}
    rows = two_steps(500)
    data = dp.PrivateDataset(rows, SCHEMA, unit=dp.PUBLIC)
    counts = testing.exact_totals(data, WithColumns(dp.Count(by="leaf"), joined))[:, 0]
    assert counts.sum() == 500
    for index, splits in enumerate(trees):
        alone: dict[str, Any] = {"part": Parts(names, 4), "leaf": Tree(splits)}
        query = WithColumns(dp.Count(by="leaf", where=f"part == {index}"), alone)
        wanted = testing.exact_totals(data, query)[:, 0]
        assert counts[8 * index : 8 * index + 8].tolist() == wanted.tolist()


def test_predictions_find_the_leaves_of_the_fit() -> None:
    """The leaf at prediction is the leaf that the door counted, cell by cell."""
    draw = np.random.default_rng(5)
    splits = random_tree(COLUMNS, 6, draw)
    rows = two_steps(400)
    data = dp.PrivateDataset(rows, SCHEMA, unit=dp.PUBLIC)
    counts = testing.exact_totals(data, WithColumns(dp.Count(by="leaf"), {"leaf": Tree(splits)}))
    forest = RandomDecisionForest(epsilon=1, n_estimators=1).fit(private(rows))
    leaves = leaves_of([splits], forest._rows({n: rows[n] for n in COLUMNS}))[:, 0]
    assert np.bincount(leaves, minlength=64).tolist() == counts[:, 0].tolist()


def test_nodes_of_few_rows_share_a_split_with_those_beside_them() -> None:
    """Both sides of an ancestor need 5 deviations in rows of rarer classes; else all below is one block."""
    shares = np.full((8, 2), 0.5)
    sizes = np.array([40, 40, 40, 2, 9, 9, 9, 40])
    counts = np.repeat(sizes[:, None] / 2, 2, axis=1)
    assert split_blocks(counts, 0.0, shares).tolist() == [
        *range(8)
    ]  # without noise each has its own
    found = split_blocks(counts, 2.0, shares)
    assert found.tolist() == [0, 1, 2, 2, 4, 4, 4, 4]
    assert split_blocks(counts, 100.0, shares).tolist() == [0] * 8
    assert split_blocks(-counts, 1.0, shares).tolist() == [0] * 8
    assert (
        split_blocks(counts, 2.0, np.eye(2)[np.zeros(8, int)]).tolist() == [0] * 8
    )  # nothing to tell
    assert split_blocks(counts[:1], 2.0, shares[:1]).tolist() == [0]


@pytest.mark.parametrize(("columns", "depth"), [(1, 4), (6, 8), (40, 8)])
def test_coverage_is_what_simulation_gives(columns: int, depth: int) -> None:
    m = np.random.default_rng(0).binomial(depth, 1 / columns, 200_000)
    assert coverage(columns, depth) == pytest.approx((m / (m + 1)).mean(), abs=3e-3)


def test_defaults_grow_with_budget_and_rows() -> None:
    assert [class_depth(e, 32561) for e in ("1/10", 1, 10)] == [5, 8, 8]
    assert [class_depth(1, n) for n in (1, 150, 10**9)] == [1, 1, 8]
    assert class_depth(math.inf, 100) == class_depth(100, 100)
    assert [class_depth(e, 32561, shares=False) for e in ("1/10", 1, 10)] == [4, 6, 8]
    assert [mean_depth(e, 32561) for e in ("1/10", 1, 10)] == [4, 5, 7]
    assert [mean_depth(1, n) for n in (1, 150, 10**9)] == [1, 3, 8]
    assert mean_depth(math.inf, 100) == mean_depth(100, 100)
    sizes = [forest_size(e, 10_000, 30) for e in (1e-4, "1/100", "1/10", 1, math.inf)]
    assert sizes == [(4, 5), (8, 4), (16, 7), (16, 8), (16, 8)]
    # few rows: less noise bears more trees, and leaves that are only somewhat smaller
    assert [forest_size(e, 500, 30) for e in (1, 4, 10)] == [(8, 6), (32, 7), (32, 8)]
    # very few: two trees, with a level more; four where two would see too few of many columns
    assert [forest_size("1/10", n, 16) for n in (50, 500, 900)] == [(2, 2), (2, 4), (2, 5)]
    assert [forest_size("1/10", n, 17) for n in (50, 500, 900)] == [(4, 5), (4, 5), (4, 5)]
    wide = RandomDecisionForest(epsilon=1, expected_rows=50, bounds=(0, 1), classes=[0, 1])
    assert [wide.plan(n_features=n).recipe.trees for n in (16, 17)] == [2, 4]


# What leaves say.


def test_levels_add_up() -> None:
    leaves = np.arange(16.0).reshape(8, 2)
    found = levels(leaves)
    assert [len(level) for level in found] == [1, 2, 4, 8]
    assert found[0].tolist() == [leaves.sum(axis=0).tolist()]
    assert found[1][1].tolist() == leaves[4:].sum(axis=0).tolist()


def test_leaves_without_noise_speak_for_themselves_and_with_much_for_all() -> None:
    leaves = np.array([[9000.0, 1000.0], [100.0, 9900.0]])
    prior = class_prior(leaves.sum(axis=0), 0.0)
    assert class_shares(leaves, 0.0, prior) == pytest.approx(
        leaves / leaves.sum(axis=1, keepdims=True), abs=1e-3
    )
    lost = class_shares(leaves, 1e9, prior)
    assert lost == pytest.approx(np.tile(prior, (2, 1)), abs=1e-3)
    for shares in (lost, class_shares(leaves - 5000, 30.0, prior)):
        assert shares.sum(axis=1) == pytest.approx(1)
        assert np.all(shares > 0)
    means = leaf_means(np.array([1e4, 1e4]), np.array([-5e3, 2e3]), (0.0, 0.0), 0.3)
    assert means == pytest.approx([-0.5, 0.2], abs=1e-3)
    assert leaf_means(np.ones(4), np.ones(4), (1e9, 1e9), 0.3) == pytest.approx([0.3] * 4)


def test_what_the_best_of_many_splits_shows_by_luck_is_hardly_kept() -> None:
    """Sides of 50 rows: the two of 300 splits of nothing that differ most, and two that do differ."""
    draw, parents = np.random.default_rng(0), np.array([[0.7, 0.3]])
    lucky = max(
        (draw.multinomial(50, parents[0], 2).astype(float) for _ in range(300)),
        key=lambda sides: abs(sides[0, 0] - sides[1, 0]),
    )
    assert abs(lucky[0, 0] - lucky[1, 0]) > 10
    assert kept_steps(lucky, parents)[0] < 0.75
    assert kept_steps(np.array([[500.0, 0.0], [200.0, 300.0]]), parents)[0] > 0.98
    assert kept_steps(np.zeros((2, 2)), parents)[0] == 0
    assert kept_steps(np.array([[300.0] * 3, [100.0] * 3]), np.full((1, 3), 1 / 3))[0] < 1e-9


def test_leaves_of_chosen_splits_differ_less_in_the_same_order() -> None:
    leaves = np.array([[60.0, 20.0], [30.0, 30.0], [50.0, 5.0], [1e4, 2e3]])
    prior = class_prior(leaves.sum(axis=0), 0.0)
    shares = chosen_shares(leaves, 0.0, prior)
    usual = class_shares(leaves, 0.0, prior)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert np.all(shares > 0)
    assert shares[0, 0] > shares[1, 0]
    assert shares[0, 0] - shares[1, 0] < usual[0, 0] - usual[1, 0]
    assert chosen_shares(leaves * 1e4, 0.0, prior) == pytest.approx(
        leaves / leaves.sum(axis=1, keepdims=True), abs=0.01
    )
    assert chosen_shares(leaves, 1e9, prior) == pytest.approx(np.tile(prior, (4, 1)), abs=1e-3)


def test_the_score_and_the_levels_follow_the_budget_and_a_guess_of_the_rows() -> None:
    given: dict[str, Any] = {"bounds": (0, 1), "classes": [0, 1]}
    found = {}
    for rows in (99, 100, 200_000):
        tree = DecisionTreeClassifier(epsilon=1, expected_rows=rows, **given)
        choices = [q for q in tree.plan(n_features=2).queries if isinstance(q, BestSplit)]
        found[rows] = [query.criterion for query in choices]
    assert found[99] == ["majority"]
    assert found[100] == ["deviation"]
    assert found[200_000] == ["deviation"] * 8


def test_class_shares_of_all_rows_are_shrunk_by_their_noise() -> None:
    assert class_prior(np.array([300.0, 0.0]), 300.0)[0] < 0.6
    assert class_prior(np.array([30_000.0, 10_000.0]), 30.0)[0] == pytest.approx(0.75, abs=1e-3)


def test_the_mean_of_all_rows_is_shrunk_to_the_middle_by_its_noise() -> None:
    assert abs(whole_mean(5.0, -60.0, (60.0, 60.0))) < 0.1
    assert whole_mean(1e5, 3e4, (60.0, 60.0)) == pytest.approx(0.3, abs=1e-3)


def test_leaves_that_differ_by_noise_alone_are_no_evidence() -> None:
    """Four trees of eight leaves, about 54 rows in each, noise of 57."""
    draw, prior = np.random.default_rng(0), np.array([0.7, 0.3])
    rows = [draw.multinomial(54, prior, 8).astype(float) for _ in range(4)]
    none = [
        signal_share([one + draw.normal(0, 57, one.shape) for one in rows], 57.0, prior)
        for _ in range(200)
    ]
    assert np.mean(none) < 0.3
    apart = [np.repeat([[500.0, 0.0], [60.0, 240.0]], 4, axis=0)] * 4
    assert signal_share(apart, 5.0, prior) > 0.98


def test_a_forest_of_noise_is_not_sure_of_itself() -> None:
    """600 rows, labels that no column tells of, ε = 0.1: probabilities differ little between rows.

    Means of 20 fits are 0.048 ± 0.012; they were 0.13 ± 0.01 before noise was taken off the evidence.
    """
    draw, spreads = np.random.default_rng(0), []
    for seed in range(20):
        X, y = draw.random((600, 6)), (draw.random(600) < 0.3).astype(int)
        domain: dict[str, Any] = {"bounds": (0, 1), "classes": [0, 1], "expected_rows": 600}
        forest = RandomDecisionForest(epsilon=0.1, random_state=seed, **domain).fit(X, y)
        spreads.append(forest.predict_proba(X)[:, 1].std())
    assert np.mean(spreads) < 0.09

"""Trees: public structure, prices, what leaves say, and how well it works."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import discreet as dp
from discreet import events, testing
from discreet.models.facts import Facts
from discreet.models.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomDecisionForest,
    RandomDecisionForestRegressor,
)
from discreet.models.tree.forest import _tree_of_trees
from discreet.models.tree.smoothing import class_prior, class_shares, leaf_means, levels
from discreet.models.tree.structure import (
    MAX_CANDIDATES,
    MAX_CUTS,
    candidates,
    coverage,
    cut_points,
    forest_size,
    greedy_depth,
    leaves_of,
    random_tree,
)
from discreet.queries import WithColumns
from discreet.schema import Parts, Tree

COLUMNS: dict[str, Any] = {
    "a": dp.Real(0, 1),
    "b": dp.Integer(0, 9),
    "c": dp.Categorical("x", "y", "z", unknown="x"),
}
SCHEMA = dp.Schema({**COLUMNS, "t": dp.Categorical(0, 1)})
NUMBERS = dp.Schema({**COLUMNS, "t": dp.Real(-2, 2)})


def table(n: int, seed: int = 0, numbers: bool = False) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    a, b = draw.random(n), draw.integers(0, 10, n)
    c = draw.choice(["x", "y", "z"], n).astype(object)
    signal = 2.0 * (a > 0.6) - 1.0 + 0.8 * ((c == "y") & (b >= 4))
    target = np.clip(signal + draw.normal(0, 0.3, n), -2, 2)
    return {"a": a, "b": b, "c": c, "t": target if numbers else (target > 0.2).astype(int)}


def private(rows: dict[str, Any], schema: dp.Schema = SCHEMA, limit: Any = 100) -> Any:
    return dp.PrivateDataset(rows, schema, ledger=dp.Ledger(limit=dp.PureDP(limit)))


# Prices.

UNITS = {
    "add": (dp.Unit(dp.ADD_REMOVE), 1),
    "replace": (dp.Unit(dp.REPLACE_ONE), 2),
    "persons": (dp.Unit(dp.ADD_REMOVE, "id", 3), 3),
    "replaced persons": (dp.Unit(dp.REPLACE_ONE, "id", 3), 6),
}


@pytest.mark.parametrize("name", list(UNITS))
def test_a_forest_pays_for_every_tree(name: str) -> None:
    unit, moved = UNITS[name]
    forest = RandomDecisionForest(epsilon="1/2", schema=SCHEMA, unit=unit, n_estimators=8)
    assert forest.plan(rows=1000).event == events.DiscreteLaplace(16 * moved, 8 * moved)
    parts = RandomDecisionForest(
        epsilon="1/2", schema=SCHEMA, unit=unit, n_estimators=8, share="rows"
    )
    assert parts.plan(rows=1000).event == events.DiscreteLaplace(2 * moved, moved)


def test_a_forest_with_a_delta_pays_the_root_of_its_trees() -> None:
    few, many = (
        RandomDecisionForest(
            delta=1e-6, bounds=([0, 0], [1, 1]), classes=[0, 1], n_estimators=count
        ).plan()
        for count in (64, 256)
    )
    assert isinstance(few.event, events.Gaussian)  # √64·σ is less than 64·scale
    assert isinstance(many.event, events.Gaussian)
    assert float(many.event.sigma / few.event.sigma) == pytest.approx(2, rel=1e-6)


@pytest.mark.parametrize("name", list(UNITS))
def test_a_tree_pays_each_level_and_its_leaves_and_no_more(name: str) -> None:
    unit, moved = UNITS[name]
    tree = DecisionTreeClassifier(epsilon="3/2", schema=SCHEMA, unit=unit, max_depth=3)
    plan = tree.plan(rows=1000)
    assert plan.measure == dp.PureDP("3/2")
    assert isinstance(plan.event, events.Compose)
    *levels_, leaves = plan.event.events
    assert leaves == events.DiscreteLaplace(moved / Fraction("3/10"), moved)
    costs = []
    for event in levels_:
        assert isinstance(event, events.PermuteAndFlip)
        assert event.monotone == (unit.relation is dp.ADD_REMOVE)
        rows = unit.rows_per_person
        assert event.sensitivity == 2 * 4096 * rows
        costs.append((1 if event.monotone else 2) * event.sensitivity / event.scale)
    assert costs[1] == costs[0] * Fraction(3, 2)
    assert costs[2] == costs[1] * Fraction(3, 2)
    assert sum(costs) + Fraction("3/10") == Fraction("3/2")


def test_the_plan_does_not_depend_on_labels_or_rows() -> None:
    """One class, no rows, or a full table: as many questions, for the same price."""
    seen = []
    for rows in (table(300), table(0), {**table(300), "t": np.zeros(300, int)}):
        tree = DecisionTreeClassifier(epsilon=1).fit(private(rows))
        seen.append((tree.privacy_.event, len(tree.tree_), tree.leaf_values_.shape))
    assert seen[0] == seen[1] == seen[2]


def test_a_tree_does_not_charge_a_delta_that_it_does_not_need() -> None:
    ledger = dp.Ledger(limit=dp.ApproxDP(1, 1e-6))
    data = dp.PrivateDataset(table(50), SCHEMA, ledger=ledger)
    tree = DecisionTreeClassifier(epsilon=1, delta=1e-6).fit(data)
    assert tree.privacy_.measure == dp.PureDP(1)


def test_the_share_of_rows_is_taken_where_leaves_hold_few() -> None:
    def shares(rows: int, **options: Any) -> bool:
        forest = RandomDecisionForest(
            epsilon=1, schema=SCHEMA, n_estimators=16, expected_rows=rows, **options
        )
        return isinstance(forest.plan().event, events.DiscreteLaplace) and (
            forest.plan().event.sensitivity == 1
        )

    assert not shares(10**6)
    assert not shares(10**4)
    assert shares(100)
    assert not shares(100, delta=1e-6)  # there a joint vector costs the root alone
    assert shares(10**6, share="rows")


# Structure.


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


def test_trees_of_one_seed_are_the_same_and_of_another_are_not() -> None:
    trees = [random_tree(COLUMNS, 4, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert trees[0] == trees[1] != trees[2]


def test_a_tree_of_trees_counts_each_row_in_its_own_part() -> None:
    draw = np.random.default_rng(3)
    trees = [random_tree(COLUMNS, 3, draw) for _ in range(4)]
    names = ["a", "b", "c", "t"]
    joined: dict[str, Any] = {"part": Parts(names, 4), "leaf": Tree(_tree_of_trees("part", trees))}
    rows = table(500)
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
    rows = table(400)
    data = dp.PrivateDataset(rows, SCHEMA, unit=dp.PUBLIC)
    counts = testing.exact_totals(data, WithColumns(dp.Count(by="leaf"), {"leaf": Tree(splits)}))
    forest = RandomDecisionForest(epsilon=1, n_estimators=1).fit(private(rows))
    leaves = leaves_of([splits], forest._rows({n: rows[n] for n in COLUMNS}))[:, 0]
    assert np.bincount(leaves, minlength=64).tolist() == counts[:, 0].tolist()


@pytest.mark.parametrize(("columns", "depth"), [(1, 4), (6, 8), (40, 8)])
def test_coverage_is_what_simulation_gives(columns: int, depth: int) -> None:
    m = np.random.default_rng(0).binomial(depth, 1 / columns, 200_000)
    assert coverage(columns, depth) == pytest.approx((m / (m + 1)).mean(), abs=3e-3)


def test_defaults_grow_with_budget_and_rows() -> None:
    assert [greedy_depth(e, 32561) for e in ("1/10", 1, 10)] == [4, 5, 7]
    assert [greedy_depth(1, n) for n in (1, 150, 10**9)] == [1, 3, 8]
    assert greedy_depth(math.inf, 100) == greedy_depth(100, 100)
    assert [forest_size(e, 10_000) for e in (1e-4, "1/10", 1, math.inf)] == [1, 16, 32, 32]


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


# How well it works.


def test_classifiers_learn_numbers_and_categories() -> None:
    rows, new = table(6000), table(2000, 1)
    X = {name: new[name] for name in COLUMNS}
    with testing.fixed_noise(1):
        tree = DecisionTreeClassifier(epsilon=1).fit(private(rows))
        forest = RandomDecisionForest(epsilon=1, random_state=0).fit(private(rows))
    best = max(new["t"].mean(), 1 - new["t"].mean())
    assert tree.score(X, new["t"]) > 0.9 > best + 0.2
    assert forest.score(X, new["t"]) > 0.8
    assert tree.predict_proba(X).sum(axis=1) == pytest.approx(1)
    assert forest.predict_proba(X).sum(axis=1) == pytest.approx(1)
    columns = {split[0] for split in tree.tree_ if split is not None}
    assert columns <= set(COLUMNS)
    assert tree.tree_[0][0] == "a"


def test_regressors_learn_numbers_and_categories() -> None:
    rows, new = table(6000, numbers=True), table(2000, 1, numbers=True)
    X = {name: new[name] for name in COLUMNS}
    with testing.fixed_noise(2):
        tree = DecisionTreeRegressor(epsilon=1).fit(private(rows, NUMBERS))
        forest = RandomDecisionForestRegressor(epsilon=1, random_state=0).fit(
            private(rows, NUMBERS)
        )
    assert tree.score(X, new["t"]) > 0.8
    assert forest.score(X, new["t"]) > 0.5
    assert np.all(abs(tree.predict(X)) <= 2)
    assert np.all(abs(forest.predict(X)) <= 2)


def test_classes_keep_their_names_in_any_order() -> None:
    rows = table(3000)
    labels = np.where(rows["t"] == 1, "yes", "no").astype(object)
    for classes in (["yes", "no", "maybe"], ["no", "maybe", "yes"]):
        for estimator in (
            DecisionTreeClassifier(epsilon=5, bounds=(0, 1), classes=classes),
            RandomDecisionForest(epsilon=5, bounds=(0, 1), classes=classes, random_state=0),
        ):
            with testing.fixed_noise(3):
                estimator.fit(rows["a"][:, None], labels)
            assert estimator.classes_.tolist() == ["maybe", "no", "yes"]
            assert estimator.predict([[0.05], [0.95]]).tolist() == ["no", "yes"]


def test_a_thousand_categories() -> None:
    names = [f"k{i}" for i in range(1000)]
    schema = dp.Schema(k=dp.Categorical(*names), t=dp.Categorical(0, 1))
    draw = np.random.default_rng(0)
    at = draw.integers(0, 1000, 2000)
    rows = {"k": np.array(names, object)[at], "t": (at < 500).astype(int)}
    for kind in (DecisionTreeClassifier, RandomDecisionForest):
        model = kind(epsilon=1).fit(private(rows, schema))
        odd = {"k": np.array(["k1", "never seen", None], object)}
        assert np.all(np.isfinite(model.predict_proba(odd)))


@pytest.mark.parametrize("share", ["budget", "rows"])
def test_forests_on_duckdb_are_those_on_arrays(share: str) -> None:
    """Categories, numbers and parts of the rows, bit for bit."""
    import pyarrow as pa

    rows = table(500)
    frame = duckdb.connect().from_arrow(pa.table({n: pa.array(list(c)) for n, c in rows.items()}))
    found = []
    for source in (rows, frame):
        with testing.fixed_noise(7):
            forest = RandomDecisionForest(
                epsilon=1, n_estimators=4, max_depth=4, share=share, random_state=1
            ).fit(private(source))
        found.append(forest)
    for a, b in zip(found[0].leaf_values_, found[1].leaf_values_, strict=True):
        assert a.tolist() == b.tolist()
    X = {name: rows[name] for name in COLUMNS}
    assert np.array_equal(found[0].predict_proba(X), found[1].predict_proba(X))


BAD = [
    (DecisionTreeClassifier(criterion="entropy"), "Information gain"),
    (DecisionTreeClassifier(max_depth=0), "max_depth"),
    (DecisionTreeClassifier(max_depth=13), "at most 12"),
    (RandomDecisionForest(n_estimators=0), "n_estimators"),
    (RandomDecisionForest(max_depth=13), "at most 12"),
    (RandomDecisionForest(share="both"), "share must be"),
    (RandomDecisionForest(share="rows", n_estimators=3), "power of two"),
    (RandomDecisionForest(expected_rows=0), "expected_rows"),
]


@pytest.mark.parametrize(("estimator", "message"), BAD)
def test_bad_parameters_are_refused_before_anything_is_charged(
    estimator: Any, message: str
) -> None:
    data = private(table(10))
    with pytest.raises((TypeError, ValueError), match=message):
        estimator.fit(data)
    assert len(data.ledger.entries()) == 1  # the opening alone


def test_facts_without_a_column_to_split_still_give_a_model() -> None:
    schema = dp.Schema(a=dp.Real(1, 1), t=dp.Categorical(0, 1))
    rows = {"a": np.ones(100), "t": np.r_[np.zeros(90, int), np.ones(10, int)]}
    for kind in (DecisionTreeClassifier, RandomDecisionForest):
        with testing.fixed_noise(0):
            model = kind(epsilon=1).fit(private(rows, schema))
        assert model.predict({"a": np.ones(3)}).tolist() == [0, 0, 0]
    assert Facts(schema, dp.Unit(), ("a",), "t").features == ("a",)


ADULT = Path(__file__).resolve().parents[2].parent / "shared" / "data"


@pytest.mark.slow
@pytest.mark.skipif(not ADULT.exists(), reason="the public Adult table is not here")
@pytest.mark.parametrize(
    ("epsilon", "forest", "tree"), [(0.1, 0.766, 0.78), (1.0, 0.795, 0.815), (10.0, 0.795, 0.82)]
)
def test_income_from_six_numbers(epsilon: float, forest: float, tree: float) -> None:
    """Above what the only broad peer has: 0.768, 0.770, 0.770."""
    import pandas as pd

    names = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    bounds = ([17, 0, 1, 0, 0, 1], [90, 1.5e6, 16, 1e5, 5000, 99])
    train, test = (pd.read_csv(ADULT / f"adult_{part}.csv.gz") for part in ("train", "test"))
    y, expected = ((part["income"] == ">50K").astype(int).to_numpy() for part in (train, test))
    scores: dict[str, list[float]] = {"forest": [], "tree": []}
    for seed in range(3):
        options: dict[str, Any] = {"epsilon": epsilon, "bounds": bounds, "classes": [0, 1]}
        with testing.fixed_noise(seed):
            one = RandomDecisionForest(**options, random_state=seed).fit(train[names].to_numpy(), y)
            two = DecisionTreeClassifier(**options).fit(train[names].to_numpy(), y)
        scores["forest"].append(one.score(test[names].to_numpy(), expected))
        scores["tree"].append(two.score(test[names].to_numpy(), expected))
    assert np.mean(scores["forest"]) > forest
    assert np.mean(scores["tree"]) > tree


@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=str)
def test_persons_with_several_rows_on_arrays_and_duckdb(relation: Any) -> None:
    import pyarrow as pa

    rows = table(400)
    rows["id"] = np.random.default_rng(2).integers(0, 150, 400)
    frame = duckdb.connect().from_arrow(pa.table({n: pa.array(list(c)) for n, c in rows.items()}))
    unit = dp.Unit(relation, "id", 2)
    for kind in (DecisionTreeClassifier, RandomDecisionForest):
        found = []
        for source in (rows, frame):
            data = dp.PrivateDataset(
                source, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(1), unit=unit)
            )
            options = {"max_depth": 3}
            if kind is RandomDecisionForest:
                options |= {"n_estimators": 2, "random_state": 0}
            with testing.fixed_noise(5):
                found.append(kind(epsilon=1, **options).fit(data))
        assert found[0].privacy_.event == found[1].privacy_.event
        assert np.array_equal(found[0].leaf_values_, found[1].leaf_values_)

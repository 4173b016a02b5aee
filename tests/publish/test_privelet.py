"""Histograms for ranges: errors as stated, consistent answers, the best design, equal integers everywhere."""

from __future__ import annotations

import itertools
import math

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy.special import ndtri

import discreet as dp
from discreet import mechanisms, testing
from discreet.publish.privelet import Bank, Flat, Haar, Ranges, Tree
from discreet.publish.privelet.axes import Axis, balanced_branching
from discreet.publish.privelet.facts import Facts
from discreet.publish.privelet.lattice import forward, inverse, levels_of, projected
from discreet.publish.privelet.strategies import Problem
from discreet.publish.privelet.tails import gaussian_factor, laplace_factor

SCHEMA = dp.Schema(
    age=dp.Integer(17, 90), income=dp.Real(0, 100), town=dp.Categorical("Bonn", "Ulm", "Trier")
)
ROWS = 3000
DRAW = np.random.default_rng(0)
TABLE = {
    "age": DRAW.integers(17, 91, ROWS),
    "income": DRAW.exponential(20, ROWS),
    "town": DRAW.choice(["Bonn", "Ulm", "Trier", "nowhere"], ROWS),
}
#: So many draws show a variance to 4 %, even of Laplace noise.
DRAWS = 4000
STRATEGIES = [
    Flat(),
    Tree(),
    Tree(3),
    Tree(2, split="equal"),
    Haar(),
    Haar(3),
    Haar(2, split="equal"),
]


def door(budget=None, unit=dp.ADD_REMOVE, table=TABLE, schema=SCHEMA, **options):
    limit = budget or dp.ApproxDP(10**6, 0.5)
    ledger = dp.Ledger(limit=limit, unit=dp.Unit(unit))
    return dp.PrivateDataset(table, schema, ledger=ledger, **options)


def design(strategy, cells, budget=None, *, workload="ranges", facts=Facts()):  # noqa: B008
    cells = cells if isinstance(cells, tuple) else (cells,)
    workloads = (workload,) * len(cells)
    return strategy.choose(Problem(cells, workloads, facts, budget or dp.PureDP(1)))


# what is measured


def projection(axis, level):
    """Q_l as a dense matrix: the obvious one."""
    padded = axis.padded

    def mean(size):
        return np.kron(np.eye(padded // size), np.full((size, size), 1 / size))

    coarser = mean(axis.sizes[level - 1]) if level else np.zeros((padded, padded))
    return mean(axis.sizes[level]) - coarser


@pytest.mark.parametrize("branching", [(2, 2, 2), (3, 4), (5,), (2, 3, 2)])
def test_the_transform_is_orthonormal_and_splits_into_the_levels(branching):
    axis = Axis(math.prod(branching) - 1, branching)
    cells = DRAW.normal(size=axis.padded)
    assert inverse(forward(cells, (axis,)), (axis,)) == pytest.approx(cells)
    assert np.linalg.norm(forward(cells, (axis,))) == pytest.approx(np.linalg.norm(cells))
    for (level,) in levels_of((axis,)):
        chosen = np.zeros(len(axis.sizes))
        chosen[level] = 1
        assert projected(cells, (axis,), chosen) == pytest.approx(projection(axis, level) @ cells)


@pytest.mark.parametrize("workload", ["ranges", "prefixes", "cells"])
@pytest.mark.parametrize(
    ("cells", "branching", "before"),
    [(11, (3, 4), 0), (7, (2, 2, 2), 0), (6, (6,), 0), (9, (4, 4), 3), (7, (4, 2, 2), 6)],
)
def test_expected_energies_are_the_mean_over_every_query(cells, branching, before, workload):
    axis = Axis(cells, branching, before)
    queries = {
        "ranges": [(a, b) for a in range(cells) for b in range(a + 1, cells + 1)],
        "prefixes": [(0, b) for b in range(1, cells + 1)],
        "cells": [(a, a + 1) for a in range(cells)],
    }[workload]
    leaves = range(-before, axis.padded - before)
    vectors = np.array([[a <= i < b for i in leaves] for a, b in queries], float)
    wanted = [
        np.mean([v @ projection(axis, level) @ v for v in vectors])
        for level in range(len(axis.sizes))
    ]
    assert axis.expected_energies(workload) == pytest.approx(np.array(wanted))
    each = axis.energies_of_ranges(*np.array(queries).T)
    assert each.mean(axis=0) == pytest.approx(np.array(wanted))
    assert axis.energies_of_set(vectors[-1][axis.place] > 0) == pytest.approx(each[-1])


@pytest.mark.parametrize("cells", [2, 3, 5, 16, 17, 255, 256, 257, 59049])
def test_balanced_trees_hold_all_cells_with_little_padding(cells):
    for height in range(1, math.ceil(math.log2(cells)) + 1):
        found = balanced_branching(cells, height)
        assert math.prod(found) >= cells
        assert max(found) - min(found) <= 1


# the answers


def run_often(found, counts):
    """As `run` does it, `DRAWS` times, with all noise drawn at once."""
    exact = zip(found.distributions, found.measure(counts), strict=True)
    noised = [d.run(np.repeat(part[None], DRAWS, axis=0)) for d, part in exact]
    return np.array([found.estimate(list(parts)) for parts in zip(*noised, strict=True)])


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("budget", [dp.PureDP("1/2"), dp.ZCDP("1/10")], ids=repr)
def test_estimates_are_unbiased_and_their_errors_as_stated(strategy, budget):
    found = design(strategy, 13, budget)
    counts = np.arange(13) ** 2
    with testing.fixed_noise(5):
        runs = run_often(found, counts)
    ends = list(itertools.combinations(range(14), 2))
    sums = np.array([(runs[:, a:b] - counts[a:b]).sum(axis=1) for a, b in ends])
    stated = found.variances([np.array([a for a, _ in ends])], [np.array([b for _, b in ends])])
    assert np.abs(sums.mean(axis=1) / np.sqrt(stated / DRAWS)).max() < 4.5
    assert sums.var(axis=1) / stated == pytest.approx(1, abs=0.2)
    assert stated.mean() == pytest.approx(found.error, rel=1e-3)
    # the negative control: an error off by a quarter would be seen
    assert sums.var(axis=1).mean() != pytest.approx(1.25 * stated.mean(), rel=0.15)


@pytest.mark.parametrize("budget", [dp.PureDP("1/2"), dp.ZCDP("1/10")], ids=repr)
def test_boxes_of_two_columns_have_the_errors_that_are_stated(budget):
    for strategy in (Tree(3), Haar(2)):
        found = design(strategy, (5, 6), budget)
        with testing.fixed_noise(6):
            runs = run_often(found, np.zeros((5, 6), int))
        for a, b, c, d in [(0, 5, 0, 6), (1, 3, 2, 6), (4, 5, 0, 1)]:
            stated = found.variances([np.array([a]), np.array([c])], [np.array([b]), np.array([d])])
            assert runs[:, a:b, c:d].sum(axis=(1, 2)).var() / stated[0] == pytest.approx(1, abs=0.2)
        flags = np.arange(5) % 2 == 0, np.arange(6) < 3
        measured = runs[:, flags[0]][:, :, flags[1]].sum(axis=(1, 2)).var()
        assert measured / found.variance_of_sets(flags) == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("strategy", [Flat(), Tree(3), Haar(2)], ids=repr)
def test_least_squares_are_those_of_the_dense_normal_equations(strategy):
    found = design(strategy, 9)
    rows, noised, weights = [], [], []
    for k in range(9):
        column = [part.ravel() for part in found.measure(np.eye(9, dtype=int)[k])]
        rows.append(np.concatenate(column))
    for distribution, part in zip(
        found.distributions, found.measure(np.zeros(9, int)), strict=True
    ):
        noised.append(DRAW.integers(-50, 50, part.shape))
        weights.append(np.full(part.size, distribution.expected_error() ** -2))
    if len(np.concatenate(weights)) > 9 and math.prod(found.axes[0].branching) == 9:
        matrix, w = np.array(rows).T, np.concatenate(weights)
        y = np.concatenate([part.ravel() for part in noised])
        wanted = np.linalg.solve(matrix.T @ (w[:, None] * matrix), matrix.T @ (w * y))
        assert found.estimate(noised) == pytest.approx(wanted)
    exact = found.measure(np.arange(9))
    assert found.estimate(exact) == pytest.approx(np.arange(9))


def test_intervals_hold_at_least_as_often_as_they_say():
    for budget in (dp.PureDP(1), dp.ZCDP("1/8")):
        found = design(Tree(3), 9, budget)
        with testing.fixed_noise(7):
            runs = np.array([found.run(np.zeros(9, int)) for _ in range(1500)])
        for a, b in [(0, 1), (2, 7), (0, 9)]:
            width = found.half_width(0.9) * math.sqrt(
                found.variances([np.array([a])], [np.array([b])])[0]
            )
            held = (np.abs(runs[:, a:b].sum(axis=1)) <= width).mean()
            assert 0.9 <= held < 0.999


def test_factors_are_above_the_exact_ones_of_a_single_noise():
    for level in (0.5, 0.9, 0.99, 0.9999):
        assert laplace_factor(level) >= -math.log(1 - level) / math.sqrt(2)
        assert gaussian_factor(level, 1e6) == pytest.approx(-ndtri((1 - level) / 2), rel=1e-2)


# through the door


def test_counts_cdf_and_quantiles_of_a_release():
    release = door().release(Ranges("age"), dp.PureDP(5))
    value = release.value
    ages = TABLE["age"]
    one = value.count(30, 39)
    assert abs(one.value - ((ages >= 30) & (ages <= 39)).sum()) < 8 * one.stderr
    assert one.interval(0.99).lower < one.value < one.interval(0.99).upper
    assert float(value.count(17, 59)) + float(value.count(60, 90)) == pytest.approx(
        float(value.count())
    )
    curve = value.cdf()
    assert curve.at == tuple(range(17, 91))
    assert curve.value[-1] == pytest.approx(1)
    assert curve.stderr[-1] == pytest.approx(0, abs=1e-6)
    half = value.quantile(0.5)
    assert half.lower <= np.median(ages) <= half.upper
    assert half.lower <= half.value <= half.upper
    assert value.quantile(0).lower == 17
    frame = value.to_frame("polars")
    assert frame.columns == ["age", "count", "stderr"]
    assert len(frame) == 74
    assert "flat" in repr(release)  # at ε = 5, 74 cells need no tree
    assert "±" in repr(one)


def test_bins_of_real_columns_are_asked_from_edge_to_edge():
    value = door().release(Ranges("income", bins=50), dp.PureDP(5)).value
    true = (TABLE["income"] < 20).sum()
    assert abs(value.count(0, 20).value - true) < 8 * value.count(0, 20).stderr
    with pytest.raises(ValueError, match="nearest one is 20"):
        value.count(0, 20.7)
    middle = value.quantile(0.5)
    assert middle.lower <= np.median(TABLE["income"]) <= middle.upper


def test_several_columns_and_columns_without_order():
    value = door().release(Ranges("age", "town"), dp.PureDP(5)).value
    inside = (TABLE["age"] >= 30) & (TABLE["age"] <= 39)
    asked = value.count(age=(30, 39), town="Ulm")
    assert abs(asked.value - (inside & (TABLE["town"] == "Ulm")).sum()) < 8 * asked.stderr
    both = value.count({"town": ["Ulm", "Bonn"]})
    assert both.value == pytest.approx(
        value.count(town="Ulm").value + value.count(town="Bonn").value
    )
    with pytest.raises(ValueError, match="has no order"):
        door().release(Ranges("town"), dp.PureDP(1)).value.count("Bonn", "Ulm")
    with pytest.raises(ValueError, match="not a cell"):
        value.count(town="nowhere")
    ordered = door().release(Ranges("town", ordered=["town"]), dp.PureDP(1)).value
    assert ordered.count("Bonn", "Ulm").value == pytest.approx(float(ordered.cells[:2].sum()))
    with pytest.raises(ValueError, match="single ordered column"):
        value.cdf()


def test_the_charge_is_the_budget_and_is_made_once():
    for budget in (dp.PureDP(1), dp.ApproxDP(1, 1e-6), dp.ZCDP("1/8")):
        for strategy in ("auto", "flat", "tree", "haar"):
            data = door(budget, table=TABLE)
            data.release(Ranges("age", strategy=strategy), budget)
            with pytest.raises(dp.BudgetExceeded):
                data.release(
                    Ranges("age", strategy=strategy),
                    type(budget)(*[v / 100 for v in vars(budget).values()]),
                )


def test_a_plan_says_what_would_be_measured():
    plan = door().plan(Ranges("age"), dp.PureDP(1))
    assert "tree with branching" in repr(plan)
    assert plan.note in repr(plan)
    assert "Haar" in door().plan(Ranges("age"), dp.ZCDP(1)).note
    assert door().plan(Ranges("age", workload="cells"), dp.PureDP(1)).note.startswith("flat")
    assert plan.stderr == door().release(Ranges("age"), dp.PureDP(1)).stderr
    assert door().plan(dp.Count(), dp.PureDP(1)).note == ""


def test_a_public_number_of_rows_is_told_without_noise():
    value = door(unit=dp.REPLACE_ONE).release(Ranges("age"), dp.PureDP("1/100")).value
    whole = value.count()
    assert whole.value == pytest.approx(ROWS, abs=1e-6)
    assert whole.stderr == pytest.approx(0, abs=1e-6)
    # a row with an unknown town does not count, so there the number is private
    whole = door(unit=dp.REPLACE_ONE).release(Ranges("town"), dp.PureDP(1)).value.count()
    assert whole.stderr > 0.5


def test_every_engine_gives_the_same_integers():
    relation = duckdb.from_arrow(pl.DataFrame(TABLE).to_arrow())
    for unit in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        options = {"rows": ROWS} if unit is dp.REPLACE_ONE else {}
        for query in (
            Ranges("age", where="income < 30"),
            Ranges("income", "town", bins=16),
            Ranges("age", strategy=Haar(3)),
            Ranges("income", bins=9, strategy=Bank()),
        ):
            found = []
            for table in (TABLE, pl.DataFrame(TABLE), pl.DataFrame(TABLE).lazy(), relation):
                data = dp.PrivateDataset(table, SCHEMA, unit=dp.PUBLIC)
                prepared = query.prepare(dp.PureDP(1), SCHEMA, dp.Unit(unit), options.get("rows"))
                counts = testing.exact_totals(data, query)
                shape = [len(scale.labels) for scale in query.histogram(SCHEMA)[1]]
                found.append(prepared.design.measure(counts.reshape(shape)))
            for other in found[1:]:
                assert all((a == b).all() for a, b in zip(found[0], other, strict=True))


# edges


@pytest.mark.parametrize("strategy", ["auto", "flat", "tree", "haar"])
@pytest.mark.parametrize("budget", [dp.PureDP(1), dp.ZCDP(1)], ids=repr)
def test_one_cell_and_no_rows(strategy, budget):
    schema = dp.Schema(n=dp.Integer(4, 4))
    query, enough = Ranges("n", strategy=strategy), budget.times(10)
    alone = door(enough, table={"n": np.array([4, 4])}, schema=schema).release(query, budget)
    assert alone.value.count().stderr > 0
    assert alone.value.quantile(0.5).value == 4
    public = door(enough, unit=dp.REPLACE_ONE, table={"n": np.array([4, 4])}, schema=schema)
    assert public.release(query, budget).value.count().value == 2
    assert public.plan(query, budget).measure == dp.PureDP(0)
    empty = {"age": np.zeros(0), "income": np.zeros(0), "town": np.zeros(0, object)}
    for unit in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        found = (
            door(enough, unit=unit, table=empty)
            .release(Ranges("age", strategy=strategy), budget)
            .value
        )
        assert np.isfinite(found.cells).all()
        assert len(found.cdf().value) == 74


def test_public_rows_without_noise_are_exact():
    data = dp.PrivateDataset(TABLE, SCHEMA, unit=dp.PUBLIC)
    value = data.release(Ranges("age", "town"), dp.PureDP(math.inf)).value
    assert (
        value.count(age=(30, 39)).value
        == ((TABLE["age"] >= 30) & (TABLE["age"] <= 39) & (TABLE["town"] != "nowhere")).sum()
    )
    assert value.count().stderr == 0
    assert value.count().interval().lower == value.count().value
    with pytest.raises(ValueError, match="PUBLIC"):
        door().release(Ranges("age"), dp.PureDP(math.inf))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ranges(), "needs the names"),
        (lambda: Ranges("age", "age"), "different"),
        (lambda: Ranges("age", workload="all"), "workload must be"),
        (lambda: Ranges("age", "town", workload=[(1, 2)]), "single column"),
        (lambda: Ranges("age", strategy="wavelet"), "strategy must be"),
        (lambda: Ranges("age", ordered=["town"]), "not among"),
        (lambda: Ranges("age", bins=1), "bins"),
        (lambda: Tree(1), "branching"),
        (lambda: Tree(split="some"), "split"),
        (lambda: door().plan(Ranges("income"), dp.PureDP(1)), "cut into bins"),
        (lambda: door().plan(Ranges("age", workload=[(3, 20)]), dp.PureDP(1)), "not a cell"),
        (lambda: door().plan(Ranges("age", strategy=Tree((2, 2))), dp.PureDP(1)), "fewer than"),
        (
            lambda: door().plan(Ranges("age", "town", strategy=Bank()), dp.PureDP(1)),
            "single column",
        ),
        (lambda: door().plan(Ranges("age"), dp.PureDP(0)), "greater than 0"),
    ],
)
def test_mistakes_are_told_before_anything_is_charged(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_mechanisms_that_add_no_noise_to_sums_are_refused():
    for budget in (mechanisms.PermuteAndFlip(1), mechanisms.DiscreteGaussian(rho=1)):
        with pytest.raises(TypeError, match="Ranges takes"):
            door().plan(Ranges("age"), budget)
    assert door().plan(Ranges("age"), mechanisms.Laplace(1)).measure == dp.PureDP(1)
    assert door().plan(Ranges("age"), mechanisms.Gaussian(rho=1)).measure == dp.ZCDP(1)

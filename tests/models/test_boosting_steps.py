"""Steps of boosting: columns that say the same over and over don't diverge, noise is averaged and told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.measures import ZCDP, PureDP
from discreet.models.boosting import AdditiveBoostingClassifier, AdditiveBoostingRegressor
from discreet.models.boosting.layout import count_rows
from discreet.models.boosting.learning import Floats, Start, boost
from discreet.models.boosting.prior import Prior
from discreet.models.boosting.schedule import MAX_SCANS, fold, public_groups, split_costs
from discreet.models.boosting.starts import shrink_counts
from discreet.models.tree.target import Target
from discreet.testing import fixed_noise

ROWS = 600


def copies(columns: int, noise: float = 0.0, seed: int = 0) -> tuple[Start, Any, Any]:
    """A start, residuals and the loss for copies of a column of three cells: the target is 1, 0, -1 there."""
    draw = np.random.default_rng(seed)
    cells = np.arange(ROWS) % 3
    target = 1.0 - cells
    here = np.full(3, ROWS / 3)
    first = [np.array([[0.3], [0.0], [-0.3]]) for _ in range(columns)]
    start = Start(
        rows=[here] * columns,
        curvature=[here[:, None]] * columns,
        values=first,
        errors=[np.zeros((3, 1))] * columns,
        wanted=first,
        wanted_variance=100.0,
        intercept=np.zeros(1),
        intercept_variance=np.zeros(1),
        prior=Prior.of(columns),
        is_ordered=[True] * columns,
        clip=9.0,
    )

    def ask(
        values: Sequence[Floats], intercept: Floats, group: Sequence[int]
    ) -> tuple[list[Floats], float]:
        residual = target - intercept[0] - sum(value[cells, 0] for value in values)
        sums = np.bincount(cells, residual, 3)[:, None]
        return [sums + draw.normal(0, noise, (3, 1)) for _ in group], noise

    def loss(values: Sequence[Floats]) -> float:
        return float(np.mean((target - sum(value[cells, 0] for value in values)) ** 2))

    return start, ask, loss


def many_copies(number: int) -> list[tuple[Start, Any]]:
    """Starts and residuals of one column with different noise."""
    return [copies(1, 60.0, seed)[:2] for seed in range(number)]


@pytest.mark.parametrize("columns", [1, 2, 5, 15, 60, 200])
@pytest.mark.parametrize("rounds", [3, 8])
@pytest.mark.parametrize("noise", [0.0, 5.0])
def test_no_number_of_equal_columns_makes_shapes_diverge(
    columns: int, rounds: int, noise: float
) -> None:
    """All at once, 60 copies that take 0.8 of a step would be wrong 47 times as much after every round."""
    start, ask, loss = copies(columns, noise)
    found = boost(start, public_groups(columns, rounds), ask)
    assert loss(found.values) < 0.1 * loss([np.zeros((3, 1))])


def test_rounds_are_averaged_where_noise_prevails() -> None:
    """Nine answers with noise of deviation 300 are about as good as one with 100."""
    losses = {}
    for rounds, noise in ((1, 300.0), (9, 300.0), (1, 100.0)):
        found = []
        for seed in range(60):
            start, ask, loss = copies(1, noise, seed)
            start = replace(start, wanted=[np.zeros((3, 1))], wanted_variance=1e8)
            found.append(loss(boost(start, public_groups(1, rounds), ask).values))
        losses[rounds, noise] = np.mean(found)
    assert losses[9, 300.0] < 0.7 * losses[1, 300.0]
    assert losses[9, 300.0] == pytest.approx(losses[1, 100.0], rel=0.2)


def test_the_told_errors_are_those_of_repeated_answers() -> None:
    kept = [boost(start, public_groups(1, 4), ask) for start, ask in many_copies(60)]
    spread = np.std([one.values[0] for one in kept], axis=0)
    told = np.mean([one.errors[0] for one in kept], axis=0)
    assert (0.4 * told < spread).all()
    assert (spread < 1.4 * told).all()


def test_the_less_is_known_the_more_a_shape_is_shrunk() -> None:
    bend, wanted = np.full((6, 2), 50.0), np.tile(np.linspace(-1, 1, 6)[:, None], (1, 2))
    for is_ordered in (True, False):
        kept = [
            float(np.abs(Prior.of(3).shrinkage(bend, noise, is_ordered).apply(wanted)).sum())
            for noise in (0.0, 10.0, 100.0, 1e4)
        ]
        assert sorted(kept, reverse=True) == kept
        assert kept[0] > 0.7 * np.abs(wanted).sum()
        assert kept[-1] < 1e-3
    walk = Prior.of(3).shrinkage(bend, 30.0, True)
    alone = np.zeros((6, 2))
    alone[2] = 1.0
    assert walk.apply(alone)[3, 0] > 0.1  # neighbours share what one of them is told
    assert Prior.of(3).shrinkage(bend, 30.0, False).apply(alone)[3, 0] == 0


def test_groups_hold_every_column_once_in_each_round() -> None:
    for columns in (1, 2, 3, 14, 41, 99, 300):
        for rounds in (1, 3, 4, 8, 100):
            groups = public_groups(columns, rounds)
            assert len(groups) == rounds
            assert all(sorted(sum(each, ())) == list(range(columns)) for each in groups)
            assert sum(map(len, groups)) <= max(MAX_SCANS, rounds)
            sizes = {len(group) for each in groups for group in each}
            assert max(sizes) - min(sizes) <= 1
            assert groups == public_groups(columns, rounds)
    assert len(set(public_groups(14, 3))) == 3  # the order differs


@pytest.mark.parametrize("with_target", [True, False])
@pytest.mark.parametrize("with_pairs", [True, False])
def test_all_answers_together_cost_the_budget(with_target: bool, with_pairs: bool) -> None:
    groups = public_groups(7, 3)
    told = {"with_target": with_target, "with_pairs": with_pairs}
    pure = split_costs(PureDP(2), groups, **told)
    parts = [
        pure.first,
        *sum(pure.rounds, ()),
        *pure.pairs,
        *([pure.target] if with_target else ()),
    ]
    assert sum(part.epsilon for part in parts) == 2
    normal = split_costs(dp.ApproxDP(1, 1e-6), groups, **told)
    for costs, part in ((pure, "epsilon"), (normal, "rho")):
        for one, each in zip(groups, costs.rounds, strict=True):
            per_column = {
                Fraction(getattr(c, part)) / len(g) for g, c in zip(one, each, strict=True)
            }
            assert len(per_column) == 1  # so that every block has the same noise
    assert isinstance(normal.first, ZCDP)
    assert fold([1, 1, 2, 1]) == [(1, 2), (2, 1), (1, 1)]


def test_groups_cost_what_one_vector_of_all_columns_does() -> None:
    """The noise of a block is the same: T vectors of d blocks, or T·d vectors of one."""
    schema = dp.Schema(
        {f"x{i}": dp.Categorical(0, 1, 2) for i in range(6)} | {"y": dp.Categorical(0, 1)}
    )
    for unit in (dp.ADD_REMOVE, dp.REPLACE_ONE, dp.Unit(dp.ADD_REMOVE, "id", max_rows=3)):
        for delta in (0, 1e-6):
            model = AdditiveBoostingClassifier(epsilon=1, delta=delta, schema=schema, unit=unit)
            plan = model.plan()
            facts, layout = plan.facts, plan.recipe.layout
            zeros = [np.zeros((3, 1))] * 6
            costs = plan.recipe.costs.rounds[-1]
            found = []
            for group, share in (
                (range(1), costs[0]),
                (range(2), _times(costs[0], 2)),
                (range(6), _times(costs[0], 6)),
            ):
                query, _ = model._round(zeros, np.zeros(1), 0.5, group, layout, facts)
                found.append(float(np.max(facts.ask(query, share).expected_error(100)[0])))
            assert found == pytest.approx([found[0]] * 3, rel=1e-3)


def _times(budget: Any, factor: int) -> Any:
    if isinstance(budget, PureDP):
        return PureDP(budget.epsilon * factor)
    return ZCDP(budget.rho * factor)


def test_counts_are_shrunk_to_equal_ones_by_their_noise() -> None:
    counts = np.array([10.0, 50.0, 40.0])
    assert np.array_equal(shrink_counts(counts, np.zeros(3), 100.0), counts)
    assert np.allclose(shrink_counts(counts, np.full(3, 1e3), 100.0), 100 / 3)
    assert shrink_counts(np.array([-50.0, 150.0]), np.zeros(2), 100.0).min() > 0
    assert count_rows([counts, counts + 1e6], [np.ones(3), np.full(3, 1e6)]) == pytest.approx(
        100, abs=1
    )
    assert count_rows([-counts], [np.ones(3)]) == 1


def test_a_mean_is_shrunk_by_its_noise() -> None:
    assert Target.of(0.5, 0.0, 0.1, 0.0).mean == 0.5
    assert abs(Target.of(0.5, 10.0, 0.1, 0.0).mean) < 0.01
    assert Target.of(0.5, 0.01, 0.1, 0.0).mean_error == pytest.approx(0.01, rel=0.01)
    assert Target.of(0.5, 10.0, 0.1, 0.0).mean_error == pytest.approx(3**-0.5, rel=0.01)


def test_an_intercept_that_is_in_doubt_follows_residuals() -> None:
    """The target's mean is 0; a start at 0.5 is corrected if its variance says so."""
    found = []
    for variance in (0.0, 1.0):
        start, ask, _ = copies(2, noise=2.0)
        start = replace(start, intercept=np.array([0.5]), intercept_variance=np.array([variance]))
        found.append(float(boost(start, public_groups(2, 3), ask).intercept[0]))
    assert found[0] == 0.5
    assert abs(found[1]) < 0.1
    assert Target.of(0.5, 0.0, 0.09, 0.0).deviation == pytest.approx(0.3)
    assert Target.of(0.5, 0.0, 1.0, 100.0).deviation == pytest.approx(0.25, abs=0.01)


def test_many_correlated_columns_are_learned_from() -> None:
    """Without noise all columns at once diverged here with steps of full length (R² below 0.1)."""
    draw = np.random.default_rng(0)
    factors = draw.normal(size=(4000, 3))
    x = factors @ draw.normal(size=(3, 60)) / 2 + 0.5 * draw.normal(size=(4000, 60))
    y = factors @ [1.0, 0.6, 0.3] + 0.5 * draw.normal(size=4000)
    scores = []
    for seed in range(3):
        with fixed_noise(seed):
            model = AdditiveBoostingRegressor(
                epsilon=10, delta=1e-6, bounds=(-5, 5), target_bounds=(-5, 5)
            )
            scores.append(model.fit(x, y).score(x, y))
    assert np.median(scores) > 0.4

"""Samples that are drawn, noised and answered many at once have the intervals of whole releases."""

from __future__ import annotations

import interval_cases as simulated
import numpy as np
import pytest

import discreet as dp
from discreet.engines import open_engine
from discreet.queries import MeanEstimate, SumEstimate
from discreet.testing import fixed_noise

BUDGETS = [dp.PureDP(1), dp.PureDP(10), dp.ZCDP(5)]


def release(asked, values, budget, unit):
    """The interval of a release of its own."""
    columns = {"x": values, "b": np.zeros(len(values), int), "w": np.zeros(len(values), int)}
    columns["g"] = np.full(len(values), "a")
    ledger = dp.Ledger(limit=dp.ZCDP(10**6), unit=unit)
    data = dp.PrivateDataset(columns, simulated.SCHEMA, ledger=ledger)
    return data.release(dp.Estimate(asked), budget).interval(0.95)


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("unit", simulated.UNITS)
@pytest.mark.parametrize(
    ("asked", "query"),
    [(dp.Mean("x"), MeanEstimate("x")), (dp.Sum("x"), SumEstimate("x"))],
    ids=["mean", "sum"],
)
def test_a_sample_has_the_interval_of_a_release_with_the_same_noise(asked, query, unit, budget):
    neighbours, is_public = simulated.UNITS[unit]
    draw = np.random.default_rng(1)
    for seed, rows in enumerate((3, 20, 100)):
        values = draw.beta(2, 5, rows)
        totals = simulated.add_up(query, values[None, :], np.ones((1, rows), bool))
        with fixed_noise(seed):
            wanted = release(asked, values, budget, neighbours)
        with fixed_noise(seed):
            public = rows if is_public or neighbours.length_is_public else None
            found = simulated.find_intervals(query, budget, totals, neighbours, public)
        assert [found.lower.item(), found.upper.item()] == [wanted.lower, wanted.upper]


def test_a_group_of_a_quantile_has_the_interval_of_a_release_of_its_own():
    """The same counts and ranks decide on it: how often it is hit, and how wide it is, don't differ."""
    draw, runs, found = np.random.default_rng(2), 200, {}
    for groups in (1, runs):
        schema = dp.Schema(age=dp.Integer(0, 99), g=dp.Categorical(*range(groups)))
        query = dp.Estimate(dp.Quantile("age", "3/4", by="g"))
        prepared = query.prepare(dp.PureDP(2), schema, dp.Unit(), None)
        widths = []
        for _ in range(runs // groups):
            group = np.repeat(np.arange(groups), 400)
            rows = {"age": draw.integers(0, 100, len(group)), "g": group}
            ends = prepared.answer(open_engine(rows, schema, dp.Unit())).sampling.interval(0.95)
            widths.extend(np.ravel(ends.upper - ends.lower))
        found[groups] = np.array(widths)
    # the spread of a width is about 4: means of 200 differ by 0.4, and 2 is what another count would do
    assert abs(found[1].mean() - found[runs].mean()) < 1.6
    assert found[1].std() == pytest.approx(found[runs].std(), rel=0.4)

"""Reports are drawn anew: what one batch told says nothing about the next, and a lie is any other value."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare

from discreet import accounting, mechanisms, testing
from discreet.measures import PureDP, Renyi
from discreet.mechanisms.local.domain import STEPS

ROWS = 4000
NAMES = [repr(mechanism) for mechanism in testing.LOCALS]


def value_of(mechanism):
    domain = mechanism.domain
    return (domain.lower + domain.upper) / 2 if hasattr(domain, "lower") else 1


def bins(reports):
    """Each report as one of a few classes of about equal size."""
    kinds, place = np.unique(reports, return_inverse=True)
    if len(kinds) <= 8:
        return place
    return np.searchsorted(np.quantile(reports, np.arange(1, 8) / 8), reports, side="right")


def independence(first, second):
    table = np.zeros((8, 8))
    np.add.at(table, (bins(first), bins(second)), 1)
    kept = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return 1.0 if min(kept.shape) < 2 else chi2_contingency(kept).pvalue


@pytest.mark.parametrize("mechanism", testing.LOCALS, ids=NAMES)
def test_batches_of_reports_are_independent(mechanism):
    values = np.full(ROWS, float(value_of(mechanism)))
    with testing.fixed_noise(12):
        batches = [mechanism.randomize(values).reshape(ROWS, -1).astype(float) for _ in range(2)]
    for column in range(batches[0].shape[1]):
        first, second = (batch[:, column] for batch in batches)
        assert independence(first, second) > 1e-6
        assert independence(first, first) < 1e-6  # the same report twice would be seen


@pytest.mark.parametrize("mechanism", testing.LOCALS[2:3], ids=NAMES[2:3])
def test_a_lie_is_any_other_value_of_whoever_reports_alone(mechanism):
    with testing.fixed_noise(3):
        told = Counter(int(mechanism.randomize([1])[0]) for _ in range(1500))
    lies = [told[code] for code in range(6) if code != 1]
    assert chisquare(lies).pvalue > 1e-6
    assert min(lies) > 0


def test_a_permanent_row_is_reported_afresh():
    memoised = mechanisms.Memoised(3, 1, 6)
    with testing.fixed_noise(4):
        kept = memoised.permanent(np.ones(ROWS, int))
        flips = [(memoised.report(kept) ^ kept).astype(float) for _ in range(2)]
    assert flips[0].mean() == pytest.approx(float(memoised.again), rel=0.1)
    for column in range(6):
        assert independence(flips[0][:, column], flips[1][:, column]) > 1e-6


@pytest.mark.parametrize("values", [2, 5])
def test_each_permanent_row_is_paid(values):
    memoised = mechanisms.Memoised(3, 1, 6)
    assert accounting.cost(memoised.event(values=values), PureDP).epsilon == 3 * values
    assert accounting.cost(memoised.event(1, values), PureDP).epsilon == values


def test_reports_of_means_charge_how_often_they_tell_values_apart():
    """Cell by cell: the divergence of the reports of the two ends of an interval."""
    for mechanism in (mechanisms.PiecewiseMean(2, 0, 10), mechanisms.HybridMean(2, -3, 5)):
        piece = getattr(mechanism, "piece", mechanism)
        window, outside = piece.window, piece.outside
        near, far = (1 - outside) / window, outside / STEPS
        # of the cells of either window, and of those of no window: window, window, all others
        cells = [(near, far, window), (far, near, window), (far, far, STEPS - window)]
        chance = getattr(mechanism, "chance", Fraction(1))
        parts = [(chance * p, chance * q, count) for p, q, count in cells]
        if chance < 1:
            lie = mechanism.bit.lie
            parts += [((1 - chance) * (1 - lie), (1 - chance) * lie, 1)]
            parts += [((1 - chance) * lie, (1 - chance) * (1 - lie), 1)]
        assert sum(p * count for p, _, count in parts) == 1
        price = accounting.cost(mechanism.event(), PureDP).epsilon
        assert max(float(p / q) for p, q, _ in parts) <= np.exp(float(price)) * (1 + 1e-9)
        curve = accounting.cost(mechanism.event(), Renyi, orders=[2, 8]).curve
        for order, bound in curve.items():
            exact = sum(float(p) ** order * float(q) ** (1 - order) * c for p, q, c in parts)
            assert np.log(exact) / (order - 1) <= bound * (1 + 1e-9)


def test_hybrid_reports_are_cells_as_often_as_is_charged():
    mechanism = mechanisms.HybridMean(2, -3, 5)
    with testing.fixed_noise(6):
        told = mechanism.randomize(np.full(20_000, 1.0))
    chance = float(mechanism.chance)
    assert (told >= 2).mean() == pytest.approx(chance, abs=5 * np.sqrt(chance / 20_000))

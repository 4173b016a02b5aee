"""Events of selections are taken by every kind of ledger, at the price of their ε."""

from __future__ import annotations

import math

import pytest

import discreet as dp
from discreet import events
from discreet.mechanisms import PermuteAndFlip, ReportNoisyMax, SparseVector, Staircase

CHARGES = [
    PermuteAndFlip("1/2").event(),
    ReportNoisyMax("1/2").event(3),
    SparseVector("1/2", 4).event(),
    SparseVector("1/4", 4, numeric_epsilon="1/4").event(),
    Staircase("1/2").event(9),
]
LEAVES = [event for event in CHARGES if not event.parts()]


@pytest.mark.parametrize("event", CHARGES, ids=lambda event: type(event).__name__)
def test_a_pure_ledger_takes_two_halves_and_no_more(event):
    ledger = dp.Ledger(limit=dp.PureDP(1))
    ledger.charge(event)
    ledger.charge(event)
    with pytest.raises(dp.BudgetExceeded):
        ledger.charge(events.DiscreteLaplace(10**6))


@pytest.mark.parametrize("event", LEAVES, ids=lambda event: type(event).__name__)
def test_a_concentrated_ledger_takes_half_the_square(event):
    ledger = dp.Ledger(limit=dp.ZCDP("1/8"))
    ledger.charge(event)
    with pytest.raises(dp.BudgetExceeded):
        ledger.charge(events.Gaussian(10**6))
    assert math.isclose(float(dp.accounting.cost(event, dp.Renyi, orders=(math.inf,)).at(2)), 0.5)

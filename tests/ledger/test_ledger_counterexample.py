"""One Rényi order within the full δ is no filter: an adaptive analyst breaks it. Shares hold.

The example is the registered attack on `one-order-with-the-whole-delta`; here is what surrounds it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.audit import hockey_stick
from discreet.guarantees.bugs.broken_accounting import WholeDeltaFilter
from discreet.guarantees.ledger.attacks_adaptive import (
    FIRST,
    LIMIT,
    SECOND,
    accepts,
    declared,
    divergence,
    transcript,
)
from discreet.ledger import BudgetExceeded, Ledger
from discreet.ledger import filters as filters_module
from discreet.ledger.caps import order_cap
from discreet.ledger.filters import RenyiFilter

DELTA = LIMIT.delta
HALF = Fraction(1, 2)
SHARES = {12.0: HALF, 64.0: HALF, math.inf: Fraction(0)}


def test_the_weakened_filter_accepts_both_branches_and_breaks_its_limit() -> None:
    weak = WholeDeltaFilter(DELTA, Fraction(0), SHARES)
    assert accepts(weak, 0)
    assert accepts(weak, 1)
    assert 1.9e-6 < hockey_stick(*transcript((0, 1)), 2.0) < 2.1e-6


def test_each_branch_alone_keeps_the_limit() -> None:
    # so it is the branching that breaks it, not a wrong conversion: each branch fits at its order
    for answer, order in ((0, 64.0), (1, 12.0)):
        p, q = SECOND[answer]
        total = divergence(*FIRST, order) + divergence(p, q, order)
        assert total <= order_cap(order, Fraction(2), DELTA)
        assert hockey_stick(*transcript((answer,)), 2.0) <= 1.03 * DELTA


def test_the_filter_with_shares_refuses_both_branches() -> None:
    sound = RenyiFilter(DELTA, Fraction(0), SHARES)
    assert not accepts(sound, 0)
    assert not accepts(sound, 1)


def test_the_ledger_refuses_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters_module, "orders_for", lambda epsilon, delta: dict(SHARES))
    for second in SECOND.values():
        ledger = Ledger(limit=LIMIT, composition="renyi")
        ledger.charge(declared(*FIRST))
        with pytest.raises(BudgetExceeded):
            ledger.charge(declared(*second))


def test_shares_above_one_are_refused() -> None:
    with pytest.raises(ValueError, match="shares"):
        RenyiFilter(DELTA, Fraction(0), {12.0: Fraction(1), 64.0: Fraction(1, 100)})

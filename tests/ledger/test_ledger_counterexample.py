"""One Rényi order within the full δ is no filter: an adaptive analyst breaks it. Shares hold."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.events import External
from discreet.ledger import BudgetExceeded, Ledger
from discreet.ledger import filters as filters_module
from discreet.ledger.amounts import Amounts, added
from discreet.ledger.caps import order_cap
from discreet.ledger.filters import RenyiFilter
from discreet.measures import ApproxDP, Renyi

EPSILON, DELTA = Fraction(2), Fraction(1, 10**6)
LIMIT = ApproxDP(EPSILON, DELTA)
ORDERS = (12.0, 64.0)

Law = tuple[float, float]


def divergence(p: Law, q: Law, order: float) -> float:
    """D_α(P‖Q) of two laws on two points."""
    logs = [order * math.log(a) + (1 - order) * math.log(b) for a, b in zip(p, q, strict=True)]
    top = max(logs)
    return (top + math.log(math.fsum(math.exp(log - top) for log in logs))) / (order - 1)


def two_points(t: float, loss: float) -> tuple[Law, Law]:
    low = t * math.exp(-loss)
    return (t, 1 - t), (low, 1 - low)


def declared(p: Law, q: Law) -> External:
    """The query as an event with its exact curve, in the worse direction, rounded up."""
    curve = {
        order: max(divergence(p, q, order), divergence(q, p, order)) * (1 + 1e-12)
        for order in ORDERS
    }
    return External(Renyi({**curve, math.inf: math.inf}), "a two-point query")


FIRST = two_points(1e-4, 0.3)
#: What the analyst asks next, by the first answer (0 is the rare one).
SECOND = {0: two_points(0.635, 1.7155), 1: two_points(1.147e-5, 2.0905)}


def true_delta(epsilon: float) -> float:
    """The exact δ(ε) of the two answers together."""
    total = 0.0
    for answer, (p, q) in SECOND.items():
        for a, b in zip(p, q, strict=True):
            total += max(0.0, FIRST[0][answer] * a - math.exp(epsilon) * FIRST[1][answer] * b)
    return total


def sound() -> RenyiFilter:
    half = Fraction(1, 2)
    return RenyiFilter(DELTA, Fraction(0), {12.0: half, 64.0: half, math.inf: Fraction(0)})


class FullDelta(RenyiFilter):
    """The weakened copy: every order has the whole δ."""

    def caps(self, limit: ApproxDP) -> Amounts:  # type: ignore[override]
        caps = {f"{order:g}": order_cap(order, EPSILON, DELTA) for order in ORDERS}
        return {**caps, "inf": EPSILON, "delta": Fraction(0)}


def accepts(filter_: RenyiFilter, answer: int) -> bool:
    """Whether both questions are answered on this branch."""
    caps = filter_.caps(LIMIT)
    first = filter_.price(declared(*FIRST), None)
    assert filter_.fits(first, caps)
    return filter_.fits(added(first, filter_.price(declared(*SECOND[answer]), None)), caps)


def test_the_weakened_filter_accepts_both_branches_and_breaks_its_limit() -> None:
    weak = FullDelta(DELTA, Fraction(0), dict(sound().shares))
    assert accepts(weak, 0)
    assert accepts(weak, 1)
    assert 1.9e-6 < true_delta(2.0) < 2.1e-6
    assert true_delta(2.0) > 1.9 * DELTA


def test_each_branch_alone_keeps_the_limit() -> None:
    # so it is the branching that breaks it, not a wrong conversion: each branch fits at its order
    for answer, order in ((0, 64.0), (1, 12.0)):
        p, q = SECOND[answer]
        total = divergence(*FIRST, order) + divergence(p, q, order)
        assert total <= order_cap(order, EPSILON, DELTA)


def test_the_filter_with_shares_refuses_a_branch() -> None:
    assert not (accepts(sound(), 0) and accepts(sound(), 1))
    assert not accepts(sound(), 0)
    assert not accepts(sound(), 1)


def test_the_ledger_refuses_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters_module, "orders_for", lambda epsilon, delta: dict(sound().shares))
    for second in SECOND.values():
        ledger = Ledger(limit=LIMIT, composition="renyi")
        ledger.charge(declared(*FIRST))
        with pytest.raises(BudgetExceeded):
            ledger.charge(declared(*second))


def test_the_best_attack_of_this_shape_stays_within_the_limit() -> None:
    # the same analyst, with each second question scaled down until the ledger takes it
    caps = sound().caps(LIMIT)
    price = sound().price(declared(*FIRST), None)
    total = 0.0
    for answer, (t, order) in enumerate(((0.635, 64.0), (1.147e-5, 12.0))):
        low, high = 0.0, 5.0
        for _ in range(60):
            middle = (low + high) / 2
            event = declared(*two_points(t, middle))
            fits = sound().fits(added(price, sound().price(event, None)), caps)
            low, high = (middle, high) if fits else (low, middle)
        p, q = two_points(t, low)
        assert order in ORDERS
        for a, b in zip(p, q, strict=True):
            total += max(0.0, FIRST[0][answer] * a - math.exp(2.0) * FIRST[1][answer] * b)
    assert 0 < total <= DELTA


def test_shares_above_one_are_refused() -> None:
    with pytest.raises(ValueError, match="shares"):
        RenyiFilter(DELTA, Fraction(0), {12.0: Fraction(1), 64.0: Fraction(1, 100)})

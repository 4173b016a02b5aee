"""Limits as caps of each filter, and deltas that come from the reserve."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_ledger_filters import KINDS, PAIR, declared_pair

from discreet.accounting import NoBound
from discreet.events import (
    Assumed,
    Compose,
    DiscreteLaplace,
    External,
    Gaussian,
    OneOf,
    Parallel,
    Poisson,
    Repeat,
    RepeatAndSelect,
)
from discreet.ledger import BudgetExceeded, Ledger
from discreet.ledger.caps import order_cap, orders_for, rho_cap
from discreet.ledger.filters import filter_from_dict, new_filter
from discreet.ledger.splitting import split_delta
from discreet.measures import ZCDP, ApproxDP, PureDP, Renyi, convert


def test_declared_deltas_are_split_off() -> None:
    a, b, c = declared_pair(0.1, 1e-8), declared_pair(0.2, 3e-8), DiscreteLaplace(2)
    pure = {e: External(PureDP(e.cost.epsilon), "elsewhere") for e in (a, b)}
    assert split_delta(a) == (pure[a], Fraction("1e-8"))
    assert split_delta(c) == (c, 0)
    assert split_delta(Compose(a, b, c)) == (Compose(pure[a], pure[b], c), Fraction("4e-8"))
    assert split_delta(Repeat(b, 3)) == (Repeat(pure[b], 3), Fraction("9e-8"))
    assert split_delta(Parallel([a, b, c])) == (Parallel([pure[a], pure[b], c]), Fraction("3e-8"))
    assert split_delta(Parallel([a, b, b], 2))[1] == Fraction("6e-8")
    assert split_delta(OneOf([a, b, c])) == (OneOf([pure[a], pure[b], c]), Fraction("3e-8"))
    assert split_delta(Assumed(a, "x")) == (Assumed(pure[a], "x"), Fraction("1e-8"))
    assert split_delta(Poisson(0.5, c)) == (Poisson(0.5, c), 0)
    nothing = declared_pair(0.1, 0)
    assert split_delta(RepeatAndSelect(nothing, 1, 0.1))[0].event == pure[a]
    assert split_delta(Poisson(0.5, Compose(nothing)))[0].event == Compose(pure[a])
    for event in (Poisson(0.5, a), RepeatAndSelect(Compose(a), 1, 0.1)):
        with pytest.raises(NoBound, match="delta"):
            split_delta(event)


@pytest.mark.parametrize(
    ("limit", "composition"), [(PAIR, "zcdp"), (PAIR, "renyi"), (ZCDP(1), "zcdp")]
)
def test_deltas_come_from_the_reserve(limit, composition) -> None:
    ledger = Ledger(limit=limit, composition=composition, delta_reserve=1e-7)
    without = Ledger(limit=limit, composition=composition)
    entry = ledger.charge(declared_pair(0.01, 6e-8))
    assert entry.delta == Fraction("6e-8")
    assert entry.booked == ledger.charge(External(PureDP(0.01), "the same without delta")).booked
    with pytest.raises(BudgetExceeded, match=r"δ = 6e-08 of the 4e-08 left in the reserve"):
        ledger.charge(declared_pair(0.01, 6e-8))
    ledger.charge(declared_pair(0.01, 4e-8))
    assert "1e-07 of δ = 1e-07 taken" in str(ledger.statement())
    ledger.verify()
    with pytest.raises(BudgetExceeded):
        without.charge(declared_pair(0.01, 1e-12))


@pytest.mark.parametrize(("limit", "composition"), KINDS)
def test_a_declared_delta_of_zero_is_pure(limit, composition) -> None:
    ledger = Ledger(limit=limit, composition=composition)
    entry = ledger.charge(declared_pair(0.01, 0))
    assert entry.booked == ledger.charge(External(PureDP(0.01), "the same")).booked


def test_the_reserve_is_taken_off_what_the_limit_converts_to() -> None:
    caps = [
        Ledger(limit=PAIR, composition="zcdp", delta_reserve=reserve).remaining().rho
        for reserve in (0, 1e-7, 9e-7)
    ]
    assert caps == sorted(caps, reverse=True)
    assert len(set(caps)) == 3


# -- limits as caps ----------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["1e-4", "0.1", "1", "2.5", "10", "80"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "0.01"])
def test_rho_is_on_the_private_side_and_close(epsilon: str, delta: str) -> None:
    rho = rho_cap(Fraction(epsilon), Fraction(delta))
    assert convert(ZCDP(rho), ApproxDP, delta=delta).epsilon <= Fraction(epsilon)
    assert convert(ZCDP(rho * Fraction("1.000001")), ApproxDP, delta=delta).epsilon > Fraction(
        epsilon
    )


@pytest.mark.parametrize("order", [2.0, 12.0, 64.0, 700.0])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "20"])
def test_order_caps_are_on_the_private_side_and_close(order: float, epsilon: str) -> None:
    delta = Fraction("1e-6")
    cap = order_cap(order, Fraction(epsilon), delta)
    if cap:
        got = convert(Renyi({order: float(cap)}), ApproxDP, delta=delta).epsilon
        assert Fraction(epsilon) * Fraction("0.999999") < got <= Fraction(epsilon)
    else:
        assert convert(Renyi({order: 1e-9}), ApproxDP, delta=delta).epsilon > Fraction(epsilon)


@given(
    st.fractions(min_value=Fraction(1, 1000), max_value=50),
    st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(1, 10)),
)
def test_orders_are_few_and_their_shares_add_up(epsilon: Fraction, delta: Fraction) -> None:
    shares = orders_for(epsilon, delta)
    assert 3 <= len(shares) <= 5
    assert math.inf in shares
    assert shares[math.inf] == 0
    assert sum(shares.values()) == 1
    assert all(order >= 2 for order in shares)


def test_a_zcdp_ledger_takes_about_what_its_limit_allows() -> None:
    # a Gaussian calibrated through zCDP to the limit fits, one with 0.1 % less noise doesn't
    rho = rho_cap(Fraction(1), Fraction("1e-6"))
    sigma = Fraction(math.sqrt(1 / (2 * rho)))
    Ledger(limit=PAIR, composition="zcdp").charge(Gaussian(sigma * Fraction("1.0000001")))
    with pytest.raises(BudgetExceeded):
        Ledger(limit=PAIR, composition="zcdp").charge(Gaussian(sigma * Fraction("0.999")))


@pytest.mark.parametrize(("limit", "composition"), KINDS)
def test_filters_survive_being_written_down(limit, composition) -> None:
    filter_ = new_filter(composition, limit, Fraction(0))
    again = filter_from_dict(filter_.to_dict())
    assert again.to_dict() == filter_.to_dict()
    assert again.names == filter_.names
    assert again.caps(limit) == filter_.caps(limit)
    with pytest.raises(ValueError, match="filter"):
        filter_from_dict({"composition": "optimistic"})

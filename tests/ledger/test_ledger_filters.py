"""What each filter books, what fits, and that nothing ever passes a limit."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import NoBound, cost
from discreet.events import (
    Assumed,
    Compose,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Exponential,
    External,
    Gaussian,
    Poisson,
    Repeat,
)
from discreet.ledger import BudgetExceeded, Ledger
from discreet.ledger.amounts import (
    Amounts,
    add_amounts,
    amount_from_text,
    float_above,
    float_below,
    grid_for,
    in_steps,
    on_grid,
)
from discreet.ledger.filters import Filter, new_filter
from discreet.measures import ZCDP, ApproxDP, GaussianDP, PrivacyLoss, PureDP, Renyi, convert
from discreet.unit import REPLACE_ONE
from profiles import max_examples

PAIR = ApproxDP(1, 1e-6)
KINDS = [
    (PureDP(1), "pure"),
    (PAIR, "basic"),
    (ZCDP(Fraction(1, 2)), "zcdp"),
    (PAIR, "zcdp"),
    (PAIR, "renyi"),
]


# -- exactness ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "composition"), [(PureDP(1.0), "pure"), (PAIR, "basic"), (PAIR, "renyi")]
)
def test_ten_charges_of_a_tenth_fit_one_and_the_eleventh_does_not(limit, composition) -> None:
    ledger = Ledger(limit=limit, composition=composition)
    for _ in range(10):
        ledger.charge(Exponential(0.1) if composition == "basic" else DiscreteLaplace(10))
    with pytest.raises(BudgetExceeded):
        ledger.charge(DiscreteLaplace(10))
    assert len(ledger.entries()) == 11
    ledger.verify()


def test_ten_charges_of_a_tenth_in_zcdp() -> None:
    ledger = Ledger(limit=ZCDP(1.0))
    event = Gaussian(1, sensitivity_squared="0.2")  # ρ = 0.1
    for _ in range(10):
        assert ledger.charge(event).booked == ZCDP(0.1)
    assert ledger.remaining() == ZCDP(0)
    with pytest.raises(BudgetExceeded):
        ledger.charge(DiscreteLaplace(10**6))


def test_basic_books_exactly_the_pair_that_is_asked_for() -> None:
    ledger = Ledger(limit=ApproxDP(1, 1e-6))
    entry = ledger.charge(Gaussian(5), ApproxDP(1, 1e-6))
    assert entry.booked == ApproxDP(1, 1e-6)
    assert ledger.remaining() == ApproxDP(0, 0)
    assert ledger.spent() == ApproxDP(1, 1e-6)


@pytest.mark.parametrize("epsilon", [Fraction(1, 7919), Fraction(10**20, 3**50), Fraction(1, 3)])
def test_an_odd_limit_can_be_charged_in_full(epsilon: Fraction) -> None:
    ledger = Ledger(limit=PureDP(epsilon))
    ledger.charge(Exponential(epsilon))
    assert ledger.remaining() == PureDP(0)
    inner = Ledger(limit=PureDP(100)).account("a", PureDP(epsilon))
    inner.charge(Exponential(epsilon))
    assert inner.remaining() == PureDP(0)


def test_basic_adds_deltas_and_refuses_on_delta_alone() -> None:
    ledger = Ledger(limit=ApproxDP(100, 1e-6))
    ledger.charge(Gaussian(5), ApproxDP(1, 6e-7))
    with pytest.raises(BudgetExceeded) as refused:
        ledger.charge(Gaussian(5), ApproxDP(1, 5e-7))
    assert refused.value.asked == ApproxDP(1, 5e-7)
    assert refused.value.left == ApproxDP(99, "4e-7")
    assert refused.value.account == "/"
    assert "ApproxDP(epsilon=1, delta=5e-07)" in str(refused.value)
    assert "ApproxDP(epsilon=99, delta=4e-07)" in str(refused.value)


def test_totals_of_awkward_fractions_stay_short() -> None:
    ledger = Ledger(limit=PureDP(10))
    exact = Fraction(0)
    for i in range(60):
        event = DiscreteLaplace(Fraction(10**15 + 37 * i, 10**12 + 7))
        exact += cost(event, PureDP).epsilon
        ledger.charge(event)
    spent = ledger.spent().epsilon
    assert exact <= spent <= exact + Fraction(60, 10**40)
    assert spent.denominator <= 10**40


@given(st.fractions(min_value=0, max_value=10))
def test_amounts_are_rounded_up_by_less_than_one_place(value: Fraction) -> None:
    booked = on_grid(value, grid_for(PureDP(1)))
    assert value <= booked < value + Fraction(1, 10**40)
    assert amount_from_text(str(booked)) == booked
    assert float_below(value) <= value <= float_above(value)


def test_infinity_is_an_amount() -> None:
    assert on_grid(math.inf, grid_for(PureDP(1))) == math.inf
    assert in_steps(math.inf) == math.inf
    assert amount_from_text("inf") == math.inf


@given(st.floats(min_value=0, max_value=1e6))
def test_floats_round_up_to_steps(value: float) -> None:
    steps = in_steps(value)
    assert value <= steps < Fraction(value) + Fraction(1, 2**64)
    assert 2**64 % steps.denominator == 0


# -- what is booked ----------------------------------------------------------------------------


def test_a_measure_that_is_too_small_is_refused_with_the_real_cost() -> None:
    ledger = Ledger(limit=PAIR)
    with pytest.raises(ValueError, match=r"measure is ApproxDP\(epsilon=0.1.*costs ApproxDP"):
        ledger.charge(Gaussian(5), ApproxDP(0.1, 1e-6))
    with pytest.raises(ValueError, match=r"measure is PureDP.*no PureDP that is known"):
        ledger.charge(Gaussian(5), PureDP(1))
    with pytest.raises(ValueError, match=r"costs PureDP\(epsilon=0.5\)"):
        Ledger(limit=PureDP(1)).charge(DiscreteLaplace(2), PureDP(0.4))
    assert len(ledger.entries()) == 1


def test_basic_without_measure_books_the_pure_cost_or_asks_for_a_pair() -> None:
    ledger = Ledger(limit=PAIR)
    assert ledger.charge(DiscreteLaplace(4)).booked == ApproxDP(0.25, 0)
    with pytest.raises(NoBound, match=r"measure=dp\.ApproxDP"):
        ledger.charge(Gaussian(5))
    declared = Compose(External(ApproxDP(0.1, 1e-7), "elsewhere"), DiscreteLaplace(4))
    assert ledger.charge(declared).booked == ApproxDP(Fraction(35, 100), 1e-7)


@pytest.mark.parametrize("measure", [ZCDP(1), Renyi({2: 1}), GaussianDP(Fraction(1))])
def test_ledgers_of_pairs_take_pairs_only(measure) -> None:
    with pytest.raises(ValueError, match=r"ask with dp\.ApproxDP\(epsilon, delta\) or dp\.PureDP"):
        Ledger(limit=PAIR).charge(DiscreteLaplace(4), measure)
    with pytest.raises(ValueError, match=r"adds up pure DP alone: open it"):
        Ledger(limit=PureDP(1)).charge(DiscreteLaplace(4), measure)


def test_pure_takes_pure_events_only() -> None:
    ledger = Ledger(limit=PureDP(1))
    with pytest.raises(NoBound, match="pure events alone"):
        ledger.charge(Gaussian(5))
    with pytest.raises(ValueError, match=r"adds up pure DP alone: open it"):
        ledger.charge(DiscreteLaplace(4), PAIR)
    assert ledger.charge(DiscreteLaplace(4), ApproxDP(0.5, 0)).booked == PureDP(0.5)


def test_zcdp_books_the_events_own_cost_after_checking_the_measure() -> None:
    ledger = Ledger(limit=ZCDP(1))
    assert ledger.charge(Gaussian(5), ApproxDP(1, 1e-5)).booked == ZCDP(Fraction(1, 50))
    assert ledger.charge(DiscreteGaussian(5)).booked == ZCDP(Fraction(1, 50))
    with pytest.raises(ValueError, match="costs ApproxDP"):
        ledger.charge(Gaussian(5), ApproxDP(0.01, 1e-5))
    with pytest.raises(NoBound, match=r"counts in dp\.ZCDP"):
        ledger.charge(Poisson(0.1, Gaussian(5)))
    with pytest.raises(TypeError, match="measure"):
        ledger.charge(Gaussian(5), PrivacyLoss(None))
    with pytest.raises(TypeError, match="measure"):
        ledger.charge(Gaussian(5), 0.1)


def test_renyi_books_a_curve_at_the_ledgers_orders() -> None:
    ledger = Ledger(limit=PAIR, composition="renyi")
    booked = ledger.charge(Gaussian(50)).booked
    assert booked.orders == ledger.remaining().orders
    for order, value in booked.curve.items():
        real = cost(Gaussian(50), Renyi, orders=[order]).curve[order]
        assert real <= value <= real * (1 + 1e-12)
    assert ledger.charge(Poisson(0.01, Gaussian(2))).booked.curve[math.inf] == math.inf


@pytest.mark.parametrize(("limit", "composition"), KINDS)
def test_costs_of_zero_are_entered(limit, composition) -> None:
    ledger = Ledger(limit=limit, composition=composition)
    before = ledger.remaining()
    ledger.charge(Compose(), note="nothing")
    assert ledger.charge(DiscreteLaplace(1, 0)).number == 2
    assert ledger.remaining() == before
    ledger.verify()


@pytest.mark.parametrize(("limit", "composition"), KINDS)
def test_infinite_costs_never_fit(limit, composition) -> None:
    ledger = Ledger(limit=limit, composition=composition)
    with pytest.raises(BudgetExceeded):
        ledger.charge(External(PureDP(math.inf), "a table was published"))
    with pytest.raises(BudgetExceeded):
        ledger.charge(Repeat(External(PureDP(math.inf), "again"), 2), note="twice")
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize(("limit", "composition"), KINDS)
def test_refusals_can_be_pickled(limit, composition) -> None:
    with pytest.raises(BudgetExceeded) as refused:
        Ledger(limit=limit, composition=composition).charge(DiscreteLaplace("0.01"))
    again = pickle.loads(pickle.dumps(refused.value))
    assert str(again) == str(refused.value)
    assert (again.asked, again.left) == (refused.value.asked, refused.value.left)


# -- what isn't taken --------------------------------------------------------------------------


def test_sampling_is_for_add_remove_only() -> None:
    event = Compose(DiscreteLaplace(5), Repeat(Poisson(0.1, DiscreteLaplace(5)), 2))
    Ledger(limit=PAIR).charge(event)
    with pytest.raises(ValueError, match=r"event: Poisson.*ADD_REMOVE"):
        Ledger(limit=PAIR, unit=REPLACE_ONE).charge(event)


def test_assumed_events_need_consent_and_taint() -> None:
    event = Repeat(Assumed(DiscreteLaplace(10), "the sampler is exact"), 2)
    with pytest.raises(ValueError, match="accept_assumed"):
        Ledger(limit=PAIR).charge(event)
    ledger = Ledger(limit=PAIR, accept_assumed=True)
    ledger.charge(DiscreteLaplace(10))
    assert "ASSUMED" not in str(ledger.statement())
    ledger.charge(event)
    ledger.charge(DiscreteLaplace(10))
    assert "the guarantee rests on entry 2: the sampler is exact" in str(ledger.statement())
    assert ledger.statement().to_dict()["assumed"] == [{"entry": 2, "why": "the sampler is exact"}]


@pytest.mark.parametrize("event", [None, "laplace", PureDP(1)])
def test_events_are_events(event) -> None:
    with pytest.raises(TypeError, match="event"):
        Ledger(limit=PAIR).charge(event)


def declared_pair(epsilon: float, delta: float) -> External:
    return External(ApproxDP(epsilon, delta), "elsewhere")


# -- distributions --------------------------------------------------------------------------------------

EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(DiscreteLaplace, st.fractions(Fraction(1, 2), 100), st.integers(0, 3)),
    st.builds(Exponential, st.decimals(0, 1, places=3)),
    st.builds(Gaussian, st.fractions(5, 100)),
    st.builds(
        declared_pair,
        st.decimals(0, 1, places=2),
        st.decimals(0, 1, places=2).map(lambda d: d / 10**7),
    ),
)


def _run(filter_: Filter, caps: Amounts, prices: list[Amounts]) -> tuple[Amounts, list[Amounts]]:
    """The filter's decisions, and what it accepted."""
    totals: Amounts = dict.fromkeys(filter_.names, Fraction(0))
    accepted = []
    for price in prices:
        if filter_.fits(add_amounts(totals, price), caps):
            totals = add_amounts(totals, price)
            accepted.append(price)
    return totals, accepted


def _prices(filter_: Filter, events: list[Event]) -> list[Amounts]:
    prices = []
    for event in events:
        try:
            prices.append(filter_.price(event, None))
        except NoBound:
            if isinstance(event, Gaussian) and filter_.composition == "basic":
                prices.append(filter_.price(event, cost(event, ApproxDP, delta="1e-7")))
    return prices


@pytest.mark.parametrize(("limit", "composition"), KINDS)
@max_examples(40)
@given(st.lists(EVENTS, max_size=30), st.randoms(use_true_random=False))
def test_no_sequence_passes_the_limit_and_totals_are_exact(limit, composition, events, random):
    reserve = Fraction("1e-7") if composition in ("zcdp", "renyi") else Fraction(0)
    filter_ = new_filter(composition, limit, reserve)
    caps = filter_.caps(limit)
    totals, accepted = _run(filter_, caps, _prices(filter_, events))
    assert filter_.fits(totals, caps)
    for name in filter_.names:
        assert totals[name] == sum((price[name] for price in accepted), start=Fraction(0))
    # order-free: what was accepted is accepted in any order, with the same totals
    random.shuffle(accepted)
    assert _run(filter_, caps, accepted) == (totals, accepted)
    # what is left is never more than the limit, and the charge of what is left would fit
    filter_.left(totals, caps)
    if composition == "renyi":
        alive = [order for order in filter_.orders if totals[f"{order:g}"] <= caps[f"{order:g}"]]
        assert alive
        for order in alive:
            share = filter_.shares[order] * (limit.delta - reserve)
            value = Renyi({order: float_below(totals[f"{order:g}"])})
            if math.isfinite(order):
                assert convert(value, ApproxDP, delta=share).epsilon <= limit.epsilon
        assert sum(filter_.shares.values()) * (limit.delta - reserve) + caps["delta"] == limit.delta


@pytest.mark.parametrize(("limit", "composition"), KINDS)
@max_examples(5)
@given(events=st.lists(EVENTS, min_size=1, max_size=12))
def test_the_ledger_decides_as_its_filter_does(limit, composition, events) -> None:
    ledger = Ledger(limit=limit, composition=composition)
    filter_ = new_filter(composition, limit, Fraction(0))
    totals: Amounts = dict.fromkeys(filter_.names, Fraction(0))
    for event in events:
        measure = None
        if composition == "basic" and isinstance(event, Gaussian):
            measure = cost(event, ApproxDP, delta="1e-7")
        try:
            price = {
                name: on_grid(amount, grid_for(limit))
                for name, amount in filter_.price(event, measure).items()
            }
        except NoBound:
            continue
        wanted = filter_.fits(add_amounts(totals, price), filter_.caps(limit))
        try:
            ledger.charge(event, measure)
        except BudgetExceeded:
            assert not wanted
        else:
            assert wanted
            totals = add_amounts(totals, price)
    assert ledger.spent() == filter_.measure(totals)
    ledger.verify()

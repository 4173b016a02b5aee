"""Measures: partial orders, sums, JSON, and refused arguments."""

from __future__ import annotations

import copy
import json
import math
import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.measures import (
    ORDERS,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Measure,
    PrivacyLoss,
    PureDP,
    Renyi,
    convert,
    measure_from_dict,
)
from discreet.measures.loss import identity

AMOUNTS = st.fractions(0, 50, max_denominator=1000)
PROBABILITIES = st.fractions(0, 1, max_denominator=1000)
FLOATS = st.floats(0, 1e6)
MEASURES: dict[type[Measure], st.SearchStrategy[Measure]] = {
    PureDP: st.builds(PureDP, AMOUNTS | st.just(math.inf)),
    ApproxDP: st.builds(ApproxDP, AMOUNTS | st.just(math.inf), PROBABILITIES),
    ZCDP: st.builds(ZCDP, AMOUNTS | st.just(math.inf)),
    GaussianDP: st.builds(GaussianDP, AMOUNTS),
    Renyi: st.builds(
        lambda a, b, c: Renyi({2: a, 8: b, math.inf: c}), FLOATS, FLOATS, FLOATS | st.just(math.inf)
    ),
}
STORABLE = sorted(MEASURES, key=lambda kind: kind.__name__)


def test_every_measure_is_covered() -> None:
    known = set(Measure.__subclasses__())
    assert known == {*MEASURES, PrivacyLoss}


@pytest.mark.parametrize("kind", STORABLE)
def test_order_is_partial(kind: type[Measure]) -> None:
    @given(MEASURES[kind], MEASURES[kind], MEASURES[kind])
    def distribution(a: Measure, b: Measure, c: Measure) -> None:
        assert a <= a
        assert a >= a
        assert not a < a
        if a <= b and b <= a:
            assert a == b
            assert hash(a) == hash(b)
        if a <= b and b <= c:
            assert a <= c
        assert (a < b) == (a <= b and a != b)
        assert (a > b) == (b < a)

    distribution()


@pytest.mark.parametrize("kind", STORABLE)
def test_sum_is_commutative_monotone_and_repeats(kind: type[Measure]) -> None:
    @given(MEASURES[kind], MEASURES[kind], st.integers(0, 5))
    def distribution(a, b, count) -> None:
        assert a + b == b + a
        assert a <= a + b
        total = a.times(0)
        assert total <= a
        for _ in range(count):
            total = total + a
        if kind is Renyi:
            for order, value in a.times(count).curve.items():
                exact = Fraction(a.curve[order]) * count if math.isfinite(a.curve[order]) else None
                if exact is not None:
                    assert exact <= value <= float(exact) * (1 + 1e-15) + 1e-300
                    assert exact <= total.curve[order]
        else:
            assert a.times(count) == total

    distribution()


def test_sums_of_pairs_are_associative_and_exact() -> None:
    tenth = PureDP(0.1)
    assert tenth.times(10) == PureDP(1)
    total = PureDP(0)
    for _ in range(10):
        total = total + tenth
    assert total == PureDP(1)
    assert ApproxDP(0.1, 0.7) + ApproxDP(0.2, 0.6) == ApproxDP("0.3", 1)


@pytest.mark.parametrize("kind", STORABLE)
def test_json_round_trip(kind: type[Measure]) -> None:
    @given(MEASURES[kind])
    def distribution(a: Measure) -> None:
        text = json.dumps(a.to_dict(), allow_nan=False)
        assert measure_from_dict(json.loads(text)) == a

    distribution()


def test_kinds_do_not_compare_or_add() -> None:
    with pytest.raises(TypeError):
        _ = PureDP(1) <= ZCDP(1)
    with pytest.raises(TypeError):
        _ = PureDP(1) + ZCDP(1)
    assert PureDP(1) != ZCDP(1)


def test_curves_are_immutable_and_known_between_their_orders() -> None:
    curve = Renyi({2: 0.1, 8: 0.4})
    with pytest.raises(TypeError):
        curve.curve[2] = 0.0
    assert curve.at(2) == 0.1
    assert curve.at(3) == 0.4  # D_α rises with α
    assert curve.at(9) == math.inf
    assert not curve <= Renyi({3: 0.4})  # only listed orders are compared
    assert (curve + Renyi({8: 0.1, 9: 1})).orders == (8.0,)
    assert "more" in repr(convert(ZCDP(1), Renyi, orders=ORDERS))


BAD = [
    (lambda: PureDP(-1), ValueError, "epsilon"),
    (lambda: PureDP(math.nan), ValueError, "epsilon"),
    (lambda: PureDP(None), TypeError, "epsilon"),
    (lambda: PureDP(True), TypeError, "epsilon"),
    (lambda: ApproxDP(1, 1.5), ValueError, "delta"),
    (lambda: ApproxDP(-1, 0.5), ValueError, "epsilon"),
    (lambda: ApproxDP(1, math.inf), ValueError, "delta"),
    (lambda: ZCDP(-1), ValueError, "rho"),
    (lambda: GaussianDP(-1), ValueError, "mu_squared"),
    (lambda: GaussianDP(math.inf), ValueError, "mu_squared"),
    (lambda: Renyi({}), ValueError, "curve"),
    (lambda: Renyi({1: 0.5}), ValueError, "orders"),
    (lambda: Renyi({math.nan: 0.5}), ValueError, "orders"),
    (lambda: Renyi({2: -0.5}), ValueError, "values"),
    (lambda: Renyi({2: math.nan}), ValueError, "values"),
    (lambda: Renyi([2, 3]), TypeError, "curve"),
    (lambda: Renyi({2: "a"}), TypeError, "curve"),
    (lambda: Renyi({2: 1}) + Renyi({3: 1}), ValueError, "order in common"),
    (lambda: PureDP(1).times(-1), ValueError, "count"),
    (lambda: PureDP(1).times(0.0), TypeError, "count"),
    (lambda: ZCDP(1).times(1.5), TypeError, "count"),
    (lambda: measure_from_dict({"measure": "Other"}), ValueError, "Other"),
    (lambda: measure_from_dict("PureDP"), TypeError, "data"),
    (lambda: identity().times(-1), ValueError, "count"),
    (lambda: identity().epsilon("1e-101"), ValueError, "delta"),
    (lambda: identity().epsilon(2), ValueError, "delta"),
    (lambda: identity().delta(-1), ValueError, "epsilon"),
    (lambda: identity() <= identity(), TypeError, "delta"),
    (lambda: identity().to_dict(), TypeError, "events"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_arguments_are_named(case: int) -> None:
    call, error, name = BAD[case]
    with pytest.raises(error, match=name):
        call()


def test_loss_of_nothing() -> None:
    nothing = identity()
    assert nothing.times(0).epsilon(1e-6) == 0
    assert nothing.times(7).epsilon("1e-10") == 0
    assert nothing.delta(0) == 0.0


@pytest.mark.parametrize(
    "measure",
    [PureDP(1), ApproxDP(1, "1/1000"), ZCDP("1/2"), GaussianDP(1), Renyi({2: 0.5, math.inf: 1.0})],
    ids=repr,
)
def test_measures_travel_between_processes(measure):
    assert pickle.loads(pickle.dumps(measure)) == measure
    assert copy.deepcopy(measure) == measure

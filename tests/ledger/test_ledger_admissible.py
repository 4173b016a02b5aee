"""Which events a ledger for a unit takes: they must speak of as many rows and branches as one person has."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from discreet import accounting, events
from discreet.accounting.thresholds import threshold_delta
from discreet.ledger import Ledger
from discreet.ledger.splitting import split_delta
from discreet.measures import ApproxDP, PureDP
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Unit

ONE = events.DiscreteLaplace(1)
#: A unit, and how many branches or rows of a histogram one person can touch.
UNITS = [
    (Unit(ADD_REMOVE), 1),
    (Unit(REPLACE_ONE), 2),
    (Unit(ADD_REMOVE, "id", 3), 3),
    (Unit(REPLACE_ONE, "id", 3), 6),
]


def ledger(unit: Unit, **options: Any) -> Ledger:
    return Ledger(limit=ApproxDP(1000, "1/2"), unit=unit, **options)


@pytest.mark.parametrize(("unit", "reach"), UNITS, ids=str)
def test_branches_are_paid_for_as_many_as_one_person_touches(unit: Unit, reach: int) -> None:
    book = ledger(unit)
    many = [ONE] * 8
    book.charge(events.Parallel(many, reach), ApproxDP(reach, 0))
    assert book.spent() == ApproxDP(reach, 0)
    book.charge(events.Parallel(many[:reach], reach), ApproxDP(reach, 0))
    if reach > 1:
        with pytest.raises(ValueError, match=f"can touch {reach} branches"):
            book.charge(events.Parallel(many, reach - 1), ApproxDP(reach, 0))
        with pytest.raises(ValueError, match="Parallel"):
            book.charge(events.Repeat(events.Parallel(many, reach - 1), 2), ApproxDP(reach, 0))


@pytest.mark.parametrize(("unit", "reach"), UNITS, ids=str)
def test_keys_are_paid_for_all_rows_of_a_person(unit: Unit, reach: int) -> None:
    book, rows = ledger(unit), unit.rows_per_person
    pair = ApproxDP(10, "1/10")
    book.charge(events.KeyThreshold(1, reach, 90, rows), pair)
    wrong = [events.KeyThreshold(1, reach - 1, 90, rows)] if reach > 1 else []
    wrong += [events.KeyThreshold(1, reach, 90, rows - 1)] if rows > 1 else []
    for event in wrong:
        with pytest.raises(
            ValueError, match=f"up to {rows} rows and moves counts of keys by {reach}:"
        ):
            book.charge(event, pair)
    assert book.spent() == pair


@pytest.mark.parametrize(("unit", "reach"), UNITS, ids=str)
def test_samples_are_taken_under_add_remove_alone(unit: Unit, reach: int) -> None:
    event = events.Compose(ONE, events.Poisson("1/10", ONE))
    if unit.relation is ADD_REMOVE:
        ledger(unit).charge(event, ApproxDP(2, 0))
        return
    with pytest.raises(ValueError, match="ADD_REMOVE only"):
        ledger(unit).charge(event, ApproxDP(2, 0))


def test_what_is_assumed_or_no_event_is_refused() -> None:
    assumed = events.Compose(ONE, events.Assumed(ONE, "real arithmetic"))
    book = ledger(Unit())
    for event, error in ((assumed, ValueError), ("event", TypeError), (PureDP(1), TypeError)):
        with pytest.raises(error):
            book.charge(event, ApproxDP(2, 0))
    assert book.spent() == ApproxDP(0, 0)
    ledger(Unit(), accept_assumed=True).charge(assumed, ApproxDP(2, 0))


@pytest.mark.parametrize("token", ["", 7, b"x", ["x"]])
def test_a_token_is_a_text(token: Any) -> None:
    book = ledger(Unit())
    with pytest.raises(TypeError, match="token"):
        book.charge(ONE, ApproxDP(1, 0), token=token)
    with pytest.raises(TypeError, match="token"):
        book.find(token)
    assert book.spent() == ApproxDP(0, 0)


PAIR = events.External(ApproxDP("1/2", "1/100"), "x")
KEYS = events.KeyThreshold(2, 1, 30)
#: Events, the ε that is left of them and the δ that they bring.
SPLIT = [
    (events.Repeat(PAIR, 5), Fraction(5, 2), Fraction(5, 100)),
    (
        events.Compose(PAIR, KEYS, PAIR),
        Fraction(3, 2),
        Fraction(2, 100) + threshold_delta(Fraction(2), 30, 1, 1),
    ),
    (
        events.Parallel([PAIR, ONE, KEYS], 2),
        Fraction(3, 2),
        Fraction(1, 100) + threshold_delta(Fraction(2), 30, 1, 1),
    ),
    (events.OneOf([PAIR, ONE]), Fraction(1), Fraction(1, 100)),
    (events.Assumed(PAIR, "why"), Fraction(1, 2), Fraction(1, 100)),
    (events.RepeatAndSelect(ONE, 1, "1/10"), Fraction(3), Fraction(0)),
    (ONE, Fraction(1), Fraction(0)),
]


@pytest.mark.parametrize(("event", "epsilon", "delta"), SPLIT, ids=lambda value: str(value)[:40])
def test_what_is_left_without_delta_costs_the_rest(
    event: Any, epsilon: Fraction, delta: Fraction
) -> None:
    left, apart = split_delta(event)
    assert apart == delta
    assert accounting.cost(left, PureDP).epsilon == epsilon


@pytest.mark.parametrize("inner", [PAIR, KEYS, events.Repeat(PAIR, 2)], ids=repr)
def test_a_delta_inside_samples_and_selections_is_refused(inner: Any) -> None:
    for event in (events.Poisson("1/10", inner), events.RepeatAndSelect(inner, 1, "1/10")):
        with pytest.raises(accounting.NoBound, match="can't be set apart"):
            split_delta(event)

"""A filter that checks that something is left, and charges afterwards, is caught."""

from __future__ import annotations

from fractions import Fraction

from discreet.audit import exact
from discreet.guarantees.ledger import attacks_adaptive as adaptive
from discreet.guarantees.ledger.attacks import asked_of_ledger
from discreet.measures import PureDP

CHOICES = [Fraction(1, 10), Fraction(1, 3), Fraction(1, 2)]


def careless():
    """A weakened filter."""
    left = Fraction(1)

    def ask(epsilon):
        nonlocal left
        if left <= 0:
            return False
        left -= epsilon
        return True

    return ask


def test_a_careless_filter_is_caught_and_the_ledger_is_not():
    """Every answer of an adaptive analyst is enumerated: the distributions are exact."""
    assert exact(*adaptive.responses(careless, CHOICES, 5), 1.0).is_violated
    honest = exact(*adaptive.responses(asked_of_ledger(PureDP(1)), CHOICES, 5), 1.0)
    assert 0.9 < honest.floor <= 1
    assert not honest.is_violated

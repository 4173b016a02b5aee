"""An analyst who chooses each question by the answers before can't get past the limit."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import discreet as dp
from discreet import events

CHOICES = [Fraction(1, 10), Fraction(1, 3), Fraction(1, 2)]


def honest():
    """The ledger's filter, as a question: may this ε be spent?"""
    ledger = dp.Ledger(limit=dp.PureDP(1))

    def ask(epsilon):
        try:
            ledger.charge(events.RandomizedResponse(epsilon))
        except dp.BudgetExceeded:
            return False
        return True

    return ask


def careless():
    """A weakened filter: it checks that something is left, and charges afterwards."""
    left = Fraction(1)

    def ask(epsilon):
        nonlocal left
        if left <= 0:
            return False
        left -= epsilon
        return True

    return ask


def worst_loss(open_filter) -> float:
    """The largest log-ratio of a transcript's probabilities over all answers, exactly.

    The analyst asks randomised-response questions about one bit; the next ε depends on the answers so
    far. Which answers come is enumerated, not sampled.
    """
    worst = 0.0
    for answers in product((0, 1), repeat=6):
        ask, loss = open_filter(), 0.0
        for index, answer in enumerate(answers):
            epsilon = CHOICES[(sum(answers[:index]) + index) % len(CHOICES)]
            if ask(epsilon):
                loss += float(epsilon) if answer == 0 else -float(epsilon)
        worst = max(worst, abs(loss))
    return worst


def test_an_adaptive_analyst_never_gets_more_than_the_limit():
    assert 0.9 < worst_loss(honest) <= 1.0


def test_a_careless_filter_is_caught():
    assert worst_loss(careless) > 1.0

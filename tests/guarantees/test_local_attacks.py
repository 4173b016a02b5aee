"""Local mechanisms with too few lies are caught; every one of the registry is attacked and claimed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet import guarantees, testing
from discreet.audit import audit
from discreet.guarantees import all_attacks
from discreet.guarantees.local.attacks import again, reports, supported
from discreet.measures import PureDP
from discreet.mechanisms import local

TRIALS = 100_000

#: How it is made from ε, how a report is looked at, and two values far apart.
CASES = {
    "response": (local.RandomizedResponse, reports, (0, 1)),
    "generalised": (lambda e: local.GeneralizedRandomizedResponse(e, 5), reports, (1, 4)),
    "unary": (lambda e: local.UnaryEncoding(e, 4), reports, (0, 1)),
    "optimised": (lambda e: local.UnaryEncoding(e, 4, optimised=True), reports, (0, 1)),
    "hashing": (lambda e: local.LocalHashing(e, 9), supported, (0, 1)),
    "duchi": (lambda e: local.DuchiMean(e, 0, 1), reports, (0, 1)),
    "piecewise": (lambda e: local.PiecewiseMean(e, 0, 1), reports, (0, 1)),
    "hybrid": (lambda e: local.HybridMean(e, 0, 1), reports, (0, 1)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_reports_for_half_as_much_again_are_caught(name, epsilon):
    make, look, pair = CASES[name]
    with testing.fixed_noise(21):
        weak = audit(look(make(epsilon * Fraction(3, 2))), pair, PureDP(epsilon), trials=TRIALS)
        honest = audit(look(make(epsilon)), pair, PureDP(epsilon), trials=TRIALS)
    assert weak.is_violated
    assert 0.75 * epsilon < honest.floor <= epsilon


def test_every_local_mechanism_is_attacked_and_claimed():
    attacked = {type(make(Fraction(1))) for make, *_ in CASES.values()} | {local.Memoised}
    assert attacked == {type(mechanism) for mechanism in testing.LOCALS}
    told = {
        function: claim.audit for claim in guarantees.all_claims() for function in claim.functions
    }
    for kind in attacked:
        assert told[f"{kind.__module__}.{kind.__name__}.randomize"] in all_attacks()


def test_weakened_memoised_reports_are_caught():
    with testing.fixed_noise(22):
        first = audit(reports(local.Memoised(2, Fraction(3, 4), 3)), (0, 1), 0.5, trials=TRIALS)
        many = audit(again(local.Memoised(3, Fraction(3, 4), 3), 60), (0, 1), 2.0, trials=TRIALS)
    assert first.is_violated
    assert many.is_violated


def test_reports_of_one_row_add_up_until_the_row_stops_them():
    mechanism = local.Memoised(2, Fraction(1, 2), 3)
    with testing.fixed_noise(23):
        one, many = (audit(again(mechanism, n), (0, 1), 2.0, trials=TRIALS).floor for n in (1, 60))
    assert one < 0.5 < 1.4 < many <= 2


def test_forgetting_the_permanent_row_costs_more_than_the_claim():
    """Fresh permanent rows for each report: what memoisation is for."""
    mechanism = local.Memoised(2, Fraction(3, 2), 2)

    def fresh(value, trials):
        told = [mechanism.randomize(np.full(trials, value)) for _ in range(12)]
        return np.sum(told, axis=0, dtype=np.int64)

    with testing.fixed_noise(24):
        assert audit(fresh, (0, 1), 2.0, trials=50_000).floor > 3

"""Attacks on local mechanisms: the floor stays below the claim, and a weakened copy is caught."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet import accounting, claims, testing
from discreet.audit import TwoOutcomes, epsilon_floor
from discreet.measures import PureDP
from discreet.mechanisms import local

TRIALS = 400_000
REPEATS = 60


def floor_of(mechanism, here, there, event) -> float:
    """The floor of an event that speaks for `here`, fixed before the trials."""
    counts = [
        int(np.count_nonzero(event(mechanism, mechanism.randomize(np.full(TRIALS, value)))))
        for value in (here, there)
    ]
    return epsilon_floor(TwoOutcomes(counts[0], TRIALS, counts[1], TRIALS))


def is_one(mechanism, reports):
    return reports == 1


def has_only_the_first_bit(mechanism, reports):
    return reports[:, 0] & ~reports[:, 1]


def supports_only_the_first(mechanism, reports):
    first, second = (mechanism.supported(reports, code) for code in (0, 1))
    return first & ~second


def lies_in_the_last_window(mechanism, reports):
    return reports >= 1 << 20


def is_a_piece_of_the_last_window(mechanism, reports):
    return (reports == 1) | (reports >= (1 << 20) + 2)


CASES = {
    "response": (lambda e: local.RandomizedResponse(e), 1, 0, is_one),
    "generalised": (lambda e: local.GeneralizedRandomizedResponse(e, 5), 1, 4, is_one),
    "unary": (lambda e: local.UnaryEncoding(e, 4), 0, 1, has_only_the_first_bit),
    "optimised": (
        lambda e: local.UnaryEncoding(e, 4, optimised=True),
        0,
        1,
        has_only_the_first_bit,
    ),
    "hashing": (lambda e: local.LocalHashing(e, 9), 0, 1, supports_only_the_first),
    "duchi": (lambda e: local.DuchiMean(e, 0, 1), 1, 0, is_one),
    "piecewise": (lambda e: local.PiecewiseMean(e, 0, 1), 1, 0, lies_in_the_last_window),
    "hybrid": (lambda e: local.HybridMean(e, 0, 1), 1, 0, is_a_piece_of_the_last_window),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_an_attack_on_reports_finds_no_more_than_the_claim(name, epsilon):
    make, here, there, event = CASES[name]
    claimed = float(accounting.cost(make(epsilon).event(), PureDP).epsilon)
    with testing.fixed_noise(21):
        floor = floor_of(make(epsilon), here, there, event)
        weak = floor_of(make(epsilon * Fraction(5, 4)), here, there, event)
    assert floor <= claimed
    assert floor > 0.85 * claimed
    assert weak > claimed


def test_every_local_mechanism_is_attacked_and_claimed():
    attacked = {type(make(Fraction(1))) for make, *_ in CASES.values()} | {local.Memoised}
    assert attacked == {type(mechanism) for mechanism in testing.LOCALS}
    told = {function for claim in claims.all_claims() for function in claim.functions}
    for kind in attacked:
        assert f"{kind.__module__}.{kind.__name__}.randomize" in told


def majority(mechanism, value) -> int:
    """How often the majority of many reports of one permanent row has the first bit, not the second."""
    rows = mechanism.permanent(np.full(TRIALS // 8, value))
    votes = np.zeros(rows.shape, np.int64)
    for _ in range(REPEATS):
        votes += mechanism.report(rows)
    return int(np.count_nonzero((votes[:, 0] > REPEATS // 2) & (votes[:, 1] <= REPEATS // 2)))


def floor_of_many_reports(mechanism) -> float:
    here, there = (majority(mechanism, value) for value in (0, 1))
    return epsilon_floor(TwoOutcomes(here, TRIALS // 8, there, TRIALS // 8))


def test_an_attack_on_memoised_reports_finds_no_more_than_the_claim():
    mechanism = local.Memoised(2, Fraction(1, 2), 3)
    with testing.fixed_noise(22):
        one = floor_of(mechanism, 0, 1, has_only_the_first_bit)
        many = floor_of_many_reports(mechanism)
        weak_first = floor_of(local.Memoised(2, Fraction(3, 4), 3), 0, 1, has_only_the_first_bit)
        weak_many = floor_of_many_reports(local.Memoised(Fraction(5, 2), Fraction(3, 4), 3))
    assert 0.4 < one <= 0.5 < weak_first
    assert 1.4 < many <= 2 < weak_many
    assert many > 2 * one  # reports add up, until the permanent row stops them


def test_forgetting_the_permanent_row_costs_more_than_the_claim():
    """Fresh permanent rows for each report: what memoisation is for."""
    mechanism = local.Memoised(2, Fraction(3, 2), 2)
    trials, rounds = TRIALS // 8, 12
    hits = []
    with testing.fixed_noise(23):
        for value in (0, 1):
            votes = np.zeros(trials, np.int64)
            for _ in range(rounds):
                reports = mechanism.randomize(np.full(trials, value))
                votes += reports[:, 0].astype(np.int64) - reports[:, 1]
            hits.append(int(np.count_nonzero(votes > 2)))
    assert epsilon_floor(TwoOutcomes(hits[0], trials, hits[1], trials)) > 3

"""One-run audits: floors that are valid by exact sums and by simulation, broken claims caught."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from discreet.audit.one_run import (
    Guesses,
    OneRunAudit,
    _gaussian,
    _too_much,
    audit_in_one_run,
    guess,
)
from discreet.measures import ApproxDP, GaussianDP, PureDP

RISK = 0.05


def allowed(runs: int, risk: float = RISK) -> int:
    """The share that may go wrong, and three deviations more."""
    return math.ceil(runs * risk + 3 * math.sqrt(runs * risk * (1 - risk)))


def randomised_response(epsilon: float, rng: np.random.Generator):
    keep = 1 / (1 + math.exp(-epsilon))
    return lambda coins: np.where(rng.random(len(coins)) < keep, coins, ~coins).astype(float)


def gaussian_sums(mu: float, rng: np.random.Generator):
    return lambda coins: mu * coins + rng.normal(size=len(coins))


# --- validity ---


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("r", [20, 200, 1000])
def test_floors_are_valid_on_randomised_response_by_exact_summation(epsilon, r):
    keep = 1 / (1 + math.exp(-epsilon))
    right = np.arange(r + 1)
    mass = binom.pmf(right, r, keep)
    wrong = [Guesses(1000, r, int(v)).p_value(PureDP(epsilon)) <= RISK for v in right]
    assert mass[wrong].sum() <= RISK
    assert mass[wrong].sum() > 0.2 * RISK or r == 20  # and no risk is wasted


def test_delta_is_taken_off_and_must_be():
    """With probability δ the mechanism tells everything: fine for (ε, δ), a violation of pure ε."""
    epsilon, delta, m = 1.0, 0.1, 200
    mass = (1 - delta) * binom.pmf(np.arange(m + 1), m, 1 / (1 + math.exp(-epsilon)))
    mass[m] += delta

    def chance(claim):
        return sum(mass[v] for v in range(m + 1) if Guesses(m, m, v).p_value(claim) <= RISK)

    assert chance(ApproxDP(epsilon, delta)) <= RISK
    assert chance(PureDP(epsilon)) > RISK + 0.05


def test_simulated_runs_of_randomised_response():
    rng = np.random.default_rng(3)
    epsilon, runs, wrong, floors = 1.0, 400, 0, []
    for _ in range(runs):
        audit = audit_in_one_run(
            randomised_response(epsilon, rng), 2000, guesses=[(1000, 1000)], random_state=rng
        )
        wrong += audit.refutes(PureDP(epsilon))
        if len(floors) < 40:
            floors.append(audit.epsilon)
            assert (audit.epsilon > epsilon) == audit.refutes(PureDP(epsilon))
    assert wrong <= allowed(runs)
    assert np.mean(floors) > 0.85  # close to the truth


def test_simulated_runs_of_gaussian_sums():
    rng = np.random.default_rng(4)
    for mu in (0.5, 2.0):
        runs, wrong = 400, 0
        for _ in range(runs):
            audit = audit_in_one_run(
                gaussian_sums(mu, rng), 1000, guesses=[(50, 50), (10, 0)], random_state=rng
            )
            wrong += audit.refutes(GaussianDP(mu**2))
        assert wrong <= allowed(runs)


def test_gaussian_floors_come_near_the_truth_with_many_canaries():
    rng = np.random.default_rng(5)
    floors = [
        audit_in_one_run(
            gaussian_sums(1.0, rng), 100_000, guesses=[(300, 300)], delta=1e-5, random_state=rng
        )
        for _ in range(5)
    ]
    assert 0.7 < np.mean([floor.mu for floor in floors]) < 1.0
    assert 2.5 < np.mean([floor.epsilon for floor in floors]) < 4.38  # ε(1, 1e-5) is 4.377


def test_no_signal_gives_no_floor():
    rng = np.random.default_rng(6)
    runs, wrong = 400, 0
    for _ in range(runs):
        audit = audit_in_one_run(
            lambda coins: rng.normal(size=len(coins)), 200, delta=1e-5, random_state=rng
        )
        wrong += audit.refutes(ApproxDP(0, 1e-5)) or audit.refutes(GaussianDP(0))
    assert wrong <= allowed(runs)


def test_choosing_the_best_number_of_guesses_uncorrected_isnt_valid():
    """The control for Bonferroni: without it, no signal becomes a signal."""
    rng = np.random.default_rng(7)
    wrong = corrected = 0
    for _ in range(200):
        scores, coins = rng.normal(size=200), rng.random(200) < 0.5
        tried = tuple(guess(scores, coins, k, 0) for k in range(5, 201, 5))
        wrong += any(counts.p_value(PureDP(0)) <= RISK for counts in tried)
        corrected += OneRunAudit(tried, 0.0, 1 - RISK).refutes(PureDP(0))
    assert wrong > 2 * allowed(200)
    assert corrected <= allowed(200)


def test_a_broken_mechanism_is_caught():
    rng = np.random.default_rng(8)
    response = audit_in_one_run(randomised_response(3.0, rng), 300, random_state=rng)
    assert response.refutes(PureDP(1))
    assert response.refutes(ApproxDP(1, 1e-6))
    assert not response.refutes(PureDP(3))
    assert 1.5 < response.epsilon <= 3
    sums = audit_in_one_run(gaussian_sums(3.0, rng), 2000, delta=1e-6, random_state=rng)
    assert sums.refutes(GaussianDP(1))
    assert not sums.refutes(GaussianDP(9))
    assert sums.epsilon > 1


def test_scores_that_are_all_equal_are_worth_nothing():
    rng = np.random.default_rng(9)
    wrong = sum(
        audit_in_one_run(lambda c: np.zeros(len(c)), 64, random_state=rng).refutes(PureDP(0))
        for _ in range(200)
    )
    assert wrong <= allowed(200)


# --- the doors ---


def test_guesses_take_the_ends():
    scores, coins = [5.0, 1.0, 4.0, 2.0, 3.0], np.array([True, False, False, True, True])
    assert guess(scores, coins, 1, 1) == Guesses(5, 2, 2)
    assert guess(scores, coins, 2, 0) == Guesses(5, 2, 1)
    assert guess(scores, coins, 0, 2) == Guesses(5, 2, 1)
    assert guess(scores, coins, 2, 3).guesses == 5


def test_a_run_is_called_once_and_cant_change_the_coins():
    seen = []

    def run(coins):
        seen.append(coins.copy())
        scores = coins.astype(float)
        coins[:] = True
        return scores

    audit = audit_in_one_run(run, 100, guesses=[(20, 20)], random_state=0)
    assert len(seen) == 1
    assert 30 < seen[0].sum() < 70
    assert audit.best.correct == audit.best.guesses


def test_the_repr_reads_like_a_sentence():
    rng = np.random.default_rng(10)
    text = repr(audit_in_one_run(randomised_response(2, rng), 500, delta="1e-5", random_state=rng))
    assert "500 canaries" in text
    assert "guesses right" in text
    assert "with confidence 95.0%" in text
    assert "floors" in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Guesses(10, 11, 1), "nor guesses exceed canaries"),
        (lambda: Guesses(10, 5, 6), "correct must not exceed"),
        (lambda: Guesses(10, 5, 4).epsilon_floor(confidence=1.0), "confidence"),
        (lambda: Guesses(10, 5, 4).p_value(lambda a: (1 - a) ** 3), "its own inverse"),
        (lambda: Guesses(10, 5, 4).p_value(lambda a: 1 - a**2), "between 0 and 1 - x"),
        (lambda: guess([1.0, 2.0], [1, 0], 1, 1), "booleans"),
        (lambda: guess([1.0, np.nan], np.array([True, False]), 1, 1), "NaN"),
        (lambda: guess([1.0, 2.0], np.array([True, False]), 2, 1), "add up"),
        (lambda: audit_in_one_run(lambda c: c[:1], 10), "one score for each"),
        (lambda: audit_in_one_run(lambda c: c, 10, guesses=[(9, 9)]), "pairs"),
        (lambda: audit_in_one_run(lambda c: c, 10, guesses=[]), "pairs"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_claim_must_be_a_measure_or_a_curve():
    with pytest.raises(TypeError, match="measure or a curve"):
        Guesses(10, 5, 4).p_value("private")


def test_the_recursion_stops_where_nothing_more_is_needed():
    assert not _too_much(Guesses(1000, 1000, 690), _gaussian(1.0), RISK)
    assert _too_much(Guesses(1000, 1000, 1000), _gaussian(0.1), 1.0)

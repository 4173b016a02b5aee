"""No event is priced below what one pair of neighbours loses: small cases with a known loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import events
from discreet.accounting import NoBound, cost, delta_at, epsilon_at, satisfies
from discreet.accounting.counts import PAIR
from discreet.accounting.curves import select_best
from discreet.accounting.published import best_composition
from discreet.accounting.thresholds import minimum_threshold, threshold_delta
from discreet.events import Event
from discreet.measures import ZCDP, ApproxDP, GaussianDP, PrivacyLoss, PureDP, Renyi

SMALL = Fraction(1, 10**9)


def flip(scale: float, gap: float) -> float:
    """The chance of the worse of two candidates: it must come first in the order, and be accepted."""
    return math.exp(-gap / scale) / 2


def flipped(monotone: bool) -> float:
    """Scores of two candidates move by 3: towards each other, or one of them if they are monotone."""
    scale, moved = 4.0, 3
    return math.log(flip(scale, 50 - (1 if monotone else 2) * moved) / flip(scale, 50))


def first_above(shift: int, scale: float = 2.0) -> float:
    """log P(50 answers of 12 + shift below a noisy threshold of 0, then one of -shift above it).

    Discrete Laplace noise of one scale on the threshold and on each answer.
    """
    z = np.arange(-400, 401)
    p = np.exp(-np.abs(z) / scale)
    p /= p.sum()
    reached = np.cumsum(p[::-1])[::-1]  # P(noise >= z)
    at = np.arange(100, 701)
    below, above = 1 - reached[at - 12 - shift], reached[at + shift]
    return float(np.log(np.sum(p[at] * below**50 * above)))


def rare_best(epsilon: float, shape: int) -> float:
    """The best of a geometric number of answers, and "none said yes": randomised response of one ε."""
    gamma, yes = 1e-6, math.exp(epsilon) / (1 + math.exp(epsilon))

    def none(no: float) -> float:
        return gamma * no / (1 - (1 - gamma) * no)

    assert shape == 1
    return math.log(none(yes) / none(1 - yes))


LOSSES: dict[str, tuple[Event, Callable[[], float]]] = {
    "permute and flip": (events.PermuteAndFlip(4, 3), lambda: flipped(False)),
    "permute and flip, monotone": (events.PermuteAndFlip(4, 3, True), lambda: flipped(True)),
    "noisy max": (events.NoisyMax(4, 3), lambda: flipped(False)),
    "noisy max, monotone": (events.NoisyMax(4, 3, True), lambda: flipped(True)),
    "sparse vector": (
        events.SparseVector(2, 2, 1, 1),
        lambda: first_above(0) - first_above(1),
    ),
    "staircase": (events.Staircase("1/2", 4, 2, 9), lambda: 1.5),  # nine steps: three stairs
    "objective": (events.LaplaceObjective(4, 3, "1/5"), lambda: 3 / 4 + 1 / 5),
    "sampled response": (
        events.Poisson("1/4", events.RandomizedResponse(2)),
        lambda: math.log1p(0.25 * math.expm1(2)),
    ),
    "best of runs": (
        events.RepeatAndSelect(events.RandomizedResponse("1/2"), 1, "1/1000000"),
        lambda: rare_best(0.5, 1),
    ),
    "two of three": (
        events.Parallel(
            [events.DiscreteLaplace(2), events.DiscreteLaplace(1), events.DiscreteLaplace(5)], 2
        ),
        lambda: 1.5,
    ),
    "one of two": (
        events.OneOf([events.DiscreteLaplace(2), events.DiscreteLaplace(5)]),
        lambda: 0.5,
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_the_price_is_no_less_than_the_loss_of_one_pair(name: str) -> None:
    event, loss = LOSSES[name]
    least = loss() * (1 - 1e-9)
    price = cost(event, PureDP).epsilon
    assert price >= least
    assert least > 0.6 * float(price)  # so that a price of half would be seen
    assert PAIR.total(event).epsilon >= least
    assert epsilon_at(event, 0).epsilon >= least
    assert cost(event, Renyi, orders=[2, math.inf]).curve[math.inf] >= least
    assert not satisfies(event, PureDP(Fraction(least) * Fraction(99, 100)))


@pytest.mark.parametrize("name", LOSSES)
def test_concentrated_prices_cover_the_loss_of_randomised_response(name: str) -> None:
    """ρ·α is at least the Rényi divergence of a mechanism whose loss is ±ε, for each α."""
    event, _ = LOSSES[name]
    if name in ("sampled response", "best of runs", "sparse vector"):
        return  # what is known of them is not reached by so simple a mechanism
    epsilon = float(cost(event, PureDP).epsilon)
    rho = float(cost(event, ZCDP).rho)
    p = 1 / (1 + math.exp(-epsilon))
    for order in (1.01, 2.0, 8.0):
        if name in ("two of three", "one of two"):
            break
        exact = math.log(
            p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)
        ) / (order - 1)
        assert exact <= rho * order * (1 + 1e-9)
    if name in ("two of three", "one of two"):
        parts = sorted((float(cost(e, ZCDP).rho) for e in event.events), reverse=True)
        assert rho >= sum(parts[: getattr(event, "reach", 1)]) * (1 - 1e-9)


def test_gaussians_side_by_side_cost_the_largest_that_one_person_reaches() -> None:
    branches = [events.Gaussian(2), events.Gaussian(1, 3), events.Gaussian(4)]
    found = cost(events.Parallel(branches, 2), GaussianDP).mu_squared
    assert found == 3 + Fraction(1, 4)
    assert cost(events.Gaussian(2, 3), GaussianDP).mu_squared == Fraction(3, 4)


def test_pairs_side_by_side_add_up_the_largest_of_both() -> None:
    branches = [
        events.External(ApproxDP(e, d), "x") for e, d in ((1, "1/9"), (2, "1/7"), (3, "1/8"))
    ]
    found = PAIR.total(events.Parallel(branches, 2))
    assert found == ApproxDP(5, Fraction(1, 7) + Fraction(1, 8))
    everything = events.Parallel(
        [events.External(ApproxDP(1, "2/3"), "x"), events.External(ApproxDP(1, "1/2"), "y")], 2
    )
    assert PAIR.total(everything).delta == 1


def test_a_sample_shows_all_with_its_share_of_delta() -> None:
    pair = PAIR.total(events.Poisson("1/4", events.External(ApproxDP(2, "1/100"), "x")))
    assert pair.epsilon >= math.log1p(0.25 * math.expm1(2)) * (1 - 1e-12)
    assert pair.delta == Fraction(1, 400)


@pytest.mark.parametrize("gamma", [0.5, 0.01])
def test_the_best_of_runs_fails_as_often_as_any_of_them(gamma: float) -> None:
    """A run that shows everything with probability δ: some run of K, geometric, does so."""
    delta = 1e-6
    event = events.RepeatAndSelect(events.External(ApproxDP("1/2", delta), "x"), 1, gamma)
    pair = PAIR.total(event)
    some = 1 - gamma * (1 - delta) / (1 - (1 - gamma) * (1 - delta))
    assert float(pair.delta) >= some * (1 - 1e-9)
    assert pair.epsilon == Fraction(3, 2)
    assert rare_best(0.5, 1) > 0.6 * float(pair.epsilon)


def test_thresholds_and_objectives_charge_their_epsilon_and_their_delta() -> None:
    """One key alone: it is shown if its noise reaches the threshold, and that tells who was there."""
    event = events.KeyThreshold(2, 3, 20, 1, 1)
    pair = PAIR.total(event)
    assert pair.epsilon == Fraction(3, 2)
    b = math.exp(-1 / 2)
    reached = b ** (20 - 1) / (1 + b)  # P(1 + noise >= 20)
    assert reached * (1 - 1e-9) <= float(pair.delta) <= 1.01 * reached
    objective = events.GaussianObjective(3, 1, "1/10", 1)
    pair = PAIR.total(objective)
    assert pair.epsilon == 1
    assert float(pair.delta) >= gaussian_tail(3.0, 1 - 0.1)
    assert delta_at(objective, 1) <= pair.delta


def gaussian_tail(sigma: float, epsilon: float) -> float:
    """P(loss > ε) - e^ε·Q(loss > ε) of N(0, σ²) moved by 1 (Balle & Wang 2018, Theorem 8)."""

    def phi(t: float) -> float:
        return math.erfc(-t / math.sqrt(2)) / 2

    return phi(0.5 / sigma - epsilon * sigma) - math.exp(epsilon) * phi(
        -0.5 / sigma - epsilon * sigma
    )


def test_curves_of_selections_cover_the_exact_divergence() -> None:
    """The rare outcome of `rare_best` has Rényi divergence of at least its own term."""
    inner = {
        order: cost(events.RandomizedResponse("1/2"), Renyi, orders=[order]).curve[order]
        for order in (2.0, 8.0, 64.0, math.inf)
    }
    found = select_best(inner, Fraction(1), Fraction(1, 10**6))
    assert found[math.inf] >= rare_best(0.5, 1) * (1 - 1e-9)


def test_an_event_without_a_finite_epsilon_has_none_in_parts_either() -> None:
    endless = events.External(PureDP(math.inf), "x")
    for event in (events.Poisson("1/2", endless), events.RepeatAndSelect(endless, 1, "1/2")):
        with pytest.raises(NoBound):
            cost(event, PureDP)
    with pytest.raises(NoBound):
        PAIR.total(events.Gaussian(1))


@pytest.mark.parametrize("groups", [1, 3])
def test_thresholds_cover_every_way_to_spread_a_persons_rows(groups: int) -> None:
    scale, rows = Fraction(2), 3
    for threshold in (10, 20, 40):
        charged = float(threshold_delta(scale, threshold, rows, groups))
        splits = [[3]] if groups == 1 else [[3], [2, 1], [1, 1, 1]]
        for split in splits:
            unseen = sum(math.log1p(-shown(scale, threshold - count)) for count in split)
            assert charged >= -math.expm1(unseen) * (1 - 1e-9)
        assert charged <= 2 * max(sum(shown(scale, threshold - c) for c in s) for s in splits)


def shown(scale: Fraction, distance: int) -> float:
    """P(discrete Laplace noise >= distance)."""
    b = math.exp(-1 / float(scale))
    return b**distance / (1 + b)


@pytest.mark.parametrize("delta", [Fraction(1, 10**3), Fraction(1, 10**9)])
def test_the_least_threshold_keeps_its_delta(delta: Fraction) -> None:
    for rows, groups in ((1, 1), (3, 2), (5, 5)):
        found = minimum_threshold(Fraction(3), delta, rows, groups)
        assert threshold_delta(Fraction(3), found, rows, groups) <= delta
        assert threshold_delta(Fraction(3), found - 1, rows, groups) > delta


def test_privacy_losses_are_refused_where_no_sum_bounds_them() -> None:
    refused = [
        events.External(PureDP(51), "x"),
        events.DiscreteGaussian(3, 2),
        events.DiscreteGaussian("1/11"),
        events.DiscreteGaussian(2**15),
        events.Parallel([events.DiscreteLaplace(1), events.Gaussian(1)], 1),
    ]
    for event in refused:
        with pytest.raises(NoBound):
            cost(event, PrivacyLoss)
    for event in (events.External(PureDP(49), "x"), events.DiscreteGaussian(3, 1)):
        assert isinstance(cost(event, PrivacyLoss), PrivacyLoss)


def test_at_infinite_order_a_curve_is_the_largest_loss() -> None:
    for event, epsilon in (
        (events.Exponential("3/2"), 1.5),
        (events.PartialResponse("3/2", "1/4"), 1.5),
        (events.DiscreteLaplace(2, 3), 1.5),
        (events.DiscreteLaplace(2, 1), 0.5),
        (events.PartialResponse("3/2", 1), 1.5),
    ):
        assert cost(event, Renyi, orders=[math.inf]).curve[math.inf] >= epsilon * (1 - 1e-12)


@pytest.mark.parametrize("order", [1.5, 4.0, 30.0])
def test_curves_are_no_less_than_the_divergence_of_two_outcomes(order: float) -> None:
    """A response to a share of people, and shifts of Laplace and Gaussian noise."""
    p = 1 / (1 + math.exp(-1.5))
    moment = p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)
    for share in (0.25, 1.0):
        exact = math.log(1 - share + share * moment) / (order - 1)
        event = events.PartialResponse("3/2", Fraction(share))
        assert cost(event, Renyi, orders=[order]).curve[order] >= exact * (1 - 1e-12)
    k = np.arange(-400, 401)
    here, there = (
        np.exp(-np.abs(k - shift) / 2.0) for shift in (0, 3)
    )  # discrete Laplace, scale 2
    moment = float((here / here.sum() * (here / there) ** (order - 1)).sum())
    laplace = cost(events.DiscreteLaplace(2, 3), Renyi, orders=[order]).curve[order]
    assert laplace >= math.log(moment) / (order - 1) * (1 - 1e-9)
    gaussian = cost(events.Gaussian(2, 3), Renyi, orders=[order]).curve[order]
    assert gaussian >= order * 3 / 8 * (1 - 1e-12)


def test_the_best_composition_covers_that_of_randomised_response() -> None:
    """Two answers of ε: some pair of answers has a loss of 2ε, more often than δ."""
    found = best_composition(0.5, 2, 1e-6)
    assert found >= 0.99  # at δ = 1e-6 nothing less than the sum will do

"""Privacy losses against exact values, over counts from 1 to 1e8 and δ from 1e-12 to 1e-3."""

from __future__ import annotations

import math
import random
import time
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from contour import (
    Moment,
    discrete_normal,
    exact_delta,
    normal,
    number,
    response,
    sampled,
)
from dp_accounting.pld import privacy_loss_distribution
from scipy import fft

from discreet import accounting, events
from discreet.accounting.losses import loss_of
from discreet.measures import ApproxDP, PrivacyLoss
from discreet.measures.loss import TooManyLosses
from discreet.measures.loss_atoms import Response
from discreet.measures.loss_responses import responses_delta
from discreet.measures.loss_sum import _TRANSFORM, sum_epsilon

DELTAS = ["1e-3", "1e-6", "1e-9", "1e-12"]
Sums = list[list[tuple[Moment, int]]]  # the losses of each direction


pytestmark = pytest.mark.usefixtures("many_digits")


def exact_gaussian_delta(mu_squared: Fraction, epsilon: Fraction) -> mpmath.mpf:
    mu, e = mpmath.sqrt(number(mu_squared)), number(epsilon)
    return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


@pytest.mark.parametrize(("sigma", "count"), [(3000, 10**6), (1000, 4 * 10**6)])
def test_a_million_gaussians_beside_another_event_cost_no_less_than_alone(
    sigma: int, count: int
) -> None:
    """A constant allowance for rounding was not enough: the error of a transform grows with the count."""
    gaussians = events.Repeat(events.Gaussian(sigma), count)
    event = events.Compose(gaussians, events.DiscreteLaplace(10**9, 1))
    mu_squared = Fraction(count, sigma**2)
    for delta in ("1e-10", "1e-6"):
        epsilon = accounting.cost(event, ApproxDP, delta=delta).epsilon
        assert exact_gaussian_delta(mu_squared, epsilon) <= mpmath.mpf(delta)
        assert accounting.satisfies(event, ApproxDP(epsilon, delta))
        alone = accounting.cost(gaussians, ApproxDP, delta=delta).epsilon
        assert alone <= epsilon <= alone * Fraction(1001, 1000)
        assert not accounting.satisfies(event, ApproxDP(alone * Fraction(999, 1000), delta))


def check(event: events.Event, sums: Sums, delta: str, within: str = "0.99") -> None:
    """The ε found holds exactly; one that is smaller by 1 % doesn't."""
    epsilon = Fraction(accounting.cost(event, ApproxDP, delta=delta).epsilon)
    exact = max(exact_delta(terms, epsilon) for terms in sums)
    assert exact <= number(delta), (event, delta)
    if epsilon > Fraction(1, 100):
        below = max(exact_delta(terms, epsilon * Fraction(within)) for terms in sums)
        assert below > number(delta), (event, delta)
    at = accounting.delta_at(event, epsilon)
    assert exact <= number(at) <= number(delta) * mpmath.mpf("1.001")


def mixture(draw: random.Random, largest: int) -> tuple[events.Event, Sums]:
    """Events of up to three kinds, with a total loss of moderate size, and their moments."""
    parts: list[events.Event] = []
    goes: list[tuple[Moment, int]] = []
    comes: list[tuple[Moment, int]] = []
    kinds = [
        draw.choice(["normal", "sampled"]),
        *draw.sample(["response", "discrete"], draw.choice([0, 1, 2])),
    ]
    for kind in kinds:
        count = 10 ** draw.randint(0, largest)
        size = draw.choice([Fraction(1, 4), Fraction(1), Fraction(3)])  # of the total deviation
        root = Fraction(math.isqrt(count))
        if kind == "normal":
            parts.append(events.Repeat(events.Gaussian(root / size), count))
            moment = other = normal((size / root) ** 2)
        elif kind == "response":
            parts.append(events.Repeat(events.DiscreteLaplace(root / size), count))
            moment = other = response(size / root)
        elif kind == "discrete":
            count = min(count, 1000)
            sigma = Fraction(math.isqrt(count)) / min(size, Fraction(1))
            parts.append(events.Repeat(events.DiscreteGaussian(sigma), count))
            moment = other = discrete_normal(sigma, 1)
        else:
            count = max(count, 100)
            chance = Fraction(1) / (Fraction(math.isqrt(count)) + 1)
            parts.append(events.Repeat(events.Poisson(chance, events.Gaussian(1)), count))
            moment, other = (sampled(Fraction(1), chance, person_comes=c) for c in (False, True))
        goes.append((moment, count))
        comes.append((other, count))
    return events.Compose(*parts), [goes, comes]


@pytest.mark.parametrize("seed", range(10))
def test_mixed_compositions_are_never_understated(seed: int) -> None:
    draw = random.Random(seed)
    event, sums = mixture(draw, 4)
    check(event, sums, draw.choice(DELTAS))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_large_mixed_compositions_are_never_understated(seed: int) -> None:
    draw = random.Random(1000 + seed)
    event, sums = mixture(draw, 8)
    check(event, sums, draw.choice(DELTAS), within="0.98")


@pytest.mark.parametrize("count", [300, 10**4])
def test_steps_of_stochastic_gradient_descent_are_never_understated(count: int) -> None:
    event = events.Repeat(events.Poisson("0.01", events.Gaussian(1)), count)
    sums = [
        [(sampled(Fraction(1), Fraction(1, 100), person_comes=c), count)] for c in (False, True)
    ]
    for delta in ("1e-3", "1e-12"):
        check(event, sums, delta, within="0.999")


#: Chance and σ of sampled steps, and how many of them leave something to protect.
SAMPLED = {("0.3", "4"): 10**4, ("0.01", "1"): 10**5, ("1e-3", "0.6"): 10**6, ("1e-5", "2"): 10**8}
STEPS = [(*step, count) for step in SAMPLED for count in (300, *(10**k for k in range(3, 9)))]


@pytest.mark.slow
@pytest.mark.parametrize(("chance", "sigma", "count"), [s for s in STEPS if s[2] <= SAMPLED[s[:2]]])
def test_many_sampled_steps_are_never_understated(chance: str, sigma: str, count: int) -> None:
    event = events.Repeat(events.Poisson(chance, events.Gaussian(sigma)), count)
    assert loss_of(event).delta(100) <= 1e-6
    mu_squared = 1 / Fraction(sigma) ** 2
    sums = [[(sampled(mu_squared, Fraction(chance), person_comes=c), count)] for c in (False, True)]
    for delta in ("1e-3", "1e-12"):
        check(event, sums, delta, within="0.98")


@pytest.mark.slow
@pytest.mark.parametrize(("chance", "sigma", "count"), [s for s in STEPS if s[2] > SAMPLED[s[:2]]])
def test_too_many_sampled_steps_protect_nobody(chance: str, sigma: str, count: int) -> None:
    event = events.Repeat(events.Poisson(chance, events.Gaussian(sigma)), count)
    assert loss_of(event).delta(100) > 1e-6


def exact_responses(epsilon: Fraction, count: int, at: Fraction) -> mpmath.mpf:
    """δ(at) of `count` randomised responses: the largest terms of the binomial sum."""
    e = number(epsilon)
    p = 1 / (1 + mpmath.exp(-e))
    last = math.ceil((count - at / epsilon) / 2) - 1
    if last < 0:
        return mpmath.mpf(0)
    mass = mpmath.exp(
        mpmath.loggamma(count + 1) - mpmath.loggamma(last + 1) - mpmath.loggamma(count - last + 1)
        + (count - last) * mpmath.log(p) + last * mpmath.log(1 - p)
    )  # fmt: skip
    total, wrong = mpmath.mpf(0), last
    while wrong >= 0:
        term = mass * -mpmath.expm1(number(at) - (count - 2 * wrong) * e)
        total += term
        if wrong < last - 10 and term < total * mpmath.mpf("1e-12"):
            break
        mass *= wrong * p / ((count - wrong + 1) * (1 - p))
        wrong -= 1
    return total


@pytest.mark.parametrize("count", [1, 2, 7, 100, 10**4])
@pytest.mark.parametrize("deviation", ["0.3", "2"])
def test_equal_pure_answers_are_counted_exactly(count: int, deviation: str) -> None:
    epsilon = Fraction(deviation) / math.isqrt(count)
    event = events.Repeat(events.RandomizedResponse(epsilon), count)
    for delta in DELTAS:
        found = Fraction(accounting.cost(event, ApproxDP, delta=delta).epsilon)
        assert exact_responses(epsilon, count, found) <= number(delta)
        below = found * Fraction(9999, 10000)
        if found > 0:
            assert exact_responses(epsilon, count, below) > number(delta) * mpmath.mpf("0.9999")
        at = accounting.delta_at(event, found)
        assert exact_responses(epsilon, count, found) <= number(at) <= number(delta)


@pytest.mark.slow
@pytest.mark.parametrize("count", [10**6, 10**7, 10**8])
@pytest.mark.parametrize("delta", DELTAS)
def test_very_many_equal_pure_answers_are_counted_exactly(count: int, delta: str) -> None:
    epsilon = Fraction(1, math.isqrt(count))
    event = events.Repeat(events.RandomizedResponse(epsilon), count)
    found = Fraction(accounting.cost(event, ApproxDP, delta=delta).epsilon)
    assert exact_responses(epsilon, count, found) <= number(delta)
    assert exact_responses(epsilon, count, found * Fraction(999, 1000)) > number(delta)


def test_responses_on_the_grid_are_close_to_the_exact_sum() -> None:
    for count in (3, 1000):
        epsilon = Fraction(1) / math.isqrt(count)
        on_grid = sum_epsilon([(Response(epsilon), count)], 1e-7)
        exact = accounting.cost(
            events.Repeat(events.RandomizedResponse(epsilon), count), ApproxDP, delta="1e-7"
        )
        assert (
            exact.epsilon * (1 - Fraction(1, 10**9))
            <= on_grid
            <= exact.epsilon * Fraction(1001, 1000)
        )


def test_responses_at_the_ends_of_their_range() -> None:
    epsilon = Fraction(1, 3)
    assert responses_delta(epsilon, 5, 5 * epsilon) == 0.0
    whole = responses_delta(epsilon, 1, Fraction(0))
    assert whole == pytest.approx(math.tanh(1 / 6), rel=1e-12)
    assert responses_delta(Fraction(1), 10**6, Fraction(1)) == pytest.approx(1.0)


@pytest.mark.parametrize("size", [2**6, 2**13, 2**18])
def test_transforms_err_less_than_their_bound(size: int) -> None:
    """The premise on numpy's transform, against one with eleven bits more."""
    generator = np.random.default_rng(size)
    for values in (generator.random(size), np.exp(-((np.arange(size) - 50.0) ** 2) / 90)):
        values = values / values.sum()
        exact = fft.rfft(values.astype(np.longdouble))
        error = np.fft.rfft(values) - exact
        relative = np.sqrt(np.sum(np.abs(error) ** 2) / np.sum(np.abs(exact) ** 2))
        assert relative < _TRANSFORM * math.log2(size) / 4
        back = np.fft.irfft(exact.astype(np.complex128), size) - values
        assert np.sqrt(np.sum(back**2) / np.sum(values**2)) < _TRANSFORM * math.log2(size) / 4


def test_losses_lie_between_the_optimistic_and_the_pessimistic_ones_of_dp_accounting() -> None:
    event = events.Repeat(events.Poisson("0.2", events.Gaussian(2)), 50)
    ours = float(accounting.cost(event, PrivacyLoss).epsilon("1e-5"))
    lower, upper = (
        privacy_loss_distribution.from_gaussian_mechanism(
            2.0, sampling_prob=0.2, value_discretization_interval=1e-3,
            pessimistic_estimate=pessimistic, use_connect_dots=pessimistic,
        ).self_compose(50).get_epsilon_for_delta(1e-5)
        for pessimistic in (False, True)
    )  # fmt: skip
    assert lower <= ours <= upper
    assert upper < lower * 1.05


def test_more_losses_than_the_error_allows_are_left_to_the_renyi_curve() -> None:
    """Ordinary and extraordinary plans have an answer; none is refused for its count."""
    start = time.process_time()
    step = events.Poisson("1e-6", events.Gaussian(1))
    for count in (10**13, 10**400):
        event = events.Compose(events.Repeat(step, count), events.DiscreteLaplace(5))
        with pytest.raises(TooManyLosses):
            accounting.cost(event, PrivacyLoss).epsilon("1e-6")
        with pytest.raises(TooManyLosses):
            accounting.cost(event, PrivacyLoss).delta(1)
    assert accounting.cost(event, ApproxDP, delta="1e-6").epsilon > 0
    few = events.Compose(events.Repeat(step, 10**13), events.DiscreteLaplace(5))
    assert accounting.cost(few, ApproxDP, delta="1e-6").epsilon < 1000
    assert accounting.delta_at(few, 1000) < 1
    assert time.process_time() - start < 20

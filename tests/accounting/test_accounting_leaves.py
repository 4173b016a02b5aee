"""Costs of single events against exact divergences, summed outcome by outcome with many digits."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import pytest

from discreet import accounting, events
from discreet.accounting import curves
from discreet.measures import ZCDP, ApproxDP, GaussianDP, PrivacyLoss, PureDP, Renyi
from discreet.measures.gaussian import gaussian_delta

Distribution = dict[int, mpmath.mpf]


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mpmath.workdps(50):
        yield


def number(value: Fraction | float) -> mpmath.mpf:
    value = Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


def normalised(weights: Distribution) -> Distribution:
    total = mpmath.fsum(weights.values())
    return {k: w / total for k, w in weights.items()}


def laplace(scale: float, shift: int, width: int = 700) -> Distribution:
    return normalised(
        {k: mpmath.exp(-abs(k - shift) / number(scale)) for k in range(-width, width)}
    )


def discrete_gaussian(sigma: float, shift: int) -> Distribution:
    width = int(40 * sigma) + 10
    return normalised(
        {k: mpmath.exp(-(((k - shift) / number(sigma)) ** 2) / 2) for k in range(-width, width)}
    )


def hockey_stick(p: Distribution, q: Distribution, epsilon: Fraction | float) -> mpmath.mpf:
    e = mpmath.exp(number(epsilon))
    zero = mpmath.mpf(0)
    return mpmath.fsum(max(zero, a - e * q.get(k, zero)) for k, a in p.items())


def renyi(p: Distribution, q: Distribution, order: float) -> mpmath.mpf:
    a = number(order)
    return mpmath.log(mpmath.fsum(x**a * q[k] ** (1 - a) for k, x in p.items())) / (a - 1)


SCALES = ["0.3", "1", "2.5", "7"]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_discrete_laplace_curve_is_the_divergence(scale: str, shift: int) -> None:
    event = events.DiscreteLaplace(scale, shift)
    p, q = laplace(float(scale), 0), laplace(float(scale), shift)
    orders = (1.1, 1.5, 2, 3, 8, 40)
    curve = accounting.cost(event, Renyi, orders=orders).curve
    for order in orders:
        exact = renyi(p, q, order)
        # the sum is cut, so it is a little too small itself
        assert exact * (1 - mpmath.mpf("1e-9")) <= curve[order] <= exact * (1 + mpmath.mpf("1e-9"))


def exact_laplace(scale: Fraction, shift: int, order: float) -> mpmath.mpf:
    """The three geometric sums of the divergence, with enough digits for any cancellation."""
    with mpmath.workdps(500):
        a, step = number(order), 1 / number(scale)
        q = mpmath.exp(-step)
        outer = (q ** ((1 - a) * shift) + q ** (a * shift)) / (1 - q)
        power = 2 * a - 1
        inner = q ** ((1 - a) * shift) * (q**power - q ** (power * shift)) / (1 - q**power)
        return mpmath.log((1 - q) / (1 + q) * (outer + inner)) / (a - 1)


def test_discrete_laplace_curve_is_an_upper_bound_at_all_scales() -> None:
    draw = random.Random(5)
    orders = [1 + 2.0**-40, 1.001, 1.1, 1.9, 2.0, 3.0, 17.0, 64.0, 1024.0]
    for _ in range(300):
        scale = Fraction(10 ** draw.uniform(-2, 13))
        shift = draw.choice([1, 2, 3, 10, 10**4, 2**30, max(1, round(float(scale)))])
        if not 1e-9 < shift / scale < 1000:
            continue
        order = draw.choice(orders)
        bound, exact = (
            curves.discrete_laplace(scale, shift, order),
            exact_laplace(scale, shift, order),
        )
        assert bound >= exact, (scale, shift, order)
        if shift / scale > 1e-2 and order > 1.05:
            assert bound <= exact * (1 + 1e-8), (scale, shift, order)


@pytest.mark.parametrize(("scale", "shift"), [(Fraction(1, 10**200), 5), (Fraction(10**200), 5)])
def test_discrete_laplace_curve_at_extreme_scales(scale: Fraction, shift: int) -> None:
    for order in (1.5, 64.0, math.inf):
        value = curves.discrete_laplace(scale, shift, order)
        assert 0 < Fraction(value) <= Fraction(shift) / scale * (1 + Fraction(1, 10**15))


@pytest.mark.parametrize("scale", ["0.5", "2", "10"])
def test_one_shift_costs_more_than_the_same_shift_in_parts(scale: str) -> None:
    """log E is convex in the shift and 0 at 0, so an L1 distance in one coordinate is the worst."""
    s = Fraction(scale)
    for order in (1.1, 2, 8, 64):

        def value(shift: int, order: float = order) -> mpmath.mpf:
            return exact_laplace(s, shift, order)

        for parts in [(1, 1), (1, 2), (2, 3), (1, 1, 1, 4)]:
            assert sum(map(value, parts)) <= value(sum(parts))
        assert value(1) <= value(2) <= value(3)


def test_at_sensitivity_one_laplace_noise_is_randomised_response() -> None:
    p, q = laplace(2, 0), laplace(2, 1)
    ratios = {mpmath.nstr(mpmath.log(p[k] / q[k]), 20) for k in range(-300, 300)}
    assert ratios == {"0.5", "-0.5"}
    event = events.DiscreteLaplace(2, 1)
    other = events.RandomizedResponse("0.5")
    assert accounting.cost(event, Renyi) == accounting.cost(other, Renyi)
    losses = [
        accounting.cost(events.Repeat(e, 9), PrivacyLoss).epsilon("1e-6") for e in (event, other)
    ]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("k", [2, 3, 5])
def test_randomised_response_against_every_pair_of_inputs(k: int) -> None:
    event = events.RandomizedResponse("1.3", k)
    keep = mpmath.exp(number(Fraction("1.3")))
    rows = [
        normalised({out: keep if out == value else mpmath.mpf(1) for out in range(k)})
        for value in range(k)
    ]
    assert accounting.cost(event, PureDP).epsilon == Fraction("1.3")
    curve = accounting.cost(event, Renyi, orders=[1.5, 2, 16]).curve
    for p, q in itertools.permutations(rows, 2):
        for order, bound in curve.items():
            assert renyi(p, q, order) <= bound <= renyi(p, q, order) * (1 + 1e-12)
        for delta in ("1e-6", "0.01", "0.2"):
            epsilon = accounting.cost(event, ApproxDP, delta=delta).epsilon
            assert hockey_stick(p, q, epsilon) <= mpmath.mpf(delta)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4", "30"])
def test_bounded_range_is_an_eighth_of_the_square(epsilon: str) -> None:
    """Distributions whose log-ratios lie in an interval of width ε: the extreme ones take its two ends."""
    e = mpmath.mpf(epsilon)
    event = events.Exponential(epsilon)
    rho = accounting.cost(event, ZCDP).rho
    assert rho == Fraction(epsilon) ** 2 / 8
    curve = accounting.cost(event, Renyi, orders=[1.01, 1.5, 2, 8, 64]).curve
    for weight in (mpmath.mpf(w) for w in ("1e-6", "0.01", "0.3", "0.5", "0.9", "0.9999")):
        # Q = (w, 1 - w); the ratio is e^(t + ε) on the first outcome and e^t on the second
        t = -mpmath.log(weight * mpmath.exp(e) + 1 - weight)
        q = {0: weight, 1: 1 - weight}
        p = {0: weight * mpmath.exp(t + e), 1: (1 - weight) * mpmath.exp(t)}
        assert abs(sum(p.values()) - 1) < 1e-40
        for order, bound in curve.items():
            exact = max(renyi(p, q, order), renyi(q, p, order))
            assert exact <= bound
            assert exact <= number(rho) * order
        for delta in ("1e-6", "1e-3", "0.1"):
            pair = accounting.cost(event, ApproxDP, delta=delta).epsilon
            assert max(hockey_stick(p, q, pair), hockey_stick(q, p, pair)) <= mpmath.mpf(delta)


def test_the_analytic_formula_is_false_for_the_discrete_gaussian() -> None:
    """δ is 1.035 times the target at (1, 1e-5), Δ = 1, and 1.69 times at (8, 1e-5), Δ = 2."""
    for epsilon, shift, factor in [(1, 1, 1.035), (8, 2, 1.69)]:
        target = ApproxDP(epsilon, Fraction(1, 10**5))
        sigma = accounting.calibrate(
            lambda s, shift=shift: events.Gaussian(s, sensitivity=shift), target, tolerance=1e-12
        ).sigma
        p, q = discrete_gaussian(float(sigma), 0), discrete_gaussian(float(sigma), shift)
        ratio = float(hockey_stick(p, q, Fraction(epsilon)) / number(target.delta))
        assert ratio == pytest.approx(factor, rel=5e-3)
        event = events.DiscreteGaussian(sigma, sensitivity=shift)
        assert not accounting.satisfies(event, target)
        with pytest.raises(accounting.NoBound, match="not Gaussian DP"):
            accounting.cost(event, GaussianDP)
        enough = accounting.calibrate(
            lambda s, shift=shift: events.DiscreteGaussian(s, sensitivity=shift), target
        )
        p, q = (discrete_gaussian(float(enough.sigma), s) for s in (0, shift))
        assert hockey_stick(p, q, Fraction(epsilon)) <= number(target.delta)


@pytest.mark.parametrize("sigma", ["0.5", "1", "3"])
@pytest.mark.parametrize("shift", [1, 2])
def test_discrete_gaussian_curve(sigma: str, shift: int) -> None:
    event = events.DiscreteGaussian(sigma, sensitivity=shift)
    p, q = discrete_gaussian(float(sigma), 0), discrete_gaussian(float(sigma), shift)
    for order, bound in accounting.cost(event, Renyi, orders=[1.5, 2, 3, 10]).curve.items():
        assert renyi(p, q, order) <= bound * (1 + 1e-12)
    for delta in ("1e-8", "1e-4", "0.05"):
        epsilon = accounting.cost(event, ApproxDP, delta=delta).epsilon
        assert hockey_stick(p, q, epsilon) <= mpmath.mpf(delta)
        assert hockey_stick(p, q, Fraction(1)) <= number(accounting.delta_at(event, 1))


def test_small_losses_are_counted_beyond_the_listed_orders() -> None:
    event = events.DiscreteGaussian(10**4)
    pair = accounting.cost(event, ApproxDP, delta="1e-6")
    gaussian = accounting.cost(events.Gaussian(10**4), ApproxDP, delta="1e-6")
    assert gaussian.epsilon < pair.epsilon < gaussian.epsilon * Fraction(3, 2)


@pytest.mark.parametrize(
    "event",
    [
        events.DiscreteLaplace(3, 0), events.Gaussian(3, 0), events.DiscreteGaussian(3, 0),
        events.Exponential(0), events.RandomizedResponse(0, 4), events.Compose(),
        events.Repeat(events.DiscreteLaplace(1), 0), events.Parallel([]),
        events.Poisson(0, events.DiscreteLaplace(1)), events.Poisson(0.5, events.Gaussian(1, 0)),
    ],
)  # fmt: skip
def test_what_no_person_can_move_costs_nothing(event: events.Event) -> None:
    assert accounting.cost(event, PureDP) == PureDP(0)
    assert accounting.cost(event, ZCDP) == ZCDP(0)
    assert set(accounting.cost(event, Renyi).curve.values()) == {0.0}
    assert accounting.cost(event, ApproxDP, delta=0) == ApproxDP(0, 0)
    assert accounting.satisfies(event, ApproxDP(0, 0))
    assert accounting.delta_at(event, 0) == 0


def test_gaussians_are_never_pure() -> None:
    event = events.Gaussian(1)
    assert not accounting.satisfies(event, ApproxDP(2000, 0))
    assert not accounting.satisfies(event, PureDP(10**6))
    assert accounting.cost(event, ApproxDP, delta=0).epsilon == math.inf
    assert accounting.delta_at(event, 2000) > 0
    assert accounting.satisfies(event, ApproxDP(math.inf, 0))
    assert accounting.satisfies(event, ApproxDP(0, 1))
    assert accounting.cost(event, ApproxDP, delta=1).epsilon == 0
    assert accounting.cost(events.DiscreteGaussian(1), ApproxDP, delta=0).epsilon == math.inf


def test_gaussian_delta_at_is_the_analytic_curve() -> None:
    event = events.Compose(events.Gaussian(3), events.Repeat(events.Gaussian(4), 2))
    mu_squared = Fraction(1, 9) + Fraction(2, 16)
    assert accounting.cost(event, GaussianDP).mu_squared == mu_squared
    assert accounting.delta_at(event, 1) == Fraction(gaussian_delta(mu_squared, Fraction(1)))
    assert accounting.cost(event, ZCDP).rho == mu_squared / 2

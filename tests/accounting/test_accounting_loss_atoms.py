"""Losses of one mechanism on a grid, and those of discrete Gaussian noise, against exact sums."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from contour import (
    discrete_normal,
    normal,
    number,
)
from test_accounting_losses import DELTAS, check

from discreet import accounting, events
from discreet.measures import ApproxDP
from discreet.measures.loss_atoms import DiscreteNormal, Normal, Part, Response

pytestmark = pytest.mark.usefixtures("many_digits")


def hockey_stick(part: Part, step: float, direction: int, epsilon: float) -> float:
    atoms = part.atoms(step)[direction]
    losses = atoms.positions * step + atoms.slack
    kept = losses > epsilon
    return math.fsum([*(atoms.masses[kept] * -np.expm1(epsilon - losses[kept])), atoms.lost])


def exact_one(part: Part, direction: int, epsilon: float) -> mpmath.mpf:
    """δ(ε) of one mechanism for any real ε, in closed form."""
    e = number(epsilon)
    if isinstance(part, Response):
        p, loss = 1 / (1 + mpmath.exp(-number(part.epsilon))), number(part.epsilon)
        masses = [(p, loss), (1 - p, -loss)]
        return mpmath.fsum(m * -mpmath.expm1(e - x) for m, x in masses if x > e)
    if isinstance(part, DiscreteNormal):
        s2, total = number(part.sigma) ** 2, mpmath.mpf(0)
        reach = int(12 * part.sigma) + 10
        weights = {
            k: mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s2)) for k in range(-reach, reach + 1)
        }
        for k, w in weights.items():
            loss = part.shift * (part.shift - 2 * k) / (2 * s2)
            total += w * -mpmath.expm1(e - loss) if loss > e else 0
        return total / mpmath.fsum(weights.values())
    assert isinstance(part, Normal)
    c, m = number(part.chance), mpmath.sqrt(number(part.mu_squared))

    def beyond(x: mpmath.mpf) -> mpmath.mpf:
        return (1 - c) * mpmath.ncdf(-x) + c * mpmath.ncdf(m - x)

    if direction == 0:  # the mixture against the normal distribution: large losses are large x
        if mpmath.exp(e) <= 1 - c:
            return -mpmath.expm1(e)
        x = (mpmath.log((mpmath.expm1(e) + c) / c) + m * m / 2) / m
        return beyond(x) - mpmath.exp(e) * mpmath.ncdf(-x)
    if mpmath.exp(-e) <= 1 - c:
        return mpmath.mpf(0)
    x = (mpmath.log((mpmath.expm1(-e) + c) / c) + m * m / 2) / m
    return mpmath.ncdf(x) - mpmath.exp(e) * (1 - beyond(x))


PARTS: list[Part] = [
    Response(Fraction(1, 3)),
    Response(Fraction(7)),
    Response(Fraction(1, 10**6)),
    DiscreteNormal(Fraction(1), 1),
    DiscreteNormal(Fraction(5, 2), 3),
    Normal(Fraction(1), Fraction(1)),
    Normal(Fraction(9), Fraction(1, 100)),
    Normal(Fraction(1, 100), Fraction(1, 3)),
    Normal(Fraction(1), Fraction(999, 1000)),
    Normal(Fraction(4), Fraction(1, 10**6)),
    Normal(Fraction(25), Fraction(1)),
]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("power", [-4, -9, -16])
def test_atoms_cover_the_mechanism_at_every_epsilon(part: Part, power: int) -> None:
    """An over-pair: never below the true divergence, for ε of both signs; and close to it."""
    step, draw = 2.0**power, random.Random(power)
    deviation = math.sqrt(part.spread)
    for direction in range(len(part.atoms(step))):
        for _ in range(12):
            epsilon = draw.uniform(-6, 6) * deviation + draw.choice([0.0, 0.0, draw.uniform(-9, 9)])
            found, exact = (
                hockey_stick(part, step, direction, epsilon),
                exact_one(part, direction, epsilon),
            )
            assert found >= exact * (1 - mpmath.mpf("1e-15"))
            if step < deviation / 8:
                assert found <= exact * (1 + mpmath.mpf("0.05")) + mpmath.mpf("1e-9")


@pytest.mark.parametrize("part", PARTS)
def test_atoms_without_their_upper_share_are_caught(part: Part) -> None:
    """Losses rounded down instead of shared between both neighbours: below the truth somewhere."""
    step = 2.0**-9 if part.spread > 1e-3 else math.sqrt(part.spread) / 4
    step = 2.0 ** math.floor(math.log2(step))
    caught = 0
    for fraction in range(-8, 9):
        epsilon = fraction / 4 * math.sqrt(part.spread)
        atoms = part.atoms(step)[0]
        losses = (atoms.positions - 1) * step
        kept = losses > epsilon
        weakened = math.fsum(atoms.masses[kept] * -np.expm1(epsilon - losses[kept]))
        caught += weakened < exact_one(part, 0, epsilon)
    assert caught > 0


def exact_discrete_delta(sigma: Fraction, shift: int, epsilon: Fraction) -> mpmath.mpf:
    return exact_one(DiscreteNormal(sigma, shift), 0, epsilon)  # type: ignore[arg-type]


def test_one_integer_with_discrete_gaussian_noise_costs_what_its_sum_says() -> None:
    """4.50 at σ = 1 and δ = 1e-6, where concentrated DP says 5.22: a root of the sum, by bisection."""
    event = events.DiscreteGaussian(1)
    low, high = Fraction(4), Fraction(5)
    while high - low > Fraction(1, 10**8):
        middle = (low + high) / 2
        within = exact_discrete_delta(Fraction(1), 1, middle) <= mpmath.mpf("1e-6")
        low, high = (low, middle) if within else (middle, high)
    assert float(high) == pytest.approx(4.4995, abs=1e-3)
    found = accounting.cost(event, ApproxDP, delta="1e-6").epsilon
    assert high <= found <= high * (1 + Fraction(1, 10**4))


@pytest.mark.parametrize("sigma", ["0.4", "1", "3.7", "40"])
def test_discrete_gaussian_noise_is_never_understated(sigma: str) -> None:
    event = events.DiscreteGaussian(sigma)
    for delta in DELTAS:
        found = Fraction(accounting.cost(event, ApproxDP, delta=delta).epsilon)
        assert exact_discrete_delta(Fraction(sigma), 1, found) <= number(delta)
        if found:
            below = found * Fraction(999, 1000)
            assert exact_discrete_delta(Fraction(sigma), 1, below) > number(delta)


@pytest.mark.parametrize(
    "sigma", ["1", "3.7", "40"]
)  # below, the lattice is too wide for the contour
def test_discrete_gaussian_noise_beside_a_gaussian_is_never_understated(sigma: str) -> None:
    event = events.DiscreteGaussian(sigma)
    beside = events.Compose(events.Repeat(event, 20), events.Gaussian(2))
    moments = [(discrete_normal(Fraction(sigma), 1), 20), (normal(Fraction(1, 4)), 1)]
    check(beside, [moments], "1e-6")


def test_many_discrete_gaussian_answers_are_never_understated() -> None:
    """The sum of 20 integers with noise, as a convolution of positive numbers."""
    sigma, count = Fraction(37, 10), 20
    k = np.arange(-60, 61, dtype=np.longdouble)
    one = np.exp(-(k**2) / (2 * np.longdouble(3.7) ** 2))
    one /= one.sum()
    distribution = one
    for _ in range(count - 1):
        distribution = np.convolve(distribution, one)
    total = np.arange(-60 * count, 60 * count + 1)
    losses = (count - 2 * total) / (2 * np.longdouble(3.7) ** 2)
    for delta in ("1e-3", "1e-9"):
        found = accounting.cost(
            events.Repeat(events.DiscreteGaussian(sigma), count), ApproxDP, delta=delta
        )
        for factor, within in ((1.0, True), (0.999, False)):
            epsilon = np.longdouble(float(found.epsilon)) * factor
            kept = losses > epsilon
            exact = np.sum(distribution[kept] * -np.expm1(epsilon - losses[kept]))
            assert (exact <= np.longdouble(delta)) == within


def test_smaller_shifts_of_one_integer_cost_no_more() -> None:
    for sigma in (Fraction(1, 2), Fraction(3)):
        for epsilon in (Fraction(-2), Fraction(0), Fraction(1, 3), Fraction(2)):
            values = [exact_discrete_delta(sigma, shift, epsilon) for shift in range(1, 6)]
            assert values == sorted(values)

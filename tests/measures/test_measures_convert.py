"""The graph of conversions: its edges never understate, and its gaps say why."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import pytest

from discreet.measures import (
    ORDERS,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Measure,
    PrivacyLoss,
    PureDP,
    Renyi,
    convert,
)
from discreet.measures.convert import randomised_response_curve, renyi_delta, renyi_epsilon
from discreet.measures.gaussian import gaussian_delta, gaussian_epsilon
from discreet.measures.loss import identity

EXAMPLES: dict[type[Measure], Measure] = {
    PureDP: PureDP(1),
    ApproxDP: ApproxDP(1, Fraction(1, 10**6)),
    ZCDP: ZCDP(0.1),
    GaussianDP: GaussianDP(Fraction(1, 4)),
    Renyi: Renyi({2: 0.1, 16: 0.7}),
    PrivacyLoss: identity(),
}
EDGES = {
    (PureDP, ApproxDP), (PureDP, ZCDP), (PureDP, Renyi), (ZCDP, Renyi), (ZCDP, ApproxDP),
    (Renyi, ApproxDP), (GaussianDP, ApproxDP), (GaussianDP, ZCDP), (GaussianDP, Renyi),
    (PrivacyLoss, ApproxDP),
}  # fmt: skip


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mpmath.workdps(60):
        yield


def number(value: Fraction | float) -> mpmath.mpf:
    value = Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


def exact_gaussian_delta(mu_squared: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """Balle & Wang 2018, Theorem 8, with as many digits as the subtraction needs."""
    with mpmath.workdps(80):
        mu, e = mpmath.sqrt(number(mu_squared)), number(epsilon)
        a, b = mu / 2 - e / mu, -mu / 2 - e / mu
        return mpmath.ncdf(a) - mpmath.exp(e) * mpmath.erfc(-b / mpmath.sqrt(2)) / 2


def exact_response(epsilon: Fraction, order: float, k: int) -> mpmath.mpf:
    """D_α of k-ary randomised response by its definition, a sum over k outcomes."""
    with mpmath.workdps(800):
        e, a = number(epsilon), number(order)
        keep, other = mpmath.exp(e) / (mpmath.exp(e) + k - 1), 1 / (mpmath.exp(e) + k - 1)
        total = keep**a * other ** (1 - a) + other**a * keep ** (1 - a) + (k - 2) * other
        return mpmath.log(total) / (a - 1)


@pytest.mark.parametrize(("start", "end"), list(itertools.permutations(EXAMPLES, 2)))
def test_every_pair_of_measures_has_an_edge_or_a_reason(
    start: type[Measure], end: type[Measure]
) -> None:
    if (start, end) in EDGES:
        assert isinstance(convert(EXAMPLES[start], end, delta="1e-6"), end)
        return
    with pytest.raises(
        ValueError, match=r"does not convert|doesn't bound the worst|with delta > 0"
    ) as caught:
        convert(EXAMPLES[start], end, delta="1e-6")
    message = str(caught.value)
    assert "to this toolkit" not in message, "this gap has no reason of its own"
    assert len(message) > 40


def test_pure_pairs_and_curves_with_order_infinity_are_pure() -> None:
    assert convert(ApproxDP(2, 0), PureDP) == PureDP(2)
    assert convert(ApproxDP(2, 0), ZCDP) == ZCDP(2)
    assert convert(ApproxDP(2, 0), Renyi) == convert(PureDP(2), Renyi)
    assert convert(Renyi({3: 0.1, math.inf: 0.3}), PureDP).epsilon == Fraction(0.3)
    with pytest.raises(ValueError, match="order ∞"):
        convert(Renyi({3: 0.1}), PureDP)
    with pytest.raises(ValueError, match="smaller δ"):
        convert(ApproxDP(1, Fraction(1, 100)), ApproxDP, delta="1e-3")
    assert convert(ApproxDP(1, Fraction(1, 100)), ApproxDP, delta="0.1").delta == Fraction(1, 100)


def test_delta_is_needed() -> None:
    for measure in (ZCDP(1), Renyi({2: 1}), GaussianDP(1), identity()):
        with pytest.raises(ValueError, match="delta must be given"):
            convert(measure, ApproxDP)
    assert convert(PureDP(1), ApproxDP) == ApproxDP(1, 0)


BAD = [
    (lambda: convert(1.0, PureDP), TypeError, "measure"),
    (lambda: convert(PureDP(1), "ZCDP"), TypeError, "to must"),
    (lambda: convert(PureDP(1), float), TypeError, "to must"),
    (lambda: convert(ZCDP(1), ApproxDP, delta=-0.1), ValueError, "delta"),
    (lambda: convert(ZCDP(1), ApproxDP, delta="x"), ValueError, "delta"),
    (lambda: convert(ZCDP(1), Renyi, orders=[1.0]), ValueError, "orders"),
    (lambda: convert(ZCDP(1), Renyi, orders=[]), ValueError, "orders"),
    (lambda: convert(ZCDP(1), Renyi, orders=["many"]), TypeError, "orders"),
    (lambda: convert(ZCDP(1), Renyi, orders=3), TypeError, "orders"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_arguments_are_named(case: int) -> None:
    call, error, name = BAD[case]
    with pytest.raises(error, match=name):
        call()


def test_analytic_gaussian_is_an_upper_bound_to_many_digits() -> None:
    draw = random.Random(1)
    for _ in range(1500):
        mu_squared = Fraction(10 ** draw.uniform(-16, 8))
        sharp = draw.random() < 0.8
        mu = math.sqrt(mu_squared)
        if sharp:  # where δ is between 1e-300 and 1
            epsilon = Fraction(max(0.0, mu_squared / 2 + mu * draw.uniform(-8, 37)))
        else:
            epsilon = Fraction(10 ** draw.uniform(-12, 6))
        bound, exact = (
            gaussian_delta(mu_squared, epsilon),
            exact_gaussian_delta(mu_squared, epsilon),
        )
        assert bound >= exact, (mu_squared, epsilon)
        if exact > 1e-290:
            # the slack is relative to each of the two terms
            terms = mpmath.ncdf(number(mu_squared / 2 - epsilon) / mu)
            assert bound <= exact + terms * 1e-11


@pytest.mark.parametrize("epsilon", [0, 1, 40, 1000, 10**6, Fraction(1, 10**9)])
def test_no_gaussian_is_pure(epsilon: Fraction | int) -> None:
    for mu_squared in (Fraction(1, 10**9), Fraction(1), Fraction(10**6)):
        assert gaussian_delta(mu_squared, Fraction(epsilon)) > 0
    assert gaussian_delta(Fraction(0), Fraction(epsilon)) == 0
    assert gaussian_delta(Fraction(1), math.inf) == 0


def test_gaussian_epsilon_is_the_least_decimal_that_is_enough() -> None:
    draw = random.Random(2)
    for _ in range(60):
        mu_squared = Fraction(10 ** draw.uniform(-8, 2))
        delta = Fraction(str(float(f"{10 ** draw.uniform(-30, -0.5):.3g}")))
        epsilon = gaussian_epsilon(mu_squared, delta)
        assert exact_gaussian_delta(mu_squared, epsilon) <= number(delta)
        if epsilon:
            below = epsilon * (1 - Fraction(1, 10**8))
            assert exact_gaussian_delta(mu_squared, below) > number(delta) * (
                1 - mpmath.mpf("1e-7")
            )
    assert gaussian_epsilon(Fraction(1), Fraction(0)) == math.inf
    assert gaussian_epsilon(Fraction(1), Fraction(1)) == 0
    assert gaussian_epsilon(Fraction(0), Fraction(0)) == 0


def test_randomised_response_curve_is_an_upper_bound_to_many_digits() -> None:
    draw = random.Random(3)
    orders = [1 + 2.0**-52, 1 + 1e-9, 1.001, 1.1, 1.5, 2.0, 2.5, 10.0, 64.0, 1024.0, 1e6]
    for _ in range(150):
        epsilon = Fraction(10 ** draw.uniform(-9, 3.5))
        k = draw.choice([2, 2, 3, 10, 1000, 10**9])
        order = draw.choice(orders)
        bound, exact = (
            randomised_response_curve(epsilon, order, k), exact_response(epsilon, order, k),
        )  # fmt: skip
        assert bound >= exact, (epsilon, order, k)
        assert bound <= exact * (1 + 1e-11), (epsilon, order, k)
        assert bound <= float(epsilon) * (1 + 1e-15)


def test_randomised_response_curve_at_the_ends() -> None:
    third = Fraction(3, 10)
    assert Fraction(randomised_response_curve(third, math.inf)) >= third > Fraction(0.3)
    assert randomised_response_curve(Fraction(0), 2) == 0
    assert randomised_response_curve(math.inf, 2) == math.inf
    assert randomised_response_curve(Fraction(10**400), 2) == math.inf
    assert 0 < randomised_response_curve(Fraction(1, 10**400), 2) <= 5e-324
    assert randomised_response_curve(Fraction(1), 3.0, 10**500) > 0


def test_pure_to_concentrated_dominates_the_curve() -> None:
    for epsilon in (Fraction(1, 100), Fraction(1), Fraction(5)):
        rho = convert(PureDP(epsilon), ZCDP).rho
        for order, value in convert(PureDP(epsilon), Renyi, orders=ORDERS[:-1]).curve.items():
            assert value <= float(rho) * order * (1 + 1e-12)


def test_renyi_to_approximate_is_rounded_up() -> None:
    draw = random.Random(4)
    for _ in range(400):
        order = 1 + 10 ** draw.uniform(-12, 4)
        value = 10 ** draw.uniform(-6, 4)
        delta = Fraction(10 ** draw.uniform(-300, -0.01))
        a = number(order)
        exact = number(value) + mpmath.log((a - 1) / a) - mpmath.log(number(delta) * a) / (a - 1)
        bound = renyi_epsilon(order, value, delta)
        assert bound >= max(exact, 0), (order, value, delta)
        epsilon = Fraction(10 ** draw.uniform(-3, 3))
        exponent = (a - 1) * (number(value) - number(epsilon) + mpmath.log((a - 1) / a))
        assert renyi_delta(order, value, epsilon) >= min(1, mpmath.exp(exponent) / a)
    assert renyi_epsilon(8.0, 1.0, Fraction(0)) == math.inf
    assert renyi_epsilon(math.inf, 1.0, Fraction(0)) == 1.0
    assert renyi_epsilon(8.0, 0.0, Fraction(1)) == 0.0
    assert renyi_epsilon(8.0, 0.1, Fraction(1, 10**400)) > 100


@pytest.mark.parametrize("rho", ["1e-30", "1e-9", "1e-3", "0.1", "1", "50", "1e6", "1e40"])
@pytest.mark.parametrize("delta", ["1e-350", "1e-30", "1e-6", "0.3", "0.999999999"])
def test_concentrated_to_approximate_is_near_the_best_order(rho: str, delta: str) -> None:
    r, d = mpmath.mpf(rho), mpmath.mpf(delta)

    def at(log_excess: mpmath.mpf) -> mpmath.mpf:
        excess = mpmath.exp(log_excess)
        order = 1 + excess
        return r * order + mpmath.log(excess / order) - mpmath.log(d * order) / excess

    around = mpmath.log(max(-mpmath.log(d), mpmath.mpf("1e-9")) / r) / 2
    best = min(at(around + mpmath.mpf(k) / 50) for k in range(-600, 601))
    found = convert(ZCDP(rho), ApproxDP, delta=delta).epsilon
    assert number(found) >= max(best, 0) * (1 - mpmath.mpf("1e-3"))
    assert number(found) <= max(best * (1 + mpmath.mpf("1e-6")), 0) + mpmath.mpf("1e-12") * (1 + r)


def test_concentrated_ends() -> None:
    assert convert(ZCDP(0), ApproxDP, delta=0) == ApproxDP(0, 0)
    assert convert(ZCDP(1), ApproxDP, delta=0).epsilon == math.inf
    assert convert(ZCDP(math.inf), ApproxDP, delta=0.1).epsilon == math.inf
    assert convert(ZCDP(Fraction(10) ** 400), ApproxDP, delta=0.1).epsilon == math.inf
    assert convert(ZCDP(math.inf), Renyi, orders=[2]).curve[2] == math.inf
    assert convert(ZCDP(0), Renyi, orders=[2, math.inf]) == Renyi({2: 0, math.inf: 0})
    assert 0 < convert(ZCDP(Fraction(1, 10**400)), Renyi, orders=[2]).curve[2] < 1e-320


def hockey_stick(p: list[mpmath.mpf], q: list[mpmath.mpf], epsilon: mpmath.mpf) -> mpmath.mpf:
    return sum(max(0, a - mpmath.exp(epsilon) * b) for a, b in zip(p, q, strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_every_way_to_a_pair_is_above_the_hockey_stick_divergence(seed: int) -> None:
    """Random pairs of distributions on few outcomes: each measure is exact, each edge above δ(ε)."""
    draw = random.Random(seed)
    weights = [[mpmath.mpf(draw.uniform(0.05, 1)) for _ in range(5)] for _ in range(2)]
    p, q = ([w / sum(distribution) for w in distribution] for distribution in weights)
    both = [(p, q), (q, p)]
    pure = max(mpmath.log(a / b) for x, y in both for a, b in zip(x, y, strict=True))

    def divergence(order: float) -> mpmath.mpf:
        a = mpmath.mpf(order)
        return max(
            mpmath.log(sum(u**a * v ** (1 - a) for u, v in zip(x, y, strict=True))) / (a - 1)
            for x, y in both
        )

    epsilon = Fraction(math.nextafter(float(pure), math.inf))
    curve = Renyi({o: float(divergence(o)) * (1 + 1e-15) for o in (1.2, 1.5, 2, 4, 8, 32, 128)})
    rho = max(divergence(1 + k / 20) / (1 + k / 20) for k in range(1, 400)) * (1 + 1e-3)
    measures = [PureDP(epsilon), curve, ZCDP(float(rho)), *(
        convert(PureDP(epsilon), kind) for kind in (ZCDP, Renyi)
    )]  # fmt: skip
    for delta in ("1e-6", "1e-3", "0.01", "0.1"):
        for measure in measures:
            found = convert(measure, ApproxDP, delta=delta)
            for x, y in both:
                assert hockey_stick(x, y, number(found.epsilon)) <= mpmath.mpf(delta)

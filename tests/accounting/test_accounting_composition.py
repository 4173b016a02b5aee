"""Optimal and advanced composition and group privacy, against brute force."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import pytest

from discreet import accounting, events
from discreet.measures import ZCDP, ApproxDP, GaussianDP, PrivacyLoss, PureDP, Renyi, convert
from discreet.measures.loss import identity

pytestmark = pytest.mark.usefixtures("many_digits")


def number(value: Fraction | float) -> mpmath.mpf:
    value = Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


def worst_case(epsilon: Fraction, delta: Fraction, count: int, at: Fraction) -> mpmath.mpf:
    """δ(ε) of `count` runs of the worst (ε, δ) mechanism, over all outcomes of its four-valued output."""
    e, d = number(epsilon), number(delta)
    likely = (1 - d) * mpmath.exp(e) / (1 + mpmath.exp(e))
    unlikely = (1 - d) / (1 + mpmath.exp(e))
    p = (d, likely, unlikely, mpmath.mpf(0))
    q = (mpmath.mpf(0), unlikely, likely, d)
    factor = mpmath.exp(number(at))
    total = mpmath.mpf(0)
    for outcome in itertools.product(range(4), repeat=count):
        a = mpmath.fprod(p[o] for o in outcome)
        b = mpmath.fprod(q[o] for o in outcome)
        total += max(mpmath.mpf(0), a - factor * b)
    return total


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [("0.5", "0"), ("0.5", "0.01"), ("2", "0.001"), ("0", "0.1")]
)
@pytest.mark.parametrize("slack", ["0", "0.001", "0.05", "0.3"])
def test_composition_holds_for_the_worst_mechanism(
    count: int, epsilon: str, delta: str, slack: str
) -> None:
    measure = ApproxDP(epsilon, delta)
    for found in (
        accounting.optimal(measure, count, slack), accounting.advanced(measure, count, slack),
    ):  # fmt: skip
        exact = worst_case(Fraction(epsilon), Fraction(delta), count, Fraction(found.epsilon))
        assert exact <= number(found.delta) + mpmath.mpf("1e-35")


@pytest.mark.parametrize("count", [2, 5, 6])
@pytest.mark.parametrize("slack", ["1e-6", "0.001", "0.05", "0.3"])
def test_optimal_composition_is_the_least_multiple(count: int, slack: str) -> None:
    """Among (k - 2i)ε the theorem takes the least whose exact δ fits."""
    epsilon = Fraction("0.3")
    found = accounting.optimal(PureDP(epsilon), count, slack)
    assert found.delta <= Fraction(slack)
    multiples = [(count - 2 * i) * epsilon for i in range(count // 2 + 1)]
    fitting = [
        e
        for e in multiples
        if worst_case(epsilon, Fraction(0), count, e) <= number(Fraction(slack))
    ]
    assert found.epsilon == min(fitting)


def test_optimal_composition_of_many() -> None:
    found = accounting.optimal(PureDP("0.01"), 10_000, "1e-6")
    exact = accounting.cost(
        events.Repeat(events.RandomizedResponse("0.01"), 10_000), ApproxDP, delta="1e-6"
    )
    assert (
        exact.epsilon * Fraction(999, 1000) <= found.epsilon <= exact.epsilon * Fraction(101, 100)
    )
    assert accounting.optimal(PureDP(1), 3, 0) == ApproxDP(3, 0)
    assert accounting.optimal(PureDP("1e-3"), 2000, 0) == ApproxDP(2, 0)  # underflow is not zero
    assert accounting.optimal(PureDP(math.inf), 3, "0.1").epsilon == math.inf
    assert accounting.optimal(ApproxDP(1, 1), 3, "0.1").delta == 1
    many = accounting.optimal(ApproxDP("0.01", "1e-9"), 1000, "1e-6")
    assert Fraction("1e-6") < many.delta <= Fraction("1e-6") + Fraction("1e-6")


def test_advanced_composition_is_never_worse_than_adding_up() -> None:
    for count in (1, 10, 1000):
        found = accounting.advanced(ApproxDP("0.1", "1e-8"), count, "1e-6")
        assert found.epsilon <= Fraction("0.1") * count
        bound = count * 0.005 + 0.1 * math.sqrt(2 * count * math.log(1e6))
        assert found.epsilon <= bound * (1 + 1e-9)
    assert accounting.advanced(PureDP(1), 4, 0) == ApproxDP(4, 0)
    assert accounting.advanced(PureDP(math.inf), 4, "0.5").epsilon == math.inf
    assert accounting.advanced(PureDP(3), 4, 1).epsilon >= 0


def chain(distribution: list[list[mpmath.mpf]], epsilon: Fraction) -> mpmath.mpf:
    e = mpmath.exp(number(epsilon))
    return max(
        mpmath.fsum(max(mpmath.mpf(0), a - e * b) for a, b in zip(x, y, strict=True))
        for x, y in itertools.permutations(distribution, 2)
    )


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_groups_of_laplace_counts(size: int) -> None:
    """A count with discrete Laplace noise moves by `size`: each measure's group bound holds for it."""
    scale = Fraction(3)
    one, all_ = events.DiscreteLaplace(scale, 1), events.DiscreteLaplace(scale, size)
    assert accounting.group(PureDP(1 / scale), size) == accounting.cost(all_, PureDP)
    curve = accounting.cost(one, Renyi, orders=[1.5, 16, 64, 1024, math.inf])
    grouped = accounting.group(curve, size)
    exact = accounting.cost(all_, Renyi, orders=grouped.orders)
    assert exact.curve.keys() == grouped.curve.keys()
    for order, value in grouped.curve.items():
        assert exact.curve[order] <= value * (1 + 1e-9)
    assert grouped.curve[math.inf] == pytest.approx(size / 3)
    rho = accounting.group(accounting.cost(one, ZCDP), size)
    assert accounting.cost(all_, ZCDP) <= rho
    for delta in ("0.001", "0.05"):
        pair = accounting.cost(one, ApproxDP, delta=delta)
        many = accounting.group(pair, size)
        assert accounting.delta_at(all_, many.epsilon) <= many.delta * (1 + Fraction(1, 10**9))


def test_groups_of_gaussian_counts() -> None:
    one, five = events.Gaussian(4), events.Gaussian(4, sensitivity=5)
    assert accounting.group(accounting.cost(one, GaussianDP), 5) == accounting.cost(
        five, GaussianDP
    )
    assert accounting.group(accounting.cost(one, ZCDP), 5) == accounting.cost(five, ZCDP)
    pair = accounting.group(accounting.cost(one, ApproxDP, delta="1e-6"), 5)
    assert accounting.satisfies(five, pair)


def test_group_deltas_round_up_and_end_at_one() -> None:
    for epsilon in ("0", "1e-12", "0.5", "3"):
        for size in (2, 7, 100):
            found = accounting.group(ApproxDP(epsilon, "1e-30"), size)
            e = mpmath.mpf(epsilon)
            exact = mpmath.fsum(mpmath.exp(e * j) for j in range(size)) * mpmath.mpf("1e-30")
            assert min(exact, 1) <= number(found.delta) <= exact * (1 + mpmath.mpf("1e-9"))
    assert accounting.group(ApproxDP(100, "1e-310"), 10).delta == 1
    assert accounting.group(ApproxDP(100, 0), 10) == ApproxDP(1000, 0)
    assert accounting.group(ApproxDP(1, 1), 10).delta == 1
    # (∞, δ) twice over may lose everything: δ of the middle distribution, all of the first
    assert accounting.group(ApproxDP(math.inf, "0.1"), 2) == ApproxDP(math.inf, 1)
    assert accounting.group(ApproxDP(math.inf, "0.1"), 1) == ApproxDP(math.inf, "0.1")
    assert accounting.group(PureDP(math.inf), 2) == PureDP(math.inf)


def test_group_curves_need_a_large_order() -> None:
    """Mironov 2017, Proposition 2 halves the order for each doubling."""
    curve = Renyi({4: 0.1, 32: 0.8})
    assert accounting.group(curve, 1) == curve
    assert set(accounting.group(curve, 2).curve) == {2.0, 16.0}
    assert accounting.group(curve, 2).curve[2.0] == pytest.approx(0.3)
    assert set(accounting.group(curve, 3).curve) == {8.0}
    with pytest.raises(ValueError, match="at least 64"):
        accounting.group(curve, 20)


def test_optimal_and_loss_distributions_agree() -> None:
    event = events.Repeat(events.External(ApproxDP("0.1", "1e-8"), "n"), 20)
    loss = convert(accounting.cost(event, PrivacyLoss), ApproxDP, delta="1e-5").epsilon
    theorem = accounting.optimal(ApproxDP("0.1", "1e-8"), 20, "9.8e-6")
    assert theorem.delta <= Fraction("1e-5")
    assert loss <= theorem.epsilon <= loss * Fraction(112, 100)


BAD = [
    (lambda: accounting.advanced(ZCDP(1), 2, 0.1), TypeError, "measure"),
    (lambda: accounting.advanced(PureDP(1), 0, 0.1), ValueError, "count"),
    (lambda: accounting.advanced(PureDP(1), 2.0, 0.1), TypeError, "count"),
    (lambda: accounting.advanced(PureDP(1), 2, 1.1), ValueError, "slack"),
    (lambda: accounting.optimal(1.0, 2, 0.1), TypeError, "measure"),
    (lambda: accounting.optimal(PureDP(1), 0, 0.1), ValueError, "count"),
    (lambda: accounting.optimal(PureDP(1), 2, None), TypeError, "slack"),
    (lambda: accounting.group(PureDP(1), 0), ValueError, "size"),
    (lambda: accounting.group(PureDP(1), 1.5), TypeError, "size"),
    (lambda: accounting.group(1.0, 2), TypeError, "measure"),
    (lambda: accounting.group(identity(), 2), ValueError, "measure"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_arguments_are_named(case: int) -> None:
    call, error, name = BAD[case]
    with pytest.raises(error, match=name):
        call()

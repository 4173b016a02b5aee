"""Selection, parallel branches, and the accountants for (ε, δ) against exact values."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import mpmath
import pytest

from discreet import accounting, events
from discreet.accounting import NoBound
from discreet.accounting.counts import curve_of
from discreet.accounting.curves import log_mean_runs
from discreet.accounting.losses import loss_of
from discreet.measures import (
    ORDERS,
    ZCDP,
    ApproxDP,
    GaussianDP,
    PrivacyLoss,
    PureDP,
    Renyi,
    convert,
)
from discreet.measures.loss import TooManyLosses

Distribution = dict[int, mpmath.mpf]


pytestmark = pytest.mark.usefixtures("many_digits")


def number(value: Fraction | float | str) -> mpmath.mpf:
    value = Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


def hockey_stick(p: Distribution, q: Distribution, epsilon: Fraction | float) -> mpmath.mpf:
    e = mpmath.exp(number(epsilon))
    return mpmath.fsum(max(mpmath.mpf(0), a - e * q[k]) for k, a in p.items())


def divergence(p: Distribution, q: Distribution, order: float) -> mpmath.mpf:
    a = number(order)
    return max(
        mpmath.log(mpmath.fsum(x[k] ** a * y[k] ** (1 - a) for k in x)) / (a - 1)
        for x, y in ((p, q), (q, p))
    )


@pytest.mark.parametrize(
    ("event", "deltas"),
    [
        (events.Repeat(events.Poisson("0.01", events.Gaussian(1)), 1000), ["1e-5", "1e-8"]),
        (events.Repeat(events.Poisson("0.2", events.Gaussian(4)), 100), ["1e-5", "1e-8"]),
        (events.Repeat(events.DiscreteLaplace(10), 200), ["1e-5", "1e-8"]),
        (
            events.Compose(
                events.Gaussian(4), events.Repeat(events.DiscreteLaplace(20), 50),
                events.Poisson("0.1", events.Gaussian(2)),
            ),
            ["1e-5", "1e-8"],
        ),
    ],
)  # fmt: skip
def test_renyi_and_loss_distributions_agree(event: events.Event, deltas: list[str]) -> None:
    for delta in deltas:
        renyi = convert(curve_of(event, ORDERS), ApproxDP, delta=delta).epsilon
        loss = convert(loss_of(event), ApproxDP, delta=delta).epsilon
        assert loss <= renyi <= loss * Fraction(120, 100)


def exact_repeated_response(epsilon: str, count: int, at: Fraction) -> mpmath.mpf:
    """δ(ε) of `count` independent randomised responses: a binomial sum."""
    e = number(epsilon)
    p = 1 / (1 + mpmath.exp(-e))
    total = mpmath.mpf(0)
    for wrong in range(count + 1):
        loss = (count - 2 * wrong) * e
        if loss > number(at):
            mass = mpmath.binomial(count, wrong) * p ** (count - wrong) * (1 - p) ** wrong
            total += mass * -mpmath.expm1(number(at) - loss)
    return total


@pytest.mark.parametrize(
    ("epsilon", "count"), [("0.1", 100), ("0.01", 500), ("1", 12), ("0.00337", 50)]
)
def test_repeated_response_is_never_understated(epsilon: str, count: int) -> None:
    event = events.Repeat(events.RandomizedResponse(epsilon), count)
    for delta in ("1e-4", "1e-8", "1e-10"):
        target = Fraction(delta)
        renyi = convert(curve_of(event, ORDERS), ApproxDP, delta=delta).epsilon
        loss = convert(loss_of(event), ApproxDP, delta=delta).epsilon
        best = accounting.cost(event, ApproxDP, delta=delta).epsilon
        assert best <= min(renyi, loss)
        for found in (renyi, loss, best):
            assert exact_repeated_response(epsilon, count, Fraction(found)) <= number(target)
        if Fraction(epsilon) * 10**4 % 1 == 0:  # on the grid the distribution is exact
            below = Fraction(best) * Fraction(999, 1000)
            assert exact_repeated_response(epsilon, count, below) > number(target) * Fraction(9, 10)


def exact_gaussian_delta(mu_squared: Fraction, epsilon: Fraction) -> mpmath.mpf:
    mu, e = mpmath.sqrt(number(mu_squared)), number(epsilon)
    return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


@pytest.mark.parametrize(
    ("mu_squared", "count"), [("0.01", 1), ("0.01", 1000), ("1", 3), ("1e-6", 10**4)]
)
def test_rounding_inside_loss_distributions_is_covered(mu_squared: str, count: int) -> None:
    """Fourier transforms lose about 1e-15 of δ, which counts at 1e-10: asked for less, they hold."""
    one = events.Gaussian(1, mu_squared)
    total = accounting.cost(events.Repeat(one, count), PrivacyLoss)
    for delta in ("1e-5", "1e-10"):
        epsilon = Fraction(total.epsilon(delta))
        assert exact_gaussian_delta(Fraction(mu_squared) * count, epsilon) <= mpmath.mpf(delta)
        assert exact_gaussian_delta(Fraction(mu_squared) * count, epsilon) <= total.delta(epsilon)


def test_loss_distributions_at_their_smallest_delta() -> None:
    event = events.Compose(events.Gaussian(2), events.DiscreteLaplace(5))
    for delta in ("1e-11", "1e-100"):
        renyi = convert(curve_of(event, ORDERS), ApproxDP, delta=delta).epsilon
        assert 0 < accounting.cost(event, ApproxDP, delta=delta).epsilon < renyi
    below = accounting.cost(event, ApproxDP, delta="1e-101").epsilon
    assert below == convert(curve_of(event, ORDERS), ApproxDP, delta="1e-101").epsilon


def test_declared_pairs_and_gaussians_add_up_in_loss_distributions() -> None:
    event = events.Compose(
        events.External(ApproxDP("0.5", "1e-7"), "a survey"),
        events.Poisson("0.1", events.Gaussian(2)),
    )
    pair = accounting.cost(event, ApproxDP, delta="1e-6")
    alone = accounting.cost(events.Poisson("0.1", events.Gaussian(2)), ApproxDP, delta="9e-7")
    assert alone.epsilon < pair.epsilon < alone.epsilon + Fraction(1, 2) + Fraction(1, 1000)
    with pytest.raises(NoBound):
        accounting.cost(event, ApproxDP, delta="1e-8")
    assert accounting.delta_at(event, 50) < Fraction(1, 10**6)


def test_what_no_accountant_knows() -> None:
    mixed = events.Compose(events.Gaussian(1), events.External(ZCDP(1), "elsewhere"))
    with pytest.raises(NoBound):
        accounting.cost(mixed, PrivacyLoss)
    assert accounting.cost(mixed, ZCDP) == ZCDP(Fraction(3, 2))
    lost = events.Compose(
        events.Gaussian(20), events.External(ApproxDP(60, Fraction(1, 10**9)), "elsewhere")
    )
    with pytest.raises(NoBound, match=r"\w"):
        accounting.cost(lost, ApproxDP, delta="1e-6")
    assert accounting.delta_at(lost, 70) == 1
    assert not accounting.satisfies(lost, ApproxDP(70, Fraction(1, 10**6)))
    sampled_unknown = events.Poisson("0.5", events.DiscreteGaussian(1))
    for measure in (PureDP, ZCDP, GaussianDP, Renyi, PrivacyLoss):
        with pytest.raises(NoBound):
            accounting.cost(sampled_unknown, measure)


def test_very_wide_losses_are_answered() -> None:
    many = events.Repeat(events.DiscreteLaplace(1), 10**7)
    declared = events.Repeat(events.External(ApproxDP(1, Fraction(1, 10**12)), "n"), 10**5)
    parted = events.Parallel([events.Repeat(events.DiscreteLaplace(s), 10**6) for s in (1, 2)], 2)
    wide = events.Compose(events.Gaussian(Fraction(1, 30)), events.DiscreteLaplace(2))
    for event in (many, declared, parted, wide):
        assert accounting.cost(event, ApproxDP, delta="1e-6").epsilon > 500
    with pytest.raises(TooManyLosses, match="this large"):
        accounting.cost(wide, PrivacyLoss).epsilon("1e-6")


def test_parallel_branches_cost_the_largest_ones() -> None:
    one, two, three = (events.DiscreteLaplace(scale) for scale in ("1", "2", "4"))
    for reach, epsilon in [(1, 1), (2, Fraction(3, 2)), (3, Fraction(7, 4)), (9, Fraction(7, 4))]:
        event = events.Parallel([three, one, two], reach)
        assert accounting.cost(event, PureDP).epsilon == epsilon
        curve = accounting.cost(event, Renyi).curve
        parts = [accounting.cost(part, Renyi).curve for part in (one, two, three)]
        for order, value in curve.items():
            exact = sum(sorted((Fraction(part[order]) for part in parts), reverse=True)[:reach])
            assert exact <= value <= float(exact) * (1 + 1e-14)
    normal = events.Parallel([events.Gaussian(1), events.Gaussian(2)], 2)
    assert accounting.cost(normal, GaussianDP).mu_squared == Fraction(5, 4)
    pairs = [events.External(ApproxDP(e, d), "n") for e, d in [(1, "1e-7"), (2, "1e-8")]]
    assert accounting.cost(events.Parallel(pairs), ApproxDP, delta="1e-7").epsilon == 2
    # one largest order by order may come from different branches
    crossing = events.Parallel(
        [events.External(Renyi({2: 1, 4: 3}), "a"), events.External(Renyi({2: 2, 4: 2}), "b")]
    )
    assert accounting.cost(crossing, Renyi, orders=[2, 4]) == Renyi(
        {2: 2 * (1 + 1e-15), 4: 3 * (1 + 1e-15)}
    )


def test_equal_branches_have_a_loss_distribution() -> None:
    event = events.Poisson("0.1", events.Gaussian(2))
    alone = accounting.cost(event, ApproxDP, delta="1e-6")
    assert accounting.cost(events.Parallel([event] * 50), ApproxDP, delta="1e-6") == alone
    twice = accounting.cost(events.Repeat(event, 2), ApproxDP, delta="1e-6")
    assert accounting.cost(events.Parallel([event] * 50, 2), ApproxDP, delta="1e-6") == twice
    other = events.Poisson("0.1", events.Gaussian(3))
    with pytest.raises(NoBound, match="no largest"):
        accounting.cost(events.Parallel([event, other]), PrivacyLoss)
    assert accounting.cost(events.Parallel([event, other], 2), PrivacyLoss).epsilon("1e-6") > 0


def runs_generating(shape: Fraction, gamma: Fraction, x: mpmath.mpf) -> mpmath.mpf:
    """E[x^K] of the truncated negative binomial (Papernot & Steinke 2022, Definition 1)."""
    eta, g = number(shape), number(gamma)
    if eta == 0:
        return mpmath.log(1 - (1 - g) * x) / mpmath.log(g)
    return ((1 - (1 - g) * x) ** -eta - 1) / (g**-eta - 1)


@pytest.mark.parametrize("shape", ["0", "0.5", "1", "3"])
@pytest.mark.parametrize("gamma", ["0.01", "0.3", "0.99"])
def test_the_best_of_many_runs(shape: str, gamma: str) -> None:
    """The distribution of the best of K ordered outcomes, exactly, for two neighbours."""
    run = events.RandomizedResponse("0.8", 3)
    event = events.RepeatAndSelect(run, shape, gamma)
    keep = mpmath.exp(mpmath.mpf("0.8"))

    def best(value: int) -> Distribution:
        weights = [keep if out == value else mpmath.mpf(1) for out in range(3)]
        below = [mpmath.fsum(weights[:out]) / mpmath.fsum(weights) for out in range(4)]
        chances = [runs_generating(Fraction(shape), Fraction(gamma), x) for x in below]
        return {out: chances[out + 1] - chances[out] for out in range(3)}

    distributions = [best(value) for value in range(3)]
    pure = accounting.cost(event, PureDP).epsilon
    assert pure == (2 + Fraction(shape)) * Fraction("0.8")
    curve = accounting.cost(event, Renyi).curve
    for p in distributions:
        for q in distributions:
            assert max(mpmath.log(p[k] / q[k]) for k in p) <= number(pure)
            for order in (1.1, 1.5, 2.0, 8.0, 64.0):
                assert divergence(p, q, order) <= curve[order]
            epsilon = accounting.cost(event, ApproxDP, delta="1e-3").epsilon
            assert hockey_stick(p, q, epsilon) <= mpmath.mpf("1e-3")
    assert curve[math.inf] <= float(pure) * (1 + 1e-13)


@pytest.mark.parametrize("shape", ["0", "1e-320", "1e-17", "1e-5", "0.5", "1", "7", "1e6"])
@pytest.mark.parametrize(
    "gamma",
    ["1e-350", "1e-30", "0.001", "0.4999", "0.5", "0.9", "0.9999999999999999999", "1-1e-310"],
)
def test_mean_number_of_runs_is_stable_and_rounded_up(shape: str, gamma: str) -> None:
    eta = Fraction(shape)
    g = 1 - Fraction("1e-310") if gamma == "1-1e-310" else Fraction(gamma)
    log_mean, length = log_mean_runs(eta, g)
    with mpmath.workdps(700):
        exact_length = -mpmath.log(number(g))
        if eta == 0:
            mean = (1 - number(g)) / (number(g) * exact_length)
        else:
            mean = (
                number(eta)
                * (1 - number(g))
                / (number(g) * -mpmath.expm1(-number(eta) * exact_length))
            )
        exact = mpmath.log(mean)
        assert log_mean >= exact
        assert log_mean <= exact * (1 + 1e-10) + mpmath.mpf("1e-10")
        assert length >= exact_length


def test_declared_curves_are_read_between_their_orders() -> None:
    event = events.External(Renyi({4: 0.25, 32: 1.5}), "elsewhere")
    curve = accounting.cost(event, Renyi, orders=[2, 4, 8, 64]).curve
    assert list(curve.values()) == [0.25, 0.25, 1.5, math.inf]
    with pytest.raises(NoBound):
        accounting.cost(event, PureDP)
    with pytest.raises(NoBound):
        accounting.cost(event, PrivacyLoss)


def test_assumed_events_cost_what_they_assume() -> None:
    event = events.Assumed(events.Gaussian(2), "real arithmetic")
    assert accounting.cost(event, GaussianDP) == accounting.cost(events.Gaussian(2), GaussianDP)


def test_caches_keep_events_apart() -> None:
    """Equal numbers, different events: a cache that mixed them up would be a privacy bug."""
    first = accounting.cost(events.RandomizedResponse(1, 2), Renyi)
    second = accounting.cost(events.RandomizedResponse(1, 3), Renyi)
    third = accounting.cost(events.Exponential(1), Renyi)
    assert len({first, second, third}) == 3
    sampled_once = accounting.cost(events.Poisson("0.5", events.Gaussian(2)), Renyi)
    assert sampled_once != accounting.cost(events.Gaussian(2), Renyi)
    assert events.Gaussian(2) != events.DiscreteGaussian(2)


@pytest.mark.parametrize(
    ("event", "measure"),
    [
        (events.Gaussian("4.73", 1), ApproxDP(1, Fraction(1, 10**6))),
        (events.Gaussian("1.2", 7), ApproxDP(1, Fraction(1, 10**6))),
        (events.DiscreteLaplace(7, 7), ApproxDP(1, Fraction(1, 10**6))),
        (events.DiscreteLaplace(7, 7), PureDP(1)),
        (events.Gaussian(5), ZCDP(1)),
    ],
)
def test_checking_a_charge_is_fast(event: events.Event, measure: object) -> None:
    accounting.satisfies(event, measure)
    times = []
    for _ in range(50):
        start = time.perf_counter()
        accounting.satisfies(event, measure)
        times.append(time.perf_counter() - start)
    assert sorted(times)[25] < 5e-4


BAD = [
    (lambda: accounting.cost("x", PureDP), TypeError, "event"),
    (lambda: accounting.cost(events.Gaussian(1), float), TypeError, "measure"),
    (lambda: accounting.cost(events.Gaussian(1), ApproxDP), ValueError, "delta"),
    (lambda: accounting.cost(events.Gaussian(1), ApproxDP, delta=2), ValueError, "delta"),
    (lambda: accounting.cost(events.Gaussian(1), Renyi, orders=[1]), ValueError, "orders"),
    (lambda: accounting.cost(events.Gaussian(1), Renyi, orders=[]), ValueError, "orders"),
    (lambda: accounting.cost(events.Gaussian(1), Renyi, orders=5), TypeError, "orders"),
    (lambda: accounting.epsilon_at("x", 0.1), TypeError, "event"),
    (lambda: accounting.epsilon_at(events.Gaussian(1), -1), ValueError, "delta"),
    (lambda: accounting.delta_at("x", 1), TypeError, "event"),
    (lambda: accounting.delta_at(events.Gaussian(1), -1), ValueError, "epsilon"),
    (lambda: accounting.delta_at(events.Gaussian(1), math.inf), ValueError, "epsilon"),
    (lambda: accounting.satisfies("x", PureDP(1)), TypeError, "event"),
    (lambda: accounting.satisfies("x", ApproxDP(1, 0)), TypeError, "event"),
    (lambda: accounting.satisfies(events.Gaussian(1), 1.0), TypeError, "measure"),
    (
        lambda: accounting.satisfies(events.Gaussian(1), accounting.cost(events.Gaussian(1), PrivacyLoss)),
        TypeError, "measure",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_arguments_are_named(case: int) -> None:
    call, error, name = BAD[case]
    with pytest.raises(error, match=name):
        call()

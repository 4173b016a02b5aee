"""Published formulas beside the tightest known ones, and counterexamples to those printed wrongly."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from discreet import accounting, events
from discreet.accounting import published
from discreet.measures import ApproxDP, GaussianDP, PureDP, Renyi
from discreet.measures.convert import gaussian_delta

EPSILONS = (0.01, 0.1, 0.5, 1.0, 3.0)
ORDERS = (1.1, 2.0, 8.0, 64.0)
DELTAS = (1e-2, 1e-5, 1e-9)
ARGUMENTS = {
    "pure DP to Rényi: ε, α": list(itertools.product(EPSILONS, ORDERS)),
    "Rényi to (ε, δ): α, ε, δ": list(itertools.product(ORDERS, EPSILONS, DELTAS)),
    "basic composition: ε, k, δ": list(itertools.product(EPSILONS, (1, 7, 100), DELTAS)),
    "advanced composition: ε, k, δ": list(itertools.product(EPSILONS, (1, 7, 100), DELTAS)),
    "Laplace noise of scale 1/ε, as Rényi: ε, α": list(itertools.product(EPSILONS, ORDERS)),
}


@pytest.mark.parametrize("comparison", published.COMPARISONS, ids=lambda c: c.name)
def test_the_tightest_form_never_exceeds_the_published_one(comparison):
    better = 0
    for arguments in ARGUMENTS[comparison.name]:
        old, new = comparison.published(*arguments), comparison.tightest(*arguments)
        assert new <= old * (1 + 1e-9), arguments
        better += new < 0.99 * old
    assert better > 0  # and is somewhere worth having


@pytest.mark.parametrize("count", [2, 5, 40])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_the_tightest_composition_holds_for_the_worst_mechanism(epsilon, count):
    """Exact δ of repeated randomised response, which is the worst ε-DP mechanism, by summation."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    for delta in (1e-2, 1e-5):
        target = published.best_composition(epsilon, count, delta)
        exact = 0.0
        for lies in range(count + 1):
            ways = math.comb(count, lies)
            here = ways * p ** (count - lies) * (1 - p) ** lies
            there = ways * p**lies * (1 - p) ** (count - lies)
            exact += max(0.0, here - math.exp(target) * there)
        assert exact <= delta * (1 + 1e-9)


@pytest.mark.parametrize("order", ORDERS)
def test_the_curves_of_table_3_2_are_those_of_the_accountant(order):
    for epsilon in (0.1, 1.0, 2.0):
        keep = 1 / (1 + math.exp(-epsilon))
        event = events.RandomizedResponse(epsilon)
        ours = accounting.cost(event, Renyi, orders=[order]).curve[order]
        assert published.response_curve(keep, order) == pytest.approx(ours, rel=1e-9)
    for sigma in (0.7, 3.0):
        ours = accounting.cost(events.Gaussian(sigma), Renyi, orders=[order]).curve[order]
        assert published.gaussian_curve(sigma, order) == pytest.approx(ours, rel=1e-12)
    for scale in (40, 400):  # a fine grid: sensitivity s at scale s·b is Laplace noise of scale b
        event = events.DiscreteLaplace(scale * 2, scale)
        ours = accounting.cost(event, Renyi, orders=[order]).curve[order]
        assert published.laplace_curve(2.0, order) == pytest.approx(ours, rel=0.2 / scale)


@pytest.mark.parametrize(("epsilon", "exact"), [(0.1, 0.044), (0.5, 6.7e-4)])
def test_the_printed_gaussian_scale_lacks_its_epsilon(epsilon, exact):
    """T10: σ = L√(2 log(1.25/δ)) for (0.1, 1e-5) and (0.5, 1e-5)."""
    printed = Fraction(published.gaussian_sigma_as_printed(epsilon, 1e-5))
    found = gaussian_delta(1 / printed**2, Fraction(str(epsilon)))
    assert found == pytest.approx(exact, rel=0.02)
    assert found > 1e-5
    right = printed / Fraction(str(epsilon))
    assert gaussian_delta(1 / right**2, Fraction(str(epsilon))) <= 1e-5


def test_printed_group_privacy_is_false_from_three_doublings_on():
    """T14: Gaussian noise, eightfold sensitivity, order α/2: 32 times the curve, and 27 are claimed."""
    order, sigma = 64.0, 5.0
    one = published.gaussian_curve(sigma, order)
    for c in (1, 2, 3, 4):
        at, claimed = published.renyi_group_as_printed(order, one, c)
        exact = 4**c * published.gaussian_curve(sigma, at)
        assert exact / one == pytest.approx(4**c / 2)
        assert (exact > claimed) == (c >= 3)
        at, claimed = published.renyi_group(order, one, c)
        assert 4**c * published.gaussian_curve(sigma, at) <= claimed
        ours = accounting.group(Renyi({order: one}), 2**c)
        assert ours.curve[at] == pytest.approx(claimed)
    with pytest.raises(ValueError, match="order"):
        published.renyi_group(8.0, one, 3)


def test_stable_maps_under_every_measure():
    """A c-stable map multiplies by c, by 1 + e^ε + ..., by c² for squares (accounting.group)."""
    assert accounting.group(PureDP("1/2"), 3) == PureDP("3/2")
    assert accounting.group(GaussianDP(2), 3) == GaussianDP(18)
    pair = accounting.group(ApproxDP("1/2", "1e-6"), 2)
    assert pair.epsilon == 1
    assert float(pair.delta) == pytest.approx(1e-6 * (1 + math.exp(0.5)))


def test_printed_advanced_composition_says_next_to_nothing():
    """T19: without the ε before the root it holds, and for small ε it exceeds even kε."""
    for epsilon, count, delta in itertools.product(EPSILONS, (1, 10, 1000), DELTAS):
        printed = published.advanced_composition_as_printed(epsilon, count, delta)
        assert printed >= min(
            published.advanced_composition(epsilon, count, delta), epsilon * count
        )
    printed = published.advanced_composition_as_printed(0.01, 1000, 1e-5)
    right = published.advanced_composition(0.01, 1000, 1e-5)
    assert printed > 0.01 * 1000 > 3 * right


def test_composition_of_two_is_two_epsilon():
    """T15: table 3.1 prints 3ε for two ε-DP answers; 2ε holds, and nothing less does."""
    one = events.RandomizedResponse("1/2")
    assert accounting.cost(events.Repeat(one, 2), PureDP) == PureDP(1)
    p = math.exp(0.5) / (1 + math.exp(0.5))
    assert math.log(p**2 / (1 - p) ** 2) == pytest.approx(1.0)

"""Calibration ends on the private side, and a copy that doesn't is caught."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet import accounting, events
from discreet.accounting import calibrate, satisfies
from discreet.measures import ZCDP, ApproxDP, GaussianDP, Measure, PureDP, Renyi
from discreet.measures.gaussian import gaussian_delta
from discreet.measures.loss import identity

PAIR = ApproxDP(1, Fraction(1, 10**6))
FAMILIES = {
    "laplace": (lambda s: events.DiscreteLaplace(s, 3), [PureDP("0.7"), ZCDP("0.01"), PAIR]),
    "gaussian": (
        lambda s: events.Gaussian(s, 7),
        [PAIR, ApproxDP("0.1", "1e-9"), ZCDP("0.3"), GaussianDP(2), Renyi({2: 0.1, 30: 2.0})],
    ),
    "discrete gaussian": (lambda s: events.DiscreteGaussian(s, 7), [PAIR, ZCDP("0.3"), Renyi({8: 0.2})]),
    "exponential": (lambda s: events.Exponential(1 / s), [PureDP("0.7"), ZCDP("0.01"), PAIR]),
    "response": (lambda s: events.RandomizedResponse(1 / s, 4), [PureDP("0.7"), PAIR, Renyi({3: 0.1})]),
    "many": (lambda s: events.Repeat(events.Gaussian(s), 50), [PAIR, ZCDP("0.3")]),
    "branches": (
        lambda s: events.Parallel([events.Gaussian(s), events.Gaussian(2 * s)], 2), [PAIR],
    ),
    "mixed": (
        lambda s: events.Compose(events.DiscreteGaussian(s), events.Gaussian(2 * s)), [PAIR, ZCDP("0.3")],
    ),
}  # fmt: skip
CASES = [(name, target) for name, (_, targets) in FAMILIES.items() for target in targets]


def cost_of(event: events.Event, target: Measure) -> Measure:
    if isinstance(target, ApproxDP):
        return accounting.cost(event, ApproxDP, delta=target.delta)
    if isinstance(target, Renyi):
        return accounting.cost(event, Renyi, orders=target.orders)
    return accounting.cost(event, type(target))


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("tolerance", [1e-9, 0.5])
def test_calibrated_events_cost_at_most_the_target(case: int, tolerance: float) -> None:
    name, target = CASES[case]
    make = FAMILIES[name][0]
    seen: list[Fraction] = []

    def recorded(noise: Fraction) -> events.Event:
        seen.append(noise)
        return make(noise)

    event = calibrate(recorded, target, tolerance=tolerance)
    assert satisfies(event, target)
    assert cost_of(event, target) <= target
    chosen = next(noise for noise in seen if make(noise) == event)
    if tolerance < 0.1:
        assert not satisfies(make(chosen * (1 - 2 * Fraction(tolerance))), target)


@pytest.mark.parametrize(
    ("make", "target", "exact"),
    [
        (lambda s: events.DiscreteLaplace(s, 3), PureDP("0.75"), Fraction(4)),
        (lambda s: events.Gaussian(s, 4), ZCDP(2), Fraction(1)),
        (lambda s: events.Gaussian(s, 9), GaussianDP(Fraction(9, 64)), Fraction(8)),
        (lambda s: events.DiscreteGaussian(s, 4), ZCDP("0.5"), Fraction(2)),
        (lambda s: events.Exponential(1 / s), PureDP("0.125"), Fraction(8)),
        (lambda s: events.RandomizedResponse(1 / s), PureDP(2), Fraction(1, 2)),
    ],
)
def test_targets_are_hit_to_the_last_digit(make, target: Measure, exact: Fraction) -> None:
    assert satisfies(make(exact), target)
    assert cost_of(make(exact), target) == target
    assert not satisfies(make(exact * (1 - Fraction(1, 10**30))), target)
    # the search halves intervals between powers of two, so it meets these exactly
    assert calibrate(make, target) == make(exact)


@pytest.mark.parametrize("epsilon", ["0.1", "0.3", "1", "1.7", "10"])
@pytest.mark.parametrize("delta", ["1e-10", "1e-6", "0.01"])
def test_costs_of_calibrated_gaussians_are_decimals_within_the_target(
    epsilon: str, delta: str
) -> None:
    target = ApproxDP(epsilon, delta)
    event = calibrate(lambda s: events.Gaussian(s), target, tolerance="1e-15")
    found = accounting.cost(event, ApproxDP, delta=delta)
    assert found <= target
    assert found.epsilon >= target.epsilon * (1 - Fraction(1, 10**9))


def two_sided(make, target: ApproxDP, tolerance: float = 1e-6):
    """A calibrator as found elsewhere: it stops when the cost is *near* the target, on either side."""
    low, high = Fraction(1, 100), Fraction(100)
    while True:
        middle = (low + high) / 2
        delta = gaussian_delta(accounting.cost(make(middle), GaussianDP).mu_squared, target.epsilon)
        if abs(delta / target.delta - 1) < tolerance:
            return make(middle)
        low, high = (low, middle) if delta < target.delta else (middle, high)


def test_a_calibrator_that_lands_a_hair_above_the_target_is_caught() -> None:
    caught = 0
    for tenth in range(5, 15):
        target = ApproxDP(Fraction(tenth, 10), Fraction(1, 10**6))
        event = two_sided(events.Gaussian, target)
        caught += not satisfies(event, target)
        assert satisfies(calibrate(events.Gaussian, target), target)
    assert 0 < caught < 10


def test_targets_out_of_reach() -> None:
    with pytest.raises(ValueError, match="target"):
        calibrate(events.Gaussian, PureDP(1))
    with pytest.raises(ValueError, match="target"):
        calibrate(events.Gaussian, ApproxDP(1, 0))
    with pytest.raises(ValueError, match="target"):
        calibrate(events.DiscreteLaplace, PureDP(0))
    with pytest.raises(ValueError, match="nothing to calibrate"):
        calibrate(lambda s: events.Gaussian(s, 0), PAIR)
    with pytest.raises(ValueError, match="nothing to calibrate"):
        calibrate(events.Gaussian, ApproxDP(1, 1))
    with pytest.raises(ValueError, match="nothing to calibrate"):
        calibrate(events.DiscreteLaplace, PureDP(math.inf))


BAD = [
    (lambda: calibrate(events.Gaussian(1), PAIR), TypeError, "make_event"),
    (lambda: calibrate(lambda s: s, PAIR), TypeError, "make_event"),
    (lambda: calibrate(events.Gaussian, 1.0), TypeError, "target"),
    (lambda: calibrate(events.Gaussian, identity()), TypeError, "target"),
    (lambda: calibrate(events.Gaussian, PAIR, tolerance=0), ValueError, "tolerance"),
    (lambda: calibrate(events.Gaussian, PAIR, start=-1), ValueError, "start"),
    (lambda: calibrate(events.Gaussian, PAIR, start="x"), ValueError, "start"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_arguments_are_named(case: int) -> None:
    call, error, name = BAD[case]
    with pytest.raises(error, match=name):
        call()

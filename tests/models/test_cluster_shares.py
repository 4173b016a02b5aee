"""Budgets in parts: together they cost the whole, and not more than is lost by rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import discreet as dp
from discreet import accounting, events
from discreet.coding import Sensitivity
from discreet.measures import ZCDP
from discreet.mechanisms import Gaussian, mechanism_for
from discreet.models.facts import Facts
from discreet.models.scaled import finest
from discreet.models.shares import split, together


def test_pure_shares_add_up_exactly() -> None:
    parts = split(dp.PureDP(0.7), [Fraction(3, 10), "1/3", 2])
    assert sum(part.epsilon for part in parts) == Fraction(7, 10)
    assert parts[2].epsilon == 6 * parts[1].epsilon
    assert split(dp.ApproxDP(0.7, 0), [1, 1]) == (dp.PureDP(0.35), dp.PureDP(0.35))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1, 1e-9), (20, 0.01)])
def test_gaussian_shares_cost_the_whole(epsilon: float, delta: float) -> None:
    target = dp.ApproxDP(epsilon, delta)
    moved = [Sensitivity(3, 5), Sensitivity(700, 70_000), Sensitivity(1, 1)]
    parts = split(target, [1, 2, 5])
    distributions = [
        mechanism_for(part, s).distribution(s) for part, s in zip(parts, moved, strict=True)
    ]
    event = together(
        distribution.event(s) for distribution, s in zip(distributions, moved, strict=True)
    )
    assert accounting.satisfies(event, target)
    assert not accounting.satisfies(event, dp.ApproxDP(epsilon * 0.9999, delta))
    alone = Gaussian(epsilon, delta).distribution(moved[0]).sigma
    assert float(split_sigma(target, moved[0])) == pytest.approx(float(alone), rel=1e-6)


def split_sigma(target: dp.ApproxDP, moved: Sensitivity) -> Fraction:
    """All to one part: as much noise as one answer needs."""
    (part,) = split(target, [4])
    assert isinstance(part, ZCDP)
    return mechanism_for(part, moved).distribution(moved).sigma  # type: ignore[attr-defined, no-any-return]


def test_public_rows_and_wrong_measures() -> None:
    assert split(dp.PureDP(math.inf), [1, 2]) == (dp.PureDP(math.inf),) * 2
    assert split(dp.ApproxDP(math.inf, 1e-6), [1]) == (dp.PureDP(math.inf),)
    with pytest.raises(TypeError, match="measure must be"):
        split(ZCDP(1), [1])


def test_what_costs_nothing_is_left_out() -> None:
    leaf = events.DiscreteLaplace(1, 1)
    assert together([events.Compose(), leaf, events.Compose()]) == events.Compose(leaf)
    assert together([events.Compose()]) == events.Compose()


def test_the_finest_grid_that_leaves_room() -> None:
    for width, epsilon, bits in ((5, "1", 15), (200, "1/1000", 12), (400, "1/10000", 10)):
        schema = dp.Schema({f"x{j}": dp.Real(0, 1) for j in range(width)})
        facts = Facts(schema, dp.Unit(), tuple(schema.base))
        query = finest(facts, dp.PureDP(epsilon), "all")
        assert query.bits == bits
        moved = query.sensitivity(schema, dp.Unit())
        mechanism_for(dp.PureDP(epsilon), moved).distribution(
            moved
        )  # raises where noise does not fit
        finer = Sensitivity(4 * moved.l1, 16 * moved.l2_squared)
        if bits < 15:
            with pytest.raises(ValueError, match="noise of a scale"):
                mechanism_for(dp.PureDP(epsilon), finer).distribution(finer)

"""How far neighbours move what is measured of a histogram, by brute force, beside what is charged for it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.accounting import cost, satisfies
from discreet.events import iter_leaves
from discreet.mechanisms import Gaussian
from discreet.publish.privelet import Bank
from discreet.publish.privelet.building import gaussian_noise

SCHEMA = dp.Schema(n=dp.Integer(0, 4), s=dp.Categorical("a", "b"))
UNITS = {
    "add": dp.Unit(dp.ADD_REMOVE),
    "replace": dp.Unit(dp.REPLACE_ONE),
    "add, persons": dp.Unit(dp.ADD_REMOVE, "id", 3),
    "replace, persons": dp.Unit(dp.REPLACE_ONE, "id", 3),
}
STRATEGIES: list[Any] = ["flat", "tree", "haar", Bank()]


def moves(unit: dp.Unit) -> list[Any]:
    """What one person can add to the counts of five cells, at the corners."""
    cells = np.eye(5, dtype=np.int64) * unit.rows_per_person
    if unit.relation is dp.ADD_REMOVE:
        return list(cells)
    apart = [one - other for one in cells for other in cells]
    return apart + (list(cells) if unit.id_column else [])


def prepare(strategy: Any, unit: dp.Unit, budget: Any) -> Any:
    rows = 20 if unit.length_is_public else None
    return dp.Ranges("n", strategy=strategy).prepare(budget, SCHEMA, unit, rows)


def measured(design: Any, move: Any) -> list[Any]:
    """How far each block of measured integers moves; linear, so the other counts don't matter."""
    counts = np.full(5, 10)
    pairs = zip(design.measure(counts + move), design.measure(counts), strict=True)
    return [(one - other).ravel().astype(object) for one, other in pairs]


@pytest.mark.parametrize("unit", list(UNITS))
@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_laplace_noise_covers_every_move_and_all_of_it_is_charged(strategy: Any, unit: str) -> None:
    prepared = prepare(strategy, UNITS[unit], dp.PureDP(2))
    design = prepared.design
    losses = [
        sum(
            Fraction(int(np.abs(part).sum())) / d.scale
            for part, d in zip(measured(design, move), design.distributions, strict=True)
        )
        for move in moves(UNITS[unit])
    ]
    charged = cost(prepared.event, dp.PureDP).epsilon
    assert max(losses) <= charged <= 2
    assert max(losses) > Fraction(9, 10)  # the bound is no idle one
    drawn = {d.scale for d in design.distributions}
    assert {leaf.scale for leaf in iter_leaves(prepared.event)} == drawn


@pytest.mark.parametrize("unit", list(UNITS))
@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_gaussian_noise_covers_every_move(strategy: Any, unit: str) -> None:
    prepared = prepare(strategy, UNITS[unit], Gaussian(1, "1e-6"))
    design = prepared.design
    losses = [
        sum(
            int((part**2).sum()) / d.sigma**2
            for part, d in zip(measured(design, move), design.distributions, strict=True)
        )
        for move in moves(UNITS[unit])
    ]
    event = prepared.event
    assert satisfies(event, dp.ApproxDP(1, "1e-6"))
    assert max(losses) <= event.sensitivity_squared / event.sigma**2
    assert max(losses) > Fraction(1, 5) * event.sensitivity_squared / event.sigma**2


@pytest.mark.parametrize("squared", [1, 2, 3, 10**6])
def test_gaussian_noise_is_for_the_whole_distance(squared: int) -> None:
    sigma, event = gaussian_noise(Fraction(squared, 4**12), Gaussian(1, "1e-6"))
    assert event.sensitivity_squared == squared
    assert event.sigma == sigma * 2**12
    assert satisfies(event, dp.ApproxDP(1, "1e-6"))
    exact = Gaussian(1, "1e-6").distribution(dp.coding.Sensitivity(squared, squared)).sigma
    assert event.sigma == exact


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_what_is_measured_twice_is_noised_twice(strategy: Any) -> None:
    design = prepare(strategy, UNITS["add"], dp.PureDP(1)).design
    counts = np.full(5, 1000)
    assert (design.run(counts) != design.run(counts)).any()
    many = np.array([design.run(counts) for _ in range(400)])
    expected = math.sqrt(float(design.variances([np.array([0])], [np.array([1])])[0]))
    assert many[:, 0].std() == pytest.approx(expected, rel=0.25)


def test_too_many_rows_are_refused_before_anything_is_measured() -> None:
    unit = UNITS["replace"]
    with pytest.raises(ValueError, match="rows"):
        dp.Ranges("n").prepare(dp.PureDP(1), SCHEMA, unit, 2**62)


@pytest.mark.parametrize("unit", list(UNITS))
@pytest.mark.parametrize("budget", [dp.PureDP(math.inf), dp.ZCDP(math.inf)], ids=repr)
def test_no_noise_is_refused_on_private_rows(unit: str, budget: Any) -> None:
    with pytest.raises(ValueError, match="PUBLIC"):
        prepare("flat", UNITS[unit], budget)

"""Attacks on linear models find no more than is claimed, and catch weakened copies."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.audit.registry import Case, run_attack
from discreet.guarantees import all_attacks, claim
from discreet.guarantees.linear_model import attacks as regression
from discreet.mechanisms import Laplace
from discreet.models.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    SimpleLinearRegression,
)
from discreet.queries import NormalEquations

NAMES = (
    "linear-regression",
    "minimised-regression",
    "noisy-stats",
    "functional-logistic-regression",
    "theil-sen",
)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_exceeds_the_claim(name: str) -> None:
    assert claim(name).status == "proved"
    results = list(run_attack(all_attacks()[name], effort=0.5))
    assert results
    assert all(not result.is_violated for result in results), results


@pytest.mark.parametrize("unit", regression.UNITS, ids=str)
@pytest.mark.parametrize(
    ("query", "measure"),
    [
        (NormalEquations(["x", "z"], "y"), dp.ApproxDP(2, "1/100")),
        (NormalEquations(["x"], "y", square=False), dp.PureDP(1)),
        (NormalEquations(["x", "z"], by="c"), dp.ApproxDP(2, "1/100")),
    ],
    ids=repr,
)
def test_noise_for_too_small_a_sensitivity_is_caught(query: Any, measure: Any, unit: Any) -> None:
    """As if every sum had its own budget: the sensitivity of a part of the vector."""
    weak = regression.on_equations(query, measure, unit, share=Fraction(1, 3))
    assert weak.run(0.99).is_violated
    assert not regression.on_equations(query, measure, unit).run(0.99).is_violated


def test_one_draw_for_all_sums_is_caught() -> None:
    """Differences of two sums then carry no noise at all."""
    query, unit = NormalEquations(["x"], "y", square=False), regression.UNITS[0]
    distribution = Laplace(1).distribution(query.sensitivity(regression.SCHEMA, unit))

    def shared(rows: Any, trials: int) -> Any:
        totals = regression.totals(query, rows, unit)
        return totals + distribution.run(np.zeros((trials, 1), np.int64))

    def apart(rows: Any, trials: int) -> Any:
        return distribution.run(np.tile(regression.totals(query, rows, unit), (trials, 1)))

    pair = regression.table(), regression.table((-1.0, 0.0, 2.0, "b"))
    assert Case("shared", shared, pair, 1.0, 4000).run(0.99).is_violated
    assert not Case("apart", apart, pair, 1.0, 4000).run(0.99).is_violated


@pytest.mark.parametrize("rounds", [2, 3])
def test_theil_sen_that_forgets_its_matchings_is_caught(rounds: int) -> None:
    assert regression.replaced_rows(2.0, rounds, 2).is_violated
    found = regression.replaced_rows(2.0, rounds, 2 * rounds)
    assert not found.is_violated
    assert found.floor > 1.6  # the attack is a good one


@pytest.mark.parametrize("unit", regression.UNITS, ids=str)
@pytest.mark.parametrize(("zero", "width"), [(0.0, 1.0), (-0.6, 0.2), (0.9, 2.0)])
def test_half_the_noise_on_the_objective_of_a_line_is_seen(
    zero: float, width: float, unit: Any
) -> None:
    assert regression.centred_density(unit, zero, width, weaken=0.5).is_violated
    honest = regression.centred_density(unit, zero, width)
    assert not honest.is_violated
    assert honest.floor > 0.75 * honest.claimed


def first_and_last(buckets: Any) -> Any:
    """Whoever came first and last into a bucket are a pair, even beside others: a row exchanges a pair."""
    inside = [np.flatnonzero(np.array(buckets) == bucket) for bucket in sorted(set(buckets))]
    pairs = [rows[[0, -1]] for rows in inside if len(rows) > 1]
    return tuple(np.array(pairs, np.int64).reshape(-1, 2).T)


def test_buckets_in_which_an_added_row_exchanges_a_pair_are_caught() -> None:
    assert regression.added_rows(2.0, 1, first_and_last).is_violated
    found = regression.added_rows(2.0, 1)
    assert not found.is_violated
    assert found.floor > 1.6


def test_a_level_that_a_replaced_row_moves_once_is_caught() -> None:
    replaced = regression.UNITS[1]
    assert regression.moved_levels(2.0, replaced, 1).is_violated
    found = regression.moved_levels(2.0, replaced, 2)
    assert not found.is_violated
    assert found.floor > 1.6


def test_estimators_name_these_claims() -> None:
    x, y = np.zeros((3, 1)), np.zeros(3)
    options: dict[str, Any] = {"bounds": (0, 1), "target_bounds": (0, 1)}
    made = (
        LinearRegression(**options),
        Ridge(**options),
        Ridge(method="objective", **options),
        SimpleLinearRegression(**options),
        SimpleLinearRegression(method="theil_sen", **options),
        LogisticRegression(method="functional", bounds=(0, 1), classes=[0, 1]),
    )
    assert {name for model in made for name in model.fit(x, y).privacy_.claims} == set(NAMES)

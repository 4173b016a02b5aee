"""What half of the noise of drawn marginals shows, computed: why guests attack at a δ."""

from __future__ import annotations

import math
from itertools import combinations, permutations, product

import numpy as np
import numpy.typing as npt
import pytest
from door_subjects import A_OR_B, FEW_EXPECTED, MARGINAL_RUNS, SCHEMA, UNITS, release_of
from exact_quartiles import hockey_stick, standard_errors

import discreet as dp
from discreet import testing

QUERY = next(query for query in testing.SEVERAL if isinstance(query, dp.queries.FarMarginals))
LETTERS = ("?", "a", "b")

Counts = npt.NDArray[np.int64]


def counts_of(rows: list[tuple[float, int, str]]) -> Counts:
    """How many rows there are below and above the cut of x, by letter."""
    found = np.zeros((2, 3), np.int64)
    for x, _, letter in rows:
        found[int(x >= 1), LETTERS.index(letter)] += 1
    return found


def draw_odds(counts: Counts, rate: float) -> npt.NDArray[np.float64]:
    """The probability of each order of two of the three marginals, drawn one after the other."""
    assert QUERY.expected is not None
    margins = (counts.ravel(), counts.sum(axis=0), counts.sum(axis=1))
    scores = [
        np.abs(seen - expected).sum()
        for seen, expected in zip(margins, QUERY.expected, strict=True)
    ]
    weights = np.exp(rate * (np.array(scores) - max(scores)))
    whole = weights.sum()
    return np.array(
        [
            weights[first] / whole * weights[second] / (whole - weights[first])
            for first, second in permutations(range(3), 2)
        ]
    )


def neighbours(counts: Counts, unit: dp.Unit) -> list[tuple[Counts, Counts]]:
    """Tables in which one person, with all rows alike, is or isn't; or is another."""
    mine = [counts + unit.rows_per_person * cell for cell in np.eye(6, dtype=int).reshape(6, 2, 3)]
    if unit.relation is dp.REPLACE_ONE:
        return list(combinations(mine, 2))
    return [(counts, one) for one in mine]


def odds_of(pair: tuple[Counts, Counts], unit_name: str, noise: str, less: int) -> list:
    """Both distributions where noise is that many times less than it should be."""
    event = release_of(QUERY, unit_name, noise).event()
    assert isinstance(event, dp.events.Repeat)
    moved = QUERY.sensitivity(SCHEMA, UNITS[unit_name]).l1
    rate = less * float(event.event.epsilon) / (2 * moved)
    return [draw_odds(side, rate) for side in pair]


@pytest.mark.parametrize(("unit", "noise"), [*product(UNITS, ["Laplace", "Gaussian"])])
def test_drawn_marginals_keep_every_claim_on_small_tables(unit, noise):
    claims = release_of(QUERY, unit, noise).claims()
    for low, a, b, other in product((0, 3), (0, 3, 6, 8), (0, 3, 6, 8), (0, 2)):
        counts = np.array([[0, low, 0], [other, a, b]])
        for pair in neighbours(counts, UNITS[unit]):
            odds = odds_of(pair, unit, noise, 1)
            assert all(hockey_stick(*odds, epsilon) <= delta + 1e-9 for epsilon, delta in claims)


@pytest.mark.parametrize(("unit", "noise"), [*product(UNITS, ["Laplace", "Gaussian"])])
def test_half_of_the_noise_of_drawn_marginals_breaks_a_claim_by_likely_events(unit, noise):
    """On the tables that guests visit; at δ = 0 the same noise shows less, or keeps the claim."""
    who, claims = UNITS[unit], release_of(QUERY, unit, noise).claims()
    tables = [counts_of([*FEW_EXPECTED, *[row] * who.rows_per_person]) for row in A_OR_B]
    pairs = [tuple(tables)]
    if who.relation is dp.ADD_REMOVE:
        pairs = [(counts_of(FEW_EXPECTED), one) for one in tables]
    beyond = [
        max(
            standard_errors(*odds_of(pair, unit, noise, 2), epsilon, delta)
            for epsilon, delta in claims
            if bool(delta) is at_a_delta
        )
        for pair in pairs
        for at_a_delta in (False, True)
    ]
    assert max(beyond[1::2]) * math.sqrt(MARGINAL_RUNS) > 4
    assert max(beyond[1::2]) > max(beyond[::2])

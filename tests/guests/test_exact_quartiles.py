"""What half of the noise shows, computed: why guests attack where they do, and why a control is weaker."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from door_subjects import (
    ENDS,
    JOINT_DELTAS,
    JOINT_RUNS,
    LESS_NOISE,
    QUARTERS,
    SPARSE,
    UNITS,
    release_of,
    subject_for,
)
from exact_quartiles import hockey_stick, largest_loss, quartile_odds, standard_errors
from scipy.stats import chisquare

import discreet as dp
from discreet import accounting, events, testing

QUARTILES = next(
    query for query in testing.QUERIES if repr(query).startswith("Quantile('y', q=[1/4")
)
NESTED = next(query for query in testing.SEVERAL if repr(query).startswith("Best("))
#: All tables of a column of five values with at most four rows.
SMALL = [rows for rows in product(range(5), repeat=5) if sum(rows) <= 4]


def claims_for(epsilon: float) -> list[tuple[float, float]]:
    """What is claimed of both levels together, at ε and at the δ that guests look at."""
    both = events.Repeat(events.Exponential(Fraction(epsilon) / 2), 2)
    known = [(float(accounting.epsilon_at(both, d).epsilon), d) for d in JOINT_DELTAS]
    return [(epsilon, 0.0), *known]


def rate_of(epsilon: float, moved: int) -> float:
    """What scores are multiplied with: half of ε for each level, over twice the sensitivity."""
    return epsilon / 2 / (2 * moved)


def put(rows: tuple[int, ...], *cells: int) -> tuple[int, ...]:
    return tuple(count + cells.count(at) for at, count in enumerate(rows))


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_no_small_table_of_quartiles_has_a_loss_above_the_claim(epsilon):
    """A row more, a row replaced within a group, and one that leaves a group for another."""
    losses = []
    for rows in SMALL:
        here = [put(rows, cell) for cell in range(5)]
        alone, less = rate_of(epsilon, 1), rate_of(epsilon, 2)
        pairs = [(quartile_odds(rows, alone), quartile_odds(one, alone)) for one in here]
        pairs += [
            (quartile_odds(a, less), quartile_odds(b, less)) for a, b in combinations(here, 2)
        ]
        losses += [largest_loss(*pair) for pair in pairs]
        for pair, (at, delta) in product(pairs, claims_for(epsilon)):
            assert hockey_stick(*pair, at) <= delta + 1e-9
        across = [largest_loss(quartile_odds(rows, less), quartile_odds(one, less)) for one in here]
        assert 2 * max(across) <= epsilon
    assert 0.8 * epsilon < max(losses) <= epsilon  # nearly filled; less noise would break it
    quartile_odds.cache_clear()


@pytest.mark.parametrize(("unit", "noise"), [*product(UNITS, ["Laplace", "Gaussian"])])
def test_half_of_the_noise_of_quartiles_breaks_a_claim_by_likely_events(unit, noise):
    """The pair that guests visit: likely events speak against the curve at a δ, rare ones at δ = 0."""
    subject, who = subject_for(QUARTILES, unit, noise), UNITS[unit]
    replaced = who.relation is dp.REPLACE_ONE
    quarters = QUARTERS[who.relation, who.rows_per_person]
    crowd = [quarters.get(y, 0) for y in range(int(SPARSE.base["y"].upper) + 1)]
    low, high = ([end] * who.rows_per_person for end in ENDS)
    tables = put(tuple(crowd), *low), put(tuple(crowd), *(high if replaced else []))
    epsilon, seen = subject.claims[0][0], []
    moved = who.rows_per_person * (2 if replaced else 1)
    for epsilon_at, delta in subject.claims:
        honest, half = (
            tuple(quartile_odds(rows, times * rate_of(epsilon, moved)) for rows in tables)
            for times in (1, 2)
        )
        assert hockey_stick(*honest, epsilon_at) <= delta
        seen.append(standard_errors(*half, epsilon_at, delta))
    assert subject.share == Fraction(1, 2)
    assert max(seen[1:]) > 0.12
    assert seen[0] < max(seen) / 3
    assert max(seen) * math.sqrt(JOINT_RUNS[who.relation]) > 5


def test_the_exact_odds_of_quartiles_are_those_of_the_toolkit():
    rows = (1, 3, 0, 1, 2)
    cells = {"y": np.repeat(np.arange(5.0), rows)}
    ledger = dp.Ledger(limit=dp.PureDP(10_000))
    data = dp.PrivateDataset(cells, dp.Schema(y=dp.Integer(0, 4)), ledger=ledger)
    quartiles, runs = dp.Quantile("y", ["1/4", "1/2", "3/4"]), 1000
    drawn = np.zeros((5, 5, 5))
    for _ in range(runs):
        drawn[tuple(data.release(quartiles, dp.PureDP(3)).value.astype(int))] += 1

    def p_value(rate: float) -> float:
        odds = quartile_odds(rows, rate, 32)
        often = runs * odds >= 8
        counts = [np.append(each[often], each[~often].sum()) for each in (drawn, runs * odds)]
        return float(chisquare(*counts).pvalue)

    assert p_value(rate_of(3.0, 1)) > 1e-3
    assert p_value(2 * rate_of(3.0, 1)) < 1e-6


def odds_of_the_second(lead: int, rate: float, flips: bool) -> float:
    """The chance of the smaller of two scores, by permute-and-flip or by the exponential mechanism."""
    return math.exp(-rate * lead) / 2 if flips else 1 / (1 + math.exp(rate * lead))


@pytest.mark.parametrize(("noise", "flips"), [("Laplace", True), ("Gaussian", False)])
@pytest.mark.parametrize("unit", ["replace a row", "replace a person"])
def test_nested_counts_keep_their_claim_with_half_of_the_noise_and_not_with_a_third(
    noise, flips, unit
):
    """Whoever counts in the second counts in the first: the lead moves by half of what may be."""
    leads = {int(x > 0) - int(x > 1) for x in np.linspace(-1, 3, 41)}
    assert leads == {0, 1}
    rows = UNITS[unit].rows_per_person
    [(epsilon, _)] = release_of(NESTED, unit, noise).claims()
    losses = {}
    for less in (2, 3):
        rate = less * epsilon / (2 * rows)
        chances = [odds_of_the_second(lead, rate, flips) for lead in range(60)]
        first = [1 - chance for chance in chances]
        losses[less] = [
            max(abs(math.log(side[at] / side[at + rows])) for side in (chances, first))
            for at in range(20)
        ]
    assert max(losses[2]) <= epsilon + 1e-9
    assert losses[3][0] > 1.1 * epsilon
    share, _ = LESS_NOISE[repr(NESTED), unit, noise]
    assert share == Fraction(1, 3)


def odds_of_a_third(rows: tuple[int, ...], rate: float) -> np.ndarray:
    """One draw of the quantile 1/3: a row below counts 2, a row above -1, rows at a value for either side."""
    here = np.array(rows)
    below = np.cumsum(here) - here
    above = sum(rows) - below - here
    short = np.maximum(2 * below - above - here, above - 2 * (below + here))
    weights = np.exp(-rate * np.maximum(short, 0))
    return np.asarray(weights / weights.sum())


def test_a_quantile_estimate_of_few_rows_keeps_its_claim_with_half_of_the_noise():
    """One draw of three is told, three tenths of the price; an eighth of the noise breaks the claim."""
    query = next(query for query in testing.QUERIES if repr(query).startswith("QuantileEstimate"))
    released = release_of(query, "add or remove a row", "Laplace")
    claims = [
        (float(accounting.epsilon_at(released.event(), delta).epsilon), delta)
        for delta in (0.02, 0.1, 0.2, 0.3)
    ]
    claims += released.claims()
    beyond = {}
    for less in (2, 8):
        rate = less * 0.3 * 2 / (2 * 2)  # of ε = 2, with a sensitivity of 2
        pairs = [
            [odds_of_a_third(one, rate) for one in (rows, put(rows, cell))]
            for rows, cell in product(SMALL, range(5))
        ]
        beyond[less] = max(
            hockey_stick(*pair, epsilon) - delta
            for pair, (epsilon, delta) in product(pairs, claims)
        )
    assert beyond[2] <= 0 < 0.1 < beyond[8]
    assert LESS_NOISE[repr(query), "add or remove a row", "Laplace"][0] == Fraction(1, 8)

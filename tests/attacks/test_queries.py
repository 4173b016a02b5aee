"""Attacks through the door's own code: coded sums, sensitivity and noise together."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet import noise, testing
from discreet.audit import TwoOutcomes, epsilon_floor
from discreet.engines import open_engine
from discreet.mechanisms import Exponential, Laplace, LaplaceLaw
from discreet.queries import Additive

SCHEMA = dp.Schema(x=dp.Real(-1, 3), y=dp.Integer(0, 4), c=dp.Categorical("a", "b"))
EPSILON = 1.0

#: The rows that stand for "anything": corners of the bounds, both categories, and an unknown one.
CORNERS = [(x, y, c) for x in (-1.0, 3.0) for y in (0, 4) for c in ("a", "b", "?")]


def table(rows):
    x, y, c = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    return {"x": np.array(x, float), "y": np.array(y, np.int64), "c": np.array(c, object)}


def neighbours(relation):
    """Pairs of small tables that differ in one person."""
    common = [(0.5, 1, "a"), (1.0, 2, "b"), (0.0, 3, "a")]
    for row in CORNERS:
        if relation is dp.ADD_REMOVE:
            yield common, [*common, row]
        else:
            for other in CORNERS:
                if row != other:
                    yield [*common, row], [*common, other]


def farthest(query, relation):
    """The pair of neighbours whose exact integers are farthest apart, and these integers."""
    unit, found = dp.Unit(relation), (-1, None, None)
    coded = query.coded(SCHEMA, unit)
    for pair in neighbours(relation):
        a, b = (open_engine(table(rows), SCHEMA, unit).totals(coded) for rows in pair)
        distance = int(abs(a - b).sum())
        if distance > found[0]:
            found = distance, a, b
    return found


def laplace_floor(a, b, law, trials=200_000):
    """A likelihood-ratio attack on vectors with this noise; `law` may be weaker than it says."""
    differ = np.flatnonzero((a != b).ravel())
    a, b = a.ravel()[differ], b.ravel()[differ]

    def scores(centre):
        drawn = law.run(np.tile(centre, (trials, 1)))
        gap = abs(drawn - b).astype(float) - abs(drawn - a).astype(float)
        return gap.sum(axis=1)

    here, there = scores(a), scores(b)
    top = float(abs(a - b).sum())
    at = top * 0.98  # near the largest possible ratio
    counts = TwoOutcomes(int((here >= at).sum()), trials, int((there >= at).sum()), trials)
    return epsilon_floor(counts)


ADDITIVE = [query for query in testing.QUERIES if isinstance(query, Additive)]


@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=str)
@pytest.mark.parametrize("query", ADDITIVE, ids=repr)
def test_an_attack_on_the_door_finds_no_more_than_was_charged(query, relation):
    sensitivity = query.sensitivity(SCHEMA, dp.Unit(relation))
    distance, a, b = farthest(query, relation)
    assert distance <= sensitivity.l1
    if sensitivity.l1 == 0:
        assert distance == 0
        return
    law = Laplace(EPSILON).law(sensitivity)
    assert isinstance(law, LaplaceLaw)
    with testing.fixed_noise(3):
        floor = laplace_floor(a, b, law)
        # a copy that believes in a third of the sensitivity
        weak = laplace_floor(a, b, LaplaceLaw(law.scale / 3))
    assert floor <= EPSILON
    if distance > 0.6 * sensitivity.l1:
        assert weak > EPSILON


def quantile_floor(query, relation, believed=1):
    """An attack on exact draws; the mechanism believes in `believed` times the sensitivity."""
    unit, trials = dp.Unit(relation), 100_000
    half = trials // 2
    (q,), last = query.q, SCHEMA.code("y").high
    epsilon = Exponential(dp.PureDP(EPSILON)).epsilon()
    factor = epsilon / (2 * query.rank_sensitivity(q, SCHEMA, unit) * Fraction(believed))
    common = [(0.0, 1, "a")] * 3 + [(0.0, 3, "a")] * 3
    best = 0.0
    for row, other in [((0.0, 4, "a"), (0.0, 0, "a")), ((0.0, 0, "a"), (0.0, 4, "a"))]:
        pair = (common, [*common, row])
        if relation is dp.REPLACE_ONE:
            pair = ([*common, other], [*common, row])
        draws = []
        for rows in pair:
            tally = open_engine(table(rows), SCHEMA, unit).tally(query.coded(SCHEMA, unit))
            first, length, score = query.scores(tally.codes, tally.counts, q, last)
            drawn = noise.select(score, factor, length, size=trials)
            draws.append(first[drawn] + noise.uniform_below(10**6, trials) % length[drawn])
        for a, b in (draws, draws[::-1]):

            def floor(members, part, a=a, b=b):
                hits = [int(np.isin(side[part], members).sum()) for side in (a, b)]
                return epsilon_floor(TwoOutcomes(hits[0], half, hits[1], half), confidence=0.999)

            events = [list(range(t)) for t in range(1, last + 1)]
            chosen = max(events, key=lambda members: floor(members, slice(half)))
            best = max(best, floor(chosen, slice(half, None)))
    return best


@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=str)
@pytest.mark.parametrize("query", [dp.Median("y"), dp.Quantile("y", "1/4", by="c")], ids=repr)
def test_an_attack_on_quantiles_finds_no_more_than_was_charged(query, relation):
    with testing.fixed_noise(5):
        assert quantile_floor(query, relation) <= EPSILON
        assert quantile_floor(query, relation, believed=Fraction(1, 10)) > EPSILON

"""Intervals for populations cover what they say in many samples: every kind of answer, unit and noise.

Samples are drawn, added up and noised by the door's own noise, many at once, and go through the code behind
``release.interval``. A share of the samples runs always, all 10 000 of each case with the slow tests:
``make intervals`` runs those and prints a table of what each kind covered.
"""

from __future__ import annotations

import numpy as np
import pytest
from interval_cases import (
    ALL_RUNS,
    BAR,
    FEW_ONES,
    FIGURES,
    GAUSSIAN,
    POPULATIONS,
    PURE,
    SCHEMA,
    SIMULATED,
    UNITS,
    add_noise,
    add_up,
    coverage,
    fails_by_chance,
    find_bar,
    find_intervals,
    find_noise_on_statistic,
    intervals,
    is_large,
    one_row_more,
    samples,
    sizes,
    totals_of,
)
from test_interval_limits import LEAST

import discreet as dp
from discreet.comparison import compare_groups
from discreet.engines import open_engine
from discreet.queries import Interval, MeanEstimate, ShareEstimate, SumEstimate
from discreet.queries.population import share_interval


@pytest.fixture(scope="module", autouse=True)
def figures():
    """A table of what was covered, behind the last test."""
    yield
    print(f"\n{FIGURES.show()}")  # noqa: T201 - pytest -s


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", POPULATIONS)
@SIMULATED
def test_means_are_covered_and_no_more_than_needed(name, unit, runs):
    truth = POPULATIONS[name][1]
    (neighbours, is_public), seen = UNITS[unit], {}
    for rows, measure in sizes(runs):
        for chance_rows in (False,) if is_public else (False, True):
            totals, public = totals_of(name, rows, runs, chance_rows), rows if is_public else None
            found = find_intervals(MeanEstimate("x"), measure, totals, neighbours, public)
            seen[rows, measure, chance_rows] = FIGURES.add(
                "means, number public" if is_public else "means, number unknown",
                runs, coverage(found, truth), rows, measure, name, unit, is_bounded=is_large(rows, measure),
            )  # fmt: skip
    where = min(seen, key=seen.__getitem__)
    least = seen[where]
    shown = [f"{name}, {unit}, {runs} samples: at least {least:.4f} {where}; n·ε >= 50:"]
    for (rows, measure, _), share in seen.items():
        if is_large(rows, measure):
            bar = find_bar(name, rows, measure, neighbours, rows if is_public else None)
            shown.append(f"{rows} rows, {measure!r} {share:.4f} <= {bar}")
            assert share <= bar + fails_by_chance(runs), (rows, measure, share)
    print("\n  ".join(shown))  # noqa: T201 - pytest -s
    assert least >= LEAST - fails_by_chance(runs), where


@SIMULATED
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("name", ["leaning", "close", "narrow", "constant"])
def test_means_are_covered_at_other_levels(name, level, runs):
    truth = POPULATIONS[name][1]
    for rows, measure in ((50, PURE), (50, dp.PureDP(5)), (100, dp.PureDP(10)), (100, dp.ZCDP(5))):
        totals = totals_of(name, rows, runs, False)
        found = find_intervals(MeanEstimate("x"), measure, totals, level=level)
        chance = 3 * np.sqrt(level * (1 - level) / runs)
        assert coverage(found, truth) >= level - 0.2 * (1 - level) - chance, (rows, measure)


@SIMULATED
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("chance", [0.5, 0.1, 0.02])
def test_proportions_are_covered_and_no_more_than_needed(chance, unit, runs):
    draw, (neighbours, is_public) = np.random.default_rng(7), UNITS[unit]
    samples = runs if runs < ALL_RUNS else 4 * runs  # cheap, and many cases are close to the bar
    for rows, measure in sizes(runs):
        ones = draw.binomial(rows, chance, samples)
        totals = np.stack([rows - ones, 0 * ones, ones], axis=1)
        public = rows if is_public else None
        found = find_intervals(MeanEstimate("b"), measure, totals, neighbours, public)
        share = FIGURES.add(
            "proportions, number public" if is_public else "proportions, number unknown",
            samples, coverage(found, chance), rows, measure, chance, unit, is_bounded=is_large(rows, measure),
        )  # fmt: skip
        assert share >= LEAST - fails_by_chance(runs), (rows, measure)
        if is_large(rows, measure):
            noise = find_noise_on_statistic(measure, neighbours, public)(chance)
            variance = rows * chance * (1 - chance) + noise
            bar = 1.0 if variance < FEW_ONES else one_row_more(variance)
            assert share <= bar + fails_by_chance(runs), (rows, measure, bar)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", POPULATIONS)
@SIMULATED
def test_sums_are_covered_as_expected_totals(name, unit, runs):
    mean = POPULATIONS[name][1]
    neighbours, is_public = UNITS[unit]
    for rows, measure in sizes(runs):
        totals, public = totals_of(name, rows, runs, not is_public), rows if is_public else None
        found = find_intervals(SumEstimate("x"), measure, totals, neighbours, public)
        # the code of a value is 2^-15 coarse, so many equal values are off by a part of that
        near = np.array([rows * mean, rows * (mean + 2**-15)])
        inside = (found.lower <= near[1]) & (near[0] <= found.upper)
        kind = "sums, number public" if is_public else "sums, number unknown"
        share = FIGURES.add(kind, runs, np.mean(inside), rows, measure, name, unit)
        assert share >= LEAST - fails_by_chance(runs), (rows, measure)


@SIMULATED
def test_sums_of_values_of_both_signs_are_covered(runs):
    draw = np.random.default_rng(9)
    for rows, measure in sizes(runs):
        values, there = samples(
            draw, lambda d, s: d.integers(-3, 6, s).astype(float), rows, runs, chance_rows=True
        )
        found = intervals(SumEstimate("w"), measure, values, there)
        share = coverage(found, rows * 1.0)
        FIGURES.add("sums, number unknown", runs, share, rows, measure, "both signs")
        assert share >= LEAST - fails_by_chance(runs), (rows, measure)


@SIMULATED
@pytest.mark.parametrize("query", [MeanEstimate("x"), SumEstimate("x")], ids=repr)
def test_a_public_number_of_rows_makes_intervals_shorter(query, runs):
    draw, rows, unit = np.random.default_rng(10), 60, dp.Unit(dp.REPLACE_ONE)
    values, there = samples(draw, POPULATIONS["leaning"][0], rows, runs)
    known = intervals(query, PURE, values, there, unit, rows)
    unknown = intervals(query, PURE, values, there, unit)
    assert np.mean(known.upper - known.lower) < np.mean(unknown.upper - unknown.lower)


@SIMULATED
@pytest.mark.parametrize("query", [MeanEstimate("x"), SumEstimate("x")], ids=repr)
@pytest.mark.parametrize("persons", [3, 20, 200])
def test_sampling_error_is_per_person(persons, query, runs):
    """Four equal rows of each person say no more than one: taken as rows, they are overconfident."""
    unit = dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=4)
    draw, is_sum = np.random.default_rng(11), isinstance(query, SumEstimate)
    values, there = samples(draw, POPULATIONS["even"][0], persons, runs, is_sum, copies=4)
    truth = 2 * persons if is_sum else 0.5
    for measure in (dp.PureDP(4), dp.PureDP(40), dp.ZCDP(2)):
        share = coverage(intervals(query, measure, values, there, unit), truth)
        FIGURES.add("persons", runs, share, persons, measure, query, "equal rows")
        assert share >= LEAST - fails_by_chance(runs), measure
    if persons == 200:
        wrong = intervals(query, dp.PureDP(4), values, there)
        assert coverage(wrong, truth) < 0.8


@SIMULATED
def test_persons_with_unlike_numbers_of_rows_are_covered(runs):
    """The mean of all rows of a population whose persons have one to four rows, unlike in their values."""
    unit = dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=4)
    draw = np.random.default_rng(15)
    for persons in (10, 50, 300):
        values, there = samples(draw, POPULATIONS["leaning"][0], persons, runs, copies=4)
        own = draw.integers(1, 5, (runs, persons))
        there &= np.tile(np.arange(4), persons) < np.repeat(own, 4, axis=1)
        for measure in (dp.PureDP(4), dp.ZCDP(2)):
            share = coverage(intervals(MeanEstimate("x"), measure, values, there, unit), 2 / 7)
            FIGURES.add("persons", runs, share, persons, measure, "unlike rows")
            assert share >= LEAST - fails_by_chance(runs), (persons, measure)


@SIMULATED
@pytest.mark.parametrize("persons", [3, 20, 200])
def test_proportions_of_persons_are_covered(persons, runs):
    """Four equal rows of each person move a number of ones by four."""
    unit, draw = dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=4), np.random.default_rng(18)
    for chance in (0.5, 0.1):
        ones = draw.binomial(persons, chance, runs)
        totals = 4 * np.stack([persons - ones, 0 * ones, ones], axis=1)
        for measure in (dp.PureDP(4), dp.PureDP(40), dp.ZCDP(2)):
            share = coverage(find_intervals(MeanEstimate("b"), measure, totals, unit), chance)
            FIGURES.add("persons", runs, share, persons, measure, "proportion", chance)
            assert share >= LEAST - fails_by_chance(runs), (chance, measure)


@SIMULATED
@pytest.mark.parametrize("rows", [5, 50, 1000])
@pytest.mark.parametrize("measure", [PURE, dp.PureDP(10), GAUSSIAN], ids=repr)
def test_shares_and_their_differences_are_covered(measure, rows, runs):
    draw, truth = np.random.default_rng(12), np.array([0.7, 0.25, 0.05])
    counts = draw.multinomial(rows, truth, runs)
    noised, shape = add_noise(ShareEstimate(by="g"), measure, counts, dp.Unit())
    variance = float(shape.deviations[0]) ** 2
    low, high = share_interval(noised, variance, 0.95, shape.is_laplace)
    covered = ((low <= truth) & (truth <= high)).mean(axis=0)
    for share, own in zip(covered, truth, strict=True):
        FIGURES.add("shares", runs, share, rows, measure, own)
    assert covered.min() >= LEAST - fails_by_chance(runs), covered
    values = np.clip(noised / np.maximum(noised.sum(axis=1, keepdims=True), 1), 0, 1)
    hits = 0
    for value, lower, upper in zip(values, low, high, strict=True):
        whole = Interval(lower, upper, 0.95, "")
        found = compare_groups(list("abc"), value, whole, "a", "b", is_disjoint=False)
        hits += found.lower <= 0.45 <= found.upper
    FIGURES.add("differences", runs, hits / runs, rows, measure, "shares")
    assert hits / runs >= LEAST - fails_by_chance(runs)


def count_hits(query, sides, truth):
    """How many differences of two groups are covered; a side has noised totals and their noise."""
    found = [
        (query.estimate(noised, SCHEMA), query.confidence(noised, shape, SCHEMA, dp.Unit())(0.95),
         query.grain(noised, SCHEMA) + np.zeros(len(noised)))
        for noised, shape in sides
    ]  # fmt: skip
    hits = 0
    for at in range(len(sides[0][0])):
        value, grain = [side[0][at] for side in found], np.array([side[2][at] for side in found])
        lower, upper = ([getattr(side[1], end)[at] for side in found] for end in ("lower", "upper"))
        whole = Interval(np.array(lower), np.array(upper), 0.95, "")
        between = compare_groups(["a", "b"], value, whole, "a", "b", True, grain)
        hits += between.lower <= truth <= between.upper
    return hits


@SIMULATED
@pytest.mark.parametrize("second", ["even", "skewed", "narrow"])
@pytest.mark.parametrize("measure", [PURE, dp.PureDP(10), GAUSSIAN], ids=repr)
def test_differences_of_means_are_covered(measure, second, runs):
    """Of a group of 80 rows and one of 20 or 200."""
    query, draw = MeanEstimate("x"), np.random.default_rng(13)
    for few in (20, 200):
        sides = []
        for name, rows in (("leaning", 80), (second, few)):
            totals = add_up(query, *samples(draw, POPULATIONS[name][0], rows, runs))
            sides.append(add_noise(query, measure, totals, dp.Unit()))
        hits = count_hits(query, sides, POPULATIONS["leaning"][1] - POPULATIONS[second][1])
        FIGURES.add("differences", runs, hits / runs, few, measure, "means", second)
        assert hits / runs >= LEAST - fails_by_chance(runs), few
        if second == "even" and few == 200 and measure == PURE:
            assert hits / runs <= BAR + fails_by_chance(runs)


@SIMULATED
@pytest.mark.parametrize("measure", [PURE, dp.PureDP(10), GAUSSIAN], ids=repr)
def test_differences_of_proportions_are_covered(measure, runs):
    """Of a group of 80 rows and one of 20 or 80, with one proportion and with two."""
    query, draw = MeanEstimate("b"), np.random.default_rng(19)
    for few, chances in ((20, (0.5, 0.5)), (20, (0.3, 0.1)), (80, (0.5, 0.5)), (80, (0.3, 0.1))):
        sides = []
        for rows, chance in zip((80, few), chances, strict=True):
            ones = draw.binomial(rows, chance, runs)
            totals = np.stack([rows - ones, 0 * ones, ones], axis=1)
            sides.append(add_noise(query, measure, totals, dp.Unit()))
        share = count_hits(query, sides, chances[0] - chances[1]) / runs
        FIGURES.add("differences", runs, share, few, measure, "proportions", *chances)
        assert share >= LEAST - fails_by_chance(runs), (few, chances)


#: How many samples are groups of one release.
SAMPLES = 250
QUANTILES = {
    "integers": (
        dp.Integer(0, 99),
        lambda d, size: d.integers(0, 100, size),
        {"1/2": (49, 50), "3/4": (74, 75)},
    ),
    "reals": (
        dp.Real(0, 100),
        lambda d, size: d.exponential(10, size),
        {"1/2": (6.931, 6.932), "1/10": (1.0536, 1.0537)},
    ),
}


@pytest.mark.parametrize("runs", [150, pytest.param(ALL_RUNS, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("kind", "q"), [(kind, q) for kind in QUANTILES for q in QUANTILES[kind][2]]
)
@pytest.mark.parametrize("measure", [dp.PureDP(2), dp.ZCDP("1/2")], ids=repr)
def test_quantiles_are_covered_in_values(kind, q, measure, runs):
    """Through the engine and the draws themselves: each group of a release is a sample, n unknown.

    Every second group has 400 rows, the others have 10.
    """
    column, values, truths = QUANTILES[kind]
    truth, pairs = truths[q], min(runs, SAMPLES)
    schema = dp.Schema(age=column, g=dp.Categorical(*range(2 * pairs)))
    draw, query = np.random.default_rng(14), dp.Estimate(dp.Quantile("age", q, by="g"))
    prepared = query.prepare(measure, schema, dp.Unit(), None)
    groups = np.repeat(np.arange(2 * pairs), [400, 10] * pairs)
    hits = np.zeros(2)
    for _ in range(runs // pairs):
        rows = {"age": values(draw, len(groups)), "g": groups}
        found = prepared.answer(open_engine(rows, schema, dp.Unit())).sampling.interval(0.95)
        is_hit = (found.lower <= truth[1]) & (found.upper >= truth[0])
        hits += is_hit.reshape(-1, 2).sum(axis=0)
    for share, rows in zip(hits / runs, (400, 10), strict=True):
        FIGURES.add("quantiles", runs, share, rows, measure, kind, q)
    assert min(hits) / runs >= LEAST - fails_by_chance(runs)


@pytest.mark.parametrize("runs", [150, pytest.param(ALL_RUNS, marks=pytest.mark.slow)])
def test_quantiles_of_persons_are_covered_in_values(runs):
    """Three equal rows of each person say no more about a population than one; a group is a sample."""
    many, unit = min(runs, SAMPLES), dp.Unit(id_column="who", max_rows=3)
    schema = dp.Schema(age=dp.Integer(0, 99), g=dp.Categorical(*range(many)))
    prepared = dp.Estimate(dp.Median("age", by="g")).prepare(dp.PureDP(3), schema, unit, None)
    draw, hits, who = np.random.default_rng(17), 0, np.repeat(np.arange(150 * many), 3)
    for _ in range(runs // many):
        age = np.repeat(draw.integers(0, 100, 150 * many), 3)
        rows = {"age": age, "who": who, "g": who // 150}
        found = prepared.answer(open_engine(rows, schema, unit)).sampling.interval(0.95)
        hits += np.sum((found.lower <= 50) & (found.upper >= 49))
    FIGURES.add("quantiles of persons", runs, hits / runs, 150, "three rows each")
    assert hits / runs >= LEAST - fails_by_chance(runs)


@pytest.mark.parametrize("runs", [150, pytest.param(ALL_RUNS, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("rows", "measure"), [(300, dp.PureDP(2)), (40, dp.PureDP(4)), (300, dp.ZCDP("1/2"))], ids=repr
)
def test_means_between_bought_bounds_are_covered(rows, measure, runs):
    """The interval is about the values clamped to the bounds that were bought, which its `about` names."""
    schema = dp.Schema(cost=dp.Real(0, 10_000))
    draw, query = np.random.default_rng(16), dp.Tighten(dp.Estimate(dp.Mean("cost")))
    prepared, hits = query.prepare(measure, schema, dp.Unit(), None), 0
    for _ in range(runs):
        sample = {"cost": draw.exponential(20, rows)}
        found = prepared.answer(open_engine(sample, schema, dp.Unit())).sampling.interval(0.95)
        upper = float(found.about.rsplit(" to ", 1)[1])
        hits += found.lower <= 20 * (1 - np.exp(-upper / 20)) <= found.upper
    FIGURES.add("bought bounds", runs, hits / runs, rows, measure)
    assert hits / runs >= LEAST - fails_by_chance(runs)

"""Intervals for populations cover what they say, in many samples, through the code that users call."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dp
from discreet.engines import open_engine
from discreet.mechanisms import LaplaceDistribution
from discreet.queries import MeanEstimate, ShareEstimate, SumEstimate
from discreet.queries.additive import NoiseShape

SCHEMA = dp.Schema(
    x=dp.Real(0, 1), b=dp.Integer(0, 1), w=dp.Integer(-3, 5), g=dp.Categorical(*"abc")
)
PURE, GAUSSIAN = dp.PureDP(1), dp.ZCDP("1/10")
#: Distributions on [0, 1] with their means.
POPULATIONS = {
    "even": (lambda draw, size: draw.uniform(0, 1, size), 0.5),
    "leaning": (lambda draw, size: draw.beta(2, 5, size), 2 / 7),
    "two ends": (lambda draw, size: draw.beta(0.5, 0.5, size), 0.5),
    "skewed": (lambda draw, size: draw.exponential(0.1, size).clip(0, 1), 0.1 * (1 - np.exp(-10))),
    "narrow": (lambda draw, size: draw.normal(0.3, 0.02, size).clip(0, 1), 0.3),
    "constant": (lambda draw, size: np.full(size, 0.2), 0.2),
}
#: What tells 0.94 from less: three deviations of a share in this many simulations.
CI_RUNS, ALL_RUNS = 1500, 10_000
SIMULATED = pytest.mark.parametrize(
    "runs", [CI_RUNS, pytest.param(ALL_RUNS, marks=pytest.mark.slow)]
)


def tolerance(runs):
    """Three deviations of a share of covered runs."""
    return 3 * np.sqrt(0.95 * 0.05 / runs)


def sizes(runs):
    """Rows and budgets: small groups, more noise than data, and tables where both errors count."""
    some = [(3, PURE), (10, dp.PureDP(10)), (30, GAUSSIAN), (50, PURE), (500, dp.PureDP("1/10"))]
    if runs < ALL_RUNS:
        return some
    budgets = (dp.PureDP("1/10"), PURE, dp.PureDP(10), GAUSSIAN)
    return [(rows, measure) for rows in (3, 10, 30, 50, 100, 500) for measure in budgets]


def samples(draw, population, rows, runs, chance_rows=False, copies=1):
    """`runs` samples, each row of persons repeated `copies` times; a mask says which rows are there."""
    counts = draw.poisson(rows, runs) if chance_rows else np.full(runs, rows)
    persons = max(1, int(counts.max()))
    values = np.repeat(population(draw, (runs, persons)), copies, axis=1)
    there = np.repeat(np.arange(persons) < counts[:, None], copies, axis=1)
    return values, there


def intervals(query, measure, values, there, unit=None, rows=None, level=0.95):
    """The intervals of many samples at once, from the noise, the query and the code of the door."""
    unit = unit or dp.Unit()
    prepared = query.prepare(measure, SCHEMA, unit, rows)
    column = SCHEMA[query.column]
    steps = query._steps(SCHEMA)
    share = (values - float(column.lower)) / column.width
    codes = np.floor(share * steps + 1e-9).astype(np.int64)
    parts = ((steps - codes) ** 2, 2 * codes * (steps - codes), codes**2)
    totals = np.stack([(part * there).sum(axis=1) for part in parts], axis=1)
    noise = prepared._distribution
    shape = NoiseShape(prepared._deviations(), isinstance(noise, LaplaceDistribution), rows)
    return query.confidence(noise.run(totals).astype(float), shape, SCHEMA, unit)(level)


def coverage(found, truth):
    return float(np.mean((found.lower <= truth) & (truth <= found.upper)))


@SIMULATED
@pytest.mark.parametrize("name", POPULATIONS)
def test_means_are_covered_and_no_more_than_needed(name, runs):
    population, truth = POPULATIONS[name]
    draw, seen = np.random.default_rng(6), {}
    for rows, measure in sizes(runs):
        for chance_rows in (False, True):
            values, there = samples(draw, population, rows, runs, chance_rows)
            found = intervals(MeanEstimate("x"), measure, values, there)
            seen[rows, measure, chance_rows] = coverage(found, truth)
    assert min(seen.values()) >= 0.94 - tolerance(runs), seen
    # a column of almost no spread, or with fewer than ten rows, is covered more often: it must be
    wide = {at: share for at, share in seen.items() if at[0] >= 10 and is_large(*at[:2])}
    if name in ("even", "leaning", "two ends"):
        assert max(wide.values()) <= 0.97 + tolerance(runs), wide


def is_large(rows, measure):
    return rows * float(getattr(measure, "epsilon", 0)) >= 50


@SIMULATED
@pytest.mark.parametrize("chance", [0.5, 0.1, 0.02])
def test_proportions_are_covered(chance, runs):
    draw = np.random.default_rng(7)
    for rows, measure in sizes(runs):
        values, there = samples(draw, lambda d, s: d.random(s) < chance, rows, runs)
        found = intervals(MeanEstimate("b"), measure, values.astype(float), there)
        assert coverage(found, chance) >= 0.94 - tolerance(runs)


@SIMULATED
@pytest.mark.parametrize("name", POPULATIONS)
def test_sums_are_covered_as_expected_totals(name, runs):
    population, mean = POPULATIONS[name]
    draw = np.random.default_rng(8)
    for rows, measure in sizes(runs):
        values, there = samples(draw, population, rows, runs, chance_rows=True)
        found = intervals(SumEstimate("x"), measure, values, there)
        assert coverage(found, rows * mean) >= 0.94 - (
            tolerance(runs) if runs < ALL_RUNS else 0.005
        )


@SIMULATED
def test_sums_of_values_of_both_signs_are_covered(runs):
    draw = np.random.default_rng(9)
    for rows, measure in sizes(runs):
        values, there = samples(
            draw, lambda d, s: d.integers(-3, 6, s).astype(float), rows, runs, chance_rows=True
        )
        found = intervals(SumEstimate("w"), measure, values, there)
        assert coverage(found, rows * 1.0) >= 0.94 - tolerance(runs)


@SIMULATED
@pytest.mark.parametrize("query", [MeanEstimate("x"), SumEstimate("x")], ids=repr)
def test_a_public_number_of_rows_makes_intervals_shorter(query, runs):
    draw, rows, unit = np.random.default_rng(10), 60, dp.Unit(dp.REPLACE_ONE)
    values, there = samples(draw, POPULATIONS["leaning"][0], rows, runs)
    truth = 2 / 7 * (rows if isinstance(query, SumEstimate) else 1)
    known = intervals(query, PURE, values, there, unit, rows)
    unknown = intervals(query, PURE, values, there, unit)
    assert coverage(known, truth) >= 0.94 - tolerance(runs)
    assert np.mean(known.upper - known.lower) < np.mean(unknown.upper - unknown.lower)


@SIMULATED
def test_sampling_error_is_per_person(runs):
    """Four equal rows of each person say no more than one: taken as rows, they are overconfident."""
    unit = dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=4)
    draw = np.random.default_rng(11)
    values, there = samples(draw, POPULATIONS["even"][0], 200, runs, copies=4)
    right = intervals(MeanEstimate("x"), dp.PureDP(4), values, there, unit)
    wrong = intervals(MeanEstimate("x"), dp.PureDP(4), values, there)
    assert coverage(right, 0.5) >= 0.94 - tolerance(runs)
    assert coverage(wrong, 0.5) < 0.8


@SIMULATED
def test_shares_and_differences_of_groups_are_covered(runs):
    draw, truth = np.random.default_rng(12), np.array([0.7, 0.25, 0.05])
    query, few = ShareEstimate(by="g"), runs // 10
    for rows, measure in sizes(CI_RUNS):
        prepared = query.prepare(measure, SCHEMA, dp.Unit(), None)
        covered, differences = np.zeros(3), 0
        for _ in range(few):
            counts = draw.multinomial(rows, truth)[:, None]
            answer = prepared.finish(prepared._distribution.run(counts))
            found = answer.sampling.interval(0.95)
            covered += (found.lower <= truth) & (truth <= found.upper)
            release = dp.Release.from_answer(query, prepared, answer, None, True, dp.Unit())
            shown = release.compare("a", "b")
            differences += shown.lower <= 0.45 <= shown.upper
        assert min(covered) / (few) >= 0.94 - tolerance(few)
        assert differences / (few) >= 0.94 - tolerance(few)


@SIMULATED
def test_differences_of_means_are_covered(runs):
    draw, query = np.random.default_rng(13), MeanEstimate("x", by="g")
    runs //= 3
    prepared = query.prepare(PURE, SCHEMA, dp.Unit(), None)
    steps, hits = query._steps(SCHEMA), 0
    for _ in range(runs):
        groups = [draw.uniform(0, 1, 80), draw.beta(2, 5, 200), draw.uniform(0, 1, 2)]
        codes = [np.floor(group * steps).astype(np.int64) for group in groups]
        totals = [
            [((steps - k) ** 2).sum(), (2 * k * (steps - k)).sum(), (k**2).sum()] for k in codes
        ]
        answer = prepared.finish(prepared._distribution.run(np.array(totals)))
        release = dp.Release.from_answer(query, prepared, answer, None, True, dp.Unit())
        found = release.compare("a", "b")
        hits += found.lower <= 0.5 - 2 / 7 <= found.upper
    assert hits / runs >= 0.94 - tolerance(runs)
    assert hits / runs <= 0.97 + tolerance(runs)


def test_quantiles_are_covered_in_values():
    """Through the engine and the draws themselves: groups of unlike size, n unknown."""
    runs = 150
    schema = dp.Schema(age=dp.Integer(0, 99), g=dp.Categorical("a", "b"))
    draw, query = np.random.default_rng(14), dp.Estimate(dp.Quantile("age", "3/4", by="g"))
    prepared = query.prepare(dp.PureDP(2), schema, dp.Unit(), None)
    hits = np.zeros(2)
    for _ in range(runs):
        rows = {"age": draw.integers(0, 100, 1010), "g": np.repeat(["a", "b"], [1000, 10])}
        found = prepared.answer(open_engine(rows, schema, dp.Unit())).sampling.interval(0.95)
        hits += (found.lower <= 74) & (found.upper >= 74)
        assert found.upper[0] - found.lower[0] < 25  # of 100: it says something
    assert min(hits) / runs >= 0.94 - tolerance(runs)


def door(unit=None, n=4000, limit=None):
    draw = np.random.default_rng(3)
    rows = {
        "x": draw.uniform(0, 1, n),
        "b": draw.integers(0, 2, n),
        "w": draw.integers(-3, 6, n),
        "g": draw.choice(list("abc"), n),
        "who": np.arange(n).astype(str),
    }
    ledger = dp.Ledger(limit=limit or dp.ApproxDP(100, "1/100"), unit=unit)
    return dp.PrivateDataset(rows, SCHEMA, ledger=ledger)


@pytest.mark.parametrize(
    "asked",
    [dp.Mean("x"), dp.Mean("w", by="g"), dp.Sum("w"), dp.Count(by="g"), dp.Median("x", by="g")],
    ids=repr,
)
@pytest.mark.parametrize("measure", [PURE, dp.ApproxDP(1, "1/1000000"), GAUSSIAN], ids=repr)
def test_what_an_interval_needs_is_charged_with_the_answer(asked, measure):
    data = door(limit=measure)  # which is all that there is
    release = data.release(dp.Estimate(asked), measure)
    found = release.interval(0.95)
    assert np.all(found.lower <= release.value)
    assert np.all(release.value <= found.upper)
    assert len(data.ledger.entries()) == 2
    with pytest.raises(dp.BudgetExceeded):
        data.release(dp.Estimate(asked), measure)
    if asked.by:
        compared = release.compare("a", "c")
        assert compared.lower <= compared.difference <= compared.upper


def test_a_quantile_estimate_is_charged_as_a_count_and_three_draws():
    event = door().plan(dp.Estimate(dp.Median("x", by="g")), PURE).event
    count = dp.events.DiscreteLaplace(10, 1)
    draws = dp.events.Repeat(dp.events.Exponential("3/10"), 3)
    assert event == dp.events.Compose(count, draws)
    assert dp.accounting.cost(event, dp.PureDP) == PURE


def test_sums_say_which_population_they_are_about():
    about = door().release(dp.Estimate(dp.Sum("x")), PURE).interval().about
    assert "not the sum over a whole population" in about
    assert "their number included" in about


def test_a_plain_answer_says_how_to_ask_for_an_interval():
    release = door().release(dp.Mean("x"), PURE)
    with pytest.raises(ValueError, match=r"dp\.Estimate"):
        release.interval()
    with pytest.raises(ValueError, match=r"dp\.Estimate"):
        release.compare("a", "b")


def test_bad_calls_are_named():
    with pytest.raises(TypeError, match="Mean"):
        dp.Estimate(dp.Variance("x"))
    with pytest.raises(ValueError, match="by must name"):
        dp.Estimate(dp.Count())
    median = door().release(dp.Estimate(dp.Median("x")), PURE)
    with pytest.raises(ValueError, match=r"level=0\.99"):
        median.interval(0.99)
    with pytest.raises(ValueError, match="only grouped"):
        median.compare("a", "b")
    means = door().release(dp.Estimate(dp.Mean("x", by="g")), PURE)
    with pytest.raises(ValueError, match="no group is called 'z'"):
        means.compare("a", "z")
    with pytest.raises(ValueError, match="two different"):
        means.compare("a", "a")
    with pytest.raises(ValueError, match="level"):
        means.interval(1)


def test_a_level_of_more_is_wider():
    release = door().release(dp.Estimate(dp.Mean("x")), PURE)
    narrow, wide = release.interval(0.5), release.interval(0.999)
    assert wide.lower < narrow.lower < release.value < narrow.upper < wide.upper


def test_an_empty_group_has_the_whole_range_unless_noise_fills_it():
    schema = dp.Schema(x=dp.Real(2, 6), g=dp.Categorical("a", "b"))
    rows = {"x": np.full(500, 3.0), "g": np.full(500, "a")}
    data = dp.PrivateDataset(rows, schema, ledger=dp.Ledger(limit=dp.PureDP(1000)))
    for query in (dp.Mean("x", by="g"), dp.Median("x", by="g")):
        with dp.testing.fixed_noise(20):
            found = [data.release(dp.Estimate(query), PURE).interval() for _ in range(40)]
        assert sum((each.lower[1], each.upper[1]) == (2, 6) for each in found) >= 25
        assert sum(each.lower[0] <= 3 <= each.upper[0] for each in found) >= 34

"""Answers about populations: what intervals need is charged, and they say what they are about."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dp

SCHEMA = dp.Schema(
    x=dp.Real(0, 1), b=dp.Integer(0, 1), w=dp.Integer(-3, 5), g=dp.Categorical(*"abc")
)
PURE, GAUSSIAN = dp.PureDP(1), dp.ZCDP("1/10")


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

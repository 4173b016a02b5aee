"""Means between bounds that are bought first: what is charged and gained, which bounds come out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.queries.tightened import choose_bounds, find_edges

DRAW = np.random.default_rng(3)
COSTS = DRAW.gamma(2, 200, 4000)


def open_costs(column: object = None, rows: object = COSTS, **options: object) -> dp.PrivateDataset:
    ledger = dp.Ledger(limit=dp.PureDP(10_000), **options)
    schema = dp.Schema(cost=column or dp.Real(0, 1_000_000))
    return dp.PrivateDataset({"cost": rows}, schema, ledger=ledger)


def test_bounds_a_thousand_times_too_wide_cost_little() -> None:
    data = open_costs()
    errors = {
        query: np.mean(
            [abs(data.release(query, dp.PureDP("1/2")).value - COSTS.mean()) for _ in range(15)]
        )
        for query in (dp.Tighten(dp.Mean("cost")), dp.Mean("cost"))
    }
    tight, plain = errors.values()
    assert tight < plain / 20  # medians 0.9 and 343; one in twenty keeps wide bounds
    assert tight < 6


def test_the_question_is_one_charge_of_two_parts() -> None:
    data = open_costs()
    released = data.release(dp.Tighten(dp.Mean("cost"), "1/10"), dp.PureDP(1))
    first, second = released.event.events
    assert dp.accounting.cost(first, dp.PureDP) == dp.PureDP("1/10")
    assert dp.accounting.cost(second, dp.PureDP) == dp.PureDP("9/10")
    assert len(list(data.ledger.entries())) == 2  # its opening, and this
    assert released.measure == dp.PureDP(1)
    for measure in (dp.ApproxDP(1, 1e-6), dp.ZCDP("1/10")):
        assert dp.accounting.satisfies(
            data.plan(dp.Tighten(dp.Mean("cost")), measure).event, measure
        )


def test_the_release_tells_what_was_clamped_and_what_intervals_are_about() -> None:
    released = open_costs().release(dp.Tighten(dp.Estimate(dp.Mean("cost"))), dp.PureDP(1))
    assert "values were clamped to 0 to" in released.note
    assert "bought with a share of 1/4" in released.note
    assert "at the very most" in released.note
    assert released.note in repr(released)
    assert "of values clamped to" in released.interval(0.95).about
    low, high = released.interval(0.95)[:2]
    assert low < COSTS.mean() + 20
    assert high > COSTS.mean() - 20
    assert high - low < 60
    again = dp.Release.from_json(released.to_json())
    assert again.note == released.note


def test_rows_far_out_that_stand_out_of_the_noise_keep_their_bounds() -> None:
    rows = np.concatenate([COSTS, np.full(400, 900_000.0), np.full(400, -700_000.0)])
    data = open_costs(dp.Real(-1_000_000, 1_000_000), rows)
    released = data.release(dp.Tighten(dp.Mean("cost")), dp.PureDP(1))
    assert "values were clamped to -1e+06 to 1e+06" in released.note
    assert abs(released.value - rows.mean()) < 6000


def test_bounds_are_the_closest_beyond_which_counts_are_noise() -> None:
    edges = [-8.0, -4.0, -2.0, 0.0, 1.0, 2.0, 4.0]
    found = choose_bounds(np.array([3, -2, 50, 90, 40, 4]), edges, 0.0, 2.0)
    assert found[:2] == (-2.0, 2.0)
    assert found.outside == 5.0
    assert found.at_most > found.outside
    empty = choose_bounds(np.zeros(6, np.int64), edges, 0.0, 2.0)
    assert empty[:2] == (0.0, 1.0)  # never of no width
    full = choose_bounds(np.full(6, 100), edges, 0.0, 2.0)
    assert full == (-8.0, 4.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "column",
    [dp.Real(0, 10), dp.Real(-3, 1e9), dp.Real(-5, -1), dp.Integer(0, 3), dp.Integer(-7, 90)],
)
def test_edges_run_from_bound_to_bound(column: object) -> None:
    schema = dp.Schema(x=column)
    edges = find_edges(schema, "x")
    assert edges[0] == column.lower
    assert edges[-1] == column.upper
    assert edges == sorted(set(edges))
    data = dp.PrivateDataset(
        {"x": np.full(900, column.upper)}, schema, ledger=dp.Ledger(limit=dp.PureDP(99))
    )
    for asked in (dp.Mean("x"), dp.Variance("x"), dp.Moments("x")):
        released = data.release(dp.Tighten(asked), dp.PureDP(20))
        found = getattr(released.value, "mean", released.value)
        wanted = 0 if isinstance(asked, dp.Variance) else column.upper
        assert np.allclose(
            found, wanted, atol=0.02 * column.width * (column.width if wanted == 0 else 1)
        )


def test_missing_cells_count_as_they_do_in_the_column() -> None:
    rows = np.where(np.arange(4000) % 2, np.nan, COSTS)
    data = open_costs(dp.Real(0, 1_000_000, fill=100), rows)
    found = data.release(dp.Tighten(dp.Mean("cost")), dp.PureDP(5)).value
    assert abs(found - (COSTS[::2].sum() + 2000 * 100) / 4000) < 5


def test_groups_persons_and_conditions_are_asked_as_ever() -> None:
    ledger = dp.Ledger(limit=dp.PureDP(99), unit=dp.Unit(id_column="who", max_rows=2))
    rows = {"cost": COSTS, "ward": np.tile(["A", "B"], 2000), "who": np.arange(4000) // 4}
    schema = dp.Schema(cost=dp.Real(0, 1e6), ward=dp.Categorical("A", "B"))
    data = dp.PrivateDataset(rows, schema, ledger=ledger)
    asked = dp.Tighten(dp.Mean("cost", by="ward", where="cost >= 100"))
    found = data.release(asked, dp.PureDP(8))
    assert found.labels == ["A", "B"]
    assert (np.abs(found.value - COSTS[COSTS >= 100].mean()) < 60).all()
    few = data.release(dp.Tighten(dp.Mean("cost").per_person(1)), dp.PureDP(8))
    assert "at most 1 row of each person" in few.note
    assert "values were clamped" in few.note


def test_public_rows_and_wrong_questions() -> None:
    public = dp.PrivateDataset({"cost": COSTS}, dp.Schema(cost=dp.Real(0, 1e6)), unit=dp.PUBLIC)
    found = public.release(dp.Tighten(dp.Mean("cost")), dp.PureDP(np.inf)).value
    assert abs(found - COSTS.mean()) < 0.01
    data = open_costs()
    before = len(list(data.ledger.entries()))
    with pytest.raises(TypeError, match=r"query must be dp\.Mean"):
        dp.Tighten(dp.Sum("cost"))
    with pytest.raises(TypeError, match=r"query must be dp\.Mean"):
        dp.Tighten(dp.Moments("a", "b"))
    with pytest.raises(ValueError, match="share must be greater than 0"):
        dp.Tighten(dp.Mean("cost"), 1)
    with pytest.raises(TypeError, match=r"must be dp\.PureDP"):
        data.release(dp.Tighten(dp.Mean("cost")), dp.mechanisms.Laplace(1))
    with pytest.raises(ValueError, match="infinite"):
        data.release(dp.Tighten(dp.Mean("cost")), dp.PureDP(np.inf))
    days = dp.Schema(day=dp.Date("2024-01-01", "2024-12-31"))
    with pytest.raises(ValueError, match=r"must be dp\.Real"):
        dp.Tighten(dp.Mean("day")).prepare(dp.PureDP(1), days, dp.Unit(), None)
    assert len(list(data.ledger.entries())) == before


def test_descriptions_and_one_liners_buy_bounds_when_told() -> None:
    data = open_costs()
    told = data.describe(dp.PureDP(1), tighten=True)
    assert abs(told.numbers["cost"]["mean"].value - COSTS.mean()) < 30
    assert told.numbers["cost"]["deviation"].value < 1000
    answer = dp.mean(COSTS, bounds=(0, 1_000_000), epsilon=1, tighten=True)
    assert abs(answer.value - COSTS.mean()) < 10
    assert "values were clamped" in answer.note


def test_the_share_is_a_fraction_and_shown() -> None:
    asked = dp.Tighten(dp.Mean("cost"), 0.1)
    assert asked.share == Fraction(1, 10)
    assert repr(asked) == "Tighten(Mean('cost'), share=1/10)"

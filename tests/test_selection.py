"""A plan for the best of several runs: each run can do what was paid, once, and no more."""

from __future__ import annotations

import os
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.stats import chisquare

import discreet as dp
from discreet import events, testing
from discreet.coding import MIX_PRIME, Between, Part
from discreet.engines.arrays import Arrays
from discreet.schema import order_codes
from discreet.selection import Selection
from small_tables import draw_table

SCHEMA = dp.Schema(x=dp.Real(0, 10), c=dp.Categorical("a", "b"))
COLUMNS = {"x": (0, 10), "c": ["a", "b"]}
COUNT = events.DiscreteLaplace(2, 1)
HALF = dp.PureDP("1/2")
SPLIT = Between(Part(order_codes(SCHEMA), 16), 0, 3)


def plan_of(*settings, weights=None, split=None, shape="1", gamma="1/3"):
    return Selection(
        settings, weights or (1,) * len(settings), Fraction(shape), Fraction(gamma), split
    )


def dataset(limit=100, unit=dp.ADD_REMOVE, rows=None):
    ledger = dp.Ledger(limit=dp.PureDP(limit), unit=dp.Unit(unit) if rows is None else unit)
    return dp.PrivateDataset(rows or draw_table(300, **COLUMNS), SCHEMA, ledger=ledger)


def select(data, plan, run):
    with data.prepaid(plan.event(data.unit)) as door:
        return door.select(plan, run)


def counted(at, views):
    (view,) = views
    value = view.release(dp.Count(), HALF).value
    return float(value), value


def test_one_charge_whatever_the_number_of_runs():
    data, plan = dataset(), plan_of((COUNT,), gamma="1/20")
    seen = []

    def run(at, views):
        seen.append(counted(at, views)[1])
        return float(seen[-1]), seen[-1]

    with testing.fixed_noise(2):
        score, best = select(data, plan, run)
    assert len(seen) > 3
    assert score == best == max(seen)
    charges = [entry for entry in data.ledger.entries() if entry.kind == "charge"]
    assert [entry.event for entry in charges] == [plan.event(data.unit)]
    assert charges[0].booked == dp.PureDP("3/2")  # (2 + 1)·ε


def test_a_selection_that_nobody_can_pay_begins_no_run():
    data, begun = dataset(limit=1), []

    def run(at, views):
        begun.append(at)
        return counted(at, views)

    with pytest.raises(dp.BudgetExceeded):
        data.select(plan_of((COUNT,)), run)  # 3/2
    assert not begun


def test_another_selection_than_the_paid_one_reads_nothing(monkeypatch):
    data = dataset()
    monkeypatch.setattr(Arrays, "totals", lambda *_: pytest.fail("a row was read"))
    dearer = plan_of((events.DiscreteLaplace(1, 1),))
    with data.prepaid(plan_of((COUNT,)).event(data.unit)) as door:
        with pytest.raises(ValueError, match="not the plan that was paid"):
            door.select(dearer, counted)
        with pytest.raises(ValueError, match="closed"):
            door.select(plan_of((COUNT,)), counted)


def asks_twice(at, views):
    counted(at, views)
    return counted(at, views)


def asks_more(at, views):
    return float(views[0].release(dp.Count(), dp.PureDP(1)).value), None


@pytest.mark.parametrize("run", [asks_twice, asks_more])
def test_a_run_can_do_no_more_than_its_events(run):
    with pytest.raises(ValueError, match="not the plan that was paid"):
        select(dataset(), plan_of((COUNT,)), run)


def test_a_run_takes_the_events_of_its_own_setting():
    """The other setting's event was paid too, but not for this run."""
    dear = events.DiscreteLaplace(1, 1)

    def run(at, views):
        budget = dp.PureDP(1) if at == 0 else HALF  # the wrong way round
        return float(views[0].release(dp.Count(), budget).value), None

    with pytest.raises(ValueError, match="not the plan that was paid"):
        select(dataset(), plan_of((COUNT,), (dear,)), run)


def test_nothing_can_be_read_after_a_run():
    data, kept = dataset(), []

    def run(at, views):
        door = views[0].prepaid(COUNT)
        kept[:] = views[0], door, door.__enter__()
        return 0.0, None

    with data.prepaid(plan_of((COUNT,)).event(data.unit)) as outer:
        outer.select(plan_of((COUNT,)), run)
        view, manager, door = kept
        with pytest.raises(ValueError, match="closed"):
            view.release(dp.Count(), HALF)
        with pytest.raises(ValueError, match="closed"):
            door.release(dp.Count(), HALF)  # its own plan is still open
        with pytest.raises(ValueError, match="closed"):
            view._engine.totals(dp.Count().coded(SCHEMA, data.unit))
        manager.__exit__(None, None, None)
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(view)


def test_a_run_that_fails_is_over_too():
    data, kept = dataset(), []

    def run(at, views):
        kept.append(views[0])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        select(data, plan_of((COUNT,)), run)
    with pytest.raises(ValueError, match="closed"):
        kept[0].release(dp.Count(), HALF)
    assert data.ledger.remaining() == dp.PureDP(100 - Fraction(3, 2))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_run_stays_in_its_process():
    waited = []

    def run(at, views):
        child = os.fork()
        if child == 0:
            try:
                counted(at, views)
            except RuntimeError:
                os._exit(0)
            os._exit(1)
        waited.append(os.waitpid(child, 0)[1])
        return counted(at, views)

    select(dataset(), plan_of((COUNT,), gamma="9/10"), run)
    assert waited
    assert set(waited) == {0}


def _dealt(rows, letter):
    """How many rows with x > 3 the split holds for, row by row in plain integers."""
    grid, mixers, found = SCHEMA.code("x"), SPLIT.code.mixers, 0
    for x, c in zip(rows["x"], rows["c"], strict=True):
        codes = grid.of(x), "ab".index(c)
        mix = sum((code + 1) * mixer for code, mixer in zip(codes, mixers, strict=True))
        found += c == letter and codes[0] > grid.of(3.0) and mix % MIX_PRIME % 16 <= 3
    return found


@pytest.mark.parametrize("form", ["arrays", "polars", "duckdb"])
def test_a_split_deals_every_row_to_one_part(form):
    rows = draw_table(2000, **COLUMNS)
    if form == "polars":
        source = pl.DataFrame(rows)
    elif form == "duckdb":
        import duckdb

        frame = pl.DataFrame(rows)  # noqa: F841
        source = duckdb.sql("select * from frame")
    else:
        source = rows
    data = dp.PrivateDataset(source, SCHEMA, unit=dp.PUBLIC)
    nothing = events.Compose()
    plan = plan_of((nothing, nothing), split=SPLIT)
    exact = dp.PureDP(float("inf"))

    def run(at, views):
        return 0.0, [view.release(dp.Count(by="c", where="x > 3"), exact).value for view in views]

    _, (most, few) = select(data, plan, run)
    whole = data.release(dp.Count(by="c", where="x > 3"), exact).value
    assert np.array_equal(most + few, whole)
    assert 0.2 < few.sum() / whole.sum() < 0.3
    assert few.tolist() == [_dealt(rows, "a"), _dealt(rows, "b")]


def test_what_a_run_costs():
    """Parts of a split are different persons, unless ids join them; settings cost the dearest."""
    dear = events.DiscreteLaplace(1, 1)
    alone, ids = dp.Unit(), dp.Unit(dp.ADD_REMOVE, id_column="i", max_rows=2)
    replaced = dp.Unit(dp.REPLACE_ONE)
    cost = dp.accounting.cost

    def epsilon(plan, unit):
        return cost(plan.event(unit), dp.PureDP).epsilon

    assert epsilon(plan_of((COUNT, dear)), alone) == 3 * Fraction(3, 2)
    assert epsilon(plan_of((COUNT, dear), split=SPLIT), alone) == 3
    assert epsilon(plan_of((COUNT, dear), split=SPLIT), ids) == 3 * Fraction(3, 2)
    for unit in (alone, ids, replaced):
        assert epsilon(plan_of((COUNT,), (dear,), (COUNT,)), unit) == 3
    with pytest.raises(ValueError, match="REPLACE_ONE"):
        plan_of((COUNT, dear), split=SPLIT).event(replaced)
    with pytest.raises(ValueError, match="two events"):
        plan_of((COUNT,), split=SPLIT)
    with pytest.raises(ValueError, match="weights"):
        plan_of((COUNT,), weights=(1, 2))
    with pytest.raises(ValueError, match="weights"):
        plan_of((COUNT,), weights=(0,))


def test_settings_are_drawn_by_their_weights():
    plan = plan_of((COUNT,), (COUNT,), (COUNT,), weights=(5, 1, 2))
    with testing.fixed_noise(5):
        seen = Counter(plan.draw() for _ in range(4000))
    found = [seen[at] for at in range(3)]
    assert chisquare(found, np.array([5, 1, 2]) * 500).pvalue > 1e-3
    assert chisquare(found, np.array([4, 2, 2]) * 500).pvalue < 1e-6


def test_rows_of_a_step_are_read_once_for_all_runs(monkeypatch):
    """And each run has its own copy of them."""
    reads = []
    honest = Arrays.rows

    def spy(self, *arguments):
        reads.append(1)
        return honest(self, *arguments)

    monkeypatch.setattr(Arrays, "rows", spy)

    class First(dp.Step):
        columns = ("x",)

        def event(self, schema, unit):
            return COUNT

        def run(self, rows):
            found = int(rows.codes[0, 0])
            rows.codes[:] = -7
            return found

    seen = []

    def run(at, views):
        seen.append(views[0].run(First()))
        return 0.0, None

    with testing.fixed_noise(2):
        select(dataset(), plan_of((COUNT,), gamma="1/20"), run)
    assert len(seen) > 3
    assert len(set(seen)) == 1
    assert seen[0] != -7
    assert len(reads) == 1

"""The door: charges first, reads then, tells nothing else."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import discreet as dp
from discreet import events, mechanisms, testing
from discreet.engines.arrays import Arrays
from discreet.queries import Tightened
from small_tables import draw_table

SCHEMA = dp.Schema(x=dp.Real(0, 10), y=dp.Integer(0, 4), c=dp.Categorical("a", "b"))
COLUMNS = {"x": (0, 10), "y": range(5), "c": ["a", "b"]}
ROWS = draw_table(200, **COLUMNS)


def dataset(limit=None, **options):
    ledger = dp.Ledger(limit=limit or dp.PureDP(10))
    return dp.PrivateDataset(ROWS, SCHEMA, ledger=ledger, **options)


HOWS = [
    dp.PureDP(1),
    dp.ApproxDP(1, 1e-6),
    dp.ZCDP(0.5),
    mechanisms.Laplace(1),
    mechanisms.Gaussian(1, 1e-6),
    mechanisms.Gaussian(rho=0.5),
    mechanisms.DiscreteGaussian(1, 1e-6),
    mechanisms.DiscreteGaussian(rho=0.5),
]


def fits(query, budget):
    return not isinstance(query, dp.Quantile | Tightened) or isinstance(
        budget, dp.PureDP | dp.ApproxDP | dp.ZCDP
    )


@pytest.mark.parametrize("query", testing.QUERIES, ids=repr)
@pytest.mark.parametrize("budget", HOWS, ids=repr)
def test_a_release_fits_a_limit_of_exactly_its_measure_and_no_second_one(query, budget):
    if not fits(query, budget):
        with pytest.raises(TypeError, match="budget"):
            dataset().release(query, budget)
        return
    measure = budget if isinstance(budget, dp.measures.Measure) else budget.measure
    ledger = dp.Ledger(limit=measure)
    data = dp.PrivateDataset(ROWS, SCHEMA, ledger=ledger)
    release = data.release(query, budget)
    assert release.is_private
    assert release.entry.event == release.event
    assert dp.accounting.satisfies(release.event, measure)
    with pytest.raises(dp.BudgetExceeded):
        data.release(query, budget)


def test_the_charge_comes_before_the_first_look_at_a_row(monkeypatch):
    order = []
    data = dataset()
    honest = data.ledger.charge

    def charge(*args, **options):
        order.append("charge")
        return honest(*args, **options)

    monkeypatch.setattr(data.ledger, "charge", charge)
    for name in ("totals", "tally", "rows"):
        read = getattr(Arrays, name)

        def spy(self, *args, read=read):
            order.append("read")
            return read(self, *args)

        monkeypatch.setattr(Arrays, name, spy)
    data.release(dp.Mean("x"), dp.PureDP(1))
    data.release(dp.Median("x"), dp.PureDP(1))
    data.run(CountRows(), dp.PureDP(1))
    assert order == ["charge", "read"] * 3


def test_a_refused_over_spend_reads_nothing(monkeypatch):
    data = dataset(dp.PureDP(1))
    monkeypatch.setattr(Arrays, "totals", lambda *args: pytest.fail("a row was read"))
    with pytest.raises(dp.BudgetExceeded):
        data.release(dp.Count(), dp.PureDP(2))
    assert len(data.ledger.entries()) == 1  # the opening alone


def test_a_crash_after_the_charge_loses_budget_never_privacy(monkeypatch):
    data = dataset(dp.PureDP(1))

    def crash(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(Arrays, "totals", crash)
    with pytest.raises(KeyboardInterrupt):
        data.release(dp.Count(), dp.PureDP(1))
    monkeypatch.undo()
    with pytest.raises(dp.BudgetExceeded):
        data.release(dp.Count(), dp.PureDP(1))


@pytest.mark.parametrize("query", testing.QUERIES, ids=repr)
def test_the_plan_is_what_is_released_and_touches_no_row(query, monkeypatch):
    data = dataset()
    with monkeypatch.context() as patch:
        for name in ("totals", "tally", "rows"):
            patch.setattr(Arrays, name, lambda *args: pytest.fail("a row was read"))
        plan = data.plan(query, dp.PureDP(1), rows=200)
        assert data.plan(query, dp.PureDP(1)).event == plan.event
    release = data.release(query, dp.PureDP(1))
    assert (plan.event, plan.measure) == (release.event, release.measure)
    assert np.shape(getattr(plan.stderr, "mean", plan.stderr)) == np.shape(
        getattr(release.stderr, "mean", release.stderr)
    )


def test_an_error_that_depends_on_rows_asks_for_them():
    plan = dataset().plan(dp.Mean("x"), dp.PureDP(1))
    assert plan.stderr is None
    assert plan.expected_error(1000) == pytest.approx(plan.expected_error(100) / 10, rel=1e-6)
    assert dataset().plan(dp.Count(), dp.PureDP(1)).stderr == pytest.approx(1.357, abs=1e-3)


def test_replace_one_takes_the_number_of_rows_as_public():
    unit = dp.Unit(dp.REPLACE_ONE)
    data = dp.PrivateDataset(
        draw_table(50, **COLUMNS), SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(2), unit=unit)
    )
    count = data.release(dp.Count(), dp.PureDP(1))
    assert count.value == 50
    assert count.measure == dp.PureDP(0)
    assert count.event == events.Compose()
    assert data.ledger.remaining() == dp.PureDP(2)
    mean = data.release(dp.Mean("x"), dp.PureDP(1))
    assert mean.event.sensitivity == 2 * 2**20  # the count is not noised


def test_a_declared_number_of_rows_is_never_compared_with_the_data():
    unit = dp.Unit(dp.REPLACE_ONE)
    ledger = dp.Ledger(limit=dp.PureDP(9), unit=unit)
    for n in (0, 1, 50):
        data = dp.PrivateDataset(draw_table(n, **COLUMNS), SCHEMA, ledger=ledger, rows=1000)
        assert data.release(dp.Count(), dp.PureDP(1)).value == 1000
        data.release(dp.Mean("x"), dp.PureDP(1))


class CountRows(dp.Step):
    """A step that counts rows and adds noise: what a user's own step looks like."""

    def event(self, schema, unit):
        return events.DiscreteLaplace(unit.rows_per_person, unit.rows_per_person)

    def run(self, rows):
        assert rows.codes.shape[1] == 3
        assert "CodedRows(x, y, c)" in repr(rows)
        return len(rows.codes) + int(dp.noise.discrete_laplace(1))

    def __repr__(self):
        return "CountRows()"


def test_a_step_is_planned_charged_and_run():
    data = dataset(dp.PureDP(1))
    assert data.plan(CountRows()).event == events.DiscreteLaplace(1)
    assert abs(data.run(CountRows()) - 200) < 40
    assert data.ledger.remaining() == dp.PureDP(0)
    with pytest.raises(dp.BudgetExceeded):
        data.run(CountRows())
    with pytest.raises(TypeError, match="step"):
        data.run("count")


def test_a_prepaid_plan_is_charged_once_and_kept():
    data = dataset(dp.PureDP(1))
    third = dp.PureDP("1/3")
    mean = data.plan(dp.Mean("x"), third).event
    count = data.plan(dp.Count(by="c"), third).event
    plan = events.Compose(events.Repeat(mean, 2), count)
    with data.prepaid(plan, dp.PureDP(1)) as door:
        assert data.ledger.remaining() == dp.PureDP(0)
        door.release(dp.Mean("x"), third)
        door.release(dp.Mean("x", where="y > 1"), third)
        assert door.release(dp.Count(by="c"), third).value.shape == (2,)
        with pytest.raises(ValueError, match="nothing more"):
            door.release(dp.Count(by="c"), third)
    with pytest.raises(ValueError, match="closed"):
        door.release(dp.Mean("x"), third)


def test_a_prepaid_door_refuses_what_was_not_planned_and_refunds_nothing():
    data = dataset(dp.PureDP(1))
    half = dp.PureDP("1/2")
    plan = events.Repeat(data.plan(dp.Count(), half).event, 2)
    with data.prepaid(plan) as door:
        with pytest.raises(ValueError, match="not the plan"):
            door.release(dp.Count(), dp.PureDP("3/4"))
        with pytest.raises(ValueError, match="closed"):
            door.release(dp.Count(), half)
    assert data.ledger.remaining() == dp.PureDP(0)


def test_several_quantiles_are_a_repeated_event_in_a_plan_too():
    data = dataset(dp.PureDP(1))
    query = dp.Quantile("x", ["1/4", "3/4"])
    with data.prepaid(data.plan(query, dp.PureDP(1)).event) as door:
        assert door.release(query, dp.PureDP(1)).value.shape == (2,)


def test_public_rows_are_marked_and_cost_nothing():
    data = dp.PrivateDataset(ROWS, SCHEMA, unit=dp.PUBLIC)
    release = data.release(dp.Count(), dp.PureDP(1))
    assert not release.is_private
    assert "NOT PRIVATE" in repr(release)
    assert release.entry is None
    exact = data.release(dp.Mean("x"), dp.PureDP(math.inf))
    assert exact.value == pytest.approx(ROWS["x"].mean(), abs=1e-5)
    assert exact.stderr == 0.0
    median = data.release(dp.Median("y"), dp.PureDP(math.inf)).value
    assert median == np.median(ROWS["y"])
    assert testing.exact_totals(data, dp.Count()).tolist() == [[200]]


@pytest.mark.parametrize("query", [dp.Count(), dp.Median("x")], ids=repr)
@pytest.mark.parametrize("budget", [dp.PureDP(math.inf), dp.ZCDP(math.inf)], ids=repr)
def test_no_noise_is_refused_on_private_rows(query, budget):
    with pytest.raises(ValueError, match=r"budget.*PUBLIC"):
        dataset().release(query, budget)


@pytest.mark.parametrize("query", [dp.Count(), dp.Mean("x"), dp.Median("x")], ids=repr)
@pytest.mark.parametrize(
    "budget", [dp.PureDP(10**30), dp.ZCDP(10**60), dp.ApproxDP(10**9, "1e-6")], ids=repr
)
def test_an_enormous_budget_is_answered_not_refused_after_the_charge(query, budget):
    ledger = dp.Ledger(limit=budget)
    release = dp.PrivateDataset(ROWS, SCHEMA, ledger=ledger).release(query, budget)
    exact = dp.PrivateDataset(ROWS, SCHEMA, unit=dp.PUBLIC).release(query, dp.PureDP(math.inf))
    assert release.value == pytest.approx(
        exact.value, rel=0.02
    )  # a median may be any value in a gap
    assert len(ledger.entries()) == 2


def test_exact_totals_are_refused_on_private_rows():
    with pytest.raises(PermissionError, match="PUBLIC"):
        testing.exact_totals(dataset(), dp.Count())


def test_fixed_noise_repeats_and_marks_the_release():
    data = dataset()
    with testing.fixed_noise(1):
        first = data.release(dp.Mean("x"), dp.PureDP(1))
    with testing.fixed_noise(1):
        again = data.release(dp.Mean("x"), dp.PureDP(1))
    assert first.value == again.value
    assert not first.is_private
    assert data.release(dp.Mean("x"), dp.PureDP(1)).is_private


def test_repr_and_errors_show_no_row():
    secret = {"x": np.array([3.14159265]), "y": np.array([4]), "c": np.array(["b"], object)}
    data = dp.PrivateDataset(secret, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(1)))
    assert "3.14" not in repr(data)
    assert "PrivateDataset" in repr(data)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="copy its rows"):
            copied(data)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("query", testing.QUERIES, ids=repr)
def test_no_row_and_one_row_answer_in_the_usual_shape(query, n):
    usual = dataset().release(query, dp.PureDP(1)).value
    small = dp.PrivateDataset(
        draw_table(n, **COLUMNS), SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(1))
    )
    value = small.release(query, dp.PureDP(1)).value
    for a, b in zip(parts(value), parts(usual), strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.all(np.isfinite(np.asarray(a, float)))


def parts(value):
    if isinstance(value, dp.queries.MomentsValue):
        return [value.count, value.mean, value.variance]
    if isinstance(value, dp.queries.MarginalsValue):
        return [value.count, value.sums, value.squares, *value.cells]
    return [value]


BAD = [
    (lambda: dp.PrivateDataset(ROWS, SCHEMA), ValueError, "ledger"),
    (lambda: dp.PrivateDataset(ROWS, SCHEMA, unit=dp.ADD_REMOVE), ValueError, "ledger"),
    (lambda: dp.PrivateDataset(ROWS, SCHEMA, unit="row"), TypeError, "unit"),
    (lambda: dp.PrivateDataset(ROWS, {"x": 1}, unit=dp.PUBLIC), TypeError, "schema"),
    (lambda: dp.PrivateDataset(ROWS, SCHEMA, ledger=5), TypeError, "ledger"),
    (lambda: dp.PrivateDataset(5, SCHEMA, unit=dp.PUBLIC), TypeError, "data"),
    (lambda: dataset(rows=5), ValueError, "rows"),
    (lambda: dataset(unit=dp.REPLACE_ONE), ValueError, "unit"),
    (
        lambda: dataset(unit=dp.Unit(dp.ADD_REMOVE, id_column="y", max_rows=2)),
        ValueError,
        "unit",
    ),
    (
        lambda: dp.PrivateDataset(
            ROWS, SCHEMA, unit=dp.PUBLIC, ledger=dp.Ledger(limit=dp.PureDP(1))
        ),
        ValueError,
        "ledger",
    ),
    (
        lambda: dp.PrivateDataset("missing.csv", SCHEMA, unit=dp.PUBLIC),
        FileNotFoundError,
        "missing.csv",
    ),
    (lambda: dataset().release("count", dp.PureDP(1)), TypeError, "query"),
    (lambda: dataset().release(dp.Count(), 1.0), TypeError, "budget"),
    (lambda: dataset().release(dp.Count(), dp.PureDP(0)), ValueError, "epsilon"),
    (lambda: dataset().release(dp.Count(), dp.Renyi({2: 1.0})), ValueError, "Renyi"),
    (lambda: dataset().release(dp.Median("x"), mechanisms.Laplace(1)), TypeError, "budget"),
    (lambda: dataset().release(dp.Median("x"), dp.Renyi({2: 1.0})), ValueError, "Renyi"),
    (
        lambda: dataset().release(dp.Count(), mechanisms.Exponential(dp.PureDP(1))),
        TypeError,
        "budget",
    ),
    (lambda: dataset().release(dp.Mean("z"), dp.PureDP(1)), KeyError, "z"),
    (lambda: dataset().release(dp.Mean("c"), dp.PureDP(1)), ValueError, "'c'"),
    (lambda: dataset().release(dp.Count(by="x"), dp.PureDP(1)), ValueError, "'x'"),
    (lambda: dataset().release(dp.Sum("x"), dp.PureDP("1e-12")), ValueError, "budget"),
    (lambda: dataset().plan(dp.Count(), dp.PureDP(1), rows=-1), ValueError, "rows"),
    (lambda: dataset().release(dp.Count(), dp.PureDP(1)).noise_interval(1.0), ValueError, "level"),
    (lambda: dataset().release(dp.Count(), dp.PureDP(1)).to_dict(), ValueError, "labels"),
    (lambda: mechanisms.Gaussian(1, 0), ValueError, "delta"),
    (lambda: mechanisms.Gaussian(1), ValueError, "epsilon and delta"),
    (lambda: mechanisms.Gaussian(rho=0), ValueError, "rho"),
    (lambda: mechanisms.Laplace(0), ValueError, "epsilon"),
    (lambda: mechanisms.Laplace(-1), ValueError, "epsilon"),
    (lambda: mechanisms.Laplace("much"), ValueError, "epsilon"),
    (lambda: dp.Unit("add"), TypeError, "relation"),
    (lambda: dp.Unit(dp.ADD_REMOVE, id_column="y"), ValueError, "max_rows"),
    (lambda: dp.Unit(dp.ADD_REMOVE, max_rows=2), ValueError, "id_column"),
    (lambda: dp.Unit(dp.ADD_REMOVE, id_column="y", max_rows=0), ValueError, "max_rows"),
    (lambda: dp.Unit(dp.ADD_REMOVE, id_column=3, max_rows=1), TypeError, "id_column"),
]


@pytest.mark.parametrize(("call", "error", "named"), BAD)
def test_bad_public_arguments_are_named_and_charge_nothing(call, error, named):
    with pytest.raises(error, match=named):
        call()


def test_under_replace_one_a_lazy_source_needs_its_rows_declared(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y,c\n1,2,a\n3,4,b\n")
    unit = dp.Unit(dp.REPLACE_ONE)
    data = dp.PrivateDataset(path, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(3), unit=unit))
    with pytest.raises(ValueError, match="rows"):
        data.release(dp.Mean("x"), dp.PureDP(1))
    assert len(data.ledger.entries()) == 1
    declared = dp.PrivateDataset(path, SCHEMA, ledger=data.ledger, rows=2)
    assert 0 <= declared.release(dp.Mean("x"), dp.PureDP(1)).value <= 10

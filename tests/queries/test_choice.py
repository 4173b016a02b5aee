"""Choices: what one row favours, against all neighbours; draws against their exact distribution."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from test_joint import JOINTS, SCHEMA, TREES, UNITS, Row, all_cells, moved, with_ids

import discreet as dp
from discreet import events, mechanisms, testing
from discreet.columns import Clamped
from discreet.engines import open_engine
from discreet.engines.arrays import Arrays
from discreet.queries import Best, BestSplit, Joint


def scores(query: Any, data: list[Row], unit: dp.Unit, ids: list[int] | None = None) -> Any:
    engine = Arrays(with_ids(data, ids))
    return query.scores([engine.totals(part) for part in query.parts(SCHEMA, unit)], SCHEMA)


CHOICES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "counts": (Best(dp.Count(where="x > 0"), dp.Count(), dp.Count(where="y == 1")), ("x", "y")),
    "counts by": (Best(dp.Count(where="x > 0", by="s"), dp.Count(by="s")), ("x", "s")),
    "sums": (Best(dp.Sum("v"), dp.Sum("v", where="x == 1")), ("v", "x")),
    "gini": (BestSplit("y", {"x": [0.5, 1.5], "s": []}), ("x", "s", "y")),
    "gini by": (
        BestSplit("y", {"x": [0.5, 1.5]}, by="one", derive={"one": TREES["one"]}),
        ("x", "y"),
    ),
    "majority": (BestSplit("y", {"x": [0.5, 1.5], "s": []}, criterion="majority"), ("x", "s", "y")),
    "variance": (BestSplit("v", {"x": [0.5, 1.5], "s": []}, criterion="variance"), ("x", "s", "v")),
    "deviation": (
        BestSplit("y", {"x": [0.5, 1.5], "s": []}, criterion="deviation"),
        ("x", "s", "y"),
    ),
    "deviation from shares": (
        BestSplit(
            "y",
            {"x": [0.5, 1.5], "s": []},
            criterion="deviation",
            by="one",
            derive={"one": TREES["one"]},
            expected=[[0.85, 0.1, 0.05], [0.0, 0.5, 0.5]],
        ),
        ("x", "s", "y"),
    ),
    "deviation in blocks": (
        BestSplit(
            "y",
            {"x": [0.5, 1.5], "s": []},
            criterion="deviation",
            by="one",
            derive={"one": TREES["one"]},
            expected=[[0.85, 0.1, 0.05], [0.0, 0.5, 0.5]],
            blocks=[3, 3],
        ),
        ("x", "s", "y"),
    ),
    "deviation of numbers": (
        BestSplit(
            "closer",
            {"x": [0.5, 1.5], "s": []},
            criterion="deviation",
            derive={"closer": Clamped.from_column("v", dp.Real(-1, 3), 0.1, 2.3)},
            expected=[[0.3, 0.7]],
        ),
        ("x", "s", "v"),
    ),
}


@pytest.mark.parametrize("case", list(CHOICES))
def test_one_row_favours_no_candidate_by_more_than_the_spread(case: str) -> None:
    query, used = CHOICES[case]
    unit, draw = UNITS["add"], random.Random(7)
    choices = all_cells(used)
    largest = 0
    for size in (0, 1, 2, 5, 40, 200):
        for _ in range(8):
            few = draw.sample(choices, min(len(choices), draw.choice([1, 2, 5])))
            data = [draw.choice(few) for _ in range(size)]
            before = scores(query, data, unit)
            for row in choices:
                largest = max(largest, moved(query, before, scores(query, [*data, row], unit)))
    assert largest <= query.spread(SCHEMA)
    if case != "sums":  # there no row counts for one candidate and against another
        assert largest >= 0.9 * query.spread(SCHEMA)


@pytest.mark.parametrize("case", list(CHOICES))
@pytest.mark.parametrize("unit", list(UNITS))
def test_one_person_favours_no_candidate_by_more_than_the_sensitivity(case: str, unit: str) -> None:
    """Replaced rows, and persons with more rows than count; over all groups together."""
    query, used = CHOICES[case]
    draw, choices = random.Random(11), all_cells(used)
    bound = query.sensitivity(SCHEMA, UNITS[unit]).l1 * (1 if "add" in unit else 2)
    single = "persons" not in unit
    for _ in range(80):
        data = [draw.choice(choices) for _ in range(draw.choice([0, 2, 6, 30]))]
        ids = list(range(10, 10 + len(data)))

        def person(least: int, most: int) -> list[Row]:
            return [draw.choice(choices) for _ in range(draw.randint(least, most))]

        mine = person(1, 1) if single else person(0, 5)
        other = [] if "add" in unit else person(1, 1) if single else person(0, 5)
        before = scores(query, data + mine, UNITS[unit], ids + [1] * len(mine))
        after = scores(query, data + other, UNITS[unit], ids + [1] * len(other))
        assert moved(query, before, after) <= bound


def test_candidates_that_count_different_rows_cost_more_for_persons_in_groups() -> None:
    query = Best(dp.Count(by="s", where="x == 0"), dp.Count(by="s", where="x == 1"))
    assert query.sensitivity(SCHEMA, UNITS["add"]).l1 == 1
    unit = dp.Unit(dp.ADD_REMOVE, "id", 1)
    assert query.sensitivity(SCHEMA, unit).l1 == 2
    # one row counts for the first candidate in group a, another for the second in group b
    mine: list[Row] = [(0, 0.5, "a", 0), (1, 0.5, "b", 0)]
    assert moved(query, scores(query, [], unit), scores(query, mine, unit, [1, 1])) == 2


@pytest.mark.parametrize("criterion", ["majority", "gini"])
def test_a_person_whose_rows_have_gaps_is_in_one_group_alone(criterion: Any) -> None:
    """Each row lacks another column: if each cut counted its own rows, both groups would move."""
    schema = dp.Schema(
        g=dp.Categorical(0, 1), a=dp.Categorical("a"), b=dp.Categorical("b"), y=dp.Categorical(0, 1)
    )
    query = BestSplit("y", {"a": [], "b": []}, by="g", criterion=criterion)
    unit = dp.Unit(dp.ADD_REMOVE, "id", 1)
    mine = {"g": [0, 1], "a": ["a", ""], "b": ["", "b"], "y": [0, 0], "id": ["me", "me"]}
    others = {
        "g": [0, 1] * 2,
        "a": ["a"] * 4,
        "b": ["b"] * 4,
        "y": [0, 1, 1, 0],
        "id": list("pqrs"),
    }

    def found(table: dict[str, list[Any]]) -> Any:
        engine = Arrays({name: np.array(cells, object) for name, cells in table.items()})
        return query.scores([engine.totals(part) for part in query.parts(schema, unit)], schema)

    with_me = {name: others[name] + mine[name] for name in mine}
    change = found(with_me) - found(others)
    assert np.count_nonzero(np.any(change != 0, axis=1)) <= 1
    assert np.ptp(change, axis=1).sum() <= query.sensitivity(schema, unit).l1


def probabilities(query: Any, data: list[Row], unit: dp.Unit, epsilon: int, trust: int = 1) -> Any:
    """The exact distribution of the answer for each group; `trust` divides the sensitivity."""
    mechanism = mechanisms.PermuteAndFlip(epsilon, monotone=query.is_monotone(unit))
    sensitivity = max(1, query.sensitivity(SCHEMA, unit).l1 // trust)
    return [mechanism.probabilities(row, sensitivity) for row in scores(query, data, unit)]


def loss(query: Any, unit: dp.Unit, trust: int = 1) -> float:
    """The largest log-ratio of any answer over neighbouring tables of a small domain."""
    choices = all_cells(("x", "y"))[::2]
    worst = 0.0
    for size in (0, 1, 2):
        for data in itertools.combinations_with_replacement(choices, size):
            if unit.relation is dp.ADD_REMOVE:
                pairs = [([*data], [*data, row]) for row in choices]
            else:
                pairs = [([*data, a], [*data, b]) for a in choices for b in choices]
            for left, right in pairs:
                a = probabilities(query, left, unit, 1, trust)
                b = probabilities(query, right, unit, 1, trust)
                worst = max(
                    worst,
                    sum(float(abs(np.log(p / q)).max()) for p, q in zip(a, b, strict=True)),
                )
    return worst


@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE], ids=str)
@pytest.mark.parametrize("case", ["gini", "gini by", "majority"])
def test_the_distribution_of_the_draw_is_as_private_as_charged(case: str, relation: Any) -> None:
    query, _ = CHOICES[case]
    unit = dp.Unit(relation)
    assert loss(query, unit) <= 1 + 1e-9
    if case == "gini":
        assert loss(query, unit, trust=3) > 1  # a third of the sensitivity would not do


def test_a_choice_by_replace_one_needs_twice_the_scale() -> None:
    query, _ = CHOICES["majority"]
    add = query.prepare(dp.PureDP(1), SCHEMA, UNITS["add"], None)
    replace = query.prepare(dp.PureDP(1), SCHEMA, UNITS["replace"], None)
    assert add.event == events.PermuteAndFlip(1, 1, monotone=True)
    assert replace.event == events.PermuteAndFlip(2, 1, monotone=False)
    persons = query.prepare(dp.PureDP(1), SCHEMA, UNITS["add, persons"], None)
    assert persons.event == events.PermuteAndFlip(2, 2, monotone=True)
    concentrated = query.prepare(dp.ZCDP("1/8"), SCHEMA, UNITS["add"], None)
    assert concentrated.event == events.Exponential(1)


def test_draws_follow_their_distribution_and_no_other() -> None:
    """A choice through the door, against the exact probabilities; a wrong scale is noticed."""
    query = BestSplit("y", {"x": [0.5, 1.5], "s": []}, criterion="majority")
    data = [(0, 0.5, "a", 0)] * 6 + [(1, 0.5, "a", 1)] * 3 + [(2, 0.5, "b", 1)] * 4
    private = dp.PrivateDataset(with_ids(data), SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(10**5)))
    trials = 600
    with testing.fixed_noise(2):
        drawn = [private.release(query, dp.PureDP("1/2")).value for _ in range(trials)]
    found = np.bincount(drawn, minlength=query.count(SCHEMA))

    def surprise(epsilon: Any) -> float:
        mechanism = mechanisms.PermuteAndFlip(epsilon, monotone=True)
        distribution = mechanism.probabilities(scores(query, data, UNITS["add"])[0], 1)
        return float(((found - trials * distribution) ** 2 / (trials * distribution)).sum())

    assert surprise("1/2") < 16  # chi-square, 3 degrees of freedom: p = 0.001
    assert surprise("2") > 16


@pytest.mark.parametrize("case", list(CHOICES))
@pytest.mark.parametrize("count", [0, 1, 30])
def test_every_engine_gives_the_same_scores(case: str, count: int) -> None:
    query, used = CHOICES[case]
    draw = random.Random(5)
    data = [draw.choice(all_cells(used)) for _ in range(count)]
    whole = with_ids(data)
    types = {"x": pl.Int64, "v": pl.Float64, "s": pl.String, "y": pl.Int64, "id": pl.Int64}
    frame = pl.DataFrame(whole, schema=types)
    public = dp.Unit(dp.PUBLIC)
    sources = {
        "polars": frame,
        "pandas": frame.to_pandas(),
        "duckdb": duckdb.connect().from_arrow(frame.to_arrow()),
    }
    wanted = scores(query, data, public)
    for name, source in sources.items():
        engine = open_engine(source, SCHEMA, public)
        parts = [engine.totals(part) for part in query.parts(SCHEMA, public)]
        assert query.scores(parts, SCHEMA).tolist() == wanted.tolist(), name


@pytest.mark.parametrize("query", [q for q, _ in CHOICES.values()] + [q for q, _ in JOINTS])
@pytest.mark.parametrize("budget", [dp.PureDP(1), dp.ZCDP(0.5)], ids=repr)
def test_one_answer_fits_its_limit_and_a_second_does_not(query: Any, budget: Any) -> None:
    data = dp.PrivateDataset(
        with_ids(all_cells(("x", "y"))), SCHEMA, ledger=dp.Ledger(limit=budget)
    )
    plan = data.plan(query, budget)
    release = data.release(query, budget)
    assert release.event == plan.event
    assert dp.accounting.satisfies(release.event, budget)
    with pytest.raises(dp.BudgetExceeded):
        data.release(query, budget)


@pytest.mark.parametrize("unit", ["add", "replace"])
def test_no_rows_answer_in_the_usual_shape(unit: str) -> None:
    ledger = dp.Ledger(limit=dp.PureDP(100), unit=UNITS[unit])
    for data in ([], [(1, 0.5, "a", 1)]):
        private = dp.PrivateDataset(with_ids(data), SCHEMA, ledger=ledger)
        for query, _ in CHOICES.values():
            value = private.release(query, dp.PureDP(1)).value
            assert np.shape(value) == ((2,) if query.by else ())
            assert np.all(np.asarray(value) < query.count(SCHEMA))


ODD = [None, math.nan, math.inf, -math.inf, 1e300, "a", "b", b"a", True, 2**80, [], {}, "x", 0, 1]


@pytest.mark.parametrize("query", testing.SEVERAL, ids=lambda query: repr(query)[:40])
def test_no_cell_makes_these_raise_or_change_a_shape(query: Any) -> None:
    schema = dp.Schema(x=dp.Real(0, 10), y=dp.Integer(0, 4), c=dp.Categorical("a", "b"))
    ledger = dp.Ledger(limit=dp.PureDP(10**6))
    draw = random.Random(9)
    shapes = set()
    for _ in range(40):
        length = draw.randrange(6)
        cells = {
            name: np.fromiter((draw.choice(ODD) for _ in range(length)), object, length)
            for name in ("x", "y", "c")
        }
        data = dp.PrivateDataset(cells, schema, ledger=ledger)
        assert data.plan(query, dp.PureDP(1)).event == data.release(query, dp.PureDP(1)).event
        value = data.release(query, dp.PureDP(1)).value
        parts = value if isinstance(value, tuple) else (getattr(value, "cells", value),)
        shapes.add(tuple(np.shape(part) for part in parts))
        assert all(np.all(np.isfinite(np.asarray(part, float))) for part in parts)
    assert len(shapes) == 1


BAD = [
    (lambda: Joint(), "one or more"),
    (lambda: Joint(dp.Median("x")), "one or more"),
    (lambda: Best(), "one or more"),
    (lambda: Best(dp.Mean("x")), "one or more"),
    (lambda: Best(dp.Count(), dp.Count(by="s")), "same by"),
    (lambda: BestSplit("y", {}), "at least one column"),
    (lambda: BestSplit("y", {"y": []}), "different columns"),
    (lambda: BestSplit("y", {"s": []}, by="s"), "different columns"),
    (lambda: BestSplit("y", {"x": [0.5]}, criterion="entropy"), "criterion must be one of"),
    (lambda: BestSplit("y", {"x": [0.5]}, expected=[[1, 1, 1]]), "for the criterion 'deviation'"),
    (
        lambda: BestSplit("y", {"x": [0.5]}, criterion="deviation", expected=[[1, -1, 1]]),
        "numbers from 0",
    ),
    (
        lambda: scores(
            BestSplit("y", {"x": [0.5]}, criterion="deviation", expected=[[1, 1]]), [], UNITS["add"]
        ),
        "the shape",
    ),
    (lambda: BestSplit("y", {"x": [0.5]}, blocks=[[0, 1]]), "one for each group"),
    (lambda: BestSplit("y", {"x": [0.5]}, blocks=[0.2, 0.9]), "a list of integers"),
    (lambda: scores(BestSplit("y", {"x": [0.5]}, blocks=[0, 1]), [], UNITS["add"]), "the shape"),
]


@pytest.mark.parametrize(("build", "message"), BAD)
def test_bad_questions_are_refused_with_a_sentence(build: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        build()


def test_a_choice_takes_measures_and_selections_alone() -> None:
    data = dp.PrivateDataset(with_ids([]), SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(10)))
    query = Best(dp.Count(where="x > 0"), dp.Count())
    with pytest.raises(TypeError, match="does not fit a choice"):
        data.release(query, mechanisms.Laplace(1))
    with pytest.raises(ValueError, match="infinite budget"):
        data.release(query, dp.PureDP(float("inf")))
    flipped = data.release(query, mechanisms.PermuteAndFlip(1))
    assert isinstance(flipped.event, events.PermuteAndFlip)
    drawn = data.release(query, mechanisms.Exponential(dp.PureDP(1)))
    assert drawn.event == events.Exponential(1)
    assert drawn.noise_interval(0.9).unit == "score"
    with pytest.raises(TypeError, match="computed in parts"):
        query.coded(SCHEMA, UNITS["add"])

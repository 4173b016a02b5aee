"""Counts of persons and of rows per person, and queries that take fewer rows of each than the unit allows."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dp
from discreet import events, testing
from discreet.guarantees.people import attacks
from discreet.queries import Best, Joint, WithColumns

SCHEMA = dp.Schema(ward=dp.Categorical("a", "b", "c"), age=dp.Integer(0, 99))
INFINITE = dp.PureDP(float("inf"))


def visits(seed=0, rows=600, people=80):
    draw = np.random.default_rng(seed)
    who = draw.geometric(0.04, rows) % people
    return {
        "ward": draw.choice(["a", "b", "c", "?"], rows).astype(object),
        "age": who % 100,
        "who": np.array([None if w == 0 else f"p{w}" for w in who], object),
    }


def open_data(table, most=2, relation=dp.ADD_REMOVE, limit=None):
    unit = dp.Unit(relation, "who", most)
    ledger = dp.Ledger(limit=limit or dp.PureDP(100), unit=unit)
    return dp.PrivateDataset(table, SCHEMA, ledger=ledger)


def public(table, most=2):
    return dp.PrivateDataset(table, SCHEMA, unit=dp.Unit(dp.PUBLIC, "who", most))


@pytest.mark.parametrize("query", attacks.QUERIES, ids=repr)
@pytest.mark.parametrize("unit", attacks.UNITS, ids=str)
def test_sensitivity_is_exact(query, unit):
    """Never below what a search over persons finds, and reached by it."""
    bound = query.sensitivity(attacks.SCHEMA, unit)
    _, _, l1, l2_squared = attacks.find_farthest(query, unit)
    assert (l1, l2_squared) == (bound.l1, bound.l2_squared)


def test_persons_are_counted_once_however_many_rows_they_have():
    table = visits()
    persons = {w for w in table["who"] if w}
    assert public(table).release(dp.CountPeople(), INFINITE).value == len(persons)
    old = {w for w, a in zip(table["who"], table["age"], strict=True) if w and a >= 20}
    assert public(table).release(dp.CountPeople(where="age >= 20"), INFINITE).value == len(old)


def test_with_room_for_all_groups_every_group_counts_its_persons():
    table = visits()
    for ward, count in (
        public(table, 3).release(dp.CountPeople(by="ward"), INFINITE).to_dict().items()
    ):
        pairs = zip(table["who"], table["ward"], strict=True)
        assert count == len({w for w, at in pairs if w and at == ward})


def test_a_person_counts_in_at_most_max_rows_groups():
    """One person in all three wards, with many rows in the first: the groups count, not the rows."""
    table = {
        "ward": np.array(["a"] * 50 + ["b", "c"], object),
        "age": np.arange(52),
        "who": np.array(["one"] * 52, object),
    }
    for most in (1, 2, 3):
        found = public(table, most).release(dp.CountPeople(by="ward"), INFINITE).value
        assert found.sum() == most
        assert set(found.tolist()) <= {0, 1}


def test_rows_per_person_are_counted_before_any_is_left_out():
    table = visits()
    have = {w: int((table["who"] == w).sum()) for w in table["who"] if w}
    found = public(table, 1).release(dp.RowsPerPerson(6), INFINITE)
    expected = [sum(rows == n for rows in have.values()) for n in range(1, 6)]
    assert found.value.tolist() == [*expected, sum(rows >= 6 for rows in have.values())]
    assert found.labels == [1, 2, 3, 4, 5, "6 or more"]


def test_without_ids_rows_are_persons():
    alone = dp.Unit(dp.ADD_REMOVE)
    for by in (None, "ward"):
        found = dp.CountPeople(by=by).sensitivity(SCHEMA, alone)
        assert (found.l1, found.l2_squared) == (1, 1)
        assert found == dp.Count(by=by).sensitivity(SCHEMA, alone)
    data = dp.PrivateDataset(visits(), SCHEMA, unit=dp.PUBLIC)
    assert data.release(dp.CountPeople(), INFINITE).value == 600
    assert data.release(dp.RowsPerPerson(3), INFINITE).value.tolist() == [600, 0, 0]


def test_noise_is_that_of_one_bin_per_person():
    data = open_data(visits(), most=50)
    assert data.plan(dp.RowsPerPerson(8), dp.PureDP("1/2")).event == events.DiscreteLaplace(2, 1)
    assert data.plan(dp.CountPeople(), dp.PureDP("1/2")).event == events.DiscreteLaplace(2, 1)
    replaced = open_data(visits(), most=50, relation=dp.REPLACE_ONE)
    assert replaced.plan(dp.RowsPerPerson(8), dp.PureDP(1)).event == events.DiscreteLaplace(2, 2)


def test_without_ids_one_bin_alone_can_move():
    rows = [{"ward": "A", "age": age} for age in (10, 90)]
    for unit in (dp.Unit(dp.ADD_REMOVE), dp.Unit(dp.REPLACE_ONE)):
        query = dp.RowsPerPerson(3, where="age > 50")
        bound = query.sensitivity(SCHEMA, unit)
        found = [
            dp.PrivateDataset({name: [row[name]] for name in row}, SCHEMA, unit=dp.PUBLIC)
            .release(query, INFINITE)
            .value
            for row in rows
        ]
        moved = abs(found[0] - found[1])
        assert (moved.sum(), (moved**2).sum()) == (bound.l1, bound.l2_squared) == (1, 1)


def test_what_counts_of_rows_help_to_choose():
    counts = [50, 30, 10, 5, 5]
    assert dp.RowsPerPerson.find_quantile(counts, 0.5) == 1
    assert dp.RowsPerPerson.find_quantile(counts, 0.8) == 2
    assert dp.RowsPerPerson.find_quantile(counts, 0.81) == 3
    assert dp.RowsPerPerson.find_quantile(counts, 1) == 5
    assert dp.RowsPerPerson.find_kept_share(counts, 1) == pytest.approx(100 / 185)
    assert dp.RowsPerPerson.find_kept_share(counts, 9) == 1
    assert dp.RowsPerPerson.find_kept_share([-1, 0], 1) == 1
    with pytest.raises(ValueError, match="share"):
        dp.RowsPerPerson.find_quantile(counts, 0)
    with pytest.raises(ValueError, match="maximum"):
        dp.RowsPerPerson(1)


def test_a_question_may_take_fewer_rows_of_each_person_than_the_unit():
    table = visits()
    one = public(table, 1).release(dp.Median("age"), INFINITE).value
    assert public(table, 5).release(dp.Median("age").per_person(1), INFINITE).value == one
    data = open_data(table, 5)
    full = data.plan(dp.Sum("age"), dp.PureDP(1)).event
    less = data.plan(dp.Sum("age").per_person(1), dp.PureDP(1)).event
    assert (full.sensitivity, less.sensitivity) == (5 * 99, 99)
    two = data.plan(dp.Sum("age").per_person(2), dp.PureDP(1)).event
    assert two.sensitivity == 2 * 99
    assert data.release(dp.Sum("age").per_person(1), dp.PureDP(1)).event == less


def test_a_question_may_not_take_more_rows_than_the_unit():
    data = open_data(visits(), 2)
    with pytest.raises(ValueError, match="at most 2 rows per person"):
        data.release(dp.Count().per_person(3), dp.PureDP(1))
    alone = dp.PrivateDataset(visits(), SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(1)))
    with pytest.raises(ValueError, match="needs a unit with an id column"):
        alone.release(dp.Count().per_person(1), dp.PureDP(1))
    assert alone.release(dp.Count(), dp.PureDP(1)).note == ""  # nothing was charged before


def test_a_limit_belongs_to_the_whole_question():
    limited = dp.Count().per_person(1)
    for build in (Joint, Best, lambda query: WithColumns(query, {})):
        with pytest.raises(ValueError, match="per_person"):
            build(limited)
    data = open_data(visits(), 3)
    event = data.plan(Joint(dp.Count(), dp.Sum("age")).per_person(1), dp.PureDP(1)).event
    assert (
        event.sensitivity
        < data.plan(Joint(dp.Count(), dp.Sum("age")), dp.PureDP(1)).event.sensitivity
    )


def test_releases_say_what_the_limit_means():
    data = open_data(visits(), 2)
    with testing.fixed_noise(1):
        shown = repr(data.release(dp.Mean("age"), dp.PureDP(1)))
        assert (
            "counts at most 2 rows of each person; intervals cover the noise around that" in shown
        )
        shown = repr(data.release(dp.Mean("age").per_person(1), dp.PureDP(1)))
        assert "counts at most 1 row of each person" in shown
        shown = repr(data.release(dp.CountPeople(by="ward"), dp.PureDP(1)))
        assert "counts each person in at most 2 groups" in shown
        assert data.release(dp.CountPeople(), dp.PureDP(1)).note == ""
        assert data.release(dp.RowsPerPerson(), dp.PureDP(1)).note == ""
    assert "at most 2 rows" in repr(data.plan(dp.Count(), dp.PureDP(1)))


def test_counts_of_persons_carry_the_noise_that_is_charged():
    table = visits()
    data = public(table, 2)
    for query in (dp.RowsPerPerson(4), dp.CountPeople(by="ward")):
        exact = data.release(query, INFINITE).value
        drawn = np.stack([data.release(query, dp.PureDP(1)).value - exact for _ in range(500)])
        assert drawn.std() == pytest.approx(data.plan(query, dp.PureDP(1)).stderr[0], rel=0.12)

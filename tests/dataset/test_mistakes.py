"""Mistakes that would cost privacy, and that the toolkit stops."""

from __future__ import annotations

import os
import sys
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet import events, noise, testing
from discreet.accounting.thresholds import minimum_threshold, threshold_delta
from discreet.engines import open_engine
from discreet.noise import entropy

SCHEMA = dp.Schema(x=dp.Integer(0, 1))


def data_of(**options):
    return dp.PrivateDataset(
        {"x": np.ones(100)}, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(9)), **options
    )


def test_a_prepaid_door_does_not_work_twice_through_a_fork():
    data = data_of()
    with data.prepaid(data.plan(dp.Count(), dp.PureDP(1)).event) as door:
        child = os.fork()
        if child == 0:
            try:
                door.release(dp.Count(), dp.PureDP(1))
            except RuntimeError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        door.release(dp.Count(), dp.PureDP(1))


def test_ids_of_a_file_are_text_even_where_the_column_is_declared_as_a_number(tmp_path):
    schema = dp.Schema(id=dp.Integer(0, 2**53), x=dp.Integer(0, 1))
    unit = dp.Unit(dp.ADD_REMOVE, id_column="id", max_rows=5)
    path = tmp_path / "rows.csv"
    a, b = 1234567890123456789, 1234567890123456790  # equal as doubles
    path.write_text("id,x\n" + f"{a},0\n" * 5 + f"{b},1\n" * 5 + ",1\n" * 3)
    query = dp.Histogram("x")
    engine = open_engine(path, schema, unit)
    assert engine.totals(query.coded(schema, unit))[:, 0].tolist() == [5, 5]


@pytest.mark.parametrize(
    ("unit", "reach"),
    [
        (dp.Unit(dp.REPLACE_ONE), 2),
        (dp.Unit(dp.ADD_REMOVE, "id", 3), 3),
        (dp.Unit(dp.REPLACE_ONE, "id", 3), 6),
    ],
    ids=str,
)
def test_parallel_events_must_say_how_many_branches_one_person_touches(unit, reach):
    ledger = dp.Ledger(limit=dp.ApproxDP(100, 1e-3), unit=unit)
    branches = [events.DiscreteLaplace(1)] * 9
    with pytest.raises(ValueError, match="reach"):
        ledger.charge(events.Parallel(branches, reach - 1))
    ledger.charge(events.Parallel(branches, reach))
    ledger.charge(events.Parallel(branches[:1], 1))  # there is but one branch to touch
    with pytest.raises(ValueError, match="KeyThreshold"):
        ledger.charge(events.KeyThreshold(10, 1, 150))


def test_fixed_noise_is_noted_in_the_ledger():
    data = data_of()
    with testing.fixed_noise(1):
        release = data.release(dp.Count(), dp.PureDP(1))
    assert "NOT PRIVATE" in release.entry.note
    assert "NOT PRIVATE" not in data.release(dp.Count(), dp.PureDP(1)).entry.note


@pytest.mark.parametrize("name", ["ledger", "unit", "schema", "rows"])
def test_what_a_data_set_protects_cannot_be_changed(name):
    with pytest.raises(AttributeError):
        setattr(data_of(), name, None)


def test_a_tiny_delta_never_passes_for_none():
    event = events.KeyThreshold(1, 1, 5000)
    assert threshold_delta(Fraction(1), 5000, 1, 1) > 0
    assert not dp.accounting.satisfies(event, dp.ApproxDP(1, 0))
    with pytest.raises(ValueError, match="delta"):
        minimum_threshold(Fraction(1), Fraction(1, 10**400), 1, 1)


def test_noise_drawn_in_the_middle_of_a_draw_leaves_no_used_words():
    """Between any two lines of the stream's code, as a signal handler may: all words stay fresh."""
    code = entropy.Stream.fill.__code__
    lines = sorted({line for *_, line in code.co_lines() if line} - {code.co_firstlineno})
    for target in lines:
        nested: list[int] = []

        def inner(frame, what, argument, target=target, nested=nested):
            if what == "line" and frame.f_lineno == target and not nested:
                sys.settrace(None)
                nested.extend(noise.random_words(40).tolist())
            return inner

        def tracer(frame, what, argument, inner=inner):
            return inner if frame.f_code is code else None

        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            words = noise.random_words(40).tolist()
        finally:
            sys.settrace(before)
        assert len(nested) == 40
        words += nested + noise.random_words(40).tolist()
        assert 0 not in words
        assert len(set(words)) == 120


def test_a_carriage_return_in_a_cell_does_not_make_more_rows(tmp_path):
    schema = dp.Schema(x=dp.Integer(0, 1), note=dp.Categorical("a"))
    path = tmp_path / "rows.csv"
    path.write_bytes(b"note,x\r\na,1\r\n" + b"b\ra,1\ra,1\ra,1\n" + b'"c\r\nd",1\r\n')
    engine = open_engine(path, schema, dp.Unit(dp.PUBLIC))
    counted = engine.totals(dp.Count().coded(schema, dp.Unit(dp.PUBLIC)))
    assert counted.tolist() == [[3]]
    known = engine.totals(dp.Count(by="note").coded(schema, dp.Unit(dp.PUBLIC)))
    assert known.tolist() == [[1]]


def test_a_blank_line_is_an_empty_cell_where_there_is_one_column(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x\n1\n\n1\n")
    engine = open_engine(path, SCHEMA, dp.Unit(dp.PUBLIC))
    assert engine.totals(dp.Count().coded(SCHEMA, dp.Unit(dp.PUBLIC))).tolist() == [[3]]

"""The counts of a check: no farther apart for neighbours than stated, and noised as charged."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import discreet as dp
from discreet.engines import open_engine
from discreet.guarantees.check import attacks
from discreet.queries import Check


@pytest.mark.parametrize("query", [Check(), Check("c"), Check("x", "y")], ids=repr)
@pytest.mark.parametrize("unit", attacks.UNITS, ids=str)
def test_sensitivity_is_exact(query, unit):
    """Never below what a search over persons finds, and reached by it."""
    bound = query.sensitivity(attacks.SCHEMA, unit)
    _, _, l1, l2_squared = attacks.find_farthest(query, unit)
    assert (l1, l2_squared) == (bound.l1, bound.l2_squared)


@pytest.mark.parametrize("columns", [1, 4])
def test_sensitivity_grows_with_columns_and_rows_per_person(columns):
    schema = dp.Schema({f"x{at}": dp.Real(0, 1) for at in range(columns)})
    for relation, most in product((dp.ADD_REMOVE, dp.REPLACE_ONE), (1, 3)):
        sides = 2 if relation is dp.REPLACE_ONE else 1
        found = Check().sensitivity(schema, dp.Unit(relation, "who", most))
        assert found.l1 == sides * (most * columns + 1)
        assert found.l2_squared == sides * (most**2 * columns + 1)
        assert Check().sensitivity(schema, dp.Unit(relation)).l1 == sides * columns


def test_counts_carry_the_noise_that_is_charged():
    unit = dp.Unit(dp.PUBLIC)
    query, person = Check("x", "c"), (attacks.FAR, None)
    for budget in (dp.PureDP(1), dp.ZCDP(0.1)):
        ready = query.prepare(budget, attacks.SCHEMA, unit, None)
        engine = open_engine(attacks.table(*person), attacks.SCHEMA, unit)
        exact = attacks.count_states(query, unit, person)
        drawn = np.stack([ready.answer(engine).value - exact for _ in range(600)])
        expected = ready.expected_error(0)[0]
        assert drawn.std() == pytest.approx(expected, rel=0.1)
        assert abs(drawn.mean()) < 0.3 * expected
        # each count has noise of its own
        assert abs(np.corrcoef(drawn.T) - np.eye(drawn.shape[1])).max() < 0.25


def test_what_cannot_be_checked_is_said_from_public_facts():
    schema = dp.Schema(t=dp.Text(), x=dp.Real(0, 9)).derive(b=dp.Bins("x", [3]))
    unit = dp.Unit(dp.ADD_REMOVE)
    with pytest.raises(ValueError, match="column 't' is a Text"):
        Check("t").prepare(dp.PureDP(1), schema, unit, None)
    with pytest.raises(ValueError, match="column 'b' is a Bins"):
        Check("b").prepare(dp.PureDP(1), schema, unit, None)
    with pytest.raises(ValueError, match="nothing to compare"):
        Check().prepare(dp.PureDP(1), dp.Schema(t=dp.Text()), unit, None)
    with pytest.raises(ValueError, match="different"):
        Check("x", "x")
    with pytest.raises(ValueError, match="PUBLIC"):
        Check().prepare(dp.PureDP(math.inf), schema, unit, None)
    with pytest.raises(ValueError, match="rows"):
        Check().prepare(dp.PureDP(1), schema, dp.Unit(dp.REPLACE_ONE), 2**62)

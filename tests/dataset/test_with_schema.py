"""The same rows behind the same door, declared otherwise."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dp

TABLE = {"x": np.array([1.0, 2.0, 3.0]), "s": np.array(["a", "b", "a"])}
SCHEMA = dp.Schema(x=dp.Real(0, 10), s=dp.Categorical("a", "b"))


@pytest.mark.parametrize("unit", [dp.Unit(dp.ADD_REMOVE), dp.Unit(dp.REPLACE_ONE)])
def test_the_ledger_stays_the_same(unit: dp.Unit) -> None:
    ledger = dp.Ledger(limit=dp.PureDP(1), unit=unit)
    data = dp.PrivateDataset(TABLE, SCHEMA, ledger=ledger)
    other = data.with_schema(dp.Schema(x=dp.Real(0, 4)))
    assert other.unit == unit
    assert other.rows == data.rows
    other.release(dp.Mean("x"), dp.PureDP("3/4"))
    with pytest.raises(dp.BudgetExceeded):
        data.release(dp.Mean("x"), dp.PureDP("3/4"))


def test_inside_a_plan_it_is_the_plan_that_pays() -> None:
    ledger = dp.Ledger(limit=dp.PureDP(1))
    data = dp.PrivateDataset(TABLE, SCHEMA, ledger=ledger)
    event = data.plan(dp.Count(), dp.PureDP(1)).event
    with data.prepaid(event, dp.PureDP(1)) as door:
        door.with_schema(dp.Schema(x=dp.Real(0, 4))).release(dp.Count(), dp.PureDP(1))
        with pytest.raises(ValueError, match="nothing more"):
            door.release(dp.Count(), dp.PureDP(1))


def test_what_does_not_fit_is_refused() -> None:
    data = dp.PrivateDataset(TABLE, SCHEMA, unit=dp.PUBLIC)
    with pytest.raises(TypeError, match="no column 'more'"):
        data.with_schema(dp.Schema(more=dp.Real(0, 1)))
    with pytest.raises(TypeError, match="'s'"):
        data.with_schema(dp.Schema(s=dp.Real(0, 1)))

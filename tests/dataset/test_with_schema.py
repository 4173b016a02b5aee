"""The same rows behind the same door, declared otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import discreet as dp
from discreet.testing import exact_totals

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
    with pytest.raises(TypeError, match="must be a dp"):
        data.with_schema({"x": dp.Real(0, 1)})  # type: ignore[arg-type]


def test_a_file_is_read_as_it_was_declared_first(tmp_path: Path) -> None:
    """Cells of a file have no type: another view must not change what the first one reads."""
    path = tmp_path / "rows.csv"
    path.write_text("x,s\n1,a\n2,b\n3,a\n")
    data = dp.PrivateDataset(path, SCHEMA, unit=dp.PUBLIC)
    for other in (dp.Categorical("1", "2"), dp.Text(), dp.Date("2024-01-01", "2024-12-31")):
        with pytest.raises(TypeError, match="column 'x' is read as number already"):
            data.with_schema(dp.Schema(x=other))
    fewer = data.with_schema(dp.Schema(x=dp.Categorical(1, 2)))
    assert exact_totals(fewer, dp.Count(by="x")).ravel().tolist() == [1, 1]
    assert exact_totals(data, dp.Count(by="s", where="x >= 2")).ravel().tolist() == [1, 1]

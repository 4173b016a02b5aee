"""Names and types that an engine can't take are refused in our words, before a row is read."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.matching import ColumnMismatch
from discreet.models.naive_bayes import GaussianNB
from discreet.testing import exact_totals

SCHEMA = dp.Schema(x=dp.Real(0, 4))
NUMBERS = [decimal.Decimal("1.5"), decimal.Decimal(2)]
HALF = pa.array(np.array([1.5, 2], np.float16))
WIDE = pa.array(NUMBERS, pa.decimal256(50, 2))
NARROW = pa.array(NUMBERS, pa.decimal256(30, 2))
PLAIN = pa.array([1.5, 2.0])
WANTED = [[3.5 * 2**18]]


def total(source: Any) -> Any:
    return exact_totals(dp.PrivateDataset(source, SCHEMA, unit=dp.PUBLIC), dp.Sum("x")).tolist()


def file(table: pa.Table, folder: Path) -> Path:
    path = folder / "table.parquet"
    pq.write_table(table, path)
    return path


FORMS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "table": lambda table, _: table,
    "data set": lambda table, _: pyarrow.dataset.dataset(table),
    "data set of files": lambda table, folder: pyarrow.dataset.dataset(file(table, folder)),
    "file": file,
    "pandas": lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype),
}


#: Which forms can't be read with a column of a type.
COLUMNS = {
    "float16": (HALF, {"data set", "data set of files"}),
    "50 digits": (WIDE, set(FORMS)),
    "30 digits": (NARROW, {"data set", "data set of files", "pandas"}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", COLUMNS)
def test_odd_types_are_read_or_refused_in_our_words(form: str, kind: str, tmp_path: Path) -> None:
    build, (column, refused) = FORMS[form], COLUMNS[kind]
    assert total(build(pa.table({"x": PLAIN, "other": column}), tmp_path)) == WANTED
    table = pa.table({"x": column})
    if form not in refused:
        assert total(build(table, tmp_path)) == WANTED
        return
    with pytest.raises(ColumnMismatch, match="column 'x'"):
        total(build(table, tmp_path))


def test_decimals_of_too_many_digits_are_no_ids(tmp_path: Path) -> None:
    """As doubles two of them could be one person."""
    path = file(pa.table({"x": PLAIN, "who": WIDE}), tmp_path)
    unit = dp.Unit(dp.PUBLIC, "who", 1)
    for source in (path, pyarrow.dataset.dataset(path)):
        with pytest.raises(ColumnMismatch, match="column 'who'"):
            dp.PrivateDataset(source, SCHEMA, unit=unit)


def doubled(names: list[str]) -> dict[str, Any]:
    import dask.dataframe

    arrow = pa.table([PLAIN] * 3, names=names)
    pandas = pd.DataFrame([[1.5] * 3, [2.0] * 3], columns=names)
    return {
        "pyarrow": arrow,
        "record batch": arrow.to_batches()[0],
        "data set": pyarrow.dataset.dataset(arrow),
        "pandas": pandas,
        "dask": dask.dataframe.from_pandas(pandas, npartitions=1),
    }


@pytest.mark.parametrize("names", [["x", "x", "y"], ["x", "41", "41"]], ids=["needed", "other"])
def test_two_columns_of_one_name_are_refused_in_our_words(names: list[str]) -> None:
    for form, source in doubled(names).items():
        with pytest.raises(
            ColumnMismatch, match=r"two columns of the same name|stands twice"
        ) as caught:
            dp.PrivateDataset(source, SCHEMA, unit=dp.PUBLIC)
        assert "41" not in str(caught.value), form


def test_a_file_with_two_columns_of_one_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ColumnMismatch, match="column 'x' stands twice"):
        total(file(pa.table([PLAIN] * 2, names=["x", "x"]), tmp_path))
    assert total(file(pa.table([PLAIN] * 3, names=["x", "y", "y"]), tmp_path)) == WANTED


def test_models_refuse_two_features_of_one_name() -> None:
    frame = pd.DataFrame([[1.0, 2.0]], columns=["x", "x"])
    with pytest.raises(TypeError, match="two columns of the same name"):
        GaussianNB(bounds=(0, 4), classes=[0, 1]).fit(frame, [0])


def test_files_whose_types_differ_are_refused_unless_they_differ_in_width(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": pa.array([1], pa.int8())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": pa.array([2], pa.int64())}), tmp_path / "b.parquet")
    assert total(tmp_path) == [[3 * 2**18]]
    pq.write_table(pa.table({"x": pa.array([2.0], pa.float32())}), tmp_path / "b.parquet")
    with pytest.raises(ColumnMismatch, match="column 'x' has different types in the files"):
        total(tmp_path)

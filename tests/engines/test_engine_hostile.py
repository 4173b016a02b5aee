"""No cell makes an engine raise, nor reaches what an engine computes of other rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import tables
from hostile import HOSTILE, hostile, text_array

import discreet as dp
from discreet.engines.base import EngineFailed, withhold_errors
from discreet.testing import exact_keys, exact_totals

SCHEMA = dp.Schema(
    x=dp.Real(0, 4), n=dp.Integer(0, 9), s=dp.Categorical("a", "b"), k=dp.Categorical(1.5, 2)
)
PERSON = dp.Unit(dp.PUBLIC, id_column="person", max_rows=1)
QUERIES = [dp.Sum("x"), dp.Moments("x", "n"), dp.Histogram("s"), dp.Histogram("k"), dp.Median("x")]


@pytest.mark.parametrize("unit", [dp.Unit(dp.PUBLIC), PERSON], ids=["rows", "persons"])
@pytest.mark.parametrize("form", ["lists", "numpy objects", "pandas objects"])
def test_objects_count_as_the_value_they_inherit(form: str, unit: dp.Unit) -> None:
    """Whatever their own methods do: those are never called."""
    build = tables.LOOSE[form]
    names = [*SCHEMA.base, "person"]
    strange = {name: [cell for cell, _ in HOSTILE] for name in names}
    plain = {name: [cell for _, cell in HOSTILE] for name in names}
    for query in QUERIES:
        found = [
            exact_totals(dp.PrivateDataset(build(table, {}), SCHEMA, unit=unit), query).tolist()
            for table in (strange, plain)
        ]
        assert found[0] == found[1], query


def test_dask_counts_objects_as_the_value_they_inherit() -> None:
    import dask
    import dask.dataframe

    def part(start: int, stop: int) -> pd.DataFrame:
        cells = pd.Series([cell for cell, _ in HOSTILE[start:stop]], dtype=object)
        return pd.DataFrame({"x": cells, "person": cells})

    schema = dp.Schema(x=dp.Real(0, 4))
    with dask.config.set({"dataframe.convert-string": False}):
        parts = [dask.delayed(part)(0, 5), dask.delayed(part)(5, 99)]
        frame = dask.dataframe.from_delayed(parts, meta=part(0, 0), verify_meta=False)
        dataset = dp.PrivateDataset(frame, schema, unit=PERSON)
        found = exact_totals(dataset, dp.Sum("x")).tolist()
    plain = {name: [cell for _, cell in HOSTILE] for name in ("x", "person")}
    wanted = exact_totals(dp.PrivateDataset(plain, schema, unit=PERSON), dp.Sum("x"))
    assert found == wanted.tolist()


def test_an_engine_that_panics_shows_nothing() -> None:
    """Errors of other languages need not be Exceptions; what ends a program is let through."""

    class PanicError(BaseException):
        pass

    def fail(error: BaseException) -> Callable[[], None]:
        def act() -> None:
            raise error

        return act

    with pytest.raises(EngineFailed, match="PanicError") as caught:
        withhold_errors(fail(PanicError("secret 4711")))
    assert "4711" not in str(caught.value)
    for error in (KeyboardInterrupt(), SystemExit()):
        with pytest.raises(type(error)):
            withhold_errors(fail(error))


CLEAN = [b"a", b"b", b"ab", b"a", b"c", None]
#: Bytes that are no UTF-8: of Latin-1, cut off, surrogates, and those that no UTF-8 has.
WRONG = [
    b"\xfc",
    b"\xf6",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xff",
    b"\xfe",
    b"\xff\xff\xff\xff\xff",
    b"a\xff",
]
ROWS = [*CLEAN, *WRONG, *WRONG]
TEXT = dp.Schema(s=dp.Categorical("a", "b"), t=dp.Text(), x=dp.Real(0, 1))
KINDS = [
    pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()),
]  # fmt: skip


def arrow_table(cells: list[bytes | None], kind: Any = None) -> pa.Table:
    text = text_array(cells, kind)
    x = pa.array([0.5] * len(cells))
    return pa.table({"s": text, "t": text, "person": text, "x": x})


def dask_frame(table: pa.Table) -> Any:
    import dask.dataframe

    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return dask.dataframe.from_pandas(frame, npartitions=3, sort=False)


def parquet(table: pa.Table, folder: Path) -> Path:
    place = folder / "bad"
    place.mkdir(exist_ok=True)
    pq.write_table(table.slice(0, 4), place / "a.parquet")
    pq.write_table(table.slice(4), place / "b.parquet", row_group_size=3)
    return place


FORMS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "pyarrow": lambda table, _: table,
    "record batch": lambda table, _: table.combine_chunks().to_batches()[0],
    "mapping": lambda table, _: {name: table[name] for name in table.column_names},
    "polars": lambda table, _: pl.from_arrow(table),
    "polars lazy": lambda table, _: pl.from_arrow(table).lazy(),  # type: ignore[union-attr]
    "mapping of polars": lambda table, _: pl.from_arrow(table).to_dict(),  # type: ignore[union-attr]
    "pandas": lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype),
    "mapping of pandas": lambda table, _: dict(table.to_pandas(types_mapper=pd.ArrowDtype)),
    "duckdb": lambda table, _: duckdb.connect().from_arrow(table),
    "dask": lambda table, _: dask_frame(table),
    "parquet": parquet,
    "data set": lambda table, folder: pyarrow.dataset.dataset(parquet(table, folder)),
}  # fmt: skip


def answers(source: Any) -> list[Any]:
    found: list[Any] = []
    for unit in (dp.Unit(dp.PUBLIC), PERSON):
        dataset = dp.PrivateDataset(source, TEXT, unit=unit)
        found += [
            exact_totals(dataset, query).tolist()
            for query in (dp.Histogram("s"), dp.Sum("x"), dp.Sum("x", by="s"), dp.Median("x"))
        ]
        found.append(exact_keys(dataset, dp.KeyCounts("t", delta=0.5)))
    return found


@pytest.fixture(scope="module")
def wanted() -> list[Any]:
    """What a list of the same text gives: bytes that are no UTF-8 are no category, no key, but an id."""
    cells = [None if c is None else c.decode("utf-8", "surrogateescape") for c in ROWS]
    return answers({"s": cells, "t": cells, "person": cells, "x": [0.5] * len(cells)})


def test_the_rule_for_text_that_is_no_utf8(wanted: list[Any]) -> None:
    rows, persons = wanted[:5], wanted[5:]
    assert (rows[0], persons[0]) == ([[2], [1]], [[1], [1]])
    assert rows[1] == [[len(ROWS) * 2**19]]
    assert persons[1] == [[(len(set(ROWS)) - 1) * 2**19]]
    assert rows[4] == {"a": 2, "b": 1, "ab": 1, "c": 1}


def takes(form: str, kind: Any) -> bool:
    """Whether a form has a path of its own for a type of text."""
    if form in ("dask", "data set"):
        return bool(kind == pa.string())  # the same path for all
    # pandas lacks functions for views: they are refused when they are opened
    return not (form == "pandas" and kind == pa.string_view())


@pytest.mark.parametrize(
    ("form", "kind"), [pair for pair in itertools.product(FORMS, KINDS) if takes(*pair)], ids=str
)
def test_text_that_is_no_utf8_raises_nowhere(
    form: str, kind: Any, tmp_path: Path, wanted: list[Any]
) -> None:
    assert answers(FORMS[form](arrow_table(ROWS, kind), tmp_path)) == wanted


def test_many_categories_beside_text_that_is_no_utf8(tmp_path: Path) -> None:
    """With many values engines look up in a table instead of comparing."""
    schema = dp.Schema(s=dp.Categorical("a", "b", *(f"v{i}" for i in range(200))), x=dp.Real(0, 1))
    table = arrow_table(ROWS)
    for form, build in FORMS.items():
        for unit in (dp.Unit(dp.PUBLIC), PERSON):
            dataset = dp.PrivateDataset(build(table, tmp_path), schema, unit=unit)
            found = exact_totals(dataset, dp.Histogram("s"))[:3, 0].tolist()
            assert found == [2 if unit is not PERSON else 1, 1, 0], form


def test_polars_where_there_is_no_duckdb_reads_text_that_is_no_utf8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: list[Any]
) -> None:
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "duckdb" else found(name, *a)
    )
    assert answers(parquet(arrow_table(ROWS), tmp_path)) == wanted


#: Forms that models take: one column of them has a length and can be a target.
IN_MEMORY = ["pyarrow", "mapping", "polars", "mapping of polars", "pandas", "mapping of pandas"]


@pytest.mark.parametrize("form", IN_MEMORY)
def test_models_take_text_that_is_no_utf8(form: str, tmp_path: Path) -> None:
    from discreet.models.naive_bayes import CategoricalNB

    table = arrow_table(ROWS).select(["s"])
    y = [0, 1] * (len(ROWS) // 2)
    model = CategoricalNB(categories=["a", "b"], classes=[0, 1])
    source = FORMS[form](table, tmp_path)
    assert model.fit(source, y).n_features_in_ == 1
    groups = FORMS[form](arrow_table(ROWS).select(["person"]), tmp_path)["person"]
    unit = dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=1)
    model = CategoricalNB(categories=["a", "b"], classes=[0, 1], unit=unit)
    assert model.fit(source, y, groups=groups).n_features_in_ == 1


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2**62], pa.timestamp("s")),
        pa.array([2**31 - 1], pa.date32()),
        pl.Series([2**62]).cast(pl.Datetime("ms")),
        pd.Series(pa.array([2**62], pa.timestamp("s")), dtype=pd.ArrowDtype(pa.timestamp("s"))),
        pa.array([[1]]),
        pl.Series([[1]]),
    ],
    ids=lambda column: type(column).__module__,
)
def test_columns_of_other_types_are_refused_by_type(column: Any) -> None:
    """Some of their cells can't be made Python objects; none is looked at."""
    empty = column[:0]
    messages = set()
    for cells in (column, empty):
        dp.PrivateDataset(
            {"x": [1.0] * len(cells), "when": cells}, dp.Schema(x=dp.Real(0, 1)), unit=dp.PUBLIC
        )
        with pytest.raises(TypeError, match="column 'when' is declared as numbers") as caught:
            dp.PrivateDataset({"when": cells}, dp.Schema(when=dp.Real(0, 1)), unit=dp.PUBLIC)
        messages.add(str(caught.value))
    assert len(messages) == 1


@pytest.mark.parametrize("nulls", [False, True])
def test_arrow_columns_in_a_mapping_are_what_they_say(nulls: bool) -> None:
    more: list[Any] = [None] if nulls else []
    columns = {
        "x": pa.array([1.0, 3.0, *more]),
        "n": pl.Series([2**60, 3, *more], dtype=pl.Int64),
        "s": pa.chunked_array([pa.array(["a"]), pa.array(["b", *more], pa.string())]),
        "k": pd.Series([1.5, 2, *more], dtype="Float64"),
        "person": pa.array([2**60, 2**60 + 1, *more], pa.int64()),
    }
    dataset = dp.PrivateDataset(columns, SCHEMA, unit=PERSON)
    assert exact_totals(dataset, dp.Histogram("s")).tolist() == [[1], [1]]
    assert exact_totals(dataset, dp.Sum("n")).tolist() == [[12]]
    assert exact_totals(dataset, dp.Sum("x")).tolist() == [[4 * 2**18]]
    with pytest.raises(TypeError, match="declared as text"):
        dp.PrivateDataset({"s": columns["n"]}, dp.Schema(s=dp.Categorical("a")), unit=dp.PUBLIC)


def test_a_hostile_cell_is_hostile() -> None:
    """Otherwise the tests above say nothing."""
    for act in (float, int, bool, hash, repr, list):
        with pytest.raises(RuntimeError):
            act(hostile(int, 2))  # type: ignore[operator]
    with pytest.raises(RuntimeError):
        isinstance(hostile(object), str)
    with pytest.raises(UnicodeDecodeError):
        text_array([b"\xff"]).to_pylist()
    assert np.float64(1.5) == 1.5

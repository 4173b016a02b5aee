"""Names and types that a file or database declares: no row is read for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.dataset import list_columns
from discreet.engines.parquet import _PolarsFiles
from discreet.matching import ColumnMismatch

SECRET = "Wilhelmine"


@pytest.fixture
def parquet(tmp_path: Path) -> str:
    polars = pytest.importorskip("polars")
    path = str(tmp_path / "people.parquet")
    kind = polars.Enum(["a", SECRET])
    columns = {"age": [34], "name": [SECRET], "group": polars.Series([SECRET], dtype=kind)}
    polars.DataFrame(columns).write_parquet(path)
    return path


def test_a_parquet_file_tells_names_and_types(parquet: str) -> None:
    pytest.importorskip("duckdb")
    found = list_columns(parquet)
    assert [name for name, _ in found] == ["age", "name", "group"]
    assert dict(found)["age"] == "Int64"
    assert SECRET not in str(found)


def test_without_duckdb_polars_tells_them(parquet: str) -> None:
    found = _PolarsFiles([parquet]).declared()
    assert dict(found)["age"] == "Int64"
    assert dict(found)["group"] == "Enum"
    assert SECRET not in str(found)


def test_a_table_of_duckdb_tells_them(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "clinic.db")) as connection:
        connection.execute("CREATE TABLE people (age INTEGER, day DATE)")
    url = f"duckdb:///{tmp_path / 'clinic.db'}?table=people"
    assert list_columns(url) == [("age", "Int32"), ("day", "Date")]
    with pytest.raises(LookupError, match="there is no table"):
        list_columns(url.replace("=people", "=persons"))


def test_a_first_line_gives_names_alone(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"name,age\n{SECRET},34\n")
    assert list_columns(str(path)) == [("name", ""), ("age", "")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"name;age\n{SECRET};34\n", "separated by semicolons"),
        (f"name\tage\n{SECRET}\t34\n", "separated by tabs"),
        (f"name,age\r{SECRET},34\r", "carriage return"),
    ],
)
def test_a_file_of_another_form_is_refused_without_its_cells(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(text.encode())
    with pytest.raises(ColumnMismatch, match=message) as refused:
        list_columns(str(path))
    assert SECRET not in str(refused.value)


def test_an_address_is_never_repeated() -> None:
    with pytest.raises(ValueError, match="no engine reads") as refused:
        list_columns("mysql://user:hunter2@host/database?table=t")
    assert "hunter2" not in str(refused.value)

"""Tables in another form than ours say what they are and how to get one that can be read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import discreet as dp
from discreet.dataset import list_columns

SCHEMA = dp.Schema(age=dp.Integer(0, 99), ward=dp.Categorical("A", "B"))
ROWS = "age,ward\n40,A\n50,B\n"


def open_file(path: Path) -> dp.PrivateDataset:
    return dp.PrivateDataset(str(path), SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(1)))


@pytest.mark.parametrize("read", [open_file, list_columns])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_file_of_utf_16_is_called_one(tmp_path, read, encoding, ending):
    mark = "" if encoding == "utf-16" else "\ufeff"
    data = (mark + ROWS).encode(encoding)
    path = tmp_path / f"rows{ending}"
    path.write_bytes(gzip.compress(data) if ending.endswith(".gz") else data)
    with pytest.raises(ValueError, match="is written as UTF-16: save it as UTF-8"):
        read(path)


@pytest.mark.parametrize("read", [open_file, list_columns])
@pytest.mark.parametrize(
    ("separator", "words"),
    [
        (";", r"sep=';', decimal=','\)"),
        ("\t", r"sep='\\t', dtype=str\)"),
        ("|", r"sep='\|', dtype=str\)"),
    ],
)
def test_a_file_with_other_separators_is_told_how_to_become_one_with_commas(
    tmp_path, read, separator, words
):
    path = tmp_path / "rows.csv"
    path.write_text(ROWS.replace(",", separator), "utf-8")
    with pytest.raises(TypeError, match=rf"pandas.read_csv\('old.csv', {words}.to_csv\('new.csv'"):
        read(path)


@pytest.mark.parametrize("name", ["rows.tsv", "rows.txt", "rows.xlsx"])
def test_a_file_of_another_kind_is_told_what_to_write_instead(tmp_path, name):
    path = tmp_path / name
    path.write_text(ROWS, "utf-8")
    with pytest.raises(ValueError, match="write other files as CSV first, or open them with"):
        open_file(path)


@pytest.mark.parametrize(
    ("cells", "declared"),
    [
        (["3", "4"], dp.Integer(0, 10)),
        (["3", "4"], dp.Real(0, 10)),
        (["3", "4"], dp.Categorical(3, 4)),
        ([3, 4], dp.Categorical("3", "4")),
        ([True, False], dp.Text()),
    ],
)
def test_categories_of_pandas_are_refused_where_their_type_would_be(cells, declared):
    pandas = pytest.importorskip("pandas")
    if not hasattr(pandas.Series(["a"]).dtype, "storage"):
        pytest.skip("text has no type of its own in this pandas")
    for column in (pandas.Series(cells * 9), pandas.Series(cells * 9).astype("category")):
        table = pandas.DataFrame({"x": column})
        with pytest.raises(TypeError, match="column 'x' is declared as"):
            dp.PrivateDataset(table, dp.Schema(x=declared), ledger=dp.Ledger(limit=dp.PureDP(1)))


def test_categories_of_pandas_are_read_where_their_type_fits():
    pandas = pytest.importorskip("pandas")
    for cells, declared in (([3, 4], dp.Integer(0, 10)), (["a", "b"], dp.Categorical("a", "b"))):
        table = pandas.DataFrame({"x": pandas.Series(cells * 9).astype("category")})
        dp.PrivateDataset(table, dp.Schema(x=declared), ledger=dp.Ledger(limit=dp.PureDP(1)))

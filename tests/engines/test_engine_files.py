"""The file that is named is the file that is read, and its first line stays in it."""

from __future__ import annotations

import gzip
import importlib.util
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines import delimited
from discreet.matching import ColumnMismatch
from discreet.testing import exact_totals

REAL = dp.Schema(x=dp.Real(0, 1024))


@pytest.fixture(params=["duckdb", "polars"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Who reads Parquet files: DuckDB, or Polars where there is none."""
    if request.param == "polars":
        found = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util,
            "find_spec",
            lambda name, *a: None if name == "duckdb" else found(name, *a),
        )
    return str(request.param)


def write(path: Path, *cells: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"x": [float(cell) for cell in cells]}), path)
    return path


def total(source: Any) -> float:
    """The sum of x, exactly."""
    dataset = dp.PrivateDataset(source, REAL, unit=dp.PUBLIC)
    return float(exact_totals(dataset, dp.Sum("x"))[0, 0]) / 1024


NAMES = [
    "d[1]",
    "d*",
    "d?",
    "d[!1]",
    "a\\b",
    "~d",
    "it's",
    "d{1,2}",
    "d%41",
    "[",
    "[]",
    "d[*]",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("reader")
def test_a_path_that_exists_is_that_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in ("d1", "d2", "d", "dd", "a1", "ab", "a[1]", "dA", "1"):
        write(tmp_path / f"{other}.parquet", 2)
    path = write(tmp_path / f"{name}.parquet", 1)
    monkeypatch.chdir(tmp_path)
    assert total(path) == total(str(path)) == total(path.name) == 1


@pytest.mark.usefixtures("reader")
def test_a_folder_with_signs_in_its_name_is_that_folder(tmp_path: Path) -> None:
    write(tmp_path / "y1" / "a.parquet", 2)
    write(tmp_path / "y[1]" / "a[1].parquet", 1)
    write(tmp_path / "y[1]" / "deep2" / "b.parquet", 4)
    assert total(tmp_path / "y[1]") == 5
    assert total(f"{tmp_path}/y[1]/*.parquet") == 1
    assert total(f"{tmp_path}/y[1]/**/*.parquet") == 5
    assert total(f"{tmp_path}/y[1]/deep[12]/?.parquet") == 4
    assert total(f"{tmp_path}/y?/a.parquet") == 2


@pytest.mark.usefixtures("reader")
def test_a_name_with_brackets_is_no_pattern(tmp_path: Path) -> None:
    write(tmp_path / "d1.parquet", 2)
    with pytest.raises(FileNotFoundError, match=r"no file .*d\[1\]"):
        total(tmp_path / "d[1].parquet")


def test_a_name_that_duckdb_would_take_for_a_pattern_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a1.parquet", 2)
    with pytest.raises(ValueError, match="backslash"):
        total(write(tmp_path / "a\\[1].parquet", 1))


@pytest.mark.usefixtures("reader")
def test_folders_named_after_a_column_do_not_replace_it(tmp_path: Path) -> None:
    path = write(tmp_path / "x=9" / "f.parquet", 1, 2)
    write(tmp_path / "x=10" / "f.parquet", 4)
    assert total(path) == 3
    assert total(tmp_path) == 7
    assert total(f"{tmp_path}/x=*/*.parquet") == 7


PERSON = dp.Unit(dp.PUBLIC, id_column="name", max_rows=1)
AGES = dp.Schema(age=dp.Integer(0, 127))


def ages(path: Path, content: bytes) -> int:
    """The sum of ages, one row per person."""
    path.write_bytes(content)
    dataset = dp.PrivateDataset(path, AGES, unit=PERSON)
    return int(exact_totals(dataset, dp.Sum("age"))[0, 0])


#: Names that are not the same, with what once stood for both.
DIFFERENT = {
    "latin-1": (b"M\xfcller", b"M\xf6ller"),
    "cut off": (b"M\xc3", b"M\xc4"),
    "encoded surrogates": (b"\xed\xb2\x80", b"\xed\xb2\x81"),
    "a byte and its surrogate": (b"\xff", b"\xed\xb3\xbf"),
    "the replacement character": (b"\xff", b"\xef\xbf\xbd"),
    "nul": (b"a\0", b"a\xef\xbf\xbd"),
    "nul or not": (b"a\0", b"a"),
    "carriage return": (b"a\rb", b"a\xef\xbf\xbdb"),
    "carriage return or nul": (b"a\rb", b"a\0b"),
    "ends of lines": (b'"a\r\nb"', b'"a\nb"'),
    "carriage return before the end": (b'"a\r"', b"a"),
}


@pytest.mark.parametrize("names", DIFFERENT.values(), ids=DIFFERENT)
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_ids_of_a_file_are_compared_as_bytes(
    names: tuple[bytes, bytes], ends: bytes, tmp_path: Path
) -> None:
    lines = [b"name,age", names[0] + b",1", names[1] + b",2", names[0] + b",1", b""]
    assert ages(tmp_path / "names.csv", ends.join(lines)) == 3


def test_one_person_of_a_latin_1_file_moves_a_count_by_one(tmp_path: Path) -> None:
    """As one person, Möller's row would make way for Müller's, and two cells of a histogram move."""
    schema = dp.Schema(age=dp.Categorical(1, 2))
    path = tmp_path / "latin.csv"
    found = []
    for rows in (["Möller,1"], ["Möller,1", "Müller,2"]):
        path.write_bytes("\n".join(["name,age", *rows, ""]).encode("latin-1"))
        dataset = dp.PrivateDataset(path, schema, unit=PERSON)
        found.append(exact_totals(dataset, dp.Histogram("age"))[:, 0])
    assert abs(found[1] - found[0]).sum() == 1


def test_text_of_a_file_is_what_it_says(tmp_path: Path) -> None:
    """NUL and carriage returns stand in categories as they do; bytes that are no UTF-8 are unknown."""
    schema = dp.Schema(s=dp.Categorical("a\0b", "a\rb", "a\r\nb", "\ufffd", "ö"), t=dp.Text())
    cells = [b"a\0b", b"a\rb", b'"a\r\nb"', b"\xff", b"\xc3\xb6", b"\xf6", b"\xef\xbf\xbd"]
    path = tmp_path / "text.csv"
    path.write_bytes(b"s,t\n" + b"".join(cell + b",k\xff\n" for cell in cells))
    dataset = dp.PrivateDataset(path, schema, unit=dp.PUBLIC)
    assert exact_totals(dataset, dp.Histogram("s"))[:, 0].tolist() == [1, 1, 1, 1, 1]
    keys = dp.KeyCounts("t", delta=0.5)
    assert len(dataset.release(keys, dp.ApproxDP(50, 0.5)).value) == 0


SECRETS = ["41", "38", "F", "HIV+"]
FIRST_LINES: dict[str, bytes] = {
    "no header": b"41,38,F,HIV+\n52,10,M,none\n",
    "no header, dos": b"41,38,F,HIV+\r\n52,10,M,none\r\n",
    "carriage returns": b"age,sex,who\r41,F,HIV+\r38,M,none\r",
    "carriage returns, no header": b"41,38,F,HIV+\r52,10,M,none\r",
    "one quotation mark": b'"41,38,F,HIV+\n52,10,M,none\n',
    "other separator": b"41;38;F;HIV+\n",
    "a column is there": b"age,41,38,F,HIV+\n",
}
PEOPLE = dp.Schema(age=dp.Integer(0, 120), sex=dp.Categorical("F", "M"))


def refusal(act: Callable[[], Any]) -> str:
    with pytest.raises(ColumnMismatch) as caught:
        act()
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "".join(traceback.format_exception_only(caught.value)).count("\n") == 1
    return str(caught.value)


@pytest.mark.parametrize("content", FIRST_LINES.values(), ids=FIRST_LINES)
@pytest.mark.parametrize("unit", [dp.PUBLIC, dp.Unit(dp.PUBLIC, "who", 1)], ids=["rows", "persons"])
def test_no_error_shows_the_first_line_of_a_file(content: bytes, unit: Any, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    message = refusal(lambda: dp.PrivateDataset(path, PEOPLE, unit=unit))
    assert not any(secret in message for secret in SECRETS)
    assert "no column '" in message or "carriage return" in message
    assert "people.csv" in message


def test_a_file_in_utf_16_is_refused_without_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes("41,38,F,HIV+\n".encode("utf-16"))
    with pytest.raises(
        ValueError, match=r"'people\.csv' is written as UTF-16: save it as UTF-8"
    ) as caught:
        dp.PrivateDataset(path, PEOPLE, unit=dp.PUBLIC)
    assert not any(secret in str(caught.value) for secret in ("41", "38", "HIV"))


def test_errors_of_files_say_what_is_there_and_what_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,41,38\n")
    message = refusal(lambda: dp.PrivateDataset(path, PEOPLE, unit=dp.PUBLIC))
    assert "no column 'sex'" in message
    assert "3 names" in message
    assert "age" in message
    path.write_bytes(b"age,sex\r41,F\r")
    message = refusal(lambda: dp.PrivateDataset(path, PEOPLE, unit=dp.PUBLIC))
    assert "carriage return" in message
    assert not any(digit in message for digit in "0123456789")


def test_the_length_of_a_file_of_one_line_is_not_told(tmp_path: Path) -> None:
    """Its lines end with carriage returns, so that the names of its first line are all its cells."""
    path = tmp_path / "people.csv"
    messages = set()
    for rows in (1, 50):
        path.write_bytes(b"age,sex\r" + b"41,F\r" * rows)
        messages.add(refusal(lambda: dp.PrivateDataset(path, PEOPLE, unit=dp.PUBLIC)))
    assert len(messages) == 1


def test_frames_whose_names_are_a_row_do_not_show_it(tmp_path: Path) -> None:
    import pandas as pd
    import polars as pl

    frames = [pd.DataFrame([[52, 10, "M", "none"]], columns=SECRETS),
              pl.DataFrame([[52], [10], ["M"], ["none"]], schema=SECRETS)]  # fmt: skip
    frames += [frames[1].to_arrow(), frames[1].lazy(), frames[1].to_dict(as_series=False)]
    for frame in frames:
        message = refusal(lambda frame=frame: dp.PrivateDataset(frame, PEOPLE, unit=dp.PUBLIC))  # type: ignore[misc]
        assert not any(secret in message for secret in SECRETS)
        assert "no column 'age'" in message
        assert "4" in message


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
def test_a_number_with_a_plus_sign_is_that_number(name: str, tmp_path: Path) -> None:
    ones, others = ["+1", "1", " +1 ", "01", "1.", "+1e0"], ["++1", "+", "0x1", "1,5", "+-1"]
    lines = [f'{cell},{cell if cell in ones else 1},"{cell}"' for cell in ones]
    lines += [f'"{cell}",0,"{cell}"' for cell in others]
    text = "\n".join(["x,kind,who", *lines]).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    schema = dp.Schema(x=dp.Integer(-9, 9, fill=0), kind=dp.Categorical(0, 1))
    data = dp.PrivateDataset(path, schema, unit=dp.PUBLIC)
    assert exact_totals(data, dp.Sum("x")).ravel().tolist() == [len(ones)]
    assert exact_totals(data, dp.Count(by="kind")).ravel().tolist() == [len(others), len(ones)]
    persons = dp.Unit(dp.PUBLIC, id_column="who", max_rows=1)
    each = dp.PrivateDataset(path, schema, unit=persons)  # ids are text: all are different
    assert exact_totals(each, dp.Count()).ravel().tolist() == [len(ones) + len(others)]


def test_a_column_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    path.write_text("age,sex,other,other,age\n41,F,1,2,3\n")
    message = refusal(lambda: dp.PrivateDataset(path, PEOPLE, unit=dp.PUBLIC))
    assert "'age'" in message
    assert "twice" in message
    path.write_text("age,sex,other,other\n41,F,1,2\n")
    dp.PrivateDataset(path, PEOPLE, unit=dp.PUBLIC)


def test_chunks_share_ids_of_any_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "CHUNK", 2)
    rows = [b"\xfc,1", b"\xf6,2", b"a\0,4", b"\xfc,1", b"a\0,4", b"\xf6,2", b"a\r,8", b"\xfc,1"]
    assert ages(tmp_path / "n.csv", b"\n".join([b"name,age", *rows, b""])) == 15

"""A table in every form: nothing in it runs, in a browser or in a spreadsheet, and nothing is lost."""

from __future__ import annotations

import csv
import io
from datetime import date
from fractions import Fraction
from html.parser import HTMLParser
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.show import Table, native_frame
from discreet.show.plots import is_ordered

NASTY = [
    "<script>alert(1)</script>",
    '" onload="x',
    "=1+1",
    "@SUM(A1)",
    "+1-cmd",
    "\t=x",
    "a\nb",
    "-2",
]


class Reader(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


def test_a_table_prints_aligned_with_caption_and_note():
    table = Table(["ward", "mean"], [["A", 1 / 3], ["long name", 12345678]], "costs", "noise alone")
    assert str(table).splitlines() == [
        "costs",
        "  ward           mean",
        "  A          0.333333",
        "  long name  12345678",
        "  noise alone",
    ]


def test_a_note_of_several_lines_stays_so_and_other_text_makes_no_lines():
    table = Table(["a"], [["x\ny"]], "cap\ntion", "one\n  two")
    assert str(table).splitlines() == ["cap\\ntion", "  a", "  x\\ny", "  one", "  two"]
    assert table.to_html().count("<p ") == 2


def test_many_rows_are_cut_for_people_and_whole_for_machines():
    table = Table(["k"], [[k] for k in range(100)])
    assert str(table).splitlines()[-1] == "  ... and 60 more"
    assert "... and 60 more" in table.to_html()
    assert len(table.to_frame()) == 100
    assert len(table.to_csv().splitlines()) == 101
    assert len(Table.from_json(table.to_json()).rows) == 100


@given(st.lists(st.text(max_size=30), min_size=1, max_size=4))
def test_no_text_becomes_a_tag(cells):
    page = Reader()
    table = Table(["<b>name</b>"], [[cell] for cell in cells], cells[0], cells[-1])
    page.feed(table.to_html())
    assert page.tags <= {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    assert page.attributes <= {"style", "scope"}


def test_html_takes_its_colours_from_the_page():
    page = Table(["a"], [["x"]], "caption").to_html()
    assert "color:inherit" in page
    assert "background:transparent" in page
    assert 'scope="col"' in page
    assert "<script" not in Table(["a"], [[cell] for cell in NASTY], NASTY[0]).to_html()


@pytest.mark.parametrize("cell", [cell for cell in NASTY if cell[0] in "=@+\t"])
def test_a_spreadsheet_runs_no_cell_name_or_label(cell):
    text = Table([cell, "n"], [[cell, -1]]).to_csv()
    for row in csv.reader(io.StringIO(text, newline="")):
        assert row[0].startswith("'")
    assert text.rstrip().endswith(",-1")


def test_csv_goes_to_a_file_too(tmp_path):
    path = tmp_path / "out.csv"
    table = Table(["a", "b"], [["ü", Fraction(1, 3)], [None, date(2024, 1, 2)]])
    assert table.to_csv(path) is None
    assert path.read_bytes().decode() == table.to_csv() == "a,b\r\nü,1/3\r\n,2024-01-02\r\n"


CELLS = (
    st.none()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.booleans()
    | st.fractions()
    | st.dates()
    | st.text(st.characters(exclude_categories=["Cs"]))
)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_json_keeps_every_cell(rows):
    table = Table(["a", "b"], rows, "caption", "note")
    back = Table.from_json(table.to_json())
    assert back.to_json() == table.to_json()
    assert [list(map(type, row)) for row in back.rows] == [
        list(map(type, row)) for row in table.rows
    ]
    assert back == table


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
@given(rows=st.lists(CELLS, min_size=1, max_size=5))
def test_any_cells_make_a_frame(backend, rows):
    frame = Table(["a"], [[cell] for cell in rows]).to_frame(backend)
    assert type(frame).__module__.startswith(backend)
    assert len(frame) == len(rows)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_large_integers_keep_their_digits_in_frames(backend):
    frame = Table(["a", "b"], [[2**60 + 1, 2**70], [1, 1]]).to_frame(backend)
    first = frame["a"][0].as_py() if backend == "pyarrow" else frame["a"][0]
    second = frame["b"][0].as_py() if backend == "pyarrow" else frame["b"][0]
    assert int(first) == 2**60 + 1
    assert second == str(2**70)


def hide(monkeypatch, *missing):
    """Make libraries look as if they weren't installed."""

    def find(name):
        return None if name in missing else find_spec(name)

    monkeypatch.setattr("discreet.show.frames.find_spec", find)


def test_the_first_library_that_is_there_makes_the_frame(monkeypatch):
    table = Table(["a"], [[1]])
    assert type(table.to_frame()).__module__.startswith("pandas")
    hide(monkeypatch, "pandas")
    assert type(table.to_frame()).__module__.startswith("polars")
    hide(monkeypatch, "pandas", "polars")
    assert type(table.to_frame()).__module__.startswith("pyarrow")


def test_a_missing_library_is_told_with_what_to_install(monkeypatch):
    hide(monkeypatch, "pandas", "polars", "pyarrow")
    with pytest.raises(ImportError, match="pip install pandas"):
        native_frame({"a": [1]})
    hide(monkeypatch, "pandas")
    with pytest.raises(ImportError, match=r"pip install pandas, or give backend='polars'\."):
        native_frame({"a": [1]}, "pandas")
    with pytest.raises(ValueError, match="backend must be one of 'pandas', 'polars', 'pyarrow'"):
        native_frame({"a": [1]}, "excel")


def test_a_table_needs_names_and_rows_that_fit():
    with pytest.raises(TypeError, match="names"):
        Table([], [])
    with pytest.raises(ValueError, match="different names"):
        Table(["a", "a"], [])
    with pytest.raises(ValueError, match="2 cells each"):
        Table(["a", "b"], [[1]])
    with pytest.raises(KeyError, match="there are: a"):
        Table(["a"], []).column("b")


def test_numpy_numbers_become_pythons():
    table = Table(["a", "b"], [[np.int64(3), np.float64(0.5)]])
    assert list(map(type, table.rows[0])) == [int, float]


def test_groups_with_an_order_are_known_by_their_labels():
    for labels in ([1, 2], ["[0, 3)", "[3, 9]"], ["2024-01", "2024-02"], [date(2024, 1, 1)]):
        assert is_ordered(labels)
    for labels in (["A", "B"], [True, False], ["[0, 3)", "other"]):
        assert not is_ordered(labels)

"""The record of what takes long is of tests that there are."""

from __future__ import annotations

import time
from pathlib import Path

from durations import long_tests, processor_seconds, read_long, record_seconds

ROOT = Path(__file__).parents[2]


def test_what_took_long_is_marked_so():
    lines = "1.01s call     a.py::test_one[x y]\n\n0.99s call     a.py::test_two\n"
    assert read_long(lines) == {"a.py::test_one[x y]"}


def test_what_took_long_is_still_there():
    for test in long_tests():
        path, name = test.split("::")
        assert f"def {name.split('[')[0]}(" in (ROOT / path).read_text("utf-8"), test


def test_long_tests_are_marked_long(request):
    marked = [item for item in request.session.items if item.nodeid in long_tests()]
    assert all(item.get_closest_marker("long") for item in marked)


def test_times_of_the_processor_are_written_as_the_record_has_them(tmp_path):
    path = str(tmp_path / "times.txt")
    record_seconds("a.py::test_one[x y]", 5.014, path)
    record_seconds("a.py::test_two", 0.2, path)
    assert read_long(Path(path).read_text("utf-8")) == {"a.py::test_one[x y]"}


def test_a_test_that_waits_takes_no_time_of_the_processor():
    start = processor_seconds()
    time.sleep(0.3)
    assert processor_seconds() - start < 0.2
    while processor_seconds() - start < 0.2:
        sum(range(10_000))

"""The record of what takes long is of tests that there are."""

from __future__ import annotations

from pathlib import Path

from durations import long_tests, read_long

ROOT = Path(__file__).parents[2]


def test_what_took_long_is_marked_so():
    lines = "5.01s call     a.py::test_one[x y]\n\n4.99s call     a.py::test_two\n"
    assert read_long(lines) == {"a.py::test_one[x y]"}


def test_what_took_long_is_still_there():
    for test in long_tests():
        path, name = test.split("::")
        assert f"def {name.split('[')[0]}(" in (ROOT / path).read_text("utf-8"), test


def test_long_tests_are_marked_long(request):
    marked = [item for item in request.session.items if item.nodeid in long_tests()]
    assert all(item.get_closest_marker("long") for item in marked)

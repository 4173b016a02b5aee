"""The share of long tests that a commit runs."""

from __future__ import annotations

import re

from shares import find_commit, is_chosen

TESTS = [f"elsewhere.py::test_{at}" for at in range(3000)]
COMMITS = [f"{at:040x}" for at in range(40)]


def test_a_share_is_about_as_large_as_it_says():
    for commit in COMMITS:
        chosen = sum(is_chosen(test, commit, 3) for test in TESTS)
        assert 850 < chosen < 1150


def test_every_test_is_in_the_share_of_some_commit():
    missed = [test for test in TESTS if not any(is_chosen(test, name, 3) for name in COMMITS)]
    assert missed == []


def test_one_part_is_all_of_them():
    assert all(is_chosen(test, "", 1) for test in TESTS)


def test_what_people_touch_is_in_every_share():
    for commit in COMMITS:
        assert is_chosen("tests/studio/test_studio_way.py::test", commit, 1000)
        assert is_chosen("tests/cli/test_interruptions.py::test_any", commit, 1000)


def test_the_commit_has_a_name_or_none():
    assert re.fullmatch("([0-9a-f]{40})?", find_commit())

"""What people try on their first day, and the sentence that helps them on."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dp

FACTS = ("-s", "visits.toml", "-l", "budget.db", "-e", "0.5")


def test_two_groups_in_one_option_are_told_to_be_given_apart(clinic):
    refused = clinic("query", "-d", "visits.csv", *FACTS, "--count", "--by", "ward,age")
    assert refused.exit_code == 2
    assert "as in --by ward --by age." in refused.stderr
    assert len(clinic.ledger().entries()) == 1


def test_a_name_that_stands_twice_is_said_and_not_asked_for(shell):
    Path("twice.csv").write_text("a,b,a\n1,2,3\n", "utf-8")
    done = shell.done("init", "twice.csv", "--out", "facts.toml", input="y\ninteger(0, 9)\n\n")
    assert "a stands twice in the first line" in done.stderr
    assert list(dp.Schema.read("facts.toml")) == ["b"]


def test_one_claim_is_counted_as_one(shell):
    done = shell("audit", "classic-gaussian-formula", "--effort", "0.01", "--quiet")
    assert "1 claims" not in done.stdout


def test_a_limit_in_place_of_the_address_is_told_its_name():
    with pytest.raises(TypeError, match=r"by name: dp.Ledger\(limit=dp.PureDP\(epsilon=2\)\)"):
        dp.Ledger(dp.PureDP(2))  # type: ignore[arg-type]


def test_a_histogram_of_text_is_told_of_its_values():
    with pytest.raises(TypeError, match=r'values=\["F", "M"\]'):
        dp.histogram(["F", "M"] * 20, epsilon=1)

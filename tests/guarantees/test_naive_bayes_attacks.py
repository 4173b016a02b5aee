"""Attacks on naive Bayes find no more than is claimed, and catch ε spent on each attribute."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.audit.registry import Case
from discreet.guarantees.naive_bayes.attacks import case, naive_bayes

CASES = [part for part in naive_bayes() if isinstance(part, Case)]


def _marked(part: Case) -> Any:
    """Fits one by one take their time."""
    marks = [pytest.mark.slow] if part.title.startswith("fitted") else []
    return pytest.param(part, marks=marks, id=part.title)


@pytest.mark.parametrize("part", [_marked(part) for part in CASES])
def test_no_more_than_the_claim(part: Case) -> None:
    assert not part.run(0.999).is_violated


@pytest.mark.parametrize(
    "columns", [("real",) * 3, ("category",) * 3, ("real", "category", "real")], ids=str
)
@pytest.mark.parametrize("delta", [0.0, 0.001])
def test_a_budget_for_each_attribute_is_caught(columns: tuple[str, ...], delta: float) -> None:
    """As printed in the survey and the report: noise for ε on every attribute."""
    weak = case(columns, epsilon=1.0, delta=delta, spent=3.0)
    assert weak.run(0.999).is_violated


@pytest.mark.parametrize("columns", [("real",), ("category",) * 2], ids=str)
def test_the_attack_finds_a_good_part_of_what_is_spent(columns: tuple[str, ...]) -> None:
    assert 0.8 < case(columns, epsilon=2.0, trials=60_000).run(0.95).floor <= 2.0

"""Weakened copies of trees and forests: the attacks on the sound ones catch them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import discreet as dp
from discreet import testing
from discreet.guarantees.tree.attacks import (
    CHOICES,
    RELATIONS,
    SCHEMA,
    choice_result,
    drawn_query,
    facts,
    noised_as_for_one_tree,
    vector_case,
)
from discreet.mechanisms import Laplace
from discreet.models.tree import RandomDecisionForest
from discreet.unit import Unit


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_noise_for_one_tree_on_four_is_caught(relation: Any) -> None:
    with testing.fixed_noise(1):
        found = noised_as_for_one_tree(relation)().run(0.99)
    assert found.verdict == "violated"


def test_a_replaced_row_charged_as_an_added_one_is_caught() -> None:
    """The survey's noise of scale trees/ε, where rows are replaced: two leaves of a tree move."""
    known = facts(dp.REPLACE_ONE, "c")
    forest = RandomDecisionForest(n_estimators=1, max_depth=3, share="budget", random_state=0)
    query = drawn_query(forest, known)
    added = query.sensitivity(SCHEMA, Unit(dp.ADD_REMOVE))
    with testing.fixed_noise(2):
        weak = vector_case(
            "charged as add/remove",
            query,
            dp.PureDP(1),
            dp.REPLACE_ONE,
            Laplace(1).distribution(added),
        ).run(0.99)
        sound = vector_case("charged as it is", query, dp.PureDP(1), dp.REPLACE_ONE).run(0.99)
    assert weak.verdict == "violated"
    assert sound.verdict == "consistent"


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("case", list(CHOICES))
def test_a_choice_that_believes_in_a_third_of_its_sensitivity_is_caught(
    case: str, relation: Any
) -> None:
    assert choice_result(case, CHOICES[case], relation).verdict == "consistent"
    weak = choice_result(case, CHOICES[case], relation, Fraction(1, 3))
    assert weak.verdict == "violated"

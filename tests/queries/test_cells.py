"""Counts of cells and choices among marginals: how far one person moves them, over all tables of few rows."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet import testing
from discreet.coding import Sensitivity
from discreet.engines.arrays import Arrays
from discreet.queries import CellCounts, FarMarginals
from discreet.queries.cell_counts import Axis
from discreet.queries.far_marginals import MAX_EXPECTED, round_counts

SCHEMA = dp.Schema(s=dp.Categorical("a", "b"), n=dp.Integer(0, 2))
ROWS = list(itertools.product(["a", "b", "unknown"], [0, 2]))
COUNTS = CellCounts(Axis("s"), Axis("n", (1,)))
UNITS = {
    "add": dp.Unit(dp.ADD_REMOVE),
    "replace": dp.Unit(dp.REPLACE_ONE),
    "add, persons": dp.Unit(dp.ADD_REMOVE, "id", 2),
    "replace, persons": dp.Unit(dp.REPLACE_ONE, "id", 2),
}


def table(rows: list[tuple[str, int]], person: int = 1) -> dict[str, list[Any]]:
    return {
        "s": [s for s, _ in rows],
        "n": [n for _, n in rows],
        "id": [person] * len(rows),
    }


def totals(query: Any, rows: list[tuple[str, int]]) -> Any:
    return Arrays(table(rows)).totals(query)


def people(unit: dp.Unit) -> list[list[tuple[str, int]]]:
    """The rows that one person can have: one more than count, so that a limit is seen."""
    if unit.id_column is None:
        return [[row] for row in ROWS]
    return [
        [],
        *([row] for row in ROWS),
        *([row] * 3 for row in ROWS),
        *([one, other, other] for one in ROWS for other in ROWS),
    ]


def farthest(vectors: list[Any], unit: dp.Unit) -> Sensitivity:
    zero = 0 * vectors[0]
    pairs = [(one, zero) for one in vectors]
    if unit.relation is dp.REPLACE_ONE:
        pairs = [(one, other) for one in vectors for other in vectors]
    return Sensitivity(
        max(int(np.abs(a - b).sum()) for a, b in pairs),
        max(int(((a - b) ** 2).sum()) for a, b in pairs),
    )


@pytest.mark.parametrize("unit", list(UNITS))
def test_counts_of_cells_move_as_far_as_one_person_has_rows(unit: str) -> None:
    chosen = UNITS[unit]
    coded = COUNTS.coded(SCHEMA, chosen)
    vectors = [totals(coded, rows) for rows in people(chosen)]
    assert COUNTS.sensitivity(SCHEMA, chosen) == farthest(vectors, chosen)


def test_one_row_adds_one_to_one_cell() -> None:
    coded = COUNTS.coded(SCHEMA, UNITS["add"])
    vectors = [totals(coded, [row]) for row in ROWS]
    one, apart = farthest(vectors, UNITS["add"]), farthest(vectors, UNITS["replace"])
    found = COUNTS.extent(SCHEMA, True)
    assert found == type(found)(one.l1, one.l2_squared, apart.l1, apart.l2_squared)


@pytest.mark.parametrize("unit", list(UNITS))
def test_scores_of_marginals_move_by_their_weight_for_each_row(unit: str) -> None:
    """What a model expects does not matter: nothing, too much, or just what is there."""
    chosen = UNITS[unit]
    marginals = [(Axis("s"),), (Axis("n", (1,)),), (Axis("s"), Axis("n", (1,)))]
    others = [("a", 0), ("b", 2), ("b", 0)]
    worst = 0
    for expected in (None, [[9, 9, 9], [9, 9], [9] * 6], [[0, 9, 0], [9, 0], [0, 9, 0, 9, 0, 9]]):
        query = FarMarginals(marginals, expected, weights=[1, 3, 2])
        scores = []
        for rows in people(chosen):
            # the person's rows among others', who are persons of their own
            cells = {
                "s": [s for s, _ in [*others, *rows]],
                "n": [n for _, n in [*others, *rows]],
                "id": [*range(10, 10 + len(others)), *[1] * len(rows)],
            }
            engine = Arrays(cells)
            scores.append(
                query.scores([engine.totals(part) for part in query.parts(SCHEMA, chosen)])
            )
        alone = Arrays(
            {"s": [s for s, _ in others], "n": [n for _, n in others], "id": list(range(10, 13))}
        )
        without = query.scores([alone.totals(part) for part in query.parts(SCHEMA, chosen)])
        base = scores if chosen.relation is dp.REPLACE_ONE else [without]
        moved = max(int(np.abs(a - b).max()) for a in scores for b in base)
        found = query.sensitivity(SCHEMA, chosen)
        assert moved <= found.l1
        assert found.l2_squared == found.l1**2
        worst = max(worst, moved)
    sides = 2 if chosen.relation is dp.REPLACE_ONE else 1
    assert found.l1 == sides * 3 * chosen.rows_per_person
    assert worst == found.l1  # and it is reached


def test_expected_counts_are_whole_numbers_within_bounds() -> None:
    found = round_counts([-1e300, -math.inf, -3, math.nan, 2.6, 7])
    assert found.tolist() == [0, 0, 0, 0, 3, 7]
    assert round_counts([math.inf]).tolist() == [MAX_EXPECTED]


def test_no_noise_and_too_many_rows_are_refused() -> None:
    query = FarMarginals([(Axis("s"),)])
    for unit in UNITS.values():
        with pytest.raises(ValueError, match="PUBLIC"):
            query.prepare(dp.PureDP(math.inf), SCHEMA, unit, None)
    with pytest.raises(ValueError, match="rows"):
        query.prepare(dp.PureDP(1), SCHEMA, UNITS["replace"], 2**62)


@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize("groups", [None, 2])
def test_keys_are_shown_by_a_threshold_for_all_rows_and_keys_of_a_person(
    most: int, groups: int | None
) -> None:
    schema = dp.Schema(word=dp.Text())
    unit = dp.Unit(dp.ADD_REMOVE, "id", most)
    query = dp.KeyCounts("word", delta="1e-6", max_groups=groups)
    event: Any = query.prepare(dp.PureDP(1), schema, unit, None).event
    keys = most if groups is None else min(groups, most)
    assert (event.rows, event.groups, event.sensitivity) == (most, keys, most)
    # all rows in one key, or spread over as many as may count: one of them is shown too seldom to matter
    b = math.exp(-1 / float(event.scale))
    spread = [most - keys + 1, *[1] * (keys - 1)]
    for rows in ([most], spread):
        shown = sum(b ** (event.threshold - count) / (1 + b) for count in rows)
        assert shown <= 1e-6 * (1 + 1e-9)


@pytest.mark.parametrize("query", testing.SEVERAL, ids=repr)
@pytest.mark.parametrize("unit", ["add", "replace"])
def test_no_noise_is_refused_where_several_sums_are_asked_for(query: Any, unit: str) -> None:
    schema = dp.Schema(x=dp.Real(0, 4), y=dp.Integer(0, 3), c=dp.Categorical("a", "b"))
    with pytest.raises(ValueError, match="PUBLIC"):
        query.prepare(dp.PureDP(math.inf), schema, UNITS[unit], None if unit == "add" else 10)


@pytest.mark.parametrize("query", [testing.SEVERAL[1], testing.SEVERAL[2]], ids=repr)
def test_a_choice_among_sums_that_may_overflow_is_refused(query: Any) -> None:
    schema = dp.Schema(x=dp.Real(0, 4), y=dp.Integer(0, 3), c=dp.Categorical("a", "b"))
    with pytest.raises(ValueError, match="rows"):
        query.prepare(dp.PureDP(1), schema, UNITS["replace"], 2**62)

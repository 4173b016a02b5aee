"""Nothing stands in a statement that isn't understood: every part of every construct, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

import discreet as dp
from discreet.sql.known import KNOWN, check_tree
from discreet.sql.reading import SqlError
from discreet.sql.statements import read_statement

SCHEMA = dp.Schema(
    age=dp.Integer(0, 100), cost=dp.Real(0, 1000), ward=dp.Categorical("A", "B"),
    day=dp.Date("2020-01-01", "2024-12-31"),
)  # fmt: skip
UNIT = dp.Unit(dp.ADD_REMOVE)
#: What sqlglot notes for itself, or in which no meaning lies that a statement could have.
NOTES = {"big_int", "nulls_first", "_type"}
STATEMENTS = [
    "SELECT v.ward, AVG(cost) AS a, COUNT(*) FROM visits AS v WHERE NOT (age >= 18 AND cost < 5) OR ward IN "
    "('A') AND age BETWEEN 1 AND 9 AND day > DATE '2020-02-01' AND cost IS NOT NULL GROUP BY v.ward "
    "HAVING COUNT(*) > 5 ORDER BY a DESC LIMIT 3 OFFSET 1",
    "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost) FROM visits",
    "SELECT COUNT(*) FILTER (WHERE age > -1), SUM(CASE WHEN age > 5 THEN cost ELSE 0 END), MEDIAN(age), "
    "STDDEV(cost) FROM visits",
    "SELECT EXTRACT(YEAR FROM day), CASE WHEN age < 30 THEN 'young' ELSE 'old' END, COUNT(1) FROM visits "
    "GROUP BY 1, 2",
]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT AVG(age) FROM visits AS v(cost, age)",
        "SELECT COUNT(* EXCEPT (age)) FROM v",
        "SELECT COUNT(* EXCLUDE (age)) FROM v",
        "SELECT COUNT(* REPLACE (age AS cost)) FROM v",
        "SELECT COUNT(*) FROM v FINAL",
        "SELECT COUNT(*) FROM ONLY v",
        "SELECT COUNT(*) FROM v SAMPLE",
    ],
)
def test_what_means_something_elsewhere_is_refused(text: str) -> None:
    with pytest.raises(SqlError):
        read_statement(text, SCHEMA, UNIT)


@pytest.mark.parametrize("text", ['SELECT COUNT(*) FROM "final"', "SELECT COUNT(*) FROM visits v"])
def test_names_are_names(text: str) -> None:
    assert len(read_statement(text, SCHEMA, UNIT).aggregates) == 1


def iter_nodes(tree: Any) -> Iterator[Any]:
    for found in tree.walk():
        yield found[0] if isinstance(found, tuple) else found


@pytest.mark.parametrize("text", STATEMENTS)
def test_every_part_that_a_construct_may_have_is_known_or_refused(text: str) -> None:
    """Each part that sqlglot knows for a construct is put there, and refused unless it is read."""
    read_statement(text, SCHEMA, UNIT)
    put = 0
    for place, node in enumerate(iter_nodes(sqlglot.parse_one(text))):
        kind = type(node).__name__
        for part in node.arg_types.keys() - set(KNOWN[kind]) - NOTES:
            tree = sqlglot.parse_one(text)
            changed = list(iter_nodes(tree))[place]
            changed.args[part] = exp.to_identifier("other")
            with pytest.raises(SqlError):
                check_tree(tree)
            put += 1
    assert put > 50

"""Copies of the check of a table and of counts of persons, each weakened in one place."""

from __future__ import annotations

from dataclasses import replace

from discreet.coding import Sensitivity
from discreet.queries import Check, CountPeople, RowsPerPerson
from discreet.unit import ADD_REMOVE


def checks_of_one_side(patch):
    """A replaced person is taken for one that is added."""
    honest = Check.sensitivity
    patch.setattr(
        Check,
        "sensitivity",
        lambda query, schema, unit: honest(query, schema, replace(unit, relation=ADD_REMOVE)),
    )


def checks_without_persons(patch):
    """The counts of persons are forgotten."""
    honest = Check.sensitivity

    def moved(query, schema, unit):
        right = honest(query, schema, unit)
        return Sensitivity(right.l1 - 1, right.l2_squared) if unit.id_column else right

    patch.setattr(Check, "sensitivity", moved)


def people_of_one_side(patch):
    """A replaced person is taken for one that is added."""
    for kind in (CountPeople, RowsPerPerson):
        honest = kind.sensitivity
        patch.setattr(
            kind,
            "sensitivity",
            lambda query, schema, unit, honest=honest: honest(
                query, schema, replace(unit, relation=ADD_REMOVE)
            ),
        )


def people_in_one_group(patch):
    """A person is charged for one group, and counted in as many as before."""
    honest = CountPeople.sensitivity
    patch.setattr(
        CountPeople,
        "sensitivity",
        lambda query, schema, unit: honest(query, schema, replace(unit, max_rows=1)),
    )

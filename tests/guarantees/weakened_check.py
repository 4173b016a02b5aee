"""Copies of the check of a table, each weakened in one place."""

from __future__ import annotations

from dataclasses import replace

from discreet.coding import Sensitivity
from discreet.queries import Check
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

"""Whom a data set and its ledger protect: they must agree."""

from __future__ import annotations

from discreet.ledger.book import Book
from discreet.unit import Relation, Unit, as_unit

__all__ = ["agree_on_unit"]


def agree_on_unit(unit: Unit | Relation | None, ledger: Book | None) -> Unit:
    """Who is protected: the ledger's unit, with which the one that was given must agree."""
    if unit is None:
        if ledger is None:
            raise ValueError(
                "ledger must be given, as in dp.PrivateDataset(data, schema, "
                "ledger=dp.Ledger(limit=dp.PureDP(1))), or unit=dp.PUBLIC if anyone may see the rows."
            )
        return ledger.unit
    chosen = as_unit(unit)
    if chosen.is_public:
        if ledger is not None:
            raise ValueError("ledger must not be given with dp.PUBLIC: nothing is charged there.")
        return chosen
    if ledger is None:
        raise ValueError(
            "ledger must be given: a private data set charges every answer, as in "
            "ledger=dp.Ledger(limit=dp.PureDP(1), unit=unit)."
        )
    if ledger.unit != chosen:
        raise ValueError(
            f"unit: the ledger protects another unit ({ledger.unit}) than this data set ({chosen}). "
            "One ledger is for one population and one unit: leave unit out, or open another ledger."
        )
    return chosen

"""What is agreed when a ledger opens, and never changes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.ledger.filters import Filter, filter_from_dict, new_filter
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP, measure_from_dict
from discreet.rational import Number, probability
from discreet.unit import ADD_REMOVE, Relation, Unit, as_unit

__all__ = ["Terms", "check_limit", "new_terms"]

_DEFAULTS: dict[type[Measure], str] = {PureDP: "pure", ApproxDP: "basic", ZCDP: "zcdp"}


@dataclass(frozen=True)
class Terms:
    """The limit, who is protected, and how charges are added up."""

    limit: Measure
    unit: Unit
    filter: Filter
    accept_assumed: bool
    delta_reserve: Fraction

    def to_dict(self) -> dict[str, Any]:
        """The terms as plain data."""
        return {
            "limit": self.limit.to_dict(),
            "unit": self.unit.to_dict(),
            "filter": self.filter.to_dict(),
            "accept_assumed": self.accept_assumed,
            "delta_reserve": str(self.delta_reserve),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Terms:
        """The inverse of `to_dict`."""
        return cls(
            measure_from_dict(data["limit"]),
            Unit.from_dict(data["unit"]),
            filter_from_dict(data["filter"]),
            bool(data["accept_assumed"]),
            Fraction(data["delta_reserve"]),
        )

    def check_again(
        self,
        limit: Measure | None,
        unit: Unit | Relation | None,
        composition: str | None,
        accept_assumed: bool,
        delta_reserve: Number,
    ) -> None:
        """Raise unless what is given again is what was agreed."""
        given = {
            "limit": (None if limit is None else check_limit(limit), self.limit),
            "unit": (None if unit is None else as_unit(unit), self.unit),
            "composition": (composition, self.filter.composition),
            "accept_assumed": (accept_assumed or None, self.accept_assumed),
            "delta_reserve": (
                probability(delta_reserve, "delta_reserve") or None,
                self.delta_reserve,
            ),
        }
        for name, (now, agreed) in given.items():
            if now is not None and now != agreed:
                raise ValueError(
                    f"{name} is {now!r}, but this ledger was opened with {agreed!r}. Limits are "
                    "never raised in place, and nothing else that was agreed changes: open it "
                    f"without {name}, or start another ledger for another population."
                )


def check_limit(limit: object) -> Measure:
    """A limit that promises something: finite, and with δ below 1."""
    if not isinstance(limit, PureDP | ApproxDP | ZCDP):
        raise TypeError(
            "limit must be dp.PureDP, dp.ApproxDP or dp.ZCDP, such as dp.ApproxDP(1, 1e-6), "
            f"not {limit!r}."
        )
    size = limit.rho if isinstance(limit, ZCDP) else limit.epsilon
    if isinstance(size, float) and math.isinf(size):
        raise ValueError(f"limit must be finite, got {limit!r}.")
    if isinstance(limit, ApproxDP) and limit.delta >= 1:
        raise ValueError(f"limit: delta must be below 1, got {limit!r}.")
    return limit


def new_terms(
    limit: object,
    unit: Unit | Relation | None,
    composition: str | None,
    accept_assumed: bool,
    delta_reserve: Number,
) -> Terms:
    """The terms of a new ledger, each checked."""
    checked = check_limit(limit)
    who = Unit(ADD_REMOVE) if unit is None else as_unit(unit)
    if who.is_public:
        raise ValueError(
            "unit is dp.PUBLIC: nobody is protected, so there is nothing to charge and no ledger."
        )
    if not isinstance(accept_assumed, bool):
        raise TypeError("accept_assumed must be True or False.")
    kind = _DEFAULTS[type(checked)] if composition is None else composition
    reserve = probability(delta_reserve, "delta_reserve")
    if reserve and kind in ("basic", "pure"):
        raise ValueError(
            "delta_reserve is for composition='zcdp' and 'renyi'; 'basic' adds up "
            "every delta anyway."
        )
    if isinstance(checked, ApproxDP) and reserve and reserve >= checked.delta:
        raise ValueError(
            f"delta_reserve must be below the limit's delta, got {delta_reserve!r} of {checked!r}."
        )
    if reserve >= 1:
        raise ValueError(f"delta_reserve must be below 1, got {delta_reserve!r}.")
    if kind == "basic" and isinstance(checked, PureDP):
        raise ValueError(
            "limit must be dp.ApproxDP with composition='basic': for dp.PureDP use 'pure'."
        )
    if kind == "zcdp" and isinstance(checked, ApproxDP) and not checked.delta:
        raise ValueError("limit must have delta > 0 with composition='zcdp'.")
    filter_ = new_filter(kind, checked, reserve)
    filter_.caps(checked)
    return Terms(checked, who, filter_, accept_assumed, reserve)

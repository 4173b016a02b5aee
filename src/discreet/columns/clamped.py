"""A column of numbers between closer bounds than those it was declared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.coding import Grid
from discreet.columns.base import Integer, Numeric, Real, column_name
from discreet.columns.bounds import finite

if TYPE_CHECKING:
    from discreet.schema import Schema

__all__ = ["Clamped"]


@final
@dataclass(frozen=True, repr=False)
class Clamped(Numeric):
    """A derived column: the values of a `Real` or `Integer` column, clamped to closer bounds.

    Whatever the bounds are, it has a grid of as many steps, so that questions about it cost the same.

    Parameters
    ----------
    column : str
    lower, upper : float
        lower < upper; values outside are clamped.
    fill : float
        What missing cells count as, before they are clamped: as in the column itself.

    Privacy
    -------
    A function of one row's cell. Proof page: ``docs/proofs/coding.md``.
    """

    column: str
    lower: float
    upper: float
    fill: float

    def __post_init__(self) -> None:
        column_name(self.column, "Clamped")
        for bound in ("lower", "upper", "fill"):
            object.__setattr__(self, bound, finite(getattr(self, bound), f"Clamped: {bound}"))
        if not self.lower < self.upper:
            raise ValueError("Clamped: lower must be less than upper.")

    @classmethod
    def from_column(cls, name: str, column: Numeric, lower: float, upper: float) -> Clamped:
        """A declared column between closer bounds."""
        return cls(name, lower, upper, column.filling)

    @property
    def is_log(self) -> bool:
        return False

    @property
    def filling(self) -> float:
        return min(max(float(self.fill), self.lower), self.upper)

    def steps(self, bits: int) -> int:
        return int(2**bits)

    def is_exact(self, bits: int) -> bool:
        return False

    def grid(self, name: str, bits: int) -> Grid:
        """The code 0..2^bits of a cell of the column that it is derived from."""
        return super().grid(self.column, bits)

    def summand(self, name: str) -> Grid:
        return super().summand(self.column)

    def code(self, name: str, schema: Schema) -> Grid:
        if not isinstance(schema[self.column], Real | Integer):
            raise ValueError(f"Clamped: column {self.column!r} must be dp.Real or dp.Integer.")
        return super().code(self.column, schema)

    def cells(self, name: str, schema: Schema) -> tuple[Any, ...]:
        raise ValueError(f"column {name!r} is clamped, so its values can't be listed.")

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": "clamped",
            "column": self.column,
            "lower": self.lower,
            "upper": self.upper,
            "fill": self.fill,
        }

    def __repr__(self) -> str:
        return f"Clamped({self.column!r}, {self.lower!r}, {self.upper!r})"

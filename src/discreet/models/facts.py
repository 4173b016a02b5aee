"""What is public about a fit: all that may decide its noise, its shape and its price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.answers import Answerer, answerer
from discreet.columns import Base, Column, Numeric
from discreet.events import Event
from discreet.measures import Measure
from discreet.mechanisms import Mechanism
from discreet.queries import Query
from discreet.schema import Schema
from discreet.unit import Unit

#: Bounds of an estimator's columns are no larger, and no farther below 1 than its inverse.
MOST_SIZE = 1e100


@dataclass(frozen=True)
class Facts:
    """The public facts of one fit.

    Attributes
    ----------
    schema : Schema
        Declares the features and the target.
    unit : Unit
    features : tuple of str
        Names of feature columns in the schema, in the order of X.
    target : str or None
        Name of the target column; None for estimators without one.
    rows : int or None
        The number of rows where it is public.
    """

    schema: Schema
    unit: Unit
    features: tuple[str, ...]
    target: str | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        for name in (*self.features, *(() if self.target is None else (self.target,))):
            check_size(name, self.schema.base[name])

    @property
    def labels(self) -> tuple[Any, ...]:
        """The declared classes in the order of the schema: the order of an answer by target."""
        assert self.target is not None
        return self.schema.labels(self.target)

    @property
    def columns(self) -> tuple[Base, ...]:
        """The declarations of the features, in order."""
        return tuple(self.schema.base[name] for name in self.features)

    def numeric(self, who: str) -> tuple[Numeric, ...]:
        """The declarations of the features, if all hold numbers between bounds."""
        found = []
        for name, column in zip(self.features, self.columns, strict=True):
            if not isinstance(column, Numeric):
                raise ValueError(
                    f"{who} takes numbers only: column {name!r} must be dp.Real(lower, upper) or "
                    f"dp.Integer(lower, upper), not {column!r}."
                )
            found.append(column)
        return tuple(found)

    def asked(self, query: Query, how: Measure | Mechanism) -> Answerer:
        """A query, planned and priced: its ``event``, ``measure`` and ``expected_error(rows)``."""
        return answerer(query, how, self.schema, self.unit, self.rows)


def check_size(name: str, column: Column) -> None:
    """Raise unless products of a column's values, over all rows, fit a double."""
    if not isinstance(column, Numeric):
        return
    sizes = [max(abs(float(column.lower)), abs(float(column.upper))), column.width]
    if sizes[0] > MOST_SIZE or any(0 < size < 1 / MOST_SIZE for size in sizes):
        raise ValueError(
            f"column {name!r}: for an estimator bounds must be at most 1e100 in size, and the larger one and "
            "their distance 0 or at least 1e-100, so that products of values fit a double: use other units."
        )


@dataclass(frozen=True)
class Blueprint:
    """What a fit will do, decided by public facts alone.

    Attributes
    ----------
    event : Event
        All that will be asked; the door accepts nothing else.
    measure : Measure
        What is charged for it.
    noise : mapping of str to number or array
        The expected standard error of what is learned, by name; shown by ``plan()``.
    queries : tuple
        What will be asked, for those who want to see it.
    """

    event: Event
    measure: Measure
    noise: Mapping[str, Any] = field(default_factory=dict)
    queries: tuple[Any, ...] = ()

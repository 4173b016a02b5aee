"""What is public about a fit: all that may decide its noise, its shape and its price."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

from discreet.columns import Base, Column, Logarithmic, Numeric
from discreet.dataset import PrivateDataset
from discreet.events import Event
from discreet.ledger import Book
from discreet.measures import Measure
from discreet.mechanisms import Mechanism
from discreet.queries import Prepared, Query
from discreet.release import Release
from discreet.schema import Schema
from discreet.show import name_several
from discreet.unit import Unit

#: The largest size of bounds of an estimator's columns; the smallest, unless 0, is its inverse.
MAX_SIZE = 1e100


@final
@dataclass(frozen=True, eq=False)
class Question:
    """A query with its budget, as it is planned, priced and asked.

    Attributes
    ----------
    query : Query
    budget : Measure or Mechanism
    prepared : Prepared
        Its noise and its price.
    """

    query: Query
    budget: Measure | Mechanism
    prepared: Prepared = field(repr=False)

    @property
    def event(self) -> Event:
        """The event for the accountant."""
        return self.prepared.event

    @property
    def measure(self) -> Measure:
        """What is charged for it alone."""
        return self.prepared.measure

    def expected_error(self, rows: int) -> Any:
        """The standard error to expect with this many rows."""
        return self.prepared.expected_error(rows)

    def release(self, door: PrivateDataset) -> Release:
        """Ask it; it must be next in the plan that was paid for."""
        return door.release(self.query, self.budget)


@final
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
    composition : str or None
        How the ledger adds up, where there is one: not all of them can count every event.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.models.naive_bayes import GaussianNB
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ill=dp.Categorical("no", "yes"))
    >>> plan = GaussianNB(epsilon=1, schema=schema).plan()
    >>> plan.facts.features, plan.facts.target, plan.facts.labels
    (('age',), 'ill', ('no', 'yes'))
    """

    schema: Schema
    unit: Unit
    features: tuple[str, ...]
    target: str | None = None
    rows: int | None = None
    composition: str | None = None

    def __post_init__(self) -> None:
        for name in (*self.features, *(() if self.target is None else (self.target,))):
            check_size(name, self.schema[name])

    @property
    def labels(self) -> tuple[Any, ...]:
        """The declared classes in the order of the schema: the order of an answer by target."""
        assert self.target is not None
        return self.schema.labels(self.target)

    @property
    def columns(self) -> tuple[Base, ...]:
        """The declarations of the features, in order; of derived ones how they are seen."""
        return tuple(self.schema[name] for name in self.features)  # type: ignore[misc]

    @property
    def declared(self) -> dict[str, Base]:
        """All declared columns by name, and derived ones that are features."""
        return {**self.schema.base, **dict(zip(self.features, self.columns, strict=True))}

    def declare_rows(self) -> tuple[Base, ...]:
        """The declarations of the features and of the target, for a model that reads rows one by one."""
        if self.target is None or self.target not in self.schema.base:
            raise ValueError(
                f"target: {self.target!r} is a derived column, which this model can't learn: write it into "
                "the table, or use naive Bayes, a tree, a forest or boosting."
            )
        return tuple(self.declared[name] for name in (*self.features, self.target))

    @property
    def log_scaled(self) -> tuple[str, ...]:
        """The features that are seen on a logarithmic scale."""
        pairs = zip(self.features, self.columns, strict=True)
        return tuple(name for name, column in pairs if isinstance(column, Logarithmic))

    def numeric(self, who: str) -> tuple[Numeric, ...]:
        """The declarations of the features, if all hold numbers between bounds."""
        found = []
        for name, column in zip(self.features, self.columns, strict=True):
            if not isinstance(column, Numeric):
                raise ValueError(
                    f"{who} takes numbers only: column {name!r} must be dp.Real(lower, upper) or "
                    f"dp.Integer(lower, upper), not {column!r}.{self._advise_numbers()}"
                )
            found.append(column)
        return tuple(found)

    def _advise_numbers(self) -> str:
        """Which features to choose where only numbers are taken."""
        pairs = zip(self.features, self.columns, strict=True)
        numbers = [name for name, column in pairs if isinstance(column, Numeric)][:3]
        if not numbers:
            return ""
        return f" Or choose the features, as in fit(..., features={numbers})."

    def ask(self, query: Query, budget: Measure | Mechanism) -> Question:
        """Price a query, so that it can be part of a plan."""
        prepared = query.prepare(budget, self.schema, self.unit, self.rows)
        return Question(query, budget, prepared)


def check_size(name: str, column: Column) -> None:
    """Raise unless products of a column's values, over all rows, fit a double."""
    if not isinstance(column, Numeric):
        return
    sizes = [max(abs(float(column.lower)), abs(float(column.upper))), column.width]
    if sizes[0] > MAX_SIZE or any(0 < size < 1 / MAX_SIZE for size in sizes):
        raise ValueError(
            f"column {name!r}: for an estimator bounds must be at most 1e100 in size, and the larger one and "
            "their distance 0 or at least 1e-100, so that products of values fit a double: use other units."
        )


def describe_fit(model: object, facts: Facts) -> str:
    """Which model is fitted to what, for the ledger: from public facts alone."""
    target = "" if facts.target is None else f"{facts.target} from "
    return f"fit of {type(model).__name__}: {target}{name_several(facts.features)}"


def ledger_kind(ledger: Book | None) -> str | None:
    """How a ledger adds up, which decides what it can count; None where there is none."""
    return None if ledger is None else ledger.composition

"""A query about columns that are derived for it alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from discreet.coding import CodedQuery, Extent, Integers, Sensitivity, Term
from discreet.queries.additive import Additive, Floats
from discreet.queries.answer import Budget
from discreet.queries.base import refuse_own_limits
from discreet.schema import Derived, Schema
from discreet.unit import Unit


@final
class WithColumns(Additive):
    """A query on the schema with further derived columns, which nobody else sees.

    It is how an iterative model asks by the cells that its last noised answer led to, such as the
    nearest of its present centres, while the data set and its schema stay as they are.

    Parameters
    ----------
    query : Additive
        It may name the columns below.
    columns : mapping of name to `Bins`, `Nearest`, `Score`, `Tree` or `Parts`
        As in ``schema.derive``; made of public facts and of noised answers only.

    Privacy
    -------
    The same as that of ``query`` on the larger schema: a derived column is a function of one row.
    Proof page: ``docs/proofs/coding.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(age=dp.Integer(0, 100))
    >>> data = dp.PrivateDataset({"age": [10, 20, 70]}, schema, unit=dp.PUBLIC)
    >>> old = {"old": dp.Bins("age", [65])}
    >>> query = dp.queries.WithColumns(dp.Count(by="old"), old)
    >>> data.release(query, dp.PureDP(float("inf"))).value
    array([2, 1])
    """

    def __init__(self, query: Additive, columns: Mapping[str, Derived]) -> None:
        if not isinstance(query, Additive):
            raise TypeError(
                f"query must be a sum or a count, not {type(query).__name__}: derive the column in the "
                "schema instead."
            )
        refuse_own_limits((query,), "WithColumns")
        self.query, self._derived = query, dict(columns)
        self.by, self.where = query.by, query.where
        self.is_sums = query.is_sums  # type: ignore[misc]
        self._larger: tuple[Schema, Schema] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return self.query.columns

    def larger(self, schema: Schema) -> Schema:
        """The schema on which the query is asked."""
        last = self._larger  # read once: another thread may ask with another schema
        if last is None or last[0] is not schema:
            last = self._larger = schema, schema.derive(**self._derived)
        return last[1]

    def labels(self, schema: Schema) -> list[Any]:
        return self.query.labels(self.larger(schema))

    def can_leave_out(self, schema: Schema, unit: Unit) -> bool:
        return self.query.can_leave_out(self.larger(schema), unit)

    def count_is_public(self, schema: Schema, unit: Unit) -> bool:
        return self.query.count_is_public(self.larger(schema), unit)

    def coded(self, schema: Schema, unit: Unit) -> CodedQuery:
        return self.query.coded(self.larger(schema), unit)

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        return self.query.sensitivity(self.larger(schema), unit)

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        return self.query.terms(self.larger(schema))

    def extent(self, schema: Schema, counted: bool) -> Extent:
        return self.query.extent(self.larger(schema), counted)

    def in_basis(self, schema: Schema, unit: Unit) -> WithColumns:
        return self._around(self.query.in_basis(self.larger(schema), unit))

    def for_budget(self, budget: Budget) -> WithColumns:
        return self._around(self.query.for_budget(budget))

    def _around(self, query: Additive) -> WithColumns:
        """Another form of the query on the same schema, which is not derived again."""
        if query is self.query:
            return self
        found = WithColumns(query, self._derived)
        found._larger = self._larger
        return found

    def expected_totals(self, rows: float, schema: Schema) -> Floats:
        return self.query.expected_totals(rows, self.larger(schema))

    def finish(self, totals: Floats, deviations: Floats, schema: Schema) -> tuple[Any, Any]:
        return self.query.finish(totals, deviations, self.larger(schema))

    def with_count(self, totals: Integers, schema: Schema, rows: int | None) -> Floats:
        return self.query.with_count(totals, self.larger(schema), rows)

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        return self.query.estimate(totals, self.larger(schema))

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        return self.query.error(totals, deviations, self.larger(schema))

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        return self.query.bounds(totals, widths, self.larger(schema))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {column!r}" for name, column in self._derived.items())
        return f"{self.query!r} with {shown}"

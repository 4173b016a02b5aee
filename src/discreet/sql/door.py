"""What a data set needs to be asked in SQL: one charge for a SELECT, then its queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

from discreet import events
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.queries import Query
from discreet.release import Plan, Release
from discreet.schema import Schema
from discreet.sql.reading import SqlError
from discreet.sql.statements import Statement, read_statement
from discreet.sql.table import SqlPlan, SqlTable, build_table
from discreet.unit import Unit


class AsksSql(ABC):
    """A data set that can be asked in SQL."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The public facts about its columns."""

    @property
    @abstractmethod
    def unit(self) -> Unit:
        """Who is protected."""

    @abstractmethod
    def plan(self, asked: Any, budget: Any = None, *, rows: int | None = None) -> Plan:
        """What an answer would cost."""

    @abstractmethod
    def release(self, query: Query, budget: Any) -> Release:
        """A noised answer."""

    @abstractmethod
    def prepaid(
        self, event: events.Event, measure: Measure | None = None, *, token: str | None = None
    ) -> AbstractContextManager[Any]:
        """A plan with one charge."""

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """The public number of rows, where it is public."""

    @abstractmethod
    def _behind(self, engine: Any, payer: Any, rows: Any, more: Any = None) -> Any:
        """The same facts, other rows, another payer, with a schema that derives more columns."""

    _engine: Any
    _payer: Any

    def with_derived(self, schema: Schema) -> Any:
        """The same data set, ledger and unit with a schema that derives more columns of its own.

        Parameters
        ----------
        schema : Schema
            With the same columns of the table, as ``data.schema.derive(...)`` gives it.

        Privacy
        -------
        Derived columns are public functions of one row, so nothing changes for the unit and the ledger.
        """
        if not isinstance(schema, Schema) or dict(schema.base) != dict(self.schema.base):
            raise ValueError(
                "with_derived: schema must be that of the data set with more derived columns, as in "
                "data.schema.derive(month=dp.Month('day'))."
            )
        return self._behind(self._engine, self._payer, self.rows, schema)

    def sql(self, text: str, measure: Measure) -> SqlTable:
        """The noised answer to a SELECT, charged once, before a row is read.

        Parameters
        ----------
        text : str
            ``SELECT`` of grouped columns and ``COUNT``, ``SUM``, ``AVG``, ``VARIANCE``, ``STDDEV``,
            ``MEDIAN`` and ``PERCENTILE_CONT``, with ``WHERE``, ``GROUP BY``, ``HAVING``, ``ORDER BY`` and
            ``LIMIT``; behind ``FROM`` any single name. The guide ``docs/guides/sql.md`` has all of it.
        measure : Measure
            ``dp.PureDP(epsilon)``, ``dp.ApproxDP(epsilon, delta)`` or ``dp.ZCDP(rho)``: for the whole
            statement. Several aggregates get equal shares.

        Raises
        ------
        SqlError
            For whatever can't be asked. Nothing was charged.
        BudgetExceeded
            When the ledger has less left. Nothing was read.

        Privacy
        -------
        The composition of the queries of `plan_sql`, charged as one plan; ``HAVING``, ``ORDER BY`` and
        ``LIMIT`` see noised answers alone. The text is compared with the schema and never reaches an engine.
        """
        statement, plan = self._plan_sql(text, measure, None)
        event = events.Compose(*(part.event for part in plan.plans))
        with self.prepaid(event, measure) as paid:
            door = paid.with_derived(statement.schema)
            releases = tuple(door.release(part.asked, part.measure) for part in plan.plans)
        return build_table(statement, releases, measure)

    def plan_sql(self, text: str, measure: Measure, *, rows: int | None = None) -> SqlPlan:
        """What a SELECT would cost and how noisy it would be, without touching a row.

        Parameters
        ----------
        text, measure : as in `sql`
        rows : int, optional
            A public guess of the number of rows, where errors depend on it.
        """
        return self._plan_sql(text, measure, rows)[1]

    def _plan_sql(self, text: str, measure: Measure, rows: int | None) -> tuple[Statement, SqlPlan]:
        if not isinstance(measure, PureDP | ApproxDP | ZCDP):
            raise TypeError(
                "sql: measure must be dp.PureDP(epsilon), dp.ApproxDP(epsilon, delta) or dp.ZCDP(rho), not "
                f"{type(measure).__name__}."
            )
        statement = read_statement(text, self.schema, self.unit)
        asked = [aggregate.query for aggregate in statement.aggregates]
        door = self.with_derived(statement.schema)
        shares = split_measure(measure, asked)
        try:
            pairs = zip(asked, shares, strict=True)
            plans = tuple(door.plan(query, share, rows=rows) for query, share in pairs)
        except (TypeError, ValueError) as error:
            raise SqlError(f"sql: {error}") from None
        return statement, SqlPlan(plans, measure)


def split_measure(measure: Measure, asked: list[Query]) -> list[Measure]:
    """The share of each query in one charge: equal parts of every parameter, which add up to the whole."""
    count = len(asked)
    match measure:
        case PureDP(epsilon=epsilon):
            return [PureDP(epsilon / count)] * count
        case ApproxDP(epsilon=epsilon, delta=delta):
            return [ApproxDP(epsilon / count, delta / count)] * count
        case ZCDP(rho=rho):
            return [ZCDP(rho / count)] * count
        case _:
            raise TypeError(f"sql: {type(measure).__name__} can't be split.")

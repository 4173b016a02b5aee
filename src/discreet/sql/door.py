"""What a data set needs to be asked in SQL: one charge for a SELECT, then its queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

from discreet import events
from discreet.answers import plan_questions
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.queries import Query
from discreet.rational import as_integer
from discreet.release import Plan, Release
from discreet.schema import Schema
from discreet.show import shorten_note
from discreet.sql.aggregates import Aggregate
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
        self,
        event: events.Event,
        measure: Measure | None = None,
        *,
        token: str | None = None,
        note: str = "",
    ) -> AbstractContextManager[Any]:
        """A plan with one charge."""

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """The public number of rows, where it is public."""

    @abstractmethod
    def with_schema(self, schema: Schema) -> Any:
        """The same rows, unit and ledger, with columns declared otherwise or more of them derived."""

    def sql(
        self,
        text: str,
        measure: Measure,
        *,
        estimate: bool = False,
        per_person: int | None = None,
    ) -> SqlTable:
        """The noised answer to a SELECT, charged once, before a row is read.

        Parameters
        ----------
        text : str
            ``SELECT`` of grouped columns and ``COUNT``, ``SUM``, ``AVG``, ``VARIANCE``, ``STDDEV``,
            ``MEDIAN``, ``PERCENTILE_CONT`` and, for persons, ``COUNT(DISTINCT id)``, with ``WHERE``,
            ``GROUP BY``, ``HAVING``, ``ORDER BY`` and ``LIMIT``; behind ``FROM`` any single name. The guide
            ``docs/guides/sql.md`` has all of it.
        measure : Measure
            ``dp.PureDP(epsilon)``, ``dp.ApproxDP(epsilon, delta)`` or ``dp.ZCDP(rho)``: for the whole
            statement. It is split among several aggregates as `release_all` splits it, with equal weights.
        estimate : bool
            Whether means, sums and quantiles are asked with `dp.Estimate`: then ``with_intervals`` of the
            result has intervals for the population, which are part of the charge.
        per_person : int, optional
            Count at most this many rows of each person, fewer than the unit allows: 1 for answers about
            persons, where a row is a visit.

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
        statement, plan = self._plan_sql(text, measure, None, estimate, per_person)
        with self.prepaid(plan.event, measure, note=shorten_note(f"SQL: {text}")) as paid:
            door = paid.with_schema(statement.schema)
            releases = tuple(door.release(part.asked, part.measure) for part in plan.plans)
        return build_table(statement, releases, measure)

    def plan_sql(
        self,
        text: str,
        measure: Measure,
        *,
        rows: int | None = None,
        estimate: bool = False,
        per_person: int | None = None,
    ) -> SqlPlan:
        """What a SELECT would cost and how noisy it would be, without touching a row.

        Parameters
        ----------
        text, measure, estimate, per_person : as in `sql`
        rows : int, optional
            A public guess of the number of rows, where errors depend on it.
        """
        return self._plan_sql(text, measure, rows, estimate, per_person)[1]

    def _plan_sql(
        self,
        text: str,
        measure: Measure,
        rows: int | None,
        estimate: bool,
        per_person: int | None,
    ) -> tuple[Statement, SqlPlan]:
        if not isinstance(measure, PureDP | ApproxDP | ZCDP):
            raise TypeError(
                "sql: measure must be dp.PureDP(epsilon), dp.ApproxDP(epsilon, delta) or dp.ZCDP(rho), not "
                f"{type(measure).__name__}."
            )
        statement = read_statement(text, self.schema, self.unit)
        if estimate:
            statement = statement.map_aggregates(Aggregate.as_estimate)
        if per_person is not None:
            limit = as_integer(per_person, "per_person", minimum=1)
            statement = statement.map_aggregates(lambda each: each.per_person(limit))
        asked = {f"a{at}": each.query for at, each in enumerate(statement.aggregates)}
        door = self.with_schema(statement.schema)
        try:
            whole = plan_questions(
                asked, measure, statement.schema, self.unit, rows=self.rows, guessed_rows=rows
            )
            plans = tuple(door.plan(part.query, part.budget, rows=rows) for part in whole.questions)
        except (TypeError, ValueError) as error:
            raise SqlError(f"sql: {str(error).removeprefix('where: ')}") from None
        return statement, SqlPlan(plans, measure, whole.event)

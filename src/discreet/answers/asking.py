"""What a data set offers beyond single answers: many questions at once, and a rehearsal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Self, cast

from discreet import events
from discreet.answers.description import Description, list_questions
from discreet.answers.rehearsal import DEFAULT_ROWS, MadeUpRows, make_up_rows
from discreet.answers.several import Answers, AnswersPlan, plan_questions
from discreet.ledger import NOT_DATA, Book, Ledger
from discreet.measures import Measure
from discreet.queries import Budget, Query
from discreet.rational import Number, as_integer
from discreet.release import Release
from discreet.schema import Schema
from discreet.show import name_several
from discreet.unit import Unit

__all__ = ["Asking"]


class Asking(ABC):
    """Ways to ask a data set that are made of its own plans and answers; the door inherits them.

    Nothing here reads a row: everything goes through `prepaid` and `release`, which charge first.
    """

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The public facts about its columns."""

    @property
    @abstractmethod
    def unit(self) -> Unit:
        """Who is protected."""

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """The public number of rows, where it is public."""

    @property
    @abstractmethod
    def ledger(self) -> Book | None:
        """Where answers are charged; None for public rows."""

    @property
    @abstractmethod
    def is_made_up(self) -> bool:
        """Whether the rows were made up for a rehearsal."""

    @abstractmethod
    def release(self, query: Query, budget: Budget) -> Release:
        """The noised answer to a query, charged before a row is read."""

    @abstractmethod
    def prepaid(
        self,
        event: events.Event,
        measure: Measure | None = None,
        *,
        token: str | None = None,
        note: str = "",
    ) -> AbstractContextManager[Any]:
        """These rows for a plan fixed in advance, with one charge for all of it."""

    def plan_all(
        self,
        questions: Mapping[str, Query],
        measure: Measure,
        weights: Mapping[str, Number] | None = None,
        *,
        guesses: Mapping[str, Number] | None = None,
        rows: int | None = None,
    ) -> AnswersPlan:
        """How one budget would be split among several questions, without touching a row.

        Takes what `release_all` takes. Printed, it is a table with a bar for each question.
        """
        plan = plan_questions(
            questions,
            measure,
            self.schema,
            self.unit,
            weights=weights,
            guesses=guesses,
            rows=self.rows,
            guessed_rows=rows,
        )
        return replace(plan, note=NOT_DATA) if self.is_made_up else plan

    def release_all(
        self,
        questions: Mapping[str, Query],
        measure: Measure,
        weights: Mapping[str, Number] | None = None,
        *,
        guesses: Mapping[str, Number] | None = None,
        rows: int | None = None,
    ) -> Answers:
        """The noised answers to several questions, paid with one charge before a row is read.

        Parameters
        ----------
        questions : mapping of str to Query
            As in ``{"people": dp.Count(), "age": dp.Mean("age")}``.
        measure : PureDP, ApproxDP or ZCDP
            What all of them may cost together. With (ε, δ) or ρ Gaussian noise adds up by squares: twenty
            questions need about √20 times the noise of one, not 20 times.
        weights : mapping of str to number, optional
            How much each question matters; 1 by default. The budget is split so that the weighted sum of
            squared errors is least, each error as a share of the range that its answer can have.
        guesses : mapping of str to number, optional
            Public guesses of answers: their errors are then taken as shares of these.
        rows : int, optional
            A public guess of the number of rows, where errors depend on it.

        Privacy
        -------
        One event, composed of those of all answers, and one charge of `measure`. The split depends on
        public facts alone. Proof page: ``docs/proofs/answers.md``.
        """
        plan = self.plan_all(questions, measure, weights, guesses=guesses, rows=rows)
        note = "several questions: " + name_several([question.name for question in plan.questions])
        with self.prepaid(plan.event, measure, note=note) as door:
            return Answers(plan, {q.name: door.release(q.query, q.budget) for q in plan.questions})

    def describe(
        self,
        measure: Measure,
        *,
        level: float = 0.95,
        rows: int | None = None,
        tighten: bool = False,
    ) -> Description:
        """A private description of the table: one charge, printed as a table with intervals.

        Parameters
        ----------
        measure : PureDP, ApproxDP or ZCDP
            What all of it may cost. It is split as in `release_all` with equal weights, so that the error of
            the row count, of each column's moments and quartiles, and of each histogram, each as a share
            of its range, has the least sum of squares.
        level : float
            Of the intervals, which are for the noise.
        rows : int, optional
            A public guess of the number of rows.
        tighten : bool
            Whether to buy closer bounds for means and deviations first, as `dp.Tighten` does: for columns
            whose declared bounds are far too wide.

        Privacy
        -------
        That of `release_all`. Proof page: ``docs/proofs/answers.md``.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        answers = self.release_all(list_questions(self.schema, tighten), measure, rows=rows)
        return Description(answers, self.schema, level)

    def rehearse(self, rows: int | None = None, *, seed: int | None = None) -> Self:
        """The same data set on rows made up from the schema alone, to try a script on for free.

        Nothing of it is data: values are drawn evenly between declared bounds and from declared
        categories. Answers are charged to a throw-away ledger with the same limit, and marked NOT DATA.

        Parameters
        ----------
        rows : int, optional
            How many rows to make up: the public number of rows, where there is one, else 1000.
        seed : int, optional
            For the same rows again.

        Privacy
        -------
        No row is read and nothing is charged: made-up rows follow from public facts. The noise is real.
        """
        number = self.rows if rows is None else as_integer(rows, "rows")
        count = DEFAULT_ROWS if number is None else number
        table = MadeUpRows(make_up_rows(self.schema, self.unit, count, seed))
        kind, book = cast(Any, type(self)), self.ledger
        if book is None:
            return cast(Self, kind(table, self.schema, unit=self.unit))
        aside = Ledger(
            limit=book.limit,
            unit=self.unit,
            composition=book.composition,
            accept_assumed=True,
            delta_reserve=book.statement().reserve[1],
        )
        declared = None if self.rows is None else count
        return cast(Self, kind(table, self.schema, ledger=aside, rows=declared))

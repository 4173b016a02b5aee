"""The step on rows: persons go to teachers by chance, teachers learn and vote, and noisy labels come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, final

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from discreet import events, noise, progress
from discreet.coding import VALUE_BITS
from discreet.columns import Base, Categorical, Numeric
from discreet.deep.pate.aggregation import Aggregation
from discreet.deep.quiet import keep_quiet
from discreet.noise.generators import find_generators, renew
from discreet.schema import Schema
from discreet.step import CodedRows, Step
from discreet.unit import REPLACE_ONE, Unit

__all__ = ["Design", "Lesson", "Teachers", "changed_teachers", "deal", "deals_by_id"]

Floats = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

#: What a teacher votes that has no rows, or whose training fails.
CONSTANT = 0


@final
@dataclass(frozen=True)
class Design:
    """From codes of features to a matrix: numbers between their bounds, categories as indicators."""

    columns: tuple[Base, ...]

    def matrix(self, codes: Integers) -> Floats:
        """Decode rows one by one; a row's numbers depend on that row alone."""
        numbers = [j for j, column in enumerate(self.columns) if isinstance(column, Numeric)]
        if len(numbers) == len(self.columns):
            return self._numbers(codes, numbers)
        parts = []
        for j, column in enumerate(self.columns):
            if isinstance(column, Numeric):
                parts.append(self._numbers(codes, [j]))
            elif isinstance(column, Categorical):
                parts.append((codes[:, [j]] == np.arange(len(column.values))).astype(np.float64))
        return np.concatenate(parts, axis=1)

    def _numbers(self, codes: Integers, which: list[int]) -> Floats:
        low, step, high = np.array([self._scale(j) for j in which]).T
        return np.asarray(np.clip(low + codes[:, which] * step, low, high))

    def _scale(self, j: int) -> tuple[float, float, float]:
        """The value of code 0, the distance of codes, and the upper bound."""
        column = self.columns[j]
        assert isinstance(column, Numeric)
        steps = column.steps(VALUE_BITS)
        width = column.width / steps if steps else 0.0
        return column.decode(0, VALUE_BITS), width, float(column.upper)


@final
@dataclass(frozen=True)
class Lesson:
    """How one teacher learns from its part and votes: public, and the same for all teachers.

    Attributes
    ----------
    teacher : classifier, or callable
        A classifier with ``fit`` and ``predict``; or a function of features, classes (0, 1, ...) and the
        number of classes to a function from features to classes.
    features : callable, or None
        From a matrix of rows to a matrix of features, row by row.
    design : Design
    questions : array
        The features of the public rows that are voted on.
    classes : int
    """

    teacher: Any
    features: Callable[[Floats], Floats] | None
    design: Design
    questions: Floats
    classes: int

    def matrix(self, codes: Integers) -> Floats:
        """The features of rows, given by their codes."""
        found = self.design.matrix(codes)
        return found if self.features is None else self.features(found)

    def learn_and_vote(self, codes: Integers, labels: Integers) -> Integers:
        """The votes of a teacher of these rows. No row can make it raise or warn."""
        constant = np.full(len(self.questions), CONSTANT, np.int64)
        if not len(labels):
            return constant
        if (labels == labels[0]).all():
            return np.full_like(constant, labels[0])
        try:
            with keep_quiet():
                return self.check_votes(self.ask(self.matrix(codes), labels))
        except KeyboardInterrupt:
            raise
        except BaseException:  # an error is a fact about the part: it becomes a vote like any other
            return constant

    def ask(self, rows: Floats, labels: Integers) -> Any:
        """Train a fresh teacher with fresh random numbers, and return its votes as it gives them."""
        if not hasattr(self.teacher, "fit"):
            with renew(find_generators(self.teacher)):
                return self.teacher(rows, labels, self.classes)(self.questions)
        model = clone(self.teacher)
        with renew(find_generators(model)):
            return model.fit(rows, labels).predict(self.questions)

    def check_votes(self, votes: Any) -> Integers:
        """Votes as integers, one for each question; a class that isn't one counts as the constant."""
        found = np.asarray(votes)
        if found.shape != (len(self.questions),):
            raise ValueError(
                f"teacher must predict one class for each row: for {len(self.questions)} rows it gave an "
                f"array of shape {found.shape}."
            )
        number = found.astype(np.float64)
        known = np.isin(number, np.arange(self.classes))
        return np.where(known, number, CONSTANT).astype(np.int64)


def deals_by_id(schema: Schema, unit: Unit) -> bool:
    """Whether all rows of a person go to one teacher: worth it if the schema knows the ids."""
    known = unit.id_column is not None and unit.id_column in schema.base
    return known and unit.rows_per_person > (2 if unit.relation is REPLACE_ONE else 1)


def changed_teachers(schema: Schema, unit: Unit, teachers: int) -> int:
    """How many teachers one person can reach.

    By row: one for each row; a replaced row keeps its place, and so its teacher. By id: one, or two under
    replace-one, where the new rows may come under another id.
    """
    if deals_by_id(schema, unit):
        changed = 2 if unit.relation is REPLACE_ONE else 1
    else:
        changed = unit.rows_per_person
    return min(changed, teachers)


def deal(count: int, teachers: int, ids: Integers | None = None, size: int = 0) -> Integers:
    """Draw the teacher of each row, in secret: independently by row, or by id.

    Parameters
    ----------
    count, teachers : int
    ids : array, optional
        The code of each row's id, from -1 to `size` - 1.
    size : int
        How many codes there can be: public.
    """
    if ids is None:
        return noise.uniform_below(teachers, count)
    return noise.uniform_below(teachers, size + 1)[ids]


@final
class Teachers(Step):
    """Noisy labels for public questions, from the votes of teachers that learned disjoint parts of the rows.

    Parameters
    ----------
    names : tuple of str
        Feature columns, then the target.
    lesson : Lesson
    aggregation : Aggregation
    teachers : int
    n_jobs : int or None
        How many processes train teachers.

    Privacy
    -------
    One person reaches `changed_teachers` teachers, whose votes may become anything; all other votes are
    as they were, in distribution. What comes out is what `aggregation` releases. With public rows the
    counts of votes come out, too. Proof page: ``docs/proofs/pate.md``.
    """

    columns: tuple[str, ...]

    def __init__(
        self,
        names: tuple[str, ...],
        lesson: Lesson,
        aggregation: Aggregation,
        teachers: int,
        schema: Schema,
        unit: Unit,
        n_jobs: int | None = None,
    ) -> None:
        self._names, self.lesson, self.aggregation = names, lesson, aggregation
        self.teachers, self._schema, self._unit, self._n_jobs = teachers, schema, unit, n_jobs
        self._by_id = deals_by_id(schema, unit)
        self.columns = (*names, unit.id_column) if self._by_id and unit.id_column else names

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        if unit != self._unit or schema != self._schema:
            raise ValueError("this step was made for another unit or other columns.")
        changed = changed_teachers(schema, unit, self.teachers)
        return self.aggregation.event(len(self.lesson.questions), changed)

    def run(self, rows: CodedRows) -> tuple[Integers, Integers | None]:
        """The labels, -1 where none is given; and the counts of votes, of public rows alone."""
        counts = self.count_votes(rows)
        labels = self.aggregation.run(counts)
        return labels, counts if self._unit.is_public else None

    def count_votes(self, rows: CodedRows) -> Integers:
        """The number of votes, by question and class."""
        codes = rows.codes
        teacher = deal(len(codes), self.teachers, *self._ids(rows))
        width = len(self._names) - 1
        known = codes[:, width] >= 0  # the others have no declared class
        counts = np.zeros((len(self.lesson.questions), self.lesson.classes), np.int64)
        asked = np.arange(len(counts))
        parts = (self._part(codes, known & (teacher == t), width) for t in range(self.teachers))
        for votes in self._train(parts):
            counts[asked, votes] += 1
        return counts

    def _ids(self, rows: CodedRows) -> tuple[Integers, int] | tuple[()]:
        if not self._by_id:
            return ()
        column = self._schema.base[rows.names[-1]]
        if isinstance(column, Categorical):
            return rows.codes[:, -1], len(column.values)
        assert isinstance(column, Numeric)
        return rows.codes[:, -1], column.steps(VALUE_BITS) + 1

    @staticmethod
    def _part(
        codes: Integers, mine: npt.NDArray[np.bool_], width: int
    ) -> tuple[Integers, Integers]:
        """One teacher's rows, in an order drawn afresh: the places of rows tell nothing."""
        at = np.flatnonzero(mine)
        at = at[noise.permutation(len(at))]
        return codes[at, :width], codes[at, width]

    def _train(self, parts: Iterator[tuple[Integers, Integers]]) -> Iterator[Integers]:
        """The votes of all teachers, one after the other; a bar shows how many are done."""
        done = 0
        with progress.show("teachers", lambda: done / self.teachers):
            for votes in self._learn(parts):
                done += 1
                yield votes

    def _learn(self, parts: Iterator[tuple[Integers, Integers]]) -> Iterator[Integers]:
        if self._n_jobs in (None, 1):
            for part in parts:
                yield self.lesson.learn_and_vote(*part)
            return
        joblib: Any = import_module("joblib")
        try:
            run = joblib.Parallel(self._n_jobs, return_as="generator")
            yield from run(joblib.delayed(self.lesson.learn_and_vote)(*part) for part in parts)
        except Exception as error:  # a worker that died; what it was doing is not told
            name = type(error).__name__
        else:
            return
        raise RuntimeError(
            f"the processes that train teachers failed with {name}: try n_jobs=1, or fewer of them."
        )

    def __repr__(self) -> str:
        return f"Teachers({self.teachers}, {self.aggregation!r})"

"""Does a table match what was declared? One noised vector that says so for all columns at once."""

from __future__ import annotations

import datetime
import math
from itertools import pairwise
from typing import Any, final

import numpy as np

from discreet.coding import (
    Category,
    Code,
    CodedQuery,
    Cuts,
    Filled,
    Grid,
    Integers,
    Ladder,
    Lookup,
    PersonLimit,
    Sensitivity,
    Term,
    leaves,
)
from discreet.coding.calendar import day_of
from discreet.columns import (
    Categorical,
    Date,
    Integer,
    Logarithmic,
    Real,
    Unbounded,
    column_name,
)
from discreet.queries.answer import Budget, Prepared
from discreet.queries.count_vector import CountVector, PreparedCounts
from discreet.queries.sizes import MAX_ROWS
from discreet.schema import Schema, order_codes
from discreet.unit import REPLACE_ONE, Unit

__all__ = ["PERSON_LABELS", "Check"]

#: What a cell can be, by the kind of its column; each cell is exactly one of them.
NUMBER_STATES = ("missing", "not a number", "below", "within", "above")
UNBOUNDED_STATES = ("missing", "not a number", "within")
DATE_STATES = ("missing", "not a date", "before", "within", "after")
CATEGORY_STATES = ("unknown", "within")
#: The ends of the calendar: engines can't compare with a day beyond.
FIRST_DAY, LAST_DAY = day_of(datetime.date.min), day_of(datetime.date.max)
#: What persons and rows without a person are; no column has an empty name.
PERSON_LABELS = (
    ("", "persons within the limit"),
    ("", "persons over the limit"),
    ("", "rows without id"),
)


@final
class Check(CountVector):
    """How many cells are missing, no number or date, outside their bounds or of no declared category.

    Every cell of a column is in exactly one state, so the counts of a column add up to the rows that count.
    With an id column it also counts persons with at most `max_rows` rows and with more, before any row is
    left out, and the rows without an id. The answer is one count for each label, a pair of column and state;
    ``data.check(budget)`` says in words what is suspicious about them.

    Parameters
    ----------
    *columns : str
        Columns of the table; by default all that are declared with bounds or categories, as dates, or as
        ``dp.Real()``.

    Privacy
    -------
    With c columns and k rows per person a person adds at most k to the counts of each column, and 1 to
    those of persons: L1 = k·c + 1, squared L2 = k²·c + 1 (without ids: c and c); twice that under
    replace-one. A row without an id is taken as a person of its own. Proof page: ``docs/proofs/check.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(age=dp.Integer(0, 100))
    >>> data = dp.PrivateDataset({"age": [34, 51, None, 400]}, schema, unit=dp.PUBLIC)
    >>> found = data.release(dp.queries.Check("age"), dp.PureDP(float("inf")))
    >>> for (column, state), count in zip(found.labels, found.value.tolist(), strict=True):
    ...     print(column, state, count)
    age missing 1
    age not a number 0
    age below 0
    age within 2
    age above 1
    """

    def __init__(self, *columns: str) -> None:
        super().__init__(None, None)
        self.names = tuple(column_name(name, "Check") for name in columns)
        if len(set(self.names)) != len(self.names):
            raise ValueError("Check: columns must be different.")

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    def checked(self, schema: Schema) -> tuple[str, ...]:
        """The columns whose cells are counted."""
        if not self.names:
            return tuple(name for name, column in schema.base.items() if _states(column))
        for name in self.names:
            if not _states(schema[name]):
                raise ValueError(
                    f"Check: column {name!r} is {_article(schema[name])}: only columns of the table with "
                    "bounds or declared categories can be compared with what was declared."
                )
        return self.names

    def parts(self, schema: Schema, unit: Unit) -> tuple[CodedQuery, ...]:
        """The cells; then with ids all persons, the rows up to one above the limit, with an id, and all."""
        terms = [Term(1)]
        for name in self.checked(schema):
            terms += [Term(1, (code,)) for code in _steps(name, schema[name])]
        if unit.id_column is None:
            return (CodedQuery(tuple(terms), (), None, (), None),)
        limit, order = unit.rows_per_person, order_codes(schema)
        # bounds and fills make cells of different states alike, so the states are compared, too
        finer = leaves(*(code for term in terms for code in term.codes))
        ties = tuple(leaf for leaf in finer if leaf not in order)
        keep = PersonLimit(unit.id_column, limit, order, ties)
        cells = CodedQuery(tuple(terms), (), None, (), keep)
        rows = (Term(1),)
        counts = [
            CodedQuery(rows, (), None, (), PersonLimit(unit.id_column, most, ()))
            for most in (1, limit + 1, MAX_ROWS)
        ]
        return (cells, *counts, CodedQuery(rows, (), None, (), None))

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        columns, rows = len(self.checked(schema)), unit.rows_per_person
        persons = 0 if unit.id_column is None else 1
        sides = 2 if unit.relation is REPLACE_ONE else 1
        return Sensitivity(
            sides * (rows * columns + persons), sides * (rows**2 * columns + persons)
        )

    def labels(self, schema: Schema) -> list[Any]:
        """The states of each column's cells, as pairs of column and state."""
        return [(name, state) for name in self.checked(schema) for state in _states(schema[name])]

    def vector(self, totals: list[Integers], schema: Schema) -> Integers:
        """The counts of all states, persons and rows without id, from the totals of `parts`."""
        rows, *reached = totals[0][0].tolist()
        counts: list[int] = []
        for name in self.checked(schema):
            states = len(_states(schema[name]))
            # how many cells have reached each step: what lies between two steps is a state
            steps = [rows, *reached[: states - 1], 0]
            reached = reached[states - 1 :]
            counts += [a - b for a, b in pairwise(steps)]
        if len(totals) > 1:
            persons, beyond, known, everything = (int(part[0, 0]) for part in totals[1:])
            over = beyond - rows
            counts += [persons - over, over, everything - known]
        return np.array(counts, np.int64)

    def prepare(self, budget: Budget, schema: Schema, unit: Unit, rows: int | None) -> Prepared:
        labels = self.labels(schema) + [*PERSON_LABELS] * (unit.id_column is not None)
        if not labels:
            raise ValueError(
                "Check: no column is declared with bounds or categories, so there is nothing to compare."
            )
        return PreparedCounts(self, labels, budget, schema, unit, rows)

    def __repr__(self) -> str:
        return f"Check({', '.join(map(repr, self.names))})"


def _states(column: object) -> tuple[str, ...]:
    """What a cell of a column can be, in the order of its steps; nothing where all cells are alike."""
    match column:
        case Real() | Integer():
            return NUMBER_STATES
        case Logarithmic(source=source):
            return _states(source)
        case Date():
            return DATE_STATES
        case Unbounded():
            return UNBOUNDED_STATES
        case Categorical():
            return CATEGORY_STATES
        case _:
            return ()


def _steps(name: str, column: object) -> tuple[Code, ...]:
    """Codes that are 1 for a cell that has reached the second, third, ... state, and 0 before."""
    match column:
        case Real(lower=lower, upper=upper):
            ladder = Ladder(name, (float(lower), math.nextafter(float(upper), math.inf)))
            return (Filled(name), *(Cuts(ladder, (step,)) for step in (0, 1, 2)))
        case Integer(lower=lower, upper=upper):
            # fractions are rounded down, so all below upper + 1 is within
            above = max(float(upper) + 1.0, math.nextafter(float(upper), math.inf))
            ladder = Ladder(name, (float(lower), above))
            return (Filled(name), *(Cuts(ladder, (step,)) for step in (0, 1, 2)))
        case Logarithmic(source=source):
            return _steps(name, source)
        case Date(lower=first, upper=last):
            return (Filled(name), *_date_steps(name, first, last))
        case Unbounded():
            return (Filled(name), Cuts(Ladder(name, (0.0,)), (0,)))
        case Categorical(values=values):
            plain = tuple(int(v) if isinstance(v, bool) else v for v in values)
            return (Cuts(Category(name, plain), (0,)),)
        case _:
            return ()


def _date_steps(name: str, first: int, last: int) -> tuple[Code, ...]:
    """Whether a cell is a date, one from the first day on, and one after the last day.

    A cell that is no date is what it is filled with, so it alone is 0 by one fill and 1 by the other. Nothing
    is told to lie before year 1 or after year 9999.
    """
    low, high = _reach(name, 1, 0), _reach(name, 1, 1)
    known = Lookup((low, high), ((0, 1), (1, 0)), (0, 1))
    since = _reach(name, first, first - 1) if first > FIRST_DAY else known
    beyond = _reach(name, last + 1, last) if last < LAST_DAY else Cuts(known, (2,))
    return known, since, beyond


def _reach(name: str, day: int, fill: int) -> Grid:
    """1 for dates from a day on and 0 for those before it, by which of the two days `fill` is for others."""
    return Grid(name, float(day - 1), float(day), float(fill), float(day - 1), 1.0, 0.0)


def _article(column: object) -> str:
    """A column's kind with its article, for a sentence."""
    kind = type(column).__name__
    return f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}"

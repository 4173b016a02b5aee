"""What rows have left over of a target after an additive prediction: boosting."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self, final

import numpy as np

from discreet.coding import (
    Code,
    CodedQuery,
    Cuts,
    Extent,
    LeftOver,
    Lookup,
    Sensitivity,
    Term,
    Total,
)
from discreet.columns import column_name, numeric_column
from discreet.queries.additive import Additive, Floats
from discreet.rational import as_integer
from discreet.schema import Derived, Schema
from discreet.unit import Unit

#: The largest residual, in whole steps.
SIZE = 640
#: A score of a class is added up in whole steps, CENTRE of which are REACH; more count as REACH.
CENTRE, REACH = 128, 6.0
#: Residuals of a class are told apart in twentieths of the largest: as engines must compare each.
PARTS = 20

#: The whole number that stands for exp(0) where shares of several classes are computed.
WEIGHT = 2**10
#: The most classes: shares of wholes that are sums of as many weights are exact in doubles.
MAX_CLASSES = 2**10
#: Bits of the grid of a numeric target.
TARGET_BITS = 8


class Cells:
    """Derived columns that many queries share: the larger schema is made once.

    Parameters
    ----------
    columns : mapping of name to derived column
        As in ``schema.derive``; public, or made of noised answers.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(age=dp.Integer(0, 100))
    >>> cells = dp.queries.Cells({"decade": dp.Bins("age", list(range(10, 100, 10)))})
    >>> cells.larger(schema)["decade"]
    Bins('age', [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0])
    """

    def __init__(self, columns: Mapping[str, Derived]) -> None:
        self.columns = dict(columns)
        self._larger: tuple[Schema, Schema] | None = None
        self._codes: dict[str, Code] = {}

    def larger(self, schema: Schema) -> Schema:
        """The schema with these columns; one that was made here is returned as it is."""
        if self._larger is None or (
            schema is not self._larger[0] and schema is not self._larger[1]
        ):
            self._larger = schema, schema.derive(**self.columns)
            self._codes = {}
        return self._larger[1]

    def code(self, name: str, schema: Schema) -> Code:
        """The code of one of the larger schema's columns."""
        larger = self.larger(schema)
        if name not in self._codes:
            self._codes[name] = larger.code(name)
        return self._codes[name]


class Residuals(Additive):
    """For each cell of a countable column, sums of what its rows have left over of the target.

    A prediction is made of scores: sums of public whole numbers that stand beside the cells of some
    columns. A residual is a whole number of size `SIZE` at most; the answer is in units of that size.

    Privacy
    -------
    A row adds its residuals to one cell. A cell of a scored column that is no declared value scores 0,
    and its row counts; rows without a declared `by` or target are left out. Proof page:
    ``docs/proofs/boosting.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> query = dp.queries.ClassResiduals("ill", "ward", [{"ward": [0, 0]}], [0], classes=[1])
    >>> isinstance(query, dp.queries.Residuals), query.at("age").by
    (True, ('age',))
    """

    def __init__(
        self,
        target: str,
        by: str,
        scores: Sequence[Mapping[str, Sequence[int]]],
        offsets: Sequence[int],
        cells: Cells | None = None,
    ) -> None:
        super().__init__(by, None)
        self.target = column_name(target, type(self).__name__)
        self.scores = tuple(
            {name: tuple(map(int, t)) for name, t in tables.items()} for tables in scores
        )
        self.offsets = tuple(map(int, offsets))
        if not self.scores or not all(self.scores) or len(self.offsets) != len(self.scores):
            raise ValueError("scores must be tables of one or more columns, each with an offset.")
        self.cells = Cells({}) if cells is None else cells
        self._made: list[tuple[Schema, tuple[Code, ...]]] = []

    def at(self, by: str) -> Self:
        """The same residuals in the cells of another column."""
        query = copy(self)
        query.by = (column_name(by, type(self).__name__),)
        return query  # what was made of the scores is shared

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.target,)

    @property
    @abstractmethod
    def width(self) -> int:
        """How many residuals each row has."""

    @abstractmethod
    def _codes(self, schema: Schema) -> tuple[Code, ...]:
        """The residuals of a row, made anew."""

    def codes(self, schema: Schema) -> tuple[Code, ...]:
        """The residuals of a row, between -SIZE and SIZE."""
        larger = self.cells.larger(schema)
        if not self._made or self._made[0][0] is not larger:
            self._made[:] = [(larger, self._codes(larger))]
        return self._made[0][1]

    def _sources(self, schema: Schema, index: int) -> tuple[Code, ...]:
        """The codes that a score reads."""
        codes = []
        for name, table in self.scores[index].items():
            code = self.cells.code(name, schema)
            if code.high + 1 != len(table):
                raise ValueError(
                    f"scores: the table of {name!r} must have {code.high + 1} entries."
                )
            codes.append(code)
        return tuple(codes)

    def terms(self, schema: Schema) -> tuple[Term, ...]:
        return tuple(Term(1, (code,)) for code in self.codes(schema))

    def labels(self, schema: Schema) -> list[Any]:
        return super().labels(self.cells.larger(schema))

    def can_leave_out(self, schema: Schema, unit: Unit) -> bool:
        return super().can_leave_out(self.cells.larger(schema), unit)

    def coded(self, schema: Schema, unit: Unit) -> CodedQuery:
        return self._coded(self.cells.larger(schema), unit, self.terms(schema))

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        return self._sensitivity_from_extent(
            self.extent(schema, True), self.cells.larger(schema), unit
        )

    def estimate(self, totals: Floats, schema: Schema) -> Any:
        return totals / SIZE

    def error(self, totals: Floats, deviations: Floats, schema: Schema) -> Any:
        return np.tile(np.asarray(deviations, np.float64) / SIZE, (len(totals), 1))

    def bounds(self, totals: Floats, widths: Floats, schema: Schema) -> tuple[Any, Any]:
        half = np.asarray(widths, np.float64) / SIZE
        return totals / SIZE - half, totals / SIZE + half


@final
class ClassResiduals(Residuals):
    """Sums of clipped residuals of class indicators, one for each of some classes.

    With p = 1/(1 + exp(-score)) for one class, and p = exp(score)/Σ exp(scores) for several, a row of the
    class has min(1 - p, 1/2) left over, any other row -min(p, 1/2). The answer is an array (cells, classes)
    in units of 1/2.

    Parameters
    ----------
    target, by : str
        Countable columns.
    scores : sequence of mappings of column name to whole numbers
        For each class, what each cell of a countable column adds to the score, in steps of REACH/CENTRE.
    offsets : sequence of int
        Added to the scores.
    classes : sequence of int
        The places of the classes among the target's values.
    cells : Cells, optional
        Derived columns that `by` and `scores` may name.

    Privacy
    -------
    A row adds a vector with entries of size SIZE at most to one cell; those of other classes than its own add
    up to 2·SIZE at most, since shares are rounded down. So the norms are k and √k (times SIZE) with k the
    number of classes, 3 at most. Under replace-one, where only the two rows' own classes have a positive
    entry, vectors are at most 6, and in squares 10, apart (5 and 9 for three classes, 4 and 8 for two, 2 and
    4 for one). Proof page: ``docs/proofs/boosting.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(ward=dp.Categorical("A", "B"), ill=dp.Categorical("no", "yes"))
    >>> table = {"ward": ["A", "A", "B"], "ill": ["no", "no", "yes"]}
    >>> data = dp.PrivateDataset(table, schema, unit=dp.PUBLIC)
    >>> nothing_yet = [{"ward": [0, 0]}]  # every score is 0: p = 1/2
    >>> query = dp.queries.ClassResiduals("ill", "ward", nothing_yet, [0], classes=[1])
    >>> data.release(query, dp.PureDP(float("inf"))).value
    array([[-2.],
           [ 1.]])
    """

    def __init__(
        self,
        target: str,
        by: str,
        scores: Sequence[Mapping[str, Sequence[int]]],
        offsets: Sequence[int],
        *,
        classes: Sequence[int],
        cells: Cells | None = None,
    ) -> None:
        super().__init__(target, by, scores, offsets, cells)
        self.classes = tuple(map(int, classes))
        if len(self.classes) != len(self.scores) or len(set(self.classes)) != len(self.classes):
            raise ValueError("classes must be different places of values, one for each score.")
        if len(self.classes) > MAX_CLASSES:
            raise ValueError(f"classes must be at most {MAX_CLASSES}, got {len(self.classes)}.")

    @property
    def width(self) -> int:
        return len(self.classes)

    def _codes(self, schema: Schema) -> tuple[Code, ...]:
        target = self.cells.code(self.target, schema)
        if self.width > 1:
            return self._shares(target, schema)
        level = Cuts(self._score(0, target, tuple(range(2 * CENTRE + 1)), schema), SCORE_CUTS)
        own = tuple((2 * PARTS + 1) * int(k == self.classes[0]) for k in range(target.high + 1))
        levels = tuple(range(2 * PARTS + 1))
        return (Lookup((level, target), (levels, own), CLASS_LINK),)

    def _score(self, index: int, target: Code, link: tuple[int, ...], schema: Schema) -> Lookup:
        """A public table at the score of a class."""
        tables = tuple(self.scores[index].values())
        # the target is known wherever a row counts, so the offset stands there
        offset = (self.offsets[index] + CENTRE,) * (target.high + 1)
        return Lookup((*self._sources(schema, index), target), (*tables, offset), link)

    def _shares(self, target: Code, schema: Schema) -> tuple[Code, ...]:
        """What is left over of each of several classes, whose shares add up to one at most."""
        weights = [self._score(k, target, EXPONENTIALS, schema) for k in range(self.width)]
        whole = Total(tuple(weights))
        found = []
        for weight, place in zip(weights, self.classes, strict=True):
            own = Lookup(
                (target,), (tuple(int(k == place) for k in range(target.high + 1)),), (0, 1)
            )
            found.append(LeftOver(weight, whole, own, SIZE))
        return tuple(found)

    def extent(self, schema: Schema, counted: bool) -> Extent:
        k = min(self.width, 3)
        apart, apart_squared = min(self.width + 2, 6), min(self.width + 6, 10)
        if self.width == 1:
            apart, apart_squared = 2, 4
        return Extent(k * SIZE, k * SIZE**2, apart * SIZE, apart_squared * SIZE**2)


@final
class NumberResiduals(Residuals):
    """Sums of clipped residuals of a numeric target.

    Parameters
    ----------
    target : str
        A `Real` or `Integer` column.
    by : str
        A countable column.
    score : mapping of column name to whole numbers
        What each cell of a countable column adds to the prediction, in steps.
    offset : int
        Added to the prediction; steps from the target's lower bound.
    steps : int
        How many steps the target's grid, of 2^TARGET_BITS cells or of whole numbers, has in a cell.
        Residuals are clipped at SIZE steps.
    cells : Cells, optional
        Derived columns that `by` and `score` may name.

    Privacy
    -------
    A row adds one number of size SIZE at most to one cell. Proof page: ``docs/proofs/boosting.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(ward=dp.Categorical("A", "B"), stay=dp.Integer(0, 40))
    >>> data = dp.PrivateDataset({"ward": ["A", "B"], "stay": [10, 30]}, schema, unit=dp.PUBLIC)
    >>> predict_twenty = {"ward": [0, 0]}
    >>> query = dp.queries.NumberResiduals("stay", "ward", predict_twenty, 20, steps=1)
    >>> data.release(query, dp.PureDP(float("inf"))).value.round(3)
    array([[-0.016],
           [ 0.016]])
    """

    def __init__(
        self,
        target: str,
        by: str,
        score: Mapping[str, Sequence[int]],
        offset: int,
        *,
        steps: int,
        cells: Cells | None = None,
    ) -> None:
        super().__init__(target, by, [score], [offset], cells)
        self.steps = as_integer(steps, "steps", minimum=1)
        if self.steps > 2**20:
            raise ValueError(f"steps must be at most 2^20, got {steps!r}.")

    @property
    def width(self) -> int:
        return 1

    def _codes(self, schema: Schema) -> tuple[Code, ...]:
        column = numeric_column(schema, self.target, "NumberResiduals")
        # the least clipped residual has place 0; values stand in the middle of their cells
        first = SIZE - self.offsets[0] + (0 if column.is_exact(TARGET_BITS) else self.steps // 2)
        values = tuple(first + self.steps * k for k in range(column.steps(TARGET_BITS) + 1))
        tables = (tuple(-entry for entry in table) for table in self.scores[0].values())
        sources = (*self._sources(schema, 0), column.grid(self.target, TARGET_BITS))
        return (Lookup(sources, (*tables, values), tuple(range(-SIZE, SIZE + 1))),)

    def extent(self, schema: Schema, counted: bool) -> Extent:
        return Extent(SIZE, SIZE**2, 2 * SIZE, 4 * SIZE**2)


def _score_cuts() -> tuple[int, ...]:
    """Where, among scores in steps from -REACH on, the residual of a class moves on by a part."""
    left = [1 - (part + 0.5) / PARTS for part in range(PARTS)]
    # 2(1 - p) = x at the score log((2 - x)/x)
    ends = [round(CENTRE / REACH * math.log((2 - x) / x)) for x in left]
    return (*(CENTRE - end + 1 for end in reversed(ends)), *(CENTRE + end for end in ends))


def _class_link() -> tuple[int, ...]:
    """The clipped residual between cuts: of other rows first, then of rows of the class."""
    own = [PARTS] * (PARTS + 1) + [PARTS - part for part in range(1, PARTS + 1)]
    return tuple(SIZE // PARTS * entry for entry in (*(-entry for entry in reversed(own)), *own))


def _exponentials() -> tuple[int, ...]:
    """exp(score) in whole numbers, at each step of a score; positive."""
    return tuple(
        round(WEIGHT * math.exp(REACH * (at - CENTRE) / CENTRE)) for at in range(2 * CENTRE + 1)
    )


SCORE_CUTS, CLASS_LINK = _score_cuts(), _class_link()
EXPONENTIALS = _exponentials()

"""The split of a node of a decision tree that tells most about the target."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, final, get_args

import numpy as np
import numpy.typing as npt

from discreet.coding import VALUE_BITS, Code, CodedQuery, Cuts, Integers, partial_codes
from discreet.columns import Bins, Categorical, Numeric, Split, column_name, numeric_column
from discreet.queries.base import check_cells
from discreet.queries.choice import Choice
from discreet.queries.counts import Count
from discreet.queries.means import Mean
from discreet.queries.sums import By
from discreet.schema import Derived, Schema
from discreet.unit import Unit

Criterion = Literal["gini", "majority", "variance", "deviation"]
Objects = npt.NDArray[np.object_]
_Ungrouped = tuple[Schema, Unit, list[tuple[CodedQuery, int]]]

Places = npt.NDArray[np.intp]


class _Places(NamedTuple):
    """How the cells of all columns stand side by side: from bound to bound.

    A candidate's right side lies between `begins` and `ends`, in its `column`.
    """

    begins: Places
    ends: Places
    column: Places
    bounds: Places


#: Scores other than counts are whole multiples of 1/FINENESS, and expected shares of 1/FINENESS.
FINENESS = 2**12
#: What one row can add to a deviation, and can take from it: large beside FINENESS, which it is divided by.
DEVIATION = 2**20


@final
class BestSplit(Choice):
    """Which of some public splits of the rows in two tells most about the target.

    Parameters
    ----------
    target : str
        A countable column for ``"gini"`` and ``"majority"``, a `Real` or `Integer` for ``"variance"``; for
        ``"deviation"`` one or the other.
    cuts : mapping of column name to numbers
        The candidates: for a numeric column its cut points, increasing; for a `Categorical` column an
        empty list: each value against all others, undeclared ones included, as in `schema.Tree`.
    criterion : "gini", "majority", "variance" or "deviation"
        With n rows on a side, n_c of them of class c, and S the sum of the target scaled to [-1, 1],
        the sides' sum of: Σ n_c²/n; max n_c; S²/n; Σ |n_c - p_c·n| with `expected` shares p_c. For the last
        a number is a bit of two classes: at a share t between its bounds 1 - t of the first and t of the
        second, so that it is |S - n·E| with E the expected mean.
    by
        As in every query: one split for each group, such as the leaves of a tree.
    derive : mapping of name to derived column, optional
        Columns that `by` and `target` may name, besides those of the schema; public, or bought.
    expected : array of shape (groups, classes), optional
        For ``"deviation"`` and nothing else: the shares of the classes in each group, up to a factor; public,
        or bought. By default all classes are alike. The nearer they are, the better the choice.
    classes : bool
        For ``"deviation"``: whether the values of an `Integer` target are classes, as they are for
        ``"gini"`` and ``"majority"``, and not numbers.
    blocks : array of one integer for each group, optional
        Groups with the same number get one split, the best by the sum of their scores; public, or bought.
        Groups of few rows, whose own choice would be noise, find more together. By default each has its own.

    Privacy
    -------
    An added row changes scores by values in an interval of width 1 (majority), 2 (Gini), 4 (variance) or
    2(1 - least expected share) (deviation, whose scores are divided by the half of it); see `Choice`.
    Integers throughout, whatever is expected. Proof page: ``docs/proofs/tree.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> table = {"age": [20, 30, 60, 70] * 50, "ill": ["no", "no", "yes", "yes"] * 50}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ill=dp.Categorical("no", "yes"))
    >>> data = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(1)))
    >>> split = dp.queries.BestSplit("ill", {"age": [25, 45, 65]})
    >>> data.release(split, dp.PureDP(1)).value  # the second cut, 45
    1
    """

    def __init__(
        self,
        target: str,
        cuts: Mapping[str, Sequence[float]],
        *,
        criterion: Criterion = "gini",
        by: By = None,
        derive: Mapping[str, Derived] | None = None,
        expected: npt.ArrayLike | None = None,
        classes: bool = False,
        blocks: npt.ArrayLike | None = None,
    ) -> None:
        super().__init__(by, None)
        if criterion not in get_args(Criterion):
            raise ValueError(
                f"criterion must be one of {', '.join(get_args(Criterion))}, got {criterion!r}."
            )
        if not cuts:
            raise ValueError("BestSplit needs at least one column to cut.")
        self.target, self.criterion = column_name(target, "BestSplit"), criterion
        self.cuts = {name: tuple(points) for name, points in cuts.items()}
        self.derived, self.classes = dict(derive or {}), classes
        self._read(expected, blocks)
        self._larger: tuple[Schema, Schema] | None = None
        self._parts: tuple[Schema, Unit, tuple[CodedQuery, ...]] | None = None
        # shared with what `within` makes of it
        self._ungrouped: list[_Ungrouped] = []
        self._places: list[tuple[Schema, _Places]] = []

    def within(
        self,
        derive: Mapping[str, Derived],
        expected: npt.ArrayLike | None = None,
        blocks: npt.ArrayLike | None = None,
    ) -> BestSplit:
        """The same question with other shares and blocks, in the groups of columns derived for it, if any.

        What doesn't depend on groups is shared: a tree asks it once for all its levels.
        """
        if self.by and derive:
            raise ValueError("BestSplit: a question that has groups can't be asked within others.")
        if self.derived.keys() & derive.keys():
            raise ValueError("BestSplit: what is derived already can't be derived otherwise.")
        found = copy(self)
        found.by, found.derived = (*self.by, *derive), {**self.derived, **derive}
        found._larger = found._parts = None
        found._read(expected, blocks)
        return found

    def _read(self, expected: npt.ArrayLike | None, blocks: npt.ArrayLike | None) -> None:
        """Check names, and set shares and blocks."""
        if self.target in self.cuts or set(self.by) & {*self.cuts, self.target}:
            raise ValueError("BestSplit: target, cuts and by must name different columns.")
        if expected is not None and self.criterion != "deviation":
            raise ValueError("BestSplit: expected shares are for the criterion 'deviation' alone.")
        self.expected = None if expected is None else _whole_shares(expected)
        self.blocks = None if blocks is None else _renumbered(blocks)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in (*self.cuts, self.target) if name not in self.derived)

    def splits_of(self, schema: Schema) -> tuple[Split, ...]:
        """The candidates, in the order of the answer's numbers."""
        found: list[Split] = []
        for name, points in self.cuts.items():
            column = schema[name]
            if isinstance(column, Categorical):
                found += [(name, (value,)) for value in column.values]
            else:
                found += [(name, float(point)) for point in points]
        return tuple(found)

    def count(self, schema: Schema) -> int:
        return len(self.splits_of(schema))

    def larger(self, schema: Schema) -> Schema:
        """The schema with the columns that `by` and `target` may name."""
        last = self._larger  # read once: another thread may ask with another schema
        if last is None or last[0] is not schema:
            last = self._larger = schema, schema.derive(**self.derived)
        return last[1]

    def labels(self, schema: Schema) -> list[Any]:
        return super().labels(self.larger(schema))

    def _questions(self, schema: Schema) -> tuple[Schema, list[Count | Mean]]:
        """For each column, the sums in its bins, on a schema that has these bins."""
        larger = self.larger(schema)
        bins: dict[str, Bins] = {}
        queries: list[Count | Mean] = []
        for name, points in self.cuts.items():
            column, cells = schema[name], name
            if isinstance(column, Numeric):
                cells = _free_name(f"bins of {name}", {*larger, *bins})
                bins[cells] = _bins(name, points)
            elif not isinstance(column, Categorical) or points:
                raise ValueError(
                    f"BestSplit: column {name!r} must be dp.Real or dp.Integer, with cut points, or "
                    "dp.Categorical, without."
                )
            if self._is_number(larger):
                queries.append(Mean(self.target, by=cells))
            else:
                queries.append(Count(by=(cells, self.target)))
        larger = larger.derive(**bins)
        return larger, queries

    def _without_groups(self, schema: Schema, unit: Unit) -> list[tuple[CodedQuery, int]]:
        """The sums in the bins of each column, without groups, and how many cells they have labels for."""
        for known in self._ungrouped:
            if known[0] is schema and known[1] == unit:
                return known[2]
        larger, queries = self._questions(schema)
        found = []
        for query in queries:
            part = query._coded(larger, unit, query.terms(larger))  # a mean as count and sum
            by = (_all_cells(part.by[0]), *part.by[1:])
            found.append((replace(part, by=by), len(query.labels(larger))))
        self._ungrouped[:] = [(schema, unit, found)]
        return found

    def parts(self, schema: Schema, unit: Unit) -> tuple[CodedQuery, ...]:
        last = self._parts  # read once, as above; a plan asks the same for many budgets
        if last is None or last[0] is not schema or last[1] != unit:
            last = self._parts = schema, unit, self._find_parts(schema, unit)
        return last[2]

    def _find_parts(self, schema: Schema, unit: Unit) -> tuple[CodedQuery, ...]:
        larger, parts = self.larger(schema), []
        groups = self._groups(larger)
        if self.criterion == "deviation":  # raises here, before anything is charged
            classes = 2 if self._is_number(larger) else len(larger.labels(self.target))
            self._shares(groups, classes)
        if self.blocks is not None and self.blocks.shape != (groups,):
            raise ValueError(
                f"BestSplit: blocks must have the shape {(groups,)}, of groups, got {self.blocks.shape}."
            )
        above = tuple(larger.code(name) for name in self.by)
        # the same rows count in every part: so one person's rows are in the same groups throughout
        known = partial_codes(*above, larger.code(self.target))
        for part, cells in self._without_groups(schema, unit):
            check_cells(groups * cells)
            parts.append(part.within(above, known=known))
        return tuple(parts)

    def _groups(self, larger: Schema) -> int:
        return math.prod(len(larger.labels(name)) for name in self.by)

    def _is_number(self, larger: Schema) -> bool:
        """Whether sums of the target are asked, and not counts of its values."""
        if self.criterion == "deviation":
            return isinstance(larger[self.target], Numeric) and not self.classes
        return self.criterion == "variance"

    def spread(self, schema: Schema) -> int:
        # rounding down both sides' scores can add one step where the common part isn't whole
        widths = {"majority": 1, "gini": 2 * FINENESS, "variance": 4 * FINENESS + 1}
        return {**widths, "deviation": 2 * DEVIATION}[self.criterion]

    def scores(self, totals: Sequence[Integers], schema: Schema) -> Integers:
        larger = self.larger(schema)
        groups = self._groups(larger)
        places = self._find_places(schema)
        cells = np.diff(places.bounds).tolist()
        parts = zip(_as_safe(totals, self.criterion), cells, strict=True)
        sums = np.concatenate([part.reshape(groups, size, -1) for part, size in parts], axis=1)
        # up to each cell, of all columns side by side: what lies between two cells is a difference
        upto = np.concatenate([np.zeros_like(sums[:, :1]), sums.cumsum(axis=1)], axis=1)
        right = upto.take(places.ends, axis=1) - upto.take(places.begins, axis=1)
        whole = upto.take(places.bounds[1:], axis=1) - upto.take(places.bounds[:-1], axis=1)
        left = whole.take(places.column, axis=1) - right
        scores = np.asarray((self._side(left, larger) + self._side(right, larger)).astype(np.int64))
        if self.blocks is None:
            return scores
        found = np.zeros((self.blocks.max() + 1, scores.shape[1]), np.int64)
        np.add.at(found, self.blocks, scores)
        return found

    def _find_places(self, schema: Schema) -> _Places:
        """Where each candidate's right side begins and ends among the cells of all columns."""
        for known, places in self._places:
            if known is schema:
                return places
        begins, ends, column, bounds = list[int](), list[int](), list[int](), [0]
        for at, (name, points) in enumerate(self.cuts.items()):
            is_cut, start = isinstance(schema[name], Numeric), bounds[-1]
            bounds.append(
                start + (len(points) if is_cut else _all_cells(schema.code(name)).high) + 1
            )
            # rows without a declared value are with the others
            first = start + 1 if is_cut else bounds[-1] - len(schema.labels(name))
            right = range(first, bounds[-1])
            begins, column = [*begins, *right], [*column, *[at] * len(right)]
            ends += [bounds[-1] if is_cut else place + 1 for place in right]
        places = _Places(*(np.array(each, np.intp) for each in (begins, ends, column, bounds)))
        self._places[:] = [(schema, places)]
        return places

    def each_group(self, drawn: Integers) -> Integers:
        return drawn if self.blocks is None else np.asarray(drawn[self.blocks])

    def _side(self, sums: Any, schema: Schema) -> Any:
        """The score of one side, in whole steps, rounded down."""
        if self.criterion == "deviation":
            return self._deviation(sums, schema)
        if self.criterion == "majority":
            return sums.max(axis=2)
        if self.criterion == "gini":
            rows = np.maximum(sums.sum(axis=2), 1)
            return FINENESS * (sums * sums).sum(axis=2) // rows
        steps = max(1, numeric_column(schema, self.target, "BestSplit").steps(VALUE_BITS))
        rows = np.maximum(sums[:, :, 0] // steps, 1)
        return FINENESS * sums[:, :, 1] ** 2 // (rows.astype(object) * steps**2)

    def _deviation(self, sums: Any, schema: Schema) -> Any:
        """Half of Σ |n_c - p_c·n|, in units of what one row can add, rounded down to 1/DEVIATION."""
        steps = 1
        if self._is_number(schema):
            steps = max(1, numeric_column(schema, self.target, "BestSplit").steps(VALUE_BITS))
            rows, centred = sums[:, :, 0], sums[:, :, 1]  # in steps; the sum of 2k - steps
            sums = np.stack([(rows - centred) // 2, (rows + centred) // 2], axis=2)
        shares = self._shares(*sums.shape[::2])
        whole = shares.sum(axis=1)
        unit = DEVIATION // np.maximum(whole - shares.min(axis=1), 1)
        # class by class: sums over an axis of two or three are slow
        classes = range(sums.shape[2])
        rows = sum(sums[:, :, at] for at in classes)
        apart = sum(
            abs(sums[:, :, at] * whole[:, None] - shares[:, at, None] * rows) for at in classes
        )
        return unit[:, None] * apart // (2 * steps)

    def _shares(self, groups: int, classes: int) -> Integers:
        """The expected shares as whole numbers."""
        if self.expected is None:
            return np.ones((groups, classes), np.int64)
        if self.expected.shape != (groups, classes):
            raise ValueError(
                f"BestSplit: expected must have the shape {(groups, classes)}, of groups and classes, got "
                f"{self.expected.shape}."
            )
        return self.expected

    def _options(self) -> list[str]:
        return [f"criterion={self.criterion!r}", *super()._options()]


@lru_cache(maxsize=256)
def _bins(name: str, points: tuple[float, ...]) -> Bins:
    """The bins between cut points: every level of a tree asks for the same ones."""
    return Bins(name, points)


def _as_safe(totals: Sequence[Integers], criterion: Criterion) -> Sequence[Integers | Objects]:
    """Sums in 64 bits where nothing in a score overflows there, as Python's integers otherwise.

    With t the size of all sums of a column together, that is 2·DEVIATION·t for deviations, FINENESS·t² for
    squares; a float's rounding is far less than what is left.
    """
    # at most: what is far below needs no sum
    whole = np.concatenate([part.reshape(-1) for part in totals])
    size = float(max(whole.max(), -whole.min())) * max(part.size for part in totals)
    if _reached(size, criterion) >= 2**62:
        size = max(float(np.abs(part).sum(dtype=np.float64)) for part in totals)
    if _reached(size, criterion) < 2**62:
        return totals
    return [part.astype(object) for part in totals]


def _reached(size: float, criterion: Criterion) -> float:
    return 2 * DEVIATION * size if criterion == "deviation" else FINENESS * size**2


def _renumbered(blocks: npt.ArrayLike) -> Integers:
    """The numbers of blocks as 0, 1, ..., in the same order."""
    numbers = np.asarray(blocks)
    if numbers.ndim != 1 or not numbers.size or numbers.dtype.kind not in "iu":
        raise ValueError("BestSplit: blocks must be a list of integers, one for each group.")
    return np.asarray(np.unique(numbers, return_inverse=True)[1], np.int64)


def _whole_shares(expected: npt.ArrayLike) -> Integers:
    """Shares in whole multiples of about 1/FINENESS; none is 0, so that their sum isn't."""
    shares = np.atleast_2d(np.asarray(expected, np.float64))
    if shares.ndim != 2 or not (np.isfinite(shares).all() and (shares >= 0).all()):
        raise ValueError(
            "BestSplit: expected must be an array of numbers from 0, a row for each group."
        )
    parts = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(np.maximum(np.rint(parts * FINENESS), 1), np.int64)


def _all_cells(code: Code) -> Code:
    """The cells of a column: where some rows have no value, these first, then the values."""
    return Cuts(code, tuple(range(code.high + 1))) if code.low < 0 else code


def _free_name(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "'"
    return name

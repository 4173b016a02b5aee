"""Pairs of columns: which of them to add and in which coarse cells, all from noised answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from discreet.models import learned as kept
from discreet.models.boosting.layout import Layout
from discreet.models.boosting.learning import Learned, Start, boost
from discreet.models.facts import Facts
from discreet.queries import Cells, Count, Joint, WithColumns
from discreet.release import Release
from discreet.schema import Bins, Derived, Score

if TYPE_CHECKING:
    from discreet.models.boosting.estimator import AdditiveBoosting

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Pairs are sought among this many columns, those whose shapes vary most, in this many parts of each.
COLUMNS, PARTS = 8, 4
#: Rounds of residuals in the cells of pairs.
ROUNDS = 2
#: Shares of the budget with pairs: first answer, rounds, search, counts, rounds of pairs.
SHARES = ("1/5", "1/2", "1/8", "1/20", "1/8")


@dataclass(frozen=True)
class Pair:
    """Two columns, each in a few parts: part 0 holds values that aren't declared.

    Attributes
    ----------
    first, second : str
        Names of columns.
    parts : two tuples of int
        The part, from 1 on, of each cell of the columns.
    """

    first: str
    second: str
    parts: tuple[tuple[int, ...], tuple[int, ...]]

    @property
    def name(self) -> str:
        return f"{self.first} & {self.second}"

    @property
    def shape(self) -> tuple[int, int]:
        """The number of parts of each column, part 0 included."""
        return max(self.parts[0]) + 1, max(self.parts[1]) + 1

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.shape[0] * self.shape[1]

    def is_known(self) -> npt.NDArray[np.bool_]:
        """Which cells have declared values of both columns."""
        cells = np.ones(self.shape, np.bool_)
        cells[0], cells[:, 0] = False, False
        return cells.ravel()

    def labels(self) -> list[str]:
        """What the cells are called: the parts of both columns."""
        first, second = self.shape
        return [f"{a} & {b}" for a in range(first) for b in range(second)]

    def by(self, layout: Layout) -> str:
        """The name of the column that gives a row's cell; no other column has it."""
        name = f"cells of {self.name}"
        while name in layout.taken or f"sum of {name}" in layout.taken:
            name += "'"
        return name

    def derived(self, layout: Layout) -> dict[str, Derived]:
        """The columns that give a row's cell: a sum of two public tables, and its values one by one."""
        width, by = self.shape[1], self.by(layout)
        tables = {
            layout.by[self.first]: [width * part for part in self.parts[0]],
            layout.by[self.second]: list(self.parts[1]),
        }
        score = Score(tables, range(self.size))
        return {
            f"sum of {by}": score,
            by: Bins(f"sum of {by}", [k + 0.5 for k in range(self.size - 1)]),
        }

    def places(self, places: Mapping[str, Integers]) -> Integers:
        """The cell of each row."""
        first, second = (np.array([*parts, 0], np.int64) for parts in self.parts)
        return np.asarray(
            first[places[self.first]] * self.shape[1] + second[places[self.second]], np.int64
        )


_PARTS = kept.Each(kept.Count(), container=tuple)
#: A pair as a model file keeps it.
PAIR = kept.Record(Pair, first=kept.Text(), second=kept.Text(), parts=kept.Together(_PARTS, _PARTS))


def add_pairs(layout: Layout, pairs: Sequence[Pair]) -> Cells:
    """The derived columns of a layout and of pairs."""
    derived = dict(layout.cells.columns)
    for pair in pairs:
        derived |= pair.derived(layout)
    return Cells(derived)


def number_of_candidates(columns: int) -> int:
    """How many pairs are compared: a public number."""
    few = min(columns, COLUMNS)
    return few * (few - 1) // 2


def candidate_pairs(layout: Layout, rows: Sequence[Floats], values: Sequence[Floats]) -> list[Pair]:
    """All pairs of the columns whose noised shapes vary most."""
    strength = [
        float((here[:, None] * value**2).sum() / here.sum())
        for here, value in zip(rows, values, strict=True)
    ]
    names = list(layout.cuts)
    best = sorted(sorted(range(len(names)), key=lambda at: -strength[at])[:COLUMNS])
    parts = {at: _parts(layout.cuts[names[at]] is not None, rows[at], values[at]) for at in best}
    return [Pair(names[a], names[b], (parts[a], parts[b])) for a, b in combinations(best, 2)]


def _parts(is_ordered: bool, rows: Floats, values: Floats) -> tuple[int, ...]:
    """Parts of about equally many rows: of neighbours, or of categories with like values."""
    order = np.arange(len(rows)) if is_ordered else np.argsort(values[:, 0], kind="stable")
    middle = (np.cumsum(rows[order]) - rows[order] / 2) / rows.sum()
    found = np.empty(len(rows), np.int64)
    found[order] = np.minimum(PARTS - 1, (middle * PARTS).astype(np.int64))
    if found.min() == found.max():  # one cell holds most rows: it is a part, the others another
        found = (np.arange(len(rows)) != int(np.argmax(rows))).astype(np.int64)
    _, dense = np.unique(found, return_inverse=True)
    return tuple((dense + 1).tolist())


def choose_pairs(
    pairs: Sequence[Pair], sums: Sequence[Floats], noise: float, total: float, maximum: int
) -> list[Pair]:
    """Pick the pairs whose residuals most exceed what noise alone explains."""
    gains = []
    for pair, part in zip(pairs, sums, strict=True):
        known = pair.is_known()
        gains.append(float((part[known] ** 2 - noise**2).sum()) / max(total, 1.0))
    best = sorted(range(len(pairs)), key=lambda at: -gains[at])[:maximum]
    return [pairs[at] for at in sorted(best)]


def pair_start(
    pairs: Sequence[Pair], counts: Sequence[Floats], noise: float, start: Start, bend: float
) -> Start:
    """Where pairs start: at zero. A cell that no row can reach gets no step."""
    rows, curvature, nothing = [], [], []
    for pair, count in zip(pairs, counts, strict=True):
        here = np.where(pair.is_known(), np.maximum(count, max(noise, 1e-9)), 1e-9)
        rows.append(here)
        curvature.append(np.tile(bend * here[:, None], (1, len(start.intercept))))
        nothing.append(np.zeros((pair.size, len(start.intercept))))
    known = np.zeros_like(start.intercept)
    return Start(
        rows,
        curvature,
        nothing,
        nothing,
        nothing,
        noise**2,
        start.intercept,
        known,
        start.prior,
        [False] * len(pairs),
        start.clip,
    )


class PairQueries:
    """What is asked about pairs, beside shapes of single columns that stay as they are."""

    def __init__(
        self, model: AdditiveBoosting, layout: Layout, mains: Learned, clip: float, facts: Facts
    ) -> None:
        self._model, self.layout, self._facts = model, layout, facts
        self._mains, self._clip = mains, clip

    def residuals(self, pairs: Sequence[Pair], values: Sequence[Floats]) -> tuple[Joint, float]:
        """Residuals in the cells of pairs, which add these values to the scores; and their unit."""
        layout = self.layout
        tables = dict(zip(layout.by.values(), self._mains.values, strict=True))
        for pair, value in zip(pairs, values, strict=True):
            tables[pair.by(layout)] = value
        query, unit = self._model._residuals(
            tables, self._mains.intercept, self._clip, add_pairs(layout, pairs), self._facts
        )
        return Joint(*(query.at(pair.by(layout)) for pair in pairs)), unit

    def counts(self, pairs: Sequence[Pair]) -> Joint:
        """How many rows there are in the cells of pairs."""
        cells = add_pairs(self.layout, pairs).columns
        return Joint(*(WithColumns(Count(by=pair.by(self.layout)), cells) for pair in pairs))

    def plan(self, maximum: int) -> tuple[Joint, Joint, Joint]:
        """The search, the counts and a round, for placeholder pairs that cost what any others would."""
        outputs = len(self._mains.intercept)
        ones = [np.ones(size) for size in self.layout.sizes.values()]
        zeros = [np.zeros((size, outputs)) for size in self.layout.sizes.values()]
        pairs = candidate_pairs(self.layout, ones, zeros)
        few = pairs[:maximum]
        nothing = [np.zeros((pair.size, outputs)) for pair in pairs]
        search, _ = self.residuals(pairs, nothing)
        return search, self.counts(few), self.residuals(few, nothing[:maximum])[0]


def learn_pairs(
    queries: PairQueries,
    pairs: Sequence[Pair],
    start: Start,
    maximum: int,
    bend: float,
    release: Callable[[Joint], Release],
) -> tuple[list[Pair], Learned, list[Floats]]:
    """Search, count and run the rounds; return the chosen pairs, their shapes and their noised rows."""
    outputs = len(start.intercept)
    query, unit = queries.residuals(pairs, [np.zeros((p.size, outputs)) for p in pairs])
    found = release(query)
    sums = [np.asarray(part, np.float64) * unit for part in found.value]
    total = float(np.mean([here.sum() for here in start.rows]))
    chosen = choose_pairs(pairs, sums, float(np.max(found.stderr[0])) * unit, total, maximum)
    counted = release(queries.counts(chosen))
    counts = [np.asarray(part, np.float64) for part in counted.value]
    begin = pair_start(chosen, counts, float(np.max(counted.stderr[0])), start, bend)

    def ask(
        values: Sequence[Floats], intercept: Floats, group: Sequence[int]
    ) -> tuple[list[Floats], float]:
        query, unit = queries.residuals(chosen, values)
        found = release(query)
        deviation = float(np.max(found.stderr[0])) * unit
        return [np.asarray(part, np.float64) * unit for part in found.value], deviation

    learned = boost(begin, [[range(len(chosen))]] * ROUNDS, ask)
    for pair, value, error in zip(chosen, learned.values, learned.errors, strict=True):
        value[~pair.is_known()] = 0.0
        error[~pair.is_known()] = 0.0
    return chosen, learned, begin.rows


def add_to(
    learned: Learned,
    queries: PairQueries,
    start: Start,
    maximum: int,
    release: Callable[[Joint], Release],
) -> tuple[list[Pair], Learned, list[Floats]]:
    """The chosen pairs, shapes of columns and pairs, and the noised rows of the latter."""
    candidates = candidate_pairs(queries.layout, start.rows, learned.values)
    bend = np.mean([c.sum() for c in start.curvature]) / np.mean([r.sum() for r in start.rows])
    pairs, more, rows = learn_pairs(queries, candidates, start, maximum, float(bend), release)
    values, errors = learned.values + more.values, learned.errors + more.errors
    return pairs, Learned(values, errors, learned.intercept), rows

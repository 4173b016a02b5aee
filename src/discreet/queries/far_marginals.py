"""Which marginals of a table are farthest from what a model expects of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.coding import CodedQuery, Engine, Integers, Sensitivity
from discreet.measures import Measure, PureDP
from discreet.mechanisms import Exponential
from discreet.queries.answer import Answer, Budget, NoiseInterval, Prepared, no_noise_refused
from discreet.queries.cell_counts import Axis, CellCounts
from discreet.queries.several import Several
from discreet.queries.sizes import check_totals
from discreet.rational import as_integer
from discreet.schema import Schema
from discreet.unit import REPLACE_ONE, Unit

__all__ = ["FarMarginals", "Rule"]

#: From the candidates drawn so far to which of all may be drawn next; never none of them.
Rule = Callable[[tuple[int, ...]], npt.NDArray[np.bool_]]
#: The largest weight of a candidate, and the most rows that a model can expect, or that can be allowed for.
MAX_WEIGHT, MAX_EXPECTED = 2**10, 2**42


@final
class FarMarginals(Several):
    """Draw some of several public marginals: those whose counts are far from expected ones.

    The score of a marginal is weight·(L1 distance of its counts to the expected ones, less an allowance). The
    answer is a tuple of the places of the marginals drawn.

    Parameters
    ----------
    candidates : sequence of sequences of Axis
        The marginals.
    expected : sequence of arrays, or None
        For each candidate the counts that a model expects, released or public; rounded to whole numbers here.
        None, as in a plan: nothing is expected anywhere.
    weights : sequence of int, optional
        What a unit of distance is worth; 1 for each by default.
    allowances : sequence of int, optional
        Public numbers from 0 to 2^42, such as the distance that noise alone would leave; 0 by default.
    draws : int
        How many marginals are drawn, one after the other.
    rule : callable, optional
        From the places drawn so far to a mask of those that may be drawn next, such as those that keep a
        model small. It must be public: a function of released numbers. By default each is drawn once.

    Privacy
    -------
    Counts are integers, and so are the expected ones: a row that is added changes one count of a candidate by
    one, so its score by at most the weight, whatever the model expects and however many rows there are.
    Sensitivity w·max_rows under add/remove, 2·w·max_rows under replace-one, w the largest weight. Each draw
    is one of the exponential mechanism; `draws` of them. Proof page: ``docs/proofs/synthetic.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.queries import Axis, FarMarginals
    >>> table = {"age": [20, 70] * 500, "ward": ["A"] * 1000}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(1)))
    >>> expected = [[500, 500], [0, 500, 500]]  # halves everywhere: wrong for the wards
    >>> query = FarMarginals([[Axis("age", (65,))], [Axis("ward")]], expected)
    >>> data.release(query, dp.PureDP(1)).value
    (1,)
    """

    def __init__(
        self,
        candidates: Sequence[Sequence[Axis]],
        expected: Sequence[npt.ArrayLike] | None = None,
        *,
        weights: Sequence[int] | None = None,
        allowances: Sequence[int] | None = None,
        draws: int = 1,
        rule: Rule | None = None,
    ) -> None:
        super().__init__(None, None)
        self.counts = tuple(CellCounts(*axes) for axes in candidates)
        if not self.counts:
            raise ValueError("FarMarginals needs one or more candidates.")
        size = len(self.counts)
        self.expected = None if expected is None else tuple(map(round_counts, expected))
        self.weights = _as_integers(weights, size, 1, "weights")
        self.allowances = _as_integers(allowances, size, 0, "allowances")
        if min(self.weights) < 1 or max(self.weights) > MAX_WEIGHT:
            raise ValueError(f"weights must lie between 1 and {MAX_WEIGHT}.")
        if min(self.allowances) < 0 or max(self.allowances) > MAX_EXPECTED:
            # larger ones could leave 64 bits with some counts and not with others
            raise ValueError("allowances must lie between 0 and 2^42.")
        if self.expected is not None and len(self.expected) != size:
            raise ValueError(f"expected must have an entry for each of the {size} candidates.")
        self.draws = as_integer(draws, "draws", minimum=1)
        self.rule = _draw_once(size) if rule is None else rule
        if rule is None and self.draws > size:
            raise ValueError(f"draws must be at most {size}: each candidate is drawn once.")

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for counts in self.counts for name in counts.by))

    def parts(self, schema: Schema, unit: Unit) -> tuple[CodedQuery, ...]:
        return tuple(counts.coded(schema, unit) for counts in self.counts)

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        sides = 2 if unit.relation is REPLACE_ONE else 1
        moved = sides * max(self.weights) * unit.rows_per_person
        return Sensitivity(moved, moved**2)

    def scores(self, totals: Sequence[Integers]) -> Integers:
        """The score of each candidate, from the sums of `parts`."""
        found = []
        for place, part in enumerate(totals):
            far = part[:, 0] if self.expected is None else part[:, 0] - self.expected[place]
            score = int(np.abs(far).sum()) - self.allowances[place]
            found.append(self.weights[place] * score)
        return np.array(found, np.int64)

    def check_expected(self, schema: Schema) -> None:
        """Raise unless the model expects a count in each cell of each candidate."""
        if self.expected is None:
            return
        for counts, expected in zip(self.counts, self.expected, strict=True):
            if len(expected) != math.prod(counts.sizes(schema)):
                raise ValueError(
                    f"expected: {counts!r} has {math.prod(counts.sizes(schema))} cells."
                )

    def prepare(self, budget: Budget, schema: Schema, unit: Unit, rows: int | None) -> Prepared:
        return PreparedFarMarginals(self, budget, schema, unit, rows)

    def __repr__(self) -> str:
        return f"FarMarginals({self.draws} of {len(self.counts)} marginals)"


class PreparedFarMarginals(Prepared):
    """Some exact draws of the exponential mechanism from one set of scores."""

    error_needs_rows = False

    def __init__(
        self, query: FarMarginals, budget: Budget, schema: Schema, unit: Unit, rows: int | None
    ) -> None:
        if not isinstance(budget, Measure | Exponential):
            raise TypeError(
                f"budget: {budget!r} does not fit a choice; give a measure, or Exponential."
            )
        query.check_expected(schema)
        self._query, self._parts = query, query.parts(schema, unit)
        for part in self._parts:
            check_totals(part, rows)
        self._sensitivity = query.sensitivity(schema, unit).l1
        self._mechanism = Exponential(budget) if isinstance(budget, Measure) else budget
        self.measure: Measure = self._mechanism.measure
        self.event: events.Event
        if isinstance(self._mechanism.epsilon(), float):
            if not unit.is_public:
                raise no_noise_refused()
            self.event, self.measure = events.Compose(), PureDP(math.inf)
        else:
            self.event = self._mechanism.event(query.draws)

    def expected_error(self, rows: int) -> None:
        return None

    def answer(self, engine: Engine) -> Answer:
        scores = self._query.scores([engine.totals(part) for part in self._parts])
        chosen: tuple[int, ...] = ()
        for _ in range(self._query.draws):
            allowed = np.asarray(self._query.rule(chosen), np.int64)
            drawn = self._mechanism.run(scores, allowed, self._sensitivity, self._query.draws)
            chosen = (*chosen, drawn)
        return Answer(chosen, None, None, self._interval)

    def _interval(self, level: float) -> NoiseInterval:
        # all draws at once: a union bound
        each = 1 - (1 - level) / self._query.draws
        short = self._mechanism.expected_error(
            len(self._query.counts), self._sensitivity, each, self._query.draws
        )
        return NoiseInterval(0.0, short, level, "score")


def round_counts(counts: npt.ArrayLike) -> Integers:
    """Expected counts as whole numbers; none is negative, too large or not a number."""
    found = np.nan_to_num(np.asarray(counts, np.float64).ravel(), nan=0.0, posinf=MAX_EXPECTED)
    rounded = np.rint(np.clip(found, 0, MAX_EXPECTED))
    if rounded.sum() > MAX_EXPECTED:
        raise ValueError("expected: the counts of a marginal must add up to at most 2^42.")
    return np.asarray(rounded, np.int64)


def _as_integers(
    given: Sequence[int] | None, size: int, default: int, name: str
) -> tuple[int, ...]:
    if given is None:
        return (default,) * size
    found = tuple(int(Fraction(number)) for number in given)
    if len(found) != size or any(Fraction(a) != b for a, b in zip(given, found, strict=True)):
        raise ValueError(f"{name} must be {size} whole numbers, one for each candidate.")
    return found


def _draw_once(size: int) -> Rule:
    def rule(chosen: tuple[int, ...]) -> Any:
        allowed = np.ones(size, np.bool_)
        allowed[list(chosen)] = False
        return allowed

    return rule

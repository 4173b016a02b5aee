"""The best of several public candidates, by scores that are made of integer sums."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np

from discreet import events, noise
from discreet.coding import CodedQuery, Engine, Integers, Sensitivity
from discreet.measures import ZCDP, Measure, PureDP
from discreet.mechanisms import Exponential, PermuteAndFlip
from discreet.queries.additive import Additive
from discreet.queries.answer import Answer, Budget, NoiseInterval, Prepared, no_noise_refused
from discreet.queries.base import refuse_own_limits
from discreet.queries.counts import Count
from discreet.queries.several import Several
from discreet.queries.sizes import check_totals
from discreet.queries.sums import Sum
from discreet.schema import Schema
from discreet.unit import REPLACE_ONE, Unit


class Choice(Several):
    """Which of some public candidates is the best, in all or in each group.

    The answer is the number of a candidate: 0, 1, ...; an array over the groups, if grouped.

    Privacy
    -------
    `spread` bounds how much one row can favour a candidate over another: when a row is added, the
    changes of all scores of its group lie in an interval of that width, and no other group's scores
    change. A selection sees differences of scores alone, so this is what it has to hide: the scores
    may be taken as monotone under add/remove, with sensitivity max_rows·spread; under replace-one
    they have that sensitivity and aren't monotone. All groups together cost one event.
    Proof page: ``docs/proofs/tree.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> split = dp.queries.BestSplit("ill", {"age": [25, 45, 65]})
    >>> isinstance(split, dp.queries.Choice)
    True
    >>> split.count(dp.Schema(age=dp.Integer(0, 100), ill=dp.Categorical("no", "yes")))
    3
    """

    @abstractmethod
    def spread(self, schema: Schema) -> int:
        """The width of the interval in which one added row changes the scores of its group."""

    @abstractmethod
    def scores(self, totals: Sequence[Integers], schema: Schema) -> Integers:
        """The scores, of shape (draws, candidates), from the sums of `parts`; a draw for each group."""

    def each_group(self, drawn: Integers) -> Integers:
        """The answers of all groups, from what was drawn: less, where groups share a draw."""
        return drawn

    @abstractmethod
    def count(self, schema: Schema) -> int:
        """How many candidates there are."""

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        moved = unit.rows_per_person * self.spread(schema)
        return Sensitivity(moved, moved**2)

    @staticmethod
    def is_monotone(unit: Unit) -> bool:
        """Whether scores may be taken to move in one direction."""
        return unit.relation is not REPLACE_ONE

    def prepare(self, budget: Budget, schema: Schema, unit: Unit, rows: int | None) -> Prepared:
        return PreparedChoice(self, budget, schema, unit, rows)


@final
class Best(Choice):
    """The candidate with the largest count, or the largest sum.

    Parameters
    ----------
    *candidates : Count or Sum
        With the same `by`. Sums are compared on the integer grid of their column, so candidates of
        different columns need bounds on one scale.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.queries import Best
    >>> Best(dp.Count(where="age < 30"), dp.Count(where="age >= 60"))
    Best(Count(where='age < 30'), Count(where='age >= 60'))
    """

    def __init__(self, *candidates: Count | Sum) -> None:
        if not candidates or not all(isinstance(c, Count | Sum) for c in candidates):
            raise TypeError("Best needs one or more candidates, each a Count or a Sum.")
        if any(getattr(c, "keys", None) is not None for c in candidates):
            raise TypeError("Best can't discover keys.")
        refuse_own_limits(candidates, "Best")
        if len({candidate.by for candidate in candidates}) > 1:
            raise ValueError("Best: all candidates must have the same by.")
        super().__init__(candidates[0].by or None, None)
        self.candidates = candidates

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for query in self.candidates for name in query.columns))

    def _cost_alone(self, schema: Schema, unit: Unit, query: Additive) -> CodedQuery:
        # a count without condition is public under replace-one, but here it is compared with others
        return query._coded(schema, unit, query.terms(schema))

    def parts(self, schema: Schema, unit: Unit) -> tuple[CodedQuery, ...]:
        return tuple(self._cost_alone(schema, unit, query) for query in self.candidates)

    def spread(self, schema: Schema) -> int:
        ends = [0]
        for query in self.candidates:
            for term in query.terms(schema):
                ends += [1] if not term.codes else [term.codes[0].low, term.codes[0].high]
        return max(ends) - min(ends)

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        one = super().sensitivity(schema, unit).l1
        if self.by and unit.id_column is not None:
            # candidates that count different rows may each count a person in another group
            parts = self.parts(schema, unit)
            one *= len({(part.where, frozenset(part.known)) for part in parts})
        return Sensitivity(one, one**2)

    def scores(self, totals: Sequence[Integers], schema: Schema) -> Integers:
        return np.concatenate([part[:, :1] for part in totals], axis=1)

    def count(self, schema: Schema) -> int:
        return len(self.candidates)

    def __repr__(self) -> str:
        return f"Best({', '.join(map(repr, self.candidates))})"


class PreparedChoice(Prepared):
    """An exact draw for each group: permute-and-flip, or the exponential mechanism for zCDP."""

    error_needs_rows = False

    def __init__(
        self, query: Choice, budget: Budget, schema: Schema, unit: Unit, rows: int | None
    ) -> None:
        self._query, self._schema = query, schema
        self._parts = query.parts(schema, unit)
        for part in self._parts:
            check_totals(part, rows)
        self._sensitivity = query.sensitivity(schema, unit).l1
        self._monotone = query.is_monotone(unit)
        self.measure = _measure(budget)
        self._epsilon = _epsilon(self.measure)
        self._flips = isinstance(budget, PermuteAndFlip) or (
            isinstance(self.measure, PureDP) and not isinstance(budget, Exponential)
        )
        self.event: events.Event
        if isinstance(self._epsilon, float):
            if not unit.is_public:
                raise no_noise_refused()
            self.event = events.Compose()
        elif self._sensitivity == 0:
            self.event, self.measure = events.Compose(), PureDP(0)
        elif self._flips:
            self.event = self._mechanism().event(self._sensitivity)
        else:
            self.event = events.Exponential(self._epsilon)

    def _mechanism(self) -> PermuteAndFlip:
        return PermuteAndFlip(self._epsilon, monotone=self._monotone)

    def expected_error(self, rows: int) -> None:
        return None

    def answer(self, engine: Engine) -> Answer:
        scores = self._query.scores(engine.joint_totals(self._parts), self._schema)
        value = self._query.each_group(self._draw(scores))
        return Answer(
            value if self._query.by else int(value[0]),
            None,
            self._query.labels(self._schema) if self._query.by else None,
            self._interval,
        )

    def _draw(self, scores: Integers) -> Integers:
        """A candidate for each row of scores: that of a group, or of groups that share a draw."""
        if isinstance(self._epsilon, float) or self._sensitivity == 0:
            return np.asarray(scores.argmax(axis=1), np.int64)
        if self._flips:
            return self._mechanism().run_each(scores, self._sensitivity)
        scale = self._epsilon / ((1 if self._monotone else 2) * self._sensitivity)
        return np.array([noise.select(row, scale) for row in scores], np.int64)

    def _interval(self, level: float) -> NoiseInterval:
        if isinstance(self._epsilon, float) or self._sensitivity == 0:
            return NoiseInterval(0.0, 0.0, level, "score")
        candidates = self._query.count(self._schema)
        if self._flips:
            short = self._mechanism().expected_error(candidates, self._sensitivity, level)
        else:
            scale = (1 if self._monotone else 2) * self._sensitivity / float(self._epsilon)
            short = scale * (math.log(candidates) - math.log1p(-level))
        return NoiseInterval(0.0, short, level, "score")


def _measure(budget: Budget) -> PureDP | ZCDP:
    """What a choice is charged: pure DP or zCDP; a δ is not needed and not charged."""
    if isinstance(budget, PermuteAndFlip | Exponential):
        return budget.measure
    if not isinstance(budget, Measure):
        raise TypeError(
            f"budget: {budget!r} does not fit a choice; give a measure, PermuteAndFlip or Exponential."
        )
    return Exponential(budget).measure  # complains where a measure has neither ε nor ρ


def _epsilon(measure: PureDP | ZCDP) -> Fraction | float:
    return Exponential(measure).epsilon()

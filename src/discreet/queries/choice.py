"""The best of several public candidates, by scores that are made of integer sums."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import final

import numpy as np

from discreet.coding import CodedQuery, Integers, Sensitivity
from discreet.queries.base import Additive
from discreet.queries.counts import Count
from discreet.queries.several import Several
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
    """

    @abstractmethod
    def spread(self, schema: Schema) -> int:
        """The width of the interval in which one added row changes the scores of its group."""

    @abstractmethod
    def scores(self, totals: Sequence[Integers], schema: Schema) -> Integers:
        """The scores, of shape (groups, candidates), from the sums of `parts`."""

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
        if len({candidate.by for candidate in candidates}) > 1:
            raise ValueError("Best: all candidates must have the same by.")
        super().__init__(candidates[0].by or None, None)
        self.candidates = candidates

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for query in self.candidates for name in query.columns))

    def _alone(self, schema: Schema, unit: Unit, query: Additive) -> CodedQuery:
        # a count without condition is public under replace-one, but here it is compared with others
        return query._coded(schema, unit, query.terms(schema))

    def parts(self, schema: Schema, unit: Unit) -> tuple[CodedQuery, ...]:
        return tuple(self._alone(schema, unit, query) for query in self.candidates)

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

"""A question in integers: what an engine computes, and how far one person can move it."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

from discreet.coding.codes import Category, Code, Condition, Ladder

__all__ = ["ORDER_PRIME", "CodedQuery", "Extent", "PersonLimit", "Sensitivity", "Term"]

#: Rows of one person are kept in the order of a public mix of their codes modulo this prime.
ORDER_PRIME = 2**31 - 1


@dataclass(frozen=True)
class Sensitivity:
    """How far the integer vectors of two neighbours can be apart: L1 and squared L2 distance.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(ward=dp.Categorical("A", "B"))
    >>> dp.Count(by="ward").sensitivity(schema, dp.Unit(dp.REPLACE_ONE))
    Sensitivity(l1=2, l2_squared=2)
    """

    l1: int
    l2_squared: int


@dataclass(frozen=True)
class Extent:
    """The set C of contributions of one row that counts: its largest norms and its diameters."""

    largest_l1: int
    largest_l2_squared: int
    diameter_l1: int
    diameter_l2_squared: int


@dataclass(frozen=True)
class Term:
    """One coordinate of a contribution: ``weight`` times the product of some codes.

    Examples
    --------
    >>> import discreet as dp
    >>> coded = dp.Count().coded(dp.Schema(age=dp.Integer(0, 100)), dp.Unit(dp.ADD_REMOVE))
    >>> coded.terms  # every row adds 1
    (Term(weight=1, codes=()),)
    """

    weight: int
    codes: tuple[Code, ...] = ()


@dataclass(frozen=True)
class PersonLimit:
    """Which rows of one person count: the first `max_rows` in a public order over all columns.

    `order` holds the codes of all columns; `ties` those codes of the query that are finer. Rows that
    are equal in both contribute the same. With `once`, rows that are equal in `order` count as one.

    Examples
    --------
    >>> import discreet as dp
    >>> unit = dp.Unit(dp.ADD_REMOVE, id_column="patient", max_rows=2)
    >>> coded = dp.Count().coded(dp.Schema(age=dp.Integer(0, 100)), unit)
    >>> coded.keep.id_column, coded.keep.max_rows
    ('patient', 2)
    """

    id_column: str
    max_rows: int
    order: tuple[Code, ...]
    ties: tuple[Code, ...] = ()
    once: bool = False

    @property
    def mixers(self) -> tuple[int, ...]:
        """Public multipliers of the order, one per code."""
        return tuple(
            1 + int.from_bytes(hashlib.sha256(b"order %d" % i).digest()[:8]) % (ORDER_PRIME - 1)
            for i in range(len(self.order))
        )


@dataclass(frozen=True)
class CodedQuery:
    """What an engine computes: everything in integers, nothing left to decide.

    A row counts if it satisfies `where` and every code in `known` is at least 0; of one person's rows
    that count, `keep` keeps some. Then `terms` are summed, or the values of `tally` counted, for each
    combination of the codes `by`.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(ward=dp.Categorical("A", "B"))
    >>> coded = dp.Count(by="ward").coded(schema, dp.Unit(dp.ADD_REMOVE))
    >>> coded.groups, coded.terms
    (2, (Term(weight=1, codes=()),))
    """

    terms: tuple[Term, ...]
    by: tuple[Code, ...]
    where: Condition | None
    known: tuple[Category | Ladder, ...]
    keep: PersonLimit | None
    tally: Code | None = None

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values each code in `by` has."""
        return tuple(code.high + 1 for code in self.by)

    @cached_property
    def groups(self) -> int:
        """How many groups there are."""
        return math.prod(self.sizes)

    def within(
        self, above: tuple[Code, ...], known: tuple[Category | Ladder, ...] | None = None
    ) -> CodedQuery:
        """The same sums within groups by `above`, of the rows that have each of `known`, if given."""
        counted = self.known if known is None else known
        return CodedQuery(
            self.terms, (*above, *self.by), self.where, counted, self.keep, self.tally
        )

    @property
    def codes(self) -> tuple[Code, ...]:
        """All codes that the sums need, each once."""
        used = [code for term in self.terms for code in term.codes]
        return tuple(dict.fromkeys([*self.by, *used, *([self.tally] if self.tally else [])]))

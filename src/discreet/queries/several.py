"""Queries that engines compute in several parts."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NoReturn, final

from discreet.coding import CodedQuery, Sensitivity
from discreet.queries.base import Additive, Query
from discreet.queries.sums import MOMENT_SIZE
from discreet.schema import Schema
from discreet.unit import Unit


class Several(Query):
    """A query made of several vectors of sums, each computed by the engine on its own."""

    @abstractmethod
    def parts(self, schema: Schema, unit: Unit) -> tuple[CodedQuery, ...]:
        """The integers that an engine computes, one coded query after the other."""

    def coded(self, schema: Schema, unit: Unit) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is computed in parts: use its method parts.")


@final
class Joint(Several):
    """Several sums and counts as one vector with one noise.

    The answer is a tuple, one entry for each query, as that query would be answered alone.

    Parameters
    ----------
    *queries : Additive
        Counts, sums and what else is a vector of sums, each with its own `by` and `where`.

    Notes
    -----
    The blocks are multiplied by whole numbers so that one person moves each of them about equally far
    in L1: k blocks then have k times the noise that each would have alone (√k times for Gaussian noise
    on like blocks).

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.queries import Joint
    >>> Joint(dp.Count(by="sex"), dp.Count(by="town"))
    Joint(Count(by='sex'), Count(by='town'))

    Privacy
    -------
    One person moves all blocks at once: L1 and squared L2 sensitivities add up. One event, charged once.
    Proof page: ``docs/proofs/tree.md``.
    """

    def __init__(self, *queries: Additive) -> None:
        if not queries or not all(isinstance(query, Additive) for query in queries):
            raise TypeError("Joint needs one or more counts, sums or other vectors of sums.")
        if any(getattr(query, "keys", None) is not None for query in queries):
            raise TypeError("Joint can't discover keys: ask for them first, and declare them.")
        super().__init__(None, None)
        self.queries = queries

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for query in self.queries for name in query.columns))

    def parts(self, schema: Schema, unit: Unit) -> tuple[CodedQuery, ...]:
        return tuple(query.coded(schema, unit) for query in self.queries)

    def weights(self, schema: Schema, unit: Unit) -> tuple[int, ...]:
        """What each block is multiplied by, from public facts."""
        moved = [query.sensitivity(schema, unit).l1 for query in self.queries]
        # the noise must be within what samplers draw; sums are never multiplied, only noise is divided
        most = 2**30 if max(moved) >= MOMENT_SIZE else 2**22
        return tuple(max(1, min(max(moved), most) // max(1, one)) for one in moved)

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        found = [query.sensitivity(schema, unit) for query in self.queries]
        weights = self.weights(schema, unit)
        return Sensitivity(
            sum(w * s.l1 for w, s in zip(weights, found, strict=True)),
            sum(w * w * s.l2_squared for w, s in zip(weights, found, strict=True)),
        )

    def labels(self, schema: Schema) -> list[Any]:
        return [query.labels(schema) if query.by else None for query in self.queries]

    def __repr__(self) -> str:
        return f"Joint({', '.join(map(repr, self.queries))})"

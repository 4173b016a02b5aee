"""Queries that engines compute in several parts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar, final

import numpy as np

from discreet import events
from discreet.coding import CodedQuery, Engine, Integers, Sensitivity
from discreet.measures import PureDP
from discreet.mechanisms import Mechanism, NoNoise, mechanism_for
from discreet.queries.additive import Additive, PreparedSums
from discreet.queries.answer import Answer, Budget, NoiseInterval, Prepared, no_noise_refused
from discreet.queries.base import Query, refuse_own_limits
from discreet.queries.sums import MOMENT_SIZE
from discreet.schema import Schema
from discreet.unit import Unit

Asked = TypeVar("Asked")
Result = TypeVar("Result")


class Several(Query):
    """A query made of several vectors of sums, each computed by the engine on its own.

    Examples
    --------
    >>> import discreet as dp
    >>> both = dp.queries.Joint(dp.Count(by="sex"), dp.Count(by="town"))
    >>> schema = dp.Schema(sex=dp.Categorical("F", "M"), town=dp.Categorical("X", "Y", "Z"))
    >>> isinstance(both, dp.queries.Several)
    True
    >>> [part.groups for part in both.parts(schema, dp.Unit(dp.ADD_REMOVE))]
    [2, 3]
    """

    @abstractmethod
    def parts(self, schema: Schema, unit: Unit) -> tuple[CodedQuery, ...]:
        """The integers that an engine computes, one coded query after the other."""

    def coded(self, schema: Schema, unit: Unit) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is computed in parts: use its method parts.")


def ask_each(queries: Iterable[Asked], ask: Callable[[Asked], Result]) -> list[Result]:
    """What `ask` says of each query; one that occurs several times, as in plans, is asked about once."""
    known: dict[int, Result] = {}
    found = []
    for query in queries:
        if id(query) not in known:
            known[id(query)] = ask(query)
        found.append(known[id(query)])
    return found


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
        refuse_own_limits(queries, "Joint")
        super().__init__(None, None)
        self.queries = queries
        self._found: tuple[Schema, Unit, list[Sensitivity]] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for query in self.queries for name in query.columns))

    def parts(self, schema: Schema, unit: Unit) -> tuple[CodedQuery, ...]:
        return tuple(ask_each(self.queries, lambda query: query.coded(schema, unit)))

    def _moved(self, schema: Schema, unit: Unit) -> list[Sensitivity]:
        """How far one person moves each block; a plan asks for it several times."""
        found = self._found
        if found is None or found[0] is not schema or found[1] != unit:
            moved = ask_each(self.queries, lambda query: query.sensitivity(schema, unit))
            found = self._found = schema, unit, moved
        return found[2]

    def weights(self, schema: Schema, unit: Unit) -> tuple[int, ...]:
        """What each block is multiplied by, from public facts."""
        return _weights(self._moved(schema, unit))

    def sensitivity(self, schema: Schema, unit: Unit) -> Sensitivity:
        found = self._moved(schema, unit)
        weights = _weights(found)
        return Sensitivity(
            sum(w * s.l1 for w, s in zip(weights, found, strict=True)),
            sum(w * w * s.l2_squared for w, s in zip(weights, found, strict=True)),
        )

    def labels(self, schema: Schema) -> list[Any]:
        return [query.labels(schema) if query.by else None for query in self.queries]

    def __repr__(self) -> str:
        return f"Joint({', '.join(map(repr, self.queries))})"

    def prepare(self, budget: Budget, schema: Schema, unit: Unit, rows: int | None) -> Prepared:
        return PreparedJoint(self, budget, schema, unit, rows)


def _weights(blocks: list[Sensitivity]) -> tuple[int, ...]:
    """Whole numbers that make one person move each block about equally far."""
    moved = [one.l1 for one in blocks]
    # the noise must be within what samplers draw; sums are never multiplied, only noise is divided
    most = 2**30 if max(moved) >= MOMENT_SIZE else 2**22
    return tuple(max(1, min(max(moved), most) // max(1, one)) for one in moved)


class PreparedJoint(Prepared):
    """One noise on a vector of several blocks, each then finished like an answer of its own."""

    def __init__(
        self, query: Joint, budget: Budget, schema: Schema, unit: Unit, rows: int | None
    ) -> None:
        self._query, self._schema = query, schema
        sensitivity = query.sensitivity(schema, unit)
        mechanism = budget if isinstance(budget, Mechanism) else mechanism_for(budget, sensitivity)
        coded = query.parts(schema, unit)
        size = sum(part.groups * len(part.terms) for part in coded)
        self._distribution = mechanism.for_sums(sensitivity, size)
        self.measure = mechanism.measure
        if isinstance(self._distribution, NoNoise) and sensitivity.l1:
            if not unit.is_public:
                raise no_noise_refused()
            self.event: events.Event = events.Compose()
        else:
            self.event = self._distribution.event(sensitivity)
        if sensitivity.l1 == 0:
            self.measure = PureDP(0)
        weights = dict(zip(map(id, query.queries), query.weights(schema, unit), strict=True))

        def prepare(part: Additive) -> PreparedSums:
            weight = weights[id(part)]
            return PreparedSums(part, mechanism, schema, unit, rows, self._distribution, weight)

        self._blocks = ask_each(query.queries, prepare)
        self.error_needs_rows = any(block.error_needs_rows for block in self._blocks)

    def expected_error(self, rows: int) -> tuple[Any, ...]:
        return tuple(ask_each(self._blocks, lambda block: block.expected_error(rows)))

    def _totals(self, engine: Engine) -> list[Integers]:
        """The sums of all blocks before noise; a block may have none to compute."""
        coded = [block.coded for block in self._blocks]
        found = iter(engine.joint_totals([query for query in coded if query.terms]))
        return [next(found) if q.terms else np.zeros((q.groups, 0), np.int64) for q in coded]

    def answer(self, engine: Engine) -> Answer:
        totals = self._totals(engine)
        ends = np.cumsum([part.size for part in totals])
        drawn = np.split(self._distribution.run(np.zeros(ends[-1], np.int64)), ends[:-1])
        found = [
            block.finish(block.add_noise(part, noise.reshape(part.shape)))
            for block, part, noise in zip(self._blocks, totals, drawn, strict=True)
        ]

        def interval(level: float) -> NoiseInterval:
            each = [answer.interval(level) for answer in found]
            lower, upper = tuple(i.lower for i in each), tuple(i.upper for i in each)
            return NoiseInterval(lower, upper, level, "value")

        return Answer(
            tuple(answer.value for answer in found),
            tuple(answer.stderr for answer in found),
            [answer.labels for answer in found],
            interval,
        )

"""An engine that keeps the codes of one plan, so that its rounds need not make them again."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import final

import numpy as np

from discreet.coding import (
    Code,
    CodedQuery,
    Condition,
    Engine,
    Grid,
    Integers,
    Leaf,
    Linear,
    Lookup,
    Term,
    count_trees,
    leaves,
)
from discreet.coding.chunks import CHUNK, Chunk
from discreet.engines.arrays import Mask, group_alike, totals_of
from discreet.engines.base import withhold_errors
from discreet.engines.wrappers import EngineWrapper

#: The most numbers that are kept between two questions: 128 megabytes. Up to half as much again may be needed
#: while `TOGETHER` questions are added up.
MAX_KEPT = 2**24
#: The most numbers of these that stand by as they were computed, in 64 bits, for codes that are made of them.
MAX_WIDE = 2**21
#: The most codes that are kept besides those of cells.
MAX_CODES = 2**12
#: Queries that are added up one after the other before room is made for codes of the next.
TOGETHER = 8
#: Of plans of fewer rounds codes are kept only for questions about trees; those of a single round keep none.
FEWEST_ROUNDS = 3
_EVERY_ROW = CodedQuery((), (), None, (), None)


def with_cache(engine: Engine, rounds: int) -> Engine:
    """Wrap an engine so that codes are computed once and reused over the rounds of a plan.

    A plan on public rows has none that cost anything, and is taken to have many; so has a search.
    """
    if isinstance(engine, CodeCache):
        return engine  # a part of a plan
    length = engine.length()
    if length is None or length > CHUNK or rounds == 1:
        return engine
    return CodeCache(engine, for_trees=0 < rounds < FEWEST_ROUNDS)


class _Codes:
    """Codes of one plan's rows: those of cells, and small codes that stand for codes made of them.

    Codes may be made of hundreds of others, so they are known by identity while they are held here.
    """

    def __init__(self, leaves: dict[Code, Integers], rows: int) -> None:
        self.leaves, self.rows = leaves, rows
        self.values: dict[Code, Integers] = {}
        self._bytes = 0
        self._chunk = self._with(())
        self._stands: dict[int, tuple[Code, Grid]] = {}
        self._pairs: dict[tuple[Code, Code], Grid] = {}

    def _with(self, codes: Iterable[Code]) -> Chunk:
        """The rows as a chunk that knows the values of cells, and of those small codes that are asked for."""
        values = {code: self.values[code] for code in codes if code in self.values}
        return Chunk({"": np.zeros(self.rows, np.bool_)}, {**self.leaves, **values})

    @property
    def is_full(self) -> bool:
        """Whether small codes take more than a quarter of the room."""
        return len(self.values) > MAX_CODES or self._bytes > 2 * MAX_KEPT

    def holds(self, code: Code | Condition) -> bool:
        """Whether a small code stands for this one."""
        return id(code) in self._stands

    def totals(self, queries: Sequence[CodedQuery], lock: threading.Lock) -> list[Integers]:
        """The sums of queries; `lock` is held while codes are looked up, not while they are added up."""
        with lock:
            masks: dict[int, Mask] = {}
            for places in group_alike(queries):
                masks |= dict.fromkeys(places, self._chunk.counted(queries[places[0]]))
            counts = {at: self._parts(one) for at, one in enumerate(queries) if _is_count(one)}
            asked = [
                one if at in counts else self._with_stands(one) for at, one in enumerate(queries)
            ]
            others = (query for at, query in enumerate(asked) if at not in counts)
            chunk = self._with(code for query in others for code in _counted(query))
        different = {id(mask): mask for mask in masks.values()}
        whole = {key: bool(mask.all()) for key, mask in different.items()}
        return [
            _count(query, counts[at], None if whole[id(masks[at])] else masks[at])
            if at in counts
            else totals_of(query, [(chunk, masks[at])])
            for at, query in enumerate(asked)
        ]

    def _parts(self, query: CodedQuery) -> list[tuple[Integers, int]]:
        """The codes that a query counts by, the last ones as pairs: their values and how many there are."""
        return [(self._values(code), code.high + 1) for code in self._stands_by(query)]

    def _values(self, code: Code) -> Integers:
        kept = self.values.get(code)
        return self._chunk.code(code) if kept is None else kept

    def _with_stands(self, query: CodedQuery) -> CodedQuery:
        """The same query about small codes."""
        by = self._stands_by(query)
        terms = tuple(Term(t.weight, tuple(map(self._stand, t.codes))) for t in query.terms)
        return CodedQuery(terms, by, query.where, query.known, query.keep, query.tally)

    def _stands_by(self, query: CodedQuery) -> tuple[Code, ...]:
        """Small codes for those that a query groups by."""
        by = tuple(map(self._stand, query.by))
        if len(by) > 2:  # such as nodes, bins, classes: the last two are the same in every round
            by = (*by[:-2], self._join(*by[-2:]))
        return by

    def _join(self, first: Code, second: Code) -> Code:
        """A code whose values are the pairs of two others', in order, for rows that have both."""
        pair = first, second
        if pair not in self._pairs:
            size, chunk = second.high + 1, self._with(pair)
            joined = chunk.code(first).astype(np.int64) * size + chunk.code(second)
            self._pairs[pair] = self._keep(joined, 0, (first.high + 1) * size - 1)
        return self._pairs[pair]

    def _keep(self, values: Integers, low: int, high: int) -> Grid:
        """A small code for values from low to high, which are kept in the narrowest type that has room."""
        least = float(low)
        # a lone surrogate is no text, so that no column has this name
        code = Grid(f"\ud800{len(self.values)}", least, float(high), least, 0.0, 1.0, 0.0)
        # signed: what is missing is -1, and so a pair is at least -2 - high
        self.values[code] = values.astype(np.min_scalar_type(-2 - max(high, -low)))
        self._bytes += self.values[code].nbytes
        return code

    def _stand(self, code: Code) -> Code:
        """A small code with the same values; engines have their own ways with the simplest codes."""
        if isinstance(code, Leaf | Linear) or (isinstance(code, Lookup) and len(code.sources) == 1):
            return code
        if id(code) not in self._stands:
            stand = self._keep(self._chunk.code(code), code.low, code.high)
            self._stands[id(code)] = code, stand
            if (self._chunk.known - len(self.leaves)) * self.rows > MAX_WIDE:
                self._chunk = self._with(())
        return self._stands[id(code)][1]


@final
class CodeCache(EngineWrapper):
    """Another engine's rows, whose codes are kept as long as this object: for the time of one plan.

    Codes of cells are fetched once; codes made of them are kept until others need the room. Rows that
    must be limited by person are left to the other engine. Threads may share it: `_fetching` is held
    while codes of cells are read, and `_lock`, which may be taken inside, while kept codes are looked up.

    Parameters
    ----------
    engine : Engine
    for_trees : bool
        Whether questions that name no tree are left to the other engine, too: it answers these as fast.
    """

    def __init__(self, engine: Engine, for_trees: bool = False) -> None:
        super().__init__(engine)
        self._for_trees = for_trees
        self.is_ordered = engine.is_ordered
        self._codes = _Codes({}, 0)
        self._fetching, self._lock = threading.Lock(), threading.Lock()

    def totals(self, query: CodedQuery) -> Integers:
        needed = _needed(query)
        if not self._is_kept(query) or not needed:
            return self._engine.totals(query)
        codes = self._fetch(needed)
        if codes is None:
            return self._engine.totals(query)
        return withhold_errors(lambda: codes.totals([query], self._lock)[0])

    def joint_totals(self, queries: Sequence[CodedQuery]) -> list[Integers]:
        if not all(map(self._is_kept, queries)):
            return self._engine.joint_totals(queries)
        needed = [code for query in queries for code in _needed(query)]
        if self._fetch(needed) is None:  # all in one reading
            return [self.totals(query) for query in queries]
        parts = (queries[at : at + TOGETHER] for at in range(0, len(queries), TOGETHER))
        return [found for some in parts for found in self._some(some)]

    def _is_kept(self, query: CodedQuery) -> bool:
        """Whether codes of this question may be kept."""
        return query.keep is None and (not self._for_trees or any(map(count_trees, query.by)))

    def _some(self, queries: Sequence[CodedQuery]) -> list[Integers]:
        """The sums of a few queries; between these, codes that need too much room are forgotten."""
        needed = list(map(_needed, queries))
        codes = self._fetch([code for part in needed for code in part]) if all(needed) else None
        if codes is None:
            return [self.totals(query) for query in queries]
        return withhold_errors(lambda: codes.totals(queries, self._lock))

    def _fetch(self, needed: list[Code | Condition]) -> _Codes | None:
        """What holds the codes of cells that are needed, read if they are new; None if they don't fit."""
        with self._fetching:
            codes = self._codes
            with self._lock:
                new = {id(code): code for code in needed if not codes.holds(code)}
            missing = tuple(c for c in leaves(*new.values()) if c not in codes.leaves)
            if not missing and not codes.leaves:
                return None  # a condition that all rows meet reads no cell, and no row was read yet
            if missing:
                length = self._engine.length() or 0
                if (len(codes.leaves) + len(missing)) * length > MAX_KEPT // 2:
                    return None
                rows = self._engine.rows(_EVERY_ROW, missing)
                read: dict[Code, Integers]
                read = {c: np.ascontiguousarray(rows[:, at]) for at, c in enumerate(missing)}
                # another object, so that threads that use the old one can go on
                self._codes = _Codes({**codes.leaves, **read}, len(rows))
            elif codes.is_full:
                self._codes = _Codes(codes.leaves, codes.rows)
            return self._codes


def _is_count(query: CodedQuery) -> bool:
    """Whether rows are counted by group, and nothing else is asked."""
    return bool(query.by) and query.tally is None and not any(term.codes for term in query.terms)


def _count(query: CodedQuery, parts: list[tuple[Integers, int]], mask: Mask | None) -> Integers:
    """The sums of a query that counts, from the values of what it counts by; all rows without a mask."""
    groups = parts[0][0]
    for values, size in parts[1:]:
        groups = np.multiply(groups, size, dtype=np.int64)
        groups += values
    counts = np.bincount(groups if mask is None else groups[mask], minlength=query.groups)
    weights = [term.weight for term in query.terms]
    if weights == [1]:
        return counts[:, None]
    return counts[:, None] * np.array(weights, np.int64)


def _counted(query: CodedQuery) -> list[Code]:
    """The codes that a query groups by or adds up."""
    return [*query.by, *(code for term in query.terms for code in term.codes)]


def _needed(query: CodedQuery) -> list[Code | Condition]:
    """The codes and conditions that a query reads."""
    return [
        *_counted(query),
        *query.known,
        *(() if query.where is None else (query.where,)),
    ]

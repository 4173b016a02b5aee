"""Engines around another engine: the same rows, read less often, or only while that is allowed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, final

from discreet.coding import (
    AllOf,
    Batch,
    Code,
    CodedQuery,
    Condition,
    Engine,
    Integers,
    Places,
    Tally,
)
from discreet.schema import Schema
from discreet.unit import Unit

__all__ = ["EngineWrapper", "GuardedEngine", "RowCache"]

_NO_BATCHES = "rows can't be written in batches inside a plan that was paid in advance."


class EngineWrapper(Engine):
    """Another engine, asked for everything; what differs is overridden."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def check(self, schema: Schema, unit: Unit) -> None:
        self._engine.check(schema, unit)

    def length(self) -> int | None:
        return self._engine.length()

    def totals(self, query: CodedQuery) -> Integers:
        return self._engine.totals(query)

    def joint_totals(self, queries: Sequence[CodedQuery]) -> list[Integers]:
        return self._engine.joint_totals(queries)

    def tally(self, query: CodedQuery) -> Tally:
        return self._engine.tally(query)

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        return self._engine.rows(query, codes)

    def person_rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        return self._engine.person_rows(query, codes)

    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        return self._engine.keys(query, column, groups)

    def check_places(self, places: Places) -> None:
        self._engine.check_places(places)

    def batches(
        self, codes: tuple[Code, ...], places: Places, skip: Collection[int] = ()
    ) -> Iterator[Batch]:
        return self._engine.batches(codes, places, skip)


@final
class RowCache(EngineWrapper):
    """An engine that reads the rows of a step once for all runs of a selection."""

    #: This many tables are kept at once.
    MAX_TABLES = 4

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.is_ordered = engine.is_ordered
        self._kept: dict[Any, Integers] = {}
        self._lock = threading.Lock()

    def length(self) -> int | None:
        return None

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        return self._keep((query, codes), self._engine.rows)

    def person_rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        return self._keep((query, codes), self._engine.person_rows)

    def _keep(self, question: Any, ask: Callable[..., Integers]) -> Integers:
        asked = (question, ask.__name__)
        with self._lock:  # a second thread waits for the first one's rows, and needn't read them
            found = self._kept.get(asked)
            if found is None:
                found = ask(*question)
                if len(self._kept) == self.MAX_TABLES:
                    self._kept.pop(next(iter(self._kept)))
                self._kept[asked] = found
        return found.copy()  # a step may write to its rows


@final
class GuardedEngine(EngineWrapper):
    """An engine, or the part of its rows where a condition holds, as long as `allow` doesn't raise."""

    def __init__(self, engine: Engine, allow: Callable[[], None], where: Condition | None) -> None:
        super().__init__(engine)
        self._allow, self._where = allow, where

    def _only(self, query: CodedQuery) -> CodedQuery:
        self._allow()
        if self._where is None:
            return query
        both = self._where if query.where is None else AllOf((query.where, self._where))
        return replace(query, where=both)

    def length(self) -> int | None:
        return None  # so that nobody keeps its rows beyond the plan

    def totals(self, query: CodedQuery) -> Integers:
        return self._engine.totals(self._only(query))

    def joint_totals(self, queries: Sequence[CodedQuery]) -> list[Integers]:
        self._allow()
        return self._engine.joint_totals([self._only(query) for query in queries])

    def tally(self, query: CodedQuery) -> Tally:
        return self._engine.tally(self._only(query))

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        return self._engine.rows(self._only(query), codes)

    def person_rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        return self._engine.person_rows(self._only(query), codes)

    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        return self._engine.keys(self._only(query), column, groups)

    def check_places(self, places: Places) -> None:
        raise ValueError(_NO_BATCHES)

    def batches(
        self, codes: tuple[Code, ...], places: Places, skip: Collection[int] = ()
    ) -> Iterator[Batch]:
        raise ValueError(_NO_BATCHES)

"""Engines that are opened anew for every answer: databases, and files behind one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager

from discreet.coding import Batch, Code, CodedQuery, Engine, Integers, Places, Tally
from discreet.engines.base import withhold_each, withhold_errors


class Sessions(Engine):
    """Answers each question inside a session of its own."""

    @abstractmethod
    def _session(self) -> AbstractContextManager[Engine]:
        """An engine for as long as the context lasts."""

    def length(self) -> None:
        return None

    def totals(self, query: CodedQuery) -> Integers:
        def act() -> Integers:
            with self._session() as engine:
                return engine.totals(query)

        return withhold_errors(act)

    def joint_totals(self, queries: Sequence[CodedQuery]) -> list[Integers]:
        def act() -> list[Integers]:
            with self._session() as engine:
                return engine.joint_totals(queries)

        return withhold_errors(act)

    def tally(self, query: CodedQuery) -> Tally:
        def act() -> Tally:
            with self._session() as engine:
                return engine.tally(query)

        return withhold_errors(act)

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        def act() -> Integers:
            with self._session() as engine:
                return engine.rows(query, codes)

        return withhold_errors(act)

    def person_rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        def act() -> Integers:
            with self._session() as engine:
                return engine.person_rows(query, codes)

        return withhold_errors(act)

    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        def act() -> dict[str, int]:
            with self._session() as engine:
                return engine.keys(query, column, groups)

        return withhold_errors(act)

    def check_places(self, places: Places) -> None:
        with self._session() as engine:
            engine.check_places(places)

    def batches(
        self, codes: tuple[Code, ...], places: Places, skip: Collection[int] = ()
    ) -> Iterator[Batch]:
        def act() -> Iterator[Batch]:
            with self._session() as engine:
                yield from engine.batches(codes, places, skip)

        return withhold_each(act())

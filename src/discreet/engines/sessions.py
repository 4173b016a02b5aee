"""Engines that are opened anew for every answer: databases, and files behind one."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager

from discreet.coding import Code, CodedQuery, Engine, Integers, Tally
from discreet.engines.base import withhold_errors


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

    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        def act() -> dict[str, int]:
            with self._session() as engine:
                return engine.keys(query, column, groups)

        return withhold_errors(act)

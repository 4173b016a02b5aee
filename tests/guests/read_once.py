"""A door whose rows are read once for each question, so that guests can afford many runs of it.

What a question finds in the rows before any noise is a fact about them, the same every time. It is
computed by the toolkit when it is first asked for, and kept; all that happens to it later happens in every
run anew.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import discreet as dp
from discreet.coding import Code, CodedQuery, Engine, Integers, Tally
from discreet.engines.wrappers import EngineWrapper


class ReadOnce(EngineWrapper):
    """An engine that remembers its answers."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.is_ordered = engine.is_ordered
        self._kept: dict[Any, Any] = {}

    def _keep(self, ask: Callable[..., Any], *question: Any) -> Any:
        asked = (ask.__name__, *question)
        try:
            found = self._kept.get(asked)
        except TypeError:  # a question that can't be a key
            return ask(*question)
        if found is None:
            found = self._kept[asked] = ask(*question)
        return copy.deepcopy(found)

    def totals(self, query: CodedQuery) -> Integers:
        return self._keep(self._engine.totals, query)

    def joint_totals(self, queries: Sequence[CodedQuery]) -> list[Integers]:
        return self._keep(self._engine.joint_totals, tuple(queries))

    def tally(self, query: CodedQuery) -> Tally:
        return self._keep(self._engine.tally, query)

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        return self._keep(self._engine.rows, query, codes)

    def person_rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        return self._keep(self._engine.person_rows, query, codes)

    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        return self._keep(self._engine.keys, query, column, groups)


def read_once(door: dp.PrivateDataset) -> None:
    """Let a door ask its rows each question once."""
    door._engine = ReadOnce(door._engine)

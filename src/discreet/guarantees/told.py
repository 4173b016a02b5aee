"""One number of a large output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from discreet.guarantees.draws import Floats

__all__ = ["ScoreOnly"]


@final
class ScoreOnly:
    """A mechanism that reports only a score of its output: what that reveals, the output reveals."""

    def __init__(self, mechanism: Callable[..., Floats], score: Callable[[Floats], Floats]) -> None:
        self._mechanism, self._score = mechanism, score

    def __call__(self, data: Any, trials: int) -> Floats:
        return self._score(self._mechanism(data, trials))

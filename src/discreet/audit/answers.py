"""Neighbouring vectors of answers: what one person can do to many questions at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.pairs import Pairs
from discreet.rational import as_integer

__all__ = ["Answers", "neighbouring_answers"]

Vector = tuple[int, ...]


class Answers(Pairs[Vector]):
    """Pairs of answers to the same questions, each of which one person moves by at most `moves`.

    The start is every way to halve the questions, in turn or in a row: answers that lie low or high, and
    a person who moves all of them up, one half up and the other down, one alone, or all but one.

    Examples
    --------
    >>> from discreet import audit
    >>> pairs = audit.Answers(2)  # two counts, each moved by at most 1
    >>> len(pairs), pairs[0]
    (15, ((0, 0), (-1, -1)))
    """

    def __init__(self, length: int, moves: int = 1) -> None:
        self._length = as_integer(length, "length", minimum=1)
        self._moves = as_integer(moves, "moves", minimum=1)
        self._pairs = list(dict.fromkeys(self._starts()))

    def _starts(self) -> Iterator[tuple[Vector, Vector]]:
        """Patterns of what is low, and of what goes up where."""
        places = np.arange(self._length)
        halves = np.where(places < self._length // 2, 0, 1)
        alone = np.where(places == 0, 1, 0)
        shapes = [0 * places, halves, 1 - halves, places % 2, alone, 1 - alone]
        for low in shapes[:4]:
            for up in shapes:
                # up by `moves` where the pattern is 1; elsewhere nothing, or down by as much
                for rest in (0, -1):
                    change = self._moves * np.where(up == 1, 1, rest)
                    if change.any():
                        yield _pair(self._moves * low, change)

    def near(
        self, pair: tuple[Vector, Vector], random: np.random.Generator, count: int
    ) -> list[tuple[Vector, Vector]]:
        """Pairs like this one, with some answers lower or higher, or moved otherwise."""
        first = np.array(pair[0])
        change = np.array(pair[1]) - first
        found = []
        for _ in range(count):
            moved, start = change.copy(), first.copy()
            at = random.integers(self._length, size=1 + int(random.integers(3)))
            if random.random() < 0.5:
                moved[at] = self._moves * random.integers(-1, 2)
            else:
                start[at] += self._moves * random.choice([-1, 1])
            if moved.any():
                found.append(_pair(start, moved))
        return found

    def __getitem__(self, index: Any) -> Any:
        return self._pairs[index]

    def __len__(self) -> int:
        return len(self._pairs)


def _pair(start: npt.NDArray[Any], change: npt.NDArray[Any]) -> tuple[Vector, Vector]:
    return tuple(start.tolist()), tuple((start + change).tolist())


def neighbouring_answers(length: int = 10, moves: int = 1) -> Answers:
    """Neighbours for a mechanism that takes the answers to many questions, such as counts.

    Parameters
    ----------
    length : int
        How many questions there are. Mechanisms that leak a little at each show it on many.
    moves : int
        How far one person moves each answer, at most: the sensitivity.

    Returns
    -------
    Answers
        Pairs of tuples of whole numbers around 0, where a threshold should lie. An audit that gets these
        looks for a bad pair by itself.

    Examples
    --------
    >>> neighbouring_answers(4)[0]
    ((0, 0, 0, 0), (-1, -1, -1, -1))
    """
    return Answers(length, moves)

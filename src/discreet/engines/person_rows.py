"""The rows of each person that are kept, found while the rows stream by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.coding import Code, Integers, PersonLimit
from discreet.coding.cells import persons_of
from discreet.coding.chunks import CHUNK, Chunk
from discreet.coding.persons import keep_rows

Mask = npt.NDArray[np.bool_]


class PersonRows:
    """Of each person's rows so far, the first `keep.max_rows` in the public order.

    A row that is not among the first of some of a person's rows is not among the first of all of them,
    so it can be forgotten at once. Memory: the different ids, and the codes of the kept rows twice.
    """

    def __init__(self, keep: PersonLimit, codes: Sequence[Code]) -> None:
        self._keep = keep
        self._codes = tuple(dict.fromkeys([*codes, *keep.order, *keep.ties]))
        self._numbers: dict[Any, int] = {}
        self._persons: list[Integers] = []
        self._values: list[Integers] = []
        self._held, self._limit = 0, CHUNK

    def add(self, chunk: Chunk, counted: Mask) -> None:
        """Take in more rows, of which those `counted` count."""
        persons = self._number(chunk.column(self._keep.id_column))
        use = counted & (persons >= 0)
        values = np.empty((len(self._codes), int(use.sum())), np.int64)
        for index, code in enumerate(self._codes):
            values[index] = chunk.code(code)[use]
        self._persons.append(persons[use])
        self._values.append(values)
        self._held += values.shape[1]
        if self._held > self._limit:
            self._shrink()

    def chunks(self) -> Iterator[tuple[Chunk, Mask]]:
        """The kept rows."""
        if self._persons:
            self._shrink()
        for persons, values in zip(self._persons, self._values, strict=True):
            for start in range(0, len(persons), CHUNK):
                part = self._chunk(persons[start : start + CHUNK], values[:, start : start + CHUNK])
                yield part, np.ones(part.length, np.bool_)

    def _shrink(self) -> None:
        persons, values = np.concatenate(self._persons), np.concatenate(self._values, axis=1)
        self._persons, self._values = [], []
        everyone = np.ones(len(persons), np.bool_)
        mask = keep_rows(self._chunk(persons, values), self._keep, everyone)
        self._persons, self._values = [persons[mask]], [values[:, mask]]
        self._held = int(mask.sum())
        self._limit = max(CHUNK, 2 * self._held)

    def _chunk(self, persons: Integers, values: Integers) -> Chunk:
        codes = dict(zip(self._codes, values, strict=True))
        return Chunk({self._keep.id_column: persons}, codes)

    def _number(self, ids: npt.NDArray[Any]) -> Integers:
        """Numbers of persons, the same for equal ids in all chunks; -1 where there is none."""
        return persons_of(ids.tolist(), self._numbers)

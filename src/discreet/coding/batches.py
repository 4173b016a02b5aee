"""Rows in batches: which slot of a table each row stands in, and the rows of one batch of slots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.coding.cells import Integers

__all__ = ["Batch", "Places", "Rows", "as_batch", "cut_rows"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Places:
    """The public slots of a table, and how they are cut into batches.

    Attributes
    ----------
    slots : int
        How many there are, from 0 on. Rows beyond the last slot are left out.
    size : int
        How many slots a batch has; the last one may have fewer.
    order_by : str, optional
        The column of whole numbers that says in which slot a row stands; without it that is the row's
        position in its source.
    id_column : str, optional
        Ids of persons are handed out with the codes.
    """

    slots: int
    size: int
    order_by: str | None = None
    id_column: str | None = None

    @property
    def batches(self) -> int:
        """How many batches there are."""
        return -(-self.slots // self.size)

    def bounds(self, number: int) -> tuple[int, int]:
        """The first slot of a batch, and the one behind its last."""
        start = number * self.size
        return start, min(start + self.size, self.slots)


class Rows(NamedTuple):
    """Codes of some rows in the order of a source, and their persons' ids, if these are asked for."""

    codes: Integers
    ids: Array | None = None


class Batch(NamedTuple):
    """The rows of one batch: `places` are slots counted from the batch's first one, each at most once."""

    number: int
    slots: int
    places: Integers
    codes: Integers
    ids: Array | None = None

    @classmethod
    def empty(cls, number: int, places: Places, codes: int) -> Batch:
        """A batch of slots in which no row stands."""
        start, end = places.bounds(number)
        ids = None if places.id_column is None else np.zeros(0, np.object_)
        return cls(number, end - start, np.zeros(0, np.int64), np.zeros((0, codes), np.int64), ids)

    def fill(self, padding: Integers) -> Integers:
        """The codes of all slots; `padding` is the row in slots where none stands."""
        found = np.tile(padding, (self.slots, 1))
        found[self.places] = self.codes
        return found


def as_batch(number: int, places: Places, slots: Integers, codes: Integers) -> Batch:
    """The batch of rows that stand in given slots; of several in one slot, the first by its codes counts.

    So what is taken for a slot depends on the rows in that slot alone.
    """
    start, end = places.bounds(number)
    inside = (slots >= start) & (slots < end)
    slots, codes = slots[inside], codes[inside]
    order = np.lexsort([*codes.T[::-1], slots])
    found, first = np.unique(slots[order], return_index=True)
    return Batch(number, end - start, found - start, codes[order][first])


def cut_rows(parts: Iterable[Rows], places: Places) -> Iterator[Batch]:
    """Batches of the rows of a source in its order, whatever the sizes of its parts; none of no row."""
    held: list[Rows] = []
    count = number = 0
    for part in parts:
        held.append(part)
        count += len(part.codes)
        while number < places.batches and count >= (wanted := _length(places, number)):
            whole = _join(held)
            yield _take(number, places, Rows(whole.codes[:wanted], _head(whole.ids, wanted)))
            rest = None if whole.ids is None else whole.ids[wanted:]
            held, count, number = [Rows(whole.codes[wanted:], rest)], count - wanted, number + 1
        if number == places.batches:
            return
    if count:
        yield _take(number, places, _join(held))


def _length(places: Places, number: int) -> int:
    start, end = places.bounds(number)
    return end - start


def _head(ids: Array | None, count: int) -> Array | None:
    return None if ids is None else ids[:count]


def _take(number: int, places: Places, rows: Rows) -> Batch:
    slots = _length(places, number)
    return Batch(number, slots, np.arange(len(rows.codes)), rows.codes, rows.ids)


def _join(parts: list[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    codes = np.concatenate([part.codes for part in parts])
    ids = [part.ids for part in parts if part.ids is not None]
    return Rows(codes, np.concatenate(ids) if ids else None)

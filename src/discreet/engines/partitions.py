"""Dask data frames: each partition is a pandas frame, and the integers of the partitions are added."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from discreet.coding import Code, CodedQuery, Engine, Integers, Tally, base_columns
from discreet.engines.base import joined_keys, joined_tallies, quietly
from discreet.engines.cells import number_of
from discreet.engines.frames import Frames
from discreet.engines.natives import required
from discreet.schema import Schema
from discreet.unit import Unit

#: How many results are added up in one task.
FAN_IN = 8
#: The column by which rows of one person come together.
PLACE = "\0place"


class Partitions(Engine):
    """Rows of a Dask data frame. Every answer computes the graph once, and reads its columns alone."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._dask = required("dask", "discreet[dask]", "a Dask data frame")
        pandas = required("pandas", "discreet[dask]", "a Dask data frame")
        types = dict(frame.dtypes)
        self._empty = pandas.DataFrame({n: pandas.Series([], dtype=t) for n, t in types.items()})

    def check(self, schema: Schema, unit: Unit) -> None:
        Frames(self._empty).check(schema, unit)

    def length(self) -> None:
        return None

    def totals(self, query: CodedQuery) -> Integers:
        result: Integers = self._joined(query, query.codes, _totals, _added)
        return result

    def tally(self, query: CodedQuery) -> Tally:
        result: Tally = self._joined(query, query.codes, _tally, joined_tallies)
        return result

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        result: Integers = self._joined(query, codes, partial(_rows, codes=codes), np.concatenate)
        return result

    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        act = partial(_keys, column=column, groups=groups)
        result: dict[str, int] = self._joined(query, query.codes, act, joined_keys, column)
        return result

    def _joined(
        self,
        query: CodedQuery,
        codes: tuple[Code, ...],
        act: Callable[..., Any],
        join: Callable[[list[Any]], Any],
        *more: str,
    ) -> Any:
        """What `act` finds in each partition, joined as in a tree."""

        def compute() -> Any:
            delayed = self._dask.delayed
            # the query is bound to the function: Dask would look for graphs in it
            found = [delayed(partial(act, query=query))(p) for p in self._parts(query, codes, more)]
            while len(found) > 1:
                together = [found[at : at + FAN_IN] for at in range(0, len(found), FAN_IN)]
                found = [delayed(join)(part) for part in together]
            return self._dask.compute(found[0])[0]

        return quietly(compute)

    def _parts(
        self, query: CodedQuery, codes: tuple[Code, ...], more: tuple[str, ...]
    ) -> list[Any]:
        asked = [*codes, *query.known, *([query.where] if query.where is not None else [])]
        keep = query.keep
        if keep is not None:
            asked += [*keep.order, *keep.ties]
        names = [*base_columns(*asked), *more, *([keep.id_column] if keep is not None else [])]
        # a count of all rows needs a column too
        chosen = list(dict.fromkeys(names)) or list(self._empty.columns[:1])
        frame = self._frame[chosen]
        if keep is not None:
            number = _is_number(self._empty[keep.id_column])
            place = partial(_with_place, name=keep.id_column, number=number)
            frame = frame.map_partitions(place, meta=place(self._empty[chosen]))
            frame = frame.shuffle(on=PLACE)
        parts: list[Any] = frame.to_delayed()
        return parts


def _totals(frame: Any, query: CodedQuery) -> Integers:
    return Frames(frame).totals(query)


def _added(parts: list[Integers]) -> Integers:
    result: Integers = np.sum(parts, axis=0, dtype=np.int64)
    return result


def _tally(frame: Any, query: CodedQuery) -> Tally:
    return Frames(frame).tally(query)


def _rows(frame: Any, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
    return Frames(frame).rows(query, codes)


def _keys(frame: Any, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
    return Frames(frame).keys(query, column, groups)


def _is_number(column: Any) -> bool:
    kind = str(column.dtype)
    return kind.lower().startswith(("int", "uint", "float", "double", "bool", "decimal"))


def _with_place(frame: Any, name: str, number: bool) -> Any:
    """The frame with a column that is equal wherever the id is; it may be equal elsewhere too."""
    cells = frame[name]
    if number:
        # one zero, not two
        return frame.assign(**{PLACE: cells.astype("Float64").astype("float64").to_numpy() + 0.0})
    places = np.fromiter((_place(cell) for cell in cells), np.float64, len(cells))
    return frame.assign(**{PLACE: places})


def _place(cell: Any) -> float:
    """A number for a text or number: Python's hash of numbers is the same in every process."""
    if isinstance(cell, str):
        text = cell.encode("utf-8", "surrogatepass")
        return float(int.from_bytes(hashlib.blake2b(text, digest_size=6).digest(), "big"))
    return float(hash(cell) % 2**40) if math.isfinite(number_of(cell)) else 0.0

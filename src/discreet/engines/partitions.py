"""Dask data frames: each partition is a pandas frame, and the integers of the partitions are added."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from discreet.coding import Code, CodedQuery, Engine, Integers, Tally, base_columns
from discreet.coding.cells import id_of, number_of, objects_of, plain_cell
from discreet.coding.plain import plain_column
from discreet.engines.arrays import group_alike
from discreet.engines.base import join_keys, join_tallies, withhold_errors
from discreet.engines.collected import join_persons
from discreet.engines.frames import Frames
from discreet.engines.natives import require, split_objects
from discreet.matching import check_unique
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
        self._dask = require("dask", "discreet[dask]", "a Dask data frame")
        pandas = require("pandas", "discreet[dask]", "a Dask data frame")
        check_unique(frame.columns)
        types = dict(frame.dtypes)
        self._empty = pandas.DataFrame({n: pandas.Series([], dtype=t) for n, t in types.items()})

    def check(self, schema: Schema, unit: Unit) -> None:
        Frames(self._empty).check(schema, unit)

    def length(self) -> None:
        return None

    def totals(self, query: CodedQuery) -> Integers:
        result: Integers = self._join(query, query.codes, _totals, _add)
        return result

    def joint_totals(self, queries: Sequence[CodedQuery]) -> list[Integers]:
        found: dict[int, Integers] = {}
        for places in group_alike(queries):
            same = [queries[place] for place in places]
            codes = tuple(dict.fromkeys(code for query in same for code in query.codes))
            sums = self._join(same[0], codes, partial(_joint_totals, queries=same), _add_each)
            found |= dict(zip(places, sums, strict=True))
        return [found[place] for place in range(len(queries))]

    def tally(self, query: CodedQuery) -> Tally:
        result: Tally = self._join(query, query.codes, _tally, join_tallies)
        return result

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        result: Integers = self._join(query, codes, partial(_rows, codes=codes), np.concatenate)
        return result

    def person_rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        result: Integers = self._join(
            query, codes, partial(_person_rows, codes=codes), join_persons
        )
        return result

    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        act = partial(_keys, column=column, groups=groups)
        result: dict[str, int] = self._join(query, query.codes, act, join_keys, column)
        return result

    def _join(
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

        return withhold_errors(compute)

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
            place = partial(_add_place, name=keep.id_column)
            frame = frame.map_partitions(place, meta=place(self._empty[chosen]))
            frame = frame.shuffle(on=PLACE)
        parts: list[Any] = frame.to_delayed()
        return parts


def _totals(frame: Any, query: CodedQuery) -> Integers:
    return Frames(frame).totals(query)


def _joint_totals(frame: Any, query: CodedQuery, queries: list[CodedQuery]) -> list[Integers]:
    return Frames(frame).joint_totals(queries)


def _add_each(parts: list[list[Integers]]) -> list[Integers]:
    return [_add(list(same)) for same in zip(*parts, strict=True)]


def _add(parts: list[Integers]) -> Integers:
    result: Integers = np.sum(parts, axis=0, dtype=np.int64)
    return result


def _tally(frame: Any, query: CodedQuery) -> Tally:
    return Frames(frame).tally(query)


def _rows(frame: Any, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
    return Frames(frame).rows(query, codes)


def _person_rows(frame: Any, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
    return Frames(frame).person_rows(query, codes)


def _keys(frame: Any, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
    return Frames(frame).keys(query, column, groups)


def _add_place(frame: Any, name: str) -> Any:
    """The frame with a column that is equal wherever the id is; it may be equal elsewhere too."""
    cells, _ = plain_column(frame[name])
    with np.errstate(all="ignore"):
        if cells.dtype.kind in "iufb":
            places = cells.astype(np.float64) + 0.0  # one zero, not two
        else:
            places = np.fromiter((_place(cell) for cell in cells), np.float64, len(cells))
    return _movable(frame).assign(**{PLACE: places})


def _movable(frame: Any) -> Any:
    """The frame with plain text and numbers for objects, which need not be such that they can be moved."""
    _, objects = split_objects(frame)
    found = frame.copy(deep=False)
    for name, column in objects.items():
        cells, _ = plain_column(column)
        plain = objects_of(map(plain_cell, cells))
        found[name] = type(column)(plain, index=frame.index, dtype=object)
    return found


def _place(cell: Any) -> float:
    """A number that is the same in every process for equal texts, and for equal numbers."""
    key = id_of(cell)
    if isinstance(key, str):
        text = key.encode("utf-8", "surrogatepass")
        return float(int.from_bytes(hashlib.blake2b(text, digest_size=6).digest(), "big"))
    return 0.0 if key is None else number_of(key) + 0.0

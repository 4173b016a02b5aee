"""Batches of a data frame's rows: by position in memory, by a column of slots in databases and Spark."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator
from itertools import pairwise
from typing import Any, TypeVar

import narwhals as nw
import numpy as np

from discreet.coding import Batch, Code, CodedQuery, Engine, Integers, PersonLimit, Places
from discreet.coding.batches import Rows, as_batch, cut_rows
from discreet.coding.plain import plain_column
from discreet.engines.base import refuse_key, withhold_each, withhold_errors

__all__ = ["SlottedFrames"]

Result = TypeVar("Result")
_EVERY_ROW = CodedQuery((), (), None, (), None)
_PART, _RECEIPT = "part", "receipt"
#: Spark's tasks in one job, at most.
MAX_TASKS = 200


class SlottedFrames(Engine):
    """What a data frame does about slots, and the types that it declares; the rest is in `Frames`."""

    _eager: nw.DataFrame[Any] | None
    _objects: dict[str, Any]
    _types: dict[str, Any]
    _traits: Any

    @abstractmethod
    def _code(self, query: CodedQuery, codes: Any, *, limited: bool = True) -> Any: ...

    @abstractmethod
    def _series(self, frame: nw.LazyFrame[Any]) -> Any: ...

    def declared(self) -> list[tuple[str, str]]:
        """The names and types of the columns, without details of a type, such as its categories."""
        return [(name, type(dtype).__name__) for name, dtype in self._types.items()]

    def check_places(self, places: Places) -> None:
        if self._eager is not None:
            refuse_key(places)
            return
        if places.order_by is None:
            raise ValueError(
                "the rows of a database, of Spark or of a lazy frame have no order of their own: give "
                "order_by= a column of whole numbers that says in which slot each row stands, 0, 1, 2, ... "
                "(as in SELECT row_number() OVER (ORDER BY a_public_column) - 1 AS slot), or give arrays, a "
                "data frame in memory or files."
            )
        if places.id_column is not None:
            raise ValueError(
                "rows of persons who may come back are read from arrays, data frames in memory and files: "
                "collect the new rows first."
            )
        check_slot_type(places.order_by, self._types)

    def batches(
        self, codes: tuple[Code, ...], places: Places, skip: Collection[int] = ()
    ) -> Iterator[Batch]:
        if self._eager is not None:
            return withhold_each(cut_rows(self._parts(codes, places), places))
        return withhold_each(self._by_slot(codes, places, skip))

    def _parts(self, codes: tuple[Code, ...], places: Places) -> Iterator[Rows]:
        assert self._eager is not None
        for start in range(0, min(len(self._eager), places.slots), places.size):
            stop = start + places.size
            native = nw.to_native(self._eager[start:stop])
            if self._objects and self._eager.implementation.is_pandas_like():
                native = native.reset_index(drop=True)  # labels may stand twice
                for name, cells in self._objects.items():
                    native[name] = cells.iloc[start:stop].reset_index(drop=True)
            ids = None
            if places.id_column is not None:
                ids = plain_column(native[places.id_column])[0].astype(object)
            yield Rows(type(self)(native, self._traits).rows(_EVERY_ROW, codes), ids)  # type: ignore[call-arg]

    def _slotted(
        self, codes: tuple[Code, ...], places: Places
    ) -> tuple[nw.LazyFrame[Any], list[str]]:
        """All rows with their slot as the column ``id``, and the names of the columns of codes."""
        assert places.order_by is not None
        query = CodedQuery((), (), None, (), PersonLimit(places.order_by, 1, ()))
        frame, names = self._code(query, codes, limited=False)
        return frame, [names[code] for code in codes]

    def _by_slot(
        self, codes: tuple[Code, ...], places: Places, skip: Collection[int]
    ) -> Iterator[Batch]:
        for number in range(places.batches):
            if number not in skip:
                yield self.batch(number, codes, places)

    def batch(self, number: int, codes: tuple[Code, ...], places: Places) -> Batch:
        """The rows of one batch of slots."""
        frame, names = self._slotted(codes, places)
        start, end = places.bounds(number)
        part = frame.filter((nw.col("id") >= start) & (nw.col("id") < end))
        found = self._series(part.select("id", *dict.fromkeys(names)))
        slots = np.asarray(found["id"], np.int64)
        return as_batch(number, places, slots, _stack(found, names, len(slots)))

    def map_batches(
        self,
        codes: tuple[Code, ...],
        places: Places,
        act: Callable[[Batch], Result],
        skip: Collection[int] = (),
    ) -> Iterator[tuple[int, Result]]:
        if self._eager is not None or not self._is_spark():
            yield from super().map_batches(codes, places, act, skip)
            return
        frame, names = withhold_errors(lambda: self._slotted(codes, places))
        yield from withhold_errors(lambda: _map_in_spark(frame, names, places, act, skip))

    def _is_spark(self) -> bool:
        return bool(self._traits.local is False and not self._traits.fenced)


def check_slot_type(name: str, types: dict[str, Any]) -> None:
    """Refuse a column of slots that isn't there, or that doesn't hold whole numbers."""
    if name not in types:
        raise ValueError(f"order_by: there is no column {name!r}.")
    if not types[name].is_integer():
        raise ValueError(f"order_by: column {name!r} must be of a type of whole numbers.")


def _stack(found: Any, names: list[str], rows: int) -> Integers:
    if not names:
        return np.zeros((rows, 0), np.int64)
    return np.stack([np.asarray(found[name], np.int64) for name in names], axis=1)


def _map_in_spark(
    frame: Any, names: list[str], places: Places, act: Callable[[Batch], Any], skip: Collection[int]
) -> list[tuple[int, Any]]:
    """Run `act` on each batch in Spark's tasks, in one job; what tasks return is small, and collected here.

    A batch is all rows of its slots, sorted by slot and codes, so it is the same however Spark cuts the
    frame. A task that is run again makes a result of its own: the caller takes one for each batch.
    """
    from pyspark.sql import functions  # it is there: the frame is one of its own

    native = nw.to_native(frame)
    slot = functions.col("id")
    part = functions.floor(slot / places.size).cast("bigint")
    rows = native.filter((slot >= 0) & (slot < places.slots)).withColumn(_PART, part)
    columns = list(dict.fromkeys(names))
    if skip:
        rows = rows.filter(~functions.col(_PART).isin(sorted(skip)))
    rows = rows.select(_PART, "id", *columns).repartition(min(places.batches, MAX_TASKS), _PART)
    rows = rows.sortWithinPartitions(_PART, "id", *columns)
    done = rows.mapInArrow(_Task(names, places, act), f"{_PART} bigint, {_RECEIPT} string")
    found = {int(row[_PART]): row[_RECEIPT] for row in done.collect()}
    return sorted(found.items())


class _Task:
    """What one of Spark's tasks does with its rows: sorted by part, and all of each part."""

    def __init__(self, names: list[str], places: Places, act: Callable[[Batch], Any]) -> None:
        self._names, self._places, self._act = names, places, act

    def __call__(self, parts: Iterator[Any]) -> Iterator[Any]:
        arrow = importlib.import_module("pyarrow")

        held: list[tuple[Integers, Integers]] = []
        number = -1
        for record in parts:
            numbers = record.column(_PART).to_numpy()
            slots = np.asarray(record.column("id").to_numpy(zero_copy_only=False), np.int64)
            codes = _stack(record, self._names, len(slots))
            cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
            for start, stop in pairwise(cuts):
                if start == stop:
                    continue
                if held and numbers[start] != number:
                    yield self._finish(arrow, number, held)
                    held = []
                number = int(numbers[start])
                held.append((slots[start:stop], codes[start:stop]))
        if held:
            yield self._finish(arrow, number, held)

    def _finish(self, arrow: Any, number: int, held: list[tuple[Integers, Integers]]) -> Any:
        slots = np.concatenate([slots for slots, _ in held])
        codes = np.concatenate([codes for _, codes in held])
        told = self._act(as_batch(number, self._places, slots, codes))
        kinds = [(_PART, arrow.int64()), (_RECEIPT, arrow.string())]
        return arrow.RecordBatch.from_pydict(
            {_PART: [number], _RECEIPT: [told]}, schema=arrow.schema(kinds)
        )

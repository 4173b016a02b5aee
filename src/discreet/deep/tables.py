"""A table behind the door as rows for a network: numbers and categories become inputs, as its schema says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt
import torch

from discreet import events
from discreet.coding import VALUE_BITS
from discreet.columns import Base, Categorical, Column, Numeric
from discreet.dataset import PrivateDataset
from discreet.deep.contributions import Tensor
from discreet.deep.plans import TrainingPlan, check_unit, rows_each
from discreet.deep.probe import Rows, random_rows
from discreet.deep.tensors import PrivateTensors, TensorDoor, open_paid
from discreet.ledger import Book, Entry
from discreet.measures import Measure
from discreet.rational import as_integer
from discreet.schema import Schema
from discreet.show import name_several
from discreet.step import CodedRows, Step
from discreet.unit import PUBLIC, Unit

__all__ = ["Encoding", "PrivateTable", "TableDoor"]

Integers = npt.NDArray[np.int64]


@final
@dataclass(frozen=True)
class Encoding:
    """From codes to inputs of a network: numbers in [-1, 1], also by their fourth root, and indicators.

    Privacy
    -------
    A row's inputs depend on that row alone.
    """

    columns: tuple[Base, ...]

    @property
    def width(self) -> int:
        """How many inputs there are."""
        return sum(len(c.values) if isinstance(c, Categorical) else 2 for c in self.columns)

    def inputs(self, codes: Integers) -> Tensor:
        """The inputs of rows."""
        parts = []
        for place, column in enumerate(self.columns):
            code = codes[:, place]
            if isinstance(column, Categorical):
                parts.append(code[:, None] == np.arange(len(column.values)))
            else:
                assert isinstance(column, Numeric)
                share = code / max(1, column.steps(VALUE_BITS))
                parts.append(np.stack([2 * share - 1, 2 * share**0.25 - 1], axis=1))
        found = np.concatenate(parts, axis=1) if parts else np.zeros((len(codes), 0))
        return torch.from_numpy(found.astype(np.float32))


def encode_rows(
    encoding: Encoding, target: Column, rows: CodedRows
) -> tuple[Tensor, Tensor, Integers | None]:
    """Inputs, targets and persons of rows whose last column is the target.

    A class is its place in the schema, a number lies in [-1, 1]. Rows without a declared class are left out.
    """
    code, codes, persons = rows.codes[:, -1], rows.codes[:, :-1], rows.persons
    if isinstance(target, Numeric):
        steps = max(1, target.steps(VALUE_BITS))
        return (
            encoding.inputs(codes),
            torch.from_numpy((2.0 * code - steps) / steps).float(),
            persons,
        )
    known = code >= 0
    kept = None if persons is None else persons[known]
    return encoding.inputs(codes[known]), torch.from_numpy(code[known]), kept


def check_columns(names: tuple[str, ...], columns: tuple[Base, ...]) -> None:
    """Raise unless all columns are numbers or categories."""
    for name, column in zip(names, columns, strict=True):
        if not isinstance(column, Numeric | Categorical):
            raise ValueError(f"column {name!r} must be a number or a category, not {column!r}.")


@final
class PrivateTable:
    """A `PrivateDataset` of numbers and categories as rows for a network.

    Numbers become two inputs in [-1, 1] (by their bounds, and by the fourth root), categories become
    indicators. Targets are places of classes in the schema (int64), or a number in [-1, 1] (float32).

    Parameters
    ----------
    data : PrivateDataset
        Its unit's persons are drawn whole, each with at most ``max_rows`` rows.
    target : str, optional
        The name of the target's column; the schema's last column by default.
    public_size : int, optional
        The number of persons as far as it is public: for batches and epochs, never compared with the data.

    Privacy
    -------
    As `PrivateTensors`: rows are read by a training that was charged, through the data set's own door.
    """

    def __init__(
        self, data: PrivateDataset, target: str | None = None, *, public_size: int | None = None
    ) -> None:
        if not isinstance(data, PrivateDataset):
            raise TypeError(f"data must be a dp.PrivateDataset, not {type(data).__name__}.")
        check_unit(data.unit, data.unit.id_column is not None)
        own = [name for name in data.schema.base if name != data.unit.id_column]
        name = own[-1] if target is None else target
        if name not in own:
            raise ValueError(f"target: the schema has no column {name!r}; it has {', '.join(own)}.")
        self._data = data
        self._names = (*(each for each in own if each != name), name)
        self._declared = tuple(data.schema.base[each] for each in self._names)
        check_columns(self._names, self._declared)
        self._encoding = Encoding(self._declared[:-1])
        self.public_size = (
            None if public_size is None else as_integer(public_size, "public_size", minimum=1)
        )

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self._data.unit

    @property
    def ledger(self) -> Book | None:
        """Where training is charged; None for public rows."""
        return self._data.ledger

    @property
    def width(self) -> int:
        """How many inputs a network for this table has."""
        return self._encoding.width

    @property
    def classes(self) -> tuple[Any, ...]:
        """The declared classes in the order of the network's outputs; empty for a number."""
        target = self._declared[-1]
        return tuple(target.values) if isinstance(target, Categorical) else ()

    def inputs(self, rows: Any) -> Tensor:
        """The inputs of public rows, to predict for: a frame or a mapping with the features' columns."""
        names = self._names[:-1]
        schema = Schema(dict(zip(names, self._declared, strict=False)))
        step = _Read(columns=names, encoding=self._encoding)
        found: Tensor = PrivateDataset(rows, schema, unit=PUBLIC).run(step)
        return found

    def random_rows(self, model: Any) -> Rows:
        """Random public rows of the same shapes and types."""
        return random_rows(*shapes(self._encoding, self._declared[-1]), model)

    @contextmanager
    def prepaid(
        self, plan: TrainingPlan, measure: Measure | None, *, token: str | None = None
    ) -> Iterator[TableDoor]:
        """These rows for a training fixed in advance, with one charge for all of it.

        Parameters
        ----------
        plan : TrainingPlan
        measure : Measure, optional
        token : str, optional
            As in `PrivateTensors.prepaid`.
        """
        note = f"private training on {name_several(self._names)}"
        with self._data.prepaid(plan.event, measure, token=token, note=note) as door:
            yield TableDoor(door, plan, self._encoding, self._names, self._declared)

    def __repr__(self) -> str:
        return f"PrivateTable({', '.join(self._names)},\n  unit: {self.unit})"


#: What a network can be trained on.
Data = PrivateTensors | PrivateTable | PrivateDataset


def open_rows(data: Data) -> PrivateTensors | PrivateTable:
    """Rows for a network: a data set's last column is the target."""
    if isinstance(data, PrivateDataset):
        return PrivateTable(data)
    if not isinstance(data, PrivateTensors | PrivateTable):
        raise TypeError(
            "data must be a dp.deep.PrivateTensors, a dp.deep.PrivateTable or a dp.PrivateDataset, not "
            f"{type(data).__name__}."
        )
    return data


def shapes(encoding: Encoding, target: Column) -> tuple[list[Any], tuple[tuple[int, ...], Any]]:
    """The shape of a row and the type of its numbers, for inputs and for the target."""
    kind = torch.float32 if isinstance(target, Numeric) else torch.int64
    return [((encoding.width,), torch.float32)], ((), kind)


@final
class TableDoor:
    """The table of a charged training: steps are claimed first, then its rows are read."""

    def __init__(
        self,
        data: PrivateDataset,
        plan: TrainingPlan,
        encoding: Encoding,
        names: tuple[str, ...],
        declared: tuple[Column, ...],
    ) -> None:
        self._data, self._plan, self._encoding = data, plan, encoding
        self._names, self._declared = names, declared

    @property
    def entry(self) -> Entry | None:
        """The ledger's entry for the training; None on public rows."""
        return self._data.entry

    @property
    def book(self) -> Book | None:
        """The ledger or account that paid."""
        return self._data.ledger

    @property
    def begun(self) -> int:
        """How many steps were claimed so far, here or before a crash."""
        return self._data.begun

    def carry_out(self, steps: int, act: Callable[[TensorDoor], None]) -> None:
        """Take the next steps of the plan, for good, and carry them out on the rows, which are read then.

        Privacy
        -------
        A step that was claimed and not made is lost. None is made twice.
        """
        part = replace(self._plan, steps=steps)
        self._data.run(
            _Several(
                columns=self._names,
                declared=self._declared,
                encoding=self._encoding,
                each=rows_each(self._data.unit),
                plan=part,
                act=act,
            )
        )


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class _Several(Step):
    """Some steps of a training on a table's rows."""

    columns: tuple[str, ...] = ()
    by_person: bool = True
    declared: tuple[Column, ...]
    encoding: Encoding
    each: int
    plan: TrainingPlan
    act: Callable[[TensorDoor], None]

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        check_unit(unit, unit.id_column is not None)
        if tuple(schema.get(name) for name in self.columns) != self.declared:
            raise ValueError("schema: this step was made for other columns.")
        if rows_each(unit) != self.each:
            raise ValueError("unit: this step was made for another unit.")
        return self.plan.event

    def run(self, rows: CodedRows) -> None:
        inputs, targets, persons = encode_rows(self.encoding, self.declared[-1], rows)
        door = open_paid(inputs, targets, self.plan, persons, self.each)
        door.carry_out(self.plan.steps, self.act)

    def __repr__(self) -> str:
        return f"Training{self.columns}"


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class _Read(Step):
    """The inputs of public rows."""

    columns: tuple[str, ...] = ()
    encoding: Encoding

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        if not unit.is_public:
            raise ValueError("unit must be dp.PUBLIC: rows are given out as they are.")
        return events.Compose()

    def run(self, rows: CodedRows) -> Tensor:
        return self.encoding.inputs(rows.codes)

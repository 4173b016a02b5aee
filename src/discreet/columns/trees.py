"""Columns that sort rows into parts: the leaves of a public tree, and parts by a public hash."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.coding import VALUE_BITS, Branches, Grid, Part
from discreet.coding.branches import NodeTests
from discreet.coding.codes import EXACT_INTEGER
from discreet.coding.values import grid_codes
from discreet.columns.base import Column, Numeric, column_name
from discreet.columns.bounds import as_list, finite
from discreet.rational import as_integer

if TYPE_CHECKING:
    from discreet.schema import Schema

#: The most levels of a public tree.
DEEPEST = 16

Split = tuple[str, float | tuple[Any, ...]]


class Tree(Column):
    """A derived column: the leaf that a row reaches in a complete public binary tree.

    Parameters
    ----------
    splits : sequence of (column, cut), (column, values) or None
        One for each inner node, in heap order: below node i are the nodes 2i + 1 and 2i + 2. A row
        goes to the second of these where a numeric column's value is at least `cut`, or where a
        countable column's value is one of the list `values`; to the first otherwise, and always
        where there is None. Their number is 2^depth - 1, and one of them at least is no None.

    Notes
    -----
    Leaves are numbered 0, 1, ... from left to right.

    Privacy
    -------
    A function of one row, if the splits are public: declared, drawn at random, or bought.
    """

    def __init__(self, splits: Sequence[Any]) -> None:
        self.splits = tuple(
            [
                # what forests are made of, thousands of times
                split
                if type(split) is tuple
                and len(split) == 2
                and type(split[1]) is float
                and type(split[0]) is str
                and isfinite(split[1])
                else _split(split)
                if split
                else None
                for split in as_list(splits, "Tree: splits", '[("age", 65)]')
            ]
        )
        self.depth = len(self.splits).bit_length()
        if len(self.splits) != 2**self.depth - 1 or not 1 <= self.depth <= DEEPEST:
            raise ValueError(
                f"Tree: splits must be 1, 3, 7, ... in number, for at most {DEEPEST} levels, "
                f"not {len(self.splits)}."
            )
        if not any(self.splits):
            raise ValueError("Tree: at least one node must be split.")
        listed = {split[0] for split in self.splits if split and type(split[1]) is tuple}
        #: The columns, and whether their values are listed.
        self._used = {split[0]: split[0] in listed for split in self.splits if split}
        #: What was made, and of which columns: a query asks for it several times.
        self._made: tuple[list[Any], Branches] | None = None

    def code(self, name: str, schema: Schema) -> Branches:
        columns = [self._identity(name, schema) for name in self._used]
        made = self._made
        if made is None or made[0] != columns:
            made = self._made = columns, Branches(self._tests(schema))
        return made[1]

    def _tests(self, schema: Schema) -> NodeTests:
        """What each node asks, column by column."""
        places = {name: place for place, name in enumerate(self._used)}
        which = np.array([-1 if split is None else places[split[0]] for split in self.splits])
        least = np.zeros(len(which), np.int64)
        members: dict[int, tuple[int, ...]] = {}
        asked = [_Asked(name, schema, listed) for name, listed in self._used.items()]
        for place, column in enumerate(asked):
            nodes: list[int] = np.flatnonzero(which == place).tolist()
            at = [self.splits[node][1] for node in nodes]  # type: ignore[index]
            if column.is_listed:
                listed = [node for node, one in zip(nodes, at, strict=True) if type(one) is tuple]
                members |= {node: column.members(self.splits[node][1]) for node in listed}  # type: ignore[index]
                nodes = [node for node in nodes if node not in members]
                at = [self.splits[node][1] for node in nodes]  # type: ignore[index]
            if nodes:
                least[nodes] = column.least_codes(at)  # type: ignore[arg-type]
        return NodeTests(tuple([column.code for column in asked]), which, least, members)

    def _identity(self, name: str, schema: Schema) -> Any:
        """What the codes and the values of a column follow from."""
        if name in schema.base:
            return schema[name]
        return schema.code(name), schema.labels(name) if self._used[name] else ()

    def cells(self, name: str, schema: Schema) -> tuple[int, ...]:
        return tuple(range(2**self.depth))

    def to_dict(self) -> dict[str, Any]:
        splits: list[Any] = []
        for split in self.splits:
            if split is None:
                splits.append([])
            else:
                column, at = split
                splits.append([column, list(at) if isinstance(at, tuple) else at])
        return {"type": "tree", "splits": splits}

    def __repr__(self) -> str:
        return f"Tree({2**self.depth} leaves)"


class Parts(Column):
    """A derived column: one of several parts of about equal size, by a public hash of the row.

    Parameters
    ----------
    columns : sequence of str
        The columns whose codes are mixed. Rows that are equal in all of them fall into one part.
    parts : int
        How many parts there are.

    Privacy
    -------
    A function of one row, so a person's row counts in one part alone. It hides nothing by itself.
    """

    def __init__(self, columns: Sequence[str], parts: int) -> None:
        names = [columns] if isinstance(columns, str) else columns
        self.columns = tuple(column_name(name, "Parts") for name in names)
        self.parts = as_integer(parts, "Parts: parts", minimum=1)
        if not self.columns or self.parts > 2**VALUE_BITS:
            raise ValueError("Parts needs at least one column, and at most 2^20 parts.")

    def code(self, name: str, schema: Schema) -> Part:
        return Part(tuple(schema.code(column) for column in self.columns), self.parts)

    def cells(self, name: str, schema: Schema) -> tuple[int, ...]:
        return tuple(range(self.parts))

    def to_dict(self) -> dict[str, Any]:
        return {"type": "parts", "columns": list(self.columns), "parts": self.parts}

    def __repr__(self) -> str:
        return f"Parts({list(self.columns)}, {self.parts})"


def _split(split: Any) -> Split:
    if type(split) is tuple and len(split) == 2 and type(split[0]) is str:
        column, at = split
        if type(at) is tuple and at:
            return split
    if isinstance(split, str) or not isinstance(split, Sequence) or len(split) != 2:
        raise TypeError("Tree: a split is a pair of a column and a cut or a list of values.")
    column, at = column_name(split[0], "Tree"), split[1]
    if isinstance(at, numbers.Real):
        return column, finite(at, "Tree: a cut")
    if isinstance(at, str) or not isinstance(at, Sequence) or not at:
        raise TypeError("Tree: a split needs a number, or a list of one or more values.")
    return column, tuple(at)


class _Asked:
    """What splits of one column ask of its code."""

    def __init__(self, name: str, schema: Schema, is_listed: bool) -> None:
        self._name, self.code, self.is_listed = name, schema.code(name), is_listed
        column, labels = schema[name], schema.labels(name) if is_listed else ()
        self._places = {value: place for place, value in enumerate(labels)}
        self._column = column if isinstance(column, Numeric) else None

    def members(self, values: Any) -> tuple[int, ...]:
        """The codes of a list of values."""
        try:
            return tuple([self._places[value] for value in values])
        except KeyError:
            message = f"Tree: a value of a split is no value of column {self._name!r}."
            raise ValueError(message) from None

    def least_codes(self, cuts: list[float]) -> npt.NDArray[np.int64]:
        """The least code of values at or above each cut, as for `Bins`."""
        if self._column is None:
            raise ValueError(
                f"Tree: column {self._name!r} is cut, so it must be dp.Real or dp.Integer."
            )
        assert isinstance(self.code, Grid)
        if not self._column.is_exact(VALUE_BITS):
            return grid_codes(np.array(cuts), self.code)
        least = np.ceil(np.array(cuts) - float(self._column.lower))
        return np.clip(least, -EXACT_INTEGER, EXACT_INTEGER).astype(np.int64)  # no code is beyond

"""How an answer is laid out as the rows of a table: groups, quantities, values, errors, intervals."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from discreet.queries import Gram, Joint, Moments, Quantile, Tightened
from discreet.show import Table, decode_value, encode_value

__all__ = ["Asked", "Layout", "choose_quantity", "lay_out", "name_keys"]

#: Columns of the numbers, which no grouping may be called.
_TAKEN = ("value", "stderr", "lower", "upper", "quantity", "rank_lower", "rank_upper")
#: A place in an answer: names of fields, and positions in arrays and tuples.
Path = tuple[Any, ...]


@final
@dataclass(frozen=True)
class Layout:
    """The key columns of an answer's table, and for each row the keys and where its number stands.

    Attributes
    ----------
    columns : tuple of str
        The groupings, then ``quantity`` where an answer has several numbers for a group.
    rows : tuple of tuples
    paths : tuple of paths
        Where the number of each row stands in the value, its error and its interval.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    paths: tuple[Path, ...]

    def pick(self, value: Any) -> list[Any] | None:
        """The number of each row: its own, or one that groups share; None where there is none."""
        if value is None:
            return None
        if isinstance(value, int | float):
            return [value] * len(self.rows)
        if isinstance(value, np.ndarray) and self.paths == tuple(np.ndindex(value.shape)):
            return list(value.ravel().tolist())
        shared = np.ndim(value) if isinstance(value, np.ndarray) else 0
        for start in (None, -shared or None):  # ranks of quantiles are the same in all groups
            try:
                return [_find(value, path[start:]) for path in self.paths]
            except (AttributeError, IndexError, KeyError, TypeError):
                continue
        return None

    def to_dict(self) -> dict[str, Any]:
        """The layout as plain data."""
        return {
            "columns": list(self.columns),
            "rows": [[encode_value(key) for key in row] for row in self.rows],
            "paths": [list(path) for path in self.paths],
        }

    @classmethod
    def from_dict(cls, data: Any) -> Layout:
        """The inverse of `to_dict`."""
        rows = tuple(tuple(decode_value(key) for key in row) for row in data["rows"])
        paths = tuple(tuple(path) for path in data["paths"])
        columns = tuple(data["columns"])
        parts = [part for path in paths for part in path]
        if len(rows) != len(paths) or not all(type(part) in (int, str) for part in parts):
            raise ValueError("no layout is written like this.")
        if any(isinstance(part, str) and not part.isidentifier() for part in parts):
            raise ValueError("no layout is written like this.")
        if any(len(row) != len(columns) for row in rows):
            raise ValueError("no layout is written like this.")
        return cls(columns, rows, paths)


@final
@dataclass(frozen=True, repr=False)
class Asked:
    """What was asked, as it was printed: stands for the query of a release that was read from JSON."""

    text: str
    layout: Layout

    def __repr__(self) -> str:
        return self.text


def _find(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part] if isinstance(part, int) else _field(value, part)
    return value


def _field(value: Any, name: str) -> Any:
    fields = getattr(value, "_fields", None) or [f.name for f in dataclasses.fields(value)]
    if name not in fields:
        raise KeyError(name)
    return getattr(value, name)


def lay_out(query: Any, value: Any, labels: Sequence[Any] | None) -> Layout:
    """Lay out an answer, from the query, the shape of its value and its labels."""
    if isinstance(query, Asked):
        return query.layout
    if isinstance(query, Joint) and isinstance(value, tuple):
        return _lay_out_parts(query, value, labels)
    by = tuple(getattr(query, "by", ()))
    names = _key_names(query, by, labels)
    places = list(_places(query, value, is_grouped=labels is not None))
    rows, paths = [], []
    for at, label in enumerate([()] if labels is None else labels):
        keys = label if isinstance(label, tuple) and len(names) != 1 else (label,)
        for quantity, path in places:
            rows.append((keys, quantity))
            paths.append(_insert(path, at))
    several = any(quantity for _, quantity in rows)
    columns = (*names, *(["quantity"] if several else []))
    cells = [(*keys, quantity) if several else keys for keys, quantity in rows]
    return Layout(columns, tuple(cells), tuple(paths))


def _lay_out_parts(query: Joint, value: tuple[Any, ...], labels: Any) -> Layout:
    """The answers of a `Joint`, one below the other: which question, which group."""
    rows: list[tuple[Any, ...]] = []
    paths: list[Path] = []
    for at, (part, inner) in enumerate(zip(query.queries, value, strict=True)):
        layout = lay_out(part, inner, None if labels is None else labels[at])
        for keys, path in zip(layout.rows, layout.paths, strict=True):
            rows.append((repr(part), ", ".join(map(str, keys))))
            paths.append((at, *path))
    return Layout(("question", "group"), tuple(rows), tuple(paths))


def _key_names(query: Any, by: tuple[str, ...], labels: Any) -> tuple[str, ...]:
    """The names of the key columns: those of `by`; of discovered keys, their column's."""
    if labels is None:
        return ()
    return name_keys(by or tuple(getattr(query, "columns", ()))[:1] or ("group",))


def name_keys(names: Sequence[str]) -> tuple[str, ...]:
    """Names of key columns that differ from those of the numbers beside them."""
    return tuple(f"{name} (group)" if name in _TAKEN else name for name in names)


#: Stands in a path where the position of the group goes.
_GROUP = object()


def _insert(path: Path, group: int) -> Path:
    return tuple(group if part is _GROUP else part for part in path)


def _places(query: Any, value: Any, is_grouped: bool) -> Iterator[tuple[str, Path]]:
    """What is told about each group: the quantity's name and where it stands."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        for name in value._fields:
            yield name, (name,)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            for name, path in _places_of_array(query, getattr(value, field.name), is_grouped):
                yield f"{field.name} {name}".strip(), (field.name, *path)
    else:
        yield from _places_of_array(query, value, is_grouped)


def _places_of_array(query: Any, value: Any, is_grouped: bool) -> Iterator[tuple[str, Path]]:
    if value is None:
        return
    if isinstance(value, tuple | list):
        for at, part in enumerate(value):
            for name, path in _places_of_array(query, part, is_grouped):
                yield f"{at} {name}".strip(), (at, *path)
        return
    shape = np.shape(value)[1:] if is_grouped else np.shape(value)
    start: Path = (_GROUP,) if is_grouped else ()
    for place in np.ndindex(shape):
        yield _name_place(query, shape, place), (*start, *place)


def _name_place(query: Any, shape: tuple[int, ...], place: tuple[int, ...]) -> str:
    """The name of an entry of an array: a quantile, a column, a pair of columns, else its position."""
    names: Sequence[Any] = ()
    if isinstance(query, Tightened):
        query = query.query
    if isinstance(query, Quantile):
        names = [f"q = {q}" for q in query.q]
    elif isinstance(query, Moments):
        names = query.names
    elif isinstance(query, Gram):
        names = ("1", *query.columns)
    if place and all(size == len(names) for size in shape):
        return " × ".join(str(names[at]) for at in place)
    return ", ".join(map(str, place))


def choose_quantity(table: Table, keys: list[str], quantity: str | None) -> tuple[Table, list[str]]:
    """The rows of one quantity, without its column."""
    if "question" in keys:
        raise ValueError("several questions don't fit in a picture: choose rows of to_frame().")
    known = list(dict.fromkeys(table.column("quantity"))) if "quantity" in keys else []
    if quantity not in known:
        if not known:
            raise ValueError("quantity: there is one number for each group; leave quantity out.")
        choices = ", ".join(map(repr, known))
        raise ValueError(
            f"quantity must say which number to draw, as in plot(quantity={known[0]!r}); there are: "
            f"{choices}."
        )
    at = table.columns.index("quantity")
    rows = [row for row in table.rows if row[at] == quantity]
    chosen = Table(table.columns, rows, f"{table.caption}, {quantity}", table.note)
    return chosen, [key for key in keys if key != "quantity"]

"""The kinds of column that a schema declares, and the integer codes they stand for."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from discreet.coding import (
    EXACT_INTEGER,
    VALUE_BITS,
    Category,
    Closest,
    Code,
    Cuts,
    Grid,
    Linear,
    Lookup,
    grid_multiplier,
)

if TYPE_CHECKING:
    from discreet.schema import Schema

#: The most cells that a countable column, or a product of them, may have.
MOST_CELLS = 2**22


class Column(ABC):
    """What a schema knows of a column."""

    @abstractmethod
    def code(self, name: str, schema: Schema) -> Code:
        """The integer that stands for the cell of a row."""

    @abstractmethod
    def cells(self, name: str, schema: Schema) -> tuple[Any, ...]:
        """What the codes 0, 1, ... mean, where they can be listed."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The column as plain data."""


class Numeric(Column):
    """A base column of numbers between public bounds."""

    lower: float
    upper: float
    fill: float | None

    @property
    def width(self) -> float:
        """Upper bound less lower bound."""
        return float(self.upper) - float(self.lower)

    @property
    @abstractmethod
    def filling(self) -> float:
        """What null, NaN and cells that are no number count as."""

    @abstractmethod
    def steps(self, bits: int) -> int:
        """The code of the upper bound on a grid of `bits` bits (the lower bound's is 0)."""

    @abstractmethod
    def is_exact(self, bits: int) -> bool:
        """Whether a value's code is the value itself, less the lower bound."""

    def grid(self, name: str, bits: int) -> Grid:
        """The code 0..steps(bits) of the value between its bounds."""
        if self.is_exact(bits):
            multiplier = 1.0
        elif self.width == 0.0:
            multiplier = 0.0
        else:
            multiplier = grid_multiplier(self.width, VALUE_BITS) * 2.0 ** (bits - VALUE_BITS)
        lower, upper = float(self.lower), float(self.upper)
        return Grid(name, lower, upper, self.filling, lower, multiplier, 0.0)

    def centred(self, name: str, bits: int) -> Linear:
        """The code 2k - steps, between -steps and steps: the value about its midpoint."""
        return Linear(self.grid(name, bits), 2, -self.steps(bits))

    def summand(self, name: str) -> Grid:
        """The value itself on a grid that keeps zero, rounded to nearest: what `Sum` adds up."""
        largest = max(abs(self.lower), abs(self.upper))
        if isinstance(self, Integer) and largest <= 2**VALUE_BITS:
            multiplier = 1.0
        else:
            multiplier = 2.0**VALUE_BITS / largest if largest else 0.0
        lower, upper = float(self.lower), float(self.upper)
        return Grid(name, lower, upper, self.filling, 0.0, multiplier, 0.5)

    def decode(self, position: float, bits: int) -> float:
        """The value in the middle of a cell of the grid; `position` may be fractional."""
        steps = self.steps(bits)
        if steps == 0:
            return float(self.lower)
        half = 0.0 if self.is_exact(bits) else 0.5
        value = float(self.lower) + self.width * ((position + half) / steps)
        return min(max(value, float(self.lower)), float(self.upper))

    def code(self, name: str, schema: Schema) -> Grid:
        return self.grid(name, VALUE_BITS)

    def to_dict(self) -> dict[str, Any]:
        data = {"type": type(self).__name__.lower(), "lower": self.lower, "upper": self.upper}
        return data if self.fill is None else {**data, "fill": self.fill}


@dataclass(frozen=True)
class Real(Numeric):
    """A column of real numbers between public bounds.

    Parameters
    ----------
    lower, upper : float
        Values outside are clamped. Equal bounds make a constant column.
    fill : float, optional
        What null, NaN and cells that are no number count as; the midpoint by default.
    """

    lower: float = None  # type: ignore[assignment]
    upper: float = None  # type: ignore[assignment]
    fill: float | None = None

    def __post_init__(self) -> None:
        for bound in ("lower", "upper", "fill"):
            given = getattr(self, bound)
            if given is None and bound == "fill":
                continue
            object.__setattr__(self, bound, _finite(given, f"dp.Real: {bound}"))
        _check_bounds("dp.Real", self.lower, self.upper, self.fill)
        if self.width and not (1e-280 < self.width < 1e280):
            raise ValueError("dp.Real: upper - lower must lie between 1e-280 and 1e280.")
        largest = max(abs(self.lower), abs(self.upper))
        if largest and not (1e-280 < largest < 1e280):
            raise ValueError("dp.Real: bounds must be 0 or lie between 1e-280 and 1e280 in size.")

    @property
    def filling(self) -> float:
        return self.lower + self.width * 0.5 if self.fill is None else self.fill

    def steps(self, bits: int) -> int:
        return 2**bits if self.width else 0

    def is_exact(self, bits: int) -> bool:
        return False

    def cells(self, name: str, schema: Schema) -> tuple[Any, ...]:
        raise ValueError(
            f"column {name!r} is real, so its values can't be listed: derive bins first, as in "
            f"schema.derive({name}_band=dp.Bins({name!r}, [...]))."
        )


@dataclass(frozen=True)
class Integer(Numeric):
    """A column of whole numbers between public bounds, exact up to a width of 2^20.

    Parameters
    ----------
    lower, upper : int
        Values outside are clamped; fractional values are rounded down.
    fill : int, optional
        What null, NaN and cells that are no number count as; the midpoint, rounded down, by default.
    """

    lower: int = None  # type: ignore[assignment]
    upper: int = None  # type: ignore[assignment]
    fill: int | None = None

    def __post_init__(self) -> None:
        for bound in ("lower", "upper", "fill"):
            given = getattr(self, bound)
            if given is None and bound == "fill":
                continue
            value = _finite(given, f"dp.Integer: {bound}")
            if value != math.floor(value) or abs(value) > EXACT_INTEGER:
                raise ValueError(
                    f"dp.Integer: {bound} must be a whole number of at most 2^53, got {given!r}."
                )
            object.__setattr__(self, bound, int(value))
        _check_bounds("dp.Integer", self.lower, self.upper, self.fill)

    @property
    def filling(self) -> float:
        return float((self.lower + self.upper) // 2 if self.fill is None else self.fill)

    def steps(self, bits: int) -> int:
        return self.upper - self.lower if self.is_exact(bits) else 2**bits

    def is_exact(self, bits: int) -> bool:
        return bool(self.upper - self.lower <= 2**bits)

    def cells(self, name: str, schema: Schema) -> tuple[Any, ...]:
        if self.upper - self.lower >= MOST_CELLS or not self.is_exact(VALUE_BITS):
            raise ValueError(
                f"column {name!r} has too many values to list: derive bins first, as in "
                f"schema.derive({name}_band=dp.Bins({name!r}, [...]))."
            )
        return tuple(range(self.lower, self.upper + 1))


class Categorical(Column):
    """A column of declared categories.

    Parameters
    ----------
    *values : str, or numbers and booleans
        All the categories that count. Text is compared byte by byte (as UTF-8), numbers as numbers.
    unknown : one of the values, optional
        What any other cell, null among them, counts as. Without it, rows with another cell are left
        out of the queries that use this column.
    """

    def __init__(self, *values: Any, unknown: Any = None) -> None:
        if not values:
            raise ValueError('dp.Categorical needs its values, as in dp.Categorical("F", "M").')
        if len(values) > MOST_CELLS:
            raise ValueError(f"dp.Categorical takes at most {MOST_CELLS} values.")
        text = all(isinstance(value, str) for value in values)
        number = all(isinstance(value, numbers.Real) for value in values)
        if not text and not number:
            hint = " Write the values apart: dp.Categorical(*values)." if len(values) == 1 else ""
            raise TypeError(f"dp.Categorical: values must be all text, or all numbers.{hint}")
        if number:
            if any(not math.isfinite(value) or abs(value) > EXACT_INTEGER for value in values):
                raise ValueError("dp.Categorical: numbers must be finite and at most 2^53 in size.")
            values = tuple(v if isinstance(v, bool) else _plain(v) for v in values)
        if len(set(values)) != len(values):
            raise ValueError("dp.Categorical: a value is given twice.")
        if unknown is not None and unknown not in values:
            raise ValueError("dp.Categorical: unknown must be one of the values.")
        self.values: tuple[Any, ...] = values
        self.unknown: Any = unknown

    def code(self, name: str, schema: Schema) -> Category:
        otherwise = -1 if self.unknown is None else self.values.index(self.unknown)
        plain = tuple(int(v) if isinstance(v, bool) else v for v in self.values)
        return Category(name, plain, otherwise)

    def cells(self, name: str, schema: Schema) -> tuple[Any, ...]:
        return self.values

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"type": "categorical", "values": list(self.values)}
        return data if self.unknown is None else {**data, "unknown": self.unknown}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Categorical):
            return NotImplemented
        return self.values == other.values and self.unknown == other.unknown

    def __hash__(self) -> int:
        return hash((self.values, self.unknown))

    def __repr__(self) -> str:
        shown = [repr(value) for value in self.values]
        if len(shown) > 8:
            shown = [*shown[:6], f"... {len(shown) - 7} more ...", shown[-1]]
        if self.unknown is not None:
            shown.append(f"unknown={self.unknown!r}")
        return f"Categorical({', '.join(shown)})"


class Bins(Column):
    """A derived column: the bin of a numeric column between cut points.

    Parameters
    ----------
    column : str
        A `Real` or `Integer` column, or a `Score`.
    cuts : increasing numbers
        Strictly between the column's bounds; n cuts make n + 1 bins. A value at a cut belongs to
        the bin above it.
    labels : sequence of str, optional
        Names of the bins, one more than cuts.
    """

    def __init__(
        self, column: str, cuts: Sequence[float], labels: Sequence[str] | None = None
    ) -> None:
        self.column = column
        self.cuts = tuple(_finite(cut, "dp.Bins: cuts") for cut in cuts)
        if not self.cuts or any(a >= b for a, b in pairwise(self.cuts)):
            raise ValueError("dp.Bins: cuts must be one or more increasing numbers.")
        self.labels = None if labels is None else tuple(labels)
        if self.labels is not None and len(self.labels) != len(self.cuts) + 1:
            raise ValueError(
                f"dp.Bins: labels must be {len(self.cuts) + 1} names for {len(self.cuts)} cuts."
            )

    def _edges(self, schema: Schema) -> tuple[float, float]:
        column = schema[self.column]
        if isinstance(column, Numeric):
            return float(column.lower), float(column.upper)
        if isinstance(column, Score):
            return float(min(column.link)), float(max(column.link))
        raise ValueError(f"dp.Bins: column {self.column!r} must be numeric.")

    def code(self, name: str, schema: Schema) -> Cuts:
        lower, upper = self._edges(schema)
        column = schema[self.column]
        source = column.code(self.column, schema)
        if not lower < self.cuts[0] or not self.cuts[-1] < upper:
            raise ValueError(
                f"dp.Bins: cuts must lie strictly between the bounds of {self.column!r}, "
                f"{lower:g} and {upper:g}: values are clamped there, so outer bins would be empty."
            )
        if isinstance(source, Grid) and not column.is_exact(VALUE_BITS):  # type: ignore[attr-defined]
            cuts = tuple(source.of(cut) for cut in self.cuts)
        else:
            first = lower if isinstance(source, Grid) else 0
            cuts = tuple(math.ceil(cut - first) for cut in self.cuts)
        if any(a >= b for a, b in pairwise(cuts)):
            raise ValueError("dp.Bins: two cuts fall into one cell of the column's grid.")
        return Cuts(source, cuts)

    def cells(self, name: str, schema: Schema) -> tuple[str, ...]:
        if self.labels is not None:
            return self.labels
        lower, upper = self._edges(schema)
        edges = [f"{edge:.12g}" for edge in (lower, *self.cuts, upper)]
        spans = [f"[{a}, {b})" for a, b in pairwise(edges)]
        return (*spans[:-1], spans[-1][:-1] + "]")

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"type": "bins", "column": self.column, "cuts": list(self.cuts)}
        return data if self.labels is None else {**data, "labels": list(self.labels)}

    def __repr__(self) -> str:
        return f"Bins({self.column!r}, {list(self.cuts)})"


class Nearest(Column):
    """A derived column: which of some public centres a row is nearest to.

    Distances are taken between the columns scaled by their bounds, in integers; ties go to the
    centre listed first.

    Parameters
    ----------
    columns : sequence of str
        Numeric columns.
    centres : sequence of sequences of float
        One row per centre, in the units of the columns.
    """

    def __init__(self, columns: Sequence[str], centres: Sequence[Sequence[float]]) -> None:
        self.columns = tuple([columns] if isinstance(columns, str) else columns)
        self.centres = tuple(
            tuple(_finite(value, "dp.Nearest: centres") for value in centre) for centre in centres
        )
        if not self.columns or not self.centres:
            raise ValueError("dp.Nearest needs at least one column and one centre.")
        if any(len(centre) != len(self.columns) for centre in self.centres):
            raise ValueError("dp.Nearest: each centre must have one value per column.")

    def code(self, name: str, schema: Schema) -> Closest:
        sources: list[Code] = []
        positions: list[list[int]] = []
        for index, column_name in enumerate(self.columns):
            column = schema[column_name]
            if not isinstance(column, Numeric):
                raise ValueError(f"dp.Nearest: column {column_name!r} must be real or integer.")
            steps = column.steps(VALUE_BITS)
            stretch = max(1, 2**VALUE_BITS // steps) if steps else 0
            sources.append(Linear(column.grid(column_name, VALUE_BITS), stretch, 0))
            half = Fraction(0) if column.is_exact(VALUE_BITS) else Fraction(1, 2)
            at = []
            for centre in self.centres:
                value = min(max(centre[index], float(column.lower)), float(column.upper))
                share = Fraction(value) - Fraction(column.lower)
                width = Fraction(column.upper) - Fraction(column.lower)
                at.append(round((share / width * steps - half) * stretch) if steps else 0)
            positions.append(at)
        return Closest(tuple(sources), tuple(zip(*positions, strict=True)))

    def cells(self, name: str, schema: Schema) -> tuple[int, ...]:
        return tuple(range(len(self.centres)))

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": "nearest",
            "columns": list(self.columns),
            "centres": [list(centre) for centre in self.centres],
        }

    def __repr__(self) -> str:
        return f"Nearest({list(self.columns)}, {len(self.centres)} centres)"


class Score(Column):
    """A derived column: a sum of public integer tables over countable columns, then a look-up.

    Its value is ``link[clamp(offset + sum of tables[column][cell], 0, len(link) - 1)]``.

    Parameters
    ----------
    tables : mapping of column name to sequence of int
        One integer for each cell of the column, in the order of its labels.
    link : sequence of int
        The values that the clamped sum stands for.
    offset : int
        Added to the sum.
    """

    def __init__(
        self, tables: Mapping[str, Sequence[int]], link: Sequence[int], offset: int = 0
    ) -> None:
        self.tables = {name: tuple(int(v) for v in table) for name, table in tables.items()}
        self.link = tuple(int(value) for value in link)
        self.offset = int(offset)
        if not self.tables or not self.link:
            raise ValueError(
                "dp.Score needs at least one table and a link with at least one value."
            )
        entries = [self.offset, *(entry for table in self.tables.values() for entry in table)]
        if max(map(abs, entries)) > 2**40:
            raise ValueError("dp.Score: entries of the tables must be at most 2^40 in size.")
        if max(map(abs, self.link)) > 2**VALUE_BITS:
            raise ValueError("dp.Score: values of the link must be at most 2^20 in size.")

    def code(self, name: str, schema: Schema) -> Lookup:
        sources, tables = [], []
        for index, (column_name, table) in enumerate(self.tables.items()):
            cells = schema[column_name].cells(column_name, schema)
            if len(table) != len(cells):
                raise ValueError(
                    f"dp.Score: the table of {column_name!r} must have {len(cells)} entries, "
                    f"one per cell, not {len(table)}."
                )
            sources.append(schema[column_name].code(column_name, schema))
            tables.append(tuple(v + (self.offset if index == 0 else 0) for v in table))
        return Lookup(tuple(sources), tuple(tables), self.link)

    def cells(self, name: str, schema: Schema) -> tuple[int, ...]:
        raise ValueError(f"column {name!r} is a score: derive bins of it first.")

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": "score",
            "tables": {name: list(table) for name, table in self.tables.items()},
            "link": list(self.link),
            "offset": self.offset,
        }

    def __repr__(self) -> str:
        return f"Score(over {', '.join(self.tables)})"


_BASE: dict[str, tuple[Any, set[str]]] = {
    "real": (Real, {"lower", "upper", "fill"}),
    "integer": (Integer, {"lower", "upper", "fill"}),
    "categorical": (Categorical, {"values", "unknown"}),
}
_DERIVED: dict[str, tuple[Any, set[str]]] = {
    "bins": (Bins, {"column", "cuts", "labels"}),
    "nearest": (Nearest, {"columns", "centres"}),
    "score": (Score, {"tables", "link", "offset"}),
}


def _from_dict(name: str, entry: Any, kinds: dict[str, tuple[Any, set[str]]]) -> Any:
    if not isinstance(entry, Mapping) or entry.get("type") not in kinds:
        raise ValueError(f"schema: column {name!r} needs type = one of {', '.join(kinds)}.")
    build, allowed = kinds[entry["type"]]
    options = {key: value for key, value in entry.items() if key != "type"}
    if unknown := sorted(set(options) - allowed):
        raise ValueError(f"schema: column {name!r} can't have {unknown[0]!r}.")
    try:
        if build is Categorical:
            return Categorical(*options.pop("values", ()), **options)
        return build(**options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"schema: column {name!r}: {error}") from None


def base_column_from_dict(name: str, entry: Any) -> Real | Integer | Categorical:
    """A base column from its TOML table."""
    column: Real | Integer | Categorical = _from_dict(name, entry, _BASE)
    return column


def derived_column_from_dict(name: str, entry: Any) -> Bins | Nearest | Score:
    """A derived column from its TOML table."""
    column: Bins | Nearest | Score = _from_dict(name, entry, _DERIVED)
    return column


def _plain(value: Any) -> int | float:
    return int(value) if float(value).is_integer() else float(value)


def _finite(value: Any, name: str) -> float:
    if value is None:
        raise ValueError(
            f"{name} must be given: bounds are public facts and are never taken from the data. "
            "Declare what anyone may know, such as dp.Real(0, 120) for an age."
        )
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}.")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value!r}.")
    return float(value)


def _check_bounds(kind: str, lower: float, upper: float, fill: float | None) -> None:
    if lower > upper:
        raise ValueError(f"{kind}: lower must not exceed upper, got {lower!r} and {upper!r}.")
    if fill is not None and not lower <= fill <= upper:
        raise ValueError(f"{kind}: fill must lie between lower and upper.")

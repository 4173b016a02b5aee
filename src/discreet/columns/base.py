"""The columns that stand in a table: numbers between bounds, and declared categories."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.coding import (
    EXACT_INTEGER,
    VALUE_BITS,
    Category,
    Code,
    Grid,
    Ladder,
    Linear,
    grid_multiplier,
)
from discreet.coding.cells import is_unicode
from discreet.columns.bounds import check_bounds, finite

if TYPE_CHECKING:
    from discreet.schema import Schema

#: The most cells that a countable column, or a product of them, may have.
MAX_CELLS = 2**22
#: Bounds of this size are wide: models see such a column on a logarithmic scale, unless told otherwise.
WIDE = 1000
#: Signs and powers of two between which numbers without bounds are told apart.
_POWERS = tuple(2.0**k for k in range(-20, 51))
RUNGS: tuple[float, ...] = (*(-power for power in reversed(_POWERS)), 0.0, *_POWERS)


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


def numeric_column(schema: Schema, name: str, asked: str) -> Numeric:
    """The column of this name, if it holds numbers between bounds."""
    column = schema[name]
    if isinstance(column, Unbounded):
        column.code(name, schema)
    if not isinstance(column, Numeric):
        raise ValueError(
            f"{asked}: column {name!r} must be dp.Real or dp.Integer, not dp.{type(column).__name__}: count "
            f"its values, as in dp.Histogram({name!r}), or declare it as numbers with bounds."
        )
    return column


class Numeric(Column):
    """A base column of numbers between public bounds."""

    lower: float
    upper: float
    fill: float | None
    #: "log", "linear", or None: as the bounds suggest.
    scale: str | None = None

    @property
    def is_log(self) -> bool:
        """Whether models see the column on a scale that is linear near zero and logarithmic beyond.

        If nothing was said: where the larger bound is 1000 or more in size, and the smaller one less
        than half of it.
        """
        if self.scale is not None:
            return self.scale == "log" and self.width > 0
        small, large = sorted((abs(self.lower), abs(self.upper)))
        return bool(large >= WIDE and small < large / 2 and self.width > 0)

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
        """The value itself on a grid that keeps zero: what `Sum` adds up.

        Whole numbers up to 2^20 are their own code; others are rounded to the nearest grid point.
        """
        largest = max(abs(self.lower), abs(self.upper))
        lower, upper = float(self.lower), float(self.upper)
        if isinstance(self, Integer) and largest <= 2**VALUE_BITS:
            return Grid(name, lower, upper, self.filling, 0.0, 1.0, 0.0)
        multiplier = 2.0**VALUE_BITS / largest if largest else 0.0
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

    def __repr__(self) -> str:
        shown = [
            f"{name}={v!r}" for name in ("fill", "scale") if (v := getattr(self, name)) is not None
        ]
        return f"{type(self).__name__}({', '.join([repr(self.lower), repr(self.upper), *shown])})"

    def to_dict(self) -> dict[str, Any]:
        data = {"type": type(self).__name__.lower(), "lower": self.lower, "upper": self.upper}
        given = {name: getattr(self, name) for name in ("fill", "scale")}
        return data | {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, repr=False)
class Real(Numeric):
    """A column of real numbers between public bounds.

    Parameters
    ----------
    lower, upper : float
        Values outside are clamped. Equal bounds make a constant column.
    fill : float, optional
        What null, NaN and cells that are no number count as; the midpoint by default.
    scale : "log" or "linear", optional
        How models that scale their columns see it (``docs/guides/scales.md``); by default "log" where the
        larger bound is 1000 or more in size and the smaller less than half of that. Sums, means and
        counts don't depend on it.

    Notes
    -----
    ``dp.Real()`` declares numbers whose bounds nobody knows yet. All that can be asked of such a column
    is `Bounds`, which buys some.
    """

    lower: float = None  # type: ignore[assignment]
    upper: float = None  # type: ignore[assignment]
    fill: float | None = None
    scale: str | None = None

    def __new__(
        cls, lower: Any = None, upper: Any = None, fill: Any = None, scale: Any = None
    ) -> Any:
        given = (lower, upper, fill, scale)
        return Unbounded() if given == (None,) * 4 else super().__new__(cls)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.lower, self.upper, self.fill, self.scale

    def __post_init__(self) -> None:
        for bound in ("lower", "upper", "fill"):
            given = getattr(self, bound)
            if given is None and bound == "fill":
                continue
            object.__setattr__(self, bound, finite(given, f"dp.Real: {bound}"))
        check_bounds("dp.Real", self.lower, self.upper, self.fill, self.scale)
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


@dataclass(frozen=True, repr=False)
class Integer(Numeric):
    """A column of whole numbers between public bounds, exact up to a width of 2^20.

    Parameters
    ----------
    lower, upper : int
        Values outside are clamped; fractional values are rounded down.
    fill : int, optional
        What null, NaN and cells that are no number count as; the midpoint, rounded down, by default.
    scale : "log" or "linear", optional
        How models that scale their columns see it (``docs/guides/scales.md``); by default "log" where the
        larger bound is 1000 or more in size and the smaller less than half of that. Sums, means and
        counts don't depend on it.
    """

    lower: int = None  # type: ignore[assignment]
    upper: int = None  # type: ignore[assignment]
    fill: int | None = None
    scale: str | None = None

    def __post_init__(self) -> None:
        for bound in ("lower", "upper", "fill"):
            given = getattr(self, bound)
            if given is None and bound == "fill":
                continue
            value = finite(given, f"dp.Integer: {bound}")
            if value != math.floor(value) or abs(given) > EXACT_INTEGER:
                raise ValueError(
                    f"dp.Integer: {bound} must be a whole number of at most 2^53, got {given!r}."
                )
            object.__setattr__(self, bound, int(value))
        check_bounds("dp.Integer", self.lower, self.upper, self.fill, self.scale)

    @property
    def filling(self) -> float:
        return float((self.lower + self.upper) // 2 if self.fill is None else self.fill)

    def steps(self, bits: int) -> int:
        return self.upper - self.lower if self.is_exact(bits) else 2**bits

    def is_exact(self, bits: int) -> bool:
        return bool(self.upper - self.lower <= 2**bits)

    def cells(self, name: str, schema: Schema) -> tuple[Any, ...]:
        if self.upper - self.lower >= MAX_CELLS or not self.is_exact(VALUE_BITS):
            raise ValueError(
                f"column {name!r} has too many values to list: derive bins first, as in "
                f"schema.derive({name}_band=dp.Bins({name!r}, [...]))."
            )
        return tuple(range(self.lower, self.upper + 1))


@dataclass(frozen=True, repr=False)
class Unbounded(Column):
    """A column of numbers without bounds; written ``dp.Real()``."""

    def code(self, name: str, schema: Schema) -> Code:
        raise ValueError(
            f"column {name!r} has no bounds: declare them, as in dp.Real(0, 100), from what anyone may "
            f"know; or buy them with data.release(dp.Bounds({name!r}), dp.PureDP(0.1)) and declare those."
        )

    def cells(self, name: str, schema: Schema) -> tuple[Any, ...]:
        self.code(name, schema)
        return ()

    def ladder(self, name: str) -> Ladder:
        """The code that needs no bounds: sign and power of two."""
        return Ladder(name, RUNGS)

    def to_dict(self) -> dict[str, Any]:
        return {"type": "real"}

    def __repr__(self) -> str:
        return "Real()"


@dataclass(frozen=True)
class Text(Column):
    """A column of text whose values nobody may list in advance, such as names of towns.

    All that can be asked of it are its frequent values: ``dp.KeyCounts(...)``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(town=dp.Text())
    >>> dp.KeyCounts("town", delta=1e-6)  # what can be asked of it
    KeyCounts('town', delta=1e-06)
    """

    def code(self, name: str, schema: Schema) -> Code:
        raise ValueError(
            f"column {name!r} is free text: declare its values with dp.Categorical, or discover the "
            f"frequent ones with dp.KeyCounts({name!r}, delta=1e-6)."
        )

    def cells(self, name: str, schema: Schema) -> tuple[Any, ...]:
        self.code(name, schema)
        return ()

    def to_dict(self) -> dict[str, Any]:
        return {"type": "text"}


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
        if len(values) > MAX_CELLS:
            raise ValueError(f"dp.Categorical takes at most {MAX_CELLS} values.")
        text = all(isinstance(value, str) for value in values)
        number = all(isinstance(value, numbers.Real) for value in values)
        if not text and not number:
            hint = " Write the values apart: dp.Categorical(*values)." if len(values) == 1 else ""
            raise TypeError(f"dp.Categorical: values must be all text, or all numbers.{hint}")
        if number:
            if not all(abs(value) <= EXACT_INTEGER for value in values):  # false for NaN
                raise ValueError("dp.Categorical: numbers must be finite and at most 2^53 in size.")
            values = tuple(v if isinstance(v, bool) else _plain(v) for v in values)
        elif not all(is_unicode(value) for value in values):
            raise ValueError("dp.Categorical: text must be valid Unicode, without lone surrogates.")
        if len(set(values)) != len(values):
            raise ValueError("dp.Categorical: a value is given twice; list each once.")
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


def _plain(value: Any) -> int | float:
    return int(value) if float(value).is_integer() else float(value)


def column_name(name: Any, kind: str) -> str:
    """The name of a column, as an argument of `kind`."""
    if not isinstance(name, str):
        raise TypeError(f"{kind}: column must be the name of a column, not {type(name).__name__}.")
    return name

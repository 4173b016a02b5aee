"""Rows to predict for: read by the same public rules as the rows of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.coding import Category, Grid
from discreet.coding.calendar import days_of, is_date_type
from discreet.coding.cells import numbers_of
from discreet.coding.values import category_codes, grid_codes
from discreet.columns import Base, Categorical, Column, Date, Logarithmic, Numeric
from discreet.schema import Schema

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Rows:
    """Feature columns as arrays, with their declarations: every cell has a value, whatever it holds."""

    cells: tuple[npt.NDArray[Any], ...]
    columns: tuple[Base, ...]
    names: tuple[str, ...]
    length: int

    def numbers(self, which: list[int] | None = None, fills: Floats | None = None) -> Floats:
        """The numeric features (all, or those at the places `which`), filled and clamped.

        `fills` has a number for each feature, in place of what the column declares for missing cells.
        """
        places = range(len(self.columns)) if which is None else which
        result = np.empty((self.length, len(places)))
        for at, place in enumerate(places):
            column = self.columns[place]
            assert isinstance(column, Numeric)
            fill = column.filling if fills is None else float(fills[place])
            result[:, at] = _numbers(self.cells[place], column, fill)
        return result

    def codes(self, which: list[int] | None = None, bits: int | None = None) -> Integers:
        """The schema's codes of the features; -1 where a cell is not a declared category.

        With `bits`, numeric features are coded on a grid of this many bits.
        """
        places = range(len(self.columns)) if which is None else which
        schema = Schema(dict(zip(self.names, self.columns, strict=True)))
        result = np.empty((self.length, len(places)), np.int64)
        for at, place in enumerate(places):
            name, column = self.names[place], self.columns[place]
            if bits is not None and isinstance(column, Numeric):
                code: Any = column.grid(name, bits)
            else:
                code = column.code(name, schema)
            cells = match_cells(self.cells[place], column)
            if isinstance(code, Grid):
                result[:, at] = grid_codes(cells, code)
            else:
                assert isinstance(code, Category)
                result[:, at] = category_codes(cells, code)
        return result


def match_cells(cells: npt.NDArray[Any], column: Column) -> npt.NDArray[Any]:
    """Cells of a type from which the column's code can be computed; objects otherwise."""
    if isinstance(column, Date):
        if not is_date_type(cells.dtype):
            raise TypeError(
                "a column that is declared as dates must have a type of dates, without time zone, as in "
                "pandas.to_datetime(column) or numpy.array(column, 'datetime64[D]')."
            )
        return cells
    text = isinstance(column, Categorical) and isinstance(column.values[0], str)
    fits = cells.dtype.kind in ("OU" if text else "Ofiub")
    return cells if fits else cells.astype(object)


def _numbers(cells: npt.NDArray[Any], column: Numeric, fill: float) -> Floats:
    cells = match_cells(cells, column)
    source = column.source if isinstance(column, Logarithmic) else column
    with np.errstate(all="ignore"):
        if cells.dtype.kind == "M":
            x = days_of(cells)
        else:
            x = numbers_of(cells) if cells.dtype.kind == "O" else cells.astype(np.float64)
    x = np.where(np.isnan(x), fill, x)
    x = np.asarray(np.clip(x, float(source.lower), float(source.upper)))
    return column.to_scale(x) if isinstance(column, Logarithmic) else x

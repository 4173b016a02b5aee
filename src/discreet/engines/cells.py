"""Cells of arbitrary Python objects, read by fixed rules that never raise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.coding import Category
from discreet.columns import is_unicode

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_WHOLE = (int, np.integer, np.bool_)
_NUMBERS = (*_WHOLE, float, np.floating, Decimal, Fraction)


def objects_of(cells: Iterable[Any]) -> npt.NDArray[Any]:
    """An array with one object per cell, whatever the cells are."""
    return np.fromiter(cells, np.object_)


def is_number(cell: Any) -> bool:
    """Whether a cell is a number; a duration is none, though numpy calls it an integer."""
    return isinstance(cell, _NUMBERS) and not isinstance(cell, np.timedelta64)


def number_of(cell: Any) -> float:
    """A cell as a number; NaN for whatever is none (text too, even if it looks like one)."""
    if not is_number(cell):
        return math.nan
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf
    except ValueError:  # a signalling NaN
        return math.nan


def numbers_of(cells: npt.NDArray[Any]) -> Floats:
    """`number_of` for an array of objects."""
    with np.errstate(all="ignore"):
        return np.fromiter((number_of(cell) for cell in cells), np.float64, len(cells))


def categories_of(cells: npt.NDArray[Any], category: Category) -> Integers:
    """The codes of an array of objects: text matches text, numbers match numbers."""
    places: dict[Any, int] = {value: index for index, value in enumerate(category.values)}
    otherwise = category.otherwise
    found: Iterable[int]
    if isinstance(category.values[0], str):
        found = (places.get(c, otherwise) if isinstance(c, str) else otherwise for c in cells)
    else:
        found = (places.get(_exact(c), otherwise) for c in cells)
    with np.errstate(all="ignore"):
        return np.fromiter(found, np.int64, len(cells))


def text_of(cell: Any) -> str | None:
    """A cell as text; None for whatever is none, or can't be written as UTF-8."""
    return str(cell) if isinstance(cell, str) and is_unicode(cell) else None


def count_cells(cells: Iterable[Any]) -> dict[str, int]:
    """How often each text occurs; cells that are none are left out."""
    found = Counter(cell if type(cell) is str else text_of(cell) for cell in cells)
    return {t: count for t, count in found.items() if t is not None and is_unicode(t)}


def texts_of(cells: Iterable[Any]) -> tuple[list[str], Integers]:
    """The different texts in order, and for each cell the number of its text; -1 if it is none."""
    found = [cell if type(cell) is str else text_of(cell) for cell in cells]
    different = dict.fromkeys(found)  # each is looked at once, however often it occurs
    texts = sorted(text for text in different if text is not None and is_unicode(text))
    places: dict[str | None, int] = dict(zip(texts, range(len(texts)), strict=True))
    return texts, np.fromiter(map(places.get, found, repeat(-1)), np.int64, len(found))


def persons_of(cells: npt.NDArray[Any]) -> Integers:
    """Numbers 0, 1, ... for equal ids among text and finite numbers; -1 for any other cell."""
    seen: dict[Any, int] = {}
    found = np.full(len(cells), -1, np.int64)
    with np.errstate(all="ignore"):
        for index, cell in enumerate(cells):
            if isinstance(cell, str) or math.isfinite(number_of(cell)):
                found[index] = seen.setdefault(cell, len(seen))
    return found


def _exact(cell: Any) -> int | float:
    """A number to compare with: integers as they are, all others as doubles."""
    if isinstance(cell, _WHOLE) and not isinstance(cell, np.timedelta64):
        return int(cell)
    return number_of(cell)

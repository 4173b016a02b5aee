"""Cells of arbitrary Python objects, read by fixed rules that never raise.

A cell may be of a class of someone's own, whose methods raise or lie. So what a cell is is told from its
type, and its value is taken by the methods of the built-in type that it inherits from.
"""

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

from discreet.coding.codes import Category

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: Text that says that a cell is missing, in small letters and without white space around it.
MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "nat", "null", "none"})
#: The types of pandas' own missing cells.
_MISSING_TYPES = frozenset({"NAType", "NaTType"})
#: Types whose own methods hash and compare: such a cell can be looked up among texts as it is.
_BUILT_IN_TYPES = frozenset({str, int, float, bool, type(None)})


def objects_of(cells: Iterable[Any]) -> npt.NDArray[Any]:
    """An array with one object per cell, whatever the cells are."""
    return np.fromiter(cells, np.object_)


def plain_number(cell: Any) -> Any:
    """A number of a built-in type that equals the cell; None for whatever is no number.

    A duration is none, though numpy calls it an integer; text is none, even if it looks like one.
    """
    kind = type(cell)
    if kind is float or kind is int:
        return cell
    if issubclass(kind, int):
        return int.__int__(cell)
    if issubclass(kind, float):
        return float.__float__(cell)
    if issubclass(kind, np.integer | np.floating | np.bool_) and not issubclass(
        kind, np.timedelta64
    ):
        return np.generic.item(cell)
    if issubclass(kind, Decimal):
        return Decimal(cell)
    if kind is Fraction:
        return cell
    return _ask(cell) if issubclass(kind, Fraction) else None


def _ask(cell: Fraction) -> Fraction | None:
    """What a fraction of somebody's own kind says that it is, if it says so."""
    try:
        return Fraction(float(cell))
    except Exception:
        return None


def number_of(cell: Any) -> float:
    """A cell as a double; NaN for whatever is no number."""
    number = plain_number(cell)
    if number is None:
        return math.nan
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    except Exception:  # a signalling NaN, or a fraction that someone tampered with
        return math.nan


def numbers_of(cells: npt.NDArray[Any]) -> Floats:
    """`number_of` for an array of objects."""
    with np.errstate(all="ignore"):
        return np.fromiter((number_of(cell) for cell in cells), np.float64, len(cells))


def is_filled(cell: Any) -> bool:
    """Whether a cell holds something, be it a number or not; text that says missing is nothing."""
    text = string_of(cell)
    if text is not None:
        return text.strip().lower() not in MISSING_WORDS
    kind = type(cell)
    if cell is None or type.__getattribute__(kind, "__name__") in _MISSING_TYPES:
        return False
    if issubclass(kind, np.datetime64 | np.timedelta64):
        return np.generic.item(cell) is not None
    return plain_number(cell) is None or not math.isnan(number_of(cell))


def filled_of(cells: npt.NDArray[Any]) -> Mask:
    """`is_filled` for an array of objects."""
    with np.errstate(all="ignore"):
        return np.fromiter((is_filled(cell) for cell in cells), np.bool_, len(cells))


def string_of(cell: Any) -> str | None:
    """A cell as a built-in string; None for whatever is no text."""
    kind = type(cell)
    if kind is str:
        return cell  # type: ignore[no-any-return]
    return str.__str__(cell) if issubclass(kind, str) else None


def text_of(cell: Any) -> str | None:
    """A cell as text; None for whatever is none, or can't be written as UTF-8."""
    text = string_of(cell)
    if text is None or text.isascii() or is_unicode(text):
        return text
    return None


def is_unicode(text: str) -> bool:
    """Whether text can be written as UTF-8; lone surrogates can't."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def text_of_bytes(cell: bytes | bytearray | None) -> str | None:
    """Text in memory: bytes that are no UTF-8 become lone surrogates, each its own."""
    return None if cell is None else bytes(cell).decode("utf-8", "surrogateescape")


def plain_cell(cell: Any) -> Any:
    """Text or a number of a built-in type, for a cell that is one; None for any other."""
    text = string_of(cell)
    return plain_number(cell) if text is None else text


def id_of(cell: Any) -> Any:
    """What an id is compared by, for text and finite numbers; None for any other cell."""
    text = string_of(cell)
    if text is not None:
        return text
    return plain_number(cell) if math.isfinite(number_of(cell)) else None


def categories_of(cells: npt.NDArray[Any], category: Category) -> Integers:
    """The codes of an array of objects: text matches text, numbers match numbers."""
    places: dict[Any, int] = {value: index for index, value in enumerate(category.values)}
    otherwise, are_texts = category.otherwise, isinstance(category.values[0], str)
    objects = cells.tolist()  # a list is gone through faster
    if are_texts and _BUILT_IN_TYPES.issuperset(map(type, objects)):
        return np.fromiter(map(places.get, objects, repeat(otherwise)), np.int64, len(cells))
    read = string_of if are_texts else _exact
    found = (places.get(read(cell), otherwise) for cell in objects)
    with np.errstate(all="ignore"):
        return np.fromiter(found, np.int64, len(cells))


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


def persons_of(cells: Iterable[Any], seen: dict[Any, int] | None = None) -> Integers:
    """Numbers 0, 1, ... for equal ids among text and finite numbers; -1 for any other cell.

    `seen` holds the numbers of ids that were met before.
    """
    numbers = {} if seen is None else seen
    with np.errstate(all="ignore"):
        keys = (id_of(cell) for cell in cells)
        found = [-1 if key is None else numbers.setdefault(key, len(numbers)) for key in keys]
    return np.array(found, np.int64)


def _exact(cell: Any) -> int | float:
    """A number to compare with: integers as they are, all others as doubles."""
    number = plain_number(cell)
    return number if type(number) is int else number_of(number)

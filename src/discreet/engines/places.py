"""Where the groups of a frame's answer stand in the array that is returned."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from discreet.coding import Code, CodedQuery, Term


def product_of(term: Term, names: dict[Code, str]) -> nw.Expr:
    """The product of a term's codes, as an expression of their columns."""
    product = nw.col(names[term.codes[0]])
    for code in term.codes[1:]:
        product = product * nw.col(names[code])
    return product


def is_null(value: Any) -> bool:
    """Whether a sum is over no rows."""
    return value is None or value != value


def places_of(query: CodedQuery, keys: list[list[Any]], length: int) -> list[int]:
    """The row of each group in the answer, from the codes that it was grouped by."""
    places = [0] * length
    for size, values in zip(query.sizes, keys, strict=True):
        places = [place * size + int(value) for place, value in zip(places, values, strict=True)]
    return places

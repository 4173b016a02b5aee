"""Which rows of a person count, as expressions of a frame: ids, their public order, the first keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np

from discreet.coding import ORDER_PRIME, Code, Integers, PersonLimit
from discreet.coding.cells import text_of, text_of_bytes
from discreet.engines.expressions import Columns


def id_expression(column: nw.Expr, dtype: Any) -> nw.Expr:
    """An id that is null where there is none. Different ids stay different."""
    if dtype.is_float():
        value = column.cast(nw.Float64) + 0.0  # one zero, not two
        return nw.when(value.is_finite()).then(value)
    if dtype == nw.Boolean:
        return column.cast(nw.Int64)
    return column if dtype.is_numeric() else column.cast(nw.String)


def key_of(cell: Any) -> str | None:
    """A key that an engine grouped by, as text or as its bytes; None if it is no UTF-8."""
    return text_of(text_of_bytes(cell) if isinstance(cell, bytes | bytearray) else cell)


def keep_ranked(columns: Columns, keep: PersonLimit, last: list[str]) -> None:
    """Keep the first rows of each person in the public order; rows without an id go."""
    order = [columns.names[code] for code in keep.order]
    mix: nw.Expr = nw.lit(0)
    for name, mixer in zip(order, keep.mixers, strict=True):
        mix = mix + _remainder((nw.col(name) + 1) * mixer)
    ties = [columns.names[code] for code in keep.ties]
    frame = columns.frame.filter(~nw.col("id").is_null())
    if keep.once:
        frame = frame.group_by("id", *dict.fromkeys(order)).agg(nw.len().alias("alike"))
    frame = frame.with_columns(_remainder(mix).alias("mix"), nw.lit(1).alias("one"))
    rank = (
        nw.col("one").cum_sum().over("id", order_by=["mix", *dict.fromkeys([*order, *ties, *last])])
    )
    columns.frame = frame.with_columns(rank.alias("rank")).filter(nw.col("rank") <= keep.max_rows)


def number_rows(
    fetch: Callable[[nw.LazyFrame[Any]], Any],
    frame: nw.LazyFrame[Any],
    names: dict[Code, str],
    codes: tuple[Code, ...],
) -> Integers:
    """The codes of rows with an ``id``, as `fetch` gives them, and the numbers of their persons."""
    found = fetch(frame.select("id", *dict.fromkeys(names[code] for code in codes)))
    seen: dict[Any, int] = {}
    # ids of one column are of one type, so that equal ones are the same key
    persons = [seen.setdefault(cell, len(seen)) for cell in found["id"]]
    columns = [np.asarray(found[names[code]], np.int64) for code in codes]
    return np.stack([*columns, np.array(persons, np.int64)], axis=1)


def keep_first_keys(frame: nw.LazyFrame[Any], groups: int) -> nw.LazyFrame[Any]:
    """The rows in the first `groups` different keys of each person, in the order of `rank`."""
    frame = frame.with_columns(nw.col("rank").min().over("id", "key").alias("first"))
    new = nw.when(nw.col("rank") == nw.col("first")).then(1).otherwise(0)
    frame = frame.with_columns(new.alias("new"))
    number = nw.col("new").cum_sum().over("id", order_by=["first", "rank"])
    return frame.with_columns(number.alias("number")).filter(nw.col("number") <= groups)


def _remainder(value: nw.Expr) -> nw.Expr:
    """A non-negative integer modulo the prime; pandas has no % for Arrow integers."""
    return value - value // ORDER_PRIME * ORDER_PRIME

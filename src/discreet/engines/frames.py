"""Data frames through Narwhals: Polars, pandas, DuckDB. The sums are made inside the frame's engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from discreet.coding import (
    EXACT_INTEGER,
    Category,
    Code,
    Condition,
    Grid,
    base_columns,
    leaves,
)
from discreet.engines.arrays import CHUNK, add_products
from discreet.engines.base import (
    Engine,
    Integers,
    Tally,
    check_id_kind,
    check_kind,
    missing_column,
    quietly,
)
from discreet.engines.cells import categories_of, numbers_of, objects_of, persons_of
from discreet.engines.expressions import Columns, category_expression, grid_expression
from discreet.queries import CodedQuery, Keep, Term
from discreet.queries.base import ORDER_PRIME
from discreet.schema import Schema
from discreet.unit import Unit

#: From this many ungrouped terms on, codes are fetched and multiplied by BLAS.
MANY_TERMS = 150


class Frames(Engine):
    """Rows of a data frame, eager or lazy."""

    def __init__(self, frame: Any) -> None:
        try:
            native = nw.from_native(frame)
        except TypeError:
            raise TypeError(
                "data must be a Polars, pandas or DuckDB frame, a numpy array, a mapping of names to "
                f"arrays, or the path of a CSV file, not {type(frame).__name__}."
            ) from None
        self._eager: nw.DataFrame[Any] | None = native if isinstance(native, nw.DataFrame) else None
        self._lazy: nw.LazyFrame[Any] = native.lazy()
        self._types = quietly(lambda: dict(self._lazy.collect_schema()))
        self._arrow: set[str] = set()
        if self._eager is not None and self._eager.implementation.is_pandas_like():
            self._correct_types(nw.to_native(self._eager))

    def _correct_types(self, frame: Any) -> None:
        # Narwhals looks into the cells of object columns to tell their type, so we don't ask it
        for name, native in zip(frame.columns, frame.dtypes, strict=True):
            if str(native) in ("object", "category"):
                self._types[name] = nw.Object()
            elif "[pyarrow]" in str(native):
                self._arrow.add(name)
                if self._types[name].is_decimal():  # PyArrow rounds decimals in its own way
                    self._types[name] = nw.Object()

    def check(self, schema: Schema, unit: Unit) -> None:
        for name in schema.base:
            check_kind(name, self._kind(name), self._types[name], schema)
        if unit.id_column is not None:
            kind = self._kind(unit.id_column)
            check_id_kind(unit.id_column, kind, self._types[unit.id_column])

    def _kind(self, name: str) -> str:
        if name not in self._types:
            raise missing_column(name, list(self._types))
        dtype = self._types[name]
        if dtype.is_numeric():
            return "number"
        if dtype == nw.Boolean:
            return "boolean"
        if dtype == nw.String or dtype == nw.Categorical or dtype == nw.Enum:
            return "text"
        return "object" if dtype == nw.Object and self._eager is not None else "other"

    def length(self) -> int | None:
        return None if self._eager is None else len(self._eager)

    def totals(self, query: CodedQuery) -> Integers:
        if not query.by and len(query.terms) > MANY_TERMS:
            return self._fetched_totals(query)
        return quietly(lambda: self._totals(query))

    def _totals(self, query: CodedQuery) -> Integers:
        frame, names = self._coded(query, query.codes)
        summed = {index: term for index, term in enumerate(query.terms) if term.codes}
        if summed:
            frame = frame.with_columns(
                *(_product(t, names).alias(f"t{i}") for i, t in summed.items())
            )
        sums = [nw.len().alias("s"), *(nw.col(f"t{i}").sum().alias(f"s{i}") for i in summed)]
        keys = [names[code] for code in query.by]
        found = frame.group_by(*keys).agg(*sums) if keys else frame.select(*sums)
        columns = found.collect().to_dict(as_series=False)
        result = np.zeros((query.groups, len(query.terms)), np.int64)
        places = _places(query, [columns[key] for key in keys], len(columns["s"]))
        for index, term in enumerate(query.terms):
            values = columns[f"s{index}"] if term.codes else columns["s"]
            for place, value in zip(places, values, strict=True):
                result[place, index] = 0 if _is_null(value) else int(value) * term.weight
        return result

    def _fetched_totals(self, query: CodedQuery) -> Integers:
        codes = list(dict.fromkeys(code for term in query.terms for code in term.codes))
        rows = self.rows(query, tuple(codes))
        result = np.zeros((1, len(query.terms)), np.int64)
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK].T.astype(np.float64)
            matrix = np.concatenate([np.ones((1, part.shape[1])), part])
            add_products(result[0], query, matrix, codes)
        return result

    def tally(self, query: CodedQuery) -> Tally:
        return quietly(lambda: self._tally(query))

    def _tally(self, query: CodedQuery) -> Tally:
        assert query.tally is not None
        frame, names = self._coded(query, query.codes)
        keys = [*(names[code] for code in query.by), names[query.tally]]
        found = frame.group_by(*dict.fromkeys(keys)).agg(nw.len().alias("s")).collect()
        columns = found.to_dict(as_series=False)
        counts = np.array(columns["s"], np.int64)
        codes = np.array(columns[keys[-1]], np.int64)
        groups = np.array(_places(query, [columns[k] for k in keys[:-1]], len(codes)), np.int64)
        order = np.lexsort([codes, groups])
        return Tally(groups[order], codes[order], counts[order])

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        return quietly(lambda: self._rows(query, codes))

    def _rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        frame, names = self._coded(query, codes)
        found = frame.select(*dict.fromkeys(names[code] for code in codes)).collect()
        result = np.empty((len(found), len(codes)), np.int64)
        for index, code in enumerate(codes):
            result[:, index] = found[names[code]].to_numpy()
        return result

    def _coded(
        self, query: CodedQuery, codes: Sequence[Code]
    ) -> tuple[nw.LazyFrame[Any], dict[Code, str]]:
        """The rows that count, with a column for each code."""
        order = (*query.keep.order, *query.keep.ties) if query.keep is not None else ()
        needed = list(dict.fromkeys([*codes, *query.known, *order]))
        asked: list[Code | Condition] = [*needed]
        if query.where is not None:
            asked.append(query.where)
        frame, ready = self._source(asked, query.keep)
        columns = Columns(frame, ready)
        columns.add(asked)
        for code in query.known:
            columns.filter(columns.of(code) >= 0)
        if query.where is not None:
            columns.filter(columns.condition(query.where))
        if query.keep is not None:
            _keep_rows(columns, query.keep)
        return columns.frame, {code: columns.names[code] for code in needed}

    def _source(
        self, asked: list[Code | Condition], keep: Keep | None
    ) -> tuple[nw.LazyFrame[Any], dict[Code, nw.Expr]]:
        """The table's needed columns under plain names, and how to make each base code of them."""
        used = base_columns(*asked)
        plain = {name: f"c{index}" for index, name in enumerate(used)}
        wanted = [nw.col(name).alias(plain[name]) for name in used]
        made: dict[str, Any] = {}
        ready: dict[Code, nw.Expr] = {}
        for index, leaf in enumerate(leaves(*asked)):
            column, dtype = nw.col(plain[leaf.column]), self._types[leaf.column]
            if not self._must_be_read(leaf):
                if isinstance(leaf, Category):
                    ready[leaf] = category_expression(column, dtype, leaf)
                else:
                    ready[leaf] = grid_expression(column, dtype, leaf)
                continue
            cells, column = self._cells(leaf.column), nw.col(f"o{index}")
            if isinstance(leaf, Category):
                made[f"o{index}"], ready[leaf] = categories_of(cells, leaf), column
            else:
                made[f"o{index}"] = numbers_of(cells)
                ready[leaf] = grid_expression(column, nw.Float64(), leaf)
        if keep is not None and self._types[keep.id_column] == nw.Object:
            made["id"] = persons_of(self._cells(keep.id_column))
        elif keep is not None:
            id_type = self._types[keep.id_column]
            wanted.append(_id_expression(nw.col(keep.id_column), id_type).alias("id"))
        if not made:
            return (self._lazy.select(*wanted) if wanted else self._lazy), ready
        assert self._eager is not None
        backend = self._eager.implementation
        if wanted:
            series = [nw.new_series(name, values, backend=backend) for name, values in made.items()]
            frame = nw.maybe_reset_index(self._eager.select(*wanted)).with_columns(*series)
        else:
            frame = nw.from_dict(made, backend=backend)
        return (frame.filter(nw.col("id") >= 0) if "id" in made else frame).lazy(), ready

    def _must_be_read(self, leaf: Grid | Category) -> bool:
        """Whether a column's cells must be read in Python, told from its type and public bounds."""
        dtype = self._types[leaf.column]
        if isinstance(leaf, Grid) and leaf.column in self._arrow and dtype.is_integer():
            # PyArrow refuses to make doubles of larger integers
            return max(abs(leaf.lower), abs(leaf.upper)) > EXACT_INTEGER
        return bool(dtype == nw.Object)

    def _cells(self, name: str) -> Any:
        assert self._eager is not None
        native = self._eager.get_column(name).to_native()
        return objects_of(native)


def _id_expression(column: nw.Expr, dtype: Any) -> nw.Expr:
    """An id that is null where there is none. Different ids stay different."""
    if dtype.is_float():
        value = column.cast(nw.Float64) + 0.0  # one zero, not two
        return nw.when(value.is_finite()).then(value)
    if dtype == nw.Boolean:
        return column.cast(nw.Int64)
    return column if dtype.is_numeric() else column.cast(nw.String)


def _keep_rows(columns: Columns, keep: Keep) -> None:
    order = [columns.names[code] for code in keep.order]
    mix: nw.Expr = nw.lit(0)
    for name, mixer in zip(order, keep.mixers, strict=True):
        mix = mix + _remainder((nw.col(name) + 1) * mixer)
    ties = [columns.names[code] for code in keep.ties]
    frame = columns.frame.filter(~nw.col("id").is_null())
    frame = frame.with_columns(_remainder(mix).alias("mix"), nw.lit(1).alias("one"))
    rank = nw.col("one").cum_sum().over("id", order_by=["mix", *dict.fromkeys([*order, *ties])])
    columns.frame = frame.with_columns(rank.alias("rank")).filter(nw.col("rank") <= keep.most)


def _remainder(value: nw.Expr) -> nw.Expr:
    """A non-negative integer modulo the prime; pandas has no % for Arrow integers."""
    return value - value // ORDER_PRIME * ORDER_PRIME


def _product(term: Term, names: dict[Code, str]) -> nw.Expr:
    product = nw.col(names[term.codes[0]])
    for code in term.codes[1:]:
        product = product * nw.col(names[code])
    return product


def _is_null(value: Any) -> bool:
    return value is None or value != value


def _places(query: CodedQuery, keys: list[list[Any]], length: int) -> list[int]:
    places = [0] * length
    for size, values in zip(query.sizes, keys, strict=True):
        places = [place * size + int(value) for place, value in zip(places, values, strict=True)]
    return places

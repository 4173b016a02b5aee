"""Data frames through Narwhals: Polars, pandas, PyArrow, DuckDB, Spark. The frame's engine adds up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from discreet.coding import (
    EXACT_INTEGER,
    Category,
    Code,
    CodedQuery,
    Condition,
    Filled,
    Grid,
    Integers,
    Leaf,
    PersonLimit,
    Tally,
    base_columns,
    leaves,
    partial_codes,
)
from discreet.coding.cells import (
    categories_of,
    filled_of,
    numbers_of,
    objects_of,
    persons_of,
    text_of,
    texts_of,
)
from discreet.coding.chunks import CHUNK, Chunk
from discreet.coding.persons import count_texts, person_order
from discreet.coding.plain import is_sound, plain_column
from discreet.engines.arrays import tally_of, totals_of
from discreet.engines.base import withhold_errors
from discreet.engines.cell_expressions import leaf_expression
from discreet.engines.collected import person_rows_of, rows_of
from discreet.engines.expressions import Columns
from discreet.engines.joint import JointFrames
from discreet.engines.natives import (
    EVERY_ROW,
    Traits,
    adapt,
    add_bytes,
    add_id_bytes,
    given_type,
    kind_of,
    kind_of_objects,
    names_of,
    read_native,
    refuse_collations,
    refuse_early_dates,
    split_objects,
    text_expression,
)
from discreet.engines.person_rows import Mask, PersonRows
from discreet.engines.places import is_null, places_of, product_of
from discreet.engines.products import Products
from discreet.engines.ranks import id_expression, keep_first_keys, keep_ranked, key_of, number_rows
from discreet.engines.statements import fetch, sum_products
from discreet.matching import check_id_kind, check_kind, check_names, check_unique, list_needed
from discreet.schema import Schema, order_codes
from discreet.unit import Unit

#: From this many ungrouped terms on, codes are fetched and multiplied by BLAS.
MANY_TERMS = 150


class Frames(JointFrames):
    """Rows of a data frame, eager or lazy."""

    def __init__(self, frame: Any, traits: Traits | None = None) -> None:
        check_unique(withhold_errors(lambda: names_of(frame)))
        frame, found = withhold_errors(lambda: adapt(frame))
        frame, self._objects = withhold_errors(lambda: split_objects(frame))
        self._traits = traits or found
        native = read_native(frame)
        self._eager: nw.DataFrame[Any] | None = native if isinstance(native, nw.DataFrame) else None
        self.is_ordered = self._eager is not None
        self._lazy: nw.LazyFrame[Any] = native.lazy()
        self._last: Columns | None = None
        self._types = withhold_errors(lambda: dict(self._lazy.collect_schema()))
        self._arrow: set[str] = set()
        self._sound: dict[str, bool] = {}
        if self._eager is not None and self._eager.implementation.is_pandas_like():
            self._correct_types(nw.to_native(self._eager))
        elif self._eager is not None and self._eager.implementation.is_pyarrow():
            self._arrow |= set(self._types)
            decimals = {name for name, dtype in self._types.items() if dtype.is_decimal()}
            self._types |= dict.fromkeys(decimals, nw.Object())

    def _correct_types(self, frame: Any) -> None:
        for name, native in zip(frame.columns, frame.dtypes, strict=True):
            if name in self._objects:
                self._types[name] = nw.Object()
            elif "[pyarrow]" in str(native) or getattr(native, "storage", "") == "pyarrow":
                self._arrow.add(name)
                if self._types[name].is_decimal():  # PyArrow rounds decimals in its own way
                    self._types[name] = nw.Object()

    def check(self, schema: Schema, unit: Unit) -> None:
        check_names(list(self._types), schema, unit)
        for name in schema.base:
            objects, dtype = self._objects.get(name), self._types[name]
            kind = kind_of_objects(objects, self._kind(name))
            check_kind(name, kind, given_type(objects, dtype), schema)
        if unit.id_column is not None:
            check_id_kind(name := unit.id_column, self._kind(name), self._types[name])
        refuse_early_dates(nw.to_native(self._lazy), schema)
        refuse_collations(nw.to_native(self._lazy), set(list_needed(schema, unit)))
        withhold_errors(lambda: self._rehearse(schema, unit))

    def _rehearse(self, schema: Schema, unit: Unit) -> None:
        """Make, but don't run, a query of everything: what an engine can't do shows now."""
        codes = order_codes(schema)
        if not codes:
            return
        keep = None
        if unit.id_column is not None:
            keep = PersonLimit(unit.id_column, unit.rows_per_person, codes)
        query = CodedQuery((), (), None, partial_codes(*codes), keep)
        if self._eager is None:
            self._code(query, codes)
        else:
            native = nw.to_native(self._eager.head(0))
            for name, cells in self._objects.items():
                native[name] = cells[:0]
            Frames(native, self._traits).rows(query, codes)

    def _kind(self, name: str) -> str:
        return kind_of(self._types[name], self._eager is not None)

    def length(self) -> int | None:
        return None if self._eager is None else len(self._eager)

    def totals(self, query: CodedQuery) -> Integers:
        if self._keeps_here(query):
            return withhold_errors(
                lambda: totals_of(query, self._limit_persons(query, query.codes))
            )
        if not query.by and len(query.terms) > MANY_TERMS and self._traits.local:
            return withhold_errors(lambda: self._fetch_totals(query))
        return withhold_errors(lambda: self._totals(query))

    def _totals(self, query: CodedQuery) -> Integers:
        most = self._traits.max_sums
        tiles = [query.terms[at : at + most] for at in range(0, len(query.terms), most)]
        return np.concatenate([self._tile(replace(query, terms=tile)) for tile in tiles], axis=1)

    def _tile(self, query: CodedQuery) -> Integers:
        frame, names = self._code(query, query.codes)
        terms = {index: term for index, term in enumerate(query.terms) if term.codes}
        keys = [names[code] for code in query.by]
        different = list(dict.fromkeys(keys))  # two columns of one code are one key
        if self._traits.fenced:
            products = {f"s{i}": [names[code] for code in t.codes] for i, t in terms.items()}
            columns = sum_products(frame, different, products)
        else:
            if terms:
                frame = frame.with_columns(
                    *(product_of(t, names).alias(f"t{i}") for i, t in terms.items())
                )
            sums = [nw.len().alias("s"), *(nw.col(f"t{i}").sum().alias(f"s{i}") for i in terms)]
            grouped = frame.group_by(*different).agg(*sums) if keys else frame.select(*sums)
            columns = self._collect(grouped)
        result = np.zeros((query.groups, len(query.terms)), np.int64)
        places = places_of(query, [columns[key] for key in keys], len(columns["s"]))
        for index, term in enumerate(query.terms):
            values = columns[f"s{index}"] if term.codes else columns["s"]
            for place, value in zip(places, values, strict=True):
                result[place, index] = 0 if is_null(value) else int(value) * term.weight
        return result

    def _fetch_totals(self, query: CodedQuery) -> Integers:
        products = Products(query)
        return products.sum_rows(self._batches(query, tuple(products.codes)), CHUNK)

    def _collect(self, frame: nw.LazyFrame[Any]) -> dict[str, Any]:
        """The columns of a small result."""
        if self._traits.fenced:
            return fetch(frame)
        return frame.collect(**dict(self._traits.options)).to_dict(as_series=False)

    def _series(self, frame: nw.LazyFrame[Any]) -> Any:
        """The columns of a large result."""
        if self._traits.fenced:
            return fetch(frame)
        collected = frame.collect(**dict(self._traits.options))
        return {name: collected[name].to_numpy() for name in collected.columns}

    def _keeps_here(self, query: CodedQuery) -> bool:
        """Whether the rows of a person are limited here, since the engine can't."""
        return query.keep is not None and not self._traits.ranks

    def _limit_persons(
        self, query: CodedQuery, codes: Sequence[Code]
    ) -> Iterator[tuple[Chunk, Mask]]:
        assert query.keep is not None
        kept = PersonRows(query.keep, codes)
        chunk, _ = self._fetch(query, codes)
        kept.add(chunk, np.ones(chunk.length, np.bool_))
        return kept.chunks()

    def _fetch(
        self, query: CodedQuery, codes: Sequence[Code], *, key: str | None = None
    ) -> tuple[Chunk, Any]:
        """The ids and codes of all rows that count, and their keys, if asked for."""
        assert query.keep is not None
        frame, names = self._code(query, codes, key=key, limited=False)
        found = frame.filter(~nw.col("id").is_null()).collect()
        values = {code: found[name].to_numpy().astype(np.int64) for code, name in names.items()}
        chunk = Chunk({query.keep.id_column: found["id"].to_numpy()}, values)
        return chunk, None if key is None else found["key"].to_list()

    def tally(self, query: CodedQuery) -> Tally:
        if self._keeps_here(query):
            return withhold_errors(lambda: tally_of(query, self._limit_persons(query, query.codes)))
        return withhold_errors(lambda: self._tally(query))

    def _tally(self, query: CodedQuery) -> Tally:
        assert query.tally is not None
        frame, names = self._code(query, query.codes)
        keys = [*(names[code] for code in query.by), names[query.tally]]
        columns = self._collect(frame.group_by(*dict.fromkeys(keys)).agg(nw.len().alias("s")))
        codes = np.array(columns[keys[-1]], np.int64)
        groups = np.array(places_of(query, [columns[k] for k in keys[:-1]], len(codes)), np.int64)
        order = np.lexsort([codes, groups])
        return Tally(groups[order], codes[order], np.array(columns["s"], np.int64)[order])

    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        if self._keeps_here(query):
            return withhold_errors(lambda: rows_of(codes, self._limit_persons(query, codes)))
        return withhold_errors(lambda: np.concatenate([*self._batches(query, codes)]))

    def person_rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        if not self._keeps_here(query):
            return withhold_errors(
                lambda: number_rows(self._series, *self._code(query, codes), codes)
            )
        here = self._limit_persons
        return withhold_errors(lambda: person_rows_of(query, codes, here(query, codes)))

    def _batches(self, query: CodedQuery, codes: tuple[Code, ...]) -> Iterator[Integers]:
        """The codes of the rows that count, from DuckDB a batch at a time."""
        frame, names = self._code(query, codes)
        frame = frame.select(*dict.fromkeys(names[code] for code in codes))
        yield np.zeros((0, len(codes)), np.int64)
        is_duckdb = frame.implementation.is_duckdb()
        for part in (
            nw.to_native(frame).to_arrow_reader(CHUNK) if is_duckdb else [self._series(frame)]
        ):
            yield np.stack([np.asarray(part[names[code]], np.int64) for code in codes], axis=1)

    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        return withhold_errors(lambda: self._keys(query, column, groups))

    def _keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        if query.keep is not None and not self._traits.ranks:
            chunk, cells = self._fetch(query, (), key=column)
            texts, places = texts_of(map(key_of, cells))
            order, persons = person_order(chunk, query.keep, places >= 0, places)
            return count_texts(texts, places[order], persons, query.keep.max_rows, groups)
        frame, _ = self._code(query, (), key=column)
        if query.keep is not None and groups < query.keep.max_rows:
            frame = keep_first_keys(frame, groups)
        found = self._collect(frame.group_by("key").agg(nw.len().alias("s")))
        pairs = zip(found["key"], found["s"], strict=True)
        return {text: int(count) for key, count in pairs if (text := key_of(key)) is not None}

    def _code(
        self,
        query: CodedQuery,
        codes: Sequence[Code],
        *,
        key: str | None = None,
        limited: bool = True,
    ) -> tuple[nw.LazyFrame[Any], dict[Code, str]]:
        """The rows that count, with a column for each code; surplus rows too unless `limited`."""
        order = (*query.keep.order, *query.keep.ties) if query.keep is not None else ()
        needed = list(dict.fromkeys([*codes, *query.known, *order]))
        asked: list[Code | Condition] = [*needed]
        if query.where is not None:
            asked.append(query.where)
        columns = self._columns(asked, query.keep, key)
        if key is not None:
            columns.filter(~nw.col("key").is_null())
        for code in query.known:
            columns.filter(columns.of(code) >= 0)
        if query.where is not None:
            columns.filter(columns.condition(query.where))
        if query.keep is not None and limited:
            keep_ranked(columns, query.keep, [] if key is None else ["key"])
        return columns.frame, {code: columns.names[code] for code in needed}

    def _columns(
        self, asked: list[Code | Condition], keep: PersonLimit | None, key: str | None
    ) -> Columns:
        """All rows with a column for each code; those of a lazy frame's last question, if they serve."""
        is_plain = self._eager is None and keep is None and key is None
        last = self._last  # read once: another thread may ask something else meanwhile
        if is_plain and last is not None and all(c in last.names for c in asked):
            return copy(last)
        frame, ready = self._source(asked, keep, key)
        columns = Columns(frame, ready, self._traits.maps)
        columns.add(asked)
        if self._traits.fenced:
            columns.frame = columns.frame.head(EVERY_ROW)
        if is_plain:
            self._last = copy(columns)
        return columns

    def _source(
        self, asked: list[Code | Condition], keep: PersonLimit | None, key: str | None
    ) -> tuple[nw.LazyFrame[Any], dict[Code, nw.Expr]]:
        """The table's needed columns under plain names, and how to make each base code of them."""
        used, traits = base_columns(*asked), self._traits
        plain = {name: f"c{index}" for index, name in enumerate(used)}
        wanted = [nw.col(name).alias(plain[name]) for name in used]
        made: dict[str, Any] = {}
        ready: dict[Code, nw.Expr] = {}
        for index, leaf in enumerate(leaves(*asked)):
            column, dtype = nw.col(plain[leaf.column]), self._types[leaf.column]
            if not self._must_be_read(leaf):
                ready[leaf] = leaf_expression(column, dtype, leaf, traits.exact_zero, traits.maps)
                continue
            cells, column = self._cells(leaf.column), nw.col(f"o{index}")
            if isinstance(leaf, Category):
                made[f"o{index}"], ready[leaf] = categories_of(cells, leaf), column
            elif isinstance(leaf, Filled):
                made[f"o{index}"], ready[leaf] = filled_of(cells).astype(np.int64), column
            else:
                made[f"o{index}"] = numbers_of(cells)
                ready[leaf] = leaf_expression(column, nw.Float64(), leaf)
        lazy = self._lazy
        if key is not None and self._must_be_cells(key):
            texts = [text_of(cell) for cell in self._cells(key)]
            made["key"] = nw.new_series("key", texts, nw.String, backend=self._lazy.implementation)
        elif key is not None:
            lazy = add_bytes(lazy, key, "key")
            wanted.append(text_expression(lazy, key, "key"))
        if keep is not None and self._must_be_cells(keep.id_column):
            made["id"] = persons_of(self._cells(keep.id_column))
        elif keep is not None and self._kind(keep.id_column) == "text":
            lazy = add_id_bytes(lazy, keep.id_column, "id")
            wanted.append(text_expression(lazy, keep.id_column, "id"))
        elif keep is not None:
            id_type = self._types[keep.id_column]
            wanted.append(id_expression(nw.col(keep.id_column), id_type).alias("id"))
        if not made:
            return (lazy.select(*wanted) if wanted else lazy), ready
        assert self._eager is not None
        backend = self._eager.implementation
        if wanted:
            series = [
                values
                if isinstance(values, nw.Series)
                else nw.new_series(name, values, backend=backend)
                for name, values in made.items()
            ]
            frame = nw.maybe_reset_index(self._eager.select(*wanted)).with_columns(*series)
        else:
            frame = nw.from_dict(made, backend=backend)
        return (frame.filter(nw.col("id") >= 0) if "id" in made else frame).lazy(), ready

    def _must_be_read(self, leaf: Leaf) -> bool:
        """Whether a column's cells must be read in Python, told from its type and public bounds."""
        dtype = self._types[leaf.column]
        if leaf.column in self._arrow and dtype == nw.UInt64:
            return True  # PyArrow compares them as int64, and refuses larger ones
        if isinstance(leaf, Grid) and leaf.column in self._arrow and dtype.is_integer():
            # PyArrow refuses to make doubles of larger integers
            return max(abs(leaf.lower), abs(leaf.upper)) > EXACT_INTEGER
        return self._must_be_cells(leaf.column)

    def _must_be_cells(self, name: str) -> bool:
        """Whether a column holds objects, or text in Arrow's memory that isn't all UTF-8.

        Arrow's functions raise on the latter, or not, as it happens. The answers are the same integers.
        """
        if self._types[name] == nw.Object:
            return True
        if name not in self._arrow or self._kind(name) != "text":
            return False
        assert self._eager is not None
        if name not in self._sound:
            self._sound[name] = is_sound(self._eager.get_column(name).to_native())
        return not self._sound[name]

    def _cells(self, name: str) -> Any:
        assert self._eager is not None
        if name not in self._objects:
            self._objects[name] = self._eager.get_column(name).to_native()
        return objects_of(plain_column(self._objects[name])[0])

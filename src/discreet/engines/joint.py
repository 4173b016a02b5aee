"""Several sums of a data frame by the leaves of trees, from one reading of its rows.

Where the engine runs in this process, the codes of cells are fetched once and added up here: nested
conditions, a tree each, would take it far longer. Elsewhere the rows stay where they are: each row is
counted once for every query, in the group that it has there, by one statement for all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from discreet.coding import Code, CodedQuery, Integers, count_trees, leaves
from discreet.coding.chunks import CHUNK, Chunk
from discreet.engines.arrays import group_alike, joint_totals_of
from discreet.engines.base import withhold_errors
from discreet.engines.places import is_null, product_of
from discreet.engines.slots import SlottedFrames
from discreet.engines.statements import sum_products_of_each

Mask = npt.NDArray[np.bool_]
#: The most queries in one statement of an engine elsewhere.
MAX_TOGETHER = 64


class JointFrames(SlottedFrames):
    """What a data frame does about several queries at once; the rest is in `Frames`."""

    @abstractmethod
    def _keeps_here(self, query: CodedQuery) -> bool: ...

    @abstractmethod
    def _limit_persons(
        self, query: CodedQuery, codes: Sequence[Code]
    ) -> Iterator[tuple[Chunk, Mask]]: ...

    @abstractmethod
    def _batches(self, query: CodedQuery, codes: tuple[Code, ...]) -> Iterator[Integers]: ...

    @abstractmethod
    def _collect(self, frame: nw.LazyFrame[Any]) -> dict[str, Any]: ...

    def joint_totals(self, queries: Sequence[CodedQuery]) -> list[Integers]:
        trees = [sum(map(count_trees, query.by)) for query in queries]
        if sum(trees) == 1 or not all(trees):
            return super().joint_totals(queries)
        if self._traits.local:
            return withhold_errors(lambda: joint_totals_of(queries, self._read_once))
        if len(queries) == 1:
            return super().joint_totals(queries)
        return withhold_errors(lambda: self._add_up_elsewhere(queries))

    def _read_once(self, same: list[CodedQuery]) -> Iterator[tuple[Chunk, Mask]]:
        """The codes of cells of the rows that count in queries that count the same ones."""
        codes = leaves(*(code for query in same for code in query.codes))
        if self._keeps_here(same[0]):
            yield from self._limit_persons(same[0], codes)
            return
        for batch in self._batches(same[0], codes):
            for start in range(0, len(batch), CHUNK):
                part = np.ascontiguousarray(batch[start : start + CHUNK].T)
                everyone = np.ones(part.shape[1], np.bool_)
                yield Chunk({"": everyone}, dict(zip(codes, part, strict=True))), everyone

    def _add_up_elsewhere(self, queries: Sequence[CodedQuery]) -> list[Integers]:
        found: dict[int, Integers] = {}
        for places in group_alike(queries, lambda query: query.terms):
            for start in range(0, len(places), MAX_TOGETHER):
                some = places[start : start + MAX_TOGETHER]
                sums = self._one_statement([queries[place] for place in some])
                found |= dict(zip(some, sums, strict=True))
        return [found[place] for place in range(len(queries))]

    def _one_statement(self, same: list[CodedQuery]) -> list[Integers]:
        """The sums of queries that count the same rows and have the same terms."""
        codes = tuple(dict.fromkeys(code for query in same for code in query.codes))
        frame, names = self._code(same[0], codes)
        groups = {f"g{at}": _group_of(query, names) for at, query in enumerate(same)}
        frame = frame.with_columns(*(group.alias(name) for name, group in groups.items()))
        terms = {f"s{at}": term for at, term in enumerate(same[0].terms) if term.codes}
        if self._traits.fenced:
            products = {name: [names[code] for code in term.codes] for name, term in terms.items()}
            columns = sum_products_of_each(frame, list(groups), products)
        else:
            values = [product_of(term, names).alias(f"t{name}") for name, term in terms.items()]
            frame = frame.select(*groups, *values).unpivot(
                on=list(groups),
                index=[f"t{name}" for name in terms],
                variable_name="query",
                value_name="group",
            )
            sums = [nw.len().alias("s"), *(nw.col(f"t{name}").sum().alias(name) for name in terms)]
            columns = self._collect(frame.group_by("query", "group").agg(*sums))
        return _place(same, columns)


def _group_of(query: CodedQuery, names: dict[Code, str]) -> nw.Expr:
    """The number of a row's group, as an expression of its codes' columns."""
    group = nw.col(names[query.by[0]])
    for code, size in zip(query.by[1:], query.sizes[1:], strict=True):
        group = group * size + nw.col(names[code])
    return group


def _place(same: list[CodedQuery], columns: dict[str, Any]) -> list[Integers]:
    """The sums of each query in the places of its groups."""
    results = [np.zeros((query.groups, len(query.terms)), np.int64) for query in same]
    places = [
        (int(str(name).removeprefix("g")), int(group))
        for name, group in zip(columns["query"], columns["group"], strict=True)
    ]
    for index, term in enumerate(same[0].terms):
        values = columns[f"s{index}"] if term.codes else columns["s"]
        for (query, group), value in zip(places, values, strict=True):
            results[query][group, index] = 0 if is_null(value) else int(value) * term.weight
    return results

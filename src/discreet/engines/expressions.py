"""Codes and conditions as Narwhals expressions: the same operations, in the same order, everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import narwhals as nw

from discreet.coding import (
    MIX_PRIME,
    AllOf,
    AnyOf,
    Between,
    Branches,
    Calendar,
    Category,
    Closest,
    Code,
    Condition,
    Cuts,
    Filled,
    Grid,
    Ladder,
    LeftOver,
    Linear,
    Lookup,
    NoneOf,
    OneOf,
    Part,
    Total,
    sources,
)
from discreet.coding.calendar import DATE_PARTS, STEPS
from discreet.engines.cell_expressions import add_up, look_up
from discreet.engines.natives import EVERY_ROW

#: Up to this many entries of a table that differ from its usual value are compared one by one.
FEW_APART = 4


class Columns:
    """A frame that grows one column per code, simple codes before the codes made of them."""

    def __init__(
        self, frame: nw.LazyFrame[Any], ready: dict[Code, nw.Expr], maps: bool = True
    ) -> None:
        self.frame = frame
        self._maps = maps
        self.names: dict[Code, str] = {}
        self._ready = ready

    def add(self, asked: Sequence[Code | Condition]) -> None:
        """Add a column for every code that is asked for, or needed for one."""
        levels: dict[Code, int] = {}
        for item in asked:
            _level(item, levels)
        for level in range(max(levels.values(), default=-1) + 1):
            batch = [code for code, at in levels.items() if at == level]
            expressions = []
            for code in batch:
                name = f"k{len(self.names)}"
                if isinstance(code, Closest):
                    self._add_distances(code, name)
                elif isinstance(code, Lookup) and len(code.sources) > 1:
                    self._add_sum(code, name)
                elif isinstance(code, LeftOver):
                    self._add_share(code, name)
                elif isinstance(code, Calendar):
                    self._add_steps(code, name)
                expressions.append(self._expression(code, name).cast(nw.Int64).alias(name))
                self.names[code] = name
            self.frame = self.frame.with_columns(*expressions)
            if any(isinstance(code, Lookup | Cuts | Total) for code in batch):
                self._fence()

    def _fence(self) -> None:
        """Keep an engine without maps from writing a column's long expression wherever it is named."""
        if not self._maps:
            self.frame = self.frame.head(EVERY_ROW)

    def of(self, code: Code) -> nw.Expr:
        """The column of a code."""
        return nw.col(self.names[code])

    def filter(self, condition: nw.Expr) -> None:
        """Keep the rows where a condition holds."""
        # a constant is no column yet, and some engines filter by columns alone
        frame = self.frame.with_columns(nw.lit(True).alias("yes"))
        self.frame = frame.filter(nw.col("yes") & condition)

    def _expression(self, code: Code, name: str) -> nw.Expr:
        match code:
            case Grid() | Category() | Ladder() | Filled():
                return self._ready[code]
            case Linear(source=source, scale=scale, offset=offset):
                return self.of(source) * scale + offset
            case Cuts(source=source, cuts=cuts):
                reached = [nw.when(self.of(source) >= cut).then(1).otherwise(0) for cut in cuts]
                return sum(reached[1:], reached[0])
            case Closest(centres=centres):
                best: nw.Expr = nw.lit(len(centres) - 1)
                for index in reversed(range(len(centres) - 1)):
                    nearest = nw.col(f"{name}d{index}") == nw.col(f"{name}least")
                    best = nw.when(nearest).then(nw.lit(index)).otherwise(best)
                return best
            case Lookup(sources=(part,), tables=(table,), link=link):
                return self._single(part, table, link)
            case Lookup(link=link):
                return self._table(nw.col(f"{name}sum"), link)
            case Total(sources=sources):
                columns = [self.of(source) for source in sources]
                return sum(columns[1:], columns[0])
            case LeftOver(own=own, size=size):
                share = nw.col(f"{name}share")
                left = nw.when(share > size).then(2 * size - share).otherwise(nw.lit(size))
                other = nw.when(share > size).then(nw.lit(-size)).otherwise(-share)
                return nw.when(self.of(own) == 1).then(left).otherwise(other)
            case Branches(tests=tests):
                return self._branch(tests, range(len(tests) + 1)).cast(nw.Float64)
            case Part(sources=parts, parts=number, mixers=mixers):
                mix: nw.Expr = nw.lit(0)
                for part, mixer in zip(parts, mixers, strict=True):
                    mix = mix + remainder((self.of(part) + 1) * mixer, MIX_PRIME)
                return remainder(remainder(mix, MIX_PRIME), number)
            case Calendar(first=first, part=part):
                return nw.col(f"{name}{DATE_PARTS[part].steps[-1]}") - DATE_PARTS[part].origin(
                    first
                )

    def _branch(
        self, tests: Sequence[Between | OneOf | None], values: Sequence[int], node: int = 0
    ) -> nw.Expr:
        """The value of the leaf below a node of a tree, as nested conditions."""
        if node >= len(tests):
            return nw.lit(values[node - len(tests)])
        test, left = tests[node], self._branch(tests, values, 2 * node + 1)
        if test is None:
            return left
        right = self._branch(tests, values, 2 * node + 2)
        if isinstance(test, Between) and test.high >= test.code.high:  # the usual one, kept short
            return nw.when(self.of(test.code) >= test.low).then(right).otherwise(left)
        return nw.when(self.condition(test)).then(right).otherwise(left)

    def _single(self, part: Code, table: tuple[int, ...], link: tuple[int, ...]) -> nw.Expr:
        """A look-up of one code: table and link joined; comparisons where few values stand out."""
        top = len(link) - 1
        values = [link[min(max(entry, 0), top)] for entry in (*table, 0)]
        other = values.pop()  # of a code of -1 (no category)
        if isinstance(part, Branches):
            return self._branch(part.tests, values)
        code = self.of(part)
        apart = [(place, value) for place, value in enumerate(values) if value != other]
        if len(apart) > FEW_APART and self._maps:
            return code.replace_strict(
                list(range(len(values))), values, default=other, return_dtype=nw.Int64
            )
        return look_up(code, apart, other)

    def _entry(self, part: Code, table: tuple[int, ...]) -> nw.Expr:
        """A public table at a code: for a tree, what stands at a leaf is written into the leaf."""
        if isinstance(part, Branches):
            # as in `_look_up`: bare numbers are 32 bits wide, and a sum of several may be too large for that
            return self._branch(part.tests, table).cast(nw.Float64).cast(nw.Int64)
        return self._table(self.of(part), table)

    def _table(self, code: nw.Expr, table: tuple[int, ...]) -> nw.Expr:
        """A public table at a code; a code of -1 (no category) reads 0."""
        steps = {after - before for before, after in pairwise(table)}
        if len(steps) == 1:  # such as 0, 1, 2, ...: no need to look anything up
            step = steps.pop()
            straight = code * step + table[0]
            return straight if table[0] == step else nw.when(code < 0).then(0).otherwise(straight)
        if not self._maps:
            return look_up(code, list(enumerate(table)), 0)
        return code.replace_strict(
            list(range(len(table))), list(table), default=0, return_dtype=nw.Int64
        )

    def _add_sum(self, code: Lookup, name: str) -> None:
        """A column for the clamped sum of tables: made once, since the look-up names it often."""
        tables = zip(code.sources, code.tables, strict=True)
        total = add_up([self._entry(part, table) for part, table in tables])
        self.frame = self.frame.with_columns(total.cast(nw.Int64).alias(f"{name}sum"))
        self._fence()
        found, top = nw.col(f"{name}sum"), len(code.link) - 1
        clamped = (
            nw.when(found < 0).then(0).otherwise(nw.when(found > top).then(top).otherwise(found))
        )
        self.frame = self.frame.with_columns(clamped.cast(nw.Int64).alias(f"{name}sum"))
        self._fence()

    def _add_share(self, code: LeftOver, name: str) -> None:
        """A column for the share of a part in its whole, which is named often."""
        share = self.of(code.part) * (2 * code.size) // self.of(code.whole)
        self.frame = self.frame.with_columns(share.cast(nw.Int64).alias(f"{name}share"))
        self._fence()

    def _add_steps(self, code: Calendar, name: str) -> None:
        """A column for each step from a day to a part of its date: later steps name earlier ones often."""
        part = DATE_PARTS[code.part]
        day = (self.of(code.source) + part.offset(code.first)).alias(f"{name}day")
        self.frame = self.frame.with_columns(day)
        columns = {"day": nw.col(f"{name}day")}
        for step in part.steps:
            found = STEPS[step](columns).cast(nw.Int64)
            self.frame = self.frame.with_columns(found.alias(f"{name}{step}"))
            columns[step] = nw.col(f"{name}{step}")
            self._fence()

    def _add_distances(self, code: Closest, name: str) -> None:
        """Columns for the distance to each centre, and for the least of them."""
        values = [self.of(part) for part in code.sources]
        distances = []
        for index, centre in enumerate(code.centres):
            moved = [(value - at) * (value - at) for value, at in zip(values, centre, strict=True)]
            distances.append(sum(moved[1:], moved[0]).alias(f"{name}d{index}"))
        names = [f"{name}d{index}" for index in range(len(distances))]
        least = nw.min_horizontal(*names).alias(f"{name}least")
        self.frame = self.frame.with_columns(*distances).with_columns(least)

    def condition(self, condition: Condition) -> nw.Expr:
        """A condition on the columns of codes."""
        match condition:
            case Between(code=code, low=low, high=high):
                return (self.of(code) >= low) & (self.of(code) <= high)
            case OneOf(code=code, members=members):
                return self.of(code).is_in(list(members)) if members else ~nw.col("yes")
            case AllOf(parts=parts):
                joined = nw.col("yes")
                for part in parts:
                    joined = joined & self.condition(part)
                return joined
            case AnyOf(parts=parts):
                joined = ~nw.col("yes")
                for part in parts:
                    joined = joined | self.condition(part)
                return joined
            case NoneOf(part=part):
                return ~self.condition(part)


def remainder(value: nw.Expr, divisor: int) -> nw.Expr:
    """A non-negative integer modulo another; pandas has no % for Arrow integers."""
    return value - value // divisor * divisor


def _level(item: Code | Condition, levels: dict[Code, int]) -> int:
    below = [_level(source, levels) for source in _columns_below(item)]
    level = max(below, default=-1) + (0 if _is_condition(item) else 1)
    if not _is_condition(item):
        levels[item] = level  # type: ignore[index]
    return level


def _columns_below(item: Code | Condition) -> Iterator[Code | Condition]:
    """The sources of a code or condition; a look-up by a tree tests the tree's own, and names no leaf."""
    for source in sources(item):
        if isinstance(item, Lookup) and isinstance(source, Branches):
            yield from sources(source)
        else:
            yield source


def _is_condition(item: Code | Condition) -> bool:
    return isinstance(item, Between | OneOf | AllOf | AnyOf | NoneOf)
